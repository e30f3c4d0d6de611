"""Terms to bytes and back, and the functions that make terms of what was read.

MessagePack knows lists and maps; terms have tuples and compounds. `thaw` turns the one into the
other and trusts nothing: what it gives keeps to every rule and limit of `nomospace.terms`. It is
called for each term of each frame, so a part costs a look and little more; what is nested deep is
walked with a stack of its own.

What hosts say to each other about terms may be a little deeper, and larger: an operation wraps a
template, an event wraps the operation, and one answer holds many tuples. No reader may refuse what
a host wrote, or a stream would stand still for ever; so `thaw_said` allows for that, and leaves the
size to the limit of the frame.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from nomospace.terms import (
    INT_BITS_MAX,
    TERM_BYTES_MAX,
    TERM_DEPTH_MAX,
    Compound,
    Term,
    Var,
    encode,
)
from nomospace.terms.tuples import WIDTH_MAX, BadWidth, check_tuple
from nomospace.terms.values import FORMAL, OBJECT, PARTIAL, parts_of
from nomospace.wire.packing import Unfit, unpack

SAID_DEPTH_MAX: Final = TERM_DEPTH_MAX + 16
"""How deep a term may be that hosts made of others."""

SHORT_CHARS: Final = 200
"""Strings up to here, and few parts, are far from every limit."""
FEW_PARTS: Final = 256
_MANY: Final = 64
"""So many numbers are taken as they are, in a few native passes."""
_ROOM: Final = 64
"""How deep a term is read by plain recursion."""
_LOOKED_INTO: Final = (FORMAL, OBJECT)
"""What the compounds are called that a tuple may not hold, or not as large as it likes."""


def pack_term(term: Term) -> bytes:
    """The bytes of a ground term, the canonical ones.

    >>> unpack_term(pack_term(("job", 17, ("a", 2.5))))
    ('job', 17, ('a', 2.5))
    """
    return encode(term)


def unpack_fields(data: bytes) -> tuple[Term, ...]:
    """The fields of a tuple; raises `Unfit` for bytes that are no list."""
    fields = unpack_term(data)
    if not isinstance(fields, tuple):
        raise Unfit("it is no list")
    return fields


def unpack_term(data: bytes) -> Term:
    """The term that bytes stand for; raises `Unfit` for bytes that stand for none."""
    return thaw(unpack(data))


def thaw(value: object) -> Term:
    """Make a term of a plain value that was read: lists become tuples, maps become compounds.

    Raises `Unfit` for what is no term, or is past the limits of terms.

    >>> thaw(["job", {"f": "room", "a": [3]}])
    ('job', term('room(3)'))
    """
    return _thaw(value, _TERM)


def thaw_all(values: Collection[Any]) -> tuple[Term, ...]:
    """`thaw` for a list or tuple: the fields of a tuple, the arguments of an event."""
    for part in values:  # as `_are_plain` has it: each answer comes by here
        if type(part) is str:
            if len(part) > SHORT_CHARS:
                break
        elif type(part) is not int and part is not None and type(part) is not bool:
            break
    else:
        if len(values) <= FEW_PARTS:
            return tuple(values)
    return tuple([_thaw(part, _TERM) for part in values])


def thaw_tuple(values: Collection[Term]) -> tuple[Term, ...]:
    """`thaw_all` for the fields of a tuple, and `check_tuple` of them: in one go for most.

    >>> thaw_tuple(["job", [1, 2]])
    ('job', (1, 2))
    """
    if values.__class__ is dict:
        raise Unfit("a tuple that is no list")
    if _are_plain(values) and 0 < len(values) <= WIDTH_MAX:
        return tuple(values)
    if not 0 < len(values) <= WIDTH_MAX:
        raise BadWidth(what="tuple", width=len(values))
    tally = [TERM_BYTES_MAX, False]
    try:
        fields = parts_of(_thaw_wide(values, _ROOM, tally))
    except (_Deeper, Unfit):
        return check_tuple(thaw_all(values))
    # Past half of what it may have: the bytes are not counted to the last one.
    return check_tuple(fields) if tally[1] or tally[0] < TERM_BYTES_MAX // 2 else fields


def _are_plain(values: Collection[object]) -> bool:
    """Whether values are terms as they are, and far from every limit."""
    for part in values:
        if type(part) is str:
            if len(part) > SHORT_CHARS:
                return False
        elif type(part) is not int and part is not None and type(part) is not bool:
            return False
    return len(values) <= FEW_PARTS


def thaw_said(value: object) -> Term:
    """`thaw` for what hosts and controllers made of agents' terms: messages, events, answers."""
    return _thaw(value, _SAID)


def thaw_operation(value: object) -> Term:
    """`thaw_said` for an operation, which may hold variables that the law left unbound."""
    try:
        return _thaw(value, _SAID)
    except Unfit:  # a list with an open tail is no term otherwise
        return _thaw_deep(value, _OPERATION)


class _Allowed(NamedTuple):
    """What a value may hold besides what every term may, and how large it may be."""

    depth: int = TERM_DEPTH_MAX
    size: int = TERM_BYTES_MAX
    holes: bool = False
    maps: bool = False


_TERM: Final = _Allowed()
_SAID: Final = _Allowed(SAID_DEPTH_MAX, sys.maxsize)
_OPERATION: Final = _Allowed(SAID_DEPTH_MAX, sys.maxsize, holes=True)
_NUMBERS: Final = frozenset({int})
"""A list of these alone is a term as it is; what was read has none past their limit."""
_DATA: Final = _Allowed(SAID_DEPTH_MAX, sys.maxsize, maps=True)


class _Deeper(Exception):
    """A value that is nested too deep for plain recursion."""


def _thaw(value: Any, allowed: _Allowed) -> Term:
    kind = value.__class__
    if kind is list or kind is dict:
        try:
            return _thaw_wide(value, _ROOM, [allowed.size, False])
        except _Deeper:
            return _thaw_deep(value, allowed)
    if _atomic_size(value) > allowed.size:
        raise Unfit(f"a term larger than {allowed.size:,} bytes")
    term: Term = value or 0.0 if kind is float else value  # there is one zero
    return term


def _thaw_wide(value: Any, room: int, tally: list[int]) -> Term:
    """A list or a map as a term; half as long as the other way, which keeps a stack.

    `tally` has the bytes that the whole may still have, and whether something in it is looked into.
    """
    name, size = None, 1
    if value.__class__ is dict:
        name, value = _compound(value, holes=False)
        size = 7 + len(name)
        if name in _LOOKED_INTO:
            tally[1] = True
    made: list[Term] = []
    add = made.append
    if len(value) > _MANY and _NUMBERS.issuperset(map(type, value)):
        size += len(value) + sum([number.bit_length() // 8 for number in value])
        made, value = value, ()
    for part in value:
        kind = part.__class__
        if kind is str:
            size += 1 + (len(part) if part.isascii() else len(part.encode()))
        elif kind is int:
            bits = part.bit_length()
            size += 1 + bits // 8 if bits <= INT_BITS_MAX else _atomic_size(part)
        elif kind is list or kind is dict:
            if not room:
                raise _Deeper
            part = _thaw_wide(part, room - 1, tally) if part or kind is dict else ()
            size += not part
        elif kind is float:
            size += 9
            if not isfinite(part):
                raise Unfit(f"the number {part}")
            part = part or 0.0
        else:
            size += _atomic_size(part)
        add(part)
    tally[0] -= size
    if tally[0] < 0:
        raise Unfit(f"a term larger than {TERM_BYTES_MAX:,} bytes")
    return tuple(made) if name is None else Compound(name, tuple(made))


def _thaw_deep(value: object, allowed: _Allowed) -> Term:
    depth_max, size_max, holes, maps = allowed
    done: list[Any] = []
    todo: list[tuple[Any, int]] = [(value, 1)]  # depth 0 marks "build what lies on `done`"
    size = 0
    while todo:
        item, depth = todo.pop()
        if depth == 0:
            name, width = item
            first = len(done) - width
            parts = tuple(done[first:])
            del done[first:]
            if name.__class__ is tuple:
                done.append(dict(zip(name, parts, strict=True)))
            else:
                done.append(parts if name is None else Compound(name, parts))
            continue
        if depth > depth_max:
            raise Unfit(f"a term deeper than {depth_max:,} levels")
        kind = item.__class__
        if kind is list:
            size += 1
            if item and depth < depth_max and _NUMBERS.issuperset(map(type, item)):
                size += sum([1 + part.bit_length() // 8 for part in item])
                done.append(tuple(item))
            else:
                todo.append(((None, len(item)), 0))
                todo.extend([(part, depth + 1) for part in reversed(item)])
        elif kind is dict and maps and not _is_compound(item):
            names = tuple(item)
            size += sum([_atomic_size(name) for name in names])
            todo.append(((names, len(names)), 0))
            todo.extend([(part, depth + 1) for part in reversed(item.values())])
        elif kind is dict:
            name, args = _compound(item, holes)
            size += 7 + len(name)
            todo.append(((name, len(args)), 0))
            todo.extend([(part, depth + 1) for part in reversed(args)])
        elif kind is Var and holes:
            done.append(item)
        else:
            size += _atomic_size(item)
            done.append(item if kind is not float else item or 0.0)
        if size > size_max:
            raise Unfit(f"a term larger than {size_max:,} bytes")
    term: Term = done[0]
    return term


def _compound(value: dict[Any, Any], holes: bool) -> tuple[str, list[Any]]:
    """The name and the arguments that a map stands for, if it stands for a compound."""
    name, args = value.get("f"), value.get("a")
    if len(value) != 2 or type(name) is not str or type(args) is not list or not args:
        raise Unfit("a map that is no compound term")
    if name == PARTIAL and not holes:
        raise Unfit(f"a compound named {PARTIAL}")
    return name, args


def _is_compound(value: Mapping[str, object]) -> bool:
    return len(value) == 2 and "f" in value and "a" in value


def _atomic_size(value: Any) -> int:
    """The bytes that an atomic value counts for, as `nomospace.terms.oversize` has it."""
    kind = value.__class__
    if kind is str:
        return 1 + (len(value) if value.isascii() else len(value.encode()))
    if kind is int:
        if value.bit_length() > INT_BITS_MAX:
            raise Unfit(f"an integer of {value.bit_length():,} bits")
        return 1 + int(value.bit_length()) // 8
    if value is None or kind is bool:
        return 1
    if kind is float:
        if not isfinite(value):
            raise Unfit(f"the number {value}")
        return 9
    if kind is bytes:
        return 2 + len(value)
    raise Unfit(f"a {kind.__name__} where a term must stand")


def thaw_data(value: object) -> object:
    """Make plain data of what was read: terms, and dictionaries of such with names as keys.

    A map with just the parts of a compound is one. Raises `Unfit` as `thaw` does.

    >>> thaw_data({"left": [1, 2], "home": {"f": "room", "a": [3]}})
    {'left': (1, 2), 'home': term('room(3)')}
    """
    kind = value.__class__
    if kind is bytes or value is None or kind is str:
        return value
    return _thaw_deep(value, _DATA)
