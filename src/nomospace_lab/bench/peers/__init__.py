"""Foreign engines to measure ourselves against.

Each is installed on demand into a folder of its own outside the source tree (`install`), and runs
as a child process (`child`) that sees that folder and the standard library, nothing of ours: no
two can clash, and none is a dependency. `harness` is what runs in the child; it times our own
code too, so that one loop times everything. `decisions` holds one driver per policy engine.
"""
