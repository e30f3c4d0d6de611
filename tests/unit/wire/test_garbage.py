"""Whatever a peer or a disk brings is read, or refused with a typed error, and soon."""

import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from nomospace.control import Ruling, sent
from nomospace.errors import NomospaceError
from nomospace.protocols.courier import Parcel
from nomospace.protocols.messages import HelloFrame, Relay
from nomospace.protocols.routing.frames import Relayed
from nomospace.protocols.spaces import Row, Shown
from nomospace.protocols.streams import Data
from nomospace.terms import TERM_BYTES_MAX, TERM_DEPTH_MAX, Compound, Var, show
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
)
from nomospace.wire.frames import FRAME_VERSION, NewerFrame, decode_frame, encode_frame
from nomospace.wire.framing import FRAME_BYTES_MAX, BadFrame, FrameTooLarge
from nomospace.wire.packing import Unfit, pack, pack_deep, read_deep, unpack
from nomospace.wire.slots import CARRIED, CHANGES, FRAMES, RELAYED, STREAMED
from nomospace.wire.values import pack_term, thaw, unpack_term
from tests.unit.wire.made import example

V = bytes([FRAME_VERSION])
FRAME = HelloFrame("ward", 1, 5, {"lab": 1}, 9, (0.5, 1.5))


def attempt(decode: Callable[[bytes], Any], kind: type[NomospaceError], data: bytes) -> bool:
    """Whether bytes could be read; anything but the one kind of refusal ends the test."""
    try:
        decode(data)
    except kind as error:
        words = str(error)
    else:
        return True
    assert 10 < len(words) < 500, "it says what is wrong, and does not repeat all of it"
    return False


HEADS = (0, 0x80, 0x90, 0xC0, 0xC1, 0xC7, 0xD4, 0xDC, 0xDD, 0xDF, 0xFF)


def garbled(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a few changed, cut out, doubled or put in."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(made)) if made else 0
        match rng.randrange(5):
            case 0 if made:
                made[at] ^= 1 << rng.randrange(8)
            case 1 if made:
                made[at] = rng.choice(
                    (0, 0x80, 0x90, 0xC0, 0xC1, 0xC7, 0xD4, 0xDC, 0xDD, 0xDF, 0xFF)
                )
            case 2:
                del made[at : at + rng.randrange(1, 9)]
            case 3:
                made[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                made = made[: at + 1]
    return bytes(made)


FRAMES_SEEN = [
    *[encode_frame(example(kind)) for kind in FRAMES.holds()],
    *[encode_frame(Relay("a", "b", 3, example(kind))) for kind in RELAYED.holds()],
    *[encode_frame(Relay("a", "b", 3, Data((1, "a"), 1, 1, example(k)))) for k in STREAMED.holds()],
    *[encode_frame(Parcel(1, example(kind))) for kind in CARRIED.holds()],
]
CHANGES_SEEN = [encode_change(example(kind)) for kind in CHANGES.holds()]


@pytest.mark.parametrize("seed", range(8))
def test_garbled_frames(seed: int) -> None:
    rng = random.Random(seed)
    read = sum(
        attempt(decode_frame, BadFrame, garbled(rng.choice(FRAMES_SEEN), rng)) for _ in range(1_500)
    )
    assert read > 50, "some must pass, or only the first byte is ever looked at"


@pytest.mark.parametrize("seed", range(4))
def test_garbled_records(seed: int) -> None:
    rng = random.Random(seed)
    read = sum(
        attempt(decode_change, BadRecord, garbled(rng.choice(CHANGES_SEEN), rng))
        for _ in range(1_500)
    )
    assert read > 50


@settings(max_examples=100)
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes(data: bytes, has_version: bool) -> None:
    attempt(decode_frame, BadFrame, V + data if has_version else data)
    data = b"\1" + data if has_version else data
    for decode in (decode_change, decode_row, decode_ruling, decode_snapshot):
        attempt(decode, BadRecord, data)


PLAIN = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=5)
    ),
    lambda parts: st.one_of(
        st.lists(parts, max_size=4), st.dictionaries(st.text(max_size=3), parts, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100)
@given(st.data())
def test_a_part_of_another_kind(data: st.DataObject) -> None:
    """A frame as any peer may build one: a part of it is something else."""
    raw = unpack(data.draw(st.sampled_from(FRAMES_SEEN))[1:])
    at = raw
    while True:
        place = data.draw(st.integers(0, len(at) - 1))
        if at[place].__class__ is list and at[place] and data.draw(st.booleans()):
            at = at[place]
            continue
        at[place] = data.draw(PLAIN)
        break
    attempt(decode_frame, BadFrame, V + pack(raw))


@pytest.mark.parametrize(
    "data",
    [
        V + b"\x91" * 100_000,
        V + b"\x81" * 100_000,
        V + b"\x81\xa1a" * 100_000,
        V + b"\x92\xa6parcel" + b"\x91" * 200_000,
        V + b"\xdd\xff\xff\xff\xff",
        V + b"\xdf\xff\xff\xff\xff" + b"\x01" * 50,
        V + b"\xc6\xff\xff\xff\xff",
        V + b"\xdb\xff\xff\xff\xff",
        V + b"\xdc\xff\xff" * 900,
        V + b"\x91" * 3_000 + b"\xdd\xff\xff\xff\xff",
        V + b"\x91" * 2_010 + b"\xdb\xff\xff\xff\xff",
        V + b"\x91" * 2_010 + b"\xc1",
        V + b"\x91" * 2_010 + b"\xa1\xff",
        V + b"\x91" * 2_010 + b"\xcb\0",
        V + b"\x91" * 2_010 + b"\0\0",
        V + b"\x91" * 2_010 + b"\x81\1\1",
        V + b"\x91" * 2_010 + b"\xc7\x05\x01hello",
        V + b"\x91" * 2_010 + b"\xdc",
    ],
)
def test_hostile_shapes_cost_little(data: bytes) -> None:
    tracemalloc.start()
    try:
        assert not attempt(decode_frame, BadFrame, data)
        assert tracemalloc.get_traced_memory()[1] < 200 * len(data) + 1_000_000
    finally:
        tracemalloc.stop()


LARGE = FRAME_BYTES_MAX - 16


@pytest.mark.parametrize(
    "parts",
    [b"\x90", b"\x80", b"\x91\xc0", b"\x81\xa0\x01", b"\x92\x01\x02", b"\x99" + b"\x01" * 9],
    ids=bytes.hex,
)
def test_a_large_frame_of_tiny_parts_is_not_unpacked(parts: bytes) -> None:
    """An empty list is one byte on the wire and seventy in memory."""
    data = V + b"\xdd" + (LARGE // len(parts)).to_bytes(4, "big") + parts * (LARGE // len(parts))
    with pytest.raises(BadFrame, match="more than 1,000,000 lists and maps"):
        decode_frame(data)


def test_a_large_frame_of_texts_is() -> None:
    """Letters of most alphabets have bytes that look like lists, and so have pictures."""
    text = "приветствие " * 40_000
    rows = tuple([Row((text, text.encode()), "a@x", n, "a@x", "a@x") for n in range(8)])
    shown = Relay("a", "b", 3, Data((1, "a"), 1, 1, Shown((1, 2, 3), rows)))
    assert len(encode_frame(shown)) > 12 << 20
    assert decode_frame(encode_frame(shown)) == shown


def keyed(*keys: bytes, width: int = 4_000) -> bytes:
    """A value with a map in it that has these keys, amid many that are strings."""
    wide = b"".join([pack(f"key {n}") + b"\xc0" for n in range(width)])
    entries = (width + len(keys)).to_bytes(4, "big")
    return (
        b"\x93\x01\xdf" + entries + wide + b"".join([key + b"\x91\x02" for key in keys]) + b"\xc3"
    )


ALIKE = [b"\xc7\x25\x01" + str((2**61 - 1) * (10**18 + n)).encode() for n in range(2)]
"""Two integers that are read as keys whose hashes are the same."""


@pytest.mark.parametrize("key", [*ALIKE, b"\x92\x01\x02", b"\x05", b"\xc4\x01x", b"\x80"])
def test_large_maps_have_keys_that_nobody_can_make_hash_alike(key: bytes) -> None:
    with pytest.raises(Unfit, match="keys are not all strings"):
        unpack(keyed(key))
    with pytest.raises(Unfit, match="keys are not all strings"):
        unpack(b"\xdf\x00\x00\x00\x01\xa1x" + keyed(b"\xa0", key))


def test_large_maps_of_texts_are_read() -> None:
    texts = [pack("x" * n) for n in (0, 31, 32, 300, 70_000)]
    found = unpack(keyed(*texts))
    assert (found[0], len(found[1]), found[2]) == (1, 4_005, True)
    rest = {str(n): [n, None, 1.5, b"\xde", {"a": -n, "b": 2**40}, "\u07c0"] for n in range(3_000)}
    assert unpack(pack([rest, {"more": rest}])) == [rest, {"more": rest}]


def test_a_large_map_that_breaks_off() -> None:
    data = keyed(pack("last"))
    for cut in range(1, 12):
        with pytest.raises(Unfit):
            unpack(data[:-cut])


def test_a_large_frame_that_breaks_off() -> None:
    data = V + b"\xdd" + LARGE.to_bytes(4, "big") + b"\xd9\xff" + b"\x90" * 2_000_000
    for cut in (0, 1, 300):
        assert not attempt(decode_frame, BadFrame, data[: len(data) - cut] + b"\xdb\0")


def test_frames_in_frames_without_end() -> None:
    frame: Any = None
    for _ in range(601):
        frame = Relayed("d", "s", frame)
    raw = unpack(pack(Parcel(1, None)))
    raw[2] = unpack(pack(frame))
    assert not attempt(decode_frame, BadFrame, V + pack(raw))


# -- terms -------------------------------------------------------------------------------------


def deep(levels: int) -> Any:
    made: Any = "x"
    for level in range(levels - 1):
        made = Compound("f", (made,)) if level % 2 else (made,)
    return made


@pytest.mark.parametrize("levels", [2, 9, 300, 600, TERM_DEPTH_MAX])
def test_the_deepest_term_travels(levels: int) -> None:
    term = deep(levels)
    row = Row((term, 2**4000, "é" * 300), "ann@x", 1, "ann@x", "ann@x")
    made = decode_row(encode_row(row))
    assert made.fields[1:] == row.fields[1:]
    assert pack_term(made.fields[0]) == pack_term(term)
    assert unpack_term(pack_term(term)) == term


def test_a_deeper_one_does_not() -> None:
    with pytest.raises(Unfit, match="deeper than 1,000 levels"):
        unpack_term(pack_term(deep(TERM_DEPTH_MAX + 1)))
    with pytest.raises(BadRecord, match="deeper"):
        decode_row(encode_row(Row((deep(TERM_DEPTH_MAX + 1),), "a@x", 1, "a@x", "a@x")))


def test_what_a_law_says_of_the_deepest_message_is_read_again() -> None:
    """A template, in an operation, in the list of an answer: the event that is ruled on."""
    message = Compound("found", (Compound("in", (deep(TERM_DEPTH_MAX),)), ("x" * 600_000,) * 3))
    ruling = Ruling(1, 0, "jobs", "4c1f", sent("jobs", message, "ann@x"), None)
    made = decode_ruling(encode_ruling(ruling))
    assert pack_term(made.event.args) == pack_term(ruling.event.args)


def test_an_operation_may_hold_what_its_law_left_open() -> None:
    """`do(show(f(X, [a|Y])))` with both unbound is printed with `_`, before and after."""
    tail = Compound("[|]", ("a", Var("Y")))
    operation = Compound("show", (Compound("f", (Var("X"), tail, deep(900))),))
    ruling = Ruling(1, 0, "ann@x", "4c1f", sent("ann@x", "hi", "bob@x"), "R1", (operation, tail))
    made = decode_ruling(encode_ruling(ruling))
    assert show(made.operations[1]) == show(tail) == "[a|_]"
    assert show(made.operations[0]) == show(operation)
    with pytest.raises(BadRecord, match="a Var where a term must stand"):
        decode_row(encode_row(Row((Var("X"),), "a@x", 1, "a@x", "a@x")))


def test_the_largest_term_travels_and_a_larger_one_does_not() -> None:
    most = "x" * (TERM_BYTES_MAX - 1)
    assert thaw(most) == most
    with pytest.raises(Unfit, match="larger than 1,000,000 bytes"):
        thaw(most + "x")
    with pytest.raises(Unfit, match="larger"):
        thaw([["x" * 1_000] * 20] * 50)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "the number nan"),
        (float("-inf"), "the number -inf"),
        ({}, "no compound"),
        ({"f": "g"}, "no compound"),
        ({"f": "g", "a": []}, "no compound"),
        ({"f": 1, "a": [1]}, "no compound"),
        ({"f": "g", "a": [1], "b": 1}, "no compound"),
        ({"f": "[|]", "a": [1]}, r"a compound named \[\|\]"),
        ([{1: 2}], "no compound"),
        pytest.param(2**5000, "an integer of 5,001 bits", id="2**5000"),
        (object(), "a object where a term must stand"),
    ],
)
def test_what_is_no_term(value: Any, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        thaw(["x" * 300, value])
    with pytest.raises(Unfit, match=why):
        thaw([value] if value.__class__ is not int else ["x" * 300, value])


def test_negative_zero_is_zero() -> None:
    assert repr(thaw(-0.0)) == "0.0"


@pytest.mark.parametrize(
    "data",
    [
        b"\xc7\x02\x0112",  # it fits in 64 bits
        b"\xc7\x16\x01+118059162071741130342",
        b"\xc7\x16\x010118059162071741130342",
        b"\xc7\x03\x01abc",
        b"\xc7\x00\x01",
        b"\xc8\x05\x55\x01" + b"9" * 1365,
        b"\xd4\x05\x00",
        b"\xd6\xff\x00\x00\x00\x00",  # a moment in time
    ],
)
def test_what_is_no_integer_and_no_term(data: bytes) -> None:
    with pytest.raises(Unfit):
        unpack_term(data)


@settings(max_examples=100)
@given(PLAIN)
def test_the_slow_reader_reads_the_same(value: Any) -> None:
    data = pack(value)
    assert repr(read_deep(data)) == repr(unpack(data))
    assert pack_deep(value) == data


# -- limits and versions -----------------------------------------------------------------------


def test_a_frame_past_the_limit() -> None:
    rows = tuple([Row(("x" * 900_000,), "a@x", n, "a@x", "a@x") for n in range(19)])
    with pytest.raises(FrameTooLarge, match="a Relay of 17,100,") as caught:
        encode_frame(Relay("a", "b", 3, Data((1, "a"), 1, 1, Shown((1, 2, 3), rows))))
    assert "over the limit of 16,777,216" in str(caught.value)
    with pytest.raises(BadFrame, match="over the limit"):
        decode_frame(bytes(FRAME_BYTES_MAX + 1))


def test_newer_versions_are_refused_with_both_numbers() -> None:
    with pytest.raises(NewerFrame, match="version 3 came, and this host knows version 2 at most"):
        decode_frame(b"\3" + encode_frame(FRAME)[1:])
    with pytest.raises(NewerRecord, match="upgrade nomospace") as caught:
        decode_row(b"\7" + b"anything")
    assert (caught.value.version, caught.value.known) == (7, 1)
    with pytest.raises(BadFrame, match="of version 1, and this host knows 2 only"):
        decode_frame(b"\1" + encode_frame(FRAME)[1:])
    assert not attempt(decode_frame, BadFrame, b"\0" + encode_frame(FRAME)[1:])
    assert not attempt(decode_frame, BadFrame, b"")
