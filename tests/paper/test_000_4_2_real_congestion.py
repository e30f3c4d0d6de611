"""`000_…` 4.2 on three hosts of their own: a space that is asked too much slows its clients down.

Law CC as it is shipped. The clients are at `east` and `west` and ask for what lies at `server`,
whose operator switches the monitor on. What their controllers ruled is in their hosts' journals.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest

import nomospace as ns
from nomospace import ANY, sync
from nomospace.calls.problems import NotGoverned
from nomospace.cli import main
from nomospace.laws import path
from nomospace.wire.admin import JournalRecord, SpaceMonitors, Tail
from tests.real.hosts import RealHost, caller, end, play, start

LAW = ns.Law.load(path("cc"))
MOST = 20.0
SEEN_S = 60.0


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RealHost]]:
    folder = tmp_path_factory.mktemp("congestion")
    server = RealHost("server", folder, "--insecure", "--api", "127.0.0.1:0")
    others = [
        RealHost(name, folder, "--insecure", "--join", server.address) for name in ("east", "west")
    ]
    start(server, *others)
    yield {host.name: host for host in (server, *others)}
    end(server, *others)


async def client(host: ns.client.remote.RemoteHost, name: str) -> ns.Space:
    agent = await host.agent(name)
    if agent.membership(LAW) is None:
        await agent.adopt(LAW)
    return await agent.space("jobs", shared=True, law=LAW)


async def delays(host: ns.client.remote.RemoteHost, agent: str) -> list[float]:
    """The delays that the controller of a client was told."""
    return [
        float(one.columns["event"].partition("changeDelay(")[2].partition(")")[0])
        for one in await rulings(host, agent)
        if one.columns["event"].startswith("arrived(jobs,changeDelay(")
        and one.columns["rule"] == "R5"
    ]


async def rulings(host: ns.client.remote.RemoteHost, agent: str) -> list[JournalRecord]:
    records = await host.ask(Tail(limit=10_000))
    return [one for one in records if one.table == "events" and one.columns["agent"] == agent]


def test_4_2_overload_slows_the_clients_down_and_calm_lets_them_go(
    hosts: dict[str, RealHost],
) -> None:
    """Points 1 to 3: the space sets the delay, and what is early waits at the client."""

    async def story() -> None:
        async with (
            caller(hosts["server"], None) as server,
            caller(hosts["east"], None) as east,
            caller(hosts["west"], None) as west,
        ):
            jobs = await client(server, "keeper")
            for number in range(3):
                await jobs.out("job", number)
            await jobs.monitor(MOST, rest=0)
            spaces = [await client(east, "ann"), await client(west, "bob")]
            agent = await west.agent("bob")
            await agent.system.read("agent", "keeper@server", ANY, "connected", timeout=SEEN_S)

            async def told(host: ns.client.remote.RemoteHost, who: str, count: int) -> list[float]:
                async with asyncio.timeout(SEEN_S):
                    while len(found := await delays(host, who)) < count:
                        await asyncio.sleep(0.05)
                return found

            # At rest nobody waits; who asks for the first time is told so.
            for space in spaces:
                assert await space.read_nowait("job", ANY, at="server") is not None
            assert await told(east, "ann@east", 1) == [0]
            assert await told(west, "bob@west", 1) == [0]
            # Both ask as fast as they can, until what they ask has had to wait.
            async with asyncio.timeout(SEEN_S):
                while not (await paced(east, "ann@east") and await paced(west, "bob@west")):
                    asked = [space.read_nowait("job", ANY, at="server") for space in spaces * 20]
                    assert None not in await asyncio.gather(*asked)
            for host, who in ((east, "ann@east"), (west, "bob@west")):
                assert 1 / MOST <= max(await delays(host, who)) <= 2 / MOST
                async with asyncio.timeout(SEEN_S):  # calm again
                    while (await delays(host, who))[-1] != 0:
                        await asyncio.sleep(0.05)
            await jobs.monitor(None)
            assert await server.ask(SpaceMonitors()) == []

    async def paced(host: ns.client.remote.RemoteHost, who: str) -> int:
        """How many requests had to wait; all left at the pace of the delay that held."""
        delay, last, waited = 1.0, 0, 0
        for one in await rulings(host, who):
            at, event = one.columns["at"], one.columns["event"]
            if event.startswith("arrived(jobs,changeDelay("):
                delay = float(event.partition("changeDelay(")[2].partition(")")[0])
            if any("forward(" in text for text in one.columns["ruling"]):
                assert at - last >= delay * 1e6, one
                waited += delay > 0 and event.startswith("obligationDue(")
                last = at
        return waited

    play(story(), seconds_max=SEEN_S * 3)


def test_4_2_a_space_speaks_for_its_operator_from_every_face(
    hosts: dict[str, RealHost], capsys: pytest.CaptureFixture[str]
) -> None:
    """Point 2: the client, the blocking face, the command line, HTTP; and nobody else."""
    server, east = hosts["server"], hosts["east"]

    async def story() -> None:
        async with caller(server, None) as host, caller(east, None) as other:
            jobs = await client(host, "keeper")
            await client(other, "eve")
            agent = await host.agent("keeper")
            await agent.system.read("agent", "eve@east", ANY, "connected", timeout=SEEN_S)
            ruling = await jobs.tell("eve@east", "changeDelay(3)")
            assert (ruling.rule, ruling.refused, ruling.home) == ("R4", False, "jobs")
            eve = (await other.agent("eve")).membership(LAW)
            assert eve is not None
            assert (await eve.send("changeDelay(0)", to="eve@east")).refused
            with pytest.raises(NotGoverned, match="no agent at server has a space 'plain'"):
                await (await agent.space("plain", shared=True)).tell("eve@east", "changeDelay(1)")
            with pytest.raises(ns.NomospaceError) as bad:
                await jobs.monitor(0)
            assert bad.value.code == "host.bad-monitor"

            at = ["--host", server.said["url"]]
            head = {"Authorization": f"Bearer {server.said['api_token']}"}

            def by_others() -> None:
                assert main(["space", "monitor", "jobs", "--most", "9", "--json", *at]) == 0
                line = json.loads(capsys.readouterr().out.splitlines()[-1])
                assert (line["space"], line["most"], line["delay"]) == ("jobs", 9, 1)
                assert main(["space", "monitor", "jobs", *at]) == 2
                with httpx.Client(base_url=server.said["api"], headers=head) as web:
                    said = {"agent": "eve@east", "message": "changeDelay(6)"}
                    assert web.post("/v1/spaces/plain/tell", json=said).status_code == 404
                    assert [one["space"] for one in web.get("/v1/monitors").json()] == ["jobs"]
                    bad = web.put("/v1/monitors/jobs", json={"most": -1})
                    assert (bad.status_code, bad.json()["code"]) == (400, "host.bad-monitor")
                    assert web.delete("/v1/monitors/jobs").status_code == 204
                    assert web.get("/v1/monitors").json() == []

            await asyncio.to_thread(by_others)

            def blocking() -> None:
                with sync.connect(str(host.url)) as face:
                    space = face.agent("keeper").space("jobs", shared=True, law=LAW)
                    assert space.tell("eve@east", "changeDelay(4)").rule == "R4"

            def command() -> None:
                assert main(["space", "tell", "jobs", "eve@east", "changeDelay(5)", *at]) == 0

            def web() -> None:
                said = {"agent": "eve@east", "message": "changeDelay(6)"}
                url = f"{server.said['api']}/v1/spaces/jobs/tell"
                assert (
                    httpx.post(url, json=said, headers=head, timeout=SEEN_S).json()["rule"] == "R4"
                )

            # What a space says while hosts have lost sight of each other is not kept: say it again.
            for delay, face in ((4, blocking), (5, command), (6, web)):
                async with asyncio.timeout(SEEN_S):
                    while delay not in await delays(other, "eve@east"):
                        await asyncio.to_thread(face)
                        await asyncio.sleep(0.2)

    play(story(), seconds_max=SEEN_S * 3)
