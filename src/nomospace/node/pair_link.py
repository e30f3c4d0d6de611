"""The connection between the two machines of a host, and what goes over it.

| letter | who says it     | what                                                           |
| ------ | --------------- | -------------------------------------------------------------- |
| `?`    | who calls       | nothing, so that it is heard, where there are no certificates  |
| `N`    | who was called  | a nonce to prove oneself with                                  |
| `H`    | both            | how its store stands; again whenever that has changed          |
| `R`    | either          | why it does not go on, in words                                |
| `C`    | the active one  | a commit (`+` before it: a part of one that is large)          |
| `A`    | the standby     | it has all commits up to a number, and so many copies; also a  |
|        |                 | sign of life                                                   |
| `P`    | the active one  | the last commit it has made, and how it acknowledges           |
| `S`    | the active one  | a copy follows: which, and how large; `D` its parts, `E` its digest |
| `G`    | the active one  | give me your last commit; `L` is that                          |
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from zlib import crc32

import msgspec

from nomospace.errors import PeerError
from nomospace.node.addresses import Address
from nomospace.node.framed import Framed
from nomospace.node.identity import Identity
from nomospace.node.listen import Arrival, Port
from nomospace.protocols.pair import PairStand
from nomospace.store.paired import PairStore
from nomospace.store.private import open_file
from nomospace.wire.framing import FRAME_BYTES_MAX, length_of

if TYPE_CHECKING:
    from nomospace.node.pairing import HostPair

RECENT_BYTES_MAX: Final = 32 << 20
"""How much of what was sent is kept for a standby that comes back."""
UNSENT_BYTES_MAX: Final = 128 << 20
"""A standby that lets so much pile up is dropped, and comes back when it can."""
PIECE_BYTES: Final = 1 << 20
COMMIT_BYTES_MAX: Final = 1 << 30
"""The largest commit that is received in parts."""
OUT: Final = ".{}.copy-out"
IN: Final = ".{}.copy-in"
"""What a copy of a store is called, after its name, while it is sent, and while it comes."""


class RecentCommits:
    """The last commits that were sent, for a standby that was away for a moment.

    >>> recent = RecentCommits()
    >>> recent.add(1, b"a"); recent.add(2, b"b")
    >>> recent.first, list(recent.after(1)), recent.take_back(1), recent.take_back(2), recent.last
    (1, [b'b'], False, True, 1)
    """

    def __init__(self) -> None:
        self.last = 0
        """The number of the last one that was sent."""
        self.sums: dict[int, int] = {}
        """Their checksums, by number."""
        self._kept: deque[tuple[int, bytes]] = deque()
        self._bytes = 0

    @property
    def first(self) -> int:
        """The number of the first that is kept, or of the next."""
        return self._kept[0][0] if self._kept else self.last + 1

    def add(self, number: int, body: bytes) -> None:
        """One more."""
        self.last = number
        self._kept.append((number, body))
        self._bytes += len(body)
        self.sums[number] = crc32(body)
        while self._bytes > RECENT_BYTES_MAX and len(self._kept) > 1:
            self._forget(*self._kept.popleft())

    def take_back(self, number: int) -> bool:
        """The last one is void, if it has this number."""
        if not self._kept or self.last != number:
            return False
        self._forget(*self._kept.pop())
        self.last = number - 1
        return True

    def after(self, number: int) -> Iterator[bytes]:
        """Those after a number."""
        return (body for known, body in self._kept if known > number)

    def _forget(self, number: int, body: bytes) -> None:
        self._bytes -= len(body)
        del self.sums[number]


class PairHello(msgspec.Struct, frozen=True):
    """How a store stands, with the proof of who says so where there are no certificates."""

    stand: PairStand
    proof: bytes = b""


class CopyHead(msgspec.Struct, frozen=True):
    """What a copy of the active one's store is of."""

    token: int
    number: int
    began: int
    size: int


class PairLink(Framed):
    """The connection between the two machines."""

    def __init__(self, pair: HostPair, arrival: Arrival | None = None) -> None:
        super().__init__(asyncio.get_running_loop(), bytes_max=FRAME_BYTES_MAX)
        self._pair = pair
        self.arrival = arrival
        self.stand: PairStand | None = None
        """How the other's store stands; `None` until it has said so."""
        self.nonce = b""
        self.streams = False
        """Whether commits go this way as they are made."""
        self.copies = 0
        """How many copies went this way, or came: what was said before the last counts no more."""
        self.file: IO[bytes] | None = None
        self.head: CopyHead | None = None
        self.digest = blake2b(digest_size=32)
        self.pieces = bytearray()

    def opened(self) -> None:
        if self.arrival is not None:
            self.arrival.sock = self.transport
        self._pair.opened(self)

    def heard(self, frames: list[bytes]) -> None:
        self._pair.heard(self, frames)

    def failed(self, error: PeerError) -> None:
        self._pair.note("pair-bad-frame", why=str(error))

    def closed(self, error: Exception | None) -> None:
        if self.arrival is not None:
            self.arrival.ended()
        if self.file is not None:
            self.file.close()
        self._pair.closed(self)

    def post(self, letter: bytes, body: bytes = b"") -> None:
        """Send something at once."""
        if self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            self.abort()
            return
        self.sent_at = self.loop.time()
        self.transport.write(b"".join((length_of(1 + len(body)), letter, body)))

    def acknowledge(self, number: int) -> None:
        """Say that all commits up to a number are on disk."""
        self.post(b"A", msgspec.msgpack.encode((number, self.copies)))

    def post_commit(self, body: bytes) -> None:
        """Send a commit, in parts if it is large."""
        while len(body) > PIECE_BYTES:
            self.post(b"+", body[:PIECE_BYTES])
            body = body[PIECE_BYTES:]
        self.post(b"C", body)

    def receive(self, path: Path, letter: bytes, body: bytes) -> CopyHead | None:
        """A part of a copy came, for a file; its head, when it is there whole."""
        if letter == b"S":
            self.head = msgspec.msgpack.decode(body, type=CopyHead)
            self.file = open_file(path, "wb")
            self.digest = blake2b(digest_size=32)
            return None
        if self.file is None or self.head is None:
            raise ValueError("a part of no copy came")
        if letter == b"D":
            self.digest.update(body)
            self.file.write(body)
            return None
        self.file.close()
        self.file = None
        if self.digest.digest() != body:
            raise ValueError("a copy came altered")
        return self.head

    async def drained(self) -> None:
        """Wait until what was sent has mostly gone out."""
        while self.transport.get_write_buffer_size() > PIECE_BYTES:
            await asyncio.sleep(0.002)
        if self.transport.is_closing():
            raise ConnectionResetError


class PairPort(Port):
    """Where the other machine calls."""

    def __init__(self, address: Address, pair: HostPair, identity: Identity | None) -> None:
        tls = None if identity is None else lambda: identity.papers.serving
        super().__init__(address, tls=tls, on_note=pair.note)
        self._pair = pair

    def _protocol(self, arrival: Arrival) -> asyncio.Protocol:
        return PairLink(self._pair, arrival)


async def send_copy(store: PairStore, link: PairLink, began: int) -> int:
    """Send a copy of a store; the number of its last commit."""
    path = store.path.with_name(OUT.format(store.path.name))
    link.copies += 1
    try:
        row = await asyncio.to_thread(store.copy_to, path)
        head = CopyHead(row.life, row.number, began, path.stat().st_size)
        link.post(b"S", msgspec.msgpack.encode(head))
        digest = blake2b(digest_size=32)
        with path.open("rb") as file:
            while chunk := file.read(PIECE_BYTES):
                digest.update(chunk)
                link.post(b"D", chunk)
                await link.drained()
        link.post(b"E", digest.digest())
        return row.number
    finally:
        path.unlink(missing_ok=True)
