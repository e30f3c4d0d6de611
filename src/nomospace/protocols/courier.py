"""The courier: what one host hands to it for another arrives exactly once, whatever happens.

Streams live as long as two hosts are engaged; the courier's promise outlives views, partitions and
crashes. The sender notes a parcel durably before it goes out (`Transfers` keeps the numbers), and
sends it again until the receipt comes; the receiver notes its number in the same durable step in
which it acts on it. So whoever hands something to the courier may forget it: it is in the sender's
custody until it is in the receiver's, and in one of the two at any time. Numbers belong to the
births of the two (`births`), and only frames whose births fit are for `receive`.

| told                    | what follows                                                           |
| ----------------------- | ---------------------------------------------------------------------- |
| `send(peer, what)`      | `Parcel`, now and again until its receipt; the caller makes it durable |
| `Parcel`, the next one  | it and those that waited for it, in order; `Receipt`                   |
| `Parcel`, come before   | `Receipt` only                                                         |
| `Parcel`, too early     | kept (`AHEAD_MAX`), or dropped: it will come again                     |
| `Receipt`               | everything up to it is forgotten, and the next try is put off          |
| `Receipt`, come before  | nothing: a parcel is missing, and its next try must not be put off     |
| `renewed(peer)`         | what waits for the peer, under new births, goes out at once            |

Between two tries lies a pause that doubles from `PAUSE_MIN_US` to `PAUSE_MAX_US` while the peer is
silent, so a host that is away for a day costs little; any sign of the peer makes it short again.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from nomospace.protocols.births import BEFORE, Births
from nomospace.protocols.messages import Payload
from nomospace.protocols.transfers import Acknowledged, Numbered, Transfers

PAUSE_MIN_US: Final = 400_000
PAUSE_MAX_US: Final = 10_000_000
BURST_MAX: Final = 64
"""How many parcels go out again at a time."""
AHEAD_MAX: Final = 1_024
"""How many parcels that overtook others are kept for each peer."""


class Parcel(Numbered, frozen=True, gc=False, array_like=True, tag="parcel"):
    """Keep this, and say so."""


class Receipt(Acknowledged, frozen=True, gc=False, array_like=True, tag="receipt"):
    """All of it is kept."""


class Aside(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="aside"):
    """Something for the receiver that is said once, past the courier: it may get lost."""

    what: Payload


Frame: TypeAlias = Parcel | Receipt


class _Route:
    """What is known of one peer in this life: when to try again, what came too early."""

    __slots__ = ("ahead", "confirmed", "due", "pause")

    def __init__(self, now: int) -> None:
        self.ahead: dict[int, Payload] = {}
        self.confirmed = -1
        self.pause = PAUSE_MIN_US
        self.due = now + PAUSE_MIN_US


class Courier:
    """The courier of one host. `book` holds what is durable of it, `births` what numbers are for.

    >>> here, there = Courier(Transfers(), now=0), Courier(Transfers(), now=0)
    >>> number, frame = here.send("b", "a parcel", now=0)
    >>> there.receive("a", frame, now=10)
    ([(1, 'a parcel')], Receipt(number=1, birth=1, to=-1))
    >>> there.receive("a", frame, now=20)  # it came again: the receipt was lost
    ([], Receipt(number=1, birth=1, to=-1))
    """

    def __init__(self, book: Transfers, *, births: Births | None = None, now: int) -> None:
        self.book = book
        self._births = births or Births(BEFORE)
        self._routes: dict[str, _Route] = {}
        for peer in book.peers():
            self._route(peer, now).due = now

    def _route(self, peer: str, now: int) -> _Route:
        """A new route to a peer."""
        route = self._routes[peer] = _Route(now)
        return route

    def send(self, peer: str, what: object, *, now: int) -> tuple[int, Frame]:
        """Take something over for a peer: its number, and the frame to send once it is durable."""
        idle = not self.book.waiting.get(peer)
        number = self.book.give(peer, what)
        route = self._routes.get(peer) or self._route(peer, now)
        if idle:
            route.pause = PAUSE_MIN_US
            route.due = now + PAUSE_MIN_US
        return number, Parcel(number, what, *self._births.stamp(peer))

    def receive(
        self, peer: str, frame: Frame, *, now: int
    ) -> tuple[list[tuple[int, Payload]], Frame | None]:
        """What a frame brings, numbered and in order, and the frame to answer with.

        The caller acts on each parcel and makes its number durable in one step, and only then
        lets the answer go.
        """
        route = self._routes.get(peer) or self._route(peer, now)
        if isinstance(frame, Receipt):
            if frame.number > route.confirmed:
                route.confirmed = frame.number
                route.pause = PAUSE_MIN_US
                route.due = now + PAUSE_MIN_US
            return [], None
        book, number = self.book, frame.number
        came: list[tuple[int, Payload]] = []
        if book.is_next(peer, number):
            book.place(peer, number)
            came.append((number, frame.what))
            while (number := number + 1) in route.ahead:
                book.place(peer, number)
                came.append((number, route.ahead.pop(number)))
        elif number > book.got(peer) and len(route.ahead) < AHEAD_MAX:
            route.ahead[number] = frame.what
        return came, self.receipt(peer)

    def receipt(self, peer: str) -> Receipt:
        """What has come from a peer, and between which births."""
        return Receipt(self.book.got(peer), *self._births.stamp(peer))

    def renewed(self, peer: str, *, now: int) -> None:
        """The births of a pair are others: what waits goes out now, what came early is void."""
        route = self._route(peer, now)
        route.due = now

    def heard(self, peer: str, *, now: int) -> None:
        """There is a sign of a peer: what waits for it goes out soon."""
        route = self._routes.get(peer)
        if route is not None and route.pause > PAUSE_MIN_US:
            route.pause = PAUSE_MIN_US
            route.due = now

    def tick(self, *, now: int) -> list[tuple[str, Frame]]:
        """What must be sent again by now."""
        again: list[tuple[str, Frame]] = []
        for peer, route in self._routes.items():
            if route.due > now:
                continue
            waiting = self.book.pending(peer, BURST_MAX)
            if waiting:
                stamp = self._births.stamp(peer)
                again += [(peer, Parcel(number, what, *stamp)) for number, what in waiting]
                route.pause = min(2 * route.pause, PAUSE_MAX_US)
                route.due = now + route.pause
        return again

    def next_deadline(self) -> int | None:
        """When something must next be sent again."""
        due: int | None = None
        for peer, route in self._routes.items():
            if (due is None or route.due < due) and self.book.waiting.get(peer):
                due = route.due
        return due
