"""The bounds of one ruling: the units of its evaluation, and how large what comes of it may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from nomospace.control.events import Change, Event
from nomospace.law.budget import Stop, Units
from nomospace.law.prelude import (
    COPIES_BYTES_MAX,
    OPERATIONS_MAX,
    RULING_BYTES_MAX,
    SPACE_UNITS_MAX,
    UNITS_MAX,
)
from nomospace.terms import TERM_BYTES_MAX, TERM_DEPTH_MAX, Compound, Term, oversize
from nomospace.terms.values import weight

UNBOUNDED: Final = 10**15
"""More units than any evaluation takes that other prices have let end."""

STATE_MAX: Final = 1_000_000
"""The most terms, and the most pending obligations, that a membership holds."""
STATE_BYTES_MAX: Final = 4 << 20
"""And how many bytes its large terms and obligations have together (`LARGE_BYTES`)."""
SPACE_STATE_MAX: Final = 20_000
"""The same at the controller of a space, whose rulings are not cut: the first that looks for a term
after a start makes an index of all. What was ruled on under other prices has no such bound."""
LARGE_BYTES: Final = 512
"""A term of a state with so many bytes is a large one: it counts by them."""
IN_MEMORY: Final = 4
"""A byte of a compound takes about so many in memory."""
PART_BYTES: Final = 16
"""What each part of an event counts for, besides the characters of a text."""
PARTS_WALKED: Final = 100
"""An event with more is not walked, which takes long, but weighed."""
PARTS_WEIGHED: Final = 1_000
"""A list of more parts is not weighed: that takes long."""
ROOM_A_BYTE: Final = PART_BYTES
"""No part of an event counts for more, for each of its bytes."""

_encode = msgspec.msgpack.Encoder(enc_hook=lambda value: None).encode  # variables count as none
_HEADS: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""The bytes that begin a list or a compound; others may have these values too."""


def units_of(home: str) -> int:
    """The units that an evaluation has at a home: an agent's, or a space's."""
    return UNITS_MAX if "@" in home else SPACE_UNITS_MAX


class Bounded(msgspec.Struct, gc=False):
    """How the evaluation of a recorded event was bounded: under which prices, and what ended it.

    Prices say nothing but where an evaluation ends for want of units. A record tells that too. So
    an old list of prices need not be kept to rule again as was ruled under it: what ended then ends
    now, for the same reason, and what did not has no bound now. Of the exception that follows one
    the record is not at hand yet; it has ten times what an event has.

    Who has the recorded `operations` in bytes says them too, and `write`s others likewise. They
    were within all limits, so what comes out `alike` need not be measured, nor be written again to
    be compared.
    """

    prices: int
    stopped: str | None
    operations: bytes = b""
    write: Callable[[tuple[Term, ...]], bytes] | None = None
    alike: bool | None = None
    """Whether the same operations came out; `None` where nobody has looked."""

    def units(self, event: Event) -> list[int]:
        """The units to begin with under other prices; raises what ended the evaluation then."""
        if self.stopped in ("budget", "tooLarge"):
            raise Stop(self.stopped)
        return [-9 * UNITS_MAX if event.kind == "exception" else -UNBOUNDED]

    def has(self, operations: tuple[Term, ...]) -> bool:
        """Whether operations are those of the record."""
        if self.write is None:
            return False
        try:
            self.alike = alike = self.write(operations) == self.operations
        except (OverflowError, RecursionError):  # huge integers, deep terms
            return False
        return alike


class Decided:
    """What the evaluation of one event came to, of which a part was done after the other."""

    __slots__ = ("result", "stop", "units")

    def __init__(self, units: Units, result: object, stop: Stop | None) -> None:
        self.units = units
        self.result = result
        self.stop = stop

    def outcome(self) -> Any:
        """What the law's `act` gave, or raise what stopped it."""
        if self.stop is not None:
            raise self.stop
        return self.result


def check_copies(message: Term, to: tuple[Term, ...], units: Units) -> None:
    """Raise `Stop` for a message that would be too much for all its receivers together.

    Like the prices: what was ruled on under others (`Bounded`) has no such bound.
    """
    if units[0] < 0:
        return
    if len(to) * TERM_BYTES_MAX > COPIES_BYTES_MAX and len(to) * weight(message) > COPIES_BYTES_MAX:
        raise Stop("tooLarge")


def check_ruling(operations: tuple[Term, ...], growing: bool) -> int:
    """Stop a ruling that is too large, as a whole or in any of its terms; about how large it is.

    Encoding measures fast, but writes shared parts out; so a law that may share parts without
    bound (`growing`) is measured by a walk first. A term is no deeper than it has bytes that may
    begin a list or a compound: most need no other look.
    """
    if len(operations) > OPERATIONS_MAX or (growing and oversize(operations) is not None):
        raise Stop("tooLarge")
    try:
        data = _encode(operations)
        if len(data) < TERM_DEPTH_MAX:
            return len(data)
        if len(data) > RULING_BYTES_MAX:
            raise Stop("tooLarge")
        if len(data) - len(data.translate(None, _HEADS)) < TERM_DEPTH_MAX:
            return len(data)
    except (OverflowError, RecursionError):  # huge integers, deep terms
        pass
    if oversize(operations) is not None:
        raise Stop("tooLarge")
    return RULING_BYTES_MAX


def large_bytes(terms: Iterable[Term]) -> int:
    """The bytes of the large ones among some terms."""
    total = 0
    for term in terms:
        size = _bytes_in_state(term)
        if size >= LARGE_BYTES:
            total += size
    return total


def _bytes_in_state(term: Term) -> int:
    """The weight of a term that is within the limits; of a small one found out natively."""
    kind = term.__class__
    if kind is not Compound and kind is not tuple:
        return weight(term)
    if getattr(term, "_measure", None) is None:
        try:
            size = len(_encode(term))
        except (OverflowError, RecursionError):  # huge integers, deep terms
            return weight(term)
        if size < LARGE_BYTES:
            return size
    return weight(term)


def grown(delta: Iterable[Change]) -> int:
    """By how many bytes of large terms a state and its obligations grow with some changes."""
    more = 0
    for kind, _, old, new in delta:
        if kind == "+" or kind == "due":
            more += large_bytes((old,))
        elif kind == "-" or kind == "undue":
            more -= large_bytes((old,))
        elif kind == "<-":
            assert new is not None, "another takes its place"
            more += large_bytes((new,)) - large_bytes((old,))
    return more


def check_growth(delta: list[Change], size: int, large: int, units: Units) -> int:
    """By how many bytes of large terms a ruling lets a state grow that has so many; or `Stop`.

    A ruling of small `size` brings none, and of a state that has none it takes none.
    """
    if not large and size < LARGE_BYTES:
        return 0
    more = grown(delta)
    if more > 0 and large + more > STATE_BYTES_MAX and units[0] >= 0:
        raise Stop("tooLarge")
    return more


_SIZED: Final = (str, bytes, tuple)


def bytes_of(parts: tuple[Term, ...]) -> int:
    """How many bytes the parts of an event have, written out natively; `UNBOUNDED` for many.

    What is known to be large, or has a long text or list in it, is not written out for that: it
    would take as long as the rest of a ruling, and several times its memory.
    """
    for part in parts:
        # As `weight` remembers it, above twelve other bits; to ask it would be a call for each.
        if (getattr(part, "_measure", None) or 0) >> 12 >= PARTS_WEIGHED:
            return UNBOUNDED
        for inner in part.args if part.__class__ is Compound else (part,):
            if inner.__class__ in _SIZED and len(inner) >= PARTS_WEIGHED:
                return UNBOUNDED
    try:
        size = len(_encode(parts))
    except (OverflowError, RecursionError):  # huge integers, deep terms
        return UNBOUNDED
    return size if size < PARTS_WEIGHED else UNBOUNDED


def room_of(parts: tuple[Term, ...]) -> int:
    """About how many bytes the parts of an event take in memory; a long list counts without end.

    An event of few parts is walked, others are weighed.
    """
    room, left, todo = 0, PARTS_WALKED, [parts]
    while todo and left > 0:
        some = todo.pop()
        left -= len(some)
        for part in some if left > 0 else ():
            if type(part) is str or type(part) is bytes:
                room += len(part)
            elif type(part) is Compound:
                todo.append(part.args)
            elif type(part) is tuple:
                todo.append(part)
    if left > 0:
        return room + PART_BYTES * (PARTS_WALKED - left)
    if any(type(part) is tuple and len(part) > PARTS_WEIGHED for part in parts):
        return UNBOUNDED
    return IN_MEMORY * sum(map(weight, parts))


def passes_on(operation: Term, event: Event) -> bool:
    """Whether an operation is about the event's very message: it is no larger than the event."""
    if type(operation) is not Compound or len(event.args) != 3:
        return False
    args = operation.args
    return len(args) == 3 and args[1] is event.args[1] and args[2] is event.args[2]
