"""Worlds of one host and a few programs in other processes: what breaks is between them.

Programs write, read, take, wait, give up, take under leases, and die; connections are cut at any
byte that matters; the host crashes, also between its disk and its answers. Then all is healed, and
every tuple that was written has one owner, or lies there.
"""

from __future__ import annotations

from random import Random
from typing import Final

from nomospace.terms.templates import Template
from nomospace_lab.sim.checkers.sessions import (
    answers_fit,
    nobody_is_forgotten,
    sessions_come_to_rest,
    taken_once,
)
from nomospace_lab.sim.clients import DONE, OPEN, Client, ClientWorld, Deed, found
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Fault
from nomospace_lab.sim.requests import (
    ONCE_PER_TUPLE,
    READ,
    READ_NOWAIT,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    WEAK,
    Open,
    Out,
    OutMany,
    React,
    Seek,
    Settle,
    Share,
    Way,
)
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.workloads import workload

HEAL_S: Final = 12
END_S: Final = HEAL_S + 50
"""Leases have lapsed by now, and the sessions of programs that died."""
KINDS: Final = 3
LEASE_US: Final = 2 * SECOND_US


class Program:
    """What one program does: a few calls at a time, until the world is healed."""

    def __init__(self, world: ClientWorld, client: Client, numbers: list[int]) -> None:
        self.world = world
        self.client = client
        self.rng = client.rng
        self._numbers = numbers
        client.ask(Open("jobs", None, True))
        client.ask(Share(("jobs",), True))
        if self.rng.random() < 0.15:
            everything = Template.of(("job", int, int))
            client.watch(React("jobs", everything, ONCE_PER_TUPLE, WEAK))
        self._soon()

    def _soon(self) -> None:
        self.world.clock.after(int(self.rng.expovariate(2.5) * SECOND_US), self.act)

    def act(self) -> None:
        """Do something, and something else later."""
        if self.world.healed_at is not None or not self.client.alive:
            return
        for _ in range(self.rng.choice((1, 1, 2, 3, 6))):
            self._one()
        self._soon()

    def _one(self) -> None:
        rng, client = self.rng, self.client
        draw = rng.random()
        if draw < 0.4:
            client.ask(Out("jobs", self._fields()))
        elif draw < 0.45:
            client.ask(OutMany("jobs", (self._fields(), self._fields())))
        elif draw < 0.72:
            self._patience(client.ask(self._seek(TAKE)))
        elif draw < 0.82:
            client.ask(self._seek(TAKE_NOWAIT))
        elif draw < 0.87:
            client.ask(self._seek(rng.choice((READ_NOWAIT, READ))))
        elif draw < 0.89:
            client.ask(self._seek(TAKE_ALL))
        else:
            deed = client.ask(self._seek(TAKE, LEASE_US))
            self.world.clock.after(rng.randrange(3 * SECOND_US), self._settle, deed)

    def _fields(self) -> tuple[str, int, int]:
        self._numbers[0] += 1
        return ("job", self.rng.randrange(KINDS), self._numbers[0])

    def _seek(self, how: Way, lease_us: int = 0) -> Seek:
        template = Template.of(("job", self.rng.randrange(KINDS), int))
        return Seek("jobs", how, template, lease_us=lease_us)

    def _patience(self, deed: Deed) -> None:
        """A take may be given up: soon, in the moment of its answer, or when its time is up."""
        rng, clock = self.rng, self.world.clock
        draw = rng.random()
        if draw < 0.35:
            clock.after(rng.randrange(60_000), self.client.give_up, deed)
        elif draw < 0.55:
            clock.after(rng.randrange(3 * SECOND_US), self.client.give_up, deed)
        elif draw < 0.75:
            clock.after(rng.randrange(3 * SECOND_US), self.client.time_up, deed)

    def _settle(self, deed: Deed) -> None:
        if deed.state == OPEN:
            self.client.give_up(deed)
        elif deed.state == DONE and self.client.alive and self.rng.random() < 0.8:
            for one in found(deed):
                self.client.ask(Settle("jobs", one.lease, self.rng.random() < 0.7))


def _faults(rng: Random) -> list[Fault]:
    """Crashes: most of them between the disk and the answer."""
    found: list[Fault] = []
    for _ in range(rng.randrange(1, 4)):
        at = START_US + int(rng.uniform(0.5, HEAL_S - 4) * SECOND_US)
        down_us = rng.randrange(SECOND_US // 5, 3 * SECOND_US)
        found.append(Crash(at, "ward", down_us, steps=int(rng.random() < 0.7)))
    return found


@workload(
    "sessions",
    "clients whose connections break, and a host that crashes between its disk and its answers",
    checkers=(taken_once, answers_fit, nobody_is_forgotten, sessions_come_to_rest),
    everywhere=(),
)
def build(seed: int) -> ClientWorld:
    """A world from its seed."""
    world = ClientWorld(seed, end_us=END_S * SECOND_US)
    populate(world, world.rng("script"))
    return world


def populate(world: ClientWorld, rng: Random) -> None:
    """Let programs come, and plan what goes wrong."""
    agents = [f"{name}@ward" for name in ("ann", "bob", "cy")[: rng.randrange(2, 4)]]
    numbers = [0]
    for agent in agents:
        at = START_US + int(rng.uniform(0, 0.5) * SECOND_US)
        world.clock.at(at, _come, world, agent, numbers)
    if rng.random() < 0.3:  # a program is killed, and another begins in its place
        at = START_US + int(rng.uniform(1, HEAL_S - 3) * SECOND_US)
        world.clock.at(at, _replace, world, rng.choice(agents), numbers, rng)
    for _ in range(rng.randrange(2, 9)):
        at = START_US + int(rng.uniform(0.2, HEAL_S - 1) * SECOND_US)
        world.clock.at(at, world.cut, rng)
    world.plan(_faults(rng), heal_at_us=START_US + HEAL_S * SECOND_US)


def _come(world: ClientWorld, agent: str, numbers: list[int]) -> None:
    Program(world, world.come(agent), numbers)


def _replace(world: ClientWorld, agent: str, numbers: list[int], rng: Random) -> None:
    for client in world.clients:
        if client.agent == agent and client.alive:
            client.die()
    world.clock.after(int(rng.uniform(0.1, 2) * SECOND_US), _come, world, agent, numbers)
