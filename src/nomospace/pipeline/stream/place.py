"""A host, as whom it is spoken with, and how long it may take.

Everything here is text and numbers: it travels in the options of a data source to wherever Spark
wants to read. Each conversation has a connection of its own, which ends with it; Spark's processes
come and go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from nomospace.client.dialling import Unreachable
from nomospace.client.remote import RemoteHost, connect
from nomospace.client.session_driver import HostLost
from nomospace.errors import CallerError

T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long a stream that is under way waits for a host that is away."""
TALK_S: Final = 600.0
"""How long one conversation may take in all."""
RECONNECT_S: Final = 5.0
"""How long a connection that breaks is made again, at least, before it is all begun anew."""
_PAUSE_S: Final = 0.5


class HostSilent(CallerError):
    """The host of a stream does not answer."""

    code = "pipeline.host-silent"
    words = "{url} does not answer: {why}; see that the host runs, or name another"
    url: str
    why: str


class HostPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host is, and what shows who asks: a token, or the folder of an identity."""

    url: str
    token: str = ""
    identity: str = ""
    trust: str = ""
    patience_s: float = PATIENCE_S

    def talk(self, work: Callable[[RemoteHost], Awaitable[T]]) -> T:
        """Connect, do some work, and end the connection.

        A host that is away is waited for, for `patience_s`, and the work is begun again: it must be
        such that this is harmless. Without patience it is tried once, which takes some seconds at
        most. Raises `HostSilent`, and what the work raises.
        """
        return asyncio.run(self._talk(work))

    async def _talk(self, work: Callable[[RemoteHost], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + self.patience_s
        while True:
            try:
                return await self._once(work, max(until - loop.time(), RECONNECT_S))
            except (Unreachable, HostLost) as error:
                if loop.time() + _PAUSE_S >= until:
                    raise HostSilent(url=self.url, why=error.why) from error
            await asyncio.sleep(_PAUSE_S)

    async def _once(self, work: Callable[[RemoteHost], Awaitable[T]], patience_s: float) -> T:
        # Several processes of one stream may speak as the same agent; none ends another.
        async with connect(
            self.url,
            token=self.token,
            identity=self.identity or None,
            trust=self.trust or None,
            reconnect_s=patience_s,
            alongside=True,
        ) as host:
            try:
                async with asyncio.timeout(TALK_S):
                    return await work(host)
            except TimeoutError:
                why = f"what was asked was not done within {TALK_S:g} s"
                raise HostSilent(url=self.url, why=why) from None
