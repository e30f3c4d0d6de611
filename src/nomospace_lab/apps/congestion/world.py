"""Worlds of congestion control: hasty clients, and a space that sets their pace.

The space is shared by all hosts, and the operator of any of them lets it say what a client's delay
is. Nobody moves: a delay is measured by one host's clock.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

from nomospace import laws
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, Term, same, show, t
from nomospace.terms.templates import ANY, Template
from nomospace_lab.apps.governed import CALM_S, CHANGES_MIN, CRASHES_MIN, GOVERNED, GovernedWorld
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.checkers.facts import facts_of
from nomospace_lab.sim.checkers.ruled import AT, forwards
from nomospace_lab.sim.checkers.views import was_hard
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import DELIVERED, RESTARTED, RULED, Happening
from nomospace_lab.sim.observed import THAWED
from nomospace_lab.sim.requests import (
    READ_NOWAIT,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    WEAK,
    Cancel,
    Out,
    React,
    Request,
    Seek,
    Tell,
)
from nomospace_lab.sim.workloads import workload

SPACE: Final = "jobs"
HOSTS: Final = ("server", "site1", "site2")
CLIENTS: Final = ("ali@site1", "bo@site1", "chi@site2", "di@server")
CHEAT: Final = "zed@site2"
DEFAULT_US: Final = SECOND_US
HEAL_S: Final = 40
END_S: Final = HEAL_S + CALM_S + 30
SWIFT_S: Final = 0.25
"""The delay of everybody after the healing: what waits has left before the end."""


@cache
def law_cc() -> CompiledLaw:
    """Law CC as it is shipped."""
    return load(laws.text("cc"), "cc.law")


class CongestionClients:
    """Those who ask as fast as they can, and one who would set the pace itself."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self._jobs = 0

    def burst(self, client: str, count: int) -> None:
        """Ask without waiting: write jobs, and get some."""
        rng = self.rng
        for _ in range(count):
            self._jobs += 1
            self.world.call(client, Out(SPACE, ("job", self._jobs)))
        template = Template.of(("job", ANY))
        how = rng.choice((TAKE, TAKE_NOWAIT, READ_NOWAIT))
        at = "" if how == TAKE else rng.choice(("", *HOSTS))
        self.world.call(client, Seek(SPACE, how, template, at))
        if rng.random() < 0.3:
            self.world.call(client, React(SPACE, template, strength=WEAK))
        waiting = [op for op, asker in self.world.waiting().items() if asker == client]
        if waiting and rng.random() < 0.2:
            self.world.call(client, Cancel(rng.choice(waiting)))

    def cheat(self, law: CompiledLaw) -> None:
        """Try to set delays, one's own and others', in every way."""
        self._jobs += 1
        about = (t.changeDelay(0), self._jobs)
        tried: list[Request] = [
            Tell(law.hash, t.changeDelay(0), to) for to in (CHEAT, CLIENTS[0], SPACE)
        ]
        tried += [
            Out(SPACE, about),
            Seek(SPACE, TAKE_ALL, Template.of((t.changeDelay(ANY), ANY))),
            Seek(SPACE, READ_NOWAIT, Template.of(("changeDelay", ANY))),
            React(SPACE, Template.of((t.changeDelay(ANY), ANY))),
            Tell(law.hash, t.out((t.changeDelay(0),)), SPACE),
        ]
        for request in tried:
            self.world.call(CHEAT, request)


class _Pace:
    """One client as the policy sees it: a plain queue in front of the space."""

    def __init__(self) -> None:
        self.delay_us = DEFAULT_US
        self.changed: Happening | None = None
        self.waiting: list[tuple[Happening, Term]] = []
        self.last: Happening | None = None


def the_pace_is_kept(world: Sites) -> Verdict:
    """(1, 3) Requests leave in order, never sooner than the delay allows, and never later.

    A host that was down, or was held up by a change of the group, goes on at once after it.
    """
    name = "requests leave in order, at the pace the space has set"
    clients: dict[str, _Pace] = {}
    back = {(h.who, h.at) for h in world.history.of(RESTARTED, THAWED)}
    cases = 0
    for h in world.history.of(RULED):
        if AT in h.who:
            continue
        pace = clients.setdefault(h.who, _Pace())
        event = h.what.event
        if event.kind == "arrived" and event.args[0] == SPACE and _sets_delay(event.args[1]):
            pace.delay_us, pace.changed = round(event.args[1].args[0] * SECOND_US), h
        if event.kind == "sent" and event.args[2] == SPACE and not h.what.refused:
            pace.waiting.append((h, event.args[1]))
        for request, to in forwards(h.what):
            if to != SPACE:
                continue
            cases += 1
            if not pace.waiting or not same(pace.waiting[0][1], request):
                return no(name, f"{show(request)} left out of turn", h)
            asked, _ = pace.waiting.pop(0)
            earliest = asked.what.at
            if pace.last is not None:
                if h.what.at < pace.last.what.at + pace.delay_us:
                    early_us = pace.last.what.at + pace.delay_us - h.what.at
                    return no(name, f"{h.who} sent {early_us} µs too early", pace.last, h)
                earliest = max(earliest, pace.last.what.at + pace.delay_us)
            if pace.changed is not None:
                # A shorter delay lets go what waits, but not before it is known.
                earliest = max(earliest, pace.changed.what.at)
            if h.what.at > earliest and (world.where[h.who], h.at) not in back:
                return no(name, f"{h.who} sent {h.what.at - earliest} µs too late", asked, h)
            pace.last = h
    if world.quiet:
        for pace in clients.values():
            if pace.waiting:
                return no(name, f"{len(pace.waiting)} requests never left", pace.waiting[0][0])
    return yes(name, cases)


def _sets_delay(message: Term) -> bool:
    return type(message) is Compound and message.name == "changeDelay"


def delays_are_the_spaces(world: Sites) -> Verdict:
    """(2) Only the space sets a delay; clients neither see it nor send it."""
    name = "delays are set by the space and not shown"
    cases = 0
    for h in world.history.of(RULED, DELIVERED):
        if h.kind == DELIVERED:
            if _sets_delay(h.what.message):
                return no(name, f"{h.who} was shown a delay", h)
            continue
        event = h.what.event
        changed = [op for op in h.what.operations if "delay(" in show(op)]
        if changed and AT not in h.who:
            cases += 1
            if event.kind != "arrived" or event.args[0] != SPACE:
                return no(name, f"{h.who}'s delay changed", h)
        sends = event.kind == "sent" and AT not in h.who and h.what.forwards
        if sends and "changeDelay" in show(event.args[1]):
            return no(name, f"{h.who} sent something about delays", h)
    return yes(name, cases)


def held_back_is_answered(world: Sites) -> Verdict:
    """What a client's controller held back for a while is answered when it has left."""
    name = "what is held back is answered later"
    cases = 0
    for op in facts_of(world).ops.values():
        held = isinstance(op.request, Out | Seek) and op.request.space == SPACE
        if held and op.told and op.done and op.end - op.began >= SWIFT_S * SECOND_US:
            cases += 1
        if isinstance(op.request, Out) and op.ended is None and op.crashed is None:
            return no(name, "it was never answered", *op.proof)
    return yes(name, cases)


@workload(
    "congestion",
    "a space that sets its clients' pace under law CC",
    checkers=(
        was_hard(calls=100, changes=CHANGES_MIN, crashes=CRASHES_MIN),
        the_pace_is_kept,
        delays_are_the_spaces,
        held_back_is_answered,
    ),
    everywhere=GOVERNED,
)
def build(seed: int) -> Sites:
    """A space on three hosts, its hasty clients, a cheat and faults."""
    law = law_cc()
    community = GovernedWorld(seed, law, SPACE)
    world, rng = community.world, community.rng
    community.hosts(*HOSTS)
    community.join(*CLIENTS, CHEAT)
    clients = CongestionClients(world, world.rng("clients"))
    for client in CLIENTS:
        for _ in range(5):
            community.act(rng.uniform(2, HEAL_S), clients.burst, client, rng.randrange(1, 8))
        for _ in range(4):
            delay = t.changeDelay(rng.choice((0, 0.25, 0.5, 2, 5)))
            at_s, host = rng.uniform(2, HEAL_S), rng.choice(HOSTS)
            community.act(at_s, world.speak, host, SPACE, law, delay, client)
    for _ in range(3):
        community.act(rng.uniform(2, HEAL_S), clients.cheat, law)
        community.act(rng.uniform(2, HEAL_S), clients.burst, CHEAT, 4)
    for client in (*CLIENTS, CHEAT):
        swift = t.changeDelay(SWIFT_S)
        community.act(HEAL_S + CALM_S, world.speak, HOSTS[0], SPACE, law, swift, client)
        community.act(HEAL_S + CALM_S + 1, clients.burst, client, 3)
    community.trouble(heal_s=HEAL_S, end_s=END_S)
    return world
