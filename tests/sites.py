"""Hosts of one process on real sockets, for tests: a port, links and, if wanted, a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import uvloop

from nomospace.node.identity import Identity
from nomospace.node.listen import Listener, PortLimits
from nomospace.node.local import Host
from nomospace.node.tcp import TcpLinks
from nomospace.protocols.pace import Pace
from tests.trust_folder import TrustFolder

T = TypeVar("T")

QUICK: Final = Pace(heartbeat=100_000, loss=1_000_000)
"""Hosts of tests find each other, and notice a loss, sooner than usual; a machine that stands still
for less than a second parts none of them."""


def run_real(main: Coroutine[Any, Any, T], *, loop: str = "uvloop", seconds_max: float = 120) -> T:
    """Run in real time, on one of the two loops, and never for longer than that."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds_max):
            return await main

    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(bounded())


async def until(holds: Callable[[], bool], what: str = "it", *, seconds_max: float = 120) -> None:
    """Wait for something that is soon so."""
    ends = asyncio.get_running_loop().time() + seconds_max
    while not holds():
        assert asyncio.get_running_loop().time() < ends, f"{what} did not come to be"
        await asyncio.sleep(0.005)


class Notebook:
    """Takes notes and finds them again."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, what: str, /, **facts: Any) -> None:
        self.notes.append((what, facts))

    def whys(self, what: str) -> list[str]:
        """The reasons of all notes of a kind."""
        return [str(facts.get("why", "")) for kind, facts in self.notes if kind == what]


class Nobody(asyncio.Protocol):
    """Where no clients are served."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert hasattr(transport, "abort")
        transport.abort()


class Site:
    """A port and links of one name; `heard` is what came over them when no host listens."""

    def __init__(self, name: str, links: TcpLinks, port: Listener, notes: Notebook) -> None:
        self.name = name
        self.links = links
        self.port = port
        self.notes = notes
        self.host: Host
        self.heard: list[tuple[str, Any]] = []

    @property
    def address(self) -> str:
        """Where it is dialled."""
        return str(self.port.address)

    def send(self, to: str | None, frame: Any) -> None:
        """Send a frame over its links."""
        self.links.transmit(self.name, to, frame)


@asynccontextmanager
async def site(
    name: str,
    *seeds: str,
    trust: TrustFolder | None = None,
    identity: Identity | None = None,
    with_host: bool = False,
    known_as: str | None = None,
    limits: PortLimits | None = None,
    life: int | None = None,
    on_client: Any = None,
) -> AsyncIterator[Site]:
    """A running site. `known_as` is the address that others are told: a proxy's, or none at all."""
    notes = Notebook()
    if trust is not None:
        identity = Identity(trust.folder, name, on_note=notes)
    links = TcpLinks(name, identity=identity, seeds=seeds, on_note=notes, life=life, seed=1)
    port = Listener(
        "127.0.0.1:0",
        identity=identity,
        on_host=links.accept,
        on_client=on_client or (lambda _: Nobody()),
        on_note=notes,
        limits=limits,
    )
    here = Site(name, links, port, notes)
    await port.start()
    links.advertise = tuple(filter(None, [here.address if known_as is None else known_as]))
    await links.start()
    try:
        if with_host:
            here.host = Host(name, network=links, pace=QUICK)
            async with here.host:
                yield here
        else:
            links.join(name, lambda who, frame: here.heard.append((who, frame)))
            yield here
    finally:
        await links.stop()
        await port.stop()
