"""Hosts that serve clients over real sockets, in the event loop of a test.

`ServedHost` is a host of this process with sessions, and `serve` opens a port for it. `Proxy`
stands between a client and a host, and cuts the connection where a test wants it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, cast

from nomospace.calls.requests import LawText, OntologyText
from nomospace.host.effects import Effect
from nomospace.node import Host
from nomospace.node.client_link import ClientLink
from nomospace.node.clients import Clients
from nomospace.node.principals import Door, OpenDoor, Standings
from nomospace.node.turns import Turns
from nomospace.sessions.host_session import Gate, Outgoing
from nomospace.wire.calls import LawShelf
from tests.proxy import TURNS


class ServedHost(Host):
    """A host of this process that clients can connect to.

    `notes` has what its clients were refused, `addresses` what it knows of other hosts.
    """

    def __init__(self, name: str, *, door: Door | None = None, **options: Any) -> None:
        self.notes: list[tuple[str, dict[str, Any]]] = []
        options["on_report"] = lambda report: self.notes.append((report.what, report.facts))
        super().__init__(name, **options)
        self.addresses: dict[str, str] = {}
        self.clients: Clients
        self.mute = False
        """Whether answers are kept and not sent: the moment between disk and wire."""
        self.standings = Standings(door or OpenDoor())
        self.turns = _Prompt()

    async def start(self) -> None:
        await super().start()
        keep = LawShelf(self.law)
        self.served._gate = _Addressed(self.served._gate, self.addresses)
        self.clients = Clients(
            self,
            standings=self.standings,
            laws=keep,
            note=lambda what, facts: self.notes.append((what, facts)),
            ready=lambda text: None,
            read=_unread,
        )

    def kill(self) -> None:
        """End as a process does that is killed: what is on disk stays, and nothing else."""
        self._end()
        self.clients.stop()

    def _do(self, effects: Sequence[Effect | Outgoing]) -> None:
        if self.mute:
            effects = [effect for effect in effects if not isinstance(effect, Outgoing)]
        super()._do(effects)


async def _unread(text: LawText | OntologyText, agent: str) -> None:
    """Laws are compiled as they come, so nothing is left to be read."""
    raise AssertionError(f"a text of {agent} was not ready: {text.hash}")


class _Prompt(Turns):
    """Turns in which nothing takes any time: what is little is done at once on any machine."""

    def __init__(self) -> None:
        super().__init__(float, float)

    def _puts_off(self, now: float) -> bool:
        return False  # no time passes, so it would be for ever


class _Addressed:
    """The gate of a host's sessions, with addresses that a test has made up."""

    def __init__(self, gate: Gate, addresses: dict[str, str]) -> None:
        self.tell = gate.tell
        self.tell_many = gate.tell_many
        self.seat = gate.seat
        self.vacate = gate.vacate
        self.keep = gate.keep
        self.bring = gate.bring
        self.unreleased = gate.unreleased
        self.trim = gate.trim
        self.note = gate.note
        self.held = gate.held
        self.here = gate.here
        self._addresses = addresses

    def address_of(self, host: str) -> str:
        return self._addresses.get(host, "")


class _Preface(asyncio.Protocol):
    """Takes the first frame of a plain connection off, as the port of a host does."""

    def __init__(self, make: Callable[[], ClientLink], open: list[asyncio.Transport]) -> None:
        self._make = make
        self._said = b""
        self._open = open
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from the class of that name.
        self._transport = cast("asyncio.Transport", transport)
        self._open.append(self._transport)

    def data_received(self, data: bytes) -> None:
        self._said += data
        if len(self._said) < 18:
            return
        link = self._make()
        self._transport.set_protocol(link)
        link.connection_made(self._transport)
        if self._said[18:]:
            link.data_received(self._said[18:])


@asynccontextmanager
async def serve(host: ServedHost, port: int = 0) -> AsyncIterator[str]:
    """A port of a host for clients; gives its address."""
    loop = asyncio.get_running_loop()
    opened: list[asyncio.Transport] = []
    server = await loop.create_server(
        lambda: _Preface(lambda: ClientLink(host.clients), opened), "127.0.0.1", port
    )
    at = server.sockets[0].getsockname()[1]
    try:
        yield f"nomos+plain://127.0.0.1:{at}"
    finally:
        server.close()
        host.clients.stop()
        for _ in range(TURNS):  # who was taken in just now is seen some turns of the loop later
            await asyncio.sleep(0)
            for transport in opened:
                if not transport.is_closing():
                    transport.abort()


class Proxy:
    """Between clients and a host. `cut_up(n)` ends the connection after `n` more bytes of the
    client, `cut_down(n)` after `n` more of the host; bytes up to there still arrive.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._server: asyncio.Server
        self._pairs: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []
        self._left: dict[str, int | None] = {"up": None, "down": None}
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0
        self.cutting = 0
        """How many cuts are about to be made."""
        self.connections = 0
        self.carried = 0
        """How often something came, from either side."""
        self.frozen = False
        """Whether nothing gets through, though no connection ends."""
        self.closed = False
        """Whether new connections are refused at once."""

    @property
    def url(self) -> str:
        return f"nomos+plain://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._come, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for _turn in range(TURNS):
            await asyncio.sleep(0)
            for task in list(self._tasks):
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_up(self, after: int) -> None:
        """Cut after so many bytes from clients, unless such a cut is still to come."""
        self._left["up"] = self._left["up"] or after

    def cut_down(self, after: int) -> None:
        """Cut after so many bytes from the host, unless such a cut is still to come."""
        self._left["down"] = self._left["down"] or after

    def calm(self) -> None:
        """Cut no more."""
        self._left = {"up": None, "down": None}

    def cut(self) -> None:
        """Cut now."""
        self.cuts += 1
        pairs, self._pairs = self._pairs, []
        for one, other in pairs:
            for writer in (one, other):
                if not writer.is_closing():
                    writer.transport.abort()

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.closed:
            writer.transport.abort()
            return
        self.connections += 1
        coming = asyncio.current_task()
        assert coming is not None
        self._tasks.add(coming)
        coming.add_done_callback(self._tasks.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
            return
        self._pairs.append((writer, far_writer))
        for way, source, sink in (("up", reader, far_writer), ("down", far_reader, writer)):
            task = asyncio.create_task(self._pump(way, source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(
        self, way: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        try:
            while data := await source.read(65536):
                self.carried += 1
                while self.frozen and not sink.is_closing():
                    await asyncio.sleep(0.005)
                left = self._left[way]
                if left is not None and len(data) >= left:
                    self.cutting += 1
                    try:
                        sink.write(data[:left])
                        await sink.drain()
                        await asyncio.sleep(0.002)  # what is before the cut arrives
                    finally:
                        self.cutting -= 1
                    self._left[way] = None
                    self.cut()
                    return
                if left is not None:
                    self._left[way] = left - len(data)
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            if not sink.is_closing():
                sink.transport.abort()
