"""Tuples as a space holds them: plain Python fields made terms, within the limits.

`freeze_fields` reads the fields of tuples and of templates alike; a tuple has no formals.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from nomospace.errors import CallerError, LimitReached
from nomospace.terms.features import Fields
from nomospace.terms.freezing import TYPE_FORMALS, freeze
from nomospace.terms.objects import has_properties
from nomospace.terms.predicate import PREDICATE_CHARS_MAX
from nomospace.terms.text import show
from nomospace.terms.values import (
    FORMAL,
    INT_BITS_MAX,
    OBJECT,
    PARTIAL,
    Compound,
    Term,
    TooLarge,
    check_size,
    parts_of,
)

WIDTH_MAX: Final = 64
"""The most fields that a tuple or a template has."""
PATTERN_PARTS_MAX: Final = 10_000
"""The parts of compounds and lists that a template has, its formals among them."""
PREDICATES_CHARS_MAX: Final = PREDICATE_CHARS_MAX
"""What the predicates of one template have together, in characters: as much as one may have."""
PROPERTIES_MAX: Final = 4_096
"""The properties of one object in a tuple, or the keys of one dict: no test has to look at more."""

SHORT: Final = 200
"""Strings up to here need no look at the size of the whole: 64 of them are far below the limit."""
LIGHT: Final = 20_000
"""Fields that weigh no more together are far from every limit."""
LIGHT_LEVELS: Final = 8
_HEAVY: Final = 10**9
_SMALL_INT: Final = 2**63
_WITH_PARTS: Final = frozenset({Compound, tuple})


class BadWidth(CallerError):
    """A tuple or a template has no field, or too many."""

    code = "tuple.width"
    what: str
    width: int

    def __str__(self) -> str:
        return (
            f"a {self.what} of {self.width:,} fields cannot be: it has 1 to {WIDTH_MAX}; "
            f"{'give at least one' if self.width == 0 else 'put some of them in a list'}"
        )


class FormalInTuple(CallerError):
    """A formal was to be written into a space."""

    code = "tuple.formal"
    words = (
        "field {position} holds {formal}: formals stand in templates only, and "
        "`formal` is their name alone; give a value, or rename the compound"
    )
    position: int
    formal: str


class NotAPattern(CallerError):
    """A template or a tuple was given in a form that is none."""

    code = "template.not-a-pattern"
    words = "{value}: {why}"
    value: str
    why: str


class TemplateTooDear(LimitReached):
    """A template is so large that reading it would cost too much."""

    code = "limits.template"
    advice: str = "ask for less, and look at the rest yourself"


def freeze_tuple(fields: Sequence[object]) -> Fields:
    """Turn Python values into a tuple as a space holds it, or say why that cannot be.

    Within the limits of width and size, and without formals at any depth: otherwise a tuple
    could pass for a template where laws look at it.

    >>> freeze_tuple(["job", 17, [1, 2]])
    ('job', 17, (1, 2))
    >>> from nomospace.terms import ANY
    >>> freeze_tuple(("job", ANY))
    Traceback (most recent call last):
    nomospace.terms.tuples.FormalInTuple: field 1 holds formal(any): formals stand in \
templates only, and `formal` is their name alone; give a value, or rename the compound
    """
    if (type(fields) is tuple or type(fields) is list) and 0 < len(fields) <= WIDTH_MAX:
        for field in fields:  # what most tuples are made of; `freeze_fields` does the same
            kind = field.__class__
            if kind is str:
                if len(field) > SHORT or not field.isascii():
                    break
            elif kind is int:
                if field.bit_length() > INT_BITS_MAX:
                    break
            elif kind is not bool and field is not None:
                break
        else:
            return tuple(fields)
    return _without_formals(freeze_fields(fields, "tuple"))


def check_tuple(fields: Fields) -> Fields:
    """`freeze_tuple` for fields that are terms already, as a wire reads them: limits are looked at.

    >>> check_tuple(("job", 17, (1, 2)))
    ('job', 17, (1, 2))
    """
    if not 0 < len(fields) <= WIDTH_MAX:
        raise BadWidth(what="tuple", width=len(fields))
    for field in fields:
        if type(field) is str:
            if len(field) > SHORT:
                break
        elif type(field) is not int and type(field) is not bool and field is not None:
            break
    else:
        return fields
    if sum([light_weight(field, LIGHT_LEVELS) for field in fields]) > LIGHT:
        check_size(fields)
    return _without_formals(fields)


def _without_formals(frozen: Fields) -> Fields:
    for pos, value in enumerate(frozen):
        if type(value) is Compound or type(value) is tuple:
            _check_value(value, pos)
    return frozen


def _check_value(value: Term, pos: int) -> None:
    """Raise for a formal in a field of a tuple, and for an object with too many properties."""
    todo = [value]
    while todo:
        item = todo.pop()
        if type(item) is Compound:
            if item.name == FORMAL:
                raise FormalInTuple(position=pos, formal=brief(item))
            if item.name == OBJECT and has_properties(item) and len(item.args[2]) > PROPERTIES_MAX:
                what = "the number of an object's properties, or of a dict's keys,"
                raise TooLarge(what=what, limit=PROPERTIES_MAX)
        parts = parts_of(item)
        if not _WITH_PARTS.isdisjoint(map(type, parts)):
            inner = [one for one in parts if type(one) is Compound or (type(one) is tuple and one)]
            todo += reversed(inner)


def freeze_fields(fields: object, what: str, *, types: bool = False) -> Fields:
    """The fields of a tuple or a template (`what`) as terms; with `types`, a type is its formal."""
    if not isinstance(fields, tuple | list):
        raise NotAPattern(
            value=f"{type(fields).__name__} {brief(fields)}",
            why=f"a {what} is a list or tuple of fields; put brackets round a single one",
        )
    if not 0 < len(fields) <= WIDTH_MAX:
        raise BadWidth(what=what, width=len(fields))
    if types:
        fields = [TYPE_FORMALS.get(f, f) if type(f) is type else f for f in fields]
    weight = 0
    for field in fields:
        weight += light_weight(field, LIGHT_LEVELS)
    if weight <= LIGHT:
        frozen = tuple(fields)
    else:
        frozen = tuple([freeze(field, variables=types) for field in fields])
        check_size(frozen)
    if weight > PREDICATES_CHARS_MAX and what == "template":  # less cannot be too much of anything
        check_price(frozen)
    return frozen


def light_weight(value: Any, levels: int) -> int:
    """At least the bytes of a value that is a small term already; `_HEAVY` for all others.

    Most fields are: they need no freezing, only this look, which is much quicker.
    """
    kind = value.__class__
    if kind is str:
        if value.isascii():
            return 10 + len(value)
        return 10 + 4 * len(value) if value.isprintable() else _HEAVY  # no half surrogate pairs
    if kind is int:
        return 10 if -_SMALL_INT < value < _SMALL_INT else _HEAVY
    if value is None or kind is bool:
        return 10
    if kind is float:
        return 10 if value and isfinite(value) else _HEAVY  # there is a zero that is made another
    if kind is bytes:
        return 10 + len(value)
    weight = 10
    if kind is Compound:
        if type(value.name) is not str or value.name == PARTIAL or not value.args:
            return _HEAVY
        weight += light_weight(value.name, 0)
        value = value.args
        kind = value.__class__
    if kind is not tuple or levels == 0:
        return _HEAVY
    for part in value:
        weight += light_weight(part, levels - 1)
        if weight > LIGHT:
            return _HEAVY
    return weight


def brief(value: object) -> str:
    """A value in at most 60 characters, for errors."""
    if isinstance(value, Compound):
        return show(value, limit=60)
    words = repr(value)
    return words if len(words) <= 60 else f"{words[:57]}..."


def check_price(patterns: Fields) -> None:
    """Raise `TemplateTooDear` for a template that would cost too much to read."""
    left, chars, todo = PATTERN_PARTS_MAX, PREDICATES_CHARS_MAX, [patterns]
    while todo:
        parts = todo.pop()
        left -= len(parts)
        if left < 0:
            raise TemplateTooDear(what="the number of parts of a template", limit=PATTERN_PARTS_MAX)
        for part in parts:
            if type(part) is tuple:
                todo.append(part)
            elif type(part) is Compound:
                todo.append(part.args)
                if part.name == FORMAL and type(part.args[-1]) is str:
                    chars -= len(part.args[-1])
        if chars < 0:
            raise TemplateTooDear(
                what="the length of a template's predicates together", limit=PREDICATES_CHARS_MAX
            )
