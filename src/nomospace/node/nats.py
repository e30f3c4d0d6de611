"""Links between hosts over a NATS server, for installations where not everyone can dial everyone.

A host listens on two subjects: `<net>.host.<name>`, its own, and `<net>.all`, on which hosts say
that they are there. What one turn of the event loop sends to one receiver goes out as one message,
or as few as the server's largest payload allows. The server is not trusted, and neither is whoever
listens on it: frames are sealed for their receiver (see `envelopes`). Without certificates nothing
is, and only a server on the loopback is used.

While the server is away nothing is sent: frames are dropped and counted, since all that speaks over
links sends again, and what is old by then would only be in the way. The client library connects
again by itself and listens on the same subjects.

Bounds: `BUFFER_BYTES_MAX` wait to be published; past it new frames are dropped. The library is
imported when the links start, so that hosts that do not use NATS do not pay for it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from nomospace.errors import PeerError
from nomospace.node.addresses import Address, BadHostAddress
from nomospace.node.clock import wall_us
from nomospace.node.envelopes import BadEnvelope, Mailroom
from nomospace.node.framed import BUFFER_BYTES_MAX
from nomospace.node.identity import Identity
from nomospace.node.notes import Notes, OnNote
from nomospace.node.wires import OwnLinks
from nomospace.wire.frames import decode_frame, since

INCOMING_BYTES_MAX: Final = 64 << 20
"""What may wait to be read; past it the library drops messages."""
INCOMING_MAX: Final = 65_536
OPEN_BYTES_MAX: Final = 1 << 20
"""The same of what is said to all, in the open: names, and nothing else."""
RECONNECT_S: Final = 0.25
"""Between two tries to reach the server."""
CONNECT_S: Final = 2
PING_S: Final = 10
"""How often the connection to the server is tried when nothing comes."""
TICK_S: Final = 1.0
"""How often certificates of known hosts are looked at again."""
STOP_S: Final = 2.0
PORT: Final = 4222

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def subject_of(net: str, host: str) -> str:
    """The subject of a host; names that a subject cannot have are written in hexadecimal.

    >>> subject_of("nomos", "ward-3"), subject_of("nomos", "ward.3")
    ('nomos.host.ward-3', 'nomos.hex.776172642e33')
    """
    if _PLAIN.fullmatch(host):
        return f"{net}.host.{host}"
    return f"{net}.hex.{host.encode().hex()}"


class NatsLinks(OwnLinks):
    """The links of one host over the NATS server at `url`, in the net of that name."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        identity: Identity | None,
        net: str = "nomos",
        on_note: OnNote | None = None,
        life: int | None = None,
    ) -> None:
        super().__init__(name, identity, on_note)
        if not _PLAIN.fullmatch(net):
            raise BadHostAddress(text=net[:80], why="a net is named with letters, digits, - and _")
        server = _server(url)
        if identity is None:
            server.check_loopback()
        self.url = url
        self._net = net
        life = wall_us() if life is None else life
        self._mail = Mailroom(name, identity, net=net, life=life, draw=secrets.token_bytes)
        self._client: Any = None
        self._out: dict[str, list[bytes]] = {}
        self._ready: list[tuple[str, bytes]] = []
        self._waiting = 0
        self._wake: asyncio.Event
        self._flushing = False
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self._away = False
        """Whether the server is known to be away."""

    # -- what hosts use ----------------------------------------------------------------------

    def neighbours(self) -> tuple[str, ...]:
        """The hosts that were heard lately."""
        return self._mail.neighbours(self._loop.time()) if self._tasks else ()

    @property
    def connected(self) -> bool:
        """Whether the server is there."""
        return self._client is not None and bool(self._client.is_connected)

    def transmit(self, sender: str, to: str | None, frame: object) -> None:
        """Send a frame to a host, or to all; it may get lost."""
        if not self.connected or self._waiting >= BUFFER_BYTES_MAX:
            self._counts["dropped"] += 1
            return
        if to and since(frame) > self._mail.version(to):
            self._counts["dropped"] += 1
            return
        data = self._encode(frame)
        if data is None:
            return
        self._out.setdefault(to or "", []).append(data)
        self._waiting += len(data)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def counts(self) -> dict[str, int]:
        """Frames and bytes in and out, and frames dropped, since the start."""
        return {**self._counts, "dropped": self._counts["dropped"] + self._mail.dropped}

    # -- its life ----------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to connect; the server may come later."""
        self._loop = asyncio.get_running_loop()
        self._notes = Notes(self._on_note, self._loop.time)
        self._wake = asyncio.Event()
        if self.tokens is not None:
            self._mail.token, self._mail.refuses = self.tokens.own, self.tokens.refused
        for work in (self._connect, self._publish, self._tick):
            self._tasks.append(self._loop.create_task(work()))

    async def stop(self) -> None:
        """Publish what waits and end the connection."""
        if not self._tasks:
            return
        self._flush()
        until = self._loop.time() + STOP_S
        while self._ready and self.connected and self._loop.time() < until:
            await asyncio.sleep(0.005)
        tasks, self._tasks = self._tasks, []
        self._stopping = True
        self._wake.set()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=STOP_S)
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # the server may be gone; there is nothing left to save
                async with asyncio.timeout(STOP_S):
                    await client.close()

    async def _connect(self) -> None:
        import nats.aio.client

        client = nats.aio.client.Client()
        self._client = client
        await client.connect(
            self.url,
            name=f"nomospace host {self.name}",
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnected,
            reconnected_cb=self._on_reconnected,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_S,  # type: ignore[arg-type]
            connect_timeout=CONNECT_S,
            ping_interval=PING_S,
            no_echo=True,
        )
        for subject, bytes_max in (
            (subject_of(self._net, self.name), INCOMING_BYTES_MAX),
            (f"{self._net}.all", OPEN_BYTES_MAX),
        ):
            await client.subscribe(
                subject,
                cb=self._on_message,
                pending_msgs_limit=INCOMING_MAX,
                pending_bytes_limit=bytes_max,
            )
        self._away = False
        self._notes("server-reached", url=_shown(self.url))
        self._post("", self._mail.here(self._loop.time()))

    async def _on_error(self, error: Exception) -> None:
        if self._away:
            return  # it is tried again and again: once is enough
        self._away = not self.connected
        self._notes("server-trouble", url=_shown(self.url), why=str(error) or type(error).__name__)

    async def _on_disconnected(self) -> None:
        if self._tasks:  # else we have left it
            self._notes("server-lost", url=_shown(self.url))

    async def _on_reconnected(self) -> None:
        self._away = False
        self._notes("server-reached", url=_shown(self.url))

    # -- out ---------------------------------------------------------------------------------

    def _flush(self) -> None:
        """The turn is over: pack what it brought."""
        self._flushing = False
        out, self._out = self._out, {}
        for to, frames in out.items():
            self._waiting -= sum(map(len, frames))
            if not self.connected:
                self._counts["dropped"] += len(frames)
                continue
            self._counts["frames_out"] += len(frames)
            now, room = self._loop.time(), int(self._client.max_payload)
            for receiver, data in self._mail.pack(to, frames, room, now):
                self._post(receiver, data)

    def _post(self, to: str, data: bytes) -> None:
        """Have something published for a host, or for all who listen."""
        subject = subject_of(self._net, to) if to else f"{self._net}.all"
        self._ready.append((subject, data))
        self._waiting += len(data)
        self._wake.set()

    async def _publish(self) -> None:
        from nats.errors import Error

        # The library's `publish` may swallow a cancellation, so the loop asks whether to go on.
        while not self._stopping:
            await self._wake.wait()
            self._wake.clear()
            ready, self._ready = self._ready, []
            for subject, data in ready:
                self._waiting -= len(data)
                try:
                    if self.connected:
                        await self._client.publish(subject, data)
                        self._counts["bytes_out"] += len(data)
                except (Error, OSError) as error:
                    self._notes("not-published", why=str(error) or type(error).__name__)

    # -- in ----------------------------------------------------------------------------------

    async def _on_message(self, message: Any) -> None:
        data: bytes = message.data
        self._counts["bytes_in"] += len(data)
        try:
            sender, frames, back = self._mail.open(data, self._loop.time())
            for to, answer in back:
                if self._waiting < BUFFER_BYTES_MAX:
                    self._post(to, answer)
            self._counts["frames_in"] += len(frames)
            for frame in frames:
                if self._hear is not None:
                    self._hear(sender, decode_frame(frame))
        except BadEnvelope as error:
            self._notes(error.what, host=error.sender, why=error.why)
        except PeerError as error:
            self._notes("bad-frame", why=str(error))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._notes.settle(self._loop.time())
            if self.identity is not None:
                self.identity.poll()
            for error in self._mail.check_again():
                self._notes(error.what, host=error.sender, why=error.why)


def _server(url: str) -> Address:
    """The address of the server in a URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("nats", "tls") or not parts.hostname:
        raise BadHostAddress(text=_shown(url)[:80], why="a NATS server is nats://host:port")
    try:
        return Address(parts.hostname, parts.port or PORT)
    except ValueError:
        raise BadHostAddress(text=_shown(url)[:80], why="its port is no number") from None


def _shown(url: str) -> str:
    """A URL without the password it may hold."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
