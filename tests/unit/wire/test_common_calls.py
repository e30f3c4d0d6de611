"""Common calls are read as `talk.read_call` reads them, and all others are left to it."""

from __future__ import annotations

from random import Random
from typing import NoReturn

from nomospace.calls.requests import WAYS, Seek, Settle, Share
from nomospace.errors import NomospaceError
from nomospace.terms.templates import ANY, WIDTH_MAX, Template
from nomospace.terms.tuples import SHORT
from nomospace.wire.common_calls import read_common
from nomospace.wire.packing import pack
from nomospace.wire.talk import (
    ASK,
    OUT,
    SEEK,
    SEEK_PLAIN,
    Frame,
    pack_ask,
    pack_seek,
    read_call,
    unpack_frame,
)

PARTS: tuple[object, ...] = (
    *(0, 1, 2, 5, 6, 63, 64, -1, 255, 256, 1.0, True, None, 2**61, 2**63, "", "job", "ä"),
    *("x" * SHORT, "x" * (SHORT + 1), b"x", [], ["job", 1], [[1]], {"f": "formal", "a": ["any"]}),
)


def no_laws(hash: object) -> NoReturn:
    raise AssertionError(hash)


def read(data: bytes) -> object:
    """What the way of all calls gives."""
    try:
        return read_call(unpack_frame(data), no_laws)
    except NomospaceError:
        return None


def frame(rng: Random) -> Frame:
    kind = rng.choice((SEEK_PLAIN, SEEK_PLAIN, SEEK, OUT))
    head: Frame = [kind, rng.randrange(1, 9), rng.randrange(9), "jobs"]
    if kind == SEEK_PLAIN:
        places = sorted(rng.sample(range(4), rng.randrange(4)))
        head += [rng.randrange(len(WAYS)), rng.choice((4, 5, WIDTH_MAX))]
        for place in places:
            head += [place, rng.choice(PARTS)]
    elif kind == SEEK:
        head += [rng.randrange(len(WAYS)), ["job", {"f": "formal", "a": ["any"]}], "", "", 0]
    else:
        head += [[rng.choice(PARTS) for _ in range(rng.randrange(1, 4))], "", 0]
    if rng.random() < 0.5:  # and something is wrong with it
        head[rng.randrange(len(head))] = rng.choice(PARTS)
    return head


def test_what_is_read_is_what_the_way_of_all_calls_gives() -> None:
    rng = Random(1)
    common = 0
    for _ in range(4_000):
        data = pack(frame(rng))
        got = read_common(data)
        if got is not None:
            common += 1
            assert got == read(data), data
    assert 800 < common < 3_200


def test_a_plain_template_whose_places_do_not_go_up_is_left_to_the_way_of_all_calls() -> None:
    for width, one, other in ((3, 1, 1), (3, 2, 1), (3, 0, 3), (1, 0, 1)):
        data = pack([SEEK_PLAIN, 1, 0, "jobs", 0, width, one, "job", other, 17])
        assert read_common(data) is None


def test_what_is_said_of_a_lease_is_common_and_other_requests_are_not() -> None:
    settled = Settle("jobs", "ward/7", False, 0, 5, "why")
    data = pack_ask(3, 2, settled)
    assert read_common(data) == read(data) == (3, 2, settled)
    assert read_common(pack_ask(3, 2, Share(("settle",)))) is None
    assert read_common(pack([ASK, 3, 2, ["settle", 1, 2]])) is None


def test_what_is_deep_or_large_is_left_to_the_way_of_all_calls() -> None:
    head = pack([SEEK, 1, 0, "jobs", 0, None, "", "", 0])
    deep = head.replace(b"\xc0", b"\x91" * 3_000 + b"\x90")
    assert read_common(deep) is None
    assert read_common(pack([OUT, 1, 0, "jobs", ["x" * 20_000], "", 0])) is None


def test_a_template_that_was_read_before_is_common() -> None:
    seek = Seek("jobs", WAYS[0], Template.of(("job", ANY, int)), lease_us=5)
    data = pack_seek(3, 2, seek)
    assert read(data) == (3, 2, seek)
    assert read_common(data) == (3, 2, seek)
    assert read_common(b"") is None
