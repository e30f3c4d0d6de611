"""Bodies with a checksum behind them, so that a flipped bit is found where it is.

Databases check the shape of their pages, not what is on them. Four bytes for each body find what
a disk or a hand has altered, and the row that it is in can be named.

The checksum stands with its lowest byte first. Then the checksum of a body with its checksum is
the same for all bodies, and one look tells whether a blob is whole.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec

from nomospace.protocols.spaces import Row
from nomospace.wire.changes import RECORD_VERSION, decode_row

WHOLE: Final = crc32(b"\0\0\0\0")
"""The checksum of every blob that is whole."""
_PLAIN: Final = frozenset([str, int, bool, float, type(None)])
_decode = msgspec.msgpack.Decoder(Row).decode


class Altered(Exception):
    """A body is not what was written. Callers say which one it is."""


def guard(body: bytes) -> bytes:
    """A body with its checksum.

    >>> unguard(guard(b"tuple"))
    b'tuple'
    """
    return body + crc32(body).to_bytes(4, "little")


def unguard(blob: bytes) -> bytes:
    """The body of what `guard` gave; raises `Altered`.

    >>> unguard(b"tuple with no sum")
    Traceback (most recent call last):
    nomospace.store.guarded.Altered: its checksum does not fit
    """
    if crc32(blob) != WHOLE:
        raise Altered("its checksum does not fit")
    return blob[:-4]


def guarded_row(blob: bytes) -> Row:
    """The tuple of a blob; raises `Altered` or `BadRecord`.

    A store is opened by reading very many of these, and most have plain fields, which need no
    second look: whatever has others goes the long way.
    """
    if crc32(blob) != WHOLE:
        raise Altered("its checksum does not fit")
    if blob[0] == RECORD_VERSION:
        try:
            row = _decode(blob[1:-4])
        except (msgspec.DecodeError, ValueError):
            return decode_row(blob[:-4])
        for field in row.fields:
            if field.__class__ not in _PLAIN:
                break
        else:
            return row
    return decode_row(blob[:-4])
