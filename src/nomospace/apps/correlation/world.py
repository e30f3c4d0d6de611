"""Worlds in which dealers on three hosts compete for the papers of cars, while hosts crash.

On each host a clerk writes the papers of some cars, tuple by tuple; two dealers wait for all papers
of any car, one more looks now and then without waiting, and an auditor looks at what lies there.
Hosts crash in the middle of their work and links break. A clerk that begins again writes what it
may have written before under the same key, so that it is there once. Then all is healed, and the
dealers are given time to take what is left.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Final

from nomospace.apps.correlation.papers import CARS, SPACE, WANTED, papers_of
from nomospace.apps.correlation.properties import (
    SAW,
    WROTE,
    Saw,
    all_are_served,
    none_half_taken,
    taken_once,
    was_hard,
    whole_answers,
)
from nomospace.apps.playing import Game, us
from nomospace.client import Agent, Space
from nomospace.sim.checkers.views import comes_to_rest, system_shows_the_view, views_agree
from nomospace.sim.clock import SECOND_US
from nomospace.sim.faults import Crash, Cut, Fault
from nomospace.sim.network import Link
from nomospace.sim.workloads import workload
from nomospace.terms import Term
from nomospace.terms.templates import ANY
from nomospace.testing.hosts import Program, SimHost

HOSTS: Final = ("yard", "gate", "dock")
CARS_EACH: Final = 14
DEALERS: Final = ("ann", "bob")
CRASHES: Final = (3, 6)
CUTS: Final = (1, 3)

START_S: Final = 4.0
HEAL_S: Final = 40
REST_S: Final = HEAL_S + 25
"""By then every dealer has had the time to take what it can."""
END_S: Final = REST_S + 3


class Market(Game):
    """A market of three hosts."""

    def __init__(self, seed: int, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        rng = self.rng("papers")
        self.papers: dict[str, tuple[tuple[Term, ...], ...]] = {}
        for host in HOSTS:
            for number in range(CARS_EACH):
                car = f"{host}-{number}"
                self.papers[car] = papers_of(car, rng)

    async def script(self) -> None:
        """Hosts that are linked, agents that work, faults, and the end."""
        world, rng = self.world, self.rng("faults")
        hosts = [world.host(name) for name in HOSTS]
        for one in HOSTS:
            for other in HOSTS:
                if one < other:
                    world.connect(one, other)
        for host in hosts:
            host.program(self.clerk)
            for dealer in DEALERS:
                host.program(self.dealer(dealer))
            host.program(self.passer_by)
            host.program(self.auditor)
        world.plan(_faults(rng), heal_at_us=us(HEAL_S))
        await asyncio.sleep(END_S)

    async def _space(self, agent: Agent) -> Space:
        return await agent.space(SPACE, shared=True, ontology=CARS)

    async def clerk(self, host: SimHost) -> None:
        """Write the papers of this host's cars."""
        agent = await host.agent("clerk")
        space, rng = await self._space(agent), self.rng(f"clerk of {host.name}")
        await asyncio.sleep(START_S)
        for car, tuples in self.papers.items():
            if not car.startswith(f"{host.name}-"):
                continue
            for number, fields in enumerate(tuples):
                await space.out(*fields, once=f"{car}/{number}")
                await asyncio.sleep(rng.uniform(0.05, 0.8))
            self.history.add(self.world.clock.now, WROTE, agent.id, car)

    def dealer(self, name: str) -> Program:
        """Whoever waits for all papers of a car, again and again."""

        async def deal(host: SimHost) -> None:
            space = await self._space(await host.agent(name))
            while True:
                await space.take(*WANTED, correlate="auto")

        return deal

    async def passer_by(self, host: SimHost) -> None:
        """Whoever takes what there is just now; with a key, for a change."""
        space = await self._space(await host.agent("eve"))
        rng = self.rng(f"passer-by of {host.name}")
        while self.world.clock.now < us(REST_S):
            await asyncio.sleep(rng.uniform(0.2, 2.0))
            if rng.random() < 0.5:
                await space.take_nowait(*WANTED, correlate="auto", max_set=rng.choice((2, 3)))
            else:
                await space.take_all(*WANTED, correlate="always")

    async def auditor(self, host: SimHost) -> None:
        """Look at all that lies here, in one instant."""
        agent = await host.agent("zoe")
        space, rng = await self._space(agent), self.rng(f"auditor of {host.name}")
        while True:
            await asyncio.sleep(rng.uniform(0.3, 1.5))
            asked = self.world.clock.now
            pairs = await space.read_all(ANY, ANY)
            seen = Saw(host.name, asked, tuple([tuple(one) for one in pairs]))
            self.history.add(self.world.clock.now, SAW, agent.id, seen)


def _faults(rng: Random) -> list[Fault]:
    found: list[Fault] = []
    for _ in range(rng.randint(*CRASHES)):
        steps = rng.randrange(1, 20) if rng.random() < 0.7 else 0
        down_us = int(rng.uniform(0.3, 4) * SECOND_US)
        at_us = us(rng.uniform(START_S + 1, HEAL_S - 6))
        found.append(Crash(at_us, rng.choice(HOSTS), down_us, steps))
    for _ in range(rng.randint(*CUTS)):
        side = tuple(sorted(rng.sample(HOSTS, 1)))
        at_us = us(rng.uniform(START_S, HEAL_S - 8))
        found.append(Cut(at_us, side, int(rng.uniform(1, 6) * SECOND_US)))
    return found


@workload(
    "correlation",
    "dealers who compete for papers that only answer together",
    checkers=(
        was_hard,
        taken_once,
        whole_answers,
        none_half_taken,
        all_are_served,
        comes_to_rest,
        views_agree,
        system_shows_the_view,
    ),
    everywhere=(),
)
def build(seed: int) -> Market:
    """A market with forty-two cars."""
    return Market(seed, link=Link(loss=0.01, repeats=0.01))
