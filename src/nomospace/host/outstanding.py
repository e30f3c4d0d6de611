"""Operations on governed spaces that have no answer yet, and which of them an answer is for.

The term of an operation is made once, with its call, and this one object goes through all rulings:
a law that passes a message on passes on what it was shown, and an answer holds the operation that
it answers. So the object says which call is meant, however many others ask for the same.

Only a term that was made anew says less: a law has changed or rebuilt it, or it comes from another
host or an earlier one of a moving agent. It is looked up by its value, and the oldest call counts.
That index is made when it is first needed, and kept until no call is left.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.requests import Out, React, Seek
from nomospace.control import Event, Ruling
from nomospace.host.effects import HERE, Journey
from nomospace.terms import Term
from nomospace.terms.encoding import encode

HELD: Final = 0
"""A law is about to rule on the operation, or holds it back."""
BEGUN: Final = 1
"""It has reached the space."""
ANSWERED: Final = 2
"""The space has answered it."""

_number: Final = attrgetter("number")


@dataclass(slots=True, eq=False)
class Pending:
    """An event that waits to be ruled on. `then` is told the ruling; a call's `op` what fails."""

    event: Event
    came: Journey = HERE
    op: int = 0
    then: Callable[[Ruling], None] | None = None
    number: int = 0  # under which it is held, if it must not be lost
    durable: bool = field(default=False, kw_only=True)  # whether it must not be lost
    share: int | None = field(default=None, kw_only=True)
    """How many rulings and deliveries it may cause, if others share in them."""


class Released(msgspec.Struct, frozen=True):
    """What a manager's law makes of an answer: the message that may go, or `None`."""

    message: Term
    ruling: Ruling


class Outstanding:
    """An operation on a governed space, from its call to its answer."""

    __slots__ = ("founds", "message", "number", "op", "request", "stage", "value")

    def __init__(self, op: int, message: Term, request: Out | Seek | React) -> None:
        self.op = op
        self.message = message
        self.request = request
        self.stage = HELD
        self.number = 0  # older ones have smaller numbers
        self.founds: tuple[Found, ...] = ()  # what the space found, with all that is hidden
        self.value = b""  # the term's canonical bytes, once they are needed


class OutstandingCalls:
    """The operations of one agent on one governed space that have no answer."""

    __slots__ = ("_by_op", "_by_value", "_calls", "_next")

    def __init__(self) -> None:
        self._calls: dict[int, Outstanding] = {}
        """By the identity of their terms, oldest first."""
        self._by_op: dict[int, Outstanding] = {}
        self._by_value: dict[tuple[int, bytes], list[Outstanding]] | None = None
        """By stage and the bytes of their terms, oldest first."""
        self._next = 1

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, one: Outstanding) -> bool:
        return self._calls.get(id(one.message)) is one

    def all(self) -> list[Outstanding]:
        """All of them, the oldest first."""
        return list(self._calls.values())

    def add(self, one: Outstanding) -> None:
        """A call begins."""
        one.number = self._next
        self._next += 1
        self._calls[id(one.message)] = one
        if one.op:
            self._by_op[one.op] = one
        if self._by_value is not None:
            self._index(self._by_value, one)

    def remove(self, one: Outstanding | None) -> None:
        """A call has its answer, or waits no more; one that is over already stays so."""
        if one is None or self._calls.get(id(one.message)) is not one:
            return
        del self._calls[id(one.message)]
        self._by_op.pop(one.op, None)
        if not self._calls:
            self._by_value = None
        elif self._by_value is not None:
            self._unindex(self._by_value, one)

    def reached(self, one: Outstanding, stage: int) -> None:
        """A call has got further."""
        if self._by_value is None:
            one.stage = stage
        else:
            self._unindex(self._by_value, one)
            one.stage = stage
            self._index(self._by_value, one)

    def called(self, op: int) -> Outstanding | None:
        """The call that is answered under a number."""
        return self._by_op.get(op)

    def sent(self, message: Term) -> Outstanding | None:
        """The call whose operation this is, if it has not reached its space."""
        one = self._calls.get(id(message))
        if one is not None and one.stage == HELD:
            return one
        return self._oldest(HELD, message)

    def asked(self, message: Term) -> Outstanding | None:
        """The call that an answer to this operation is for, if it has reached its space.

        Of several with the same term, one that the space has answered.
        """
        one = self._calls.get(id(message))
        if one is not None and one.stage != HELD:
            return one
        return self._oldest(ANSWERED, message) or self._oldest(BEGUN, message)

    # -- by value --------------------------------------------------------------------------

    def _oldest(self, stage: int, message: Term) -> Outstanding | None:
        if not self._calls:
            return None
        by_value = self._by_value
        if by_value is None:
            by_value = self._by_value = {}
            for one in self._calls.values():
                self._index(by_value, one)
        found = by_value.get((stage, encode(message)))
        return found[0] if found else None

    @staticmethod
    def _index(by_value: dict[tuple[int, bytes], list[Outstanding]], one: Outstanding) -> None:
        one.value = one.value or encode(one.message)
        insort(by_value.setdefault((one.stage, one.value), []), one, key=_number)

    @staticmethod
    def _unindex(by_value: dict[tuple[int, bytes], list[Outstanding]], one: Outstanding) -> None:
        alike = by_value[one.stage, one.value]
        del alike[bisect_left(alike, one.number, key=_number)]
        if not alike:
            del by_value[one.stage, one.value]
