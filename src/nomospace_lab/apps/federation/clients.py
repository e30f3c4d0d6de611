"""Agents that try everything: each call is drawn when it is made, from what there is just then.

Fields are drawn from few values, so that templates collide and many agents want the same tuple;
only the last field, a number that is never used again, tells tuples apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from nomospace.terms.templates import ANY, Template, between
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import LOOK, Sites
from nomospace_lab.sim.firings import Inside
from nomospace_lab.sim.requests import (
    ONCE,
    ONCE_PER_TUPLE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    WEAK,
    Adjust,
    Answer,
    Cancel,
    Found,
    Open,
    Out,
    OutMany,
    React,
    Seek,
    Settle,
    Share,
    Way,
)

PARTED: Final = "shards"
"""This space is partitioned, by its tuples' numbers."""
SPACES: Final = ("jobs", "news", "mail", PARTED)
KINDS: Final = ("a", "b", "c")
ECHO: Final = "echo"
NUMBERS: Final = 4
WIDTH: Final = 3
LEASE_S: Final = (1.0, 12.0)
TTL_S: Final = (3.0, 40.0)


class FederationClients:
    """All agents of a world and what they do next."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.spaces: dict[str, Sequence[str]] = {}
        self._serial = 0
        self._reactions: dict[str, list[str]] = {}
        self._deeds: list[tuple[int, Callable[[str, str], None]]] = [
            (22, self.write),
            (12, self.write_for_somebody),
            (3, self.write_for_a_while),
            (3, self.write_several),
            (14, self.take),
            (6, self.read),
            (12, self.probe),
            (5, self.sweep),
            (7, self.lease),
            (5, self.react),
            (3, self.react_strongly),
            (2, self.adjust),
            (3, self.share),
            (2, self.cancel),
            (1, self.look),
        ]
        self._weights = [weight for weight, _ in self._deeds]

    # -- setting up ------------------------------------------------------------------------

    def settle(self, agent: str, host: str) -> None:
        """A new agent comes, opens some spaces and shares most of them."""
        rng = self.rng
        self.world.arrive(agent, host)
        names = self.spaces[agent] = rng.sample(SPACES, rng.randint(1, len(SPACES)))
        for name in names:
            self.world.call(agent, Open(name, partition="1" if name == PARTED else ""))
        shared = tuple([name for name in names if rng.random() < 0.85])
        if shared:
            self.world.call(agent, Share(shared))

    def act(self) -> None:
        """Some agent that can does something."""
        ready = [agent for agent in self.world.agents() if agent in self.spaces]
        if not ready:
            return
        agent = self.rng.choice(ready)
        space = self.rng.choice(self.spaces[agent])
        [(_, deed)] = self.rng.choices(self._deeds, self._weights)
        deed(agent, space)

    # -- values ----------------------------------------------------------------------------

    def fields(self, kind: str = "") -> tuple[Any, ...]:
        """Fields of a tuple that was never written before."""
        self._serial += 1
        return (kind or self.rng.choice(KINDS), self.rng.randrange(NUMBERS), self._serial)

    def template(self) -> Template:
        """A template that many tuples match, and several templates with it."""
        rng = self.rng
        kind, number = rng.choice(KINDS), rng.randrange(NUMBERS)
        patterns: tuple[tuple[Any, ...], ...] = (
            (kind, ANY, ANY),
            (kind, number, ANY),
            (kind, number, int),
            (str, number, ANY),
            (kind, between(0, number), ANY),
            (ANY, ANY, ANY),
        )
        [chosen] = rng.choices(patterns, (4, 6, 2, 2, 2, 1))
        return Template.of(chosen)

    def _place(self, agent: str) -> str:
        """Mostly anywhere; else a host or an agent, this one's or another's."""
        rng, world = self.rng, self.world
        if rng.random() < 0.6:
            return ""
        return rng.choice(
            (agent, world.where[agent] or "", rng.choice(list(world.sites)), self._somebody())
        )

    def _somebody(self) -> str:
        return self.rng.choice(list(self.spaces))

    def _seek(self, agent: str, space: str, how: Way, lease_us: int = 0) -> Seek:
        dest = self._somebody() if self.rng.random() < 0.1 and space != PARTED else ""
        return Seek(space, how, self.template(), self._place(agent), dest, lease_us)

    # -- deeds -----------------------------------------------------------------------------

    def write(self, agent: str, space: str) -> None:
        """Write a tuple."""
        self.world.call(agent, Out(space, self.fields()))

    def write_for_somebody(self, agent: str, space: str) -> None:
        """Write a tuple for an agent that may be here, there or out of reach."""
        to = self._somebody()  # in a partitioned space there is no such thing
        self.world.call(agent, Out(space, self.fields(), to="" if space == PARTED else to))

    def write_for_a_while(self, agent: str, space: str) -> None:
        """Write a tuple that expires."""
        ttl_us = int(self.rng.uniform(*TTL_S) * SECOND_US)
        self.world.call(agent, Out(space, self.fields(), ttl_us=ttl_us))

    def write_several(self, agent: str, space: str) -> None:
        """Write several tuples in one step."""
        rows = tuple([self.fields() for _ in range(self.rng.randint(2, 4))])
        self.world.call(agent, OutMany(space, rows))

    def take(self, agent: str, space: str) -> None:
        """Wait for a tuple and take it."""
        self.world.call(agent, self._seek(agent, space, TAKE))

    def read(self, agent: str, space: str) -> None:
        """Wait for a tuple and read it."""
        self.world.call(agent, self._seek(agent, space, READ))

    def probe(self, agent: str, space: str) -> None:
        """Take or read what is there now."""
        how = self.rng.choice((TAKE_NOWAIT, TAKE_NOWAIT, READ_NOWAIT))
        self.world.call(agent, self._seek(agent, space, how))

    def sweep(self, agent: str, space: str) -> None:
        """Take or read all that is there now."""
        how = self.rng.choice((TAKE_ALL, READ_ALL, READ_ALL))
        self.world.call(agent, self._seek(agent, space, how))

    def lease(self, agent: str, space: str) -> None:
        """Take a tuple under a lease; settle it, give it back, or let the lease lapse."""
        rng = self.rng
        lease_us = int(rng.uniform(*LEASE_S) * SECOND_US)
        how = rng.choice((TAKE, TAKE, TAKE_NOWAIT))

        def got(answer: Answer) -> None:
            if isinstance(answer.value, Found) and rng.random() < 0.85:
                done = rng.random() < 0.75
                request = Settle(space, answer.value.lease, done)
                wait_us = int(rng.random() * 1.2 * lease_us)
                self.world.clock.after(wait_us, self.world.call, agent, request)

        self.world.call(agent, self._seek(agent, space, how, lease_us), got)

    def react(self, agent: str, space: str) -> None:
        """Register a weak reaction."""
        mode = ONCE if self.rng.random() < 0.25 else ONCE_PER_TUPLE
        at = self._place(agent)
        self._register(agent, React(space, self.template(), mode, WEAK, at))

    def react_strongly(self, agent: str, space: str) -> None:
        """Register a strong reaction that does nothing, writes something, or takes the tuple."""
        rng = self.rng
        template = Template.of((rng.choice(KINDS), rng.randrange(NUMBERS), ANY))
        mode = ONCE if rng.random() < 0.25 else ONCE_PER_TUPLE
        act = rng.choice((None, self._echo, _grab))
        at = rng.choice((self.world.where[agent] or agent, agent))

        def listener(inside: Inside) -> None:
            if act is not None:
                act(space, inside)

        self._register(agent, React(space, template, mode, STRONG, at, listener=listener))

    def _echo(self, space: str, inside: Inside) -> None:
        inside.out(space, self.fields(ECHO))

    def _register(self, agent: str, request: React) -> None:
        def registered(answer: Answer) -> None:
            if answer.error is None:
                self._reactions.setdefault(agent, []).append(answer.value)

        self.world.call(agent, request, registered)

    def adjust(self, agent: str, _space: str) -> None:
        """Disable, enable or remove a reaction."""
        known = self._reactions.get(agent)
        if known:
            what = self.rng.choice(("disable", "enable", "enable", "remove"))
            self.world.call(agent, Adjust(self.rng.choice(known), what))

    def share(self, agent: str, space: str) -> None:
        """Share or part a space."""
        self.world.call(agent, Share((space,), shared=self.rng.random() < 0.65))

    def cancel(self, _agent: str, _space: str) -> None:
        """Call a waiting operation off."""
        waiting = self.world.waiting()
        if waiting:
            op = self.rng.choice(list(waiting))
            self.world.call(waiting[op], Cancel(op))

    def look(self, agent: str, _space: str) -> None:
        """Look who is there."""
        self.world.call(agent, LOOK)


def _grab(space: str, inside: Inside) -> None:
    inside.take_nowait(space, Template.of(inside.tuple.fields))
