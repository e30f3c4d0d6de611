"""One connection between two hosts, and the few words that the transport itself says on it.

Each side begins with a `Greeting`. From then on frames of the cores go both ways; beside them the
transport tells addresses it knows (`KnownAddresses`) and, when it has nothing else to say, that it
is still there (`Ping`). Its own words begin with a zero byte, which no frame of a core does: those
begin with their version, from 1 up.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from nomospace.calls.addresses import NAME_MAX
from nomospace.errors import NomospaceError, PeerError
from nomospace.node.addresses import PLACE_CHARS_MAX, Place
from nomospace.node.book import ADDRESSES_MAX
from nomospace.node.framed import Framed
from nomospace.node.listen import Arrival
from nomospace.wire.framing import FRAME_BYTES_MAX, HOST, Versions, preface

if TYPE_CHECKING:
    from nomospace.node.tcp import TcpLinks

LINK_VERSION: Final = 3
"""The version of what hosts say to each other: the transport's own words, and frames of cores."""
LINK_VERSIONS: Final = Versions(2, LINK_VERSION)
"""All that are spoken here. Version 1 had other words for coming to be one group; `frames.SINCE`
says what is told from which version on."""
HELLO_S: Final = 5.0
"""How long a peer that was dialled may take to greet."""
PING_S: Final = 2.0
"""After so long without a word to say, a host says that it is there."""
SILENT_S: Final = 7.0
"""After so long without a word heard, a connection counts as dead."""
KNOWN_MAX: Final = 256
"""The most hosts in one `KnownAddresses`."""

_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_MAX)]
_Addresses: TypeAlias = Annotated[
    tuple[Annotated[str, msgspec.Meta(max_length=PLACE_CHARS_MAX)], ...],
    msgspec.Meta(max_length=ADDRESSES_MAX),
]
_Few: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=64)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Greeting(msgspec.Struct, frozen=True, array_like=True, tag="greeting"):
    """Who I am, since when, which of my calls this is, and where I can be dialled.

    An address without a machine, `:7411`, means the one that you see me at.
    """

    version: _Count
    name: _Name
    life: _Count
    call: _Count
    addresses: _Addresses
    nonce: _Few = b""
    proof: _Few = b""
    """Without certificates: what the caller is to prove itself with, and its proof."""
    newest: _Count = 0
    token: _Count = 0
    """Grows with every takeover of the host (`fencing`); 0 where there is none."""

    @property
    def versions(self) -> Versions:
        """The versions that it speaks, from `version` to `newest`."""
        return Versions.said(self.version, self.newest)


class KnownAddresses(msgspec.Struct, frozen=True, array_like=True, tag="known"):
    """Hosts and where they are said to be, with the life that said so; a hint for dialling."""

    hosts: Annotated[
        tuple[tuple[_Name, _Count, _Addresses], ...], msgspec.Meta(max_length=KNOWN_MAX)
    ]


class Ping(msgspec.Struct, frozen=True, array_like=True, tag="ping"):
    """I am there."""


Word: TypeAlias = Greeting | KnownAddresses | Ping
"""What the transport itself says."""

_decoder: Final[msgspec.msgpack.Decoder[Word]] = msgspec.msgpack.Decoder(Word)


def encode_word(word: Word) -> bytes:
    """What the transport says, as the body of a frame."""
    return b"\0" + msgspec.msgpack.encode(word)


def decode_word(data: bytes) -> Word:
    """What a transport said; raises `msgspec.MsgspecError`."""
    return _decoder.decode(memoryview(data)[1:])


PING: Final = encode_word(Ping())


class Peer(Framed):
    """A connection to another host, dialled or taken in."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        links: TcpLinks,
        *,
        dialled: str = "",
        call: int = 0,
        arrival: Arrival | None = None,
    ) -> None:
        super().__init__(loop, bytes_max=FRAME_BYTES_MAX)
        self._links = links
        self.dialled = dialled
        """The address that was dialled; empty when the other side dialled."""
        self.call = call
        """Which call of its dialler this is; later ones count before earlier ones."""
        self.arrival = arrival
        self.certificate = None if arrival is None else arrival.host
        """The certificate that it has shown, once that was checked; `None` without certificates."""
        self.name = ""
        """Who it is: empty until it has greeted."""
        self.life = 0
        self.version = 0
        """The newest version of links that both ends speak; 0 until it has greeted, or for ever."""
        self.nonce = b""
        """What a caller has to prove itself with, where there are no certificates."""
        self.linked = False
        """Whether frames to that host go this way."""
        self.made_at = loop.time()

    @property
    def proved(self) -> str:
        """The name in its certificate; empty without certificates."""
        return "" if self.certificate is None else self.certificate.subject

    def opened(self) -> None:
        identity = self._links.identity
        if self.dialled and identity is not None:
            tls = self.transport.get_extra_info("ssl_object")
            if tls.selected_alpn_protocol() != HOST:
                self._links.complain(self, "no-protocol", "it does not speak to hosts (ALPN)")
                return
            try:
                self.certificate = identity.check_host(tls.getpeercert(binary_form=True))
            except NomospaceError as error:
                self._links.complain(self, "certificate-refused", str(error))
                return
        elif self.dialled:
            self.transport.write(preface(HOST, Place.parse(self.dialled).worker))
        self._links.opened(self)

    def heard(self, frames: list[bytes]) -> None:
        if self.name:
            self._links.heard(self, frames)
            return
        # The greeting comes alone: what follows it may be larger than a stranger's frame.
        try:
            greeting = decode_word(frames[0]) if frames[0][:1] == b"\0" else None
        except (msgspec.MsgspecError, RecursionError):
            greeting = None
        if not isinstance(greeting, Greeting):
            self._links.complain(self, "garbage", "its first frame is no greeting")
        elif self.proved and greeting.name != self.proved:
            why = f"it calls itself {greeting.name!r}, and its certificate says {self.proved!r}"
            self._links.complain(self, "name-mismatch", why)
        else:
            self.name, self.life = greeting.name, greeting.life
            self.version = LINK_VERSIONS.common(greeting.versions)
            if not self.dialled:
                self.call = greeting.call
            if self.arrival is not None:
                self.arrival.proven()
            self.known()
            self._links.greeted(self, greeting)

    def failed(self, error: PeerError) -> None:
        self._links.complain(self, "bad-frame", str(error))

    def closed(self, error: Exception | None) -> None:
        if self.arrival is not None:
            self.arrival.ended()
        self._links.lost(self)

    def seen_at(self) -> str:
        """The machine that the other side speaks from."""
        place: Any = self.transport.get_extra_info("peername")
        return str(place[0]) if place else ""
