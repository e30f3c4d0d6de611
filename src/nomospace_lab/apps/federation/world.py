"""Worlds in which hosts come, part, merge and crash while agents use every operation at random.

Then all is healed and left alone for a while; what everybody holds is counted, all hosts lose
their power at once, and it is counted again.

One of the spaces is partitioned. What it holds is counted by an auditor at each host, who shares it
from the healing on; a host may be drained for a while.
"""

from __future__ import annotations

from random import Random
from typing import Final

from nomospace_lab.apps.federation.clients import PARTED, WIDTH, FederationClients
from nomospace_lab.sim.census import count_shares, count_world
from nomospace_lab.sim.checkers.engaging import (
    hosts_stand_still,
    system_lists_everything,
    tuples_come_with_the_view,
)
from nomospace_lab.sim.checkers.progress import (
    misplaced_come_home,
    reactions_fire_once,
    waiters_are_served,
)
from nomospace_lab.sim.checkers.spaces import (
    answered_once,
    none_is_lost,
    one_taker,
    takes_are_linearizable,
    tuples_keep_their_names,
)
from nomospace_lab.sim.checkers.views import (
    comes_to_rest,
    system_shows_the_view,
    views_agree,
    was_hard,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut, Fault, Storm
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import DEAD, Drain, Open, Share
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.topology import SHAPES, shape
from nomospace_lab.sim.workloads import workload

CALLS: Final = 320
CALLS_MIN: Final = 300
CHANGES_MIN: Final = 10
CRASHES_MIN: Final = 2
HOSTS: Final = (2, 12)

HEAL_S: Final = 62
CALM_S: Final = HEAL_S + 12
"""From here to `REST_S` agents act in a world without faults."""
REST_S: Final = CALM_S + 5
COUNT_S: Final = REST_S + 25
"""Leases have lapsed by now, and what was under way has arrived."""
END_S: Final = COUNT_S + 3


def _us(at_s: float) -> int:
    return START_US + int(at_s * SECOND_US)


class Wander:
    """What happens to the topology: links made and broken, hosts cut off, groups joined."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.hosts = list(world.sites)

    def change(self) -> None:
        """One change; if it turns out to change nothing, another."""
        if self.world.healed_at is not None:
            return
        deeds = (
            self._toggle,
            self._toggle,
            self._isolate,
            self._merge,
            self._slow,
            self._leave,
        )
        if not self.rng.choice(deeds)():
            self._toggle()

    def _pair(self) -> tuple[str, str]:
        a, b = self.rng.sample(self.hosts, 2)
        return a, b

    def _toggle(self) -> bool:
        a, b = self._pair()
        if self.world.topology.linked(a, b):
            self.world.part(a, b)
        else:
            self.world.connect(a, b)
        return True

    def _isolate(self) -> bool:
        host = self.rng.choice(self.hosts)
        near = self.world.topology.neighbours(host)
        for other in near:
            self.world.part(host, other)
        return bool(near)

    def _merge(self) -> bool:
        a, b = self._pair()
        if b in self.world.topology.component(a):
            return False
        self.world.connect(a, b)
        return True

    def _slow(self) -> bool:
        a, b = self._pair()
        if self.world.topology.linked(a, b):
            return False
        slowest = self.rng.choice((400_000, 1_500_000))
        self.world.connect(a, b, Link(delay_min_us=50_000, delay_max_us=slowest, loss=0.05))
        return True

    def _leave(self) -> bool:
        """A host leaves its group by announcement, and comes again; its links stay."""
        host = self.rng.choice(self.hosts)
        self.world.disengage(host)
        away_us = int(self.rng.uniform(0.5, 10) * SECOND_US)
        self.world.clock.after(away_us, self.world.engage, host)
        return False

    def heal(self) -> None:
        """All links that were, and a ring on top of them; everybody would engage."""
        for host in self.hosts:
            self.world.engage(host)
        for a, b in shape("ring", self.hosts, self.rng):
            self.world.connect(a, b)


def _faults(rng: Random, hosts: list[str]) -> list[Fault]:
    """At least two crashes that find their host up, a partition, and bad weather."""
    found: list[Fault] = []
    window = (HEAL_S - 6) / CRASHES_MIN
    for number in range(CRASHES_MIN + rng.randrange(3)):
        sure = number < CRASHES_MIN
        at_s = 4 + number * window + rng.uniform(0, window / 3) if sure else rng.uniform(4, HEAL_S)
        steps = rng.randrange(1, 25) if rng.random() < 0.7 else 0
        down_us = int(rng.uniform(0.3, 9) * SECOND_US)
        found.append(Crash(_us(at_s), rng.choice(hosts), down_us, steps))
    for _ in range(1 + rng.randrange(2)):
        side = tuple(sorted(rng.sample(hosts, rng.randrange(1, len(hosts)))))
        found.append(
            Cut(_us(rng.uniform(4, HEAL_S - 8)), side, int(rng.uniform(1, 12) * SECOND_US))
        )
    link = Link(
        delay_max_us=rng.choice((200_000, 600_000, 1_500_000)),
        loss=rng.uniform(0.05, 0.3),
        repeats=rng.uniform(0, 0.2),
    )
    found.append(Storm(_us(rng.uniform(4, HEAL_S - 8)), link, int(rng.uniform(4, 15) * SECOND_US)))
    return sorted(found, key=lambda fault: fault.at)


@workload(
    "federation",
    "hosts that come, part and crash; agents that use every operation",
    checkers=(
        was_hard(calls=CALLS_MIN, changes=CHANGES_MIN, crashes=CRASHES_MIN),
        comes_to_rest,
        none_is_lost,
        one_taker,
        answered_once,
        tuples_keep_their_names,
        takes_are_linearizable,
        views_agree,
        system_shows_the_view,
        hosts_stand_still,
        tuples_come_with_the_view,
        system_lists_everything,
        misplaced_come_home,
        waiters_are_served,
        reactions_fire_once,
    ),
    everywhere=(),
)
def build(seed: int) -> Sites:
    """Hosts with their agents, a script of calls, moves and changes, faults, and the healing."""
    world = Sites(seed, link=Link(loss=0.02, repeats=0.02))
    rng = world.rng("population")
    hosts = [f"h{number:02}" for number in range(1, rng.randint(*HOSTS) + 1)]
    for host in hosts:
        world.site(host, skew_us=rng.randint(-SECOND_US // 2, SECOND_US // 2))
    for a, b in shape(rng.choice(SHAPES), hosts, rng):
        world.connect(a, b)

    clients = FederationClients(world, world.rng("clients"))
    world.glimpsed = clients.spaces
    for host in hosts:
        clients.settle(f"keeper@{host}", host)
    roamers = [f"roamer{number}@road" for number in range(rng.randint(1, len(hosts)))]
    for roamer in roamers:
        clients.settle(roamer, rng.choice(hosts))

    for _ in range(CALLS):
        world.at(_us(rng.uniform(1, HEAL_S)), clients.act)
    for _ in range(CALLS // 12):
        world.at(_us(rng.uniform(CALM_S, REST_S)), clients.act)
    for _ in range(rng.randint(3, 10)):
        mover, to = rng.choice(roamers), rng.choice(hosts)
        world.at(_us(rng.uniform(3, HEAL_S)), _move, world, mover, to, rng.uniform(0.01, 3))

    auditors = {f"auditor@{host}": host for host in hosts}
    for auditor, host in auditors.items():
        world.arrive(auditor, host)
        for at_s in (HEAL_S + 3, HEAL_S + 7):
            world.at(_us(at_s), _audit, world, auditor)
    if rng.random() < 0.5:
        world.at(_us(rng.uniform(3, HEAL_S)), world.tell, rng.choice(hosts), Drain())

    wander = Wander(world, world.rng("topology"))
    for _ in range(rng.randint(CHANGES_MIN, 20)):
        world.at(_us(rng.uniform(3, HEAL_S - 2)), wander.change)
    world.plan(_faults(world.rng("faults"), hosts), heal_at_us=_us(HEAL_S))
    world.at(_us(HEAL_S), wander.heal)

    world.at(_us(COUNT_S), count_world, world, 1, clients.spaces, WIDTH)
    world.at(_us(COUNT_S), count_shares, world, 1, auditors, PARTED, WIDTH)
    world.at(_us(COUNT_S + 1), world.power_cycle)
    world.at(_us(COUNT_S + 1.5), count_world, world, 2, clients.spaces, WIDTH)
    world.at(_us(COUNT_S + 1.5), count_shares, world, 2, auditors, PARTED, WIDTH)
    world.end_us = _us(END_S)
    return world


def _audit(world: Sites, auditor: str) -> None:
    for request in (Open(PARTED, partition="1"), Open(PARTED + DEAD)):
        world.call(auditor, request)
    world.call(auditor, Share((PARTED, PARTED + DEAD)))


def _move(world: Sites, agent: str, to: str, travel_s: float) -> None:
    if world.where[agent] != to:
        world.move(agent, to, travel_us=int(travel_s * SECOND_US))
