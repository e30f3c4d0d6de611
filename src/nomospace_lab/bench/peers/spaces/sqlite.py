"""SQLite in memory with an index for each field, through the standard library's module."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, int]


class Sqlite:
    """A table without a journal: what is quickest in memory."""

    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:", isolation_level=None)
        self._base.execute("PRAGMA journal_mode = OFF")
        self._base.execute("PRAGMA synchronous = OFF")
        self._base.execute("CREATE TABLE tuples (kind TEXT, key TEXT, place INTEGER)")

    def load(self, rows: Iterator[Row]) -> None:
        """Insert all, then build the indexes."""
        self._base.executemany("INSERT INTO tuples VALUES (?, ?, ?)", rows)
        for field in ("kind", "key", "place"):
            self._base.execute(f"CREATE INDEX by_{field} ON tuples ({field})")
        self._base.execute("ANALYZE")

    def ready(self, row: Row, key: str) -> tuple[Any, ...]:
        """Nothing is to be prepared: the module keeps its statements."""
        return row, key

    def pair(self, row: Row, key: str) -> Row | None:
        """Insert one, delete another and get it."""
        execute = self._base.execute
        execute("INSERT INTO tuples VALUES (?, ?, ?)", row)
        taken: Row | None = execute(
            "DELETE FROM tuples WHERE rowid = "
            "(SELECT rowid FROM tuples WHERE kind = 'job' AND key = ? LIMIT 1) "
            "RETURNING kind, key, place",
            (key,),
        ).fetchone()
        return taken


def prepare() -> Sqlite:
    """An empty one."""
    return Sqlite()
