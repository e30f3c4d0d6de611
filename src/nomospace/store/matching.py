"""Databases of this machine that answer questions by meaning; each has a file beside this one.

`meaning.sql.tables` says what they are asked, and how facts get there. Here is what those of a
store have in common: the bytes of a tuple are read as the wire reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql import tables
from nomospace.meaning.sql.dialects import Statement
from nomospace.meaning.sql.layout import Row
from nomospace.meaning.sql.tables import Database, DatabaseFailed
from nomospace.wire.values import unpack_fields

__all__ = ["STATEMENT_S", "Database", "DatabaseFailed", "DatabaseHere", "StoredFactTables"]

STATEMENT_S: Final = 60.0
"""How long a database may work on one statement."""


class DatabaseHere:
    """What those that are asked through one connection of this process have in common."""

    _connection: Any = None

    def _told(self) -> AbstractContextManager[Any]:
        """The connection at work, for so long and no longer; its errors in our words."""
        raise NotImplementedError

    def run(self, statement: Statement) -> None:
        """Run a statement that gives nothing back."""
        with self._told() as connection:
            connection.execute(statement.sql, dict(statement.params))

    def script(self, statements: Sequence[str]) -> None:
        """Run statements that take no values and give nothing back, in one go."""
        with self._told() as connection:
            connection.execute("; ".join(statements))

    def ask(self, statement: Statement) -> list[Row]:
        """The rows that a statement gives."""
        with self._told() as connection:
            rows: list[Row] = connection.execute(statement.sql, dict(statement.params)).fetchall()
            return rows

    def close(self) -> None:
        """Let go of the connection; twice is harmless."""
        self._connection.close()


class StoredFactTables(tables.FactTables):
    """The facts of one space in a database; see `meaning.sql.tables`.

    >>> from nomospace.meaning.facts import Fact
    >>> from nomospace.meaning.ontology import PLAIN
    >>> from nomospace.meaning.question import parse_template
    >>> from nomospace.store.matching_sqlite import SqliteDatabase
    >>> there = StoredFactTables(PLAIN, SqliteDatabase())
    >>> there.add([Fact("t1", ("job", 1)), Fact("t2", ("job", 2))])
    >>> [answer.tuples for answer in there.answers(parse_template('("job", 2)')).items]
    [('t2',)]
    """

    def __init__(self, ontology: Ontology, database: Database) -> None:
        super().__init__(ontology, database, unpack_fields)
