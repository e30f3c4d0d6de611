"""Objects: fields with a class, an identity and named properties.

An object is an ordinary term, `object(Class, Id, [p(V), …])`, so laws, wires and stores need to
know nothing new about it. The properties stand in the order of their names, once each, which
makes equal objects equal terms; the id is `None` when there is none.

A dict is no object (`nomospace.terms.values`), but paths lead into both (`has_properties`).

Only `Object` insists on that form. Whoever merely looks into a term, as a predicate does, uses
`property_of`, which finds nothing in what is no object and never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeGuard

import msgspec

from nomospace.errors import CallerError
from nomospace.terms.freezing import freeze
from nomospace.terms.text import show
from nomospace.terms.values import OBJECT, Compound, ObjectTerm, PropertiesTerm, Term, is_dict, thaw


class Missing(Enum):
    """`MISSING`, as a type."""

    MISSING = 0

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    __hash__ = object.__hash__


MISSING: Final = Missing.MISSING
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
            if type(item) is not Compound or len(item.args) != 1:
                raise NotAnObject(value=_brief(term), why=f"{_brief(item)} is no property")
            if last is not None and not last < item.name:
                raise NotAnObject(
                    value=_brief(term), why=f"property {item.name!r} stands after {last!r}"
                )
            last = item.name
            properties[item.name] = thaw(item.args[0])
        return cls(class_name, identity, properties)

    @property
    def term(self) -> ObjectTerm:
        """The object as a field of a tuple."""
        return _object_term(self.class_name, self.id, self.properties)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and self.term == other.term

    def __ne__(self, other: object) -> bool:  # the base class has one of its own, by identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.term)


def obj(class_name: str, id: object = None, /, **properties: object) -> ObjectTerm:
    """Make the field that stands for an object.

    >>> obj("Car", "c1", price=4500)
    term("object('Car',c1,[price(4500)])")
    >>> obj("Car") == obj("Car", None)
    True
    """
    return _object_term(class_name, id, properties)


def _object_term(class_name: str, id: Any, properties: Mapping[str, Any]) -> ObjectTerm:
    listed = tuple([Compound(name, (properties[name],)) for name in sorted(properties)])
    made = freeze(Compound(OBJECT, (class_name, id, listed)))
    if not is_object(made) or not made.args[0]:
        raise NotAnObject(value=_brief(made), why="its class is named by a string")
    return made


def is_object(term: object) -> TypeGuard[ObjectTerm]:
    """Whether a term has an object's functor, a class and a list: enough to look into it.

    >>> is_object(obj("Car")), is_object("Car")
    (True, False)
    """
    return (
        type(term) is Compound
        and term.name == OBJECT
        and len(term.args) == 3
        and type(term.args[0]) is str
        and type(term.args[2]) is tuple
    )


def class_of(term: Term) -> str:
    """The class of a term that is known to be an object.

    >>> class_of(obj("Car"))
    'Car'
    """
    assert is_object(term)
    return term.args[0]


def has_properties(term: object) -> TypeGuard[PropertiesTerm]:
    """Whether a term is an object or a dict, into which paths lead."""
    return is_object(term) or is_dict(term)


def property_of(term: Term, name: str) -> Term | Missing:
    """The property of an object, or a dict's value, or `MISSING`; whatever the term may be.

    >>> property_of(obj("Car", price=4500), "price"), property_of(17, "price")
    (4500, MISSING)
    """
    if not has_properties(term):
        return MISSING
    for item in term.args[2]:
        if type(item) is Compound and item.name == name and len(item.args) == 1:
            return item.args[0]
    return MISSING


def _brief(term: Term) -> str:
    return show(term, limit=60)
