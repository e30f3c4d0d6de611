"""The canonical bytes of terms: what is hashed, signed and compared, and how terms travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from nomospace.terms.values import Compound, Term


def encode(term: Term) -> bytes:
    """The canonical bytes of a ground term: equal terms give equal bytes, others differ.

    MessagePack; a compound is the map `{"f": name, "a": [args]}`, which no other term is. An
    integer past 64 bits is an extension of type 1 with its decimal digits. Shared parts are written
    out each time, so who may hold a term past the limits asks `oversize` first.

    >>> encode(Compound("room", (3,))).hex()
    '82a166a4726f6f6da1619103'
    """
    try:
        return msgspec.msgpack.encode(term)
    except (OverflowError, RecursionError):
        return encode_deep(term)


_INT64: Final = range(-(2**63), 2**64)
BIG_INT: Final = 1
"""The extension that an integer past 64 bits is."""


def encode_deep(value: Any, pack: Callable[[object], bytes] = msgspec.msgpack.encode) -> bytes:
    """Terms and plain data of any depth as bytes, with integers of any size.

    `pack` writes what is neither deep nor huge.

    >>> encode_deep({"left": (Compound("room", (3,)),)}).hex()
    '81a46c6566749182a166a4726f6f6da1619103'
    """
    out = bytearray()
    todo = [value]
    while todo:
        item = todo.pop()
        kind = item.__class__
        if kind is Compound:
            out += b"\x82\xa1f" + pack(item.name) + b"\xa1a"
            item = item.args
            kind = tuple
        if kind is tuple or kind is list:
            out += _count(len(item), 0x90, 0xDC)
            todo.extend(reversed(item))
        elif kind is dict:
            out += _count(len(item), 0x80, 0xDE)
            for name, part in reversed(item.items()):
                todo += (part, name)
        elif kind is int and item not in _INT64:
            out += pack(msgspec.msgpack.Ext(BIG_INT, str(item).encode()))
        else:
            out += pack(item)
    return bytes(out)


def _count(count: int, short: int, long: int) -> bytes:
    """The head of a list or map of so many parts."""
    if count < 16:
        return bytes([short + count])
    if count < 1 << 16:
        return bytes([long]) + count.to_bytes(2, "big")
    return bytes([long + 1]) + count.to_bytes(4, "big")
