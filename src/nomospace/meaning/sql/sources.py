"""Where the fields that a network asks for come from: one SELECT over the tables of classes.

A source is the union, over the classes that are accepted and of which there are objects, of the
rows for which some conditions hold. It gives

    tuple, pos, same [, v0_kind, v0_num, v0_ext, v0_text, v1_kind, …]

where the further columns are the values (`flat`) of the paths that were asked for. The conditions
are applied inside, class by class, where the columns of the class are known; so no class pays for
what only another one has. A source of plain fields has the same first columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from nomospace.meaning.question import ClassField, Field, LiteralField, TypeField, field_text
from nomospace.meaning.sql.coding import escaped, identity
from nomospace.meaning.sql.dialects import table_of
from nomospace.meaning.sql.flat import flattened, string
from nomospace.meaning.sql.functions import NotInDatabases
from nomospace.meaning.sql.layout import (
    PLAIN_FIELDS,
    ClassTable,
    Layout,
    checked_path,
    path_text,
    properties,
)
from nomospace.meaning.sql.predicates import condition, paths_in
from nomospace.meaning.sql.values import FALSE, TRUE, Params, Value, all_of
from nomospace.terms.formals import KINDS
from nomospace.terms.objects import MISSING
from nomospace.terms.predicate import parse

Path = tuple[str, ...]


@dataclass
class Wanted:
    """What a source is to give: objects of some classes that meet what is asked, and values."""

    classes: tuple[str, ...]
    asks: list[ClassField] = field(default_factory=list)
    paths: dict[Path, int] = field(default_factory=dict)

    def value(self, path: Path) -> int:
        """The number of the columns in which the value of a path will stand."""
        return self.paths.setdefault(checked_path(path), len(self.paths))


class Sources:
    """Makes sources over the classes that have objects."""

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
        self._open = open_paths

    def has(self, wanted: Wanted) -> bool:
        """Whether there is any object of the classes that are wanted."""
        return any(name in self._open for name in wanted.classes)

    def objects(self, wanted: Wanted) -> exp.Query:
        """The source of objects; an empty one where there are none of its classes."""
        there = [name for name in wanted.classes if name in self._open]
        arms = [self._arm(wanted, self.layout.table(name)) for name in there]
        if not arms:
            return self._empty(wanted)
        found: exp.Query = arms[0]
        for arm in arms[1:]:
            found = exp.Union(this=found, expression=arm, distinct=False)
        return found

    def _empty(self, wanted: Wanted) -> exp.Select:
        made = exp.select(exp.column("tuple"), exp.column("pos"), exp.column("same"))
        for number in range(len(wanted.paths)):
            for column in flattened(()).columns(f"v{number}"):
                made.select(column, copy=False)
        return made.from_(table_of(PLAIN_FIELDS), copy=False).where(FALSE.copy(), copy=False)

    def _arm(self, wanted: Wanted, table: ClassTable) -> exp.Select:
        trees = [parse(ask.predicate, field=False) for ask in wanted.asks if ask.predicate]
        rests: dict[Path, str] = {}
        for path in [*wanted.paths, *(path for tree in trees for path in paths_in(tree))]:
            if checked_path(path) in self._open[table.class_name]:
                rests.setdefault(path, f"r{len(rests)}")

        def look(path: Path) -> Value:
            return table.places(path, "o", rests.get(path))

        made = exp.select(_o("tuple"), _o("pos"), _o("same")).from_(
            exp.alias_(table_of(table.name), "o", table=True), copy=False
        )
        for path, rest in rests.items():
            made.join(
                exp.alias_(table_of(table.rest), rest, table=True),
                on=all_of(
                    [
                        exp.column("tuple", rest).eq(_o("tuple")),
                        exp.column("pos", rest).eq(_o("pos")),
                        exp.column("path", rest).eq(self.params.add(path_text(path))),
                    ]
                ),
                join_type="left",
                copy=False,
            )
        for path, number in wanted.paths.items():
            for column in flattened(look(path)).columns(f"v{number}"):
                made.select(column, copy=False)
        tests = [condition(tree, look, self.params) for tree in trees]
        for ask in wanted.asks:
            tests += self._known(ask, table)
        test = all_of(tests)
        return made if test == TRUE else made.where(test, copy=False)

    def _known(self, ask: ClassField, table: ClassTable) -> list[exp.Expr]:
        """What is asked of an object as a whole."""
        tests: list[exp.Expr] = []
        if ask.id is not MISSING:
            same = f"{escaped(table.class_name)}\t{identity(ask.id)}"
            tests.append(_o("same").eq(self.params.add(same)))
        if ask.equal is not None:
            tests.append(_o("props").eq(self.params.add(properties(ask.equal))))
        return tests

    def plain(self, asks: Field) -> exp.Select:
        """The source of plain fields that meet what is asked."""
        made = exp.select(_o("tuple"), _o("pos"), _o("same")).from_(
            exp.alias_(table_of(PLAIN_FIELDS), "o", table=True), copy=False
        )
        match asks:
            case LiteralField(value):
                return made.where(_o("same").eq(self.params.add(identity(value))), copy=False)
            case TypeField("any"):
                return made
            case TypeField("number"):
                return made.where(_o("kind").isin(string("int"), string("float")), copy=False)
            case TypeField(kind) if kind in KINDS:
                return made.where(_o("kind").eq(string(kind)), copy=False)
        raise NotInDatabases(what=f"the pattern {field_text(asks)[:80]}")


def _o(name: str) -> exp.Column:
    return exp.column(name, "o")
