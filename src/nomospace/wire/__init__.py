"""Messages, rulings and records to bytes and back: versions and size limits, no decisions."""

from nomospace.wire.changes import (
    BadRecord,
    NewerRecord,
    decode_change,
    decode_row,
    decode_ruling,
    decode_snapshot,
    encode_change,
    encode_row,
    encode_ruling,
    encode_snapshot,
)
from nomospace.wire.frames import (
    FRAME_BYTES_MAX,
    FrameTooLarge,
    NewerFrame,
    decode_frame,
    encode_frame,
)
from nomospace.wire.framing import BadFrame, Framer, join, split

__all__ = [
    "FRAME_BYTES_MAX",
    "BadFrame",
    "BadRecord",
    "FrameTooLarge",
    "Framer",
    "NewerFrame",
    "NewerRecord",
    "decode_change",
    "decode_frame",
    "decode_row",
    "decode_ruling",
    "decode_snapshot",
    "encode_change",
    "encode_frame",
    "encode_row",
    "encode_ruling",
    "encode_snapshot",
    "join",
    "split",
]
