"""The floor of everything durable: rows that SQLite commits in groups, and nothing around it.

The same mode as a host's store has (WAL, full sync), one table and one group at a time: as many
rows are written in one transaction as there are clients, and taken out again in the next.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns

from nomospace_lab.bench.measure import Sample


class Commits:
    """A file that is written and emptied again, a group of rows at a time."""

    def __init__(self, file: Path, group: int) -> None:
        self._group = group
        self._base = sqlite3.connect(file, isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = FULL")
        self._base.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        self._next = 0

    def sample(self) -> Sample:
        """Nanoseconds a row takes to be written and taken out, both on disk; the best group."""

        def sample(seconds: float) -> float:
            best = self._pair()
            end = perf_counter_ns() + seconds * 1e9
            while perf_counter_ns() < end:
                best = min(best, self._pair())
            return best

        return sample

    def _pair(self) -> float:
        ids = range(self._next, self._next + self._group)
        self._next += self._group
        began = perf_counter_ns()
        self._commit("INSERT INTO jobs (id, body) VALUES (?, ?)", [(id, bytes(100)) for id in ids])
        self._commit("DELETE FROM jobs WHERE id = ?", [(id,) for id in ids])
        return (perf_counter_ns() - began) / self._group

    def _commit(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        self._base.execute("BEGIN IMMEDIATE")
        self._base.executemany(statement, rows)
        self._base.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()
