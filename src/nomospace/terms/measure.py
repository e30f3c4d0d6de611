"""What a term weighs, how deep it is, and whether it has holes: measured once, and checked.

A term may be made of shared parts and be far larger than its memory: all work here is bounded by
the memory, and never recursive beyond a few levels.
"""

from __future__ import annotations

from typing import Final

from nomospace.terms.values import (
    TERM_BYTES_MAX,
    TERM_DEPTH_MAX,
    Compound,
    Term,
    TooLarge,
    Var,
    keep_measure,
)


def is_ground(term: Term) -> bool:
    """Whether a term holds no variable.

    >>> from nomospace.terms import t
    >>> is_ground((1, t.f("a"))), is_ground((Var("X"),))
    (True, False)
    """
    kind = term.__class__
    if kind is Compound or kind is tuple:
        return not measure(term) & _HOLED
    return kind is not Var


def check_size(term: Term) -> None:
    """Raise `TooLarge` when a term goes past the limits; bounded work whatever its sharing."""
    over = oversize(term)
    if over is not None:
        raise TooLarge(what=over[0], limit=over[1])


def oversize(term: Term) -> tuple[str, int] | None:
    """Say which limit a term breaks, or `None`."""
    kind = term.__class__
    if kind is not Compound and kind is not tuple:
        over = weight(term) > TERM_BYTES_MAX
        return ("its size in bytes", TERM_BYTES_MAX) if over else None
    found = measure(term)
    if found >> _WEIGHT > TERM_BYTES_MAX:
        return "its size in bytes", TERM_BYTES_MAX
    if found & _DEPTHS > TERM_DEPTH_MAX << 1:
        return "its depth", TERM_DEPTH_MAX
    return None


def weight(term: Term) -> int:
    """How many canonical bytes a term has; they are not written to find it out.

    Shared parts count each time they stand in it; past `WEIGHT_MAX` they are counted no further.
    A variable counts one.

    >>> from nomospace.terms import t
    >>> weight(t.room(3)), weight(("job", 17))
    (12, 6)
    """
    kind = term.__class__
    if kind is Compound or kind is tuple:
        return measure(term) >> _WEIGHT
    return _weight_of_atomic(term)


WEIGHT_MAX: Final = 1 << 40
"""Where counting the weight of a term stops: a term of shared parts may weigh more than can be."""
_HOLED: Final = 1
_DEPTHS: Final = 0xFFE
_WEIGHT: Final = 12
_ROOM: Final = 40
"""How deep a term is measured by plain recursion."""
_WITH_PARTS: Final = (Compound, tuple)
_FEW: Final = 4
"""A compound of more parts remembers its measure even when they are atomic."""


def measure(term: Term) -> int:
    """Weight, depth and groundness of a compound or a list in one number: what checks go by.

    `weight << 12 | depth << 1 | holed`, with the depth cut at 2,047. A compound remembers it, so
    that no check walks it twice; a list is a plain tuple, and whoever holds it remembers. Parts
    that are shared are measured once: the work is bounded by the term's memory.
    """
    return _measured(term, _ROOM, {})


def _measured(term: Term, room: int, lists: dict[int, int]) -> int:
    """`lists` has the measures of lists in lists, by id.

    To remember costs as much as to measure a small compound of atomic parts, so those do not.
    """
    looked = False
    if term.__class__ is Compound:
        parts = term.args
        name = term.name
        size = 7 + len(name) if len(name) < 32 and name.isascii() else 6 + _weight_of_atomic(name)
        if len(parts) > _FEW:
            looked = True
            known: int | None = getattr(term, "_measure", None)
            if known is not None:
                return known
            if len(parts) > 15:
                size += 2 if len(parts) < 1 << 16 else 4
    else:
        parts = term
        size = 1 if len(parts) < 16 else 3 if len(parts) < 1 << 16 else 5
    holed = depth = 0
    for part in parts:
        kind = part.__class__
        if kind is str:
            size += 1 + len(part) if len(part) < 32 and part.isascii() else _weight_of_atomic(part)
        elif kind is Compound or kind is tuple:
            if not looked and term.__class__ is Compound:
                looked = True
                known = getattr(term, "_measure", None)
                if known is not None:
                    return int(known)
            found: int | None = None if kind is Compound else lists.get(id(part))
            if found is None:
                if not room:
                    return _measured_deep(term, lists)
                found = _measured(part, room - 1, lists)
                if kind is tuple:
                    lists[id(part)] = found
            size += found >> _WEIGHT
            holed |= found & _HOLED
            if found & _DEPTHS > depth:
                depth = found & _DEPTHS
        elif kind is int and -32 <= part < 128:
            size += 1
        elif kind is Var:
            holed = _HOLED
            size += 1
        else:
            size += _weight_of_atomic(part)
    depth = depth + 2 if depth else 4 if parts else 2
    if size > WEIGHT_MAX or depth > _DEPTHS:
        size, depth = min(size, WEIGHT_MAX), min(depth, _DEPTHS)
    whole: int = size << _WEIGHT | depth | holed
    if looked:
        keep_measure(term, whole)
    return whole


def _measured_deep(term: Term, lists: dict[int, int]) -> int:
    """`_measured` with a stack of its own: parts first, so that each finds its own parts known."""
    known: dict[int, int] = {}
    todo = [term]
    while todo:
        item = todo[-1]
        if id(item) in known:
            todo.pop()
            continue
        waiting = len(todo)
        parts = item.args if item.__class__ is Compound else item
        todo += [p for p in parts if p.__class__ in _WITH_PARTS and id(p) not in known]
        if len(todo) == waiting:
            todo.pop()
            known[id(item)] = found = _measured(item, 1, lists)
            if item.__class__ is tuple:
                lists[id(item)] = found
    return known[id(term)]


def _weight_of_atomic(value: Term) -> int:
    kind = value.__class__
    if kind is str or kind is bytes:
        size = len(value) if kind is bytes or value.isascii() else len(value.encode())
        if size < 32 and kind is str:
            return 1 + size
        return size + (2 if size < 1 << 8 else 3 if size < 1 << 16 else 5)
    if kind is not int:
        return 9 if kind is float else 1
    if -32 <= value < 128:
        return 1
    bits = int(value).bit_length() if value >= 0 else int(~value).bit_length() + 1
    if bits <= 64:
        return 2 if bits <= 8 else 3 if bits <= 16 else 5 if bits <= 32 else 9
    size = len(str(value))
    return size + (3 if size < 1 << 8 else 4)
