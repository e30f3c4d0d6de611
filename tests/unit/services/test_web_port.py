"""Connections of HTTP services: who rests makes room, and whose requests are heard."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from nomospace.node.listen import PortLimits
from nomospace.node.services import web_port
from nomospace.node.services.web import Web, application, caller_of, tokens
from nomospace.node.services.web_port import Vetted

SMALL = PortLimits(strangers_max=4, strangers_per_address_max=4, stranger_s=30)
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cret\r\n\r\n"


def run(program: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(program, 120))


async def who(request: Request) -> Response:
    return PlainTextResponse(caller_of(request, tokens({"ops": "s3cret"}), "to ask"))


async def until_end(reader: asyncio.StreamReader) -> None:
    try:
        await reader.read()
    except ConnectionResetError:
        return


def test_who_has_shown_a_token_and_rests_makes_room_for_who_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_port, "LIMITS", SMALL)

    async def program() -> None:
        async with Web(application([Route("/", who)])) as served:
            held = []
            for _ in range(4):
                reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
                writer.write(ASK)
                await reader.readuntil(b"ops")
                held.append((reader, writer))
            async with httpx.AsyncClient(trust_env=False) as client:
                told = await client.get(served.url, headers={"authorization": "Bearer s3cret"})
                assert told.text == "ops"
            await until_end(held[0][0])  # the one that has rested longest
            held[1][1].write(ASK)
            await held[1][0].readuntil(b"ops")  # the others are there still
            for _, writer in held:
                writer.close()

    run(program())


def test_a_request_that_is_under_way_is_nobodys_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_port, "LIMITS", SMALL)
    go_on = asyncio.Event()

    async def slow(request: Request) -> Response:
        told = await who(request)
        await go_on.wait()
        return told

    async def program() -> None:
        async with Web(application([Route("/", slow)])) as served:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(ASK)
            crowd = []
            for _ in range(20):
                crowd.append(await asyncio.open_connection("127.0.0.1", served.port))
                await asyncio.sleep(0.01)
            go_on.set()
            await reader.readuntil(b"ops")
            for one in (writer, *[writer for _, writer in crowd]):
                one.transport.abort()

    run(program())


@pytest.mark.parametrize(
    ("host", "heard"),
    [
        ("ward.example", True),
        ("WARD.example.:8443", True),
        ("10.1.2.3:8443", True),
        ("localhost:9", True),
        ("127.0.0.9", True),
        ("[::1]:8443", True),
        ("10.1.2.4", False),
        ("ward.example.evil", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("0x7f.1", False),
        ("", False),
    ],
)
def test_names_that_a_service_answers_to(host: str, heard: bool) -> None:
    app = Vetted(application([Route("/", lambda _: PlainTextResponse("yes"))]), ["ward.example"])

    async def program() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "query_string": b"",
            "headers": [(b"host", host.encode())],
            "scheme": "https",
            "server": ("10.1.2.3", 8443),
        }
        said: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            said.append(message)

        await app(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]
        assert said[0]["status"] == (200 if heard else 421)
        assert dict(said[0]["headers"])[b"x-content-type-options"] == b"nosniff"

    run(program())
