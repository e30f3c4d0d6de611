"""Durable state: what a host keeps through a crash, in memory, SQLite or PostgreSQL.

`open_store` gives the store that a URL names; `Store` is what all of them can do. Acknowledged
means on disk: `commit` returns when its steps are there, and a damaged row is named, never dropped.
"""
