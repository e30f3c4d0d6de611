"""Formals: the holes of a template, and what may stand in them.

A formal is a ground term, so that laws, wires and stores carry it as they carry any value, and a
law can look at what an agent asks for:

    formal(Kind)                    Kind: any int float number str bool bytes list class(Name)
    formal(Kind, between(L, H))     numbers by value, or strings; both ends belong to it
    formal(Kind, same(Name))        equal to every other field under that name
    formal(Kind, "text")            a predicate: on the field, or on the properties of an object

The functor is reserved: whatever is called `formal` is a formal, and one of another form is an
error wherever it comes from. So no tuple can hold one, and no tuple can pass for a template.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeGuard

from nomospace.errors import CallerError
from nomospace.terms.freezing import TYPE_FORMALS, freeze
from nomospace.terms.objects import is_object
from nomospace.terms.order import order_key
from nomospace.terms.predicate import parse, without_class
from nomospace.terms.text import show
from nomospace.terms.values import FORMAL, OBJECT, Compound, Term, Var, dict_items

ANY: Final = Compound(FORMAL, ("any",))
"""The formal that everything fits, `None` among it."""

KINDS: Final[dict[str, tuple[type, ...]]] = {
    "any": (),
    "int": (int,),
    "float": (float,),
    "number": (int, float),
    "str": (str,),
    "bool": (bool,),
    "bytes": (bytes,),
    "list": (tuple,),
}
"""The classes that a value of each kind may have: exactly these, so `True` is no `int`."""
_CLASS_FORMALS_MAX: Final = 1_024
_INTERNED: Final[dict[str, Compound]] = {
    "any": ANY,
    **{
        str(one.args[0]): one
        for one in TYPE_FORMALS.values()
        if one is not None and one.name == FORMAL
    },
}


class BadFormal(CallerError):
    """A formal has a form that means nothing."""

    code = "template.bad-formal"
    words = "{formal} is no formal: {why}"
    formal: str
    why: str


class Formal(NamedTuple):
    """A formal that has been read: a kind or a class, and at most one constraint."""

    kind: str
    """One of `KINDS`; `any` beside a class."""
    class_name: str | None = None
    bounds: tuple[Any, Any] | None = None
    same: str | None = None
    predicate: str | None = None


_SIMPLE: Final = {kind: Formal(kind) for kind in KINDS}


def between(low: object, high: object) -> Compound:
    """A number, or a string, from `low` to `high`, both included.

    The kind follows from the ends: two integers admit integers, two floats floats, one of each
    any number; two strings admit strings, in the order of their characters.

    >>> between(1, 10), between(0, 0.5)
    (term('formal(int,between(1,10))'), term('formal(number,between(0,0.5))'))
    """
    ends = freeze(low), freeze(high)
    kind = "number"
    if ends[0].__class__ is ends[1].__class__ and ends[0].__class__ in (int, float, str):
        kind = ends[0].__class__.__name__
    return _sound(Compound(FORMAL, (kind, Compound("between", ends))))


def where(text: str) -> Compound:
    """A field of which a predicate holds: `"> 5"`, `">= 1 and < 9"`, `"in [1, 2]"`, `"!= 'x'"`.

    The predicate is read here, so a fault shows where it was written.

    >>> where(">= 1 and < 9")
    term("formal(any,'>= 1 and < 9')")
    """
    return _sound(Compound(FORMAL, ("any", freeze(text))))


def same(name: str) -> Compound:
    """A field equal to all others under the same name, at any depth; used once it is `ANY`.

    >>> same("x")
    term('formal(any,same(x))')
    """
    return _sound(Compound(FORMAL, ("any", Compound("same", (freeze(name),)))))


def a(class_name: str, predicate: str = "") -> Compound:
    """An object of a class, of which a predicate holds if one is given.

    >>> a("Car", "price.amount < 5000")
    term("formal(class('Car'),'price.amount < 5000')")
    """
    if type(class_name) is str and type(predicate) is str:
        return _class_formal(class_name, predicate)
    return _class_formal.__wrapped__(class_name, predicate)  # what is wrong with it is said there


@lru_cache(maxsize=_CLASS_FORMALS_MAX)
def _class_formal(class_name: str, predicate: str) -> Compound:
    """Remembered: where the same is asked for again it is the same object, quickly compared."""
    kind = Compound("class", (freeze(class_name),))
    return _sound(Compound(FORMAL, (kind,) if predicate == "" else (kind, freeze(predicate))))


def _sound(formal: Compound) -> Compound:
    """A formal, if it means something."""
    read_formal(formal)
    return formal


def accepts(template_class: str, tuple_class: str) -> bool:
    """Whether an object of one class may stand where a template asks for another.

    The one place that knows how classes relate. `Template.features` asks for the very name too,
    which is right for as long as this does.

    >>> accepts("Car", "Car"), accepts("Vehicle", "Car")
    (True, False)
    """
    return template_class == tuple_class


def is_formal(term: object) -> TypeGuard[Compound]:
    """Whether a term is called `formal`; `read_formal` says whether it means something.

    >>> is_formal(ANY), is_formal("formal")
    (True, False)
    """
    return type(term) is Compound and term.name == FORMAL


def read_formal(term: Compound) -> Formal:
    """Read a formal, or raise `BadFormal` or `FaultyPredicate`: nothing is taken on trust.

    >>> read_formal(between(1, 10))
    Formal(kind='int', class_name=None, bounds=(1, 10), same=None, predicate=None)
    """
    first = term.args[0]
    kind, class_name = "any", None
    if len(term.args) == 1 and type(first) is str and first in _SIMPLE:
        return _SIMPLE[first]
    if len(term.args) > 2:
        raise _bad(term, "it has a kind and at most one constraint")
    if type(first) is Compound and first.name == "class" and len(first.args) == 1:
        named = first.args[0]
        if type(named) is not str or not named:
            raise _bad(term, "a class is named by a string")
        class_name = named
    elif type(first) is str and first in KINDS:
        kind = first
    else:
        raise _bad(term, f"its kind is one of {', '.join(KINDS)} and class(Name)")
    if len(term.args) == 1:
        return Formal(kind, class_name)
    constraint = term.args[1]
    if type(constraint) is str:
        parse(constraint, field=class_name is None)
        if class_name is not None and class_name in constraint:
            constraint = without_class(constraint, class_name)
        return Formal(kind, class_name, predicate=constraint)
    if type(constraint) is Compound and class_name is None:
        parts = constraint.args
        if constraint.name == "same" and len(parts) == 1:
            if type(parts[0]) is not str:
                raise _bad(term, "same(…) takes a name, which is a string")
            return Formal(kind, same=parts[0])
        if constraint.name == "between" and len(parts) == 2:
            _check_bounds(term, parts[0], parts[1])
            return Formal(kind, bounds=(parts[0], parts[1]))
    raise _bad(
        term,
        "beside a class stands a predicate's text"
        if class_name is not None
        else "its constraint is between(L, H), same(Name) or a predicate's text",
    )


def formals_in(value: Term) -> list[tuple[Compound | Var, int]]:
    """Formals in a frozen term with their depth, outermost only, from left to right.

    A variable counts as one: it has no business in a template either.
    """
    if type(value) is not Compound and type(value) is not tuple:
        return []
    found: list[tuple[Compound | Var, int]] = []
    todo: list[tuple[Term, int]] = [(value, 1)]
    while todo:
        item, depth = todo.pop()
        if type(item) is tuple:
            parts = item
        elif type(item) is not Compound:
            if type(item) is Var:
                found.append((item, depth))
            continue
        elif item.name == FORMAL:
            found.append((item, depth))
            continue
        else:
            parts = item.args
        todo.extend([(part, depth + 1) for part in reversed(parts)])
    return found


def has_holes(value: Term) -> bool:
    """Whether a pattern is looked into: it has formals, or dicts, which fit those with more keys.

    An object without formals is compared whole, the dicts in it too.

    >>> has_holes(freeze([1, {"a": 2}])), has_holes(freeze([1, 2]))
    (True, False)
    """
    if formals_in(value):
        return True
    todo: list[Term] = [value]
    while todo:
        item = todo.pop()
        if type(item) is Compound:
            if item.name == OBJECT:
                if dict_items(item) is not None:
                    return True
                if is_object(item):
                    continue
            item = item.args
        if type(item) is tuple:
            todo += [part for part in item if type(part) is Compound or type(part) is tuple]
    return False


def interned(term: Compound) -> Compound:
    """The one object that stands for a formal without constraint, so that `is ANY` will do."""
    kind = term.args[0]
    if len(term.args) == 1 and type(kind) is str:
        return _INTERNED.get(kind, term)
    return term


def bounded_classes(bound: Term) -> tuple[type, ...]:
    """The classes whose values compare with a bound: numbers with numbers, strings with strings."""
    return (str,) if type(bound) is str else (int, float)


def _check_bounds(term: Compound, low: Term, high: Term) -> None:
    for bound in (low, high):
        if bound.__class__ not in (int, float, str):
            raise _bad(term, "between(…) takes two numbers or two strings")
    if bounded_classes(low) != bounded_classes(high):
        raise _bad(term, "a number and a string have no values between them")
    if order_key(low) > order_key(high) and low != high:
        raise _bad(
            term,
            f"it is empty, {show(low, limit=80)} comes after {show(high, limit=80)}; turn them "
            "round",
        )


def _bad(term: Compound, why: str) -> BadFormal:
    return BadFormal(formal=show(term, limit=80), why=why)
