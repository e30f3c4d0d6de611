"""The blocked operations of one space: who waits, armed or not, by ticket and by what it wants."""

from __future__ import annotations

from collections.abc import Hashable

from nomospace.space.meant import Speech
from nomospace.space.store import NotInSpace
from nomospace.space.stored import EngineRecords
from nomospace.space.watchers import OFFER, READ, TAKE, Waiter, Watchers


class Waiters:
    """Those who wait in a space, in the order they came."""

    __slots__ = ("_armed", "_store", "by_ticket", "offers", "reads", "takes")

    def __init__(self, store: EngineRecords, speech: Speech) -> None:
        self._store = store
        self.by_ticket: dict[Hashable, Waiter] = {}
        self.reads: Watchers[Waiter] = Watchers(speech)
        self.takes: Watchers[Waiter] = Watchers(speech)
        self.offers: Watchers[Waiter] = Watchers(speech)
        self._armed = {READ: self.reads, TAKE: self.takes, OFFER: self.offers}

    def add(self, waiter: Waiter) -> None:
        """Let one wait, armed."""
        self.by_ticket[waiter.ticket] = waiter
        self._armed[waiter.how].add(waiter)

    def get(self, ticket: Hashable) -> Waiter:
        """The one of a ticket. `NotInSpace` when there is none, or no more."""
        waiter = self.by_ticket.get(ticket)
        if waiter is None:
            raise NotInSpace(space=self._store.name, what=f"the waiter of ticket {ticket!r}")
        return waiter

    def arm(self, waiter: Waiter) -> None:
        """Let one be served again, in its old turn."""
        if not waiter.armed:
            waiter.armed = True
            self._armed[waiter.how].add(waiter)

    def disarm(self, waiter: Waiter) -> None:
        """Let one be served no more, until it is armed."""
        if waiter.armed:
            waiter.armed = False
            self._armed[waiter.how].drop(waiter)

    def dismiss(self, waiter: Waiter) -> None:
        """Let one wait no longer."""
        del self.by_ticket[waiter.ticket]
        if waiter.armed:
            self._armed[waiter.how].drop(waiter)
        if waiter.sets is not None:
            self._store.sets[waiter.scope].cancel(waiter.sets, waiter.order)
