"""Formats are on record: a frame or a record of today is read tomorrow, or its version says no."""

import msgspec
import pytest

from nomospace.protocols.messages import HelloFrame
from nomospace.protocols.pace import LOSS
from nomospace.protocols.spaces import Row
from nomospace.wire.blobs import build
from nomospace.wire.changes import BadRecord, decode_row, encode_row
from nomospace.wire.frames import FRAME_VERSION, decode_frame, encode_frame
from nomospace.wire.packing import pack, unpack
from nomospace.wire.slots import SHAPES
from tests.unit.wire.golden import KINDS, name, recorded, written
from tests.unit.wire.made import example

RECORD = recorded()


def test_bytes_are_as_recorded_and_nothing_else_is_on_record() -> None:
    found = {name(kind): written(kind) for kind in KINDS}
    assert found == RECORD, "python -m tests.unit.wire.golden rewrites it"
    assert list(found) == list(RECORD)


def test_what_was_recorded_is_read() -> None:
    for kind in KINDS:
        data = bytes.fromhex(RECORD[name(kind)]["bytes"])
        assert build(kind, unpack(data)) == example(kind), name(kind)


def test_terms_written_without_native_code_are_the_same_bytes() -> None:
    for kind in KINDS:
        data = pack(SHAPES.lower(example(kind), raw=True))
        assert data.hex() == RECORD[name(kind)]["bytes"], name(kind)


def test_a_field_may_be_added_at_the_end() -> None:
    """A record without it is read with the default; one with more is read without the rest."""
    row = Row(("job", 17), "ann@x", 3, "ann@x", "ann@x")
    raw = unpack(encode_row(row)[1:])
    assert decode_row(b"\1" + pack(raw[:5])) == row
    assert decode_row(b"\1" + pack([*raw, "of tomorrow"])) == row
    with pytest.raises(BadRecord, match="length 5, got 4"):
        decode_row(b"\1" + pack(raw[:4]))


def test_a_hello_that_names_no_loss_keeps_the_usual_pace() -> None:
    """Hosts of a version that could not choose one are in a group with those that can."""
    hello = HelloFrame("ward", 1, 5, {"lab": 1}, (1 << 63) - 1, None, 400_000)
    raw = unpack(encode_frame(hello)[1:])
    assert raw[-1] == 400_000
    short = bytes([FRAME_VERSION]) + pack(raw[:-1])
    assert decode_frame(short) == msgspec.structs.replace(hello, loss=LOSS)
