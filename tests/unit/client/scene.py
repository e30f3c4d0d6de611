"""A host, and a client that reaches it through a proxy which may break."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import nomospace as ns
from nomospace import ANY
from nomospace.client import Report, Space
from nomospace.client.remote import RemoteHost, connect
from nomospace.law import load
from tests.serving import Proxy, ServedHost, serve

ECHO = load("""
law(echo).
R1. sent(X, say(M), Y) :- do(forward).
R2. sent(X, M, Y) :- do(forward).
R3. arrived(X, M, Y) :- do(deliver).
""")


ONCE = load("""
law(once).
initialCS([slot]).
R1. adopted(_) :- do(+here).
R2. sent(X, M, Y) :- slot@CS, do(-slot), do(forward).
R3. arrived(X, M, Y) :- do(deliver).
""")


class Scene:
    """A host with a port, a proxy before it, and a client that goes through the proxy."""

    def __init__(self, host: ServedHost, url: str, proxy: Proxy, far: RemoteHost) -> None:
        self.host = host
        self.url = url
        self.proxy = proxy
        self.far = far
        self.reports: list[Report] = []
        far.on_report = self.reports.append

    async def jobs(self, agent: str = "nurse", **options: Any) -> Space:
        """The space `jobs` of an agent of the client."""
        return await (await self.far.agent(agent)).space("jobs", shared=True, **options)

    async def asked(self, count: int = 1) -> None:
        """Wait until so many calls wait at the host."""
        await until(lambda: sum(len(session.calls) for session in self.host.served.all) == count)

    async def part(self) -> None:
        """End the connection, and have no other, until the proxy is open again."""
        self.proxy.closed = True
        self.proxy.cut()
        await until(lambda: all(session.link is None for session in self.host.served.all))

    async def left(self) -> list[ns.Tuple]:
        """What the host has in that space, as a program of its own sees it."""
        clerk = await self.host.agent("clerk")
        return await (await clerk.space("jobs", shared=True)).read_all(ANY, ANY)


def in_scene(program: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    """Run a program; `options` are those of `connect`, and of the host where it knows them."""
    hosting = {name: options.pop(name) for name in ("store", "door") if name in options}

    async def play() -> None:
        options.setdefault("reconnect_s", 60)
        async with (
            ServedHost("ward", **hosting) as host,
            serve(host) as url,
            Proxy(int(url.rpartition(":")[2])) as proxy,
        ):
            async with connect(proxy.url, **options) as far:
                await program(Scene(host, url, proxy, far))
                proxy.calm()
            await until(lambda: not host.served.all)
            assert not host.served._ops
            assert not host._local.early

    async def bounded() -> None:
        async with asyncio.timeout(120):
            await play()

    asyncio.run(bounded())


async def until(true: Callable[[], bool]) -> None:
    """Wait for something; not for ever, as the scene ends in time."""
    while not true():
        await asyncio.sleep(0.005)
