"""Worlds of a work queue: jobs are lent, renewed, given back for a while, and forgotten about.

Keepers write jobs and stay where they are. Workers take jobs under leases at any host and move
about with them; hosts crash and start again, links break. Then all is healed and left alone until
every lease has run out, and the jobs are counted before and after a power cut.
"""

from __future__ import annotations

from random import Random
from typing import Final

from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.census import count_world
from nomospace_lab.sim.checkers.leases import leases_hold
from nomospace_lab.sim.checkers.spaces import answered_once, none_is_lost, one_taker
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut, Fault
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import (
    TAKE,
    TAKE_NOWAIT,
    Answer,
    Cancel,
    Found,
    Open,
    Out,
    Seek,
    Settle,
    Share,
)
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.topology import shape
from nomospace_lab.sim.workloads import workload

HEAL_S: Final = 60
COUNT_S: Final = HEAL_S + 100
"""Every lease has run out by now, and so has every delay."""
JOBS: Final = 12
TAKES: Final = 30
KINDS: Final = 3
LEASE_S: Final = (12.0, 30.0)
RENEWED_S: Final = (12.0, 20.0)
DELAY_S: Final = (10.0, 20.0)
SPACE: Final = "jobs"


class QueueWorkers:
    """Those who take jobs, each in its way."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.names: list[str] = []
        self._serial = 0

    def settle(self, agent: str, host: str) -> None:
        """An agent comes and shares the space."""
        self.world.arrive(agent, host)
        self.world.call(agent, Open(SPACE))
        self.world.call(agent, Share((SPACE,)))

    def write(self, agent: str) -> None:
        """Write a job."""
        self._serial += 1
        fields = ("job", self.rng.randrange(KINDS), self._serial)
        self.world.call(agent, Out(SPACE, fields, priority=self.rng.choice((0, 0, 5))))

    def take(self, agent: str) -> None:
        """Take a job under a lease, and do something with it or not."""
        rng = self.rng
        lease_us = self._us(LEASE_S)
        template = Template.of(("job", rng.choice((ANY, rng.randrange(KINDS))), ANY))

        def got(answer: Answer) -> None:
            if isinstance(answer.value, Found):
                self._work(agent, answer.value.lease, lease_us)

        seek = Seek(SPACE, rng.choice((TAKE, TAKE, TAKE_NOWAIT)), template, lease_us=lease_us)
        self.world.call(agent, seek, got)

    def _work(self, agent: str, lease: str, lease_us: int) -> None:
        """Mostly in time; now and then too late, or never."""
        rng = self.rng
        draw, wait_us = rng.random(), int(rng.random() * 1.2 * lease_us)
        if draw < 0.25:
            self.world.clock.after(wait_us // 2, self._renew, agent, lease)
        elif draw < 0.55:
            word = Settle(SPACE, lease, False, 0, self._us(DELAY_S), "not now")
            self._later(wait_us, agent, word if draw < 0.45 else Settle(SPACE, lease, False))
        elif draw < 0.9:
            self._later(wait_us, agent, Settle(SPACE, lease, True))

    def _renew(self, agent: str, lease: str) -> None:
        renew_us = self._us(RENEWED_S)
        self.world.call(agent, Settle(SPACE, lease, False, renew_us))
        if self.rng.random() < 0.8:
            wait_us = int(self.rng.random() * 1.2 * renew_us)
            self._later(wait_us, agent, Settle(SPACE, lease, self.rng.random() < 0.7))

    def _later(self, wait_us: int, agent: str, word: Settle) -> None:
        self.world.clock.after(wait_us, self.world.call, agent, word)

    def _us(self, span_s: tuple[float, float]) -> int:
        return int(self.rng.uniform(*span_s) * SECOND_US)


def _us(at_s: float) -> int:
    return START_US + int(at_s * SECOND_US)


def _faults(rng: Random, hosts: list[str]) -> list[Fault]:
    """Every host crashes, so that leases are met; a partition."""
    found: list[Fault] = [
        Crash(
            _us(rng.uniform(6, HEAL_S - 6)),
            host,
            int(rng.uniform(0.3, 12) * SECOND_US),
            rng.randrange(1, 15) if rng.random() < 0.5 else 0,
        )
        for host in hosts
        for _ in range(rng.randint(1, 2))
    ]
    side = (rng.choice(hosts),)
    found.append(Cut(_us(rng.uniform(4, HEAL_S - 14)), side, int(rng.uniform(1, 12) * SECOND_US)))
    return sorted(found, key=lambda fault: fault.at)


@workload(
    "leases",
    "a work queue: leases, renewals and delays while hosts crash and workers move",
    checkers=(leases_hold, none_is_lost, one_taker, answered_once),
    everywhere=(),
)
def build(seed: int) -> Sites:
    """Hosts with a keeper each, workers that move, faults, and the healing."""
    world = Sites(seed, link=Link(loss=0.02, repeats=0.02))
    rng = world.rng("population")
    hosts = [f"h{number}" for number in range(1, rng.randint(2, 4) + 1)]
    for host in hosts:
        world.site(host, skew_us=rng.randint(-SECOND_US // 2, SECOND_US // 2))
    for a, b in shape("ring", hosts, rng):
        world.connect(a, b)
    workers = QueueWorkers(world, world.rng("workers"))
    keepers = [f"keeper@{host}" for host in hosts]
    movers = [f"worker{number}@road" for number in range(rng.randint(1, 3))]
    for keeper, host in zip(keepers, hosts, strict=True):
        workers.settle(keeper, host)
    for mover in movers:
        workers.settle(mover, rng.choice(hosts))
    for _ in range(JOBS):
        world.at(_us(rng.uniform(1, HEAL_S - 20)), workers.write, rng.choice(keepers))
    for _ in range(TAKES):
        agent = rng.choice((*keepers, *movers))
        world.at(_us(rng.uniform(2, HEAL_S)), workers.take, agent)
    for _ in range(rng.randint(2, 5)):
        mover, to = rng.choice(movers), rng.choice(hosts)
        world.at(_us(rng.uniform(3, HEAL_S)), _move, world, mover, to, rng.uniform(0.01, 3))
    world.at(_us(HEAL_S + 2), _stop_waiting, world)
    world.plan(_faults(world.rng("faults"), hosts), heal_at_us=_us(HEAL_S))
    spaces = dict.fromkeys((*keepers, *movers), (SPACE,))
    world.at(_us(COUNT_S), count_world, world, 1, spaces, 3)
    world.at(_us(COUNT_S + 1), world.power_cycle)
    world.at(_us(COUNT_S + 2), count_world, world, 2, spaces, 3)
    world.end_us = _us(COUNT_S + 5)
    return world


def _stop_waiting(world: Sites) -> None:
    """Nobody takes over what comes back from now on: all of it lies there in the end."""
    for op, agent in world.waiting().items():
        world.call(agent, Cancel(op))


def _move(world: Sites, agent: str, to: str, travel_s: float) -> None:
    if world.where[agent] != to:
        world.move(agent, to, travel_us=int(travel_s * SECOND_US))
