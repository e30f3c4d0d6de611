"""The canonical bytes of terms: what is hashed, signed and compared, and how terms travel."""

from __future__ import annotations

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
        return _encode_deep(term)


_INT64 = range(-(2**63), 2**64)


def _encode_deep(term: Term) -> bytes:
    """`encode` with a stack of its own, and with integers of any size."""
    out = bytearray()
    plain = msgspec.msgpack.encode
    pending: list[Term] = [term]
    while pending:
        item = pending.pop()
        if type(item) is Compound:
            out += b"\x82\xa1f" + plain(item.name) + b"\xa1a"
            item = item.args
        if type(item) is tuple:
            count = len(item)
            if count < 16:
                out.append(0x90 + count)
            else:
                out += (
                    b"\xdc" + count.to_bytes(2, "big")
                    if count < 65536
                    else b"\xdd" + count.to_bytes(4, "big")
                )
            pending.extend(reversed(item))
        elif type(item) is int and item not in _INT64:
            out += plain(msgspec.msgpack.Ext(1, str(item).encode()))
        else:
            out += plain(item)
    return bytes(out)
