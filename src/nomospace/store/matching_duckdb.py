"""Answers by DuckDB: tables in memory, for archives on one machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final, TypeAlias

import duckdb

from nomospace.meaning.sql.dialects import DIALECTS
from nomospace.meaning.sql.layout import BYTES, NUMBER, WHOLE, Row
from nomospace.store.matching import STATEMENT_S, DatabaseFailed, DatabaseHere

MEMORY: Final = "2GB"
"""The most memory that the database takes; past it, it goes to disk."""

_LOOK_S: Final = 1.0
"""How often it is looked whether a statement takes too long."""


DuckdbConfig: TypeAlias = dict[str, str | bool | int | float | list[str]]


class DuckdbDatabase(DatabaseHere):
    """A database in memory, of its own; for many small questions one thread is quickest."""

    dialect = DIALECTS["duckdb"]

    def __init__(self, threads: int | None = None, *, statement_s: float = STATEMENT_S) -> None:
        config: DuckdbConfig = {"memory_limit": MEMORY}
        if threads is not None:
            config["threads"] = threads
        self._connection = duckdb.connect(":memory:", config=config)
        self._statement_s = statement_s
        self._until = math.inf
        self._closed = Event()
        self._watcher = Thread(target=self._watch, name="duckdb-watch", daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        """Interrupt a statement that takes too long; DuckDB knows no limit of its own."""
        while not self._closed.wait(_LOOK_S):
            if monotonic() > self._until:
                self._connection.interrupt()

    @contextmanager
    def _told(self) -> Iterator[duckdb.DuckDBPyConnection]:
        self._until = monotonic() + self._statement_s
        try:
            yield self._connection
        except duckdb.Error as error:
            raise DatabaseFailed(engine="duckdb", why=str(error)) from error
        finally:
            self._until = math.inf

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a table, in one go: as Arrow columns, which DuckDB takes as they are."""
        import pyarrow as pa

        types = {NUMBER: pa.float64(), WHOLE: pa.int64(), BYTES: pa.binary()}
        arrays = [
            pa.array([row[at] for row in rows], types.get(kind, pa.string()))
            for at, (_, kind) in enumerate(columns)
        ]
        chunk = pa.table(arrays, names=[name for name, _ in columns])
        with self._told() as connection:
            connection.register("arrow_rows", chunk)
            connection.execute(f'INSERT INTO "{table}" SELECT * FROM arrow_rows')
            connection.unregister("arrow_rows")

    def close(self) -> None:
        """Let go of the connection; twice is harmless."""
        self._closed.set()
        self._watcher.join(_LOOK_S)
        super().close()
