"""What a host writes down, as bytes: changes, rows, memberships and rulings.

Every record is a blob with its own version, so a store may keep old ones beside new ones. Laws are
not among them: they are stored as text (`host.calls.LawText`), and a ruling names its law by hash.
What cannot be read raises `BadRecord`; a store that finds one names it and drops nothing.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from nomospace.control import Ruling, Snapshot
from nomospace.errors import Unavailable
from nomospace.host.changes import Change
from nomospace.protocols.spaces import Row
from nomospace.wire.blobs import Newer, body, build, seal
from nomospace.wire.kinds import Tagged
from nomospace.wire.packing import Unfit, pack, reader_of
from nomospace.wire.slots import CHANGES
from nomospace.wire.values import thaw_all

RECORD_VERSION: Final = 1
"""The version of all records that this nomospace writes."""

_VERSION: Final = bytes([RECORD_VERSION])
_read_row: Final = reader_of(Row)


class BadRecord(Unavailable):
    """A stored record is damaged, or is none."""

    code = "wire.bad-record"
    words = (
        "a stored {what} cannot be read: {why}; look at the store with "
        "`nomospace doctor`, or restore a backup"
    )
    what: str
    why: str


class NewerRecord(BadRecord):
    """A store was written by a later version than this one."""

    code = "wire.newer-record"
    words = (
        "a stored {what} is of version {version}, and this nomospace knows version "
        "{known} at most; upgrade nomospace, then open the store again"
    )
    version: int
    known: int


_encode_small = msgspec.msgpack.Encoder().encode


def _read(what: str, struct: type[msgspec.Struct] | Tagged, data: bytes) -> Any:
    try:
        raw = body(_VERSION, data)
        return build(struct.kind(raw) if isinstance(struct, Tagged) else struct, raw)
    except Newer as error:
        raise NewerRecord(
            what=what, why=str(error), version=error.version, known=error.known
        ) from None
    except Unfit as error:
        raise BadRecord(what=what, why=str(error)) from None


def encode_change(change: Change) -> bytes:
    """One change of a host as bytes.

    >>> from nomospace.host.changes import AgentCame
    >>> decode_change(encode_change(AgentCame("ann@ward", 3)))
    AgentCame(agent='ann@ward', count=3)
    """
    return seal(_VERSION, change)


def encode_small(name: str, body: bytes) -> bytes:
    """A `SmallKept` as `encode_change` has it; every commit has some.

    >>> from nomospace.host.changes import SmallKept
    >>> encode_small("a", b"1") == encode_change(SmallKept("a", b"1"))
    True
    """
    return _VERSION + _encode_small(("small-kept", name, body))


def decode_change(data: bytes) -> Change:
    """The change that bytes stand for; raises `BadRecord`."""
    change: Change = _read("change", CHANGES, data)
    return change


def encode_row(row: Row) -> bytes:
    """A tuple with all that rides along, as bytes.

    >>> decode_row(encode_row(Row(("job", 17), "ann@x", 3, "ann@x", "ann@x"))).fields
    ('job', 17)
    """
    return seal(_VERSION, row)


def decode_row(data: bytes) -> Row:
    """The tuple that bytes stand for; raises `BadRecord`.

    A store may hold a million, so most are read in one native pass; what is not as most, deep
    terms and damage, is read again part by part.
    """
    row: Row
    try:
        if data[0] == RECORD_VERSION:
            row = _read_row(data[1:])
            msgspec.structs.force_setattr(row, "fields", thaw_all(row.fields))
            return row
    except (ValueError, IndexError, RecursionError):
        pass
    row = _read("tuple", Row, data)
    return row


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """A membership as bytes."""
    return seal(_VERSION, snapshot)


def decode_snapshot(data: bytes) -> Snapshot:
    """The membership that bytes stand for; raises `BadRecord`."""
    snapshot: Snapshot = _read("membership", Snapshot, data)
    return snapshot


def encode_ruling(ruling: Ruling) -> bytes:
    """A ruling as bytes.

    >>> from nomospace.control import sent
    >>> ruling = Ruling(1, 0, "ann@x", "4c1f", sent("ann@x", "hi", "bob@x"), None)
    >>> decode_ruling(encode_ruling(ruling)) == ruling
    True
    """
    try:
        return _VERSION + pack(ruling)
    except (OverflowError, RecursionError):  # huge integers, deep terms
        return seal(_VERSION, ruling)


def decode_ruling(data: bytes) -> Ruling:
    """The ruling that bytes stand for, as `control.redo` and `control.explain` take it."""
    ruling: Ruling = _read("ruling", Ruling, data)
    return ruling
