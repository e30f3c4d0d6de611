"""Worlds in which hosts without a store end in the middle of work, and come back under their names.

Some hosts have a disk and some have none. Their agents write each other numbered notes, and leave
each other tuples, while hosts crash, the network loses, doubles and delays what they say, and
frames of hosts that are no more still arrive. Whoever comes back has forgotten all numbers, and all
that others had handed to it. When all is healed, everyone must be able to deal with everyone, and
nothing may be missing but what was in hosts that forgot.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Final

from nomospace.law import load
from nomospace.terms import Compound
from nomospace.terms.templates import Template
from nomospace_lab.sim.checkers.forgetful import (
    CENSUS,
    GIFT,
    gifts_of_the_living,
    mail_in_order,
    mail_of_the_living,
    was_forgetful,
)
from nomospace_lab.sim.checkers.mail import NOTE
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut, Fault, Storm
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import (
    BEFORE,
    ERAS_FROM,
    READ_ALL,
    Adopt,
    Announced,
    Open,
    Out,
    Seek,
    Share,
    Tell,
)
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.workloads import workload

LAW: Final = load(
    """\
law(notes).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
""",
    "notes.law",
)
BOX: Final = "box"
ANY_GIFT: Final = Template.of((GIFT, int))

NOTES: Final = 160
GIFTS: Final = 80
BIRTHS_MIN: Final = 2
"""How often a host is sure to come back in a world: less would try little."""

HEAL_S: Final = 20
REST_S: Final = HEAL_S + 22
"""Groups have come together, and the courier has tried again all that it paused with."""
COUNT_S: Final = REST_S + 12
END_S: Final = COUNT_S + 2


def _us(at_s: float) -> int:
    return START_US + int(at_s * SECOND_US)


class ForgetfulPeople:
    """One agent at each host, and what they give each other."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.agents = [f"p@{host}" for host in world.sites]
        self._serial = 0
        for agent in self.agents:
            self.come(agent)

    def come(self, agent: str) -> None:
        """An agent is there, new."""
        self.world.arrive(agent, agent.partition("@")[2])
        self.world.call(agent, Adopt(LAW))
        self.world.call(agent, Open(BOX))
        self.world.call(agent, Share((BOX,)))

    def begin_again(self, host: str, agents: Sequence[str]) -> None:
        """A host has started; if it has forgotten its agent, there is another of its name."""
        if not agents:
            self.come(f"p@{host}")

    def write(self, sender: str, to: str) -> None:
        """A note, if the sender can act now."""
        self._serial += 1
        self.world.call(sender, Tell(LAW.hash, Compound(NOTE, (self._serial,)), to))

    def give(self, giver: str, to: str) -> None:
        """A tuple, if the giver can act now."""
        self._serial += 1
        self.world.call(giver, Out(BOX, (GIFT, self._serial), to))

    def write_somebody(self) -> None:
        """One or several notes, from anybody to anybody."""
        sender, to = self.rng.sample(self.agents, 2)
        for _ in range(self.rng.choice((1, 1, 3))):
            self.write(sender, to)

    def give_somebody(self) -> None:
        """A tuple, from anybody to anybody."""
        self.give(*self.rng.sample(self.agents, 2))

    def deal(self, *, gifts: bool) -> None:
        """Everybody with everybody."""
        for sender in self.agents:
            for to in self.agents:
                if sender != to:
                    self.write(sender, to)
                    if gifts:
                        self.give(sender, to)

    def count(self) -> None:
        """Everybody tells what it has."""
        for agent in self.agents:
            self.world.call(agent, Seek(BOX, READ_ALL, ANY_GIFT, at=agent), round=CENSUS)


def _faults(rng: Random, hosts: list[str], forgetful: list[str]) -> list[Fault]:
    """Hosts that forget end again and again, others once; a partition, and bad weather."""
    found: list[Fault] = []
    for host in forgetful:
        for number in range(BIRTHS_MIN + rng.randrange(4)):
            sure = number < BIRTHS_MIN
            at_s = 4 + 6 * number + rng.uniform(0, 3) if sure else rng.uniform(3, HEAL_S)
            steps = rng.randrange(1, 30) if rng.random() < 0.6 else 0
            down_us = int(rng.choice((0.02, 0.3, rng.uniform(0.3, 5))) * SECOND_US)
            found.append(Crash(_us(at_s), host, down_us, steps))
    steps = rng.randrange(0, 30)
    down_us = int(rng.uniform(0.2, 5) * SECOND_US)
    found.append(Crash(_us(rng.uniform(3, HEAL_S)), rng.choice(hosts), down_us, steps))
    side = tuple(sorted(rng.sample(hosts, rng.randrange(1, len(hosts)))))
    for_us = int(rng.uniform(0.5, 5) * SECOND_US)
    found.append(Cut(_us(rng.uniform(3, HEAL_S - 6)), side, for_us))
    for _ in range(2):
        link = Link(
            delay_max_us=rng.choice((200_000, 1_500_000)),
            loss=rng.uniform(0, 0.3),
            repeats=rng.uniform(0, 0.3),
        )
        for_us = int(rng.uniform(2, 8) * SECOND_US)
        found.append(Storm(_us(rng.uniform(3, HEAL_S - 6)), link, for_us))
    return sorted(found, key=lambda fault: fault.at)


@workload(
    "forgetful",
    "hosts without a store that end and come back under their names",
    checkers=(
        was_forgetful(births=1),
        mail_of_the_living,
        mail_in_order,
        gifts_of_the_living,
    ),
    everywhere=(),
)
def build(seed: int) -> Sites:
    """Hosts in a row or all linked, some of which forget; a script of notes and gifts."""
    rng = Random(f"{seed}/hosts")
    hosts = [f"h{number}" for number in range(1, rng.randint(2, 4) + 1)]
    rng.shuffle(hosts)
    forgetful = hosts[: rng.randint(1, min(2, len(hosts) - 1))] if rng.random() < 0.8 else hosts
    world = Sites(seed, laws=(LAW,), observe=False)
    engaging = rng.random() < 0.75
    for host in hosts:
        world.site(
            host,
            policy=None if engaging else Announced(),
            birth=rng.choice((BEFORE, ERAS_FROM + START_US - rng.randrange(SECOND_US))),
            forgets=host in forgetful,
        )
    row = engaging and rng.random() < 0.3
    for at, a in enumerate(hosts):
        for b in hosts[at + 1 : at + 2] if row else hosts[at + 1 :]:
            world.connect(a, b)
    world.network.fair = world.network.usual = Link(loss=0.02, repeats=0.02)

    people = ForgetfulPeople(world, world.rng("people"))
    world.on_restart = people.begin_again
    for _ in range(NOTES):
        world.at(_us(rng.uniform(0.5, HEAL_S)), people.write_somebody)
    if engaging:
        for _ in range(GIFTS):
            world.at(_us(rng.uniform(1, HEAL_S)), people.give_somebody)
    world.plan(_faults(world.rng("faults"), hosts, forgetful), heal_at_us=_us(HEAL_S))
    world.at(_us(REST_S), partial(people.deal, gifts=engaging))
    world.at(_us(COUNT_S), people.count)
    world.end_us = _us(END_S)
    return world
