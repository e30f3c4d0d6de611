"""Databases of this machine that answer questions by meaning; each has a file beside this one.

`meaning.sql.tables` says what they are asked, and how facts get there. Here is what those of a
store have in common: the bytes of a tuple are read as the wire reads them.
"""

from __future__ import annotations

from typing import Final

from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql import tables
from nomospace.meaning.sql.tables import Database, DatabaseFailed
from nomospace.wire.values import unpack_fields

__all__ = ["STATEMENT_S", "Database", "DatabaseFailed", "StoredFactTables"]

STATEMENT_S: Final = 60.0
"""How long a database may work on one statement."""


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
