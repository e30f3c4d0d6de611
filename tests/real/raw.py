"""Connections of which every byte is the test's own: nothing keeps them to any rule."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any, Self

from nomospace.calls.requests import Request
from nomospace.client.dialling import trust_context
from nomospace.errors import NomospaceError
from nomospace.wire.framing import CLIENT, join
from nomospace.wire.talk import (
    CHALLENGE,
    FAILURE,
    REFUSAL,
    VERSION,
    WELCOME,
    ClientHello,
    pack_ask,
    pack_frame,
    read_error,
    unpack_frame,
)
from tests.real.hosts import RealHost
from tests.real.trust import Trust

WAIT_S = 60.0
SESSION = "a-session-that-all-know"


def client_context(trust: Trust) -> ssl.SSLContext:
    """What an honest client speaks TLS with."""
    return trust_context(trust.folder)


def careless_context(*protocols: str) -> ssl.SSLContext:
    """TLS that believes everybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class Raw:
    """One connection to a host's port."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._seq = 0

    @classmethod
    async def open(cls, host: RealHost, context: ssl.SSLContext | None) -> Raw:
        """Connect; over TLS if there is a context for it."""
        async with asyncio.timeout(WAIT_S):
            return cls(*await asyncio.open_connection(host.at, host.port, ssl=context))

    @classmethod
    async def client(cls, host: RealHost, trust: Trust | None) -> Raw:
        """Connect as clients do, up to the first word."""
        if trust is not None:
            return await cls.open(host, client_context(trust))
        made = await cls.open(host, None)
        made.send(join([CLIENT.encode()]))
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.abort()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)

    def close_writing(self) -> None:
        """Send nothing more; over TLS that ends the connection."""
        if self._writer.can_write_eof():
            with suppress(OSError):  # the host was quicker
                self._writer.write_eof()
        else:
            self._writer.close()

    def abort(self) -> None:
        """End the connection."""
        self._writer.transport.abort()

    async def rest(self) -> bytes:
        """All that comes until the host ends the connection."""
        try:
            async with asyncio.timeout(WAIT_S):
                await self._writer.drain()
                return await self._reader.read()
        except (ssl.SSLError, ConnectionError):
            return b""

    async def frame(self) -> list[Any]:
        """The next frame."""
        return unpack_frame(await self.body())

    async def body(self) -> bytes:
        """The bytes of the next frame."""
        async with asyncio.timeout(WAIT_S):
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            return await self._reader.readexactly(size)

    async def hello(self, agent: str, *, token: str = "", session: str = SESSION) -> list[Any]:
        """Say hello; the welcome. Raises what the host refuses it with."""
        self.send(join([pack_frame(ClientHello(VERSION, session, agent, token=token))]))
        frame = await self.frame()
        if frame[0] == REFUSAL:
            raise read_error(frame[1])
        assert frame[0] in (WELCOME, CHALLENGE), frame
        return frame

    def skip(self, calls: int) -> None:
        """So many calls were made in another way: the next number is that much higher."""
        self._seq += calls

    async def call(self, request: Request, *, texts: bool = False) -> NomospaceError | None:
        """Make a call; the error it is answered with, if it is."""
        self._seq += 1
        self.send(join([pack_ask(self._seq, 0, request, texts=texts)]))
        frame = await self.frame()
        return read_error(frame[3]) if frame[0] == FAILURE else None


async def said_to(host: RealHost, data: bytes, context: ssl.SSLContext | None) -> bytes:
    """Send bytes to a host's port; all that it answers before it ends the connection."""
    try:
        async with await Raw.open(host, context) as raw:
            raw.send(data)
            return await raw.rest()
    except (ssl.SSLError, ConnectionError):
        return b""
