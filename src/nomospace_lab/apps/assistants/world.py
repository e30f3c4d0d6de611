"""Small worlds of personal assistants on real hosts: a few departments, one life, some trouble.

Big ones run on bare routing cores (`sim.routes`); `nomospace bench routing` has them.
"""

from __future__ import annotations

from random import Random
from typing import Final

from nomospace.law import load
from nomospace.terms import Compound
from nomospace_lab.apps.assistants.life import Assumptions, Life, Talk
from nomospace_lab.sim.checkers.mail import (
    NOTE,
    mail_arrives_once,
    mail_keeps_order,
    one_place,
    refused_stay,
    was_hard,
)
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import Adopt, Announced, Move, Tell
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.workloads import workload

LAW: Final = load(
    """\
law(assistants).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
R3. moved(From, To) :- do(deliver(Self, moved(From, To), Self)).
""",
    "assistants.law",
)
SMALL: Final = Assumptions(
    departments=2,
    sites=3,
    people=5,
    messages_a_move=12,
    across=0.25,
    peers=4,
    group=(2, 5),
    talk=6,
    stream=40,
)
MESSAGES: Final = 300
MESSAGES_MIN: Final = 200
MOVES_MIN: Final = 6

BEGIN_S: Final = 0.5
HEAL_S: Final = 30
END_S: Final = HEAL_S + 25


def _us(at_s: float) -> int:
    return START_US + int(at_s * SECOND_US)


class Office:
    """The assistants of a life on the hosts of a world."""

    def __init__(self, world: Sites, life: Life) -> None:
        self.world = world
        self.life = life
        self._deeds = life.deeds()
        self._notes = 0
        for agent, site in life.home.items():
            world.arrive(agent, site)
            world.call(agent, Adopt(LAW))

    def go_on(self) -> None:
        """The next message, and the moves before it. Who cannot act now does not."""
        for deed in self._deeds:
            if isinstance(deed, Talk):
                self.write(deed.sender, deed.to)
                return
            self.world.call(deed.agent, Move(deed.site))

    def write(self, sender: str, to: str) -> None:
        """One note with a number of its own."""
        self._notes += 1
        self.world.call(sender, Tell(LAW.hash, Compound(NOTE, (self._notes,)), to))


@workload(
    "assistants",
    "personal assistants that follow their people between departments, and talk",
    checkers=(
        was_hard(messages=MESSAGES_MIN, moves=MOVES_MIN, crashes=1),
        mail_arrives_once,
        mail_keeps_order,
        one_place,
        refused_stay,
    ),
    everywhere=(),
)
def build(seed: int) -> Sites:
    """Two departments, their people's days, one crash and one partition, and the healing."""
    life = Life(SMALL, Random(f"{seed}/life"))
    world = Sites(seed, laws=(LAW,), observe=False, servers=life.servers)
    rng = world.rng("trouble")
    for site, department in life.sites.items():
        world.site(site, policy=Announced(), domain=department)
    hosts = list(life.sites)
    for a in hosts:
        for b in hosts:
            if a < b:
                world.connect(a, b, Link(delay_max_us=30_000))
    office = Office(world, life)
    for _ in range(MESSAGES):
        world.at(_us(rng.uniform(BEGIN_S, HEAL_S)), office.go_on)
    side = tuple(sorted(rng.sample(hosts, 2)))
    crash = Crash(_us(rng.uniform(3, 12)), rng.choice(hosts), 3 * SECOND_US, rng.randrange(12))
    cut = Cut(_us(rng.uniform(3, 20)), side, 5 * SECOND_US)
    world.plan([crash, cut], heal_at_us=_us(HEAL_S))
    for agent, peers in life.peers.items():
        world.at(_us(HEAL_S + 14), office.write, agent, rng.choice(peers))
    world.end_us = _us(END_S)
    return world
