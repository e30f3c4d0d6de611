"""`003_…` 3, 4.1 and 5 on hosts of their own: servers that know, and moves that are told.

Three hosts, each its own domain. The hosts are told to be eager: who wrote to an agent need not
find out that it has moved to another domain.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import nomospace as ns
from nomospace.client import Agent, Membership
from nomospace.client.remote import RemoteHost
from nomospace.errors import Unavailable
from tests.real.hosts import RealHost, caller, end, play, start

FREE = "law(free).\nsent(_, _, _) :- do(forward).\narrived(_, _, _) :- do(deliver).\n"
SEEN_S = 60.0
Hosts = dict[str, RealHost]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("routes")
    (folder / "routes.toml").write_text(
        '[host]\neager = true\n[servers]\nward = ["ward"]\nicu = ["icu"]\nlab = ["lab"]\n'
    )
    told = ("--insecure", "--config", "routes.toml", "--api", "127.0.0.1:0")
    ward = RealHost("ward", folder, *told)
    others = [RealHost(name, folder, *told, "--join", ward.address) for name in ("icu", "lab")]
    all_three = {one.name: one for one in (ward, *others)}
    start(*all_three.values())
    yield all_three
    end(*all_three.values())


async def one_group(host: RemoteHost, count: int) -> None:
    async with asyncio.timeout(SEEN_S):
        while len((await host.contact()).members) < count:
            await asyncio.sleep(0.02)


async def heard(member: Membership) -> str:
    """The next message of a member."""
    async with asyncio.timeout(SEEN_S):
        return ns.show((await anext(aiter(member.inbox()))).message)


def ask(host: RealHost, path: str, body: object = None) -> Any:
    """What a host says over HTTP."""
    request = Request(
        f"{host.said['api']}/v1/{path}",
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Bearer {host.said['api_token']}", "Content-Type": "application/json"},
    )
    try:
        with urlopen(request, timeout=SEEN_S) as answer:
            return json.load(answer)
    except HTTPError as error:
        with error:
            return json.load(error)


async def route(host: RealHost, message: str) -> list[str]:
    """The hosts that an arrival came by, as its frames recorded and the journal of its host has."""
    async with asyncio.timeout(SEEN_S):
        while True:
            for one in (await asyncio.to_thread(ask, host, "rulings"))["rulings"]:
                if one["event"].startswith("arrived(") and message in one["event"]:
                    assert len(one["path"]) == one["hops"]
                    return [*one["path"], host.name]
            await asyncio.sleep(0.02)


def test_3_2_the_server_of_its_domain_knows_where_an_agent_is_and_others_learn_it(
    hosts: Hosts,
) -> None:
    """Who has never heard of an agent asks its home by writing; then it knows, and writes there."""
    law = ns.Law.load(FREE)

    async def story() -> None:
        async with caller(hosts["ward"], None) as ward, caller(hosts["icu"], None) as icu:
            await one_group(ward, 3)
            ann = await (await ward.agent("ann")).adopt(law)
            agent = await icu.agent("sue")
            sue = await agent.adopt(law)
            await agent.move("lab")
            routes: list[list[str]] = []
            while ["ward", "lab"] not in routes:  # that it is known there takes some time
                message = f"word{len(routes)}"
                await ann.send(message, to="sue@icu")
                assert await heard(sue) == message
                routes.append(await route(hosts["lab"], message))
            assert routes[0] == ["ward", "icu", "lab"]
            assert routes.count(["ward", "icu", "lab"]) == len(routes) - 1

    play(story())


def test_5_who_wrote_to_an_agent_is_told_of_its_move(hosts: Hosts) -> None:
    law = ns.Law.load(FREE)

    async def story() -> None:
        async with (
            caller(hosts["ward"], None) as ward,
            caller(hosts["icu"], None) as icu,
        ):
            await one_group(ward, 3)
            ann = await (await ward.agent("ann")).adopt(law)
            found: list[str] = []
            for wait in range(20):  # the news takes some time, which nobody sees from outside
                agent: Agent = await icu.agent(f"bob{wait}")
                bob = await agent.adopt(law)
                await ann.send("first", to=agent.id)
                assert await heard(bob) == "first"
                await agent.move("lab")
                await asyncio.sleep(0.05 * wait)
                await ann.send(f"second{wait}", to=agent.id)
                assert await heard(bob) == f"second{wait}"
                found = await route(hosts["lab"], f"second{wait}")
                if found == ["ward", "lab"]:
                    break
                assert found[1] == "icu", "by way of where it was"
            assert found == ["ward", "lab"], "straight to where it is"

    play(story())


def test_4_1_a_message_goes_only_if_its_receiver_is_here(hosts: Hosts) -> None:
    """The language's `iflocal`: who is elsewhere gets nothing, and the sender knows at once."""
    law = ns.Law.load(FREE)

    async def story() -> None:
        async with caller(hosts["ward"], None) as ward, caller(hosts["icu"], None) as icu:
            await one_group(ward, 3)
            cid = await (await ward.agent("cid")).adopt(law)
            dee = await (await ward.agent("dee")).adopt(law)
            eve = await (await icu.agent("eve")).adopt(law)
            await cid.send("near", to="dee@ward", here=True)
            assert await heard(dee) == "near"
            with pytest.raises(Unavailable) as refused:
                await cid.send("lost", to=["dee@ward", "eve@icu"], here=True)
            assert refused.value.code == "host.not-here"
            assert "eve@icu is not at ward" in str(refused.value)
            await cid.send("found", to=["dee@ward", "eve@icu"])
            assert [await heard(dee), await heard(eve)] == ["found", "found"]

    play(story())
    base = "agents/fay@ward/communities"
    assert "code" not in ask(hosts["ward"], base, {"law": law.hash})
    message = {"message": "lost", "to": "eve@icu", "here": True}
    answer = ask(hosts["ward"], f"{base}/{law.hash}/send", message)
    assert answer["code"] == "host.not-here"
