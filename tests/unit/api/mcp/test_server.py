"""The protocol, with the SDK's own client in the same process, in both eras of it."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

import nomospace as ns
from nomospace.api.mcp import pages, server, tools
from nomospace.api.mcp.member import EVENTS, ModelMember
from nomospace.node.services.web import PlainAddress

ERAS = ("legacy", "2026-07-28")


def play(mode: str, script: Callable[[Client, ModelMember, list[Any]], Awaitable[None]]) -> None:
    """Run a script with a client of a model's server."""

    async def program() -> None:
        heard: list[Any] = []

        async def hear(message: Any) -> None:
            heard.append(message)

        async with (
            asyncio.timeout(120),
            ns.Host("ward") as host,
            await ModelMember.join(await host.agent("model")) as member,
            Client(server.build(member), mode=mode, message_handler=hear) as client,
        ):
            await script(client, member, heard)

    asyncio.run(program())


@pytest.mark.parametrize("mode", ERAS)
def test_tools_and_pages(mode: str) -> None:
    async def script(client: Client, member: ModelMember, heard: list[Any]) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(tools.TOOLS)
        hints = {tool.name: tool.annotations for tool in listed}
        assert hints["take"] is not None
        assert (hints["take"].destructive_hint, hints["take"].read_only_hint) == (True, False)
        done = await client.call_tool("write", {"space": "jobs", "fields": ["job", 17]})
        assert not done.is_error
        assert done.structured_content == {"space": "jobs", "fields": ["job", "17"]}
        wrong = await client.call_tool("write", {"space": "jobs", "fields": ["Job"]})
        assert wrong.is_error  # an answer, and no failure of the protocol
        listing = (await client.list_resources()).resources
        assert [str(page.uri) for page in listing] == list(pages.PAGES)
        (content,) = (await client.read_resource(pages.SPACES)).contents
        assert isinstance(content, types.TextResourceContents)
        assert "jobs, shared" in content.text
        with pytest.raises(MCPError, match="there is no page"):
            await client.read_resource("nomospace://elsewhere")

    play(mode, script)


def test_a_call_that_is_cancelled_takes_nothing() -> None:
    async def script(client: Client, member: ModelMember, heard: list[Any]) -> None:
        asked = {"space": "jobs", "template": ["job", "_"], "wait_s": 60}
        call = asyncio.create_task(client.call_tool("take", asked))
        while not member.spaces:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await client.call_tool("write", {"space": "jobs", "fields": ["job", 17]})
        read = await client.call_tool("read", {"space": "jobs", "template": ["job", "_"]})
        assert len(read.structured_content["tuples"]) == 1

    for mode in ERAS:
        play(mode, script)


def test_calls_at_once_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CALLS_MAX", 2)

    async def script(client: Client, member: ModelMember, heard: list[Any]) -> None:
        asked = {"space": "jobs", "template": ["job", "_"], "wait_s": 0.3}
        answers = await asyncio.gather(*[client.call_tool("read", asked) for _ in range(3)])
        assert [answer.is_error for answer in answers] == [False, False, True]
        assert answers[2].structured_content == {"code": "mcp.too-many"}
        assert not (await client.call_tool("read", asked)).is_error

    play("legacy", script)


def test_subscribers_of_the_earlier_era_are_told() -> None:
    async def script(client: Client, member: ModelMember, heard: list[Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await client.subscribe_resource(EVENTS)
            await client.subscribe_resource(EVENTS)
        await client.call_tool("react", {"space": "jobs", "template": ["_"]})
        await client.call_tool("write", {"space": "jobs", "fields": ["x"]})
        while not heard:
            await asyncio.sleep(0.005)
        (told,) = heard  # once, though it has subscribed twice
        assert isinstance(told, types.ResourceUpdatedNotification)
        assert told.params.uri == EVENTS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await client.unsubscribe_resource(EVENTS)
        await client.call_tool("events", {})
        await client.call_tool("write", {"space": "jobs", "fields": ["y"]})
        await client.call_tool("events", {"wait_s": 5})
        assert len(heard) == 1

    play("legacy", script)


def test_listeners_of_the_later_era_are_told() -> None:
    async def script(client: Client, member: ModelMember, heard: list[Any]) -> None:
        async with client.listen(resource_subscriptions=[EVENTS]) as news:
            await client.call_tool("react", {"space": "jobs", "template": ["_"]})
            await client.call_tool("write", {"space": "jobs", "fields": ["x"]})
            assert (await anext(news)).uri == EVENTS  # type: ignore[union-attr]

    play("2026-07-28", script)


def test_lines_are_json_and_have_a_limit() -> None:
    async def program() -> None:
        reader, refused = asyncio.StreamReader(limit=16), list[str]()
        lines = server._Lines(reader, refused.append)
        reader.feed_data(b'"short"\n')
        assert await anext(lines) == '"short"\n'
        long = asyncio.create_task(anext(lines))
        for _ in range(10):
            reader.feed_data(b"1" * 20)
            await asyncio.sleep(0)
        reader.feed_data(b"\n2\n")
        assert await long == "2\n"
        assert len(refused) == 1, "it was too large"
        reader.feed_data(b'{\n["\\ud83d"]\n\xff\n3\n')
        assert await anext(lines) == "3\n"
        assert len(refused) == 4
        waiting = asyncio.create_task(anext(lines))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        reader.feed_data(b"4")
        reader.feed_eof()
        assert await anext(lines) == "4"
        with pytest.raises(StopAsyncIteration):
            await anext(lines)

    asyncio.run(program())


@pytest.mark.parametrize("stdin", [os.devnull, __file__])
def test_what_is_no_pipe_is_refused(stdin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(stdin).open() as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        with pytest.raises(server.NoPipe):
            asyncio.run(server.serve_stdio(cast("ModelMember", None)))


def test_http_wants_a_secret() -> None:
    async def program() -> None:
        async with (
            ns.Host("ward") as host,
            await ModelMember.join(await host.agent("model")) as member,
        ):
            with pytest.raises(server.WeakSecret, match="0 characters are no secret"):
                await server.serve_http(member, "127.0.0.1", 0, secret="", ready=print)
            with pytest.raises(PlainAddress, match="on the loopback only"):
                await server.serve_http(member, "0.0.0.0", 0, secret="s" * 32, ready=print)

    asyncio.run(program())
