"""Worlds in which dealers on three hosts compete for the papers of cars, while hosts crash.

The papers of a car lie on one host or on several; of some cars one paper is never written. On each
host a clerk writes the papers that belong there, tuple by tuple. One dealer waits there for all
papers of any car, one more waits a little each time and gives up, one looks now and then, at any
host, without waiting, one borrows a paper for a moment, and an auditor looks at what lies there.
Hosts crash in the middle of their work and links break. A clerk that begins again writes what it
may have written before under the same key, so that it is there once. Then all is healed. Some more
papers are written in the calm, and the dealers are given time to take what is left. In worlds of
odd seeds the space is under a law that lets everything pass.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Final

from nomospace.client import Agent, Closed, Space, TimedOut
from nomospace.errors import NomospaceError
from nomospace.law import load
from nomospace.terms import Term
from nomospace.terms.templates import ANY
from nomospace_lab.apps.correlation.papers import CARS, SPACE, WANTED, papers_of
from nomospace_lab.apps.correlation.properties import (
    SAW,
    WROTE,
    Saw,
    all_are_served,
    none_half_taken,
    taken_once,
    wakes_with_the_last,
    was_hard,
    whole_answers,
)
from nomospace_lab.apps.playing import Game, us
from nomospace_lab.sim.checkers.views import comes_to_rest, system_shows_the_view, views_agree
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut, Fault
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import ContactLost
from nomospace_lab.sim.workloads import workload
from nomospace_lab.testing.hosts import SimHost

HOSTS: Final = ("yard", "gate", "dock")
LAW: Final = load("law(free). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
CARS_NUMBER: Final = 36
LATE_EACH: Final = 6
"""The last so many cars get their papers in the calm."""
PAPERS_MAX: Final = 3
BORROWED_MAX: Final = 3
LEND_S: Final = 2
DELAY_MAX_US: Final = 300_000
"""Links are slow, so that much happens while a set is collected."""
CRASHES: Final = (3, 6)
CUTS: Final = (1, 3)

START_S: Final = 4.0
HEAL_S: Final = 40
CALM_S: Final = HEAL_S + 15
REST_S: Final = CALM_S + 12
"""By then every dealer has had the time to take what it can."""
END_S: Final = REST_S + 3


class _Unwanted(Exception):
    """What was borrowed goes back."""


class CorrelationMarket(Game):
    """A market of three hosts."""

    def __init__(self, seed: int, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        self.law = LAW if seed % 2 else None
        rng = self.rng("papers")
        self.papers: dict[str, tuple[tuple[Term, ...], ...]] = {}
        self.places: dict[str, tuple[str, ...]] = {}
        """The host where each paper of a car is written."""
        self.unfinished: dict[str, None] = {}
        self.late: dict[str, None] = {}
        self.borrowed: dict[str, int] = {}
        """How often each paper was lent: past a limit it would be a dead letter."""
        self.rest_at = us(REST_S)
        for number in range(CARS_NUMBER):
            car = f"car-{number}"
            papers = self.papers[car] = papers_of(car, rng)
            host = rng.choice(HOSTS)
            spread = rng.random() < 0.7
            self.places[car] = tuple([rng.choice(HOSTS) if spread else host for _ in papers])
            if len(papers) > 1 and rng.random() < 0.15:
                self.unfinished[car] = None
            if number >= CARS_NUMBER - LATE_EACH:
                self.late[car] = None

    def written(self, car: str) -> int:
        """How many papers of a car are ever written: the first ones."""
        return len(self.papers[car]) - (car in self.unfinished)

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
            host.program(self.dealer)
            host.program(self.haggler)
            host.program(self.passer_by)
            host.program(self.borrower)
            host.program(self.auditor)
        world.plan(_faults(rng), heal_at_us=us(HEAL_S))
        await asyncio.sleep(END_S)

    def forgives(self, error: BaseException) -> bool:
        """Whose host crashes in the instant of an answer cannot write it back, nor what is lent.

        A lease may run out while its host is down.
        """
        return isinstance(error, Closed) or (
            isinstance(error, NomospaceError)
            and error.code in ("host.agent-left", "space.lease-lapsed")
        )

    async def _space(self, agent: Agent) -> Space:
        if self.law is not None:
            await agent.adopt(self.law)
        return await agent.space(SPACE, shared=True, ontology=CARS, law=self.law)

    async def clerk(self, host: SimHost) -> None:
        """Write the papers that belong to this host."""
        agent = await host.agent("clerk")
        space, rng = await self._space(agent), self.rng(f"clerk of {host.name}")
        await asyncio.sleep(START_S)
        for car, places in self.places.items():
            if car in self.late:
                await asyncio.sleep(max(0.0, (us(CALM_S) - self.world.clock.now) / SECOND_US))
            for number in range(self.written(car)):
                if places[number] == host.name:
                    await space.out(*self.papers[car][number], once=f"{car}/{number}")
                    self.history.add(self.world.clock.now, WROTE, agent.id, (car, number))
                    await asyncio.sleep(rng.uniform(0.05, 0.8))

    async def dealer(self, host: SimHost) -> None:
        """Wait for all papers of a car, again and again."""
        space = await self._space(await host.agent("ann"))
        while True:
            await space.take(*WANTED, correlate="auto", max_set=PAPERS_MAX)

    async def haggler(self, host: SimHost) -> None:
        """Wait for them a little, and give up: in the middle of collecting, as it may be."""
        space = await self._space(await host.agent("bob"))
        rng = self.rng(f"haggler of {host.name}")
        while self.world.clock.now < us(CALM_S):
            with suppress(TimedOut):
                wait_s = rng.uniform(0.05, 2.0)
                await space.take(*WANTED, correlate="auto", max_set=PAPERS_MAX, timeout=wait_s)

    async def passer_by(self, host: SimHost) -> None:
        """Take what there is just now at some host, this one or another."""
        space = await self._space(await host.agent("eve"))
        rng = self.rng(f"passer-by of {host.name}")
        while self.world.clock.now < us(REST_S):
            await asyncio.sleep(rng.uniform(0.2, 2.0))
            at = rng.choice(HOSTS)
            with suppress(ContactLost):  # then nothing was taken, or it has gone back
                if rng.random() < 0.5:
                    size = rng.choice((2, 3))
                    await space.take_nowait(*WANTED, correlate="auto", max_set=size, at=at)
                else:
                    await space.take_all(*WANTED, correlate="always", max_set=PAPERS_MAX, at=at)

    async def borrower(self, host: SimHost) -> None:
        """Have a paper of this host for a moment, and give it back: it is gone just when needed."""
        space = await self._space(await host.agent("sam"))
        rng = self.rng(f"borrower of {host.name}")
        while self.world.clock.now < us(CALM_S - LEND_S):
            await asyncio.sleep(rng.uniform(0.1, 0.6))
            there = [tuple(one) for one in await space.read_all(ANY, ANY)]
            free = [one for one in there if self.borrowed.get(repr(one), 0) < BORROWED_MAX]
            if not free:
                continue
            paper = rng.choice(free)
            self.borrowed[repr(paper)] = self.borrowed.get(repr(paper), 0) + 1
            with suppress(TimedOut, _Unwanted):
                async with space.take(*paper, at=host.name, lease=LEND_S, timeout=0.1):
                    await asyncio.sleep(rng.uniform(0.05, 0.5))
                    raise _Unwanted

    async def auditor(self, host: SimHost) -> None:
        """Look at all that lies here, in one instant."""
        agent = await host.agent("zoe")
        space, rng = await self._space(agent), self.rng(f"auditor of {host.name}")
        while True:
            await asyncio.sleep(rng.uniform(0.3, 1.5))
            asked = self.world.clock.now
            pairs = await space.read_all(ANY, ANY)
            wholes = await space.read_all(ANY, ANY, ANY, ANY)
            seen = Saw(host.name, asked, tuple([tuple(one) for one in (*pairs, *wholes)]))
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
        wakes_with_the_last,
        comes_to_rest,
        views_agree,
        system_shows_the_view,
    ),
    everywhere=(),
)
def build(seed: int) -> CorrelationMarket:
    """A market with a few dozen cars."""
    return CorrelationMarket(seed, link=Link(delay_max_us=DELAY_MAX_US, loss=0.01, repeats=0.01))
