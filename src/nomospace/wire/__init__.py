"""Messages, rulings and records to bytes and back: versions and size limits, no decisions.

The names here are loaded on use: a client needs no record of a host.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        NewerFrame,
        decode_frame,
        encode_frame,
    )
    from nomospace.wire.framing import (
        FRAME_BYTES_MAX,
        BadFrame,
        Framer,
        FrameTooLarge,
        join,
        split,
    )

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

_LATER = {
    "BadFrame": "nomospace.wire.framing",
    "BadRecord": "nomospace.wire.changes",
    "FRAME_BYTES_MAX": "nomospace.wire.framing",
    "FrameTooLarge": "nomospace.wire.framing",
    "Framer": "nomospace.wire.framing",
    "NewerFrame": "nomospace.wire.frames",
    "NewerRecord": "nomospace.wire.changes",
    "decode_change": "nomospace.wire.changes",
    "decode_frame": "nomospace.wire.frames",
    "decode_row": "nomospace.wire.changes",
    "decode_ruling": "nomospace.wire.changes",
    "decode_snapshot": "nomospace.wire.changes",
    "encode_change": "nomospace.wire.changes",
    "encode_frame": "nomospace.wire.frames",
    "encode_row": "nomospace.wire.changes",
    "encode_ruling": "nomospace.wire.changes",
    "encode_snapshot": "nomospace.wire.changes",
    "join": "nomospace.wire.framing",
    "split": "nomospace.wire.framing",
}


def __getattr__(name: str) -> object:
    """Load a name on its first use."""
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'nomospace.wire' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value
