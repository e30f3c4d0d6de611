"""Common answers are read as `talk.read_found` reads them, and all others are left to it."""

from __future__ import annotations

from random import Random

from nomospace.calls.answers import Found
from nomospace.terms import t
from nomospace.wire.framing import BadFrame
from nomospace.wire.packing import HARMLESS, pack
from nomospace.wire.talk import (
    FOUND,
    REPLY,
    Frame,
    pack_failure,
    pack_gone,
    pack_mail,
    pack_reply,
    read_common_answer,
    read_found,
    unpack_frame,
)
from nomospace.wire.values import FEW_PARTS, SHORT_CHARS

PARTS: tuple[object, ...] = (
    *(0, 1, -1, 255, 256, 1.0, 2.5, True, None, 2**61, 2**63, -(2**63), "", "job", "ä"),
    *("x" * SHORT_CHARS, "x" * (SHORT_CHARS + 1), b"x", [], ["job", 1], [[1]]),
    {"f": "room", "a": [3]},
)


def read(data: bytes) -> object:
    """What the way of all answers gives."""
    frame = unpack_frame(data)
    return frame[1], frame[2], read_found(frame)


def test_what_is_read_is_what_the_way_of_all_answers_gives() -> None:
    rng = Random(1)
    common = 0
    for _ in range(4_000):
        fields = [rng.choice(PARTS) for _ in range(rng.randrange(1, 4))]
        head: Frame = [FOUND, rng.randrange(2**41), rng.randrange(1, 9), fields]
        frame = [*head, "ann@ward", rng.randrange(9), "bob@ward", rng.randrange(3), ""]
        wrong = rng.random() < 0.2
        if wrong:
            frame[rng.randrange(len(frame))] = rng.choice(PARTS)
        data = pack(frame)
        got = read_common_answer(data)
        if got is not None:
            common += 1
            assert got == read(data), data
            assert isinstance(got[2], Found)
            assert [type(one) for one in got[2].fields] == [type(one) for one in frame[3]]
    assert 400 < common < 3_600


def test_the_answer_to_a_write_is_common() -> None:
    assert read_common_answer(pack_reply(3, 7, None)) == (3, 7, None)
    assert read_common_answer(pack([REPLY, 3, "7"])) is None


def test_all_else_is_left_to_the_way_of_all_answers() -> None:
    error = BadFrame(why="so")
    wide = Found(tuple(range(FEW_PARTS + 1)), "ann@ward", 3, "ann@ward")
    deep = Found((t.room(t.bed(3)),), "ann@ward", 3, "ann@ward")
    large = Found(("x" * SHORT_CHARS,) * (HARMLESS // SHORT_CHARS), "ann@ward", 3, "ann@ward")
    told = Found(("job", 1), "ann@ward", 3, "ann@ward", why="ann@ward#1 is a Car")
    for other in (
        *[pack_reply(1, 7, found) for found in (wide, deep, large, told)],
        pack_reply(1, 7, "r1"),
        pack_failure(1, 7, error),
        pack_gone(1, "r1", error),
        pack_mail(1, "4c1f", "ann@ward", "hello"),
        b"",
        b"\x99\x18",
        b"\x93\x19\x01",
    ):
        assert read_common_answer(other) is None, other
