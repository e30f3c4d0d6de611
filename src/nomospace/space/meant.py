"""How a space understands the classes that templates name: by the ontology that it speaks.

A template is *meant* when it names a class (`nomospace.terms.assign`). Here it is bound to an
ontology: its classes become canonical names, and what they accept becomes sets of names, which is
all that a search, a waiter or a reaction has to know. A space without an ontology speaks `PLAIN`,
where every class accepts itself alone (Definitions 3 to 6 of `004_…`).

What was read for a template is kept for the templates used most.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec

from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.terms import MISSING, Term
from nomospace.terms.assign import Assigner
from nomospace.terms.features import Key, key_of
from nomospace.terms.objects import Missing, class_of
from nomospace.terms.templates import Template

READ_MAX: Final = 1_024
"""Templates that are kept ready. Past it the one longest in use is read anew."""
ABOVE_MAX: Final = 65_536
"""Class names whose ancestors are kept; anyone may make names up."""


class Wish(msgspec.Struct, frozen=True, gc=False):
    """One field of a meant template, as indexes look for it."""

    canonical: str
    names: Container[str]
    id: Key | Missing
    """The key of the id that the object must have; `MISSING` when any will do."""


class Meant(msgspec.Struct, frozen=True):
    """A template bound to an ontology."""

    template: Template
    """The template, whose `matches` knows what its classes accept."""
    assigner: Assigner
    wishes: tuple[Wish, ...]
    literals: tuple[Key, ...]
    """The keys of plain values that a tuple must show."""
    own: tuple[tuple[str, int], ...]
    """Under which class and width an exact match is kept, for each wish."""


class Speech:
    """An ontology as one space uses it.

    >>> from nomospace.meaning.ontology import OntologyClass
    >>> from nomospace.terms import a, obj
    >>> cars = Ontology("cars", [
    ...     OntologyClass("Car", ("Automobile",)), OntologyClass("SportsCar", parents=("Car",)),
    ... ])
    >>> speech = Speech(cars)
    >>> meant = speech.read(Template.of([a("Automobile")]))
    >>> meant.template.matches((obj("SportsCar", "s1"), 17)), meant.wishes[0].canonical
    (True, 'Car')
    >>> speech.above("SportsCar"), speech.above("Bus")
    (('SportsCar', 'Car'), ('Bus',))
    >>> speech.why(meant.template, (obj("SportsCar", "s1"), 17))
    'SportsCar is a Automobile'
    """

    __slots__ = ("_above", "_last", "_read", "ontology")

    def __init__(self, ontology: Ontology = PLAIN) -> None:
        self.ontology = ontology
        self._read: dict[Template, Meant] = {}
        self._last: tuple[Template | None, Meant | None] = (None, None)
        self._above: dict[str, tuple[str, ...]] = {}

    def read(self, template: Template) -> Meant:
        """What a template that names classes means here."""
        last, found = self._last
        if last is template and found is not None:
            return found
        found = self._read.get(template)
        if found is None:
            found = self._bind(template)
            if len(self._read) >= READ_MAX:
                del self._read[next(iter(self._read))]
            self._read[template] = found
        self._last = template, found
        return found

    def _bind(self, template: Template) -> Meant:
        ontology = self.ontology
        view = ontology.translated if ontology.renames else None
        assigner = template.assigner(ontology.accepting, self.own, view)
        wishes = []
        for one in assigner.classes:
            id = one.id if one.id is MISSING else key_of(one.id)
            wishes.append(
                Wish(self.canonical(one.class_name), ontology.accepting(one.class_name), id)
            )
        own = tuple([(wish.canonical, template.arity) for wish in wishes])
        bound = template.bound(assigner.fits)
        return Meant(bound, assigner, tuple(wishes), assigner.literals, own)

    def canonical(self, name: str) -> str:
        """The name that a class goes by in indexes."""
        return self.ontology.canonical(name) or name

    def own(self, name: str) -> frozenset[str]:
        """The names that mean a class itself."""
        return frozenset(self.ontology.names(name))

    def above(self, name: str) -> tuple[str, ...]:
        """The canonical name of a class, then those of all that accept it, nearest first."""
        found = self._above.get(name)
        if found is None:
            found = (self.canonical(name), *self.ontology.ancestors(name))
            if len(self._above) >= ABOVE_MAX:
                self._above.clear()
            self._above[name] = found
        return found

    def why(self, template: Template, fields: tuple[Term, ...]) -> str:
        """How a tuple answers a template, in words; none where there is nothing to say."""
        if not template.meant:
            return ""
        assigner = self.read(template).assigner
        places = assigner.places(fields)
        assert places is not None, "only an answer is explained"
        words = [
            self.ontology.why(one.class_name, class_of(fields[places[one.position]]))
            for one in assigner.classes
        ]
        return "; ".join(dict.fromkeys(word for word in words if word))
