"""Transfers: a tuple passes from one host to another exactly once, whatever crashes in between.

The sender takes the tuple out of its space and notes the transfer in one durable step; from then
on the tuple is nobody's but the transfer's. The receiver places it and notes the number in one
durable step, and only then says `Taken`. Numbers run without gaps for each ordered pair of hosts
and their births (`births`), so the receiver need remember one number for each sender. Whenever two
hosts meet again, the sender says everything again that was not `Taken`, in order; what came already
is acknowledged once more and not placed again.

| told                  | at the   | what follows                                             |
| --------------------- | -------- | -------------------------------------------------------- |
| `give(peer, what)`    | sender   | a number; the caller makes it durable, then sends        |
| `Transfer(n, what)`   | receiver | `n` is the next: place it, durable, then `Taken(n)`      |
| the same again        | receiver | `Taken(n)` only                                          |
| one that skips        | receiver | nothing: the sender will begin with the one that is next |
| `Taken(n)`            | sender   | everything up to `n` is forgotten, durably               |
| the pair meets again  | sender   | all that is pending is sent again, in order              |
| a birth is over       | both     | `renew`: what is pending is given anew, from 1           |

A tuple whose receiver never comes back stays with its transfer: that is the price of never being
in two places. A receiver that has no use for a tuple any more sends it back as a transfer of its
own.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.protocols.births import SILENT
from nomospace.protocols.messages import Payload

PENDING_MAX: Final = 100_000
"""How many transfers may be under way to one peer."""


class Numbered(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Something for a receiver; `number` counts what the sender has given it from 1.

    It counts for the births of the two: `birth` is the sender's, `to` the receiver's.
    """

    number: int
    what: Payload
    birth: int = SILENT
    to: int = SILENT


class Acknowledged(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Everything up to this number has come, from this birth of the sender."""

    number: int
    birth: int = SILENT
    to: int = SILENT


class Transfer(Numbered, frozen=True, gc=False, array_like=True, tag="transfer"):
    """Take this over."""


class Taken(Acknowledged, frozen=True, gc=False, array_like=True, tag="taken"):
    """All of it has been placed."""


class Book:
    """What two hosts have given each other and not yet got, as numbers and what they stand for."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """The last number given to each peer."""
        self.waiting: dict[str, dict[int, Payload]] = {}
        """What each peer has not said to have, by number. There are no gaps."""
        self.placed: dict[str, int] = {}
        """The last number of each peer that has come."""

    def given(self, peer: str, number: int, what: object) -> None:
        """Something is under way to a peer."""
        self.numbers[peer] = number
        self.waiting.setdefault(peer, {})[number] = what

    def taken(self, peer: str, number: int) -> bool:
        """The peer has everything up to a number; whether that is news."""
        waiting = self.waiting.get(peer)
        if not waiting:
            return False
        last = self.numbers[peer]
        first = last - len(waiting) + 1  # numbers have no gaps: those that wait are the last ones
        for n in range(first, min(number, last) + 1):
            del waiting[n]
        return number >= first

    def forget(self, peer: str) -> None:
        """Begin anew with a peer."""
        for kept in (self.numbers, self.waiting, self.placed):
            kept.pop(peer, None)


class Transfers(Book):
    """The transfers of one host: what it has given and not yet been rid of, what it has got.

    It goes on from a book, which is the driver's and stays as it is.

    >>> here = Transfers()
    >>> number = here.give("b", "a tuple")
    >>> here.pending("b")
    [(1, 'a tuple')]
    >>> here.taken("b", 1), here.pending("b")
    (True, [])
    """

    def __init__(self, book: Book | None = None) -> None:
        super().__init__()
        if book is not None:
            self.numbers.update(book.numbers)
            self.waiting.update({peer: dict(its) for peer, its in book.waiting.items()})
            self.placed.update(book.placed)

    def give(self, peer: str, what: object) -> int:
        """Note something for a peer and say under which number."""
        number = self.numbers.get(peer, 0) + 1
        self.numbers[peer] = number
        self.waiting.setdefault(peer, {})[number] = what
        return number

    def full(self, peer: str, share: int = 1) -> bool:
        """Whether as much is under way to a peer as may be, or one part in `share` of it."""
        return len(self.waiting.get(peer, ())) >= PENDING_MAX // share

    def peers(self) -> list[str]:
        """Those who have not said to have all that was for them."""
        return [peer for peer, waiting in self.waiting.items() if waiting]

    def pending(self, peer: str, most: int | None = None) -> list[tuple[int, Payload]]:
        """What a peer has not said to have, oldest first."""
        waiting = self.waiting.get(peer)
        if not waiting:
            return []
        last = self.numbers[peer]
        first = last - len(waiting) + 1
        most = len(waiting) if most is None else most
        return [(n, waiting[n]) for n in range(first, min(last, first + most - 1) + 1)]

    def is_next(self, peer: str, number: int) -> bool:
        """Whether a transfer from a peer is the one to be placed now."""
        return number == self.placed.get(peer, 0) + 1

    def place(self, peer: str, number: int) -> None:
        """The transfer has been placed."""
        assert number == self.placed.get(peer, 0) + 1, "transfers are placed in order"
        self.placed[peer] = number

    def got(self, peer: str) -> int:
        """The last transfer of a peer that has been placed."""
        return self.placed.get(peer, 0)

    def renew(self, peer: str) -> list[tuple[int, Payload]]:
        """Begin anew with a peer, and give it again what it has not said to have.

        One of the two has forgotten all numbers, and whatever it had placed is gone with it.
        """
        waiting = self.waiting.get(peer, {})
        self.forget(peer)
        return [(self.give(peer, what), what) for _, what in sorted(waiting.items())]
