"""What every kind of simulated world has: a seed, a clock, a network, a history, and its faults.

One seed gives one history. Every user of chance draws from a stream of its own, named by its
purpose, so that a new agent does not change what the others draw.

A world says what a crash does to a host (`crash`, `bring_back`); partitions, storms and the
healing are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from nomospace_lab.sim.clock import HOUR_US, VirtualClock
from nomospace_lab.sim.faults import Crash, Cut, Fault, Pause, Storm
from nomospace_lab.sim.history import CUT, HEALED, JOINED, SENT, WEATHER, History
from nomospace_lab.sim.network import Link, SimNetwork

START_US: Final = 8 * HOUR_US
"""Worlds begin at eight in the morning."""


class Simulation:
    """A world from one seed. `healed_at` is when its faults ended, `quiet` that it came to rest.

    `hops` counts arrivals by the network messages they took, in worlds whose hosts know.
    """

    def __init__(self, seed: int, *, link: Link | None = None) -> None:
        self.seed = seed
        self.clock = VirtualClock(start_us=START_US)
        self.history = History()
        self.network = SimNetwork(self.rng("network"), link)
        self.healed_at: int | None = None
        self.quiet = False
        self.hops: dict[int, int] = {}

    def rng(self, purpose: str) -> Random:
        """A stream of chance of its own for each purpose."""
        return Random(f"{self.seed}/{purpose}")

    @property
    def messages(self) -> int:
        """How many messages were handed to the network."""
        return self.history.count(SENT)

    def run(self, *, until_us: int | None = None) -> None:
        """Go on to the world's end, or up to a moment."""
        raise NotImplementedError

    # -- faults ----------------------------------------------------------------------------

    def plan(self, faults: Sequence[Fault], *, heal_at_us: int | None) -> None:
        """Arrange faults, and the moment from which there are none."""
        for fault in faults:
            self.clock.at(fault.at, self._fault, fault)
        if heal_at_us is not None:
            self.clock.at(heal_at_us, self.heal)

    def _fault(self, fault: Fault) -> None:
        if self.healed_at is not None:
            return
        if isinstance(fault, Crash):
            self.crash(fault)
        elif isinstance(fault, Pause):
            self.stand_still(fault)
        elif isinstance(fault, Cut):
            self.network.cut(fault.side)
            self.history.add(self.clock.now, CUT, " ".join(fault.side))
            self.clock.after(fault.for_us, self._join, fault)
        else:
            self._weather(fault.link)
            self.clock.after(fault.for_us, self._calm, fault)

    def _join(self, fault: Cut) -> None:
        if self.healed_at is None:
            self.network.join(fault.side)
            self.history.add(self.clock.now, JOINED, " ".join(fault.side))

    def _calm(self, fault: Storm) -> None:
        if self.healed_at is None and self.network.usual is fault.link:  # no later one came
            self._weather(self.network.fair)

    def _weather(self, link: Link) -> None:
        self.network.usual = link
        self.history.add(self.clock.now, WEATHER, "network", str(link))

    def heal(self) -> None:
        """End every fault: hosts come back, the network is whole."""
        self.healed_at = self.clock.now
        self.network.heal()
        self.bring_back()
        self.history.add(self.clock.now, HEALED, "world")

    def crash(self, fault: Crash) -> None:
        """A host loses all but its disk, at once or some steps into its next work."""
        raise NotImplementedError

    def stand_still(self, fault: Pause) -> None:
        """A host stands still for a while."""
        raise NotImplementedError

    def bring_back(self) -> None:
        """Start every host that is down, and let none crash any more."""
        raise NotImplementedError
