"""Frames in a stream: whole ones come out, wherever it was cut."""

import pytest
from hypothesis import given, settings, strategies as st

from nomospace.wire.framing import BadFrame, Framer, join, split

FRAMES = st.lists(st.binary(max_size=40), max_size=6)


@settings(max_examples=50)
@given(FRAMES, st.lists(st.integers(0, 300), max_size=12))
def test_cuts_do_not_matter(frames: list[bytes], cuts: list[int]) -> None:
    data = join(frames)
    framer = Framer(40)
    found: list[bytes] = []
    start = 0
    for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        found += framer.feed(data[start:end])
        start = end
    assert found == frames
    assert framer.pending == 0
    assert split(data, 40) == frames


def test_byte_by_byte() -> None:
    framer = Framer(100)
    data = join([b"one", b"", b"three"])
    assert [frame for at in range(len(data)) for frame in framer.feed(data[at : at + 1])] == [
        b"one",
        b"",
        b"three",
    ]


def test_what_is_pending_is_counted() -> None:
    framer = Framer(100)
    assert framer.feed(b"\0\0\0\7ab") == []
    assert framer.pending == 6
    assert framer.feed(b"cdefg\0") == [b"abcdefg"]
    assert framer.pending == 1


def test_too_long_a_frame_is_refused_at_its_length() -> None:
    framer = Framer(10)
    assert framer.feed(b"\0\0\0\x0a" + bytes(10)) == [bytes(10)]
    assert framer.feed(b"\0\0\0") == []
    with pytest.raises(BadFrame, match="11 bytes are over the limit of 10"):
        framer.feed(b"\x0b")


def test_a_piece_that_breaks_off() -> None:
    with pytest.raises(BadFrame, match="breaks off"):
        split(join([b"one", b"two"])[:-1], 10)


def test_a_large_frame_in_small_pieces_is_copied_in_linear_time() -> None:
    frame = bytes(4 << 20)
    data = join([frame])
    framer = Framer(len(frame))
    found: list[bytes] = []
    for at in range(0, len(data), 1_000):
        found += framer.feed(data[at : at + 1_000])
    assert found == [frame]


def test_frames_one_by_one_are_those_that_come_together() -> None:
    frames = [bytes([n % 256]) * (n % 7) for n in range(300)]
    data = join(frames)
    for cut in (0, 1, 3, 4, 500, len(data) - 1):
        framer = Framer(100)
        found = [framer.feed_one(data[:cut])]
        found.append(framer.feed_one(data[cut:]))
        while (one := framer.feed_one(b"")) is not None:
            found.append(one)
        assert [one for one in found if one is not None] == frames
        assert framer.pending == 0
