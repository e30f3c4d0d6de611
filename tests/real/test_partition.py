"""A partitioned space on three hosts that are processes: one host is asked, and shares move."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from nomospace import field
from nomospace.calls.partition import NoKey, OtherPartition
from nomospace.client import Agent, Space
from nomospace.client.remote import RemoteHost
from nomospace.protocols.homes import Homes
from nomospace.wire.admin import SpaceLine, Spaces, Stats
from tests.parity.processes import PACE
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller, end, play

JOBS: Final = 160
WAIT_S: Final = 60.0


class Member:
    """A host of the group, and an agent there that has a share."""

    def __init__(self, name: str, folder: Path, *join: str) -> None:
        joins = [word for address in join for word in ("--join", address)]
        store = ["--store", str(folder / f"{name}.db"), "--api", "127.0.0.1:0"]
        self.host = RealHost(name, folder, "--insecure", *PACE, *store, *joins)
        self.remote: RemoteHost
        self.agent: Agent
        self.jobs: Space

    async def begin(self, stack: AsyncExitStack) -> None:
        await self.host.ready()
        self.remote = await stack.enter_async_context(caller(self.host, None))
        self.agent = await self.remote.agent(f"worker-{self.host.name}")

    async def share(self) -> None:
        self.jobs = await self.agent.space("jobs", shared=True, partition=field(1))

    async def line(self) -> SpaceLine:
        lines = await self.remote.ask(Spaces())
        return next(line for line in lines if line.name == "jobs" and line.shared)

    async def frames(self) -> float:
        return (await self.remote.ask(Stats())).figures["frames_in"]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what is soon so."""
    async with asyncio.timeout(WAIT_S):
        while not await holds():
            await asyncio.sleep(0.02)


async def settled(*members: Member) -> None:
    """Wait until every share is where it belongs, and all know it."""
    names = tuple(sorted(one.host.name for one in members))

    async def all_are() -> bool:
        lines = [await one.line() for one in members]
        return all(
            line.homes == names and line.settled and not line.unsettled and not line.strays
            for line in lines
        )

    await until(all_are)


def command(host: RealHost, *words: str) -> tuple[int, Any]:
    """What a command says, as an operator runs it."""
    arguments = [*words, "--host", f"nomos+plain://{host.address}", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "nomospace.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[0]) if done.stdout else done.stderr


def test_a_partitioned_space_on_processes(tmp_path: Path) -> None:
    ward = Member("ward", tmp_path)
    icu = Member("icu", tmp_path, ward.host.address)
    lab = Member("lab", tmp_path, ward.host.address, icu.host.address)
    three = Homes({"ward": 1.0, "icu": 1.0, "lab": 1.0})

    async def program() -> None:
        async with AsyncExitStack() as stack:
            await asyncio.gather(*[one.begin(stack) for one in (ward, icu, lab)])
            await see(ward.agent, "icu")
            await see(ward.agent, "lab")
            await see(lab.agent, "icu")
            for one in (ward, icu):
                await one.share()
            await settled(ward, icu)
            for start in range(0, JOBS, 80):
                await ward.jobs.out_many([("job", n) for n in range(start, start + 80)])
            await bad_input()
            await joined_while_takers_run()
            await one_host_is_asked()
            await drained()
        await parted()

    async def bad_input() -> None:
        with pytest.raises(NoKey):
            await ward.jobs.out("job")
        with pytest.raises(NoKey):
            await ward.jobs.take("job")
        with pytest.raises(OtherPartition) as raised:
            await lab.agent.space("jobs", shared=True, partition=field(0))
        assert "partitioned by field 1 at host" in str(raised.value)

    async def joined_while_takers_run() -> None:
        """A host joins, and a share moves there while others take: each job once."""
        todo = iter(range(80))

        async def worker(space: Space) -> list[Any]:
            got = []
            for number in todo:
                got.append(await space.take("job", number, timeout=WAIT_S))
                await asyncio.sleep(0)
            return got

        spaces = [ward.jobs, icu.jobs] * 3
        workers = [asyncio.create_task(worker(space)) for space in spaces]
        await lab.share()
        found = [one for task in workers for one in await task]
        assert sorted(job[1] for job in found) == list(range(80))
        await settled(ward, icu, lab)
        counts = {one.host.name: (await one.line()).tuples for one in (ward, icu, lab)}
        at_home = [three.home(number) for number in range(80, JOBS)]
        assert counts == {name: at_home.count(name) for name in counts}

    async def one_host_is_asked() -> None:
        """Takes with a key wait at its home alone, and cost no other host a frame each."""
        key = next(n for n in range(1_000, 2_000) if three.home(n) == "icu")
        waits = asyncio.create_task(ward.jobs.take("job", key, timeout=WAIT_S))

        async def is_asked() -> bool:
            return (await icu.line()).waiting == 1

        await until(is_asked)
        assert (await lab.line()).waiting == 0
        await lab.jobs.out("job", key)
        assert await waits == ("job", key)
        keys = [n for n in range(80, JOBS) if three.home(n) == "icu"]
        before = [await one.frames() for one in (icu, lab)]
        for key in keys[:12]:
            assert await ward.jobs.take_nowait("job", key) == ("job", key)
            assert await ward.jobs.take_nowait("job", key) is None
            await ward.jobs.out("job", key)
        at_icu, at_lab = [
            await one.frames() - was for one, was in zip((icu, lab), before, strict=True)
        ]
        assert at_icu >= 3 * 12
        assert at_lab < at_icu / 3

    async def drained() -> None:
        """An operator drains a host by the command; all that lay there is found elsewhere."""
        code, line = await asyncio.to_thread(command, icu.host, "host", "drain")
        assert (code, line["drained"], line["left"], line["moving"]) == (0, True, 0, 0)
        assert (await icu.line()).tuples == 0
        for number in range(80, JOBS):
            assert await lab.jobs.read_nowait("job", number) == ("job", number)
        code, line = await asyncio.to_thread(command, icu.host, "host", "drain", "--off")
        assert (code, line["drained"]) == (0, False)
        await settled(ward, icu, lab)
        assert (await icu.line()).tuples > 0

    async def parted() -> None:
        """A host is killed: the others keep what they hold, and it has its share again."""
        lab.host.end(signal.SIGKILL)
        async with AsyncExitStack() as stack:
            remote = await stack.enter_async_context(caller(ward.host, None))
            agent = await remote.agent("worker-ward")
            await see(agent, "lab", "departed")
            ward.remote, jobs = remote, await agent.space("jobs", shared=True)
            kept = [n for n in range(80, JOBS) if three.home(n) == "ward"]
            assert (await ward.line()).homes == ("icu", "ward")
            for number in kept[:5]:
                assert await jobs.take("job", number, timeout=WAIT_S) == ("job", number)
            await ward.host.noted("homes", "icu", "ward", "jobs")
            again = Member("lab", tmp_path, ward.host.address, icu.host.address)
            await again.begin(stack)
            await see(agent, "lab")
            lost = [n for n in range(80, JOBS) if three.home(n) == "lab"]
            for number in (*kept[5:], *lost):
                assert await jobs.take("job", number, timeout=WAIT_S) == ("job", number)
        end(again.host)

    play(program())
    end(ward.host, icu.host)
