"""Facts: the tuples that questions are asked about, held so that no question has to scan them.

Each tuple is a `FactRow` with its *shape*: what stands in each field, a class or a kind of plain
value. There are few shapes however many tuples there are, and planners look at shapes only. Rows
are found by shape, and by each object they hold; two fields hold the same object when their classes
are one by name or synonym and their ids are equal, or, without ids, their properties.

Rows have an order, that of their adding. `any` gives the first answer by it: whoever wants the
smallest ids adds tuples in the order of their ids (`Facts.of` does), a live space adds them as they
come.

What a planner wants to know is kept as rows come and go (`KnownFacts`): how many rows a shape has,
in how many tuples one object stands at most, and whether one was seen with different properties.
The latter two only grow; too large a number costs time, never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import attrgetter
from sys import maxsize
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.terms import encode
from nomospace.terms.budget import Slice
from nomospace.terms.objects import MISSING, Missing, is_object, property_of
from nomospace.terms.values import Compound, PropertiesTerm, Term, parts_of

_PACED: Final = 1_024
"""What tuples may cost together that are looked at in one go, whatever is left of a slice."""
_HASHED_ALIKE: Final = (1 << 61) - 1
"""From here on integers have the hash of a smaller one."""
COLUMNS_MAX: Final = 32
"""How many indexes by property are kept of each sort; the one made first goes first."""
_LISTED_MAX: Final = 16
"""Up to here the rows of an object are a list; beyond, a dict, from which one is quick to leave."""


class Fact(NamedTuple):
    """A tuple as it was given: objects are terms `object(Class, Id, [p(V), …])`."""

    id: str
    fields: tuple[Term, ...]


class Plain(NamedTuple):
    """The kind of a plain value in a shape; no class name equals one."""

    kind: str


Shape: TypeAlias = tuple[str | Plain, ...]
"""Field by field: the canonical name of an object's class, or the kind of a plain value."""

PLAIN_KINDS: Final[dict[type, Plain]] = {
    int: Plain("int"),
    float: Plain("float"),
    str: Plain("str"),
    bool: Plain("bool"),
    bytes: Plain("bytes"),
    tuple: Plain("list"),
    type(None): Plain("null"),
    Compound: Plain("term"),
}
"""The kind of each class of plain values, by the word that a template has for it."""


class FactRow(msgspec.Struct, eq=False, gc=False):
    """A tuple with what is known about it. Two rows are equal only when they are one."""

    id: str
    fields: tuple[Term, ...]
    """As they were given."""
    seen: tuple[Term, ...]
    """As questions see them: properties go by the names of the ontology (`Ontology.translated`)."""
    form: int
    """The number of its shape."""
    keys: tuple[Term, ...]
    """For each object what makes it the same as another of its class; `None` for plain values."""
    order: int


Rows: TypeAlias = list[FactRow] | dict[int, FactRow]


MANY: Final = 1_000_000_000
"""More tuples than any set has."""
_COUNTED_MAX: Final = 16
"""Up to here it matters to plans how many tuples there are: no set is larger."""


class KnownFacts(NamedTuple):
    """What a planner has to know about facts; plans made from equal ones are the same."""

    shapes: tuple[tuple[Shape, int], ...]
    """Every shape that has rows, with how many, in the order of first appearance."""
    shared: dict[str, int]
    """Of a class: in how many tuples one object stands at most; absent or 1: none is shared."""
    varying: frozenset[str]
    """Classes of which one object was seen with different properties, or names, in two fields."""
    tuples: int = MANY
    """How many tuples there are, if they are so few that no larger set can be; else `MANY`."""


def object_key(term: PropertiesTerm) -> Term:
    """What makes an object the same as another of its class, fit for a `dict`.

    >>> from nomospace.terms import obj
    >>> object_key(obj("Car", "c1", price=5))
    'c1'
    >>> object_key(obj("Car", 1)) == object_key(obj("Car", 1.0))
    False
    """
    identity = term.args[1]
    if type(identity) is str:
        return identity
    return b"none" + encode(term.args[2]) if identity is None else id_key(identity)


def id_key(identity: Term) -> Term:
    """The `object_key` of objects that have this id.

    Most terms stand for themselves, all others by their bytes. Of integers, and of terms that hold
    them, anybody can say how Python hashes them: very many that hash alike would make a list of a
    `dict`. Of bytes nobody can.

    >>> id_key("c1"), id_key(17), id_key(1.0) == id_key(1), id_key(1 << 70).__class__
    ('c1', 17, False, <class 'bytes'>)
    """
    if type(identity) is str or (
        type(identity) is int and -_HASHED_ALIKE < identity < _HASHED_ALIKE
    ):
        return identity
    return b"id" + encode(identity)


def join_key(value: Term) -> Term:
    """A value as a key that equals another's where `=` holds between them (`predicate.holds`).

    >>> join_key(1) == join_key(1.0), join_key(1) == join_key(True)
    (True, False)
    >>> join_key(1 << 70) == join_key(float(1 << 70)), join_key(3**99) == join_key(3**99 + 1)
    (True, False)
    """
    kind = value.__class__
    if kind is str or kind is float:
        return value
    if type(value) is int and (-_HASHED_ALIKE < value < _HASHED_ALIKE or _is_float(value)):
        return value
    return b"value" + encode(value)


def _is_float(value: int) -> bool:
    """Whether a float is equal to an integer."""
    try:
        return float(value) == value
    except OverflowError:
        return False


class Facts:
    """Tuples, found by shape, by object and by property.

    >>> from nomospace.terms import obj
    >>> facts = Facts.of([Fact("t2", (obj("Car", "A"), 7)), Fact("t1", (obj("Car", "A"),))])
    >>> [row.id for row in facts.holding("Car", "A")]
    ['t1', 't2']
    >>> facts.known().shapes
    ((('Car',), 1), (('Car', Plain(kind='int')), 1))
    >>> facts.remove("t2").fields
    (term("object('Car','A',[])"), 7)
    >>> len(facts)
    1
    """

    def __init__(self, ontology: Ontology = PLAIN, *, steady: bool = False) -> None:
        """Begin without tuples. In `steady` facts a shape that was seen stays known.

        Where tuples come and go all the time, plans are good for longer then.
        """
        self.ontology = ontology
        self._steady = steady
        self.rows: dict[str, FactRow] = {}
        self.version = 0
        """Grows when plans made before may miss answers: a new shape, or more sharing."""
        self.shapes: list[Shape] = []
        self.by_form: list[dict[int, FactRow]] = []
        self.objects: dict[str, dict[Term, Rows]] = {}
        self._forms: dict[Shape, int] = {}
        self._names: dict[str, str] = {}
        self._shared: dict[str, int] = {}
        self._varying: dict[str, None] = {}
        self.ids_in_order = True
        """Whether tuples came in the order of their ids: then the order of rows is that of ids."""
        self._last = ""
        self._columns: dict[tuple[str, tuple[str, ...]], dict[Term, dict[int, FactRow]]] = {}
        self._values: dict[tuple[str, tuple[str, ...]], dict[Term, Term | Missing]] = {}
        self._order = 0
        self.widest = 0
        """The most properties that an object has had here: predicates may go through them."""
        self.slice = Slice(maxsize)
        """What may be looked at before others have their turn: see `paced`."""
        self.changes = 0
        """Grows with every tuple that comes or goes: who looks through facts begins anew then."""

    @classmethod
    def of(cls, facts: Iterable[Fact], ontology: Ontology = PLAIN) -> Facts:
        """Facts from tuples, in the order of their ids."""
        made = cls(ontology)
        for fact in sorted(facts, key=attrgetter("id")):
            made.add(fact.id, fact.fields)
        return made

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, id: str, fields: tuple[Term, ...]) -> FactRow:
        """Take in a tuple, frozen before; its id must be new."""
        assert id not in self.rows, id
        self.changes += 1
        seen = fields
        if self.ontology.renames:
            seen = tuple([self.ontology.translated(field) for field in fields])
        shape: list[str | Plain] = []
        keys: list[Term] = []
        for field in seen:
            if type(field) is Compound and is_object(field):
                shape.append(self._names.get(field.args[0]) or self._name(field.args[0]))
                keys.append(object_key(field))
                self.widest = max(self.widest, len(parts_of(field.args[2])))
            else:
                shape.append(PLAIN_KINDS[field.__class__])
                keys.append(None)
        known = tuple(shape)
        form = self._forms.get(known)
        is_new = form is None
        if form is None:
            form = self._forms[known] = len(self.shapes)
            self.shapes.append(known)
            self.by_form.append({})
        order = self._order = self._order + 1
        self.ids_in_order = self.ids_in_order and self._last < id
        self._last = id
        row = FactRow(id, fields, seen, form, tuple(keys), order)
        of_form = self.by_form[form]
        if is_new or not (of_form or self._steady):
            self.version += 1  # the first of its shape, or the first again
        of_form[order] = row
        self.rows[id] = row
        if not self._steady and len(self.rows) <= _COUNTED_MAX + 1:
            self.version += 1
        for at, class_name in enumerate(known):
            if type(class_name) is str:
                self._hold(str(class_name), at, row)
        for (class_name, path), column in self._columns.items():
            for at in _places(known, class_name):
                _into_column(column, row, at, path)
        return row

    def _name(self, class_name: str) -> str:
        """The canonical name; remembered for those the ontology knows, which are not endless."""
        found = self.ontology.canonical(class_name)
        if found is None:
            return class_name
        self._names[class_name] = found
        return found

    def _hold(self, class_name: str, at: int, row: FactRow) -> None:
        held = self.objects.get(class_name)
        if held is None:
            held = self.objects[class_name] = {}
        key = row.keys[at]
        rows = held.get(key)
        if rows is None:
            held[key] = [row]
            for (name, path), values in self._values.items():
                if name == class_name:
                    values[key] = value_at(row.seen[at], path)
            return
        first = rows[0] if isinstance(rows, list) else next(iter(rows.values()))
        if class_name not in self._varying:
            other = first.seen[_place_of(self.shapes[first.form], first, class_name, key)]
            if row.seen[at] is not other and row.seen[at] != other:
                self._varying[class_name] = None
                self.version += 1
        if isinstance(rows, list):
            if rows[-1] is row:  # it holds the object twice
                return
            rows.append(row)
            if len(rows) > _LISTED_MAX:
                held[key] = {one.order: one for one in rows}
        else:
            rows[row.order] = row
        if len(rows) > self._shared.get(class_name, 1):
            self._shared[class_name] = len(rows)
            self.version += len(rows) <= _MATTERS_MAX

    def remove(self, id: str) -> FactRow:
        """Let a tuple go."""
        row = self.rows.pop(id)
        self.changes += 1
        del self.by_form[row.form][row.order]
        shape = self.shapes[row.form]
        for at, class_name in enumerate(shape):
            if type(class_name) is not str:
                continue
            held = self.objects[str(class_name)]
            rows = held.get(row.keys[at])
            if rows is None:
                continue  # it held the object twice
            if isinstance(rows, list):
                if row in rows:
                    rows.remove(row)
            else:
                rows.pop(row.order, None)
            if not rows:
                del held[row.keys[at]]
                for (name, _), values in self._values.items():
                    if name == class_name:
                        values.pop(row.keys[at], None)
        for (class_name, path), column in self._columns.items():
            for at in _places(shape, class_name):
                there = value_at(row.seen[at], path)
                if there is MISSING:
                    continue
                value = join_key(there)
                found = column.get(value)
                if found is not None:
                    found.pop(row.order, None)
                    if not found:
                        del column[value]
        return row

    def paced(self, rows: Any, price: int) -> Iterable[FactRow | None]:
        """Tuples that are looked at one after the other, for a price each; `None` to give way.

        That is before they are looked at, and again after each few of them, while the slice is used
        up.
        """
        slice = self.slice
        if hasattr(rows, "__len__"):
            cost = len(rows) * price
            if type(rows) is dict:
                rows = rows.values()
            if cost <= _PACED:
                slice.left -= 1 + cost
                return rows if slice.left >= 0 else chain((None,), rows)
        return self._paced(rows, price)

    def _paced(self, rows: Iterable[FactRow], price: int) -> Iterator[FactRow | None]:
        some, count = iter(rows), 1 + _PACED // price
        while few := list(islice(some, count)):
            self.slice.left -= 1 + len(few) * price
            if self.slice.left < 0:
                yield None
            yield from few

    def holding(self, class_name: str, key: Term) -> Iterator[FactRow]:
        """The rows that hold an object, by canonical class and `object_key`, in their order."""
        rows = self.objects.get(class_name, {}).get(key, ())
        return iter(rows.values() if isinstance(rows, dict) else rows)

    def column(self, class_name: str, path: tuple[str, ...]) -> dict[Term, dict[int, FactRow]]:
        """Rows by the value (`join_key`) at a path in their objects of a canonical class.

        Made on first use, which looks at all rows of the class, and kept up to date from then on.
        """
        found = self._columns.get((class_name, path))
        if found is None:
            if len(self._columns) >= COLUMNS_MAX:
                del self._columns[next(iter(self._columns))]
                self.version += 1  # nobody may go on using it
            found = self._columns[class_name, path] = {}
            for form, shape in enumerate(self.shapes):
                for at in _places(shape, class_name):
                    for row in self.by_form[form].values():
                        _into_column(found, row, at, path)
        return found

    def values(self, class_name: str, path: tuple[str, ...]) -> dict[Term, Term | Missing] | None:
        """The value at a path of every object of a canonical class, by `object_key`.

        Made on first use and kept up to date, as a column is. There is none where one object was
        seen with different properties.
        """
        if class_name in self._varying:
            return None
        found = self._values.get((class_name, path))
        if found is None:
            if len(self._values) >= COLUMNS_MAX:
                del self._values[next(iter(self._values))]
                self.version += 1
            found = self._values[class_name, path] = {}
            for key, rows in self.objects.get(class_name, {}).items():
                row = rows[0] if isinstance(rows, list) else next(iter(rows.values()))
                at = _place_of(self.shapes[row.form], row, class_name, key)
                found[key] = value_at(row.seen[at], path)
        return found

    def known(self) -> KnownFacts:
        """What a planner has to know, as it is now."""
        shapes = tuple(
            [
                (shape, len(rows))
                for shape, rows in zip(self.shapes, self.by_form, strict=True)
                if rows or self._steady
            ]
        )
        few = not self._steady and len(self.rows) <= _COUNTED_MAX
        tuples = len(self.rows) if few else MANY
        return KnownFacts(shapes, dict(self._shared), frozenset(self._varying), tuples)


_MATTERS_MAX: Final = 32
"""More tuples than a set may have can share an object; beyond this, plans are the same."""


def value_at(term: Term, path: tuple[str, ...]) -> Term | Missing:
    """What a path leads to from an object, or `MISSING`."""
    for name in path:
        found = property_of(term, name)
        if found is MISSING:
            return MISSING
        term = found
    return term


def _places(shape: Shape, class_name: str) -> list[int]:
    return [at for at, kind in enumerate(shape) if kind == class_name]


def _place_of(shape: Shape, row: FactRow, class_name: str, key: Term) -> int:
    return next(at for at in _places(shape, class_name) if row.keys[at] == key)


def _into_column(
    column: dict[Term, dict[int, FactRow]], row: FactRow, at: int, path: tuple[str, ...]
) -> None:
    value = value_at(row.seen[at], path)
    if value is not MISSING:
        column.setdefault(join_key(value), {})[row.order] = row
