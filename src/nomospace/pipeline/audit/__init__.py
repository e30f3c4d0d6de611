"""Audit: who did what under which law, what was refused, what was owed, and which rules rest.

| module | has |
| --- | --- |
| `questions` | what is asked, as SQL for every engine |
| `changes`, `rules` | the two tables that no SQL makes: obligations read, laws compiled |
| `tables` | the questions as functions from DataFrame to DataFrame, on Spark |
| `duck` | the same in DuckDB |
| `found` | the answers together, and a summary of them |
| `words`, `page` | the answers as sentences, and as a page with plots |
"""
