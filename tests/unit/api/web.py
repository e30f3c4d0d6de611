"""A host of the test's own with its HTTP API, asked without a socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx

from nomospace.api.guard import Buckets
from nomospace.api.http import application
from nomospace.api.service import Service
from nomospace.calls.problems import NotLetIn
from nomospace.node.config import read_config
from nomospace.node.principals import OpenDoor, Principal
from nomospace.node.serve import Server

AGENT: Final = "/v1/agents/ann@ward"


class TwoTokens(OpenDoor):
    """A door with an operator's token and an agent's."""

    def by_token(self, token: str) -> Principal:
        if token == "ops":
            return Principal("token ops", (), operator=True)
        if token == "ann":
            return Principal("token ann", ("ann@ward",))
        raise NotLetIn(why="this token is not known here")


class Web:
    """A client of the API, that shows a token."""

    def __init__(self, server: Server, service: Service, client: httpx.AsyncClient) -> None:
        self.server = server
        self.service = service
        self.client = client

    async def __call__(
        self, method: str, path: str, body: Any = None, *, token: str = "ann", **more: Any
    ) -> Any:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers |= more.pop("headers", {})
        if "content" not in more:
            more["json"] = body
        answer = await self.client.request(method, path, headers=headers, **more)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            told = answer.json()
            assert told["status"] == answer.status_code
            assert told["type"] == f"urn:nomospace:error:{told['code']}"
        return answer


@asynccontextmanager
async def served(buckets: Buckets | None = None) -> AsyncIterator[Web]:
    told = read_config("", "test", name="ward", insecure=True, store="memory", listen="127.0.0.1:0")
    async with Server(told) as server:
        service = Service(server, TwoTokens())
        service.own_token = ""
        transport = httpx.ASGITransport(application(service, buckets=buckets))
        async with httpx.AsyncClient(transport=transport, base_url="http://ward") as client:
            yield Web(server, service, client)
        service.close()


def on_the_web(work: Callable[[Web], Awaitable[None]], buckets: Buckets | None = None) -> None:
    async def program() -> None:
        async with asyncio.timeout(120), served(buckets) as web:
            await work(web)

    asyncio.run(program())
