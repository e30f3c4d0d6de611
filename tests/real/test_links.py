"""Links that are cut, slow or flapping; a NATS server and a PostgreSQL that go away and come back.

Hosts are processes on addresses of their own, over TLS. Groups part and merge as in the simulated
worlds, and nothing that was acknowledged is lost or there twice.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from nomospace import t
from nomospace.client import Agent
from nomospace.client.connection import TimedOut
from nomospace.law import load
from nomospace.store.interface import StoreUnavailable
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.linked import Linked, linked
from tests.real.trust import Trust
from tests.servers import nats_server, postgres_server

WAIT_S = 60.0

# Servers are stopped and started in the test's own thread, which stands still meanwhile: the kernel
# ends them with the thread that has started them.


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    with linked(tmp_path_factory.mktemp("links")) as made:
        yield made


class Agents:
    """Agents of one test, each over a connection of its own."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def at(self, host: RealHost, name: str) -> Agent:
        """An agent of a host."""
        client = caller(host, self._trust, token=self._trust.token(f"{name}@{host.name}"))
        await self._stack.enter_async_context(client)
        return await client.agent()


def test_a_cut_parts_the_group_and_a_healed_link_merges_it(net: Linked) -> None:
    async def program() -> None:
        async with Agents(net.trust) as agents:
            ann = await agents.at(net.hosts["ward"], "ann")
            bob = await agents.at(net.hosts["icu"], "bob")
            cid = await agents.at(net.hosts["lab"], "cid")
            spaces = [await one.space("cut", shared=True) for one in (ann, bob, cid)]
            for host in ("icu", "lab"):
                await see(ann, host)
            net.cut("icu")
            await asyncio.gather(see(ann, "icu", "departed"), see(bob, "ward", "departed"))
            assert await ann.system.read_nowait("host", "lab", "connected") is not None
            await spaces[0].out("job", 1)
            await spaces[0].out("for bob", 1, to="bob@icu")
            await spaces[1].out("job", 2)
            assert await spaces[1].read_nowait("job", 1) is None
            assert await spaces[2].take("job", int, timeout=WAIT_S) == ("job", 1)  # lab is here
            net.heal("icu")
            assert await spaces[1].take("for bob", int, timeout=WAIT_S) == ("for bob", 1)
            assert await spaces[0].take("job", int, timeout=WAIT_S) == ("job", 2)
            for space in spaces:
                assert await space.read_nowait("job", int) is None

    play(program())


def test_slow_links_make_operations_slow_and_nothing_else(net: Linked) -> None:
    async def program() -> None:
        async with Agents(net.trust) as agents:
            ann = await agents.at(net.hosts["ward"], "ann")
            bob = await agents.at(net.hosts["icu"], "bob")
            mine, theirs = (
                await ann.space("slow", shared=True),
                await bob.space("slow", shared=True),
            )
            await see(ann, "icu")
            loop = asyncio.get_running_loop()
            net.slow(0.05)
            try:
                begun = loop.time()
                for number in range(5):
                    await mine.out("job", number)
                    assert await theirs.take("job", number, timeout=WAIT_S) == ("job", number)
                took = loop.time() - begun
                await asyncio.gather(*[mine.out("many", number) for number in range(100)])
                wanted = [theirs.take("many", number, timeout=WAIT_S) for number in range(100)]
                assert len(await asyncio.gather(*wanted)) == 100
            finally:
                net.slow(0)
            assert took > 5 * 0.05, "the links were not slow"
            for agent, host in ((ann, "icu"), (bob, "ward"), (ann, "lab")):
                assert await agent.system.read_nowait("host", host, "connected") is not None

    play(program())


def test_flapping_links_lose_and_double_nothing(net: Linked) -> None:
    async def program() -> None:
        async with Agents(net.trust) as agents:
            ann = await agents.at(net.hosts["ward"], "ann")
            bob = await agents.at(net.hosts["icu"], "bob")
            mine, theirs = (
                await ann.space("flap", shared=True),
                await bob.space("flap", shared=True),
            )
            written: list[int] = []
            taken: list[int] = []
            over = asyncio.Event()

            async def write() -> None:
                while not over.is_set():
                    await mine.out("job", len(written))
                    written.append(len(written))
                    await asyncio.sleep(0.02)

            async def take() -> None:
                while not over.is_set():
                    try:
                        found = await theirs.take("job", int, timeout=0.5)
                    except TimedOut:
                        continue
                    taken.append(found[1])

            async def flap() -> None:
                rng = random.Random(5)
                ends = asyncio.get_running_loop().time() + 5
                while asyncio.get_running_loop().time() < ends:
                    host = rng.choice(("ward", "icu", "lab"))
                    what = rng.choice((net.cut, net.reset))
                    await asyncio.to_thread(what, host)
                    await asyncio.sleep(rng.uniform(0.05, 1.3))  # some are longer than a loss
                    await asyncio.to_thread(net.heal)
                    await asyncio.sleep(rng.uniform(0.0, 0.3))
                over.set()

            await asyncio.gather(write(), take(), flap())
            await see(bob, "ward")
            while len(taken) < len(written):
                taken.append((await theirs.take("job", int, timeout=WAIT_S))[1])
            assert sorted(taken) == written
            assert await theirs.read_nowait("job", int) is None
            assert await mine.read_nowait("job", int) is None

    play(program())


TALK = load("law(talk). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver).")


def test_a_nats_server_that_restarts(tmp_path: Path) -> None:
    """Sealed envelopes over a server that is killed twice: letters and tuples come, once each."""

    async def program(server: Any, ward: RealHost, icu: RealHost, trust: Trust) -> None:
        async with Agents(trust) as agents:
            ann, bob = await agents.at(ward, "ann"), await agents.at(icu, "bob")
            mine, theirs = (
                await ann.space("nats", shared=True),
                await bob.space("nats", shared=True),
            )
            here, there = await ann.adopt(TALK), await bob.adopt(TALK)
            await see(ann, "icu")
            sent = 0
            for away_s in (0.1, 0.7):
                for _ in range(20):
                    await mine.out("job", sent)
                    await here.send(t.say(sent), to="bob@icu")
                    sent += 1
                server.stop(signal.SIGKILL)
                for _ in range(10):
                    await mine.out("job", sent)
                    await here.send(t.say(sent), to="bob@icu")
                    sent += 1
                await asyncio.sleep(away_s)
                server.start()
            heard = []
            async with asyncio.timeout(WAIT_S):
                async for letter in there.inbox():
                    heard.append(letter.message)
                    if len(heard) == sent:
                        break
            assert heard == [t.say(number) for number in range(sent)]
            for number in range(sent):
                assert await theirs.take("job", number, timeout=WAIT_S) == ("job", number)
            assert await theirs.read_nowait("job", int) is None
            assert there.receive_nowait() is None

    trust = Trust(tmp_path / "trust")
    with nats_server() as server:
        given = ("--trust", str(trust.folder), "--transport", server.url)
        hosts = []
        for name in ("ward", "icu"):
            trust.member(name)
            hosts.append(RealHost(name, tmp_path, *given, "--store", str(tmp_path / name)))
        start(*hosts)
        try:
            play(program(server, hosts[0], hosts[1], trust))
        finally:
            end(*hosts)


def test_a_postgresql_that_goes_away_and_returns(tmp_path: Path) -> None:
    """While it is away calls are refused in words, or wait; then the host goes on by itself."""

    async def program(server: Any, host: RealHost) -> tuple[list[int], list[int], list[int]]:
        acknowledged: list[int] = []
        refused: list[int] = []
        taken: list[int] = []
        over = asyncio.Event()

        async def write(space: Any, first: int) -> None:
            number = first
            while not over.is_set():
                try:
                    await space.out("job", number)
                    acknowledged.append(number)
                except StoreUnavailable:
                    refused.append(number)
                    await asyncio.sleep(0.02)
                number += 4
                await asyncio.sleep(0.002)

        async def take(space: Any) -> None:
            while not over.is_set():
                try:
                    taken.append((await space.take("job", int, timeout=0.3))[1])
                except TimedOut:
                    await asyncio.sleep(0.02)
                except StoreUnavailable:
                    refused.append(-1)  # writers may all be waiting for their last answer
                    await asyncio.sleep(0.02)
                await asyncio.sleep(0.01)

        async def ask(space: Any) -> None:
            try:
                await space.read_nowait("nothing")
            except StoreUnavailable:
                refused.append(-1)

        async with caller(host, None) as client:
            agent = await client.agent("nurse")
            space = await agent.space("jobs", shared=True)
            work = [asyncio.create_task(write(space, first)) for first in range(4)]
            work.append(asyncio.create_task(take(space)))
            await asyncio.sleep(0.5)
            for how in (signal.SIGKILL, signal.SIGINT):
                server.stop(how)
                before, told = len(acknowledged), len(refused)
                # What was asked before waits; what is asked once the host has noticed is refused.
                asking = []
                async with asyncio.timeout(WAIT_S):
                    while len(refused) == told:
                        asking.append(asyncio.create_task(ask(space)))
                        await asyncio.sleep(0.1)
                assert len(acknowledged) <= before + 4, "acknowledged, and not on disk"
                server.start()
                async with asyncio.timeout(WAIT_S):
                    await asyncio.gather(*asking)
                async with asyncio.timeout(WAIT_S):
                    while len(acknowledged) < before + 50:
                        await asyncio.sleep(0.01)
            over.set()
            async with asyncio.timeout(WAIT_S):
                await asyncio.gather(*work)
        return acknowledged, refused, taken

    async def left(host: RealHost) -> list[int]:
        async with caller(host, None) as client:
            space = await (await client.agent("nurse")).space("jobs", shared=True)
            return [found[1] for found in await space.read_all("job", int)]

    with postgres_server() as server:
        given = ("--insecure", "--store", server.url)
        host = RealHost("pg", tmp_path, *given)
        start(host)
        acknowledged, refused, taken = play(program(server, host))
        host.end(signal.SIGKILL)
        host = RealHost("pg", tmp_path, *given)
        start(host)
        try:
            rest = play(left(host))
        finally:
            end(host)
    assert len(set(taken)) == len(taken)
    assert len(set(rest)) == len(rest)
    assert not set(rest) & set(taken)
    assert set(acknowledged) <= set(rest) | set(taken)
    assert not set(refused) & (set(rest) | set(taken)), "refused, and done all the same"
