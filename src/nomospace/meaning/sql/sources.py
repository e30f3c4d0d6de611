"""Where the objects that a question asks for come from: one SELECT over the tables of classes.

A source is the union, over the classes that are accepted and of which there are objects, of the
rows for which a predicate holds. It gives

    tuple, pos, same, own [, v0_kind, v0_num, v0_ext, v0_text, v1_kind, …]

where `own` is 0 for the class that was named and 1 for others, and the further columns are the
values of the paths that were asked for. The predicate is applied inside, class by class, where the
columns of the class are known; so no class pays for what only another one has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from nomospace.meaning.sql.coding import identity
from nomospace.meaning.sql.dialects import Dialect, ordered, table_of
from nomospace.meaning.sql.layout import NUMBER, TEXT, ClassTable, Layout, checked_path, path_text
from nomospace.meaning.sql.predicates import condition, paths_in
from nomospace.meaning.sql.values import TRUE, Params, Place, Value, all_of
from nomospace.terms import Term
from nomospace.terms.predicate import Predicate

PARTS = ("kind", "num", "ext", "text")
"""The columns of a value."""

Paths = tuple[str, ...]


class Wanted(NamedTuple):
    """What a source is to give: objects that a class accepts, and some of their values."""

    class_name: str
    predicate: Predicate | None = None
    same: Sequence[str] | None = None
    """Only these objects, if given."""
    paths: tuple[Paths, ...] = ()


class Sources:
    """Makes sources over the classes that have objects."""

    def __init__(
        self,
        layout: Layout,
        open_paths: Mapping[str, Mapping[Paths, None]],
        dialect: Dialect,
        params: Params,
    ) -> None:
        self.layout = layout
        self.dialect = dialect
        self.params = params
        self._open = open_paths

    def accepted(self, class_name: str) -> list[str]:
        """The classes with objects that a class accepts, by canonical name and in order."""
        accepts = self.layout.ontology.accepts
        return sorted(name for name in self._open if accepts(class_name, name))

    def select(self, wanted: Wanted, classes: Sequence[str] | None = None) -> exp.Query | None:
        """The source, or none where no object can be of it."""
        arms = [
            self._arm(wanted, self.layout.table(name))
            for name in (self.accepted(wanted.class_name) if classes is None else classes)
        ]
        if not arms:
            return None
        found: exp.Query = arms[0]
        for arm in arms[1:]:
            found = exp.Union(this=found, expression=arm, distinct=False)
        return found

    def _arm(self, wanted: Wanted, table: ClassTable) -> exp.Select:
        used = list(wanted.paths)
        if wanted.predicate is not None:
            used += paths_in(wanted.predicate)
        rests: dict[Paths, str] = {}
        for path in used:
            if checked_path(path) in self._open[table.class_name]:
                rests.setdefault(path, f"r{len(rests)}")

        def look(path: Paths) -> Value:
            return table.places(path, "o", rests.get(path))

        own = table.class_name == self.layout.canonical(wanted.class_name)
        made = exp.select(
            _o("tuple"), _o("pos"), _o("same"), exp.alias_(exp.Literal.number(int(not own)), "own")
        ).from_(exp.alias_(table_of(table.name), "o", table=True))
        for path, rest in rests.items():
            made = made.join(
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
        for at, path in enumerate(wanted.paths):
            for part, value in zip(PARTS, self._flat(look(path)), strict=True):
                made = made.select(exp.alias_(value, f"v{at}_{part}"), copy=False)
        if wanted.predicate is not None:
            test = condition(wanted.predicate, look, self.params)
            made = made.where(test, copy=False) if test != TRUE else made
        if wanted.same is not None:
            made = made.where(
                _o("same").isin(*(self.params.add(same) for same in wanted.same)), copy=False
            )
        return made

    def _flat(self, value: Value) -> tuple[exp.Expr, ...]:
        """A value in one set of columns, whichever place it stands in."""
        kinds: list[exp.Expr] = []
        columns: dict[str, list[exp.Expr]] = {"num": [], "ext": [], "text": []}
        for place in value:
            if isinstance(place.kind, str):
                letter = exp.Literal.string(place.kind)
                kinds.append(exp.Case().when(place.there, letter))
            else:
                kinds.append(place.kind.copy())
            for part, found in columns.items():
                column = getattr(place, part)
                if column is not None:
                    found.append(column.copy())
        return (
            self._first(kinds, TEXT),
            *(
                self._first(found, NUMBER if part == "num" else TEXT)
                for part, found in columns.items()
            ),
        )

    def _first(self, columns: list[exp.Expr], kind: str) -> exp.Expr:
        if len(columns) > 1:
            return exp.func("COALESCE", *columns)
        found = columns[0] if columns else exp.cast(exp.null(), kind)
        bare = not isinstance(found, exp.Column) and kind == TEXT
        return ordered(found, self.dialect) if bare else found

    def one(self, class_name: str, known: Term) -> tuple[str, ...]:
        """`same` of the objects with an id, of any class that a class accepts."""
        return tuple(
            f"{self.layout.canonical(name)}\t{identity(known)}"
            for name in self.accepted(class_name)
        )


def value_at(row: str, at: int) -> Value:
    """The value of a path that a source was asked for, by its number."""
    kind, num, ext, text = (exp.column(f"v{at}_{part}", row) for part in PARTS)
    return (Place(kind, num, ext, text),)


def _o(name: str) -> exp.Column:
    return exp.column(name, "o")
