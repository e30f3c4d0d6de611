"""What hosts send each other, as bytes: all that `host.effects.Transmit` may hold.

`encode_frame` gives a blob (see `blobs`), `decode_frame` the very frame again. A frame that cannot
be read is a peer's doing: it raises `BadFrame` and nothing else, in time and memory that its size
bounds, so that a driver may drop it, note it and go on.

An agent that moves goes as one frame. One that carries more than `FRAME_BYTES_MAX` cannot move
over a wire: `encode_frame` raises `FrameTooLarge`. So a host asks `too_large` first, and an agent
that is stays where it is, and is told why.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.errors import NomospaceError
from nomospace.protocols.courier import Aside, Parcel
from nomospace.protocols.messages import Relay
from nomospace.protocols.questions import PeerAnswer, PeerQuestion
from nomospace.protocols.routing.frames import AskVote, BeatHeard, PrimaryBeat, Vote, WhoServes
from nomospace.wire.blobs import Newer, body, seal
from nomospace.wire.framing import FRAME_BYTES_MAX, BadFrame, FrameTooLarge
from nomospace.wire.packing import Unfit
from nomospace.wire.slots import FRAMES, SHAPES

PARCEL_BYTES_MAX: Final = FRAME_BYTES_MAX - (64 << 10)
"""The largest frame that is begun with, in bytes: on its way more may come around it."""
FRAME_VERSION: Final = 2
"""The version of all frames between hosts that this nomospace sends."""

SINCE: Final[dict[type, int]] = dict.fromkeys(
    (PeerQuestion, PeerAnswer, Aside, PrimaryBeat, BeatHeard, AskVote, Vote, WhoServes), 3
)
"""What is told to hosts only that speak this version of links, or a later one: those before would
take it for garbage. What came later is added here, with a version of its own."""

_VERSION: Final = bytes([FRAME_VERSION])
_read: Final = FRAMES.reader(SHAPES)


class NewerFrame(BadFrame):
    """A peer speaks a later version than this host."""

    code = "wire.newer-frame"
    words = (
        "a frame of version {version} came, and this host knows version {known} at "
        "most; upgrade nomospace here"
    )
    version: int
    known: int


def bad(error: Unfit | NomospaceError) -> BadFrame:
    """What a blob that cannot be read is when a peer sent it."""
    if isinstance(error, Newer):
        return NewerFrame(why=str(error), version=error.version, known=error.known)
    return BadFrame(why=str(error))


def encode_frame(frame: object) -> bytes:
    """A frame as bytes; raises `FrameTooLarge` past `FRAME_BYTES_MAX`.

    >>> from nomospace.protocols.courier import Receipt
    >>> encode_frame(Receipt(7)).hex(" ")
    '02 94 a7 72 65 63 65 69 70 74 07 00 00'
    """
    data = seal(_VERSION, frame)
    if len(data) > FRAME_BYTES_MAX:
        raise FrameTooLarge(what=type(frame).__name__, size=len(data), limit=FRAME_BYTES_MAX)
    return data


def since(frame: object) -> int:
    """The version of links that a host must speak to be sent a frame.

    >>> since(Relay("ward", "icu", 3, PeerQuestion(1, b"")))
    3
    """
    if isinstance(frame, Relay):
        frame = frame.body
    if isinstance(frame, Parcel):
        frame = frame.what
    return SINCE.get(type(frame), 0)


def too_large(frame: object) -> str:
    """Why a frame cannot be sent, as whoever asked for it is told; empty when it can.

    What goes around it on its way, and what it may come back in, has room left.

    >>> from nomospace.host.calls import Bundle
    >>> from nomospace.host.moving import Coming
    >>> from nomospace.protocols.courier import Parcel
    >>> from nomospace.protocols.routing.seats import Seat
    >>> def coming(state):
    ...     ann = Bundle("ann@a", "a")
    ...     return Parcel(1, Coming("ann@a", (), ann, Seat(0, "a"), "", "walk", state, None))
    >>> too_large(coming(b"small"))
    ''
    >>> too_large(coming(bytes(FRAME_BYTES_MAX)))
    'it has 16,777,... bytes with all that it carries, and at most 16,711,680 fit in one frame'
    """
    size = len(seal(_VERSION, frame))
    if size <= PARCEL_BYTES_MAX:
        return ""
    return (
        f"it has {size:,} bytes with all that it carries, and at most {PARCEL_BYTES_MAX:,} fit in "
        "one frame"
    )


def decode_frame(data: bytes) -> Any:
    """The frame that bytes stand for; raises `BadFrame` when they stand for none.

    >>> decode_frame(bytes.fromhex("0292a77265636569707407"))
    Receipt(number=7, birth=0, to=0)
    """
    if len(data) > FRAME_BYTES_MAX:
        raise BadFrame(why=f"{len(data):,} bytes are over the limit of {FRAME_BYTES_MAX:,}")
    try:
        return _read(body(_VERSION, data))
    except RecursionError:
        raise BadFrame(why="frames nested in frames without end") from None
    except (Unfit, NomospaceError) as error:  # a template that is none
        raise bad(error) from None
