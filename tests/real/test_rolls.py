"""A secretary's roll goes where its host goes, and who was taken over changes nothing on it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import closing
from typing import Any

import pytest

from nomospace.client.http import ServiceAway, ServiceRefused, fetch
from nomospace.client.laws import Law
from nomospace.client.remote import connect
from nomospace.errors import NomospaceError
from nomospace.node.services.keeping import ServiceLog
from nomospace.node.services.rolls import RollFiles
from nomospace.services.secretary import Change, Enrolled, Joined
from tests.crash.paired import PLACES, PairedHosts
from tests.crash.takeover import StandingHosts
from tests.parity.processes import Schemas
from tests.ports import free_port
from tests.servers import shared_postgres

RUN_S = 300.0
LAW = Law.load(
    """
    law(club).
    disclose(all).
    initialCS([guest]).
    R1. sent(_, _, _) :- do(forward).
    R2. arrived(_, _, _) :- do(deliver).
    """
)
EARLIER = "eve@icu"
"""Who is on the roll in a file that an earlier version has kept."""


async def _put(url: str, **body: object) -> Any:
    told = await fetch(url, method="PUT", body=json.dumps(body).encode())
    return json.loads(told.body)


async def _known(url: str) -> dict[str, str]:
    told = json.loads((await fetch(f"{url}/members")).body)
    return {one["agent"]: one["controller"] for one in told}


async def _story(hosts: StandingHosts, places: tuple[str, ...]) -> None:
    ports = {place: free_port() for place in places}
    for place, port in ports.items():
        hosts.settings[place] = f'[services]\nhttp = "127.0.0.1:{port}"\n'
    urls = ",".join([f"http://127.0.0.1:{port}" for port in ports.values()])
    hosts.settings["icu"] = f'[secretaries]\n{LAW.hash} = "{urls}"\n'
    rolls = hosts.folder / places[0] / "ward.services" / "rolls"
    rolls.mkdir(parents=True)
    with closing(ServiceLog[Change](rolls / LAW.hash, Change)) as log:
        log.begin()
        log.write(Enrolled(EARLIER, ("elder",)), Joined(EARLIER, "icu", 5))
    hosts.begin_at(places[0])
    await hosts.served_after(0)
    hosts.begin_at(places[1])
    await hosts.stands_again(places[1], 0)
    await hosts.together()
    hosts.begin("icu")
    await hosts.ready("icu")

    def community() -> str:
        return f"http://127.0.0.1:{ports[hosts.active]}/communities/{LAW.hash}"

    first = community()
    assert await _known(first) == {EARLIER: "icu"}
    assert RollFiles(rolls).found() == {}, "what an earlier version has kept is in the store now"
    await _put(first, closed=True)
    for agent in ("ann", "bob"):
        await _put(f"{first}/roll/{agent}@icu", initial=["member"])
    async with connect(hosts.url("icu")) as icu:
        await (await icu.agent("ann")).adopt(LAW)
        assert await _known(first) == {EARLIER: "icu", "ann@icu": "icu"}

        old, life, stood = hosts.active, hosts.life, dict(hosts.stood)
        hosts.signal(old, signal.SIGSTOP)
        late = asyncio.create_task(_put(f"{first}/roll/late@icu"))  # it lies in the socket
        await hosts.take_over(old)
        await hosts.served_after(life)
        second = community()
        assert second != first
        assert await _known(second) == {EARLIER: "icu", "ann@icu": "icu"}
        hosts.signal(old, signal.SIGCONT)
        with pytest.raises((ServiceAway, ServiceRefused)):  # nobody is told that it counts
            await late
        await hosts.stands_again(old, stood[old])
        with pytest.raises(ServiceAway):
            await fetch(f"{first}/members")

        bob = await icu.agent("bob")
        standing = await (await bob.adopt(LAW)).standing()
        assert "member" in standing.state
        with pytest.raises(NomospaceError, match="not on the roll"):
            await (await icu.agent("late")).adopt(LAW)
        assert list(await _known(second)) == [EARLIER, "ann@icu", "bob@icu"]
        on_roll = json.loads((await fetch(f"{second}/roll")).body)
        assert {one["agent"] for one in on_roll} == {EARLIER, "ann@icu", "bob@icu"}


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_a_roll_follows_its_host_and_is_fenced(paired: bool) -> None:
    async def play() -> None:
        schemas = Schemas(shared_postgres().url, f"rolls{os.getpid()}")
        hosts = PairedHosts() if paired else StandingHosts(schemas, 2.0, PLACES)
        with hosts:
            async with asyncio.timeout(RUN_S):
                await _story(hosts, PLACES)
            hosts.end()
            await asyncio.gather(*hosts.readers)

    asyncio.run(play())
