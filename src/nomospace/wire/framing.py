"""Frames in a stream of bytes: before each its length, four bytes, the most significant first.

`join` makes one piece of several frames, so that a turn of a sender is one write; `split` takes
such a piece apart, where a transport carries messages. `Framer` does it for a stream, which cuts
where it likes. A frame whose length is past the limit is refused as soon as the length is known,
so nobody can make a reader hold more than the limit and what one read brought. Who has not proved
who it is may send `STRANGER_BYTES_MAX` in all: a reader takes its frames one by one (`feed_one`),
and widens the limit when it knows who that is.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from nomospace.errors import CallerError, PeerError

LENGTH_BYTES: Final = 4
FRAME_BYTES_MAX: Final = 16 << 20
"""The largest frame between hosts, in bytes."""
STRANGER_BYTES_MAX: Final = 65_536
"""How much anybody may send before it has proved who it is."""

_length: Final = struct.Struct(">I")
length_of: Final = _length.pack
"""What stands before a frame of so many bytes."""

HOST: Final = "nomos-host/1"
CLIENT: Final = "nomos-client/1"
"""What is spoken between hosts, and with clients: agreed on in a handshake, or the first frame."""
AT: Final = "nomos-at/"
"""Before the name of the worker that is wanted, among the protocols of a handshake."""


class BadFrame(PeerError):
    """A peer sent bytes that are no frame."""

    code = "wire.bad-frame"
    words = "a frame cannot be read: {why}; it is dropped"
    why: str


class FrameTooLarge(CallerError):
    """Something is too large to be sent as one frame."""

    code = "wire.frame-too-large"
    what: str
    size: int
    limit: int

    def __str__(self) -> str:
        article = "an" if self.what[:1] in set("aeiouAEIOU") else "a"
        return (
            f"{article} {self.what} of {self.size:,} bytes is over the limit of {self.limit:,} for "
            "one frame; carry less, or send it in parts"
        )


def join(frames: list[bytes]) -> bytes:
    """Several frames as one piece.

    >>> join([b"ab", b"c"]).hex(" ")
    '00 00 00 02 61 62 00 00 00 01 63'
    """
    if len(frames) == 1:
        return length_of(len(frames[0])) + frames[0]
    parts: list[bytes] = []
    for frame in frames:
        parts += (length_of(len(frame)), frame)
    return b"".join(parts)


def offered(protocol: str, worker: str) -> list[str]:
    """What a handshake offers, to speak with a worker of a host, or with whoever is there."""
    return [protocol, AT + worker] if worker else [protocol]


def preface(protocol: str, worker: str = "") -> bytes:
    """The first frame of a connection without TLS; `opening` reads it.

    >>> preface(CLIENT, "ward.2")
    b'\\x00\\x00\\x00\\x15nomos-client/1 ward.2'
    """
    return join([f"{protocol} {worker}".rstrip().encode()])


def served_with(worker: str, other: str) -> bool:
    """Whether two hosts may be workers of one, by their names.

    >>> served_with("ward", "ward.2"), served_with("ward.3", "ward.2"), served_with("ward", "icu")
    (True, True, False)
    """

    def host(name: str) -> str:
        stem, _, number = name.rpartition(".")
        return stem if stem and number.isdigit() else name

    return host(worker) == host(other)


def split(data: bytes, bytes_max: int) -> list[bytes]:
    """The frames of one whole piece; raises `BadFrame` when it is not whole.

    >>> split(join([b"ab", b"c"]), 100)
    [b'ab', b'c']
    """
    framer = Framer(bytes_max)
    frames = framer.feed(data)
    if framer.pending:
        raise BadFrame(why="it breaks off")
    return frames


class Framer:
    """Finds the frames in a stream of bytes, however it is cut.

    >>> framer = Framer(100)
    >>> framer.feed(b"\\0\\0\\0\\2a"), framer.pending
    ([], 5)
    >>> framer.feed(b"b\\0\\0"), framer.pending
    ([b'ab'], 2)
    """

    __slots__ = ("_bytes_max", "_need", "held")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self.held = bytearray()
        """What has come of a frame that is not whole yet."""
        self._need = LENGTH_BYTES

    def widen(self, bytes_max: int) -> None:
        """Take frames up to this size from now on."""
        self._bytes_max = bytes_max

    @property
    def pending(self) -> int:
        """How many bytes have come of a frame that is not whole yet."""
        return len(self.held)

    def feed(self, data: bytes, frames_max: int = 0) -> list[bytes]:
        """The frames that are whole with these bytes; raises `BadFrame` for one past the limit.

        After that the stream makes no sense any more: drop the connection. With `frames_max` no
        more are given; `feed(b"")` has those after them.

        >>> framer = Framer(1)
        >>> framer.feed(join([b"a", b"b", b"c"]), 2), framer.feed(b"", 2)
        ([b'a', b'b'], [b'c'])
        """
        size = len(data) - LENGTH_BYTES
        if size >= 0 and not self.held:  # most reads bring one frame, and all of it
            (length,) = _length.unpack_from(data)
            if length == size and length <= self._bytes_max:
                return [data[LENGTH_BYTES:]]
        return self._feed(data, frames_max)

    def feed_one(self, data: bytes) -> bytes | None:
        """The next frame, if it is whole with these bytes; `feed(b"")` has what comes after it.

        For a stream whose frames are judged one by one: what follows the first may be larger than
        the limit as long as that is not known.

        >>> framer = Framer(1)
        >>> framer.feed_one(join([b"a", b"bb"]))
        b'a'
        >>> framer.widen(2); framer.feed(b"")
        [b'bb']
        """
        return next(iter(self._feed(data, 1)), None)

    def _feed(self, data: bytes, frames_max: int) -> list[bytes]:
        held = self.held
        if not held:
            frames, at = self._cut(data, frames_max)
            self.held = bytearray(data[at:])
            return frames
        held += data
        if len(held) < self._need:
            return []
        with memoryview(held) as whole:
            frames, at = self._cut(whole, frames_max)
        del held[:at]  # what is left stays where it is: frames one by one cost no copy of the rest
        return frames

    def _cut(self, whole: bytes | memoryview, frames_max: int) -> tuple[list[bytes], int]:
        """The frames at the beginning, and where they end."""
        frames: list[bytes] = []
        at, size, need = 0, len(whole), LENGTH_BYTES
        while size - at >= LENGTH_BYTES:
            (length,) = _length.unpack_from(whole, at)
            if length > self._bytes_max:
                raise BadFrame(why=f"{length:,} bytes are over the limit of {self._bytes_max:,}")
            end = at + LENGTH_BYTES + length
            if end > size:
                need = end - at
                break
            frames.append(bytes(whole[at + LENGTH_BYTES : end]))  # one copy, of a view or a slice
            at = end
            if len(frames) == frames_max:
                break
        self._need = need
        return frames, at


class Versions(NamedTuple):
    """The versions that one end speaks, from the oldest to the newest.

    Each end says in its first word which versions it speaks: the oldest in the place where version
    0.1 had its only one, the newest at the end of the word.
    Ends that know no newest speak that one alone.

    >>> str(Versions(1, 1)), str(Versions(2, 4))
    ('1', '2 to 4')
    """

    oldest: int
    newest: int

    @classmethod
    def said(cls, oldest: int, newest: int) -> Versions:
        """What the other end has said; a newest of 0 was left out."""
        return cls(oldest, max(oldest, newest))

    def common(self, other: Versions) -> int:
        """The newest that both speak; 0 if there is none, which is no version.

        >>> Versions(1, 3).common(Versions(2, 5)), Versions(1, 1).common(Versions(2, 2))
        (3, 0)
        """
        newest = min(self.newest, other.newest)
        return newest if newest >= max(self.oldest, other.oldest) else 0

    def __str__(self) -> str:
        return f"{self.oldest}" if self.oldest == self.newest else f"{self.oldest} to {self.newest}"
