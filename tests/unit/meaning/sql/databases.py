"""Every database that answers questions, for tests that all of them must pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nomospace.store.matching import Database
from nomospace.store.matching_duckdb import DuckdbDatabase
from nomospace.store.matching_postgres import PostgresDatabase
from nomospace.store.matching_sqlite import SqliteDatabase
from tests.servers import shared_postgres

DATABASES = ("sqlite", "postgres", "duckdb")


@contextmanager
def database(kind: str) -> Iterator[Database]:
    """A connection with nothing in it."""
    made: Database
    if kind == "sqlite":
        made = SqliteDatabase()
    elif kind == "duckdb":
        made = DuckdbDatabase(threads=1)
    else:
        made = PostgresDatabase(shared_postgres().url)
    try:
        yield made
    finally:
        made.close()
