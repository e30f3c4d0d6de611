"""Ontologies: what the classes of objects mean to each other, closed once and then looked up.

An ontology is a set of classes, each with a name, synonyms, parents, typed properties and, for
properties that can be computed, dependence functions (the paper "Semantic Tuplespace", Definition
1). It is made by `nomospace.meaning.reading`, which has checked all of it: names are unique,
parents and functions have no cycles, whatever is named exists. So nothing here can fail.

Everything is held by *canonical* name, and in the order of names, never in the order of a file: the
same content in another order or format is the same ontology with the same `hash`.

Whether a template's class accepts a tuple's class (Definition 3) is one look-up in a set of names:
that of the class, its synonyms and those of all its descendants. The set of a class is made on
first use and kept. Making all of them at once would cost the square of the depth in a long chain,
and templates name few classes. A name that the ontology does not know accepts itself alone.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sized
from functools import cached_property
from operator import attrgetter
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeGuard, TypeVar

import msgspec

from nomospace.meaning.functions import FUNCTIONS, Functions
from nomospace.terms.objects import MISSING
from nomospace.terms.predicate import Literal
from nomospace.terms.text import show
from nomospace.terms.values import OBJECT, Compound, Term

if TYPE_CHECKING:
    from nomospace.meaning.mapping import OntologyMapping

CLASSES_MAX: Final = 100_000
"""The most classes an ontology may have."""
LISTED_MAX: Final = 256
"""Names of classes under one class that are listed for whoever asks which it accepts."""
CLOSED_NAMES_MAX: Final = 4_000_000
"""How many names closed tables of one sort may hold together; past it, the oldest goes."""

BASIC_TYPES: Final = ("any", "boolean", "bytes", "integer", "list", "number", "string")
"""The types of plain properties. `integer` is a `number`, and everything is `any`."""


class Input(NamedTuple):
    """A property of a class, as a function or its `when` names it: `Arrival.timeStamp`."""

    class_name: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((self.class_name, *self.path))


Operand = Input | Literal


class Tie(NamedTuple):
    """One comparison of a `when`; the chain `A.x = B.y = C.z` is two of them."""

    left: Operand
    sign: str
    right: Operand

    def __str__(self) -> str:
        return f"{operand_text(self.left)} {self.sign} {operand_text(self.right)}"

    def gives(self, owner: str) -> Iterator[tuple[str, Operand]]:
        """The properties of the owner that it gives a value, and from where."""
        for mine, other in ((self.left, self.right), (self.right, self.left)):
            if self.sign != "=" or is_of(other, owner):
                continue
            if is_of(mine, owner) and len(mine.path) == 1:
                yield mine.path[0], other


def is_of(side: Operand, owner: str) -> TypeGuard[Input]:
    """Whether an operand is a property of a class."""
    return isinstance(side, Input) and side.class_name == owner


class Dependence(NamedTuple):
    """One function for one property of its owner, and the ties under which it may be used.

    An input of class `owner` in a tie is a property of the computed object itself. Every other
    class name stands for one object, the same wherever the owner's functions name the class.
    """

    owner: str
    property: str
    function: str
    arguments: tuple[Operand, ...]
    when: tuple[Tie, ...] = ()

    @builtins.property  # a field has this name here
    def text(self) -> str:
        """The function as it is written, with canonical names.

        >>> made = Dependence("Trip", "time", "minus", (Input("End", ("at",)), Literal(5)))
        >>> made.text
        'minus(End.at, 5)'
        """
        return f"{self.function}({', '.join(map(operand_text, self.arguments))})"

    @builtins.property  # a field has this name here
    def condition(self) -> str:
        """The ties under which it may be used, as they are written; empty without any."""
        return " and ".join(map(str, self.when))

    @builtins.property  # a field has this name here
    def inputs(self) -> tuple[str, ...]:
        """The classes whose objects it needs: those of its arguments, then those of its ties."""
        operands = [*self.arguments, *(side for tie in self.when for side in (tie.left, tie.right))]
        named = [side.class_name for side in operands if isinstance(side, Input)]
        return tuple(dict.fromkeys(name for name in named if name != self.owner))


SMALL_CLASSES: Final = 500
"""A small ontology has no more classes,"""
SMALL_PROPERTIES: Final = 2_000
"""and declares no more properties."""


class OntologyClass(NamedTuple):
    """A class as it was declared, without what it inherits."""

    name: str
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    properties: Mapping[str, str] = MappingProxyType({})
    depends: Mapping[str, tuple[Dependence, ...]] = MappingProxyType({})
    place: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, then its synonyms."""
        return (self.name, *self.synonyms)


_Table = TypeVar("_Table", bound=Sized)


class _Kept(dict[str, _Table]):
    """Tables that were closed, by class; one that had to go is made anew when it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names = 0

    def keep(self, name: str, table: _Table) -> _Table:
        self[name] = table
        self.names += len(table) + 1
        while self.names > CLOSED_NAMES_MAX and len(self) > 1:
            self.names -= len(self.pop(next(iter(self)))) + 1
        return table


class _Below:
    """The names that a class accepts, of which there are too many to list them for a template."""

    __slots__ = ("_canonical", "_ontology")

    def __init__(self, ontology: Ontology, canonical: str) -> None:
        self._ontology = ontology
        self._canonical = canonical

    def __contains__(self, name: object) -> bool:
        return type(name) is str and self._ontology.is_under(str(name), self._canonical)


class Ontology:
    """Classes and what they accept; immutable.

    >>> cars = Ontology("cars", [
    ...     OntologyClass("Car", ("Automobile",), properties={"price": "number"}),
    ...     OntologyClass("SportsCar", parents=("Car",)),
    ... ])
    >>> cars.accepts("Automobile", "SportsCar"), cars.accepts("SportsCar", "Car")
    (True, False)
    >>> cars.why("Car", "SportsCar"), cars.why("Car", "Automobile"), cars.why("Car", "Car")
    ('SportsCar is a Car', 'Automobile means Car', '')
    >>> cars.properties("SportsCar")
    mappingproxy({'price': 'number'})
    """

    finder: ClassVar[Callable[..., Ontology] | None] = None
    """Who reads ontologies from files. `client.ontologies` sets itself: this room opens none."""

    @staticmethod
    def load(path: str | PurePath, **how: object) -> Ontology:
        """An ontology from its file and all that it imports: `nomospace.Ontology.load`.

        Takes what `client.ontologies.load_ontology` takes. Raises `FaultyOntology` with everything
        wrong, and `OntologyFile` when the file cannot be read.
        """
        assert Ontology.finder is not None, "take Ontology from nomospace, or read_ontology here"
        return Ontology.finder(path, **how)

    def __init__(
        self,
        name: str,
        classes: Iterable[OntologyClass] = (),
        *,
        functions: Functions = FUNCTIONS,
        renames: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Close classes that a reader has checked; parents and types are canonical names."""
        self.name = name
        by_name = {one.name: one for one in sorted(classes, key=attrgetter("name"))}
        self.classes: Mapping[str, OntologyClass] = MappingProxyType(by_name)
        self.functions = functions
        self.warnings = warnings
        self._canonical = {name: one.name for one in by_name.values() for name in one.names}
        called: dict[str, dict[str, str]] = {}
        for one_name, pairs in renames.items():
            called.setdefault(self._canonical.get(one_name, one_name), {}).update(pairs)
        self.renames: Mapping[str, Mapping[str, str]] = called
        self._children: dict[str, list[str]] = {}
        for one in by_name.values():
            for parent in one.parents:
                self._children.setdefault(parent, []).append(one.name)
        self._accepted: _Kept[frozenset[str]] = _Kept()
        self._above: _Kept[frozenset[str]] = _Kept()
        self._properties: _Kept[Mapping[str, str]] = _Kept()
        self._depends: _Kept[Mapping[str, tuple[Dependence, ...]]] = _Kept()

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        return f"<ontology {self.name}: {len(self.classes)} classes, sha256:{self.hash[:12]}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ontology) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    @cached_property
    def hash(self) -> str:
        """SHA-256, in hex, over the content; neither order, format nor name of a file matter."""
        content = [
            (
                one.name,
                sorted(one.synonyms),
                sorted(one.parents),
                sorted(one.properties.items()),
                sorted(
                    (name, [(d.text, [str(tie) for tie in d.when]) for d in listed])
                    for name, listed in one.depends.items()
                ),
                sorted(self.renames.get(one.name, {}).items()),
            )
            for one in self.classes.values()
        ]
        return hashlib.sha256(b"nomospace ontology 1\n" + msgspec.json.encode(content)).hexdigest()

    @cached_property
    def computes(self) -> bool:
        """Whether any class has functions."""
        return any(one.depends for one in self.classes.values())

    def canonical(self, name: str) -> str | None:
        """The name of the class that has this name or synonym."""
        return self._canonical.get(name)

    def same_class(self, a: str, b: str) -> bool:
        """Whether two names mean one class."""
        return a == b or self._canonical.get(a, a) == self._canonical.get(b, b)

    def accepts(self, template_class: str, tuple_class: str) -> bool:
        """Whether a template's class takes a tuple's: the same, a synonym or a descendant."""
        closed = self._accepted.get(template_class)
        return tuple_class in (self.accepted(template_class) if closed is None else closed)

    def accepted(self, class_name: str) -> frozenset[str]:
        """Every name that a class accepts: its own and those of all its descendants."""
        found = self._accepted.get(class_name)
        if found is not None:
            return found
        canonical = self._canonical.get(class_name)
        if canonical is None:
            return frozenset((class_name,))  # not kept: anyone may make up names
        names: list[str] = []
        for name in (canonical, *self.descendants(canonical)):
            names += self.classes[name].names
        return self._accepted.keep(class_name, frozenset(names))

    def accepting(self, class_name: str) -> Container[str]:
        """`accepted` for who asks of one name at a time: of a class with very many below it, not
        all are listed.

        >>> PLAIN.accepting("Car")
        frozenset({'Car'})
        """
        found = self._accepted.get(class_name)
        if found is not None:
            return found
        canonical = self._canonical.get(class_name)
        if canonical is None:
            return self.accepted(class_name)
        listed = self._listed(canonical)
        if listed is None:
            return _Below(self, canonical)
        return self._accepted.keep(class_name, listed)

    def _listed(self, canonical: str) -> frozenset[str] | None:
        """What a class accepts; none where the classes under it have more than `LISTED_MAX` names.

        It looks at no more than that: a template may name very many classes.
        """
        classes, below = self.classes, self._children
        found, names = {canonical: None}, list(classes[canonical].names)
        most = LISTED_MAX + len(names)
        todo = [canonical]
        for one in todo:
            children = below.get(one, ())
            if len(children) > LISTED_MAX:
                return None
            for child in children:
                if child not in found:
                    found[child] = None
                    todo.append(child)
                    names += (child, *classes[child].synonyms)
            if len(names) > most:
                return None
        return frozenset(names)

    def is_under(self, name: str, canonical: str) -> bool:
        """Whether a name is one of a class or of a class under it, by what is above the name."""
        own = self._canonical.get(name)
        if own is None:
            return False
        above = self._above.get(own)
        if above is None:
            above = self._above.keep(own, frozenset((own, *self.ancestors(own))))
        return canonical in above

    def levels(self) -> int:
        """How many classes stand one above the other at most.

        >>> PLAIN.levels()
        0
        """
        depth: dict[str, int] = {}
        for name in self.classes:
            todo = [name]
            while todo:
                parents = self.classes[todo[-1]].parents
                unknown = [one for one in parents if one not in depth]
                if unknown:
                    todo += unknown
                else:
                    depth[todo.pop()] = 1 + max([depth[one] for one in parents], default=0)
        return max(depth.values(), default=0)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """The classes above a class, nearest first, each once; in the order of names at one height.

        >>> PLAIN.ancestors("Car")
        ()
        """
        canonical = self._canonical.get(name)
        if canonical is None:
            return ()
        return _above(canonical, lambda one: self.classes[one].parents)

    def descendants(self, name: str) -> tuple[str, ...]:
        """The classes under a class, nearest first, each once."""
        canonical = self._canonical.get(name)
        if canonical is None:
            return ()
        return _above(canonical, lambda one: self._children.get(one, ()))

    def children(self, name: str) -> tuple[str, ...]:
        """The classes right under a class, in the order of their names."""
        return tuple(self._children.get(self._canonical.get(name, name), ()))

    def properties(self, class_name: str) -> Mapping[str, str]:
        """Properties and their types, inherited ones too; of several types the narrowest."""
        canonical = self._canonical.get(class_name)
        if canonical is None:
            return MappingProxyType({})
        found = self._properties.get(canonical)
        if found is None:
            merged: dict[str, str] = {}
            for name in (canonical, *self.ancestors(canonical)):
                for key, kind in self.classes[name].properties.items():
                    before = merged.get(key)
                    merged[key] = kind if before is None else self.narrower(before, kind) or before
            return self._properties.keep(canonical, MappingProxyType(dict(sorted(merged.items()))))
        return found

    def names(self, class_name: str) -> tuple[str, ...]:
        """The names that mean a class: its own and its synonyms.

        >>> PLAIN.names("Car")
        ('Car',)
        """
        known = self.classes.get(self._canonical.get(class_name, class_name))
        return (class_name,) if known is None else known.names

    @cached_property
    def is_small(self) -> bool:
        """Whether all that classes declare is soon looked through, for one call of many."""
        declared = sum([len(one.properties) for one in self.classes.values()])
        return len(self.classes) <= SMALL_CLASSES and declared <= SMALL_PROPERTIES

    def properties_below(self, class_name: str) -> frozenset[str]:
        """Every property that an object of a class may have: its own, and those of classes below.

        Empty where none is declared: then nothing is known about them.

        >>> PLAIN.properties_below("Car")
        frozenset()
        """
        below = [self.classes[one].properties for one in self.descendants(class_name)]
        return frozenset(self.properties(class_name)).union(*below)

    def narrower(self, one: str, other: str) -> str | None:
        """The narrower of two types, or none where a value cannot be of both.

        >>> PLAIN.narrower("any", "string"), PLAIN.narrower("number", "integer")
        ('string', 'integer')
        >>> PLAIN.narrower("number", "string")
        """
        if one == other or other == "any" or (one, other) == ("integer", "number"):
            return one
        if one == "any" or (one, other) == ("number", "integer"):
            return other
        if one in BASIC_TYPES or other in BASIC_TYPES:
            return None
        if other in self.ancestors(one):
            return one
        return other if one in self.ancestors(other) else None

    def depends(self, class_name: str) -> Mapping[str, tuple[Dependence, ...]]:
        """The functions of each property that has some: own first, then those of the nearest."""
        canonical = self._canonical.get(class_name)
        if canonical is None:
            return MappingProxyType({})
        found = self._depends.get(canonical)
        if found is None:
            merged: dict[str, list[Dependence]] = {}
            for name in (canonical, *self.ancestors(canonical)):
                for key, listed in self.classes[name].depends.items():
                    merged.setdefault(key, []).extend(listed)
            made = {key: tuple(merged[key]) for key in sorted(merged)}
            return self._depends.keep(canonical, MappingProxyType(made))
        return found

    def why(self, template_class: str, tuple_class: str) -> str:
        """How the template's class accepts the tuple's, in words; none where they are one name."""
        if template_class == tuple_class:
            return ""
        if self.same_class(template_class, tuple_class):
            return f"{tuple_class} means {template_class}"
        return f"{tuple_class} is a {template_class}"

    def translated(self, term: Term) -> Term:
        """An object with its properties called as a mapping file says; all else as it is.

        Objects are written in their own words. Where classes of two ontologies were joined and
        their properties are called differently, whoever matches looks at objects through this.

        >>> from nomospace.terms import obj
        >>> joined = Ontology("j", [OntologyClass("Auto")], renames={"Auto": {"preis": "price"}})
        >>> joined.translated(obj("Auto", "a", preis=4500))
        term("object('Auto',a,[price(4500)])")
        """
        if not self.renames:
            return term
        if type(term) is tuple:
            return tuple([self.translated(item) for item in term])
        if type(term) is not Compound or term.name != OBJECT or len(term.args) != 3:
            return term
        class_name, identity, listed = term.args
        if type(class_name) is not str or type(listed) is not tuple:
            return term
        renamed = self._renamed(class_name)
        properties: dict[str, Term] = {}
        for item in listed:
            if type(item) is not Compound or len(item.args) != 1:
                return term
            name = renamed.get(item.name, item.name)
            if properties.get(name, MISSING) is MISSING or name == item.name:
                properties[name] = self.translated(item.args[0])
        made = tuple([Compound(name, (properties[name],)) for name in sorted(properties)])
        return Compound(OBJECT, (class_name, identity, made))

    def _renamed(self, class_name: str) -> Mapping[str, str]:
        """The renames for a class, its ancestors' too; a nearer one goes before a farther."""
        canonical = self._canonical.get(class_name)
        if canonical is None:
            return {}
        found: dict[str, str] = {}
        for name in (canonical, *self.ancestors(canonical)):
            for before, after in self.renames.get(name, {}).items():
                found.setdefault(before, after)
        return found

    def joined(self, other: Ontology, mapping: OntologyMapping) -> Ontology:
        """This ontology and another as one; `mapping` says which classes meet and how."""
        from nomospace.meaning.mapping import join

        return join(self, other, mapping)


def _above(start: str, next_ones: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """Everything reached from a class, breadth first, without the class itself."""
    seen = {start: None}
    layer = [start]
    while layer:
        found = [near for one in layer for near in next_ones(one) if near not in seen]
        layer = list(dict.fromkeys(found))
        seen.update(dict.fromkeys(layer))
    del seen[start]
    return tuple(seen)


def operand_text(operand: Operand) -> str:
    """An operand as it is written.

    >>> operand_text(Literal("a b")), operand_text(Input("Car", ("price", "amount")))
    ("'a b'", 'Car.price.amount')
    """
    if isinstance(operand, Input):
        return str(operand)
    value = operand.value
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return "'" + escaped.replace("\t", "\\t") + "'"
    return show(value)


PLAIN: Final = Ontology("plain")
"""Knows no class, so that every name accepts itself alone: what a space without ontology speaks."""
