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
from nomospace.meaning.answers import Answer, Answers, in_order
from nomospace.meaning.assign import Assigner
from nomospace.meaning.facts import Fact, Facts, Known, Shape
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import Plan
from nomospace.meaning.planner import make_plan
from nomospace.meaning.question import Question
from nomospace.meaning.sql.building import Builder, Group, groups, is_set, statistics
from nomospace.meaning.sql.coding import unescaped
from nomospace.meaning.sql.dialects import (
    Dialect,
    Statement,
    created,
    prepared,
    rendered,
    table_of,
)
from nomospace.meaning.sql.layout import COMMON, TEXT, TUPLES, Batch, Layout, Row, Table
from nomospace.meaning.sql.values import Params
from nomospace.wire.values import unpack_term

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
        self.ontology = ontology
        self.layout = Layout(ontology)
        self.database = database
        self.open_paths: dict[str, dict[tuple[str, ...], None]] = {}
        self.shapes: dict[Shape, int] = {}
        self._made: dict[str, Table] = {}
        self._known: Known | None = None
        for table in (*COMMON, _CHOSEN):
            self._make(table)

    def add(self, facts: Iterable[Fact]) -> None:
        """Put facts into the tables, chunk by chunk."""
        self._known = None
        pending = iter(facts)
        while chunk := list(islice(pending, CHUNK)):
            batch = Batch()
            for fact in chunk:
                self.layout.add(fact.id, fact.fields, batch)
            for shape, count in batch.shapes.items():
                self.shapes[shape] = self.shapes.get(shape, 0) + count
            for class_name, paths in batch.open_paths.items():
                self.open_paths.setdefault(class_name, {}).update(paths)
                for table in self.layout.table(class_name).tables:
                    self._make(table)
            for name, rows in batch.rows.items():
                self.database.put(name, self._made[name].columns, rows)

    def clear(self) -> None:
        """Take all facts out; the tables stay, for those that come next."""
        for name in self._made:
            self._run(exp.delete(table_of(name)))
        self.open_paths.clear()
        self.shapes.clear()
        self._known = None

    def known(self) -> Known:
        """What a planner has to know; the database counts."""
        if self._known is None:
            shared: dict[str, int] = {}
            varying: dict[str, None] = {}
            for class_name in self.open_paths:
                sql = prepared(statistics(self.layout.table(class_name)), self.dialect, Params())
                ((most, kinds),) = self.database.ask(sql)
                if most > 1:
                    shared[class_name] = most
                if kinds > 1:
                    varying[class_name] = None
            self._known = Known(tuple(self.shapes.items()), shared, frozenset(varying))
        return self._known

    @property
    def dialect(self) -> Dialect:
        """What the database speaks."""
        return self.database.dialect

    # -- answering -----------------------------------------------------------------------------

    def plan(self, question: Question) -> Plan:
        """The plan of a question for the facts that are there."""
        return make_plan(question, self.ontology, self.known())

    def answers(self, plan: Plan) -> Answers:
        """Every answer to a question, sorted by the ids of its tuples."""
        return self._answers(plan, any_one=False)

    def first(self, plan: Plan) -> Answer | None:
        """The answer that `any` gives, if there is one."""
        found = self._answers(plan, any_one=True).items
        return found[0] if found else None

    def _answers(self, plan: Plan, *, any_one: bool) -> Answers:
        builder = Builder(plan, self.layout, self.open_paths, self.dialect)
        question = plan.question
        limit = 1 if any_one else question.limit
        found: list[tuple[Group, Row]] = []
        filled: list[Group] = []
        for group in groups(plan):
            single = bool(found) and not is_set(found[0][0])
            if any_one and found:
                break
            if single and is_set(group) and question.correlate == "auto":
                break
            self._make(group.table)
            for statement in builder.gather(group):
                self.database.run(statement)
            if not self.database.ask(builder.any_row(group)):
                continue
            rows = self.database.ask(builder.answers(group, filled, limit + 1))
            filled.append(group)
            found += [(group, row) for row in rows]
        for group in filled:
            self._run(exp.delete(table_of(group.table.name)))
        cut = plan.cut or (not any_one and len(found) > limit)
        items = self._dressed(plan, found)
        return Answers(items[:limit], "limit" if cut else "")

    def _dressed(self, plan: Plan, found: list[tuple[Group, Row]]) -> list[Answer]:
        """Answers with their tuples, which only now come out of the database."""
        ids = dict.fromkeys(one for _, row in found for one in row)
        self.database.put(_CHOSEN.name, _CHOSEN.columns, [(one,) for one in ids])
        bodies = self.database.ask(prepared(_bodies(), self.dialect, Params()))
        self._run(exp.delete(table_of(_CHOSEN.name)))
        facts = Facts.of(
            [Fact(unescaped(one), unpack_term(bytes(body))) for one, body in bodies],
            self.ontology,
        )
        assigner = Assigner(plan.question, self.ontology)
        items: list[Answer] = []
        for group, row in found:
            rows = tuple([facts.rows[unescaped(one)] for one in row])
            items.append(Answer(group.kind, rows, assigner))
        return in_order(items)

    def _make(self, table: Table) -> None:
        if table.name in self._made:
            return
        for statement in created(table, self.database.dialect, temporary=True):
            self._run(statement)
        self._made[table.name] = table

    def _run(self, statement: exp.Expr) -> None:
        self.database.run(Statement(rendered(statement, self.database.dialect)))


_CHOSEN: Final = Table("chosen", (("tuple", TEXT),))
"""The tuples of answers, when their bytes are asked for."""


def _bodies() -> exp.Select:
    made = exp.select(exp.column("tuple", "w"), exp.column("body", "w"))
    made.from_(exp.alias_(table_of(TUPLES), "w", table=True), copy=False)
    return made.join(
        exp.alias_(table_of(_CHOSEN.name), "c", table=True),
        on=exp.column("tuple", "c").eq(exp.column("tuple", "w")),
        join_type="inner",
        copy=False,
    )
