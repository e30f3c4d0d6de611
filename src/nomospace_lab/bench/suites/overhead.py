"""`nomospace bench overhead`: what a law costs a message, by where its controllers are.

`000_…` section 5. A message from x to y becomes three, x to its controller, that to y's, and that
to y, with two evaluations of the law (equation 1); its overhead is set against a message that goes
straight (equation 2). The placements are the paper's: controllers with their agents (equation 3),
on other machines than their agents (4), and one controller for both (5), each in clear and signed.

Beside each measurement stands the model: equation 1 with its parts, each measured on the same
machine in the same run by something that has no other part in it. `001_…` 5.4 is computed from
them, too. All is on the loopback, where communication costs little and the law's share looks
large; what the same overhead would be over the paper's network of 50 ms is said in each row.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeVar

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.measure import stopwatch
from nomospace_lab.bench.processes import ChildProcess, PartFailed, ended, host_flags, host_process
from nomospace_lab.bench.report import information
from nomospace_lab.bench.suites.overhead_parts import ECHO, LAW, PEER, PROBE, answer, config_of

PER_US: Final = 1e3
WAN_US: Final = 50_000.0
"""`000_…` 5: a message between two networks."""
FAR_US, NEAR_US = 100_000.0, 1_000.0
"""`001_…` 5.4: the same, and one within a network."""
MEET_S: Final = 60.0
PARTS: Final = "nomospace_lab.bench.suites.overhead_parts"
PADDING: Final = b"x" * 120
"""About the size of a governed message on its way."""

T = TypeVar("T")


class Costs(NamedTuple):
    """The parts of equation 1, in microseconds, in clear or signed."""

    evaluate: float
    call: float
    link: float
    straight: float
    seal: float


class ControllerPlacement(NamedTuple):
    """Where controllers are: its equation, and what it adds up to."""

    what: str
    equation: str
    model: Callable[[Costs], float]
    legs: int
    """How many more ways over the network there are than straight, where agents are far away."""


LOCAL: Final = ControllerPlacement(
    "controllers with their agents", "equation 3", lambda c: 2 * c.evaluate + c.link + c.seal, 0
)
REMOTE: Final = ControllerPlacement(
    "controllers elsewhere", "equation 4", lambda c: 2 * (c.evaluate + c.call) + c.link + c.seal, 2
)
SHARED: Final = ControllerPlacement(
    "one controller elsewhere for both", "equation 5", lambda c: 2 * (c.evaluate + c.call), 0
)


@bench("overhead", "what a law costs a message: controllers local, remote, shared; clear, signed")
def overhead(run: BenchRun) -> Iterator[BenchRow]:
    """The parts and the placements, in clear and signed; measured, and modelled."""
    count = 200 if run.quick else 2_000
    run.say("the parts")
    ruling = _run(_evaluated(count))
    with ended(ChildProcess("echo", PARTS, ECHO)) as part:
        tcp = _run(_straight(part.hear()["at"], count))
    sign, check = _seal(run)
    yield from _parts(
        {
            "one evaluation of a law, carried out by its controller (t_eval)": ruling,
            "a message between two processes over bare TCP, the floor in clear": tcp,
            "signing one message": sign,
            "checking one signature": check,
        }
    )
    call = 0.0
    with TemporaryDirectory(prefix="nomospace-bench-") as folder:
        authority = _trust(Path(folder) / "trust")
        for words, trust, seal in (("clear", None, 0.0), ("signed", authority, sign + check)):
            run.say(f"{LOCAL.what}, {words}")
            local, link = _run(_local(trust, count))
            run.say(f"{REMOTE.what}, {words}")
            remote = _run(_remote(trust, count))
            run.say(f"{SHARED.what}, {words}")
            shared, call = _run(_shared(trust, count))
            how = "in clear" if trust is None else "over TLS"
            yield from _parts(
                {
                    f"a word from host to host, {how} (t_com of controllers)": link,
                    f"a word from an agent to a host elsewhere, {how} (t_com of agents)": call,
                }
            )
            costs = Costs(ruling, call, link, tcp + seal, seal)
            for placement, took in ((LOCAL, local), (REMOTE, remote), (SHARED, shared)):
                yield _row(placement, costs, took, words)
    yield from _mediated(ruling, call)


def _row(placement: ControllerPlacement, costs: Costs, took: float, words: str) -> BenchRow:
    straight, model = costs.straight, placement.model(costs)
    return BenchRow(
        what=f"a message under a law, {placement.what}, {words} ({placement.equation})",
        unit="µs",
        ours=took,
        floor=straight,
        peers={"model": model},
        goal=information(),
        how=(
            f"the floor goes straight; relative overhead {took / straight - 1:.1f}, the model says "
            f"{model / straight - 1:.1f}; with 50 ms from network to network it would be "
            f"{(took - straight + placement.legs * WAN_US) / (WAN_US + straight):.3f}"
        ),
    )


def _parts(parts: Mapping[str, float]) -> Iterator[BenchRow]:
    for what, value in parts.items():
        yield BenchRow(what=what, unit="µs", ours=value, goal=information())


def _mediated(each: float, pipe: float) -> Iterator[BenchRow]:
    """`001_…` 5.4, from our costs of an evaluation and of a word to a host on the same machine."""
    for what, direct, governed in (
        (
            "over a WAN",
            2 * FAR_US + 2 * each,
            5 * each + 4 * NEAR_US + 2 * FAR_US,
        ),
        (
            "within a LAN",
            2 * NEAR_US + 2 * each,
            5 * each + 4 * pipe + 2 * NEAR_US,
        ),
    ):
        yield BenchRow(
            what=f"a notice from informer to subscriber through a mediator, {what} (5.4, model)",
            unit="ms",
            ours=governed / 1e3,
            floor=direct / 1e3,
            goal=information(),
            how="T_WAN 100 ms and T_LAN 1 ms as in the paper, evaluation and pipe as measured here",
        )


# -- the parts of a message ------------------------------------------------------------------


def _seal(run: BenchRun) -> tuple[float, float]:
    """To sign a message, and to check its signature."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    scope = {
        "sign": key.sign,
        "check": key.public_key().verify,
        "words": PADDING,
        "seal": key.sign(PADDING),
    }
    best = run.interleave(
        {
            "sign": stopwatch("sign(words)", scope),
            "check": stopwatch("check(seal, words)", scope),
        }
    )
    return best["sign"] / PER_US, best["check"] / PER_US


async def _evaluated(count: int) -> float:
    """Half of a message between two agents of one host in this process: it is ruled on twice."""
    import nomospace as ns
    from nomospace.law import load

    law = load(LAW)
    async with ns.Host("b") as host:
        x = await (await host.agent("x")).adopt(law)
        y = await (await host.agent(PEER)).adopt(law)
        return await _with_answers(x, y, f"{PEER}@b", count) / 2


async def _straight(at: str, count: int) -> float:
    """Half of a round trip to an echo."""
    host, _, port = at.rpartition(":")
    came: asyncio.Future[None] | None = None

    class Ends(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            if came is not None and not came.done():
                came.set_result(None)

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(Ends, host, int(port))

    async def trip() -> None:
        nonlocal came
        came = loop.create_future()
        transport.write(PADDING)
        await came

    took = await _half(trip, count)
    transport.close()
    return took


async def _half(trip: Callable[[], Coroutine[Any, Any, None]], count: int) -> float:
    """Half of the median of round trips, in microseconds."""
    for _ in range(count // 10):
        await trip()
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await trip()
        took.append(time.perf_counter() - began)
    return sorted(took)[count // 2] / 2 * 1e6


# -- messages under a law --------------------------------------------------------------------


async def _trips(x: Any, to: str, count: int) -> float:
    """Half of the round trips of messages from a member to one who answers."""
    from nomospace.terms import t

    message = t.ping("x" * 60)
    inbox = x.inbox()

    async def trip() -> None:
        await x.send(message, to=to)
        await inbox.__anext__()

    async with asyncio.timeout(MEET_S):
        await trip()  # the way is found, and a law that is refused shows here
    return await _half(trip, count)


async def _local(trust: Path | None, count: int) -> tuple[float, float]:
    """Each agent with its own controller in its own process; and a word between these."""
    from nomospace.law import load
    from nomospace.node.serve import Server

    with ended(ChildProcess("agent", PARTS, "agent", *host_flags(trust))) as part:
        at = await asyncio.to_thread(part.hear)
        flags = list(host_flags(trust, at["at"]))
        async with Server(config_of("a", flags), on_report=lambda _: None) as server:
            await server.host.wait_engaged("b", timeout=MEET_S)
            agent = await server.host.agent("x")
            took = await _trips(await agent.adopt(load(LAW)), f"{PEER}@b", count)
            probe = await agent.space(PROBE, shared=True)

            async def word() -> None:
                await probe.read_nowait("nothing", at="b")

            return took, await _half(word, count)


async def _remote(trust: Path | None, count: int) -> float:
    """Agents in one process; their controllers in two others."""
    from nomospace.law import load

    law = load(LAW)
    with ended(host_process("a", trust)) as one:
        at = await asyncio.to_thread(one.hear)
        with ended(host_process("b", trust, at["address"])) as two:
            beside = await asyncio.to_thread(two.hear)
            async with _member(at["url"], "x", "a", trust, law) as (x, agent):
                await agent.system.read("host", "b", "connected", timeout=MEET_S)
                async with _member(beside["url"], PEER, "b", trust, law) as (y, _):
                    return await _with_answers(x, y, f"{PEER}@b", count)


async def _shared(trust: Path | None, count: int) -> tuple[float, float]:
    """Agents in one process; one host has both their controllers. And a word to that host."""
    from nomospace.law import load

    law = load(LAW)
    with ended(host_process("b", trust)) as one:
        at = await asyncio.to_thread(one.hear)
        async with (
            _member(at["url"], "x", "b", trust, law) as (x, agent),
            _member(at["url"], PEER, "b", trust, law) as (y, _),
        ):
            took = await _with_answers(x, y, f"{PEER}@b", count)
            probe = await agent.space(PROBE)

            async def word() -> None:
                await probe.read_nowait("nothing")

            return took, await _half(word, count)


async def _with_answers(x: Any, y: Any, to: str, count: int) -> float:
    task = asyncio.create_task(answer(y))
    try:
        return await _trips(x, to, count)
    finally:
        task.cancel()


@asynccontextmanager
async def _member(
    url: str, name: str, host: str, trust: Path | None, law: Any
) -> AsyncIterator[tuple[Any, Any]]:
    """An agent that a client holds on a host elsewhere, under the law."""
    from nomospace.client.remote import connect

    identity = None if trust is None else trust / "agents" / f"{name}@{host}"
    async with connect(url, identity=identity) as far:
        agent = await far.agent(name)
        yield await agent.adopt(law), agent


def _trust(folder: Path) -> Path:
    """An authority, two hosts with controllers, and the agents of the bench."""
    commands = [["init", str(folder)]]
    for host in ("a", "b"):
        commands += [["issue", "host", host], ["issue", "controller", host]]
    commands += [["issue", "agent", agent] for agent in ("x@a", f"{PEER}@b", "x@b")]
    commands[1:] = [[*command, "--folder", str(folder)] for command in commands[1:]]
    for command in commands:
        said = subprocess.run(
            [sys.executable, "-m", "nomospace.cli", "trust", *command],
            capture_output=True,
            text=True,
            timeout=MEET_S,
            check=False,
        )
        if said.returncode != 0:
            raise PartFailed(part=f"trust {command[0]}", said=said.stderr[-2_000:])
    return folder


def _run(program: Coroutine[Any, Any, T]) -> T:
    import uvloop

    return uvloop.run(program)
