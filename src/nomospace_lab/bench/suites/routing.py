"""`nomospace bench routing`: how many network messages mail takes, and what finding a way costs.

Personal assistants (`apps.assistants.life`) run on bare routing cores (`sim.routes`), the same plan
on each algorithm. An application message that stays at its site takes no network message, and does
not count. The handover of an agent is the same in all algorithms and is not counted either.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.measure import stopwatch
from nomospace_lab.bench.plots import lines
from nomospace_lab.bench.report import at_most, information, times_floor

if TYPE_CHECKING:
    from nomospace_lab.apps.assistants.life import Assumptions
    from nomospace_lab.sim.routes import Routes

PER_US = 1e3
MESSAGES_A_MOVE = (3, 10, 30, 100, 300, 1_000)
BESIDE = {"routing cores": (10, 100_000), "engaged hosts": (10, 10_000)}
FLAT = 1.25


@bench("routing", "network messages a message by algorithm; a good guess; a move; a million agents")
def routing(run: BenchRun) -> Iterator[BenchRow]:
    """Shares and means first, then speed, then what does not grow, and the big world last."""
    run.say("personal assistants")
    yield from _assistants(run)
    run.say("Central, QSC and FQSC")
    yield from _compared(run)
    run.say("a good guess")
    yield _good_guess(run)
    run.say("a move beside other agents")
    yield from _move(run)
    run.say("servers when domains are added")
    yield _servers(run)
    run.say("very many agents")
    yield from _million(run)


def _messages(run: BenchRun) -> int:
    return 10_000 if run.quick else 200_000


def _settled(algorithm: str, given: Assumptions, messages: int) -> Routes:
    """Assistants that have lived for so many messages; then all counts begin, for as many again."""
    from nomospace_lab.apps.assistants.life import Life
    from nomospace_lab.sim.algorithms import ALGORITHMS
    from nomospace_lab.sim.routes import Routes

    life = Life(given, Random(1))
    routes = Routes(ALGORITHMS[algorithm], life.sites, life.servers)
    for agent, site in life.home.items():
        routes.create(agent, site)
    deeds = life.deeds()
    live(routes, deeds, messages)
    routes.forget()
    live(routes, deeds, messages)
    return routes


def live(routes: Routes, deeds: Iterator[Any], messages: int) -> None:
    """Let assistants go on until so many messages were sent."""
    from nomospace_lab.apps.assistants.life import Talk

    send, sent = routes.send, 0
    for deed in deeds:
        if type(deed) is Talk:
            send(deed.sender, deed.to)
            sent += 1
            if sent >= messages:
                return
        else:
            routes.move(deed.agent, deed.site)


# -- messages --------------------------------------------------------------------------------


def _assistants(run: BenchRun) -> Iterator[BenchRow]:
    from nomospace_lab.apps.assistants.life import Assumptions
    from nomospace_lab.sim.routes import mean_hops, share_direct

    given, messages = Assumptions(), _messages(run)
    hops = _settled("fqsc", given, messages).hops
    how = (
        f"{given.messages_a_move:g} messages a move, {given.across:.0%} of moves across domains, "
        f"{given.peers} peers; talks of {given.talk} messages, {given.streams:.0%} in streams of "
        f"{given.stream}; {messages:,} messages counted after as many"
    )
    yield BenchRow(
        what="assistants' messages that take more than one network message under FQSC",
        unit="%",
        ours=100 * (1 - share_direct(hops)),
        goal=at_most(5, "%"),
        how=how,
    )
    yield BenchRow(
        what="network messages an assistant's message takes in the mean under FQSC",
        unit="messages",
        ours=mean_hops(hops),
        goal=at_most(1.1, "messages"),
        how="hops: " + ", ".join(f"{count}: {hops[count]:,}" for count in sorted(hops)),
    )
    single = _settled("fqsc", Assumptions(talk=1, streams=0), messages).hops
    yield BenchRow(
        what="the same if every message goes to another peer, chosen by chance",
        unit="messages",
        ours=mean_hops(single),
        goal=information(),
        how=f"{share_direct(single):.1%} take one: a peer is written to too rarely to be known",
    )


def _compared(run: BenchRun) -> Iterator[BenchRow]:
    from nomospace_lab.apps.assistants.life import Assumptions

    messages = _messages(run) // 4
    table: dict[str, list[float]] = {"central": [], "qsc": [], "fqsc": []}
    for ratio in MESSAGES_A_MOVE:
        for name, line in table.items():
            routes = _settled(name, Assumptions(messages_a_move=ratio), messages)
            line.append(routes.frames / messages)
        yield BenchRow(
            what=f"all network messages of routing a message, at {ratio:,} messages a move",
            unit="messages",
            ours=table["fqsc"][-1],
            peers={name: line[-1] for name, line in table.items() if name != "fqsc"},
            goal=information(),
            how="updates and the registering of moves are counted, and messages within a site",
        )
    if run.plot is not None:
        run.plot.mkdir(parents=True, exist_ok=True)
        file = run.plot / "routing.svg"
        title = "Network messages for each application message"
        plot = lines(title, "messages a move", "network messages", MESSAGES_A_MOVE, table)
        file.write_text(plot, encoding="utf-8")
        run.notes.append(f"the plot of Central, QSC and FQSC is in {file}")


# -- speed -----------------------------------------------------------------------------------


def _good_guess(run: BenchRun) -> BenchRow:
    from nomospace_lab.sim.algorithms import FQSC
    from nomospace_lab.sim.routes import Routes

    routes = Routes(FQSC, dict.fromkeys(("q", "s1", "s2"), "lab"), {"lab": ("q",)})
    routes.create("ann@lab", "s1")
    routes.create("bob@lab", "s2")
    routes.send("ann@lab", "bob@lab")
    scope = {"send": routes.daemons["s1"].send, "ann": "ann@lab", "bob": "bob@lab"}
    best = run.interleave({"ours": stopwatch("send(ann, bob, None, now=0)", scope, calls=1)})
    return BenchRow(
        what="a message routed at a daemon with a good guess",
        unit="µs",
        ours=best["ours"] / PER_US,
        goal=at_most(10, "µs"),
        how="its number given and written down, the frame ready to go",
    )


def _move(run: BenchRun) -> Iterator[BenchRow]:
    for what, make in (("routing cores", _crossing), ("engaged hosts", _handover)):
        few, many = BESIDE[what]
        if run.quick:
            many //= 10
        best = run.interleave(
            {
                "few": stopwatch("go()", {"go": make(few)}, calls=1),
                "many": stopwatch("go()", {"go": make(many)}, calls=1),
            }
        )
        yield BenchRow(
            what=f"a move there and back between {what} with {many:,} other agents each",
            unit="µs",
            ours=best["many"] / PER_US,
            floor=best["few"] / PER_US,
            goal=times_floor(1.5),
            how=f"the floor: with {few} other agents",
        )


def _crossing(others: int) -> Any:
    """One agent that goes to the other domain and back, on bare cores."""
    from nomospace_lab.sim.algorithms import FQSC
    from nomospace_lab.sim.routes import Routes

    routes = Routes(FQSC, {"a": "lab", "b": "ward"}, {"lab": ("a",), "ward": ("b",)})
    for number in range(others):
        routes.create(f"x{number}@lab", "a")
        routes.create(f"x{number}@ward", "b")
    routes.create("ann@lab", "a")

    def go() -> None:
        routes.move("ann@lab", "b")
        routes.move("ann@lab", "a")

    return go


def _handover(others: int) -> Any:
    """The same between two engaged hosts, where every agent shares a space and waits for a job."""
    from nomospace_lab.bench.pair import Pair

    pair = Pair()
    for name in pair.hosts:
        for number in range(others):
            pair.settle(f"x{number}@{name}", f"jobs of x{number}")
    pair.settle("ann@a", "jobs of ann")
    pair.engage()

    def go() -> None:
        pair.move("ann@a", "a", "b")
        pair.move("ann@a", "b", "a")

    return go


# -- what does not grow ----------------------------------------------------------------------


def _servers(run: BenchRun) -> BenchRow:
    from nomospace_lab.apps.assistants.life import Assumptions

    busiest: dict[int, float] = {}
    for departments in (10, 100):
        given = Assumptions(departments=departments, people=40, sites=6)
        each = _messages(run) * 3 // 100
        routes = _settled("fqsc", given, each * departments)
        busiest[departments] = max(routes.loads.values()) / each
    return BenchRow(
        what="load on the busiest query server with 100 domains",
        unit="frames a message",
        ours=busiest[100],
        floor=busiest[10],
        goal=times_floor(FLAT),
        how="frames heard for each message of its domain; the floor: with 10 domains, alike",
    )


def _million(run: BenchRun) -> Iterator[BenchRow]:
    from nomospace_lab.apps.assistants.life import Assumptions, Life
    from nomospace_lab.sim.algorithms import FQSC
    from nomospace_lab.sim.routes import Routes, mean_hops

    part = 1 if run.full else 1_000 if run.quick else 10
    departments = max(2, 1_000 // part)
    messages = 10_000_000 // part
    began = perf_counter()
    life = Life(Assumptions(departments=departments, people=1_000, sites=4, peers=5), Random(1))
    routes = Routes(FQSC, life.sites, life.servers)
    for agent, site in life.home.items():
        routes.create(agent, site)
    born_s = perf_counter() - began
    routes.forget()
    live(routes, life.deeds(), messages)
    took_s = perf_counter() - began
    message_us = (took_s - born_s) / messages * 1e6
    agents, hops, loads = len(life.home), routes.hops, routes.loads
    each = messages / len(loads)
    yield BenchRow(
        what=f"{agents:,} agents in {departments:,} domains, {messages:,} messages: mean",
        unit="messages",
        ours=mean_hops(hops),
        goal=information(),
        how=(
            f"hops: {', '.join(f'{count}: {hops[count]:,}' for count in sorted(hops))}; "
            f"a server hears {sum(loads.values()) / messages:.3f} frames a message in the mean, "
            f"the busiest {max(loads.values()) / each:.3f}"
        ),
    )
    yield BenchRow(
        what="the same: time",
        unit="s",
        ours=took_s,
        goal=information(),
        how=f"{born_s:.1f} s until all were born, {message_us:.1f} µs a message",
    )
    yield BenchRow(
        what="the same: memory of the process at its largest",
        unit="GB",
        ours=_memory_gb(),
        goal=at_most(6, "GB"),
        how="as the operating system counts it, with all that this bench did before",
    )


def _memory_gb() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e9 if sys.platform == "darwin" else 1e6)
