"""Worlds of routing with agents that are members twice under one law, and with agents that end.

An agent that is a member twice writes from both of its addresses and is written to at both, while
it moves and its hosts crash. What comes for one membership never comes to the other, and what
cannot arrive is told to the one that sent it. Agents that end do so in the middle of it all.
"""

from __future__ import annotations

from random import Random
from typing import Final

from nomospace.terms import Compound
from nomospace_lab.apps.routing.world import (
    BEGIN_S,
    CHECKERS,
    HEAL_S,
    LAW,
    RoutingPeople,
    routing_world,
)
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.checkers.mail import NOTE, NoteTimes
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.observed import ASKED
from nomospace_lab.sim.requests import Adopt, End, Tell, address_of, key_of
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.workloads import workload

TWICE: Final = 0.7
"""How many of the agents are members twice."""


class MemberPeople(RoutingPeople):
    """Agents with one membership or two, some of which end."""

    def __init__(self, world: Sites, rng: Random, homes: dict[str, str]) -> None:
        super().__init__(world, rng, homes)
        for number, (host, domain) in enumerate(homes.items()):
            mortal = f"z{number}@{domain}"
            self.agents.append(mortal)
            world.arrive(mortal, host)
            world.call(mortal, Adopt(LAW))
            at_s = rng.uniform(BEGIN_S, HEAL_S)
            world.at(START_US + int(at_s * SECOND_US), self._end, mortal)
        self.twice = [agent for agent in self.agents if rng.random() < TWICE]
        for agent in self.twice:
            world.call(agent, Adopt(LAW, (), 2))

    def write(self, sender: str, to: str) -> None:
        """One note, from one of the sender's memberships to one of the receiver's."""
        self._serial += 1
        note = Compound(NOTE, (self._serial,))
        key = key_of(LAW.hash, self._which(sender))
        self.world.call(sender, Tell(key, note, address_of(to, self._which(to))))

    def _end(self, mortal: str) -> None:
        if self.world.call(mortal, End()) is None:  # it is under way, or its host is down
            self.world.at(self.world.clock.now + SECOND_US, self._end, mortal)

    def _which(self, agent: str) -> int:
        return self.rng.choice((1, 2)) if agent in self.twice else 1


def both_are_used(world: Sites) -> Verdict:
    """Second memberships wrote and were written to, and agents ended."""
    name = "second memberships write and are written to, and agents end"
    notes = NoteTimes(world)
    counts = {
        "notes from a second membership": sum("~" in h.who for h in notes.sent.values()),
        "notes that a second membership got": sum(
            "~" in h.who for came in notes.arrived.values() for h in came
        ),
        "agents told to end": sum(isinstance(h.what.request, End) for h in world.history.of(ASKED)),
    }
    for what, count in counts.items():
        if not count:
            return no(name, f"there were no {what}")
    return yes(name, sum(counts.values()))


@workload(
    "members",
    "agents that are members twice, and agents that end, while all move and write to each other",
    checkers=(*CHECKERS, both_are_used),
    everywhere=(),
)
def build(seed: int) -> Sites:
    """A world of routing with other people."""
    return routing_world(seed, MemberPeople)
