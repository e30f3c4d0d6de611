"""Plain Python values to terms, at the edge: `freeze`, and `t`, which writes compounds.

What comes from outside may be of any kind, as large as memory and nested without end. What leaves
here is a term, ground unless holes were allowed, and within the limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Protocol, overload

from nomospace.terms.values import (
    FORMAL,
    INT_BITS_MAX,
    OBJECT,
    PARTIAL,
    TERM_BYTES_MAX,
    TERM_DEPTH_MAX,
    Compound,
    NotATerm,
    Term,
    TooLarge,
    Var,
    check_size,
)

TYPE_FORMALS: Final[dict[type, Compound | None]] = {
    int: Compound(FORMAL, ("int",)),
    float: Compound(FORMAL, ("float",)),
    str: Compound(FORMAL, ("str",)),
    bool: Compound(FORMAL, ("bool",)),
    bytes: Compound(FORMAL, ("bytes",)),
    list: Compound(FORMAL, ("list",)),
    tuple: Compound(FORMAL, ("list",)),
    dict: Compound(OBJECT, (None, None, ())),  # a dict fits what has at least its keys
    type(None): None,  # a type with one value is that value
}
"""What a Python type means in a template."""
_TYPES_WHY: Final = (
    "a type stands for a hole, and only templates have holes; give a value",
    "templates know int, float, str, bool, bytes, list, tuple, dict and type(None); use one",
)


def freeze(value: object, *, variables: bool = False) -> Term:
    """Turn a plain Python value into a term, or say why it is none.

    Lists become tuples, subclasses of the plain types become the plain types, and a dict becomes
    `object(null,null,[key(Value),…])`, its keys in order. The result is
    ground unless `variables` allows holes, and within the limits. Where holes are allowed, a
    type stands for its formal: `int` becomes `formal(int)`.

    >>> freeze(["job", 17, t.room(3)])
    ('job', 17, term('room(3)'))
    >>> freeze({"n": 1, "tags": ["a"]}) == t.object(None, None, [t.n(1), t.tags(["a"])])
    True
    """
    if type(value) is str and len(value) < 100_000:
        if not value.isascii():
            _check_text(value)
        return value
    if value is None or type(value) is bool:
        return value
    frozen = _freeze_deep(value, variables)
    check_size(frozen)
    return frozen


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotATerm(
            value="a string", why=f"character {error.start} is half a surrogate pair"
        ) from None


def _freeze_atomic(value: object, variables: bool) -> Term:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        _check_text(value)
        return str(value)
    if isinstance(value, int):
        if value.bit_length() > INT_BITS_MAX:
            raise TooLarge(what=f"an integer of {value.bit_length():,} bits", limit=INT_BITS_MAX)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotATerm(value=repr(value), why="numbers are finite")
        return float(value) or 0.0
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Var):
        if variables:
            return value
        raise NotATerm(value=f"the variable {value.name}", why="a value must be ground")
    if isinstance(value, type):
        if variables and value in TYPE_FORMALS:
            return TYPE_FORMALS[value]
        raise NotATerm(value=f"the type {value.__name__}", why=_TYPES_WHY[variables])
    raise NotATerm(
        value=f"{type(value).__name__} {str(value)[:60]!r}",
        why="use None, bool, int, float, str, bytes, list, tuple, dict or t.name(…)",
    )


def _freeze_deep(value: object, variables: bool) -> Term:
    """`freeze` with a stack of its own: what comes from outside may be nested without end."""
    done: list[Term] = []
    todo: list[tuple[Any, int]] = [(value, 1)]  # depth 0 marks "build what lies on `done`"
    count = 0
    while todo:
        item, depth = todo.pop()
        if depth == 0:
            name, width = item
            args = tuple(done[len(done) - width :])
            del done[len(done) - width :]
            done.append(args if name is None else Compound(name, args))
            continue
        if depth > TERM_DEPTH_MAX:
            raise TooLarge(what="its depth", limit=TERM_DEPTH_MAX)
        if isinstance(item, Compound):
            if not item.args:
                raise NotATerm(value=f"{item.name}()", why="a compound has at least one argument")
            _check_text(item.name)
            name, parts = item.name, item.args
            if name == PARTIAL and not isinstance(parts[-1], Var):
                raise NotATerm(value=f"a compound named {PARTIAL}", why="lists are Python lists")
        elif isinstance(item, tuple | list):
            name, parts = None, tuple(item)
        elif isinstance(item, Mapping):
            name, parts = OBJECT, (None, None, named_parts(item))
        else:
            done.append(_freeze_atomic(item, variables))
            continue
        todo.append(((name, len(parts)), 0))
        todo.extend((part, depth + 1) for part in reversed(parts))
        count += len(parts)  # parts that are shared count each time, as they do in the bytes
        if count > TERM_BYTES_MAX:
            raise TooLarge(what="its number of parts", limit=TERM_BYTES_MAX)
    return done[0]


def named_parts(items: Mapping[Any, Any]) -> tuple[Compound, ...]:
    """The parts of a dict, in the order of their keys; the values are yet to be frozen."""
    for key in items:
        if not isinstance(key, str):
            raise NotATerm(value=f"a dict with the key {key!r:.60}", why="keys are strings")
        if key in (FORMAL, PARTIAL):
            raise NotATerm(
                value=f"a dict with the key {key!r}", why="templates use that name; choose another"
            )
    return tuple([Compound(str(key), (items[key],)) for key in sorted(items)])


class _Make(Protocol):
    """Makes a compound of its arguments, and an atom of none."""

    @overload
    def __call__(self) -> str: ...
    @overload
    def __call__(self, first: object, /, *rest: object) -> Compound: ...


class _Maker:
    """`t.alarm(t.kind("fire"))` makes the compound `alarm(kind(fire))`; `t["any name"](…)` too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> _Make:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> _Make:
        @overload
        def make() -> str: ...
        @overload
        def make(first: object, /, *rest: object) -> Compound: ...
        def make(*args: object) -> Compound | str:
            if not args:
                freeze(name)
                return name
            return Compound(name, tuple([freeze(arg, variables=True) for arg in args]))

        return make


t: Final = _Maker()
