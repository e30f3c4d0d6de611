"""Everything that travels or is stored comes back as it was, whatever is in it."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from nomospace.control import Ruling, Snapshot
from nomospace.protocols.spaces import Row
from nomospace.wire.blobs import body, build, seal
from nomospace.wire.changes import (
    decode_change,
    decode_row,
    decode_ruling,
    decode_snapshot,
    encode_change,
    encode_row,
    encode_ruling,
    encode_snapshot,
)
from nomospace.wire.frames import decode_frame, encode_frame
from nomospace.wire.packing import pack, unpack
from nomospace.wire.slots import CHANGES, FRAMES, SHAPES
from tests.unit.wire.golden import KINDS, name
from tests.unit.wire.made import instances

Struct = type[msgspec.Struct]


def same(made: Any, given: Any) -> None:
    """Equal, and of the same classes at every depth: a list is no tuple, and `1` is not `1.0`."""
    assert made == given
    assert repr(made) == repr(given)


@pytest.mark.parametrize("kind", KINDS, ids=name)
@settings(max_examples=8)
@given(data=st.data())
def test_every_struct(kind: Struct, data: st.DataObject) -> None:
    one = data.draw(instances(kind))
    same(build(kind, body(b"\1", seal(b"\1", one))), one)


@pytest.mark.parametrize("kind", KINDS, ids=name)
@settings(max_examples=4)
@given(data=st.data())
def test_every_struct_without_native_limits(kind: Struct, data: st.DataObject) -> None:
    one = data.draw(instances(kind))
    same(build(kind, unpack(pack(SHAPES.lower(one, raw=True)))), one)


CODECS: dict[str, tuple[tuple[Struct, ...], Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    "frame": (FRAMES.holds(), encode_frame, decode_frame),
    "change": (CHANGES.holds(), encode_change, decode_change),
    "row": ((Row,), encode_row, decode_row),
    "snapshot": ((Snapshot,), encode_snapshot, decode_snapshot),
    "ruling": ((Ruling,), encode_ruling, decode_ruling),
}


@pytest.mark.parametrize("what", CODECS)
@settings(max_examples=100)
@given(data=st.data())
def test_every_codec(what: str, data: st.DataObject) -> None:
    kinds, encode, decode = CODECS[what]
    one = data.draw(st.sampled_from(kinds).flatmap(instances))
    blob = encode(one)
    same(decode(blob), one)
    assert encode(decode(blob)) == blob
