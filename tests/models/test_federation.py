"""A federation of hosts against one global model of transient sharing (`002_…` 3.2).

The model knows no hosts that talk, only who is connected: a shared space is the union of what the
connected agents hold; parting is a projection by the agent that holds each tuple; a misplaced
tuple is with its destination as soon as both share its space and are connected. Between two steps
the world is left alone until it has settled.

A partitioned space differs in one thing: what is written while it is shared is held by the keeper
of the host that its key names, among the connected hosts where somebody has ever shared it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.requests import (
    READ,
    READ_ALL,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    Open,
    Out,
    OutMany,
    Seek,
    Share,
)
from nomospace.host.calls import Drain
from nomospace.host.effects import Answer
from nomospace.protocols.homes import Homes
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.network import Link

ALL = Template.of((ANY, ANY, ANY))
PARTED = "shards"
SPACES = ("jobs", "news", PARTED)
STEPS = 45
MEET_S = 9.0
"""A lost contact is noticed and agreed on in less."""
ACT_S = 0.7


@dataclass
class Tuple:
    space: str
    fields: tuple[Any, ...]
    cur: str
    dest: str


@dataclass
class Waiter:
    agent: str
    space: str
    template: Template
    takes: bool
    answers: list[Answer] = field(default_factory=list)


class Model:
    """Mobile UNITY's shared variables, for agents on hosts with links."""

    def __init__(self) -> None:
        self.home: dict[str, str] = {}
        self.shared: dict[tuple[str, str], bool] = {}
        self.links: set[frozenset[str]] = set()
        self.tuples: list[Tuple] = []
        self.weights: dict[str, float] = {}
        """Of the hosts that keep a share of the partitioned space."""

    def keep(self, host: str) -> None:
        """A host has a share of the partitioned space from now on."""
        keeper = f"@{host}"
        self.weights.setdefault(host, 1.0)
        self.home[keeper], self.shared[keeper, PARTED] = host, True

    def place(self, one: Tuple) -> None:
        """Let a tuple of the partitioned space be where its key says."""
        here = self.home[one.cur]
        kept = {h: w for h, w in self.weights.items() if f"@{h}" in self.home}
        weights = {h: w for h, w in kept.items() if self.connected(here, h)}
        one.cur = one.dest = "@" + Homes(weights).home(one.fields[1])

    def connected(self, a: str, b: str) -> bool:
        reach, queue = {a}, [a]
        while queue:
            here = queue.pop()
            for link in self.links:
                if here in link:
                    new = link - reach
                    reach |= new
                    queue.extend(new)
        return b in reach

    def visible(self, agent: str, space: str, *, host: str | None = None) -> list[Tuple]:
        """What an agent sees through its space, in the whole group or at one host."""
        mine = self.shared[agent, space]
        home = self.home[agent]
        return [
            one
            for one in self.tuples
            if one.space == space
            and (
                one.cur == agent
                if not mine
                else self.shared.get((one.cur, space), False)
                and self.connected(home, self.home[one.cur])
            )
            and host in (None, self.home[one.cur])
        ]

    def settle(self) -> None:
        """Misplaced tuples migrate."""
        for agent, host in list(self.home.items()):
            if self.shared.get((agent, PARTED), False):
                self.keep(host)
        for one in self.tuples:
            if one.space == PARTED:
                if self.shared[one.cur, PARTED]:
                    self.place(one)
            elif (
                one.cur != one.dest
                and self.shared.get((one.cur, one.space), False)
                and self.shared.get((one.dest, one.space), False)
                and self.connected(self.home[one.cur], self.home[one.dest])
            ):
                one.cur = one.dest


class Pair:
    """The world and its model, side by side."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.world = Sites(seed, link=Link(delay_max_us=20_000), observe=False)
        self.model = Model()
        self.hosts = [f"h{n}" for n in range(self.rng.randint(2, 4))]
        self.waiters: list[Waiter] = []
        self.serial = 0
        for host in self.hosts:
            self.world.site(host, skew_us=self.rng.randint(-300_000, 300_000))
        for number in range(self.rng.randint(len(self.hosts), 5)):
            agent, host = f"a{number}@road", self.hosts[number % len(self.hosts)]
            self.world.arrive(agent, host)
            self.model.home[agent] = host
            for space in SPACES:
                self.world.call(agent, Open(space, partition="1" * (space == PARTED)))
                self.model.shared[agent, space] = False
            if self.rng.random() < 0.7:
                self.world.call(agent, Share((PARTED,)))
                self.model.shared[agent, PARTED] = True
        self.agents = list(self.model.home)
        self.deeds = (
            (8, self.out),
            (6, self.out_for),
            (3, self.take_one),
            (2, self.take_everything),
            (4, self.wait),
            (4, self.share),
            (3, self.move),
            (7, self.relink),
            (1, self.restart),
            (1, self.drain),
        )

    def step(self) -> None:
        [(_, deed)] = self.rng.choices(self.deeds, [weight for weight, _ in self.deeds])
        agent, space = self.rng.choice(self.agents), self.rng.choice((*SPACES, PARTED))
        settle_s = deed(agent, space)
        self.model.settle()
        self.world.pass_s(settle_s)
        self.serve()
        self.compare(deed.__name__)

    # -- deeds: each is done to both, and says how long the world may take ------------------

    def fields(self) -> tuple[Any, ...]:
        self.serial += 1
        return (self.rng.choice("ab"), self.rng.randrange(2), self.serial)

    def template(self) -> Template:
        kind, number = self.rng.choice("ab"), self.rng.randrange(2)
        return Template.of(
            self.rng.choice(((kind, ANY, ANY), (kind, number, ANY), (str, number, int)))
        )

    def out(self, agent: str, space: str) -> float:
        rows = tuple([self.fields() for _ in range(self.rng.randint(1, 3))])
        self.world.call(agent, OutMany(space, rows) if len(rows) > 1 else Out(space, rows[0]))
        self.model.tuples += [Tuple(space, row, agent, agent) for row in rows]
        return ACT_S

    def out_for(self, agent: str, space: str) -> float:
        to, fields = self.rng.choice(self.agents), self.fields()
        if space == PARTED:
            answer = self.world.ask(agent, Out(space, fields, to=to))
            assert answer.error is not None
            assert answer.error.code == "space.at-home-elsewhere"
            return 0
        self.world.call(agent, Out(space, fields, to=to))
        self.model.tuples.append(Tuple(space, fields, agent, to))
        return ACT_S

    def take_one(self, agent: str, space: str) -> float:
        template = self.template()
        host = self.rng.choice(self.hosts)
        if space == PARTED and self.model.shared[agent, space] and is_keyed(template):
            found = self.world.ask(agent, Seek(space, TAKE_NOWAIT, template)).value
            there = self.matching(agent, space, template, None)
            assert (found is None) == (not there), (found, there)
            self.took(found, there)
            return 0
        found = self.world.ask(agent, Seek(space, TAKE_NOWAIT, template, at=host)).value
        there = self.matching(agent, space, template, host)
        if not self.model.shared[agent, space] and host != self.model.home[agent]:
            there = []
        assert (found is None) == (not there), (found, there)
        self.took(found, there)
        return 0

    def take_everything(self, agent: str, space: str) -> float:
        template = self.template()
        found = self.world.ask(agent, Seek(space, TAKE_ALL, template)).value
        by_key = space == PARTED and self.model.shared[agent, space] and is_keyed(template)
        there = self.matching(agent, space, template, None if by_key else self.model.home[agent])
        assert sorted(f.fields for f in found) == sorted(one.fields for one in there)
        for one in found:
            self.took(one, there)
        return 0

    def wait(self, agent: str, space: str) -> float:
        if self.model.shared[agent, space]:
            takes, template = self.rng.random() < 0.7, self.template()
            waiter = Waiter(agent, space, template, takes)
            self.waiters.append(waiter)
            seek = Seek(space, TAKE if takes else READ, template)
            self.world.call(agent, seek, waiter.answers.append)
        return ACT_S

    def share(self, agent: str, space: str) -> float:
        shared = self.rng.random() < 0.75
        names = SPACES if self.rng.random() < 0.3 else (space,)
        self.world.call(agent, Share(names, shared=shared))
        for name in names:
            self.model.shared[agent, name] = shared
        return ACT_S

    def move(self, agent: str, _: str) -> float:
        host = self.rng.choice(self.hosts)
        if host == self.model.home[agent]:
            return 0
        assert self.world.move(agent, host)
        self.model.home[agent] = host
        return ACT_S

    def relink(self, _: str, __: str) -> float:
        a, b = self.rng.sample(self.hosts, 2)
        link = frozenset((a, b))
        if link in self.model.links:
            self.world.part(a, b)
            self.model.links.remove(link)
        else:
            self.world.connect(a, b)
            self.model.links.add(link)
        return MEET_S

    def restart(self, _: str, __: str) -> float:
        host = self.rng.choice(self.hosts)
        self.waiters = [w for w in self.waiters if self.model.home[w.agent] != host]
        self.world.crash(Crash(0, host, 500_000))
        return MEET_S

    def drain(self, _: str, __: str) -> float:
        host = self.rng.choice(self.hosts)
        drained = self.model.weights.get(host, 1.0) > 0
        self.world.tell(host, Drain(drained))
        self.model.weights[host] = 0.0 if drained else 1.0
        return ACT_S

    # -- comparing -------------------------------------------------------------------------

    def matching(self, agent: str, space: str, template: Template, host: str | None) -> list[Tuple]:
        there = self.model.visible(agent, space, host=host)
        return [one for one in there if template.matches(one.fields)]

    def took(self, found: Found | None, there: list[Tuple]) -> None:
        if found is not None:
            [one] = [one for one in there if one.fields == found.fields]
            assert one.cur == found.source
            self.model.tuples.remove(one)

    def serve(self) -> None:
        """Waiters got what they could see, each tuple one taker; the others see no match."""
        served = [w for w in self.waiters if w.answers]
        self.waiters = [w for w in self.waiters if not w.answers]
        taken: list[Tuple] = []
        for waiter in served:
            [answer] = waiter.answers
            if answer.error is not None:
                assert answer.error.code in ("host.agent-left", "space.private"), answer.error
                continue
            there = self.model.visible(waiter.agent, waiter.space)
            [one] = [one for one in there if one.fields == answer.value.fields]
            assert waiter.template.matches(one.fields)
            if waiter.takes:
                assert one not in taken
                taken.append(one)
        for one in taken:
            self.model.tuples.remove(one)
        for waiter in self.waiters:
            for one in self.model.visible(waiter.agent, waiter.space):
                assert not waiter.template.matches(one.fields), f"{waiter} waits for {one}"

    def compare(self, after: str) -> None:
        for agent in self.agents:
            for space in SPACES:
                for host in self.hosts:
                    found = self.world.ask(agent, Seek(space, READ_ALL, ALL, at=host)).value
                    there = self.model.visible(agent, space, host=host)
                    says = f"{agent} at {self.model.home[agent]} looks at {space} of {host}"
                    shown = sorted((f.fields, f.source) for f in found)
                    want = sorted((one.fields, one.cur) for one in there)
                    assert shown == want, f"{says} after {after}"


def is_keyed(template: Template) -> bool:
    return any(place == 1 for place, _ in template.equal)


@pytest.mark.parametrize("seed", range(24))
def test_hosts_share_as_the_model_does(seed: int) -> None:
    pair = Pair(seed)
    for _ in range(STEPS):
        pair.step()
    assert pair.serial > 10
