"""`004_…` 5 and `002_…` 4.1 on a real host: a space that lies in the store, used as any other.

The paper keeps tuples in a database, turns operations into queries, and has a cache in front. Here
the cache is smaller than the space (`CACHE_MAX`), so much of what is asked for is in the table.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import nomospace as ns
from nomospace import ANY, a, laws, t
from nomospace.calls.problems import OtherEngine, Refused, StaysInStore
from nomospace.cli import main
from nomospace.client import Agent, Tuple
from nomospace.client.remote import RemoteHost
from nomospace.errors import CallerError, Unavailable
from tests.real.hosts import RealHost, caller, end, play, start

MANY = 24_000
"""More than stays in memory."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archive")


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[RealHost]:
    made = run(folder)
    yield made
    end(made)


def run(folder: Path) -> RealHost:
    config = folder / "ward.toml"
    config.write_text('[spaces]\nstored = ["ledger"]\n', "utf-8")
    flags = ("--config", str(config), "--insecure", "--api", "127.0.0.1:0")
    made = RealHost("ward", folder, "--store", str(folder / "ward.db"), *flags)
    start(made)
    return made


async def archive(remote: RemoteHost, name: str = "ann", **how: Any) -> tuple[Agent, Any]:
    agent = await remote.agent(name)
    return agent, await agent.space("archive", engine="store", **how)


def test_a_space_in_the_store_does_what_others_do(host: RealHost) -> None:
    """Order, waits, reactions, leases and once-writes; also of tuples that left memory long ago."""

    async def story() -> None:
        async with caller(host, None) as remote:
            _, mine = await archive(remote)
            _, theirs = await archive(remote, "bob")
            assert mine.shared
            for first in range(0, MANY, 2_000):
                await mine.out_many([("job", n, n % 7) for n in range(first, first + 2_000)])
            assert await theirs.take("job", 5, ANY, timeout=60) == ("job", 5, 5)
            assert await theirs.take_nowait("job", 5, ANY) is None
            assert await theirs.take("job", ANY, ANY, timeout=60) == ("job", 0, 0)
            assert await theirs.take("job", ANY, 5, timeout=60) == ("job", 12, 5)
            assert await theirs.read_nowait("job", MANY - 1, ANY) is not None
            met: asyncio.Queue[Tuple] = asyncio.Queue()
            handle = theirs.react(("alarm", ANY), lambda found, *_: met.put_nowait(found))
            await handle.wait_registered()
            waiting = asyncio.create_task(theirs.take("answer", ANY, timeout=60))
            await asyncio.sleep(0)
            await mine.out("alarm", 1)
            await mine.out("answer", 42, once="a")
            await mine.out("answer", 42, once="a")
            assert await waiting == ("answer", 42)
            assert await theirs.take_nowait("answer", ANY) is None
            async with asyncio.timeout(120):
                assert await met.get() == ("alarm", 1)
            lent = await theirs.take("job", 1, ANY, timeout=60, lease=60)
            assert await mine.read_nowait("job", 1, ANY) is None
            await theirs.give_back(lent)
            assert await mine.take("job", 1, ANY, timeout=60) == ("job", 1, 1)

    play(story(), seconds_max=120)


@pytest.mark.parametrize("engine", ["memory", "store"])
def test_a_take_gets_the_highest_first_and_the_oldest_among_equals(
    host: RealHost, engine: str
) -> None:
    """Priorities, by a client and a command; a lease that is given back keeps its place."""

    async def write() -> None:
        async with caller(host, None) as remote:
            ann, bob = await remote.agent("ann"), await remote.agent("bob")
            mine = await ann.space(f"{engine}-jobs", engine=engine, shared=True)
            theirs = await bob.space(f"{engine}-jobs", engine=engine, shared=True)
            await mine.out_many([("job", n) for n in range(3)])
            await mine.out("job", 3, priority=-100)
            await mine.out("job", 4, priority=5)
            await mine.out("job", 5, priority=5, once="five")
            await mine.out_many([("job", 6), ("job", 7)], priority=100)
            lent = await theirs.take("job", ANY, timeout=60, lease=60)
            assert (lent, lent.priority) == (("job", 6), 100)
            await theirs.give_back(lent)
            wrong: list[Any] = ["high", 2.5, True, 101]
            for high in wrong:
                with pytest.raises(CallerError, match="use a whole number from -100 to 100"):
                    await mine.out("job", 8, priority=high)

    async def take() -> list[int]:
        async with caller(host, None) as remote:
            bob = await remote.agent("bob")
            theirs = await bob.space(f"{engine}-jobs", engine=engine, shared=True)
            return [(await theirs.take("job", ANY, timeout=60))[1] for _ in range(9)]

    play(write())
    out = ("out", f"{engine}-jobs", "job", "9", "--priority", "5", "--host", host.said["url"])
    assert main(["tuple", *out]) == 0
    assert play(take()) == [6, 7, 4, 5, 9, 0, 1, 2, 3]


def test_what_it_does_not_do_says_so(host: RealHost) -> None:
    async def story() -> None:
        async with caller(host, None) as remote:
            ann, mine = await archive(remote)
            with pytest.raises(StaysInStore):
                await mine.unshare()
            with pytest.raises(OtherEngine, match="here it has the engine 'store'"):
                await ann.space("archive", engine="memory")
            with pytest.raises(OtherEngine, match="use one of memory, store"):
                await ann.space("another", engine="tape")
            with pytest.raises(OtherEngine, match="durable"):
                await ann.space("another", engine="store", durable=False)
            with pytest.raises(CallerError, match="lie in the store"):
                await mine.read_nowait(a("Car"), a("Owner"), correlate="always")

    play(story())


def test_a_law_rules_there_too(host: RealHost) -> None:
    """Law MP: a letter in a space that lies in the store is for its receiver alone."""

    async def story() -> None:
        law = ns.Law.load(laws.path("mp"))
        async with caller(host, None) as remote:
            post = {}
            for name in ("ann", "bob", "eve"):
                agent = await remote.agent(name)
                await agent.adopt(law)
                post[name] = await agent.space("post", engine="store", law=law)
            letter = (t["from"]("ann@ward"), t.to("bob@ward"))
            await post["ann"].out(t.msg("hello"), *letter)
            with pytest.raises(Refused):
                await post["eve"].take_nowait(t.msg(ANY), *letter)
            assert (await post["bob"].take(t.msg(ANY), *letter, timeout=60))[0] == t.msg("hello")

    play(story())


def test_a_host_that_was_killed_has_it_all_and_loads_none(host: RealHost, folder: Path) -> None:
    """What was acknowledged is there again; what was taken is not."""

    async def before() -> None:
        async with caller(host, None) as remote:
            ann, mine = await archive(remote)
            await mine.out("last", 1)
            for engine in ("memory", "store"):
                ranked = await ann.space(f"{engine}-ranked", engine=engine, shared=True)
                for priority in (0, 7, -7):
                    await ranked.out("ranked", priority, priority=priority)
            assert await mine.take("job", 100, ANY, timeout=60) == ("job", 100, 2)

    async def after() -> None:
        async with caller(host, None) as remote:
            ann, mine = await archive(remote)
            for engine in ("memory", "store"):
                ranked = await ann.space(f"{engine}-ranked", engine=engine, shared=True)
                await ranked.out("ranked", 3, priority=3)
                assert [(await ranked.take("ranked", ANY))[1] for _ in range(4)] == [7, 3, 0, -7]
            assert await mine.take_nowait("job", 100, ANY) is None
            assert await mine.take_nowait("last", 1) == ("last", 1)
            assert await mine.take("job", ANY, ANY, timeout=60) == ("job", 2, 2)

    play(before())
    host.end(signal.SIGKILL)
    again = run(folder)
    host._process, host.port, host.said = again._process, again.port, again.said
    play(after())


def test_a_store_that_goes_away_is_an_error_and_nothing_is_lost(
    host: RealHost, folder: Path
) -> None:
    """The file is cut short while the host has it open, and is whole again later."""
    file = folder / "ward.db"

    async def takes(space: Any) -> None:
        for n in range(3_000, 9_000, 500):
            assert await space.take_nowait("job", n + 1, ANY) is not None

    async def story() -> None:
        async with caller(host, None) as remote:
            _, mine = await archive(remote)
            whole = file.read_bytes()
            try:
                os.truncate(file, 3 * 4096)
                with pytest.raises(Unavailable, match="the store"):
                    await takes(mine)
            finally:
                with file.open("r+b") as again:
                    again.write(whole)
            left = [await mine.read_nowait("job", n, ANY) for n in range(10_000, 20_000, 1_000)]
            assert None not in left

    play(story())


def test_it_is_opened_on_the_command_line(
    host: RealHost, capsys: pytest.CaptureFixture[str]
) -> None:
    there = ("--host", f"nomos+plain://{host.address}")
    assert main(["tuple", "out", "shelf", "book", "7", "--engine", "store", *there]) == 0
    assert "wrote to shelf" in capsys.readouterr().out
    assert main(["tuple", "out", "shelf", "book", "8", "--engine", "memory", *there]) == 2
    assert "here it has the engine 'store'" in capsys.readouterr().err


def test_a_space_that_the_configuration_names_lies_there_whoever_opens_it(host: RealHost) -> None:
    async def story() -> None:
        async with caller(host, None) as remote:
            bob = await remote.agent("bob")
            ledger = await bob.space("ledger")
            assert ledger.shared
            await ledger.out("entry", 1)
            with pytest.raises(OtherEngine, match="here it has the engine 'store'"):
                await bob.space("ledger", engine="memory")
            with pytest.raises(StaysInStore):
                await ledger.unshare()

    play(story())


def test_it_is_opened_over_http(host: RealHost) -> None:
    """Such a space is shared, and says so to who would have it private."""
    spaces = f"{host.said['api']}/v1/agents/web@ward/spaces"
    token = {"Authorization": f"Bearer {host.said['token']}"}

    async def story() -> None:
        async with caller(host, None) as remote:
            await remote.agent("web")

        def post(path: str, **body: Any) -> tuple[int, Any]:
            answer = httpx.post(f"{spaces}/{path}", json=body, headers=token, timeout=60)
            return answer.status_code, answer.json()

        for name, body in (
            ("files", {"engine": "store", "shared": False}),
            ("ledger", {}),
        ):
            code, opened = await asyncio.to_thread(post, name, **body)
            assert (code, opened) == (200, {"name": name, "shared": True})
        assert (await asyncio.to_thread(post, "files/out", fields=["page", 1]))[0] == 200
        code, error = await asyncio.to_thread(post, "files", engine="memory")
        assert (code, error["code"]) == (400, "space.other-engine")
        code, error = await asyncio.to_thread(post, "files", engine="tape")
        assert code == 422
        taken = await asyncio.to_thread(post, "files/take", template=["page", {"pattern": "_"}])
        assert taken[0] == 200

    play(story())
