"""A link that can be cut, slowed and healed: a small proxy before a real port.

Others dial the proxy and never the port behind it. `cut` stops all bytes without ending a
connection, as a network that is gone does; `reset` ends all connections; `delay` slows each piece.
"""

from __future__ import annotations

import asyncio


class Proxy:
    """Passes bytes between callers and a port; on a loopback address of its own if one is given."""

    def __init__(self, host: str, port: int, *, at: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._at = at
        self._server: asyncio.Server | None = None
        self._writers: dict[asyncio.StreamWriter, None] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._open = asyncio.Event()
        self._open.set()
        self.delay = 0.0
        self.connections = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, self._at, 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.heal()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=2)

    @property
    def address(self) -> str:
        """Where to dial it."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    def cut(self) -> None:
        """Nothing gets through, and nobody is told."""
        self._open.clear()

    def heal(self) -> None:
        """Bytes get through again, those that waited first."""
        self._open.set()

    def reset(self) -> None:
        """End all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers[writer] = None
        try:
            await self._open.wait()
            there_reader, there = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            self._writers.pop(writer, None)
            return
        self._writers[there] = None
        for source, drain in ((reader, there), (there_reader, writer)):
            task = asyncio.ensure_future(self._pump(source, drain))
            self._tasks[task] = None
            task.add_done_callback(lambda task: self._tasks.pop(task, None))

    async def _pump(self, source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await self._open.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                drain.write(data)
                await drain.drain()
        except OSError:
            pass
        finally:
            drain.transport.abort()
            self._writers.pop(drain, None)
