"""`002_…` sections 2.1, 2.2.5 and 4.2 on real hosts: agents that end, and clients that vanish.

Hosts are processes with sockets and stores of their own. An agent that ends disengages: all that is
its own leaves with it. A client that is killed is no agent that ends: after its session's time its
agent is shown as departed, and what is its own stays with its host.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomospace import ANY, Law, sync, t
from nomospace.calls.problems import HasEnded
from tests.nursery import start as nursery
from tests.real.hosts import RealHost, caller, end, play, start

SESSION_S = 1
WAIT_S = 60.0
LAW = Law.load(
    """\
law(farewell).
R1. sent(_, _, _) :- do(forward).
R2. arrived(_, _, _) :- do(deliver).
R3. quit :- do(forward(Self, gone(Self), 'bob@icu')).
R4. adopted(_) :- do(+seen(0)).
"""
)
CLIENT = """\
import sys, time
from nomospace import ANY, Law, sync
with sync.connect(sys.argv[1]) as host:
    ann = host.agent("ann")
    ann.adopt(Law.load(sys.argv[2]))
    jobs = ann.space("jobs", shared=True)
    jobs.out("job", 1)
    jobs.react(("never", ANY), print)
    print("ready", flush=True)
    jobs.take("never", ANY)
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealHost, RealHost]]:
    """Two hosts of one group, with a short session's time."""
    folder = tmp_path_factory.mktemp("ends")
    config = folder / "short.toml"
    config.write_text(f"[limits]\nsession_s = {SESSION_S}\n")
    rest = ("--insecure", "--config", str(config), "--api", "127.0.0.1:0", "--no-console")
    ward = RealHost("ward", folder, *rest)
    icu = RealHost("icu", folder, *rest, "--join", ward.address)
    start(ward, icu)
    yield ward, icu
    end(ward, icu)


def url(host: RealHost) -> str:
    return f"nomos+plain://{host.address}"


def http(host: RealHost, method: str, path: str, body: object = None) -> Any:
    request = urllib.request.Request(
        f"{host.said['api']}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {host.said['token']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)


def test_2_2_5_a_client_that_is_killed_is_shown_as_departed_on_other_hosts(
    hosts: tuple[RealHost, RealHost], tmp_path: Path
) -> None:
    """After its session's time; its tuples and its membership stay for when it comes back."""
    ward, icu = hosts
    program, law = tmp_path / "client.py", tmp_path / "farewell.law"
    program.write_text(CLIENT)
    law.write_text(LAW.tree.source.text)
    with (
        (tmp_path / "log").open("wb") as log,
        nursery([url(ward), str(law)], folder=tmp_path, log=log, program=program) as client,
        sync.connect(url(icu)) as there,
    ):
        assert client.stdout.readline() == b"ready\n", (tmp_path / "log").read_text()
        bob = there.agent("bob")
        bob.system.read("agent", "ann@ward", "ward", "connected", timeout=WAIT_S)
        killed = time.monotonic()
        client.kill()
        bob.system.read("agent", "ann@ward", "ward", "departed", timeout=WAIT_S)
        assert time.monotonic() - killed >= SESSION_S
        assert not bob.connected("ann@ward")
        jobs = bob.space("jobs", shared=True)
        assert jobs.take("job", ANY, timeout=WAIT_S) == ("job", 1)
        with sync.connect(url(ward)) as here:
            ann = here.agent("ann")
            bob.system.read("agent", "ann@ward", "ward", "connected", timeout=WAIT_S)
            again = ann.adopt(LAW)
            assert again.ruling is None, "it is the membership of before"
        bob.system.read("agent", "ann@ward", "ward", "departed", timeout=WAIT_S)


def test_2_1_an_agent_that_ends_takes_all_that_is_its_own_with_it(
    hosts: tuple[RealHost, RealHost],
) -> None:
    """Tuples, waits, reactions, memberships; its laws hear `quit`, others see it gone."""
    ward, icu = hosts

    async def story() -> None:
        async with caller(ward, None) as here, caller(icu, None) as there:
            eve, bob = await here.agent("eve"), await there.agent("bob")
            member = await bob.adopt(LAW)
            await eve.adopt(LAW)
            mine = await eve.space("offers", shared=True)
            his = await bob.space("offers", shared=True)
            await mine.out("offer", 1)
            await mine.out("for bob", 2, to="bob@icu")
            mine.react(("echo", ANY), print)
            waits = asyncio.create_task(mine.take("never", ANY))
            assert await his.read("offer", ANY, timeout=WAIT_S)
            assert await his.take("for bob", ANY, timeout=WAIT_S), "it was bob's by then"
            await eve.end()
            with pytest.raises(HasEnded):
                await waits
            await bob.system.read("agent", "eve@ward", "ward", "departed", timeout=WAIT_S)
            await bob.system.read("space", "offers", "eve@ward", "ward", "departed", timeout=WAIT_S)
            assert await his.read_all("offer", ANY, at="ward") == []
            async for letter in member.inbox():
                assert (letter.sender, letter.message) == ("eve@ward", t.gone("eve@ward"))
                break
            again = await here.agent("eve")
            anew = await again.adopt(LAW)
            assert anew.ruling is not None, "a new agent of the name, and no member"
            await bob.system.read("agent", "eve@ward", "ward", "connected", timeout=WAIT_S)
            ruling = await member.send("hello", to="eve@ward")
            assert not ruling.refused
            async for letter in anew.inbox():
                assert letter.message == "hello"
                break

    play(story())


def test_4_2_an_operator_ends_an_agent_by_command_and_over_http(
    hosts: tuple[RealHost, RealHost],
) -> None:
    ward, icu = hosts

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "nomospace.cli", *words, "--host", url(ward)]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)

    async def story() -> None:
        async with caller(ward, None) as here, caller(icu, None) as there:
            dan, bob = await here.agent("dan"), await there.agent("bob")
            await (await dan.space("notes", shared=True)).out("note", 1)
            ended = await asyncio.to_thread(command, "agent", "end", "dan@ward")
            assert (ended.returncode, ended.stdout) == (0, "dan@ward has ended\n"), ended.stderr
            await bob.system.read("agent", "dan@ward", "ward", "departed", timeout=WAIT_S)
            twice = await asyncio.to_thread(command, "agent", "end", "dan@ward")
            assert twice.returncode == 2
            assert "dan@ward" in twice.stderr
            written = "/v1/agents/kim@ward/spaces/notes/out"
            await asyncio.to_thread(http, ward, "POST", written, {"fields": ["note", 2]})
            await bob.system.read("agent", "kim@ward", "ward", "connected", timeout=WAIT_S)
            # Nobody has asked anything as kim for a session's time: departed, and not ended.
            await bob.system.read("agent", "kim@ward", "ward", "departed", timeout=WAIT_S)
            await asyncio.to_thread(http, ward, "POST", written, {"fields": ["note", 3]})
            await bob.system.read("agent", "kim@ward", "ward", "connected", timeout=WAIT_S)
            place = await asyncio.to_thread(http, ward, "DELETE", "/v1/agents/kim@ward")
            assert place["host"] == ""
            await bob.system.read("agent", "kim@ward", "ward", "departed", timeout=WAIT_S)
            his = await bob.space("notes", shared=True)
            assert await his.read_all("note", ANY, at="ward") == []

    play(story())
