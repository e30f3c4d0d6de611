"""Where the fields that networks ask for come from: tables of candidates, made once a question.

A source is the union, over the classes that are accepted and of which there are objects, of the
rows for which some conditions hold. It gives

    tuple, pos, same [, v0_kind, v0_num, v0_ext, v0_text, v1_kind, …]

where the further columns are the values (`flat`) of the paths that were asked for. The conditions
are applied inside, class by class, where the columns of the class are known; so no class pays for
what only another one has. A source of plain fields has the same first columns.

The networks of a plan ask for few sources, again and again. So each is put into a table of its own
(`source_…`) before the first network that needs it, with indexes where the database has them. What
is asked for without conditions, of one class, is the table of that class itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from nomospace.meaning.question import ClassField, Field, LiteralField, PatternField, TypeField
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.coding import escaped, identity
from nomospace.meaning.sql.flat import PARTS, flattened, string
from nomospace.meaning.sql.layout import (
    ARRAY,
    LONG_ARRAY,
    NUMBER,
    PLAIN_FIELDS,
    TEXT,
    WHOLE,
    ArrayTooLong,
    ClassTable,
    Layout,
    SqlTable,
    checked_path,
    elements_text,
    path_text,
    properties,
)
from nomospace.meaning.sql.predicates import condition
from nomospace.meaning.sql.values import FALSE, TRUE, Params, Value, all_of
from nomospace.terms import predicate
from nomospace.terms.objects import MISSING
from nomospace.terms.predicate import Element, parse

Path = tuple[str, ...]


@dataclass
class WantedObjects:
    """What a source is to give: objects of some classes that meet what is asked, and values."""

    classes: tuple[str, ...]
    asks: list[ClassField] = field(default_factory=list)
    paths: dict[Path, int] = field(default_factory=dict)

    def value(self, path: Path) -> int:
        """The number of the columns in which the value of a path will stand."""
        return self.paths.setdefault(checked_path(path), len(self.paths))


class CandidateSource(NamedTuple):
    """A table of candidates, and the query that fills it."""

    table: SqlTable
    query: exp.Query


class Sources:
    """The sources of one question, over the classes that have objects.

    `used` are those that were asked for since somebody last emptied it.
    """

    def __init__(
        self,
        layout: Layout,
        open_paths: Mapping[str, Mapping[Path, None]],
        params: Params,
        fields: Sequence[Field] = (),
    ) -> None:
        self.layout = layout
        self.params = params
        self.fields = fields
        """The template's."""
        self.used: dict[str, CandidateSource] = {}
        self._made: dict[str, CandidateSource] = {}
        self._open = open_paths

    def objects(self, wanted: WantedObjects, alias: str) -> exp.Table:
        """The source of objects, to be joined under an alias."""
        there = tuple([name for name in wanted.classes if name in self._open])
        if len(there) == 1 and not wanted.paths and not any(map(_asks_more, wanted.asks)):
            return parts.table(self.layout.table(there[0]).name, alias)
        asks = tuple([ask for ask in wanted.asks if _asks_more(ask)])
        known = str((there, asks, tuple(wanted.paths)))  # as a text: 1 and 1.0 are two
        made = self._made.get(known) or self._add(known, self.object_query(wanted), wanted.paths)
        self.used[made.table.name] = made
        return parts.table(made.table.name, alias)

    def plain(self, asks: Field, alias: str) -> exp.Table:
        """The source of plain fields, to be joined under an alias."""
        made = self._made.get(str(asks)) or self._add(str(asks), self.plain_query(asks), ())
        self.used[made.table.name] = made
        return parts.table(made.table.name, alias)

    def _add(self, known: str, query: exp.Query, paths: Iterable[Path]) -> CandidateSource:
        columns = [("tuple", TEXT), ("pos", WHOLE), ("same", TEXT)]
        for number, _ in enumerate(paths):
            columns += [(f"v{number}_{part}", NUMBER if part == "num" else TEXT) for part in PARTS]
        name = f"source_{len(self._made)}"
        table = SqlTable(name, tuple(columns), indexes=(("tuple",), ("same",)))
        made = self._made[known] = CandidateSource(table, query)
        return made

    def has(self, wanted: WantedObjects) -> bool:
        """Whether there is any object of the classes that are wanted."""
        return any(name in self._open for name in wanted.classes)

    def object_query(self, wanted: WantedObjects) -> exp.Query:
        """What fills a source of objects; an empty one where there are none of its classes."""
        there = [name for name in wanted.classes if name in self._open]
        arms = [self._arm(wanted, self.layout.table(name)) for name in there]
        if not arms:
            return self._empty(wanted)
        found: exp.Query = arms[0]
        for arm in arms[1:]:
            found = exp.Union(this=found, expression=arm, distinct=False)
        return found

    def _empty(self, wanted: WantedObjects) -> exp.Select:
        columns: list[exp.Expr] = [_o("tuple"), _o("pos"), _o("same")]
        for number in range(len(wanted.paths)):
            columns += flattened(()).columns(f"v{number}")
        return parts.select(columns, parts.table(PLAIN_FIELDS, "o"), where=FALSE.copy())

    def _arm(self, wanted: WantedObjects, table: ClassTable) -> exp.Select:
        trees = [parse(ask.predicate, field=False) for ask in wanted.asks if ask.predicate]
        row = _ObjectRow(table, self._open[table.class_name], self.params)
        columns: list[exp.Expr] = [_o("tuple"), _o("pos"), _o("same")]
        for path, number in wanted.paths.items():
            columns += flattened(row.at(path)).columns(f"v{number}")
        tests = [condition(tree, row, self.params) for tree in trees]
        for ask in wanted.asks:
            tests += self._known(ask, table)
        from_ = parts.table(table.name, "o")
        return parts.select(columns, from_, joins=row.joins, where=all_of(tests))

    def _known(self, ask: ClassField, table: ClassTable) -> list[exp.Expr]:
        """What is asked of an object as a whole."""
        tests: list[exp.Expr] = []
        if ask.id is not MISSING:
            same = f"{escaped(table.class_name)}\t{identity(ask.id)}"
            tests.append(parts.equal(_o("same"), self.params.add(same)))
        if ask.equal is not None:
            tests.append(parts.equal(_o("props"), self.params.add(properties(ask.equal))))
        return tests

    def plain_query(self, asks: Field) -> exp.Select:
        """What fills a source of plain fields."""
        assert not isinstance(asks, ClassField), asks
        test: exp.Expr
        match asks:
            case LiteralField(value):
                test = parts.equal(_o("same"), self.params.add(identity(value)))
            case TypeField("any") | PatternField():  # Python tells what fits a pattern
                test = TRUE.copy()
            case TypeField("number"):
                test = exp.In(this=_o("kind"), expressions=[string("int"), string("float")])
            case TypeField(kind):
                test = parts.equal(_o("kind"), string(kind))
        columns = [_o("tuple"), _o("pos"), _o("same")]
        return parts.select(columns, parts.table(PLAIN_FIELDS, "o"), where=test)


class _ObjectRow:
    """The row `o` of a class, as a `predicates.Look`; its remainder is joined as it is needed."""

    def __init__(self, table: ClassTable, opened: Mapping[Path, None], params: Params) -> None:
        self.joins: list[exp.Join] = []
        self._table = table
        self._open = opened
        self._params = params
        self._rests: dict[str, str] = {}

    def value(self, operand: predicate.Path | Element, side: str) -> Value:
        if isinstance(operand, predicate.Path):
            return self.at(operand.names)
        path, places = self._through(operand)
        if not operand.several:
            return self.at(path, places)
        return self._table.places(path, "o", f"e{side}" if path in self._open else None)

    def at(self, path: Path, places: tuple[int, ...] = ()) -> Value:
        """Where the value of a path may stand, with the places in arrays that it leads through."""
        rest = None
        if checked_path(path) in self._open:
            text = path_text(path, places)
            rest = self._rests.get(text)
            if rest is None:
                rest = self._rests[text] = f"r{len(self._rests)}"
                mine = parts.equal(parts.column("path", rest), self._params.add(text))
                both = all_of([*_of_object(rest), mine])
                self.joins.append(parts.left(parts.table(self._table.rest, rest), both))
        return self._table.places(path, "o", rest)

    def some(self, element: Element, side: str, test: exp.Expr) -> exp.Expr:
        path, places = self._through(element)
        rest = f"e{side}"
        first, end = map(self._params.add, elements_text(path, places))
        between = [
            exp.GTE(this=parts.column("path", rest), expression=first),
            exp.LT(this=parts.column("path", rest), expression=end),
        ]
        there = parts.table(self._table.rest, rest)
        found = all_of([*_of_object(rest), *between, test])
        return exp.Exists(this=parts.select([parts.number(1)], there, where=found))

    def _through(self, element: Element) -> tuple[Path, tuple[int, ...]]:
        path = checked_path(
            tuple([step if isinstance(step, str) else ARRAY for step in element.steps])
        )
        for at, step in enumerate(path):
            if step == ARRAY and (*path[:at], LONG_ARRAY) in self._open:
                raise ArrayTooLong(path=".".join(path).replace(".[", "["))
        return path, tuple([step for step in element.steps if isinstance(step, int)])


def _of_object(rest: str) -> list[exp.Expr]:
    """A row of the remainder is of the object `o`."""
    return [parts.equal(parts.column(name, rest), _o(name)) for name in ("tuple", "pos")]


def _asks_more(ask: ClassField) -> bool:
    """Whether a field asks for more than its class."""
    return bool(ask.predicate) or ask.id is not MISSING or ask.equal is not None


def _o(name: str) -> exp.Column:
    return parts.column(name, "o")
