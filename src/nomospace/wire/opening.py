"""The first bytes of a connection to a host: what is spoken on it, and with which of its workers.

A connection over TLS names its protocol in the handshake (ALPN); one without has it as its first
frame. Several processes may serve at one address (`node.supervisor`). Who wants one of them says so
beside the protocol: over TLS by a second name there, `nomos-at/ward.2`, which nobody agrees to;
else after a space in the first frame. A host of one process looks past either.

What is read here comes from strangers and is only looked at (`MSG_PEEK`): whoever serves the
connection reads it again from its first byte.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from zlib import crc32

from nomospace.wire.framing import (
    AT,
    CLIENT,
    HOST,
    LENGTH_BYTES,
    STRANGER_BYTES_MAX,
    BadFrame,
    Framer,
)
from nomospace.wire.talk import ClientHello, unpack_entry

PROTOCOLS: Final = (HOST, CLIENT)
PREFACE_BYTES_MAX: Final = 300
"""The longest first frame: a protocol, and the name of a worker."""
HELLO_BYTES_MAX: Final = 16_384
"""The longest first message of TLS that is looked into: one record."""
SALT: Final = b"@host"
"""Behind a name, so that its last letters count as much; of those tried the one that is evenest."""
EXTENSIONS_MAX: Final = 64
NAMES_MAX: Final = 16
"""How many extensions of it are looked at, and how many protocols: clients say two."""
_HANDSHAKE: Final = 0x16
_CLIENT_HELLO: Final = 1
_ALPN: Final = 16


class Opening(NamedTuple):
    """What a connection begins with: its protocol, the worker it names, and its client's agent."""

    protocol: str
    worker: str = ""
    agent: str = ""


def read_preface(data: bytes) -> tuple[Opening, int] | None:
    """The first frame and how long it is; `None` while it is not whole. Raises `BadFrame`.

    >>> from nomospace.wire.framing import preface
    >>> read_preface(preface(HOST, "ward") + b"x"), read_preface(b"\\0\\0")
    ((Opening(protocol='nomos-host/1', worker='ward', agent=''), 21), None)
    """
    head = data[:LENGTH_BYTES]
    size = int.from_bytes(head.ljust(LENGTH_BYTES, b"\1"), "big")
    end = LENGTH_BYTES + size
    said = data[LENGTH_BYTES:end].decode("utf-8", "replace")
    protocol, _, worker = said.partition(" ")
    whole = len(data) >= end
    if not (
        head.startswith(b"\0\0"[: len(head)])
        and (len(head) < LENGTH_BYTES or len(CLIENT) - 2 <= size <= PREFACE_BYTES_MAX)
        and (protocol in PROTOCOLS or (not whole and any(p.startswith(said) for p in PROTOCOLS)))
    ):
        raise BadFrame(why="the first frame names no protocol of ours")
    return (Opening(protocol, worker), end) if whole else None


def read_plain(data: bytes) -> Opening | None:
    """What a connection without TLS is for; `None` while that is not known. Raises `BadFrame`.

    A client that names no worker is heard up to the end of its hello, which names its agent.
    """
    found = read_preface(data)
    if found is None:
        return None
    opening, end = found
    if opening.worker or opening.protocol == HOST:
        return opening
    frame = Framer(STRANGER_BYTES_MAX).feed_one(data[end:])
    if frame is None:
        return None
    said = unpack_entry(frame)
    return opening._replace(agent=said.agent) if isinstance(said, ClientHello) else opening


def read_tls(data: bytes) -> Opening | None:
    """The same of a connection over TLS, from its first record.

    What is no hello that could be understood is for whoever speaks TLS to refuse.
    """
    try:
        names = _protocols(data)
    except (IndexError, UnicodeDecodeError):
        return Opening("")
    if names is None:
        return None
    protocol = next((name for name in names if name in PROTOCOLS), "")
    worker = next((name.removeprefix(AT) for name in names if name.startswith(AT)), "")
    return Opening(protocol, worker)


def _protocols(data: bytes) -> list[str] | None:
    """The protocols that the first message of a handshake offers; `None` while it is not whole."""
    if data[:1] != bytes([_HANDSHAKE]):
        return []
    size = int.from_bytes(data[3:5], "big")
    if size > HELLO_BYTES_MAX:
        return []
    if len(data) < 5 or len(data) < 5 + size:
        return None
    hello = _Bytes(data[5 : 5 + size])
    if hello.number(1) != _CLIENT_HELLO:
        return []
    hello = _Bytes(hello.part(3))
    hello.skip(34)  # its version, and chance
    for width in (1, 2, 1):  # session, ciphers, compressions
        hello.part(width)
    extensions = _Bytes(hello.part(2))
    for _ in range(EXTENSIONS_MAX):
        if not extensions.left:
            break
        kind, body = extensions.number(2), extensions.part(2)
        if kind == _ALPN:
            names, found = _Bytes(_Bytes(body).part(2)), list[str]()
            while names.left and len(found) < NAMES_MAX:
                found.append(names.part(1).decode())
            return found
    return []


class _Bytes:
    """Reads numbers, and parts with their lengths before them; raises `IndexError` at the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def skip(self, count: int) -> bytes:
        if count > self.left:
            raise IndexError(count)
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.skip(width), "big")

    def part(self, width: int) -> bytes:
        return self.skip(self.number(width))


def worker_for(agent: str, workers: int) -> int:
    """Which of a host's workers, from 1, new agents of this id are at home at.

    The ranges of a cyclic checksum of its name: it is linear, so names that differ in a number
    alone, as those of a crowd mostly do, spread more evenly than chance would have it. The domain
    is that of all, and would only change how evenly.

    >>> from collections import Counter
    >>> sorted(Counter(worker_for(f"client-{n}@ward", 2) for n in range(32)).values())
    [16, 16]
    """
    return 1 + (crc32(agent.rpartition("@")[0].encode() + SALT) * workers >> 32)
