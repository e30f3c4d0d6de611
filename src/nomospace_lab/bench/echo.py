"""The floor of everything that crosses a connection: frames that come straight back.

The same framing, the same transport and the same event loop as a host has, and nothing behind it.
`python -m nomospace_lab.bench.echo` serves on a free port and says it as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import cast

from nomospace.wire.framing import Framer, join

FRAME_BYTES_MAX = 1 << 20


class Echo(asyncio.Protocol):
    """Sends every frame back; those of one read in one write."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._framer = Framer(FRAME_BYTES_MAX)

    def data_received(self, data: bytes) -> None:
        self._transport.write(join(list(self._framer.feed(data))))


class EchoClient(asyncio.Protocol):
    """Asks with a frame and awaits the frame that comes back, as any client of ours does."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._framer = Framer(FRAME_BYTES_MAX)
        self._loop = asyncio.get_running_loop()
        self._out: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for frame in self._framer.feed(data):
            self._waiting.popleft().set_result(frame)

    def ask(self, frame: bytes) -> asyncio.Future[bytes]:
        """Send a frame, with all others of this turn; the answer."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(frame)
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.append(future)
        return future

    def ask_now(self, frame: bytes) -> asyncio.Future[bytes]:
        """Send a frame at once; the answer."""
        self._transport.write(join([frame]))
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.append(future)
        return future

    def _flush(self) -> None:
        out, self._out = self._out, []
        self._transport.write(join(out))

    def close(self) -> None:
        """End the connection."""
        self._transport.close()


async def serve() -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    from nomospace.node.loops import run_loop

    run_loop(serve())
