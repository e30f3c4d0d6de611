"""Answers by PostgreSQL: temporary tables of one session, texts ordered by code points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg

from nomospace.meaning.sql.dialects import DIALECTS
from nomospace.meaning.sql.layout import Row
from nomospace.store.matching import STATEMENT_S, DatabaseFailed, DatabaseHere

CONNECT_S: Final = 5
"""How long the server has to take a connection."""


class PostgresDatabase(DatabaseHere):
    """A session of its own; its tables end with it."""

    dialect = DIALECTS["postgres"]

    def __init__(self, url: str) -> None:
        with self._told():
            self._connection = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=CONNECT_S,
                # Nothing here outlives the session, so no commit has to wait for the disk.
                options=f"-c statement_timeout={int(STATEMENT_S * 1000)} -c synchronous_commit=off",
            )

    @contextmanager
    def _told(self) -> Iterator[psycopg.Connection | None]:
        try:
            yield self._connection
        except psycopg.Error as error:
            raise DatabaseFailed(engine="postgres", why=str(error).strip()) from error

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a table, in one go."""
        into = f'COPY "{table}" FROM STDIN'.encode()
        with self._told(), self._connection.cursor() as cursor, cursor.copy(into) as copy:
            for row in rows:
                copy.write_row(row)
