"""Worlds of congestion control: hasty clients, and a space that sets their pace."""

from __future__ import annotations

from functools import cache
from typing import Final

from nomospace import laws
from nomospace.apps.tuplespace import ANY, TupleSpace, operation
from nomospace.control import Ruling
from nomospace.law import CompiledLaw, load
from nomospace.sim.checkers import Verdict, no, yes
from nomospace.sim.checkers.quiet import was_hard
from nomospace.sim.clock import SECOND_US
from nomospace.sim.history import DELIVERED, RESTARTED, RULED, Happening
from nomospace.sim.network import Link
from nomospace.sim.workloads import workload
from nomospace.sim.world import Agent, World
from nomospace.terms import Compound, Term, same, show, t

SPACE: Final = "jobs@server"
CLIENTS: Final = ("ali@site1", "bo@site1", "chi@site2", "di@site2")
CHEAT: Final = "zed@site2"
DEFAULT_US: Final = SECOND_US
HEAL_S: Final = 1200


class Worker(Agent):
    """Sends requests in bursts, as fast as it can."""

    def burst(self, count: int, first: int) -> None:
        """Send requests without waiting."""
        for number in range(first, first + count):
            self.me.send(t.out((t.job(self.me.id, number),)), SPACE)
        self.me.send(t.inp((ANY,)), SPACE)

    def cheat(self) -> None:
        """Try to set delays, one's own and others', in every way."""
        for whom in (self.me.id, CLIENTS[0]):
            self.me.send(t.changeDelay(0), whom)
        self.me.send(t.changeDelay(0), SPACE)
        for how in ("out", "in", "rd", "inp", "rdg"):
            self.me.send(Compound(how, ((t.changeDelay(0),),)), SPACE)
        self.me.send(t.out(("hello",)), (SPACE, CLIENTS[0]))


class Server(TupleSpace):
    """A space that changes its clients' delays."""

    def set_delay(self, client: str, delay_s: float) -> None:
        """Tell a client's controller how long to wait between requests."""
        self.me.send(t.changeDelay(delay_s), client)


@cache
def law_cc() -> CompiledLaw:
    """Law CC as it is shipped."""
    return load(laws.text("cc"), "cc.law")


class _Pace:
    """One client as the policy sees it: a plain queue in front of the space."""

    def __init__(self) -> None:
        self.delay_us = DEFAULT_US
        self.changed: Happening | None = None
        self.waiting: list[tuple[Happening, Term]] = []
        self.last: Happening | None = None


def _forwards(ruling: Ruling) -> list[Term]:
    """The requests that a ruling lets go to the space."""
    return [
        op.args[1]
        for op in ruling.operations
        if op.__class__ is Compound and op.name == "forward" and op.args[2] == SPACE
    ]


def the_pace_is_kept(world: World) -> Verdict:
    """(1, 3) Requests leave in order, never sooner than the delay allows, and never later."""
    name = "requests leave in order, at the pace the space has set"
    clients: dict[str, _Pace] = {}
    restarts = {(h.who, h.at) for h in world.history.of(RESTARTED)}
    cases = 0
    for h in world.history.of(RULED):
        if h.who == SPACE:
            continue
        pace = clients.setdefault(h.who, _Pace())
        event = h.what.event
        if event.kind == "arrived" and event.args[0] == SPACE and _sets_delay(event.args[1]):
            pace.delay_us, pace.changed = round(event.args[1].args[0] * SECOND_US), h
        if event.kind == "sent" and not h.what.refused:
            pace.waiting.append((h, event.args[1]))
        for request in _forwards(h.what):
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
            came_back = (world.where[h.who].name, h.at) in restarts
            if h.what.at > earliest and not came_back:
                return no(name, f"{h.who} sent {h.what.at - earliest} µs too late", asked, h)
            pace.last = h
    if world.quiet:
        for pace in clients.values():
            if pace.waiting:
                return no(name, f"{len(pace.waiting)} requests never left", pace.waiting[0][0])
    return yes(name, cases)


def _sets_delay(message: Term) -> bool:
    return message.__class__ is Compound and message.name == "changeDelay"


def delays_are_the_spaces(world: World) -> Verdict:
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
        if changed:
            cases += 1
            if event.kind != "arrived" or event.args[0] != SPACE:
                return no(name, f"{h.who}'s delay changed", h)
        if event.kind == "sent" and h.who != SPACE and h.what.forwards:
            asked = operation(event.args[1])
            if _sets_delay(event.args[1]) or (asked and t.changeDelay(0) in asked[1]):
                return no(name, f"{h.who} sent something about delays", h)
    return yes(name, cases)


@workload(
    "congestion",
    "a space that sets its clients' pace under law CC",
    checkers=(was_hard(messages=50), the_pace_is_kept, delays_are_the_spaces),
)
def build(seed: int) -> World:
    """A space, its hasty clients, a cheat and faults."""
    world = World(seed, link=Link(loss=0.02, repeats=0.02))
    rng = world.rng("population")
    for name in ("server", "site1", "site2"):
        world.host(name, skew_us=rng.randint(-SECOND_US, SECOND_US))
    world.join(SPACE, law_cc(), Server, manager=True)
    for client in (*CLIENTS, CHEAT):
        world.join(client, law_cc(), Worker)
    for client in CLIENTS:
        for number in range(6):
            count = rng.randrange(1, 9)
            when_s = rng.uniform(5, HEAL_S)
            world.act(when_s, client, Worker.burst, count, 10 * number)
        for _ in range(3):
            delay_s = rng.choice((0, 0.25, 0.5, 2, 5, 20))
            when_s = rng.uniform(5, HEAL_S)
            world.act(when_s, SPACE, Server.set_delay, client, delay_s)
    for _ in range(3):
        world.act(rng.uniform(5, HEAL_S), CHEAT, Worker.cheat)
        world.act(rng.uniform(5, HEAL_S), CHEAT, Worker.burst, 5, 900)
    world.trouble(from_s=30, heal_s=HEAL_S)
    return world
