"""Rulings as a replay reads them: what the controller was told in full, what it said as bytes.

A replay makes the same ruling again, so it need not read the recorded one: two rulings are alike
when their bytes are. That saves most of the reading, and what is compared is exact. Events are read
natively; their terms were within all limits when a controller ruled on them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.control import Ruling
from nomospace.terms.values import Part, Term
from nomospace.wire.changes import RECORD_VERSION, decode_ruling
from nomospace.wire.packing import pack, pack_deep, reader_of, unpack
from nomospace.wire.values import thaw_operation

NOTHING: Final = b"\x90"
"""The bytes of no operations, and of no changes."""


class Recorded(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="ruling"):
    """The fields of `control.Ruling`, with those that a replay makes itself as bytes."""

    seq: int
    at: int
    home: str
    law: str
    event: tuple[str, tuple[Part, ...]]
    rule: str | None
    operations: msgspec.Raw
    delta: msgspec.Raw
    unmet: msgspec.Raw
    stopped: str | None
    due_at: int | None
    prices: int = 1


_read: Final = reader_of(Recorded)


def read_recorded(body: bytes) -> Recorded:
    """A ruling as it was encoded; raises `BadRecord`.

    >>> from nomospace.control import Event, Ruling, sent
    >>> from nomospace.wire.changes import encode_ruling
    >>> ruling = Ruling(1, 0, "ann@x", "4c1f", sent("ann@x", "hi", "bob@x"), None)
    >>> recorded = read_recorded(encode_ruling(ruling))
    >>> Event(*recorded.event) == ruling.event, bytes(recorded.operations) == NOTHING
    (True, True)
    """
    try:
        if body[0] == RECORD_VERSION:
            recorded: Recorded = _read(body[1:] if len(body) < 4_096 else memoryview(body)[1:])
            return recorded
    except (ValueError, IndexError, RecursionError):  # damage, or a term that is deep
        pass
    ruling = decode_ruling(body)
    told = msgspec.structs.asdict(ruling)
    told["event"] = (ruling.event.kind, ruling.event.args)
    for name in ("operations", "delta", "unmet"):
        told[name] = msgspec.Raw(pack_operations(told[name]))
    return Recorded(**told)


_read_operations: Final = reader_of(tuple[Part, ...])


def operations_of(recorded: Recorded) -> tuple[Term, ...]:
    """What the controller said."""
    data = bytes(recorded.operations)
    if data == NOTHING:
        return ()
    try:
        operations: tuple[Term, ...] = _read_operations(data)
    except (ValueError, RecursionError):  # unbound variables, deep terms, huge integers
        operations = tuple([thaw_operation(part) for part in unpack(data)])
    return operations


def says_the_same(ruling: Ruling, recorded: Recorded, alike: bool | None = None) -> bool:
    """Whether a ruling on a recorded event says what was said of it then, byte for byte.

    Operations that are known to be `alike`, or not, are not compared again.
    """
    if alike is None:
        alike = pack_operations(ruling.operations) == bytes(recorded.operations)
    if not alike:
        return False
    if ruling.delta or ruling.unmet:
        changes = pack_operations((ruling.delta, ruling.unmet))
        if changes != b"".join((b"\x92", recorded.delta, recorded.unmet)):
            return False
    elif len(recorded.delta) + len(recorded.unmet) != 2 * len(NOTHING):
        return False
    return (
        ruling.rule == recorded.rule
        and ruling.seq == recorded.seq
        and ruling.at == recorded.at
        and ruling.stopped == recorded.stopped
        and ruling.due_at == recorded.due_at
    )


def pack_operations(operations: tuple[object, ...]) -> bytes:
    """Operations or changes as they stand in a record, with variables that were left unbound.

    >>> pack_operations(()) == NOTHING
    True
    """
    try:
        return pack(operations)
    except (OverflowError, RecursionError):
        return pack_deep(operations)
