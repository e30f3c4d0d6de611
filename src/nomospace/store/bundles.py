"""Records of the journal in bundles: those of one commit are few rows.

A row costs several times what a record does, and a busy host has thousands of records in a commit.
A row's number is that of its last record. Records begin with their version, which is never 0, so a
bundle is told from a single record by its first byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from nomospace.store.interface import JournalEntry

BUNDLE_MAX: Final = 256
"""How many records a row has at most: so many may stay when some of them are forgotten."""
_BUNDLE: Final = b"\x00"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


def bundle(records: Sequence[bytes]) -> bytes:
    """The body of a row with these records; there is at least one.

    >>> [entry.seq for entry in unbundle(7, bundle([b"\\x01a", b"\\x01b", b"\\x01c"]))]
    [5, 6, 7]
    >>> unbundle(7, bundle([b"\\x01a"]))
    [JournalEntry(seq=7, record=b'\\x01a')]
    """
    return records[0] if len(records) == 1 else _BUNDLE + _encode(records)


def unbundle(seq: int, body: bytes) -> list[JournalEntry]:
    """The records of a row; raises `msgspec.MsgspecError` for what is no row."""
    if body[:1] != _BUNDLE:
        return [JournalEntry(seq, body)]
    records = _decode(body[1:])
    first = seq - len(records) + 1
    return [JournalEntry(first + place, record) for place, record in enumerate(records)]
