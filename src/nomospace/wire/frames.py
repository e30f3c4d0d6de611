"""What hosts send each other, as bytes: all that `host.effects.Transmit` may hold.

`encode_frame` gives a blob (see `blobs`), `decode_frame` the very frame again. A frame that cannot
be read is a peer's doing: it raises `BadFrame` and nothing else, in time and memory that its size
bounds, so that a driver may drop it, note it and go on.

An agent that moves goes as one frame. One that carries more than `FRAME_BYTES_MAX` cannot move
over a wire: `encode_frame` raises `FrameTooLarge`, the agent stays in its parcel at the host that
packed it, and the driver says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from nomospace.errors import CallerError
from nomospace.wire.blobs import Newer, seal, unseal
from nomospace.wire.framing import BadFrame
from nomospace.wire.packing import Unfit
from nomospace.wire.slots import FRAMES

FRAME_BYTES_MAX: Final = 16 << 20
"""The largest frame between hosts, in bytes."""
FRAME_VERSION: Final = 1
"""The version of all frames between hosts that this nomospace sends."""

_VERSION: Final = bytes([FRAME_VERSION])


@dataclass(eq=False, kw_only=True)
class FrameTooLarge(CallerError):
    """Something is too large to be sent as one frame."""

    code: ClassVar[str] = "wire.frame-too-large"
    what: str
    size: int
    limit: int

    def __str__(self) -> str:
        return (
            f"a {self.what} of {self.size:,} bytes is over the limit of {self.limit:,} for one "
            "frame; carry less, or send it in parts"
        )


@dataclass(eq=False, kw_only=True)
class NewerFrame(BadFrame):
    """A peer speaks a later version than this host."""

    code: ClassVar[str] = "wire.newer-frame"
    version: int
    known: int

    def __str__(self) -> str:
        return (
            f"a frame of version {self.version} came, and this host knows version {self.known} at "
            "most; upgrade nomospace here"
        )


def bad(error: Unfit) -> BadFrame:
    """What a blob that cannot be read is when a peer sent it."""
    if isinstance(error, Newer):
        return NewerFrame(why=str(error), version=error.version, known=error.known)
    return BadFrame(why=str(error))


def encode_frame(frame: Any) -> bytes:
    """A frame as bytes; raises `FrameTooLarge` past `FRAME_BYTES_MAX`.

    >>> from nomospace.protocols.courier import Receipt
    >>> encode_frame(Receipt(7)).hex(" ")
    '01 92 a7 72 65 63 65 69 70 74 07'
    """
    data = seal(_VERSION, frame)
    if len(data) > FRAME_BYTES_MAX:
        raise FrameTooLarge(what=type(frame).__name__, size=len(data), limit=FRAME_BYTES_MAX)
    return data


def decode_frame(data: bytes) -> Any:
    """The frame that bytes stand for; raises `BadFrame` when they stand for none.

    >>> decode_frame(bytes.fromhex("0192a77265636569707407"))
    Receipt(number=7)
    """
    if len(data) > FRAME_BYTES_MAX:
        raise BadFrame(why=f"{len(data):,} bytes are over the limit of {FRAME_BYTES_MAX:,}")
    try:
        return unseal(_VERSION, FRAMES, data)
    except Unfit as error:
        raise bad(error) from None
