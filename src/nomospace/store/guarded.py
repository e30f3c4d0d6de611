"""Bodies with a checksum behind them, so that a flipped bit is found where it is.

Databases check the shape of their pages, not what is on them. Four bytes for each body find what
a disk or a hand has altered, and the row that it is in can be named.
"""

from __future__ import annotations

from zlib import crc32


class Altered(Exception):
    """A body is not what was written. Callers say which one it is."""


def guard(body: bytes) -> bytes:
    """A body with its checksum.

    >>> unguard(guard(b"tuple"))
    b'tuple'
    """
    return body + crc32(body).to_bytes(4, "big")


def unguard(blob: bytes) -> bytes:
    """The body of what `guard` gave; raises `Altered`.

    >>> unguard(b"tuple with no sum")
    Traceback (most recent call last):
    nomospace.store.guarded.Altered: its checksum does not fit
    """
    body = blob[:-4]
    if crc32(body) != int.from_bytes(blob[-4:], "big"):
        raise Altered("its checksum does not fit")
    return body
