"""Objects: fields with a class, an identity and named properties.

An object is an ordinary term, `object(Class, Id, [p(V), …])`, so laws, wires and stores need to
know nothing new about it. The properties stand in the order of their names, once each, which
makes equal objects equal terms; the id is `None` when there is none.

A dict is no object (`nomospace.terms.dicts`), but paths lead into both (`has_properties`).

Only `Object` insists on that form. Whoever merely looks into a term, as a predicate does, uses
`property_of`, which finds nothing in what is no object and never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from nomospace.errors import CallerError
from nomospace.terms.dicts import is_dict, thaw
from nomospace.terms.freezing import freeze
from nomospace.terms.text import show
from nomospace.terms.values import OBJECT, Compound, Term


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
"""Stands for what a term does not have. `None` cannot: it is a value."""


class NotAnObject(CallerError):
    """A term was read as an object, or an object was to be made, and the form is not right."""

    code = "object.malformed"
    words = "{value} is no object: {why}; write object(Class, Id, [property(V), …])"
    value: str
    why: str


class Object(msgspec.Struct, frozen=True, eq=False):
    """An object as Python likes it; `term` is what a tuple holds, and `of` reads it back.

    Two are equal when their terms are.

    >>> car = Object.of(obj("Car", "c1", price=4500, make="Fiat"))
    >>> car.class_name, car.id, car.properties["price"]
    ('Car', 'c1', 4500)
    >>> car.term
    term("object('Car',c1,[make('Fiat'),price(4500)])")
    """

    class_name: str
    id: Term = None
    properties: Mapping[str, Term] = {}

    @classmethod
    def of(cls, term: Term) -> Object:
        """Read an object's term; `NotAnObject` says what is wrong with one that is none."""
        if not is_object(term):
            raise NotAnObject(value=_brief(term), why="it has not its functor, class or list")
        class_name, identity, listed = term.args
        properties: dict[str, Term] = {}
        last = None
        for item in listed:
            if item.__class__ is not Compound or len(item.args) != 1:
                raise NotAnObject(value=_brief(term), why=f"{_brief(item)} is no property")
            if last is not None and not last < item.name:
                raise NotAnObject(
                    value=_brief(term), why=f"property {item.name!r} stands after {last!r}"
                )
            last = item.name
            properties[item.name] = thaw(item.args[0])
        return cls(class_name, identity, properties)

    @property
    def term(self) -> Compound:
        """The object as a field of a tuple."""
        listed = tuple(
            [Compound(name, (self.properties[name],)) for name in sorted(self.properties)]
        )
        made = freeze(Compound(OBJECT, (self.class_name, self.id, listed)))
        if not is_object(made) or not made.args[0]:
            raise NotAnObject(value=_brief(made), why="its class is named by a string")
        assert isinstance(made, Compound)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and self.term == other.term

    def __ne__(self, other: object) -> bool:  # the base class has one of its own, by identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.term)


def obj(class_name: str, id: object = None, /, **properties: object) -> Compound:
    """Make the field that stands for an object.

    >>> obj("Car", "c1", price=4500)
    term("object('Car',c1,[price(4500)])")
    >>> obj("Car") == obj("Car", None)
    True
    """
    return Object(class_name, id, properties).term


def is_object(term: Term) -> bool:
    """Whether a term has an object's functor, a class and a list: enough to look into it.

    >>> is_object(obj("Car")), is_object("Car")
    (True, False)
    """
    return (
        term.__class__ is Compound
        and term.name == OBJECT
        and len(term.args) == 3
        and term.args[0].__class__ is str
        and term.args[2].__class__ is tuple
    )


def has_properties(term: Term) -> bool:
    """Whether a term is an object or a dict, into which paths lead."""
    return is_object(term) or is_dict(term)


def property_of(term: Term, name: str) -> Term:
    """The property of an object, or a dict's value, or `MISSING`; whatever the term may be.

    >>> property_of(obj("Car", price=4500), "price"), property_of(17, "price")
    (4500, MISSING)
    """
    if not has_properties(term):
        return MISSING
    for item in term.args[2]:
        if item.__class__ is Compound and item.name == name and len(item.args) == 1:
            return item.args[0]
    return MISSING


def _brief(term: Term) -> str:
    return show(term, limit=60)
