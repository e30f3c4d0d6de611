"""A link that can be cut, slowed and healed: a small proxy before a real port.

Others dial the proxy and never the port behind it. `cut` stops all bytes without ending a
connection, as a network that is gone does; `reset` ends all connections; `delay` slows each piece.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Self

HELD_BYTES_MAX: Final = 256 << 10
"""What the proxy itself takes while it is cut; then the sender has to wait, as on a real link."""

TURNS: Final = 5
"""For so many turns of the loop nobody may be seen before the proxy has ended."""


class _End(asyncio.Protocol):
    """One end of a connection through the proxy; what it reads, its other end writes."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.other: _End | None = None
        self.transport: Any = None
        self.held: list[bytes] = []
        self.size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.proxy.ends[self] = None

    def data_received(self, data: bytes) -> None:
        self.held.append(data)
        self.size += len(data)
        if self.proxy.delay:
            self.proxy.loop.call_later(self.proxy.delay, self.pass_on)
        else:
            self.pass_on()
        if self.size > HELD_BYTES_MAX and not self.transport.is_closing():
            self.transport.pause_reading()

    def pass_on(self) -> None:
        if self.proxy.is_cut or self.other is None or self.other.transport is None:
            return
        held, self.held = self.held, []
        if self.size > HELD_BYTES_MAX and not self.transport.is_closing():
            self.transport.resume_reading()
        self.size = 0
        if held and not self.other.transport.is_closing():
            self.other.transport.write(b"".join(held))

    def connection_lost(self, exc: Exception | None) -> None:
        self.proxy.ends.pop(self, None)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.abort()


class _Front(_End):
    """The end that was dialled: it dials the port behind."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.proxy.connections += 1
        task = self.proxy.loop.create_task(self.dial())
        self.proxy.tasks[task] = None
        task.add_done_callback(lambda task: self.proxy.tasks.pop(task, None))

    async def dial(self) -> None:
        try:
            _, back = await self.proxy.loop.create_connection(
                lambda: _End(self.proxy), *self.proxy.target
            )
        except OSError:
            self.transport.abort()
            return
        self.other, back.other = back, self
        if self.transport.is_closing():
            back.transport.abort()
        self.pass_on()
        back.pass_on()


class Proxy:
    """Passes bytes between callers and a port; on a loopback address of its own if one is given."""

    def __init__(self, host: str, port: int, *, at: str = "127.0.0.1") -> None:
        self.target = (host, port)
        self.ends: dict[_End, None] = {}
        self.tasks: dict[asyncio.Task[None], None] = {}
        self.is_cut = False
        self.delay = 0.0
        self.connections = 0
        self._at = at

    async def __aenter__(self) -> Self:
        self.loop = asyncio.get_running_loop()
        self._server = await self.loop.create_server(lambda: _Front(self), self._at, 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        # Whoever was taken in just now is seen some turns of the loop later.
        turns = 0
        while turns < TURNS:
            for task in list(self.tasks):
                task.cancel()
            self.reset()
            await asyncio.sleep(0.001)
            turns = 0 if self.ends or self.tasks else turns + 1

    @property
    def address(self) -> str:
        """Where to dial it."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    def cut(self) -> None:
        """Nothing gets through, and nobody is told."""
        self.is_cut = True

    def heal(self) -> None:
        """Bytes get through again, those that waited first."""
        self.is_cut = False
        for end in list(self.ends):
            end.pass_on()

    def reset(self) -> None:
        """End all connections at once."""
        for end in list(self.ends):
            end.transport.abort()
