"""Rows of `bench host` about messages: governed beside ungoverned, and signed between two hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final

from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.report import at_most, times_floor
from nomospace_lab.bench.suites.host import IN_FLIGHT, PER_US, Bed

LAW: Final = """\
law(counted).
initialCS([told(0)]).
R1. sent(_, say(_), _) :- told(N)@CS, do(incr(told(N), 1)), do(forward).
R2. arrived(_, say(_), _) :- do(deliver).
"""
BATCH: Final = 2_000
ARRIVED_S: Final = 30.0


class Stream:
    """Messages of one agent to another, some under way at a time, and how long each takes."""

    def __init__(
        self, send: Callable[[int], Awaitable[Any]], receive: Callable[[], Awaitable[Any]]
    ) -> None:
        self._send = send
        self._receive = receive
        self._number = 0

    async def batch(self) -> float:
        """Nanoseconds between two arrivals, while so many are on their way."""

        async def some(count: int) -> None:
            for _ in range(count):
                self._number += 1
                await self._send(self._number)

        async def all_arrive() -> None:
            for _ in range(BATCH):
                await self._receive()

        began = perf_counter_ns()
        async with asyncio.timeout(ARRIVED_S):
            senders = [some(BATCH // IN_FLIGHT) for _ in range(IN_FLIGHT)]
            rest = some(BATCH - IN_FLIGHT * (BATCH // IN_FLIGHT))
            await asyncio.gather(*senders, rest, all_arrive())
        return (perf_counter_ns() - began) / BATCH

    def sample(self, bed: Bed) -> Sample:
        """Batches until the time is over; the best."""

        def sample(seconds: float) -> float:
            async def measure() -> float:
                best = float("inf")
                end = perf_counter_ns() + seconds * 1e9
                while perf_counter_ns() < end:
                    best = min(best, await self.batch())
                return best

            return float(bed.run(measure()))

        return sample


async def _members(one: Any, other: Any) -> tuple[Any, Any]:
    from nomospace.law import load

    law = load(LAW)
    return await one.adopt(law), await other.adopt(law)


def _governed(sender: Any, receiver: Any, to: str) -> Stream:
    from nomospace import t

    inbox = receiver.inbox()
    return Stream(lambda n: sender.send(t.say(n), to=to), inbox.__anext__)


def governed(run: BenchRun, bed: Bed) -> BenchRow:
    """Two agents of one host, each with a controller, beside two agents without a law."""
    host = bed.connect(bed.host("ward", "--store", "memory"))
    ann, bob = bed.run(host.agent("ann")), bed.run(host.agent("bob"))
    sender, receiver = bed.run(_members(ann, bob))
    plain = bed.run(_ungoverned(ann, bob))
    run.say("messages")
    best = run.interleave(
        {
            "governed": _governed(sender, receiver, "bob@ward").sample(bed),
            "plain": plain.sample(bed),
        }
    )
    return BenchRow(
        what="a governed message from agent to agent, through two controllers of one host",
        unit="µs",
        ours=best["governed"] / PER_US,
        floor=best["plain"] / PER_US,
        goal=times_floor(1.5) & at_most(1e6 / 12_000, "µs (12,000 a second)"),
        how=f"{IN_FLIGHT} in flight; floor: the same without a law, a tuple for the other agent",
    )


async def _ungoverned(ann: Any, bob: Any) -> Stream:
    mine = await ann.space("letters", shared=True, durable=False)
    theirs = await bob.space("letters", shared=True, durable=False)
    return Stream(
        lambda n: mine.out("say", n, to="bob@ward"),
        lambda: theirs.take("say", int, at="bob@ward"),
    )


def signed(run: BenchRun, bed: Bed) -> BenchRow:
    """Agents of two hosts over TLS, each letter under a seal."""
    from nomospace.client.remote import connect

    trust = trust_folder(bed.folder / "trust", hosts=("a", "b"), agents=("ann@a", "bob@b"))
    flags = ("--trust", str(trust), "--store", "memory")
    one, address = bed.trusted("a", *flags)
    other, _ = bed.trusted("b", *flags, "--join", address)

    async def begin() -> Any:
        ann = connect(one, identity=trust / "agents" / "ann@a")
        bob = connect(other, identity=trust / "agents" / "bob@b")
        agents = await ann.agent(), await bob.agent()
        await agents[0].system.read("host", "b", "connected", timeout=ARRIVED_S)
        return (ann, bob), await _members(*agents)

    hosts, (sender, receiver) = bed.run(begin())
    for host in hosts:
        bed.close_at_end(host)
    run.say("signed messages")
    best = run.interleave({"signed": _governed(sender, receiver, "bob@b").sample(bed)})
    return BenchRow(
        what="a signed message between agents of two hosts",
        unit="µs",
        ours=best["signed"] / PER_US,
        goal=at_most(1e6 / 6_000, "µs (6,000 a second)"),
        how=f"TLS, {IN_FLIGHT} in flight, one Ed25519 seal for what leaves in one turn",
    )


def trust_folder(folder: Path, *, hosts: tuple[str, ...], agents: tuple[str, ...]) -> Path:
    """A trust folder with certificates for hosts, their controllers and agents."""
    import subprocess
    import sys

    def trust(*arguments: str) -> None:
        command = [sys.executable, "-m", "nomospace.cli", "trust", *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    trust("init", str(folder))
    for host in hosts:
        trust("issue", "host", host, "--address", "127.0.0.1", "--folder", str(folder))
        trust("issue", "controller", host, "--folder", str(folder))
    for agent in agents:
        trust("issue", "agent", agent, "--folder", str(folder))
    return folder
