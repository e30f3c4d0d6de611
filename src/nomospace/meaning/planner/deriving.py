"""How the fields of a template may be served: directly, or computed from inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Final, NamedTuple, TypeAlias

from nomospace.meaning.facts import PLAIN_KINDS, Plain, Shape
from nomospace.meaning.ontology import Dependence, Ontology, is_of
from nomospace.meaning.plan import Computation, InputSource, Need, tie_links
from nomospace.meaning.question import ClassField, Field, LiteralField, Question, TypeField
from nomospace.terms.formals import KINDS
from nomospace.terms.objects import MISSING

DERIVATIONS_MAX: Final = 256
"""How many ways to serve the fields a plan looks at."""


class Direct(NamedTuple):
    """Something to be found in a tuple."""

    field: int | None
    asks: Field
    classes: tuple[str, ...]


class Derived(NamedTuple):
    """An object to be computed."""

    field: int | None
    class_name: str
    steps: tuple[Dependence, ...]
    inputs: tuple[tuple[str, Direct | Derived], ...]


Way: TypeAlias = Direct | Derived


class Derivation(NamedTuple):
    """One way to serve all fields: what has to be found, and what is computed from it.

    Needs have no node yet.
    """

    needs: tuple[Need, ...]
    computations: tuple[Computation, ...]
    tied: frozenset[int]
    """The needs whose objects are tied to others by a `when`."""
    absent: frozenset[str]
    """Classes of which no tuple may hold an object: what is computed would be there."""


class Deriver:
    """Says how fields can be served by tuples of given shapes."""

    def __init__(self, question: Question, ontology: Ontology, shapes: list[Shape]) -> None:
        self.question = question
        self.ontology = ontology
        self.there = frozenset(kind for shape in shapes for kind in shape)

    def direct(self) -> Derivation | None:
        """The way without computing, if the shapes have what it needs."""
        ways = [self.found(number, field) for number, field in enumerate(self.question.fields)]
        found = [way for way in ways if way is not None]
        return _numbered(found, frozenset()) if len(found) == len(ways) else None

    def all(self) -> tuple[list[Derivation], bool]:
        """Every way, that without computing first, and whether there were too many."""
        options: list[list[Way]] = []
        for number, field in enumerate(self.question.fields):
            way = self.found(number, field)
            ways: list[Way] = [] if way is None else [way]
            if isinstance(field, ClassField) and field.id is MISSING:
                ways += islice(self.computed(number, field.class_name), DERIVATIONS_MAX + 1)
            options.append(ways)
        every = (_numbered(ways, self._absent(ways)) for ways in product(*options))
        sound = (one for one in every if all(_may_be(need, one.absent) for need in one.needs))
        made = list(islice(sound, DERIVATIONS_MAX + 1))
        return made[:DERIVATIONS_MAX], len(made) > DERIVATIONS_MAX

    def _absent(self, ways: Iterable[Way]) -> frozenset[str]:
        """The classes that what is computed accepts, where nothing but the class is asked for."""
        absent: set[str] = set()
        for way in ways:
            if isinstance(way, Derived):
                asks = None if way.field is None else self.question.fields[way.field]
                if asks is None or asks == ClassField(getattr(asks, "class_name", "")):
                    absent |= self.ontology.accepted(way.class_name)
                absent |= self._absent([one for _, one in way.inputs])
        return frozenset(absent)

    def found(self, number: int | None, field: Field) -> Direct | None:
        """The field as something to be found, if a shape has it."""
        if not isinstance(field, ClassField):
            kinds = plain_kinds(field)
            return Direct(number, field, ()) if not kinds.isdisjoint(self.there) else None
        classes = self.accepted(field.class_name)
        return Direct(number, field, classes) if classes else None

    def accepted(self, class_name: str) -> tuple[str, ...]:
        """The classes that are there and that a class accepts, by canonical name."""
        names = self.ontology.accepting(class_name)
        return tuple(sorted([str(one) for one in self.there if type(one) is str and one in names]))

    def computed(self, number: int | None, class_name: str) -> Iterator[Derived]:
        """The ways to compute an object of a class."""
        canonical = self.ontology.canonical(class_name) or class_name
        for steps in product(*self.ontology.depends(canonical).values()):
            names = tuple(dict.fromkeys(name for step in steps for name in step.inputs))
            if not names or not _can_hold(steps):
                continue
            options: list[list[Way]] = []
            for name in names:
                way = self.found(None, ClassField(name))
                ways: list[Way] = [] if way is None else [way]
                options.append([*ways, *self.computed(None, name)])
            for chosen in product(*options):
                yield Derived(number, canonical, steps, tuple(zip(names, chosen, strict=True)))


def plain_kinds(field: Field) -> frozenset[Plain]:
    """The kinds of plain values among which a field may find what it asks for.

    >>> sorted(one.kind for one in plain_kinds(TypeField("number")))
    ['float', 'int']
    """
    match field:
        case LiteralField(value):
            return frozenset((PLAIN_KINDS[value.__class__],))
        case TypeField(kind) if kind != "any":
            return frozenset([PLAIN_KINDS[one] for one in KINDS[kind]])
        case _:
            return frozenset(PLAIN_KINDS.values())


def _can_hold(steps: tuple[Dependence, ...]) -> bool:
    """Whether the ties name no property of the computed object that nothing gives a value."""
    given = {step.property for step in steps}
    named: list[str] = []
    for step in steps:
        for tie in step.when:
            given.update(name for name, _ in tie.gives(step.owner))
            sides = (tie.left, tie.right)
            named += [side.path[0] for side in sides if is_of(side, step.owner)]
    return given.issuperset(named)


def _may_be(need: Need, absent: frozenset[str]) -> bool:
    return not need.classes or not absent.issuperset(need.classes)


def _numbered(ways: Iterable[Way], absent: frozenset[str]) -> Derivation:
    needs: list[Need] = []
    computations: list[Computation] = []

    def add(way: Way, called: str) -> InputSource:
        if isinstance(way, Direct):
            needs.append(Need(len(needs), way.field, way.asks, way.classes, None))
            return InputSource(called, need=len(needs) - 1)
        sources = tuple([add(one, name) for name, one in way.inputs])
        made = Computation(len(computations), way.field, way.class_name, way.steps, sources)
        computations.append(made)
        return InputSource(called, computation=made.number)

    for way in ways:
        add(way, "")
    place = {need.number: need.number for need in needs}
    links = tie_links(tuple(computations), place)
    tied = frozenset(number for link in links for kind, number in link if kind == "node")
    return Derivation(tuple(needs), tuple(computations), tied, absent)
