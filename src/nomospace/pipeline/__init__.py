"""Journals on Spark: functions from DataFrame to DataFrame, and the jobs that wrap them.

A ruling depends on one agent's events and control state alone (`000_…` 3.1), so the history of a
community splits by membership and each part is replayed by itself, wherever there is room. The
rules of this room:

- Functions take a DataFrame, or a `SparkSession` of any kind, and make no session themselves; only
  `jobs` does. They use neither RDDs nor the JVM behind a session.
- What a function does to the rows of one partition is a plain function over Arrow batches. The same
  one serves the engine `process`, which is one process without Spark.
- No second evaluator: rulings are made by `control`, whatever asks for them.
"""
