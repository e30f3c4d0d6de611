"""Databases that answer questions by meaning: what each of them can do, and how facts get there.

`meaning.sql` says how facts stand in tables and makes the statements; here they are run. A
`Tables` is one connection to one database, with the facts of one space in the words of one
ontology. Joins run in the database: Python puts rows in and takes answers out.

Tables are of the connection alone (temporary, or in memory), built when a space, a file or an
archive is opened to be asked. They are a reading of the tuples, never the tuples themselves; so a
database that ends takes nothing with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Final, Protocol

from sqlglot import exp

from nomospace.errors import Unavailable
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.dialects import Dialect, Statement, created, rendered, table_of
from nomospace.meaning.sql.layout import COMMON, Batch, Layout, Row, Table
from nomospace.terms import Term

CHUNK: Final = 20_000
"""So many tuples are turned into rows before they go to the database."""
STATEMENT_S: Final = 60.0
"""How long a database may work on one statement."""


@dataclass(eq=False, kw_only=True)
class DatabaseFailed(Unavailable):
    """The database that was to answer a question did not."""

    code: ClassVar[str] = "match.database-failed"
    engine: str
    why: str

    def __str__(self) -> str:
        return (
            f"{self.engine} did not answer: {self.why[:500]}; ask again, ask for less, or match "
            "with --engine memory"
        )


class Database(Protocol):
    """A connection to a database, as plain as can be. What fails raises `DatabaseFailed`."""

    dialect: Dialect

    def run(self, statement: Statement) -> None:
        """Run a statement that gives nothing back."""

    def ask(self, statement: Statement) -> list[Row]:
        """The rows that a statement gives."""

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a table, in one go."""

    def function(self, name: str, call: Any, inputs: int) -> None:
        """Let SQL call a Python function of texts and numbers that gives a text."""

    def close(self) -> None:
        """Let go of the connection; twice is harmless."""


class Tables:
    """The facts of one space in a database, and what is known of them without asking it.

    `open_paths` names every class of which there is an object, and the paths that may stand in its
    remainder: where there is none, no statement looks.
    """

    def __init__(self, ontology: Ontology, database: Database) -> None:
        self.layout = Layout(ontology)
        self.database = database
        self.open_paths: dict[str, dict[tuple[str, ...], None]] = {}
        self._made: dict[str, Table] = {}
        for table in COMMON:
            self._make(table)

    def add(self, facts: Iterable[tuple[str, Sequence[Term]]]) -> None:
        """Put facts into the tables, chunk by chunk."""
        pending = iter(facts)
        while chunk := list(islice(pending, CHUNK)):
            batch = Batch()
            for tuple_id, fields in chunk:
                self.layout.add(tuple_id, fields, batch)
            for class_name, paths in batch.open_paths.items():
                self.open_paths.setdefault(class_name, {}).update(paths)
                for table in self.layout.table(class_name).tables:
                    if table.name not in self._made:
                        self._make(table)
            for name, rows in batch.rows.items():
                self.database.put(name, self._made[name].columns, rows)

    def clear(self) -> None:
        """Take all facts out; the tables stay, for those that come next."""
        for name in self._made:
            self._run(exp.delete(table_of(name)))
        self.open_paths.clear()

    def _make(self, table: Table) -> None:
        for statement in created(table, self.database.dialect, temporary=True):
            self._run(statement)
        self._made[table.name] = table

    def _run(self, statement: exp.Expr) -> None:
        self.database.run(Statement(rendered(statement, self.database.dialect)))
