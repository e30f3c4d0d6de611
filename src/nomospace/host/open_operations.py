"""The operations of a host's agents that are not over, found by number, agent, space and call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nomospace.calls.problems import Busy
from nomospace.host.index import Index
from nomospace.host.looking import SETS_PRICE
from nomospace.host.operations import Op
from nomospace.host.shares import TooManyWaiting

if TYPE_CHECKING:
    from nomospace.host.ports import LookingPort
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

    def remove(self, one: Op) -> None:
        """Have an operation no more; harmless when it is over."""
        self.by_number.pop(one.number, None)
        self.of_agent.drop(one.agent, one.number)
        self.on_space.drop(one.seek.space, one.number)
        self.at_agent.drop(one.seek.at, one.number)
        self.by_call.pop((one.agent, one.op), None)
        if one.price:
            self._looking.unwatch(one.agent, one.price)
            one.price = 0
