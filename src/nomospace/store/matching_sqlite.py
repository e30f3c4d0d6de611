"""Answers by SQLite: tables in the memory of one connection, or in a temporary file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final

from nomospace.meaning.sql.dialects import DIALECTS
from nomospace.meaning.sql.layout import Row
from nomospace.store.matching import STATEMENT_S, DatabaseFailed, DatabaseHere

_STEPS: Final = 100_000
"""After so many steps of its machine SQLite looks at the clock."""


class SqliteDatabase(DatabaseHere):
    """A connection of its own, with tables in memory that may overflow to disk."""

    dialect = DIALECTS["sqlite"]

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._until = 0.0
        self._connection.set_progress_handler(lambda: monotonic() > self._until, _STEPS)

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        self._until = monotonic() + STATEMENT_S
        try:
            yield self._connection
        except sqlite3.Error as error:
            raise DatabaseFailed(engine="sqlite", why=str(error)) from error

    def script(self, statements: Sequence[str]) -> None:
        """Run statements that take no values and give nothing back."""
        with self._told() as connection:
            for statement in statements:
                connection.execute(statement)

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a table, in one go."""
        marks = ", ".join("?" * len(columns))
        insert = f'INSERT INTO "{table}" VALUES ({marks})'
        with self._told() as connection:
            connection.execute("BEGIN")
            connection.executemany(insert, rows)
            connection.execute("COMMIT")
