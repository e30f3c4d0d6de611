"""Neighbours on a LAN find each other: each says now and then, by UDP multicast, where it listens.

An announcement is a hint to dial and nothing more. It is not signed: whoever answers at the address
has to pass the same handshake as everyone, so a false one costs a call that fails. Announcements of
other installations (another authority) are left alone. Nothing leaves the local network (TTL 1).

A host announces itself every `ANNOUNCE_S`, a random share earlier or later so that hosts that were
started together do not speak all at once, and at once when it starts. One that was found is
told again after `AGAIN_S` at the earliest; `FOUND_MAX` are remembered.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from random import Random
from typing import Annotated, Any, Final, cast

import msgspec

from nomospace.calls.addresses import NAME_MAX
from nomospace.errors import CallerError, Unavailable
from nomospace.node.addresses import HOST_CHARS_MAX, Address
from nomospace.node.notes import OnNote

GROUP: Final = "239.255.74.11"
"""In the range that stays within an organisation."""
PORT: Final = 7411
ANNOUNCE_S: Final = 2.0
AGAIN_S: Final = 10.0
FOUND_MAX: Final = 1_000
DATAGRAM_BYTES_MAX: Final = 1_200
"""The largest announcement that is read: it fits any network in one piece."""
ANNOUNCEMENT_VERSION: Final = 1


class CannotDiscover(Unavailable):
    """This machine has no multicast where it is asked for."""

    code = "node.cannot-discover"
    words = "cannot use multicast on {group}: {why}; name the hosts with --join"
    group: str
    why: str


class Announcement(msgspec.Struct, frozen=True, array_like=True, tag="nomos"):
    """A host says where it listens. An address without a machine means the one that sent this."""

    version: int
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_MAX)]
    address: Annotated[str, msgspec.Meta(max_length=HOST_CHARS_MAX + 8)]
    authority: Annotated[str, msgspec.Meta(max_length=64)]


_decoder: Final = msgspec.msgpack.Decoder(Announcement)


class Discovery(asyncio.DatagramProtocol):
    """Announces one host and tells `on_found(name, address)` of others.

    `authority` is the fingerprint of whom the host goes by, empty without certificates. `interface`
    is the address of the network to speak on; the machine chooses by default.
    """

    def __init__(
        self,
        name: str,
        address: str,
        *,
        authority: str,
        on_found: Callable[[str, str], None],
        group: str = GROUP,
        port: int = PORT,
        interface: str = "0.0.0.0",
        announce_s: float = ANNOUNCE_S,
        on_note: OnNote | None = None,
    ) -> None:
        self._name = name
        self._words = msgspec.msgpack.encode(
            Announcement(ANNOUNCEMENT_VERSION, name, address, authority)
        )
        self._authority = authority
        self._on_found = on_found
        self._place = (group, port)
        self._interface = interface
        self._announce_s = announce_s
        self._on_note = on_note
        self._rng = Random()
        self._found: dict[str, tuple[str, float]] = {}
        self._transport: asyncio.DatagramTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._mute = False
        self._loop: asyncio.AbstractEventLoop

    async def start(self) -> None:
        """Begin to listen and to announce; raises `CannotDiscover`."""
        self._loop = asyncio.get_running_loop()
        try:
            sock = self._socket()
        except OSError as error:
            why = error.strerror or str(error)
            raise CannotDiscover(group=f"{self._place[0]}:{self._place[1]}", why=why) from error
        await self._loop.create_datagram_endpoint(lambda: self, sock=sock)
        self._announce()

    def _socket(self) -> socket.socket:
        group, port = self._place
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP)
        try:
            # Several hosts of one machine hear the same group.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            here = socket.inet_aton(self._interface)
            if self._interface != "0.0.0.0":
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            both = struct.pack("4s4s", socket.inet_aton(group), here)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, both)
            sock.bind((group, port))
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        return sock

    async def stop(self) -> None:
        """Be silent and hear no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.close()
            self._transport = None
            await asyncio.sleep(0)

    def _announce(self) -> None:
        if self._transport is not None:
            self._transport.sendto(self._words, self._place)
        share = 0.75 + self._rng.random() / 2
        self._timer = self._loop.call_later(self._announce_s * share, self._announce)

    # -- what the socket tells ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        if len(data) > DATAGRAM_BYTES_MAX:
            return
        try:
            said = _decoder.decode(data)
            told = f"{addr[0]}{said.address}" if said.address.startswith(":") else said.address
            address = str(Address.parse(told))
        except (msgspec.MsgspecError, CallerError, RecursionError):
            return  # others may speak on this group too
        if said.version != ANNOUNCEMENT_VERSION or said.authority != self._authority:
            return
        if said.name == self._name:
            return
        now = self._loop.time()
        known = self._found.get(said.name)
        if known is not None and known[0] == address and now - known[1] < AGAIN_S:
            return
        if known is None and len(self._found) >= FOUND_MAX:
            del self._found[min(self._found, key=lambda name: self._found[name][1])]
        self._found[said.name] = (address, now)
        self._on_found(said.name, address)

    def error_received(self, exc: Exception) -> None:
        if not self._mute and self._on_note is not None:
            self._mute = True  # a network that is down says so with every announcement
            self._on_note("announcement-failed", why=str(exc))
