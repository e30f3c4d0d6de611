"""`nomospace mcp` as models meet it: the SDK's own client, over pipes and HTTP, on a real host.

The model here is a script, but it does what models do: it reads what it is told, tries, is refused,
asks why, and mends its ways by the words of the answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import nomospace as ns
from nomospace import laws, t
from nomospace.client.laws import load_law
from nomospace.client.remote import RemoteHost
from tests.unit.cli.running import READY_S, command, running

SECRET: Final = "a-secret-of-this-test-alone"
EVENTS: Final = "nomospace://events"
SB: Final = load_law(laws.path("sb"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("exchange"), "exchange", "--store", "memory") as found:
        yield found


class Model:
    """A model: it knows its tools, and what they answered."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.said = ""

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Use a tool; what it said is in `said`, its data is given."""
        answer = await self._client.call_tool(name, arguments)
        self.said = "".join(getattr(part, "text", "") for part in answer.content)
        data: dict[str, Any] = answer.structured_content
        return data | {"is_error": answer.is_error}

    async def bid(self, provider: str, event: dict[str, Any]) -> dict[str, Any]:
        """Offer what a request asks for."""
        client, service = [field.partition("(")[2][:-1] for field in event["tuple"]["fields"]]
        offer = [f"offerFor({client},{service})", "fee(40)", f"provider({provider})", "contact(x)"]
        return await self.call("write", space="market", fields=offer)


def test_a_model_bids_is_refused_learns_why_and_succeeds(url: str, tmp_path: Path) -> None:
    arguments = f"-m nomospace.cli mcp --connect {url} --agent bidder --law sb".split()
    start = StdioServerParameters(
        command=sys.executable,
        args=[*arguments, "--claim", "serviceProvider"],
        cwd=tmp_path,
        env={"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]},  # where tests keep hosts' tokens
    )

    async def customer(host: RemoteHost) -> ns.Space:
        carl = await host.agent("carl")
        await carl.adopt(SB)
        market = await carl.space("market", shared=True, law=SB)
        await market.out(t.requester("carl@exchange"), t.service("painting"))
        return market

    async def program() -> None:
        async with asyncio.timeout(60), ns.connect(url) as host, Client(start) as client:
            market = await customer(host)
            model = Model(client)
            assert client.instructions is not None
            me = client.instructions.partition("You are ")[2].partition(",")[0]
            assert "A provider may bid in its own name." in await _page(client, "nomospace://law")

            async with client.listen(resource_subscriptions=[EVENTS]) as news:
                template = ["requester(_)", "service(_)"]
                assert not (await model.call("react", space="market", template=template))[
                    "is_error"
                ]
                await anext(news)
            (event,) = (await model.call("events"))["events"]

            refused = await model.bid("'best@exchange'", event)
            assert (refused["is_error"], refused["code"]) == (True, "law.refused")
            why = await model.call("why", ruling=refused["ruling"])
            assert why["refused"]
            assert "in its own name" in model.said
            assert not (await model.bid(f"'{me}'", event))["is_error"]

            theirs = ["offerFor('carl@exchange',_)", "fee(_)", "provider(_)", "contact(_)"]
            spied = await model.call("read", space="market", template=theirs)
            assert spied["is_error"]  # even its own bid is its client's to read, and no one else's
            wanted = (
                t.offerFor("carl@exchange", ns.ANY),
                t.fee(int),
                t.provider(ns.ANY),
                t.contact(ns.ANY),
            )
            found = await market.take(*wanted, timeout=60)
            assert found[2] == t.provider("bidder@exchange")
            assert me == "bidder@exchange"

    asyncio.run(program())


def test_over_http(url: str, tmp_path: Path) -> None:
    options = ["--connect", url, "--agent", "web", "--http", "127.0.0.1:0", "--json"]
    with command(tmp_path, "mcp", *options, "--http-token", SECRET) as child:
        ready, _, _ = select.select([child.stdout], [], [], READY_S)
        assert ready, (tmp_path / "command.log").read_text()
        address = json.loads(child.stdout.readline())["url"]
        asyncio.run(_over_http(address))
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
    assert SECRET not in (tmp_path / "command.log").read_text()


async def _over_http(address: str) -> None:
    async with asyncio.timeout(60), httpx2.AsyncClient() as anyone:
        for headers in ({}, {"Authorization": "Bearer guess"}, {"Authorization": SECRET}):
            answer = await anyone.post(address, json={}, headers=headers)
            assert answer.status_code == 401
            assert answer.json()["code"] == "services.no-token"
        right = {"Authorization": f"Bearer {SECRET}"}
        large = await anyone.post(address, content=b" " * (1 << 21), headers=right)
        assert large.status_code == 413
        elsewhere = await anyone.post(address, json={}, headers=right | {"Host": "evil.example"})
        assert elsewhere.status_code == 421
    for mode in ("auto", "legacy"):
        async with (
            asyncio.timeout(60),
            httpx2.AsyncClient(headers=right) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            model = Model(client)
            if mode == "auto":
                async with client.listen(resource_subscriptions=[EVENTS]) as news:
                    await model.call("react", space="jobs", template=["job", "_"])
                    await model.call("write", space="jobs", fields=["job", 16])
                    await anext(news)
            await model.call("write", space="jobs", fields=["job", 17])
            took = await model.call("take", space="jobs", template=["job", "_:int"], wait_s=60)
            assert took["tuple"]["id"].startswith("web@exchange#")
            for priority in (0, 5):
                urgent = {"fields": ["urgent", priority], "priority": priority}
                await model.call("write", space="jobs", **urgent)
            took = await model.call("take", space="jobs", template=["urgent", "_:int"])
            assert took["tuple"]["fields"] == ["urgent", "5"]
            assert (await model.call("write", space="jobs", fields=["x"], priority=1.5))["is_error"]
            assert "jobs, shared" in await _page(client, "nomospace://spaces")


async def _page(client: Client, address: str) -> str:
    (content,) = (await client.read_resource(address)).contents
    return str(getattr(content, "text", ""))
