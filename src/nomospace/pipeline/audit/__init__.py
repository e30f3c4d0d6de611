"""Audit: who did what under which law, what was refused, what was owed, and which rules rest.

| module | has |
| --- | --- |
| `questions` | what is asked, as SQL for every engine |
| `rules` | a table that no SQL makes: the rules of laws, compiled |
| `tables` | the questions as functions from DataFrame to DataFrame, on Spark, and in DuckDB |
| `found` | the answers together, and why the last messages were refused |
| `words`, `page` | the answers as sentences, and as a page with plots |
"""
