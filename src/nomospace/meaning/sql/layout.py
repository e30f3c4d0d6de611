"""Facts as tables: one table a class, with a typed column for every property that is declared.

| table | a row is |
| --- | --- |
| `tuples` | a tuple: its id, how many fields it has, its bytes |
| `plain` | a plain field: of which tuple, where, what kind, its identity |
| one a class | an object: tuple, position, class as written, `same`, `props`, properties |
| one a class, `…_rest` | a property that no column of its class has room for: path and value |

The paper's persistent store (section 5) has one row for each elementary value, whatever its class,
and puts tuples together by joins. Here what the ontology declares has columns, properties of nested
objects too (`price__amount`), so that a predicate is a condition on one row; only the open
remainder stands value by value, as the paper's all do.

An array as a whole is known by its identity. Its elements stand in the remainder: a path through it
has `[]` for the array, and behind it the places, `tags.[]` and `0`. An object whose arrays have
together more than `ELEMENTS_MAX` elements has only those that came before; its class then knows of
a path with `[+]`, and to ask for it is an error (`ArrayTooLong`), never half an answer.

A column takes values of its declared kind, and numbers that a double holds exactly. Whatever else
an object has there goes to the remainder, so nothing is lost and a predicate answers as ever.

Classes have their canonical names, so synonyms share a table. Two objects are the same when their
`same` is equal: the class with the id, or, without one, with the properties (`props`). Names of
properties are those of the ontology (`Ontology.translated`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from nomospace.errors import CallerError
from nomospace.meaning.facts import PLAIN_KINDS, Plain, Shape
from nomospace.meaning.ontology import BASIC_TYPES, Ontology
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.coding import Coded, coded, digest, escaped, identity
from nomospace.meaning.sql.values import Value, ValuePlace
from nomospace.terms import Term, encode, is_object
from nomospace.terms.objects import has_properties
from nomospace.terms.values import Compound, ObjectTerm, PropertiesTerm

VERSION: Final = 2
"""Goes up when the same tuple would stand in tables in another way: tables of another version that
were kept are not asked."""
PATH_NAMES_MAX: Final = 8
"""The longest path that a database looks along, in names; what lies deeper is only in the bytes."""
ELEMENTS_MAX: Final = 256
"""The most elements of arrays that a database has rows for, of one object."""
COLUMNS_MAX: Final = 200
"""The most columns for properties that a class has; further ones stand in the remainder."""
NESTED_MAX: Final = 3
"""How deep properties of declared nested objects have columns, in names."""
_UNNAMED: Final = re.compile(r"[.\[\x02]")
"""What no name in a path has."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
_KINDS: Final = {"number": "n", "integer": "n", "string": "s", "boolean": "b", "bytes": "y"}
"""The kind that a column has for a declared type; a list is `l`, an object `c`."""

ARRAY: Final = "[]"
"""What stands in a path for an array that is looked into."""
LONG_ARRAY: Final = "[+]"
"""The same for one whose elements have no rows."""
_PLACES: Final = "\2"
"""What stands between a path and the places in its arrays."""

TUPLES: Final = "tuples"
PLAIN_FIELDS: Final = "plain"
NUMBER: Final = "double"
TEXT: Final = "text"
WHOLE: Final = "bigint"
BYTES: Final = "varbinary"

Row = tuple[Any, ...]


class PathTooLong(CallerError):
    """A predicate or a function looks further into an object than databases do."""

    code = "match.path-too-long"
    words = (
        f"the path {{path:.80}} has over {PATH_NAMES_MAX} names, the most that a database "
        "looks along; shorten it, or match with --engine memory"
    )
    path: str


class ArrayTooLong(CallerError):
    """A predicate looks into an array that is too long for databases."""

    code = "match.array-too-long"
    words = (
        "an object has over {limit} elements in its arrays, the most that a database looks into, "
        "so {path} cannot be asked for there; match with --engine memory"
    )
    path: str
    limit: int = ELEMENTS_MAX


class SqlColumn(NamedTuple):
    """The column of a declared property, and the kind of values it takes."""

    name: str
    kind: str


class SqlTable(NamedTuple):
    """A table by name, with its columns and their types; `unique` and `indexes` name columns."""

    name: str
    columns: tuple[tuple[str, str], ...]
    unique: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()


class ClassTable(NamedTuple):
    """Where the objects of one class stand."""

    class_name: str
    name: str
    columns: dict[tuple[str, ...], SqlColumn]

    @property
    def rest(self) -> str:
        """The table of its open remainder."""
        return f"{self.name}_rest"

    @property
    def tables(self) -> tuple[SqlTable, SqlTable]:
        """Both tables of the class."""
        typed = [
            (column.name, NUMBER if column.kind == "n" else TEXT)
            for column in self.columns.values()
        ]
        return (
            SqlTable(
                self.name,
                (
                    ("tuple", TEXT),
                    ("pos", WHOLE),
                    ("name", TEXT),
                    ("same", TEXT),
                    ("props", TEXT),
                    *typed,
                ),
                ("tuple", "pos"),
                (("same",),),
            ),
            SqlTable(
                self.rest,
                (
                    ("tuple", TEXT),
                    ("pos", WHOLE),
                    ("path", TEXT),
                    ("kind", TEXT),
                    ("num", NUMBER),
                    ("ext", TEXT),
                    ("text", TEXT),
                ),
                ("tuple", "pos", "path"),
            ),
        )

    def places(self, path: tuple[str, ...], row: str, rest: str | None) -> Value:
        """Where the value of a path may stand, given the names of a row and of its remainder's."""
        found: list[ValuePlace] = []
        column = self.columns.get(path)
        if column is not None:
            place = parts.column(column.name, row)
            found.append(
                ValuePlace("n", num=place)
                if column.kind == "n"
                else ValuePlace(column.kind, text=place)
            )
        if rest is not None:
            kind, num, ext, text = (
                parts.column(name, rest) for name in ("kind", "num", "ext", "text")
            )
            found.append(ValuePlace(kind, num, ext, text))
        return tuple(found)


COMMON: Final = (
    SqlTable(
        TUPLES,
        (("tuple", TEXT), ("width", WHOLE), ("body", BYTES)),
        ("tuple",),
    ),
    SqlTable(
        PLAIN_FIELDS,
        (("tuple", TEXT), ("pos", WHOLE), ("kind", TEXT), ("same", TEXT)),
        ("tuple", "pos"),
        (("same",),),
    ),
)
"""The tables that there are whatever the classes."""


class RowBatch:
    """Rows on their way into tables, and what they tell of the classes they are of.

    `open_paths` has a class's canonical name for every class of which there is an object, and
    under it the paths that its remainder holds.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {}
        self.open_paths: dict[str, dict[tuple[str, ...], None]] = {}
        self.shapes: dict[Shape, int] = {}
        """How many tuples there are of each shape."""

    def learn(
        self, open_paths: Mapping[str, Iterable[tuple[str, ...]]], shapes: Mapping[Shape, int]
    ) -> None:
        """Know of further tuples, whose rows are elsewhere."""
        for class_name, paths in open_paths.items():
            self.open_paths.setdefault(class_name, {}).update(dict.fromkeys(paths))
        for shape, count in shapes.items():
            self.shapes[shape] = self.shapes.get(shape, 0) + count

    def put(self, table: str, row: Row) -> None:
        """One more row."""
        self.rows.setdefault(table, []).append(row)


class Layout:
    """How facts in the words of one ontology stand in tables.

    >>> from nomospace.meaning.ontology import OntologyClass
    >>> cars = Ontology("cars", [
    ...     OntologyClass("Car", ("Automobile",), properties={"price": "Price", "maker": "string"}),
    ...     OntologyClass("Price", properties={"amount": "number"}),
    ... ])
    >>> [column.name for column in Layout(cars).table("Automobile").columns.values()]
    ['maker', 'price', 'price__amount']
    """

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology
        self._tables: dict[str, ClassTable] = {}
        folded: dict[str, int] = {}
        for name in ontology.classes:
            folded[name.lower()] = folded.get(name.lower(), 0) + 1
        self._alone = folded

    def canonical(self, class_name: str) -> str:
        """The name that a class has in tables; that of an unknown one is its own."""
        return self.ontology.canonical(class_name) or class_name

    def table(self, class_name: str) -> ClassTable:
        """The table of a class."""
        name = self.canonical(class_name)
        found = self._tables.get(name)
        if found is None:
            found = ClassTable(name, self._table_name(name), self._columns(name))
            self._tables[name] = found
        return found

    def _table_name(self, name: str) -> str:
        """A name that databases take, which fold cases and reserve words."""
        if _PLAIN_NAME.fullmatch(name) and self._alone.get(name.lower()) == 1:
            return f"o_{name}"
        return f"x_{_bare(name)}_{digest(name.encode())[:12]}"

    def _columns(self, name: str) -> dict[tuple[str, ...], SqlColumn]:
        found: dict[tuple[str, ...], SqlColumn] = {}
        taken: set[str] = {"tuple", "pos", "name", "same", "props"}
        layer: list[tuple[tuple[str, ...], str]] = [((), name)]
        while layer:  # breadth first: what is near has its columns first
            further: list[tuple[tuple[str, ...], str]] = []
            for above, class_name in layer:
                for prop, kind in self.ontology.properties(class_name).items():
                    path = (*above, prop)
                    if len(found) >= COLUMNS_MAX or kind == "any" or "." in prop:
                        continue
                    if kind not in BASIC_TYPES and len(path) < NESTED_MAX:
                        further.append((path, kind))
                    letter = _KINDS.get(kind, "l" if kind == "list" else "c")
                    found[path] = SqlColumn(_column_name(path, taken), letter)
            layer = further
        return found

    def add(self, tuple_id: str, fields: Sequence[Term], batch: RowBatch) -> None:
        """Put the rows of one tuple into a batch."""
        known = escaped(tuple_id)
        batch.put(TUPLES, (known, len(fields), encode(tuple(fields))))
        shape: list[str | Plain] = []
        for pos, given in enumerate(fields):
            field = self.ontology.translated(given)
            if is_object(field):
                shape.append(self._add_object(known, pos, field, batch))
            else:
                plain = PLAIN_KINDS[field.__class__]
                shape.append(plain)
                batch.put(PLAIN_FIELDS, (known, pos, plain.kind, identity(field)))
        known_shape = tuple(shape)
        batch.shapes[known_shape] = batch.shapes.get(known_shape, 0) + 1

    def _add_object(self, tuple_id: str, pos: int, field: ObjectTerm, batch: RowBatch) -> str:
        table = self.table(field.args[0])
        columns: dict[str, float | str | None] = {
            column.name: None for column in table.columns.values()
        }
        opened = batch.open_paths.setdefault(table.class_name, {})
        for path, places, value in _leaves(field):
            column = table.columns.get(path)
            if column is not None and value.kind == column.kind and value.ext is None:
                columns[column.name] = value.num if value.kind == "n" else value.text
            else:
                opened[path] = None
                batch.put(table.rest, (tuple_id, pos, path_text(path, places), *value))
        known = escaped(field.args[0]), self.same(field), properties(field)
        batch.put(table.name, (tuple_id, pos, *known, *columns.values()))
        return table.class_name

    def same(self, field: ObjectTerm) -> str:
        """What an object has in common with those that are the same object, and no others.

        >>> from nomospace.terms import obj
        >>> plain = Layout(Ontology("plain"))
        >>> plain.same(obj("Car", "A", price=1)) == plain.same(obj("Car", "A", price=2))
        True
        >>> plain.same(obj("Car", price=1)) == plain.same(obj("Car", price=2))
        False
        """
        class_name, known, _ = field.args
        name = escaped(self.canonical(class_name))
        if known is not None:
            return f"{name}\t{identity(known)}"
        return f"{name}\t={properties(field)}"


def _leaves(
    field: PropertiesTerm,
) -> Iterator[tuple[tuple[str, ...], tuple[int, ...], Coded]]:
    """Every path of an object that a predicate can name, the places in arrays, and the value."""
    todo: list[tuple[tuple[str, ...], tuple[int, ...], Term]] = [((), (), field)]
    left = ELEMENTS_MAX
    while todo:
        above, places, term = todo.pop()
        inside: list[tuple[tuple[str, ...], tuple[int, ...], Term]] = []
        if type(term) is tuple:
            left -= len(term)
            if left < 0:
                yield (*above, LONG_ARRAY), places, coded(None)
                continue
            inside = [((*above, ARRAY), (*places, at), one) for at, one in enumerate(term)]
        elif has_properties(term):
            inside = [((*above, name), places, value) for name, value in _named(term).items()]
        for path, at, value in inside:
            yield path, at, coded(value)
            if len(path) < PATH_NAMES_MAX and (type(value) is tuple or has_properties(value)):
                todo.append((path, at, value))


def _named(term: PropertiesTerm) -> dict[str, Term]:
    """The properties that a path can name."""
    found: dict[str, Term] = {}
    for item in term.args[2]:
        # As `property_of`: the first of a name counts, and only with one argument.
        if type(item) is Compound and len(item.args) == 1 and not _UNNAMED.search(item.name):
            found.setdefault(item.name, item.args[0])
    return found


def checked_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """A path that databases look along; raises `PathTooLong`."""
    if len(path) > PATH_NAMES_MAX:
        raise PathTooLong(path=".".join(path))
    return path


def properties(field: PropertiesTerm) -> str:
    """What objects with equal properties share, and no others."""
    return digest(encode(field.args[2]))


def path_text(path: tuple[str, ...], places: tuple[int, ...] = ()) -> str:
    """A path as the remainder has it, with the places in arrays that it leads through.

    >>> path_text(("tags", ARRAY)) == path_text(("tags", ARRAY), (3,))
    False
    """
    text = escaped(".".join(path))
    return f"{text}{_PLACES}{','.join(map(str, places))}" if places else text


def elements_text(path: tuple[str, ...], places: tuple[int, ...]) -> tuple[str, str]:
    """Between which texts the rows of all elements stand, of which the first places are known."""
    first = path_text(path) + _PLACES + "".join(f"{place}," for place in places)
    return first, first[:-1] + chr(ord(first[-1]) + 1)


def _column_name(path: tuple[str, ...], taken: set[str]) -> str:
    name = "__".join(_bare(part) for part in path)
    whole = all(_PLAIN_NAME.fullmatch(part) for part in path)
    if not whole or len(name) > 50 or name.lower() in taken:
        name = f"{name[:40]}_{digest('.'.join(path).encode())[:12]}"
    taken.add(name.lower())
    return name


def _bare(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:30]
