"""Tables that outlive a question: facts come and go, and all that is known of them keeps step.

`FactTables` counts what a planner has to know when it is filled. Tables that are kept are filled
once and then changed, so the counts must be changed with them, exactly: a planner that knew of
shapes that are gone would plan for them. A `TableCounts` has these counts. It is stored beside the
tables, in the same transaction, by whoever has the connection (`store.keeping`).

What an object has in common with others cannot be counted from the change alone: whether it stood
in two tuples or in three is asked of the database, for the objects that a change touches, before it
and after it. The tables that are kept stand in the database; those that a question makes for itself
are temporary as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import msgspec
from sqlglot import exp

from nomospace.meaning.facts import Fact, KnownFacts, Plain, Shape
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.building import PASSING, spread
from nomospace.meaning.sql.coding import escaped
from nomospace.meaning.sql.dialects import Statement, created, emptied, prepared
from nomospace.meaning.sql.layout import COMMON, TEXT, Layout, RowBatch, SqlTable, path_of
from nomospace.meaning.sql.tables import CHOSEN, Database, DatabaseFailed, FactTables
from nomospace.meaning.sql.values import Params
from nomospace.terms import Term

Path: TypeAlias = tuple[str, ...]
Spread: TypeAlias = dict[tuple[int, bool], int]
"""How many objects stand in so many tuples, in one form or in several."""

TOUCHED: Final = SqlTable("touched", (("same", TEXT),))
"""The objects that a change is about."""
_Key = TypeVar("_Key", Shape, str, tuple[str, ...], tuple[int, bool])
_SAME: Final = 3
_PATH: Final = 2
"""Where a row of a class has `same`, and a row of its remainder `path`."""


class _StoredClass(msgspec.Struct, frozen=True, array_like=True):
    name: str
    objects: int
    paths: tuple[tuple[Path, int], ...]
    spread: tuple[tuple[int, bool, int], ...]


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    shapes: tuple[tuple[tuple[tuple[bool, str], ...], int], ...]
    classes: tuple[_StoredClass, ...]


class TableCounts:
    """What stands in tables, in numbers; what there is none of is not in it.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> from nomospace.terms import obj
    >>> batch, layout, tally = RowBatch(), Layout(PLAIN), TableCounts()
    >>> layout.add("t1", (obj("Car", "A", doors=3), 17), batch)
    >>> tally.change(batch, layout, 1)
    >>> tally.tuples, tally.objects, tally.paths
    (1, {'Car': 1}, {'Car': {('doors',): 1}})
    >>> TableCounts.read(tally.text()).shapes == tally.shapes
    True
    >>> tally.change(batch, layout, -1)
    >>> tally.tuples, tally.objects, tally.paths
    (0, {}, {})
    """

    def __init__(self) -> None:
        self.shapes: dict[Shape, int] = {}
        """How many tuples there are of each shape."""
        self.objects: dict[str, int] = {}
        """How many objects a class has."""
        self.paths: dict[str, dict[Path, int]] = {}
        """For each class that has objects: the paths in its remainder, and how often each."""
        self.spread: dict[str, Spread] = {}
        """For each class that has objects: in how many tuples they stand."""

    @property
    def tuples(self) -> int:
        """How many tuples there are."""
        return sum(self.shapes.values())

    def change(self, batch: RowBatch, layout: Layout, sign: int) -> None:
        """Rows have come (`sign` is 1) or gone (-1); of `spread` they tell nothing."""
        for shape, count in batch.shapes.items():
            _count(self.shapes, shape, sign * count)
        for name in batch.open_paths:
            table = layout.table(name)
            paths = self.paths.setdefault(name, {})
            for row in batch.rows.get(table.rest, ()):
                _count(paths, path_of(row[_PATH]), sign)
            _count(self.objects, name, sign * len(batch.rows[table.name]))
            if name not in self.objects:
                del self.paths[name]
                self.spread.pop(name, None)

    def known(self) -> KnownFacts:
        """What a planner has to know."""
        shared: dict[str, int] = {}
        varying: dict[str, None] = {}
        for name, counts in self.spread.items():
            most = max((many for many, _ in counts), default=0)
            if most > 1:
                shared[name] = most
            if any(several for _, several in counts):
                varying[name] = None
        return KnownFacts(tuple(self.shapes.items()), shared, frozenset(varying))

    def text(self) -> str:
        """All of it, to be stored."""
        shapes = tuple(
            [
                (tuple([_written(one) for one in shape]), count)
                for shape, count in self.shapes.items()
            ]
        )
        classes = tuple(
            [
                _StoredClass(
                    name,
                    count,
                    tuple(self.paths[name].items()),
                    tuple([(*key, many) for key, many in self.spread.get(name, {}).items()]),
                )
                for name, count in self.objects.items()
            ]
        )
        return msgspec.json.encode(_Stored(shapes, classes)).decode()

    @staticmethod
    def read(text: str) -> TableCounts:
        """The tally that a text stands for; raises `ValueError` for what is none."""
        stored = msgspec.json.decode(text, type=_Stored)
        made = TableCounts()
        for shape, count in stored.shapes:
            made.shapes[tuple([Plain(name) if plain else name for plain, name in shape])] = count
        for one in stored.classes:
            made.objects[one.name] = one.objects
            made.paths[one.name] = dict(one.paths)
            made.spread[one.name] = {(many, several): n for many, several, n in one.spread}
        return made


class KeptTables(FactTables):
    """The facts of one space in tables that stand in the database, and change.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> from nomospace.meaning.question import parse_template
    >>> from nomospace.store.matching_sqlite import SqliteDatabase
    >>> from nomospace.terms import obj
    >>> from nomospace.wire.values import unpack_fields
    >>> tables = KeptTables(PLAIN, SqliteDatabase(), unpack_fields)
    >>> tables.load(TableCounts(), standing=())
    >>> tax = Fact("t1", (obj("Car", "A"), obj("Tax", "x")))
    >>> loan = Fact("t2", (obj("Car", "A"), obj("Loan", "y")))
    >>> tables.change(came=[tax, loan])
    >>> tables.load(tables.tally, standing=tables.standing)
    >>> [one.tuples for one in tables.answers(parse_template("(Tax, Loan)")).items]
    [('t1', 't2')]
    >>> tables.change(gone=[tax])
    >>> tables.load(tables.tally, standing=tables.standing)
    >>> tables.answers(parse_template("(Tax, Loan)")).items
    []
    """

    def __init__(
        self, ontology: Ontology, database: Database, read: Callable[[bytes], tuple[Term, ...]]
    ) -> None:
        self.tally = TableCounts()
        """What is in the tables."""
        self.standing: dict[str, None] = {}
        """The names of the tables that are there."""
        self._statements: dict[str, Statement] = {}
        super().__init__(ontology, database, read)

    def load(self, tally: TableCounts, *, standing: Iterable[str]) -> None:
        """Take what is in the database as it is now, whoever has changed it; caches are emptied."""
        self.tally = tally
        self.standing = dict.fromkeys(standing)
        self.shapes = tally.shapes
        self.open_paths = {name: dict.fromkeys(paths) for name, paths in tally.paths.items()}
        self._known = tally.known()
        self.plans.clear()
        self.rows.clear()

    @property
    def missing(self) -> list[str]:
        """The tables that must be there, and are not."""
        return [table.name for table in self._wanted() if table.name not in self.standing]

    def _wanted(self) -> list[SqlTable]:
        classes = [self.layout.table(name) for name in self.tally.objects]
        return [*COMMON, *(table for one in classes for table in one.tables)]

    def add(self, facts: Iterable[Fact]) -> None:
        """Put facts into the tables; `change` by its plainer name."""
        self.change(came=list(facts))

    def change(
        self, *, gone: Sequence[Fact] = (), came: Sequence[Fact] = (), count: bool = True
    ) -> None:
        """Take facts out of the tables, as they were put in, then put others in.

        A question sees them after `load`. Without `count` the caller owes a `recount`, which is
        quicker than many counts when most facts change. All must be in one transaction.
        """
        went, new = self._laid_out(gone), self._laid_out(came)
        classes = dict.fromkeys([*went.open_paths, *new.open_paths])
        columns = self._stand(classes)
        before: Mapping[str, Spread] = {}
        if count:
            same = [
                (row[_SAME],)
                for batch in (went, new)
                for name in batch.open_paths
                for row in batch.rows[self.layout.table(name).name]
            ]
            self.database.put(TOUCHED.name, TOUCHED.columns, list(dict.fromkeys(same)))
            before = {name: self._spread(name, TOUCHED) for name in classes}
        if gone:
            self.database.put(CHOSEN.name, CHOSEN.columns, [(escaped(one.id),) for one in gone])
            for table in went.rows:
                self.database.run(self._without_chosen(table))
            self.database.script([emptied(CHOSEN, self.dialect)])
        for name, rows in new.rows.items():
            self.database.put(name, columns[name], rows)
        if count:
            for name in classes:
                found = self.tally.spread.setdefault(name, {})
                for key, many in before[name].items():
                    _count(found, key, -many)
                for key, many in self._spread(name, TOUCHED).items():
                    _count(found, key, many)
            self.database.script([emptied(TOUCHED, self.dialect)])
        self.tally.change(new, self.layout, 1)
        self.tally.change(went, self.layout, -1)  # after it: what is still there stays counted

    def recount(self) -> None:
        """Count from the beginning in how many tuples objects stand."""
        self.tally.spread = {name: self._spread(name) for name in self.tally.objects}

    def make(self, tables: Sequence[SqlTable]) -> bool:
        """Make those tables of a question that are not there; others stand, or `change` makes."""
        own = (CHOSEN.name, TOUCHED.name)
        passing = [one for one in tables if one.name.startswith(PASSING) or one.name in own]
        return super().make([*passing, TOUCHED])

    def drop_passing(self) -> None:
        """Drop the tables of a question that is over."""
        try:
            super().drop_passing()
        except DatabaseFailed:  # its transaction has failed, and takes them away itself
            for name in [name for name in self._made if name.startswith(PASSING)]:
                del self._made[name]

    def _laid_out(self, facts: Sequence[Fact]) -> RowBatch:
        batch = RowBatch()
        for fact in facts:
            self.layout.add(fact.id, fact.fields, batch)
        return batch

    def _stand(self, classes: Iterable[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Make the tables of classes of which there was no object before; gives their columns."""
        listed = [self.layout.table(name).tables for name in classes]
        script: list[str] = []
        columns: dict[str, tuple[tuple[str, str], ...]] = {}
        for table in [*COMMON, *(one for both in listed for one in both)]:
            columns[table.name] = table.columns
            if table.name not in self.standing:
                script += created(table, self.dialect, temporary=False)
                self.standing[table.name] = None
        if script:
            self.database.script(script)
        return columns

    def _spread(self, name: str, among: SqlTable | None = None) -> Spread:
        known = f"spread {name}" if among is None else f"spread {name} among {among.name}"
        asked = self._said(known, lambda: spread(self.layout.table(name), among))
        return {(many, bool(several)): count for many, several, count in self.database.ask(asked)}

    def _without_chosen(self, name: str) -> Statement:
        def made() -> exp.Expr:
            chosen = parts.select([parts.column("tuple")], parts.table(CHOSEN.name))
            mine = exp.In(this=parts.column("tuple"), query=exp.Subquery(this=chosen))
            return exp.Delete(this=parts.table(name), where=exp.Where(this=mine))

        return self._said(f"without {name}", made)

    def _said(self, known: str, make: Callable[[], exp.Expr]) -> Statement:
        """A statement that is said again and again; there are a few for each class."""
        found = self._statements.get(known)
        if found is None:
            found = self._statements[known] = prepared(make(), self.dialect, Params())
        return found


def _written(one: str | Plain) -> tuple[bool, str]:
    return (True, one.kind) if isinstance(one, Plain) else (False, one)


def _count(counts: dict[_Key, int], key: _Key, more: int) -> None:
    """Count on, or back; what there is none of is taken out."""
    left = counts.get(key, 0) + more
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)
