"""Hosts that serve clients over real sockets, in the event loop of a test.

`ServedHost` is a host of this process with sessions, and `serve` opens a port for it. `Proxy`
stands between a client and a host, and cuts the connection where a test wants it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, cast

from nomospace.errors import NomospaceError
from nomospace.host.calls import Event, LawText
from nomospace.host.effects import Answer, Effect, Persist
from nomospace.law import CompiledLaw, load
from nomospace.node import Host
from nomospace.node.clients import ClientLink, Clients, Door, OpenDoor
from nomospace.node.sessions import Outgoing, Sessions
from nomospace.store.interface import Kept, Step
from nomospace.wire.calls import LawUnknown
from nomospace.wire.talk import CLIENT_PROGRAM


class ServedHost(Host):
    """A host of this process that clients can connect to."""

    def __init__(self, name: str, *, door: Door | None = None, **options: Any) -> None:
        self.grace_us: int = options.pop("grace_us", 600_000_000)
        super().__init__(name, **options)
        self.door = door or OpenDoor()
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.addresses: dict[str, str] = {}
        self.trimmed: dict[str, int] = {}
        self.sessions: Sessions | None = None
        self.clients: Clients
        admits, reads = self._stage.admits, self._stage.reads
        self._stage.admits = lambda agent, program, code: (  # type: ignore[method-assign]
            "" if program == CLIENT_PROGRAM else admits(agent, program, code)
        )
        self._stage.reads = lambda program, code, state: (  # type: ignore[method-assign]
            "" if program == CLIENT_PROGRAM else reads(program, code, state)
        )

    async def start(self) -> None:
        await super().start()
        if self.sessions is None:
            life = self._running().life
            first = secrets.randbits(30) << 32
            self.sessions = Sessions(self, life=life, first=first, grace_us=self.grace_us)
            self.clients = Clients(
                self.sessions,
                host=self.name,
                life=life,
                door=self.door,
                laws=self.law,
                laws_of=lambda agent: [
                    (law.hash, law.name) for law in self._running().laws_of(agent)
                ],
                note=self.note,
            )

    # -- the gate of its sessions ----------------------------------------------------------------

    def tell(self, event: Event) -> None:
        keeper = self._keeper
        if keeper is not None and keeper.trouble is not None:
            raise keeper.trouble
        self._tell(event)

    def seat(self, agent: str) -> None:
        core = self._running()
        if agent not in core.agents and not agent.endswith(f"@{self.name}"):
            from nomospace.node import AgentAway

            raise AgentAway(agent=agent, host=self.name)
        self._agent_of(agent)

    def keep(self, kept: Sequence[Kept]) -> None:
        if self._keeper is not None:
            self._keeper.put(Step(outbox=tuple(kept)))

    def trim(self, key: str, number: int) -> None:
        if self._keeper is not None:
            self._keeper.store.trim(key, number)

    def note(self, what: str, facts: dict[str, Any]) -> None:
        self.notes.append((what, facts))

    def address_of(self, host: str) -> str:
        return self.addresses.get(host, "")

    def law(self, law: str | LawText) -> CompiledLaw:
        if isinstance(law, str):
            found = self._running().governing.law(law)
            if found is None:
                raise LawUnknown(hash=law)
            return found
        return load(law.text, law.name)

    # -- carrying out ------------------------------------------------------------------------------

    def _carry(self, effects: list[Effect]) -> None:
        sessions, keeper = self.sessions, self._keeper
        if not effects:
            return
        first = effects[0]
        persisted = first.__class__ is Persist and keeper is not None
        kept = () if sessions is None else sessions.outputs(effects, persisted)  # type: ignore[arg-type]
        if keeper is None:
            self._do(effects)
        elif isinstance(first, Persist):
            self._behind.append((keeper.last + 1, effects))
            keeper.put(Step(first.changes, kept))
        elif self._behind:
            self._behind.append((keeper.last, effects))
        else:
            self._do(effects)

    def _do(self, effects: list[Effect]) -> None:
        last: Any = effects[-1] if effects else None
        if last.__class__ is Outgoing:
            effects.pop()
        if effects:
            super()._do(effects)
        if last.__class__ is Outgoing:
            assert self.sessions is not None
            self.sessions.release(last)


class _Preface(asyncio.Protocol):
    """Takes the first frame of a plain connection off, as the port of a host does."""

    def __init__(self, make: Callable[[], ClientLink]) -> None:
        self._make = make
        self._said = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from the class of that name.
        self._transport = cast("asyncio.Transport", transport)

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
    server = await loop.create_server(lambda: _Preface(host.clients.receive), "127.0.0.1", port)
    at = server.sockets[0].getsockname()[1]
    try:
        yield f"nomos+plain://127.0.0.1:{at}"
    finally:
        server.close()
        host.clients.stop()


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
        self.connections = 0
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
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_up(self, after: int) -> None:
        """Cut after so many bytes from clients."""
        self._left["up"] = after

    def cut_down(self, after: int) -> None:
        """Cut after so many bytes from the host."""
        self._left["down"] = after

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
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
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
                left = self._left[way]
                if left is not None and len(data) >= left:
                    sink.write(data[:left])
                    await sink.drain()
                    await asyncio.sleep(0.002)  # what is before the cut arrives
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


__all__ = ["Answer", "NomospaceError", "Proxy", "ServedHost", "serve"]
