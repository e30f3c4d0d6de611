"""The facts of one space in a database, and questions to them: what goes in, what comes out.

The rest of this room says how facts stand in tables and makes the statements; here they are handed
to a `Database`, which whoever has a connection brings. A `FactTables` is one connection to one
database, with the facts of one space in the words of one ontology. Joins run in the database:
Python puts rows in and takes answers out.

Tables are of the connection alone (temporary, or in memory), built when a space, a file or an
archive is opened to be asked. They are a reading of the tuples, never the tuples themselves; so a
database that ends takes nothing with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from sqlglot import exp

from nomospace.errors import Unavailable
from nomospace.meaning.answers import Answers, MeaningAnswer, in_order
from nomospace.meaning.assign import QuestionAssigner
from nomospace.meaning.facts import Fact, FactRow, Facts, KnownFacts, Shape
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import Plan, TupleNetwork
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import Question
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.building import (
    JUDGED_MAX,
    PASSING,
    NetworkGroup,
    StatementBuilder,
    groups,
    statistics,
)
from nomospace.meaning.sql.coding import unescaped
from nomospace.meaning.sql.dialects import Dialect, Statement, created, dropped, emptied, prepared
from nomospace.meaning.sql.layout import (
    COMMON,
    TEXT,
    TUPLES,
    ClassTable,
    Layout,
    Row,
    RowBatch,
    SqlTable,
)
from nomospace.meaning.sql.values import Params
from nomospace.terms import Term

CHUNK: Final = 20_000
"""So many tuples are turned into rows before they go to the database."""
PLANS_MAX: Final = 64
"""The plans, with their statements, that are kept for questions that are asked again."""
TUPLES_MAX: Final = 100_000
"""The tuples of answers that are kept as Python has them."""


class DatabaseFailed(Unavailable):
    """The database that was to answer a question did not."""

    code = "match.database-failed"
    words = (
        "{engine} did not answer: {why:.500}; ask again, ask for less, or match "
        "with --engine memory"
    )
    engine: str
    why: str


class Database(Protocol):
    """A connection to a database, as plain as can be. What fails raises `DatabaseFailed`."""

    dialect: Dialect

    def run(self, statement: Statement) -> None:
        """Run a statement that gives nothing back."""

    def script(self, statements: Sequence[str]) -> None:
        """Run statements that take no values and give nothing back, in one go."""

    def ask(self, statement: Statement) -> list[Row]:
        """The rows that a statement gives."""

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a table, in one go."""

    def close(self) -> None:
        """Let go of the connection; twice is harmless."""


class StoredRow:
    """A tuple of an answer: a `meaning.facts.FactRow` to whoever looks at answers.

    Its bytes are read when somebody looks into it: most of many answers are only counted.
    """

    def __init__(
        self, known: str, fields: Callable[[], tuple[Term, ...]], order: int, ontology: Ontology
    ) -> None:
        self.id = known
        self.order = order
        self._fields = fields
        self._ontology = ontology

    def __getattr__(self, name: str) -> Any:
        if name not in FactRow.__struct_fields__:
            raise AttributeError(name)
        row = Facts(self._ontology).add(self.id, self._fields())
        for field in FactRow.__struct_fields__:
            if field not in ("id", "order"):
                setattr(self, field, getattr(row, field))
        return getattr(row, name)


class FactTables:
    """The facts of one space in a database, and what is known of them without asking it.

    Two caches stand in front (`Remembered`: what was used longest ago goes first). `plans` has
    questions with their plans and statements, and is emptied when facts come. `rows` has tuples of
    answers, as the runtime store of the paper does (section 5): the database gives ids, and only
    tuples that are not at hand are read. Tuples never change, so these are never wrong.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> from nomospace.meaning.question import parse_template
    >>> from nomospace.store.matching_sqlite import SqliteDatabase
    >>> from nomospace.terms import obj
    >>> from nomospace.wire.values import unpack_fields
    >>> tables = FactTables(PLAIN, SqliteDatabase(), unpack_fields)
    >>> tables.add([
    ...     Fact("t1", (obj("Car", "A"), obj("Tax", "x"))),
    ...     Fact("t2", (obj("Car", "A"), obj("Loan", "y"))),
    ... ])
    >>> question = parse_template("(Car, Tax, Loan)")
    >>> first, again = [tables.answers(question).items[0] for _ in range(2)]
    >>> first.tuples, first.why
    (('t1', 't2'), 't1 and t2 share Car A')
    >>> [one is other for one, other in zip(first.rows, again.rows)]
    [True, True]
    """

    def __init__(
        self, ontology: Ontology, database: Database, read: Callable[[bytes], tuple[Term, ...]]
    ) -> None:
        self.ontology = ontology
        self._read = read
        self.layout = Layout(ontology)
        self.database = database
        self.plans = Remembered[bytes, StatementBuilder](PLANS_MAX)
        self.rows = Remembered[str, FactRow](TUPLES_MAX)
        self.held = RowBatch()
        """What there is, without the rows: those are in the database."""
        self._made: dict[str, SqlTable] = {}
        self._known: KnownFacts | None = None
        self._order = 0
        self.make([*COMMON, CHOSEN])

    # -- facts ---------------------------------------------------------------------------------

    def add(self, facts: Iterable[Fact]) -> None:
        """Put facts into the tables, chunk by chunk."""
        self._known = None
        self.plans.clear()
        pending = iter(facts)
        while chunk := list(islice(pending, CHUNK)):
            batch = RowBatch()
            for fact in chunk:
                self.layout.add(fact.id, fact.fields, batch)
            self.held.learn(batch.open_paths, batch.shapes)
            classes = [self.layout.table(class_name) for class_name in batch.open_paths]
            self.make([table for one in classes for table in one.tables])
            for name, rows in batch.rows.items():
                self.database.put(name, self._made[name].columns, rows)

    def tell(
        self,
        open_paths: Mapping[str, Iterable[tuple[str, ...]]],
        shapes: Mapping[Shape, int],
        recurring: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        """Note facts that somebody else has put into the database, in the same layout.

        `recurring` has the `recurrence` of each class, which spares counting; it may say more than
        there is, never less.
        """
        self.plans.clear()
        self.held.learn(open_paths, shapes)
        for class_name in open_paths:
            self._made.update((one.name, one) for one in self.layout.table(class_name).tables)
        self._known = None if recurring is None else self._known_by(recurring)

    def drop(self) -> None:
        """Take all tables out of the database, which then can have others."""
        self._drop(list(self._made))

    def known(self) -> KnownFacts:
        """What a planner has to know; the database counts."""
        if self._known is None:
            tables = map(self.layout.table, self.held.open_paths)
            counted = {one.class_name: recurrence(self.database, one) for one in tables}
            self._known = self._known_by(counted)
        return self._known

    def _known_by(self, recurring: Mapping[str, tuple[int, int]]) -> KnownFacts:
        shared = {name: holders for name, (holders, _) in recurring.items() if holders > 1}
        varying = frozenset(name for name, (_, forms) in recurring.items() if forms > 1)
        return KnownFacts(tuple(self.held.shapes.items()), shared, varying)

    # -- answers -------------------------------------------------------------------------------

    def plan(self, question: Question) -> Plan:
        """The whole plan of a question for the facts that are there."""
        return self._builder(question).planner.plan()

    def answers(self, question: Question) -> Answers:
        """Every answer to a question, sorted by the ids of its tuples."""
        asking = _Asking(self, self._builder(question))
        found = asking.found(question.limit + 1, any_one=False)
        items = asking.dressed(found, question.limit)
        cut = asking.cut or asking.unplanned
        if sum(len(rows) for _, rows in found) > question.limit:
            cut = f"there are more than {question.limit:,} answers"
        if len(found) > 1:  # those of one group come in order
            in_order(items)
        return Answers(items, cut, tuple(asking.assigner.problems))

    def first(self, question: Question) -> MeaningAnswer | None:
        """What `any` gives: exact before semantic before sets, the smallest set, the least ids."""
        asking = _Asking(self, self._builder(question))
        found = asking.dressed(asking.found(1, any_one=True), 1)
        return found[0] if found else None

    def _builder(self, question: Question) -> StatementBuilder:
        known = question.name
        found = self.plans.get(known)
        if found is None:
            planner = Planner(question, self.ontology, self.known())
            found = StatementBuilder(
                planner, self.layout, self.held.open_paths, self.database.dialect
            )
            self.plans.put(known, found)
        return found

    def tuples(self, ids: Iterable[str]) -> dict[str, FactRow]:
        """The tuples of some ids, as the tables have them; those at hand are not read again."""
        found: dict[str, FactRow] = {}
        missing: list[tuple[str]] = []
        for one in ids:
            row = self.rows.get(one)
            if row is None:
                missing.append((one,))
            else:
                found[one] = row
        if missing:
            self.database.put(CHOSEN.name, CHOSEN.columns, missing)
            for one, body in self.database.ask(
                prepared(_bodies(), self.database.dialect, Params())
            ):
                found[one] = self._stored(one, bytes(body))
                self.rows.put(one, found[one])
            self.database.script([emptied(CHOSEN, self.database.dialect)])
        return found

    def _stored(self, known: str, body: bytes) -> FactRow:
        self._order += 1
        fields = partial(self._read, body)
        return cast("FactRow", StoredRow(unescaped(known), fields, self._order, self.ontology))

    # -- tables --------------------------------------------------------------------------------

    def make(self, tables: Sequence[SqlTable]) -> bool:
        """Make those tables that are not there; whether there were any."""
        script: list[str] = []
        for table in tables:
            if table.name not in self._made:
                script += created(table, self.database.dialect)
                self._made[table.name] = table
        if script:
            self.database.script(script)
        return bool(script)

    def drop_passing(self) -> None:
        """Drop the tables of a question that is over."""
        self._drop([name for name in self._made if name.startswith(PASSING)])

    def _drop(self, names: Sequence[str]) -> None:
        self.database.script([dropped(name, self.database.dialect) for name in names])
        for name in names:
            del self._made[name]


def recurrence(database: Database, table: ClassTable) -> tuple[int, int]:
    """In how many tuples one object of a class stands at most, and in how many forms."""
    ((holders, forms),) = database.ask(prepared(statistics(table), database.dialect, Params()))
    return holders, forms


class _Asking:
    """One question being asked: the statements are run, group by group."""

    def __init__(self, tables: FactTables, builder: StatementBuilder) -> None:
        self.tables = tables
        self.database = tables.database
        self.builder = builder
        self.question = builder.question
        self.cut = ""
        self.assigner = QuestionAssigner(self.question, tables.ontology)
        self._there: dict[str, bool] = {}

    def found(self, limit: int, *, any_one: bool) -> list[tuple[NetworkGroup, list[Row]]]:
        """The sets of answers, as the database finds them, smaller ones first."""
        found: list[tuple[NetworkGroup, list[Row]]] = []
        filled: list[NetworkGroup] = []
        try:
            for group in groups(self.builder.planner):
                if found and (any_one or (group.sets and self._sets_are_extra(found))):
                    break
                if not group.networks:
                    continue
                self.tables.make([group.table])
                for network in group.networks:
                    if self._may_have_rows(network):
                        self._gather(group, network)
                if not self.database.ask(self.builder.any_row(group)):
                    continue
                smaller = () if any_one else filled
                rows = self.database.ask(self.builder.answers(group, smaller, limit))
                filled.append(group)
                if rows:
                    found.append((group, rows))
        finally:
            self.tables.drop_passing()
        return found

    @property
    def unplanned(self) -> str:
        """Why sets may be missing: there were too many ways to join so many tuples."""
        planner = self.builder.planner
        return Plan(self.question, planner.ontology, (), planner.complete).cut

    def _sets_are_extra(self, found: Sequence[tuple[NetworkGroup, list[Row]]]) -> bool:
        """Whether a single tuple has answered what sets are only asked for where none does."""
        return self.question.correlate == "auto" and not found[0][0].sets

    def _may_have_rows(self, network: TupleNetwork) -> bool:
        for statement in self.builder.candidates(network):
            known = repr(statement)
            if known not in self._there:
                self._there[known] = bool(self.database.ask(statement))
            if not self._there[known]:
                return False
        return True

    def _gather(self, group: NetworkGroup, network: TupleNetwork) -> None:
        gathering = self.builder.gather(group, network)
        for table, filling in gathering.sources:
            if self.tables.make([table]):  # no network before has asked for it
                self.database.run(filling)
        if not gathering.judged:
            self.database.run(gathering.rows)
            return
        rows = self.database.ask(gathering.rows)
        if len(rows) > JUDGED_MAX:
            self.cut = f"more than {JUDGED_MAX:,} sets of tuples were to be looked at in Python"
        kept = [row for row, _ in self._sound(group, rows[:JUDGED_MAX])]
        if kept:
            self.database.put(group.table.name, group.table.columns, kept)

    def _sound(
        self, group: NetworkGroup, rows: Sequence[Row]
    ) -> Iterator[tuple[Row, tuple[FactRow, ...]]]:
        """The rows of a group that are answers; Python has the last word on what was computed."""
        known = self.tables.tuples(dict.fromkeys(one for row in rows for one in row))
        for row in rows:
            tuples = tuple([known[one] for one in row])
            if self.assigner.least(tuples, single=not group.sets) is not None:
                yield row, tuples

    def dressed(
        self, found: Sequence[tuple[NetworkGroup, list[Row]]], limit: int
    ) -> list[MeaningAnswer]:
        """Answers with their tuples, which only now come out of the database.

        Arithmetic on numbers past what doubles hold may have let a set through: what was computed
        is looked at again.
        """
        items: list[MeaningAnswer] = []
        assigner = self.assigner
        for group, rows in found:
            rows = rows[: limit - len(items)]
            if any(network.computations for network in group.networks):
                sound = self._sound(group, rows)
                items += [MeaningAnswer(group.kind, tuples, assigner) for _, tuples in sound]
            else:
                known = self.tables.tuples(dict.fromkeys(one for row in rows for one in row))
                at = known.__getitem__
                items += [MeaningAnswer(group.kind, tuple(map(at, row)), assigner) for row in rows]
        return items


CHOSEN: Final = SqlTable("chosen", (("tuple", TEXT),))
"""Some tuples: those of answers, when their bytes are asked for."""


def _bodies() -> exp.Select:
    mine = parts.equal(parts.column("tuple", "c"), parts.column("tuple", "w"))
    columns = [parts.column("tuple", "w"), parts.column("body", "w")]
    joins = [parts.inner(parts.table(CHOSEN.name, "c"), mine)]
    return parts.select(columns, parts.table(TUPLES, "w"), joins=joins)


Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Remembered(Generic[Key, Kept]):
    """Up to `limit` things by their keys; what was used longest ago goes first.

    What is kept must not change while it is kept; whoever changes it empties the cache.

    >>> kept = Remembered[str, int](2)
    >>> for name in ("a", "b", "a", "c"):
    ...     if kept.get(name) is None:
    ...         kept.put(name, len(name))
    >>> kept.get("a"), kept.get("b"), kept.get("c")
    (1, None, 1)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def get(self, key: Key) -> Kept | None:
        """What is kept under a key, which counts as used now."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Key, value: Kept) -> None:
        """Keep something; past the limit, what was used longest ago goes."""
        self._kept[key] = value
        if len(self._kept) > self.limit:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
