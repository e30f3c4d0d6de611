"""What worlds of governed spaces have in common: hosts, members of a law, faults, the healing.

Each world has one space under one law. Every host has agents that share it, so nearly every
operation goes over the network, and each host has a manager of the space of its own. While agents
act, hosts crash, links break and the weather turns; then all is healed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from nomospace.law import CompiledLaw
from nomospace.terms import Compound, Term
from nomospace_lab.sim.checkers import Checker
from nomospace_lab.sim.checkers.ruled import four_rulings, rulings_replay, writes_are_ruled
from nomospace_lab.sim.checkers.spaces import answered_once, one_taker
from nomospace_lab.sim.checkers.views import comes_to_rest
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Cut, Fault, Storm
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.requests import Adopt, Open, Share
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.topology import shape

CRASHES_MIN: Final = 2
CHANGES_MIN: Final = 4
CALM_S: Final = 12
"""So long after the healing all hosts are one group again."""

GOVERNED: Final[tuple[Checker, ...]] = (
    comes_to_rest,
    answered_once,
    one_taker,
    rulings_replay,
    four_rulings,
    writes_are_ruled,
)
"""What must hold in every world of a governed space, whatever its law."""


def us(at_s: float) -> int:
    """A moment of the world, from seconds after its beginning."""
    return START_US + int(at_s * SECOND_US)


class GovernedWorld:
    """A world with one governed space that agents of all hosts share."""

    def __init__(
        self, seed: int, law: CompiledLaw, space: str, *, laws: Sequence[CompiledLaw] = ()
    ) -> None:
        self.world = Sites(seed, link=Link(loss=0.02, repeats=0.02), laws=(law, *laws))
        self.law = law
        self.space = space
        self.rng = self.world.rng("population")

    def hosts(self, *names: str) -> None:
        """Hosts whose clocks are off by a little, in a ring."""
        for name in names:
            self.world.site(name, skew_us=self.rng.randint(-SECOND_US // 2, SECOND_US // 2))
        for a, b in shape("ring", names, self.rng):
            self.world.connect(a, b)

    def join(self, *agents: str, args: tuple[Term, ...] = ()) -> None:
        """Agents come to the hosts that they are named after, adopt the law and share the space."""
        for agent in agents:
            self.world.arrive(agent, agent.partition("@")[2])
            self.world.call(agent, Adopt(self.law, args))
            self.world.call(agent, Open(self.space, self.law))
            self.world.call(agent, Share((self.space,)))

    def act(self, at_s: float, deed: Callable[..., Any], *args: Any) -> None:
        """Arrange for something to be done."""
        self.world.at(us(at_s), deed, *args)

    def roam(self, agent: str, *, until_s: float, times: int) -> None:
        """Let an agent go from host to host."""
        for _ in range(times):
            to = self.rng.choice(list(self.world.sites))
            travel_us = int(self.rng.uniform(0.01, 2) * SECOND_US)
            self.act(self.rng.uniform(5, until_s), self._move, agent, to, travel_us)

    def _move(self, agent: str, to: str, travel_us: int) -> None:
        if self.world.where[agent] != to:
            self.world.move(agent, to, travel_us=travel_us)

    def trouble(self, *, heal_s: float, end_s: float) -> None:
        """Faults until the healing; then links as they were, and some time to come to rest."""
        world, rng = self.world, self.world.rng("faults")
        hosts = list(world.sites)
        links = [(a, b) for a in hosts for b in hosts if a < b and world.topology.linked(a, b)]
        for _ in range(rng.randint(CHANGES_MIN, CHANGES_MIN + 4)):
            a, b = rng.choice(links)
            at_s = rng.uniform(4, heal_s - 12)
            self.act(at_s, world.part, a, b)
            self.act(at_s + rng.uniform(1, 10), world.connect, a, b)
        world.plan(_faults(rng, hosts, heal_s), heal_at_us=us(heal_s))
        for a, b in links:
            self.act(heal_s, world.connect, a, b)
        world.end_us = us(end_s)


def _faults(rng: Random, hosts: list[str], heal_s: float) -> list[Fault]:
    """At least two crashes that find their host up, a partition, and bad weather."""
    found: list[Fault] = []
    window = (heal_s - 6) / CRASHES_MIN
    for number in range(CRASHES_MIN + rng.randrange(3)):
        sure = number < CRASHES_MIN
        at_s = 4 + number * window + rng.uniform(0, window / 3) if sure else rng.uniform(4, heal_s)
        steps = rng.randrange(1, 25) if rng.random() < 0.7 else 0
        down_us = int(rng.uniform(0.3, min(9, window / 3)) * SECOND_US)
        found.append(Crash(us(at_s), rng.choice(hosts), down_us, steps))
    for _ in range(1 + rng.randrange(2)):
        side = tuple(sorted(rng.sample(hosts, rng.randrange(1, len(hosts)))))
        at_us = us(rng.uniform(4, heal_s - 8))
        found.append(Cut(at_us, side, int(rng.uniform(1, 12) * SECOND_US)))
    link = Link(
        delay_max_us=rng.choice((200_000, 600_000, 1_500_000)),
        loss=rng.uniform(0.05, 0.3),
        repeats=rng.uniform(0, 0.2),
    )
    found.append(Storm(us(rng.uniform(4, heal_s - 8)), link, int(rng.uniform(4, 12) * SECOND_US)))
    return sorted(found, key=lambda fault: fault.at)


def field(shown: Term, name: str) -> Term:
    """The value of the field `name(V)` of a tuple; `None` when it has no such field.

    >>> from nomospace.terms import t
    >>> field((t.msg("hi"), t.to("bob@x")), "to")
    'bob@x'
    """
    for part in shown if type(shown) is tuple else ():
        if type(part) is Compound and part.name == name:
            return part.args[0]
    return None
