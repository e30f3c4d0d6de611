"""Section 5: query servers are replicated. A server that is gone for good is not missed for long.

Two host processes serve one domain, and the primary is killed: an operator lets the other go on.
Three serve it, and nobody needs to: two of them choose another primary.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nomospace.calls.problems import NotItsServer
from nomospace.client.remote import RemoteHost
from nomospace.wire.admin import PromoteHost, Where, WhereLine
from tests.real.hosts import RealHost, caller, end, play, start

SEEN_S = 60.0
SERVED = '[host]\ndomain = "ward"\n[servers]\nward = ["w1", "w2"]\n'
CHOSEN = '[host]\ndomain = "ward"\ntakeover_s = 2\n[servers]\nward = ["w1", "w2", "w3"]\n'


def host(name: str, folder: Path, *arguments: str, port: int = 0, told: str = SERVED) -> RealHost:
    config = folder / f"{name}.toml"
    config.write_text(told)
    return RealHost(name, folder, "--config", str(config), "--insecure", *arguments, port=port)


async def one_group(client: RemoteHost, count: int) -> None:
    async with asyncio.timeout(SEEN_S):
        while len((await client.contact()).members) < count:
            await asyncio.sleep(0.02)


def test_mail_to_a_new_agent_and_a_move_end_when_the_standby_is_promoted(tmp_path: Path) -> None:
    w1 = host("w1", tmp_path)
    w2 = host("w2", tmp_path, "--join", w1.address)
    icu = host("icu", tmp_path, "--join", w1.address, "--join", w2.address)
    start(w1, w2, icu)

    async def story() -> None:
        async with caller(icu, None) as one, caller(w2, None) as two:
            ann = await one.agent("ann")
            await one_group(one, 3)
            assert w1.end(signal.SIGKILL) == -signal.SIGKILL
            bob = await two.agent("bob")  # its record would be with the primary
            sending = asyncio.create_task(ann.send("hello", to="bob@ward"))
            with pytest.raises(NotItsServer, match="it is served by w1 and w2"):
                await one.ask(PromoteHost("ward"))
            command = ["-P", "-m", "nomospace.cli", "host", "promote", "ward"]
            said = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, *command, "--host", f"nomos+plain://{w2.address}"],
                capture_output=True,
                text=True,
                check=True,
            )
            assert said.stdout == "it serves ward alone; w1 follows when it is back\n"
            await sending  # it has waited if even ann was not on record yet
            assert (await anext(bob.inbox())).message == "hello"
            await bob.move("icu")
            async with asyncio.timeout(SEEN_S):
                while await two.ask(Where("bob@ward")) != WhereLine("bob@ward", "icu", True):
                    await asyncio.sleep(0.02)
            again = host("w1", tmp_path, "--join", w2.address, port=w1.port)
            await again.ready()
            await one_group(one, 3)
            cleo = await one.agent("cleo")
            await cleo.send("welcome", to="ann@ward")
            assert (await anext(ann.inbox())).message == "welcome"
            end(again)

    play(story())
    end(w2, icu)


def chosen(name: str, folder: Path, *others: RealHost, port: int = 0) -> RealHost:
    joins = [word for other in others for word in ("--join", other.address)]
    return host(name, folder, *joins, port=port, told=CHOSEN)


async def elected(*servers: RealHost) -> RealHost:
    """Wait until one of some servers has been elected."""
    async with asyncio.timeout(SEEN_S):
        while True:
            for one in servers:
                if any(note.get("news") == "elected" for note in one.notes("routing")):
                    return one
            await asyncio.sleep(0.02)


def test_three_servers_choose_another_primary_and_the_old_one_follows(tmp_path: Path) -> None:
    w1 = chosen("w1", tmp_path)
    w2 = chosen("w2", tmp_path, w1)
    w3 = chosen("w3", tmp_path, w1, w2)
    icu = chosen("icu", tmp_path, w1, w2, w3)
    start(w1, w2, w3, icu)

    async def story() -> None:
        async with caller(icu, None) as one:
            ann = await one.agent("ann")
            await one_group(one, 4)
            for server in (w2, w3):
                await server.noted("routing", "follows")
            with pytest.raises(NotItsServer, match="w1 and w2 and w3"):
                await one.ask(PromoteHost("ward"))
            assert w1.end(signal.SIGKILL) == -signal.SIGKILL
            bob = await one.agent("bob")  # its record would be with the primary
            await bob.send("hello", to="ann@ward")
            assert (await anext(ann.inbox())).message == "hello"
            await ann.send("welcome", to="bob@ward")
            assert (await anext(bob.inbox())).message == "welcome"
            await bob.move("w3")
            second = await elected(w2, w3)
            again = chosen("w1", tmp_path, w2, w3, port=w1.port)
            await again.ready()
            await one_group(one, 4)
            assert second.end(signal.SIGKILL) == -signal.SIGKILL
            third = w3 if second is w2 else w2
            await elected(again, third)
            cleo = await one.agent("cleo")
            await cleo.send("late", to="ann@ward")
            assert (await anext(ann.inbox())).message == "late"
            end(again, third)

    play(story())
    end(icu)


def test_who_served_alone_brings_what_it_has_to_two(tmp_path: Path) -> None:
    alone = SERVED.replace(', "w2"', "")
    w1 = host("w1", tmp_path, told=alone)
    icu = host("icu", tmp_path, "--join", w1.address, told=alone)
    start(w1, icu)

    async def born() -> None:
        async with caller(icu, None) as one:
            ann = await one.agent("ann")
            await ann.send("hello", to="ann@ward")  # that waits for its record

    play(born())
    for one in (w1, icu):
        one.end(signal.SIGKILL)
    w1 = host("w1", tmp_path)
    w2 = host("w2", tmp_path, "--join", w1.address)
    icu = host("icu", tmp_path, "--join", w1.address, "--join", w2.address)
    start(w1, w2, icu)

    async def found() -> None:
        async with caller(icu, None) as one, caller(w2, None) as two:
            ann = await one.agent("ann")
            await w2.noted("routing", "follows")
            await one_group(two, 3)
            assert w1.end(signal.SIGKILL) == -signal.SIGKILL
            await two.ask(PromoteHost("ward"))
            bob = await two.agent("bob")
            await bob.send("welcome", to="ann@ward")
            while (await anext(ann.inbox())).message != "welcome":
                pass  # the first life of its host may have handed it its own mail, or not

    play(found())
    end(w2, icu)
