"""The operations of a host's agents that are not over, found by number, agent, space and call.

Searches for an operation in one space of its host: tuples, else sets of them.

A search that takes longer than a slice is parked (`looking`), and goes on there. Whoever began it
is told what it found when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from nomospace.calls.problems import Busy
from nomospace.calls.requests import BULK, Seek
from nomospace.errors import NomospaceError
from nomospace.host.index import Index
from nomospace.host.looking import SETS_PRICE
from nomospace.host.operations import READ_MAX, TAKEN_MAX, Look, Op, agent_at, ask_of
from nomospace.host.part import HostPart
from nomospace.host.shares import TooManyWaiting
from nomospace.space import Gathering, Record, Search, SetSearch, Space, Unfinished
from nomospace.space.kinds import is_asked

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts, LookingPort
    from nomospace.host.shares import Shares


OPEN_MAX: Final = 1_000_000
"""How many operations of its agents may wait at a host."""


class OpenOperations:
    """The open operations of one host, within what it and each agent may have."""

    def __init__(self, shares: Shares, looking: LookingPort) -> None:
        self._shares = shares
        self._looking = looking
        self.by_number: dict[int, Op] = {}
        self.by_call: dict[tuple[str, int], Op] = {}
        self.of_agent: Index[Op] = Index()
        self.on_space: Index[Op] = Index()
        """Those that wait, by space."""
        self.at_agent: Index[Op] = Index()
        """Those that wait for what one agent holds."""
        self.of_kind: Index[Op] = Index()
        """Those that wait, and passed a host over that holds nothing of their kind, by space and
        kind."""
        self._next_number = 1

    def number(self) -> int:
        """A number that no operation had."""
        self._next_number += 1
        return self._next_number - 1

    def add(self, one: Op) -> None:
        """Have an operation; raises `Busy`, `TooManyWaiting` and `WatchersTooDear`."""
        if len(self.by_number) >= OPEN_MAX:
            raise Busy(what="waiting operations of this host", limit=OPEN_MAX)
        share = self._shares.agent_waiting
        if self.of_agent.count(one.agent) >= share:
            raise TooManyWaiting(
                what=f"the number of operations of {one.agent} that wait",
                limit=share,
                advice="wait for answers, or give timeouts, before you ask for more",
            )
        if one.waits:
            price = one.seek.template.price + (0 if one.seek.sets is None else SETS_PRICE)
            self._looking.watch(one.agent, price)
            one.price = price
        self.by_number[one.number] = one
        self.of_agent.add(one.agent, one.number, one)
        if one.spreads:
            self.on_space.add(one.seek.space, one.number, one)
            if "@" in one.seek.at:
                self.at_agent.add(one.seek.at, one.number, one)
        if one.op:
            self.by_call[one.agent, one.op] = one

    def of_kinds(self, space: str, kinds: Iterable[int]) -> dict[int, Op]:
        """Those that passed hosts over, which may hold tuples of these kinds now, by number."""
        found: dict[int, Op] = {}
        for kind in kinds:
            some = self.of_kind.of((space, kind)) if is_asked(kind) else self.on_space.of(space)
            found.update({one.number: one for one in some})
        return found

    def remove(self, one: Op) -> None:
        """Have an operation no more; harmless when it is over."""
        self.by_number.pop(one.number, None)
        self.of_agent.drop(one.agent, one.number)
        self.on_space.drop(one.seek.space, one.number)
        self.at_agent.drop(one.seek.at, one.number)
        self.of_kind.drop((one.seek.space, one.kind), one.number)
        self.by_call.pop((one.agent, one.op), None)
        if one.price:
            self._looking.unwatch(one.agent, one.price)
            one.price = 0


Ended: TypeAlias = Callable[[Op, Space, list[Record], list[Gathering]], None]
"""Told what a search that was parked has found."""
Failed: TypeAlias = Callable[[Op, NomospaceError], None]
"""Told why it found nothing."""


class CutSearch(Exception):
    """A search has used up its slice, and is to be parked."""

    def __init__(self, search: Search | SetSearch, records: list[Record]) -> None:
        super().__init__()
        self.search = search
        self.records = records
        """The single tuples, when it is sets that are still looked for."""


class LocalSearches(HostPart):
    """The searches of one host's agents in its own spaces."""

    def __init__(self, host: HostParts, ended: Ended, failed: Failed) -> None:
        super().__init__(host)
        self._ended = ended
        self._failed = failed

    def find(self, one: Op, space: Space) -> tuple[list[Record], list[Gathering]]:
        """What there is now: tuples, and where several may answer together, sets of them.

        Raises `CutSearch` where that takes longer than a slice.
        """
        seek, now, slice = one.seek, self._step.now, self._host.looking.slice
        at, dest = agent_at(seek.at), seek.dest or None
        records: list[Record] = []
        try:
            if seek.how in BULK:
                most = TAKEN_MAX if one.takes else READ_MAX
                records = space.find_all(
                    seek.template, at=at, dest=dest, now=now, slice=slice, most=most
                )
            else:
                record = space.find(seek.template, at=at, dest=dest, now=now, slice=slice)
                if record is not None:
                    records = [record]
            return records, [] if seek.sets is None else self._gather(seek, space, records)
        except Unfinished as cut:
            raise CutSearch(cut.search, records) from None

    def _gather(self, seek: Seek, space: Space, records: list[Record]) -> list[Gathering]:
        """Sets of tuples that answer together, where single ones are not enough."""
        assert seek.sets is not None
        now, slice = self._step.now, self._host.looking.slice
        if records and not (seek.how in BULK and seek.sets.correlate == "always"):
            return []
        if seek.how in BULK:
            every = space.sets.gather_all(ask_of(seek), now=now, slice=slice)
            self._note_cut(seek, space)
            return every
        found = space.sets.gather(ask_of(seek), now=now, slice=slice)
        if found is None:
            self._note_cut(seek, space)
        return [] if found is None else [found]

    def park(self, one: Op, space: Space, cut: CutSearch) -> None:
        """Let a search go on, for an operation that is open; raises `Busy`."""
        self.drop(one)
        records = cut.records
        found = (
            partial(self._found_sets, one, space, records)
            if isinstance(cut.search, SetSearch)
            else partial(self._found, one, space)
        )
        look = Look(one.agent, space, cut.search, found, partial(self._failed, one))
        one.look = self._host.looking.park(look)

    def drop(self, one: Op) -> None:
        """Let the search of an operation go on no more."""
        look, one.look = one.look, None
        if look is not None:
            self._host.looking.drop(look)

    def _found(self, one: Op, space: Space, records: list[Record]) -> None:
        """A search has come to its end; where sets are wanted too, they are looked for now."""
        one.look = None
        sets: list[Gathering] = []
        if one.seek.sets is not None:
            try:
                sets = self._gather(one.seek, space, records)
            except Unfinished as cut:
                self.park(one, space, CutSearch(cut.search, records))
                return
        self._ended(one, space, records, sets)

    def _found_sets(
        self, one: Op, space: Space, records: list[Record], sets: list[Gathering]
    ) -> None:
        one.look = None
        if one.seek.how in BULK or not sets:
            self._note_cut(one.seek, space)
        there = [record for record in records if space.get(record.id) is record]
        self._ended(one, space, there, sets)

    def _note_cut(self, seek: Seek, space: Space) -> None:
        """Let an operator know of a question whose larger sets are not looked for."""
        assert seek.sets is not None
        complete = space.sets.complete(ask_of(seek))
        if complete < seek.sets.max_set:
            self._step.note(
                "sets-cut", space=seek.space, template=repr(seek.template), complete=complete
            )
