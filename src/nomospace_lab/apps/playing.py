"""Workloads whose worlds are programs: `async` agents over the public API, in virtual time.

A world of `testing.hosts` lives inside an event loop, while the registry of workloads wants
something that is built from a seed, run to its end and judged. `Game` is that: its script is one
coroutine, and what checkers ask of a world it knows while the game is on and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.simulation import START_US, Simulation
from nomospace_lab.sim.site import Site
from nomospace_lab.testing.hosts import AgentWorld, SimHost, play


class Game(Simulation):
    """A game from one seed. A subclass says in `script` who plays and what happens when."""

    world: AgentWorld

    def __init__(self, seed: int, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        self.sites: dict[str, Site] = {}
        self.hosts: dict[str, SimHost] = {}
        self.where: dict[str, str | None] = {}
        self.end_us = START_US

    async def script(self) -> None:
        """Play the whole game in `self.world`; it is over when this returns."""
        raise NotImplementedError

    def forgives(self, error: BaseException) -> bool:
        """Whether an error that was reported is part of the game; none is, unless one says so."""
        return False

    def run(self, *, until_us: int | None = None) -> None:
        """Play from the beginning to the end. A program or listener that fails ends it."""
        assert until_us is None, "a game is played to its end"
        play(self._play, seed=self.seed, link=self.network.fair)

    async def _play(self, world: AgentWorld) -> None:
        world.history = self.history
        self.world = world
        self.sites, self.hosts, self.where = world.sites, world.hosts, world.where
        await self.script()
        for report in world.reports:
            if report.error is not None and not self.forgives(report.error):
                raise report.error
        self.clock.now = self.end_us = world.clock.now
        self.healed_at = world.healed_at
        self.quiet = True

    @property
    def messages(self) -> int:
        """How many frames were handed to the network."""
        return self.world.messages

    def at(self, at_s: float, act: Callable[..., Any], *args: Any) -> None:
        """Let something happen so many seconds into the game."""
        self.world.at(us(at_s), act, *args)


def us(at_s: float) -> int:
    """A moment so many seconds into a game."""
    return START_US + int(at_s * SECOND_US)
