"""What clients and hosts say to each other: it comes back as it was, and garbage is told apart."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from nomospace.calls.answers import Found
from nomospace.calls.problems import Busy
from nomospace.calls.requests import Cancel, Out, OutMany, Seek, Settle, Share
from nomospace.calls.ways import Way
from nomospace.errors import CallerError, LawError
from nomospace.terms import t
from nomospace.terms.templates import ANY, Template, between
from nomospace.wire import talk
from nomospace.wire.calls import BadCall, LawShelf
from nomospace.wire.framing import BadFrame, FrameTooLarge
from nomospace.wire.packing import pack

LAWS = LawShelf(lambda hash: None)
DEEP: Any = 1
for _ in range(600):
    DEEP = (DEEP,)
FIELDS = [
    ("job", 17, None),
    ("job", 2.5, True, b"\0"),
    ("job", 10**30, -(2**63)),
    ("job", t.room(3, ("a", ())), DEEP),
    ("é" * 300,),
]


@pytest.mark.parametrize("fields", FIELDS)
def test_tuples_travel_whatever_is_in_them(fields: tuple[Any, ...]) -> None:
    frame = talk.unpack_frame(talk.pack_out(3, 9, "jobs", fields, "ann@w", 5))
    assert talk.read_call(frame, LAWS) == (3, 9, Out("jobs", fields, "ann@w", 5))
    found = Found(fields, "ann@w", 3, "bob@w", 2, "lease")
    frame = talk.unpack_frame(talk.pack_reply(1, 2, found))
    assert (frame[:3], talk.read_found(frame)) == ([talk.FOUND, 1, 2], found)
    frame = talk.unpack_frame(talk.pack_fired(1, "r", found))
    assert (frame[:3], talk.read_found(frame)) == ([talk.FIRED, 1, "r"], found)
    frame = talk.unpack_frame(talk.pack_reply(1, 2, (found, found)))
    assert talk.read_reply(frame) == (found, found)
    frame = talk.unpack_frame(talk.pack_mail(1, "law", "ann@w", fields))
    assert talk.read_message(frame[4]) == fields
    rows = OutMany("jobs", (fields, fields))
    assert talk.read_call(talk.unpack_frame(talk.pack_ask(1, 0, rows)), LAWS)[2] == rows


@pytest.mark.parametrize(
    "patterns",
    [
        ("job", ANY, 3),
        (ANY,),
        ("x", 10**30),
        (2.5, None, b"x"),
        ("é", ANY),
        ("job", int, between(1, 2)),
    ],
)
@pytest.mark.parametrize("place", [("", "", 0), ("ward", "ann@w", 7)])
def test_templates_travel(patterns: tuple[Any, ...], place: tuple[str, str, int]) -> None:
    seek = Seek("jobs", Way.TAKE_NOWAIT, Template.of(patterns), *place)
    data = talk.pack_seek(3, 9, seek)
    seq, seen, made = talk.read_call(talk.unpack_frame(data), LAWS)
    assert (seq, seen, made) == (3, 9, seek)
    assert isinstance(made, Seek)
    assert made.template.plain == seek.template.plain
    assert made.template.features == seek.template.features


@pytest.mark.parametrize("request_", [Cancel(7), Share(("a", "b"), False), Settle("s", "l", True)])
def test_other_requests_travel(request_: Any) -> None:
    frame = talk.unpack_frame(talk.pack_ask(1, 0, request_))
    assert talk.read_call(frame, LAWS) == (1, 0, request_)


@pytest.mark.parametrize("value", [None, True, "reaction", ()])
def test_other_answers_travel(value: Any) -> None:
    assert talk.read_reply(talk.unpack_frame(talk.pack_reply(1, 2, value))) == value


def test_errors_travel() -> None:
    error = Busy(what="calls", limit=7)
    for data, place in (
        (talk.pack_failure(1, 2, error), 3),
        (talk.pack_gone(1, "r", error), 3),
        (talk.pack_back(1, error), 2),
    ):
        assert repr(talk.read_error(talk.unpack_frame(data)[place])) == repr(error)
    with pytest.raises(Busy):
        talk.unpack_answer(talk.pack_refusal(error))


def test_greetings_travel() -> None:
    hello = talk.ClientHello(1, "s", "ann", 7, True, "token", "pem")
    assert talk.unpack_entry(talk.pack_frame(hello)) == hello
    proof = talk.Proof(b"signed")
    assert talk.unpack_entry(talk.pack_frame(proof)) == proof
    welcome = talk.HostWelcome(1, "ward", 3, "ann@ward", True, 600.0, 1024, (("hash", "mp"),))
    assert talk.unpack_answer(talk.pack_frame(welcome)) == welcome
    for data in (b"", b"\xc0", pack((talk.WELCOME,)), pack((99, 1))):
        with pytest.raises(BadFrame):
            talk.unpack_answer(data)
        with pytest.raises(BadFrame):
            talk.unpack_entry(data)


def test_which_call_a_push_answers() -> None:
    assert talk.answered_call(talk.pack_reply(1, 7, None)) == 7
    assert talk.answered_call(talk.pack_failure(1, 8, Busy(what="x", limit=1))) == 8
    assert talk.answered_call(talk.pack_mail(1, "law", "ann@w", "hello")) == 0


def test_what_is_too_large_is_refused_where_it_is_made() -> None:
    with pytest.raises(FrameTooLarge):
        talk.pack_ask(1, 0, OutMany("s", tuple([("x" * 1_000_000,) for _ in range(17)])))


@pytest.mark.parametrize(
    "frame",
    [
        (),
        (talk.SEEK_PLAIN,),
        (talk.SEEK_PLAIN, 1),
        (talk.SEEK_PLAIN, 2, 3),
        (talk.SEEK_PLAIN, "1", 0, "s", 0, 1),
        (talk.SEEK_PLAIN, 0, 0, "s", 0, 1),
        (talk.OUT, 1, 0, "s", [], ""),
        (talk.ASK, 1, 0),
        (talk.WELCOME, 1, 0, "s"),
    ],
)
def test_frames_that_are_none_cost_the_connection(frame: tuple[Any, ...]) -> None:
    with pytest.raises(BadFrame):
        talk.read_call(talk.unpack_frame(pack(frame)), LAWS)


@pytest.mark.parametrize(
    "frame",
    [
        (talk.SEEK_PLAIN, 1, 0, 7, 0, 1),
        (talk.SEEK_PLAIN, 1, 0, "s", 99, 1),
        (talk.SEEK_PLAIN, 1, 0, "s", "take", 1),
        (talk.SEEK_PLAIN, 1, 0, "s", 0, 1_000_000_000),
        (talk.SEEK_PLAIN, 1, 0, "s", 0, 2, 5, "x"),
        (talk.SEEK_PLAIN, 1, 0, "s", 0, 2, 0),
        (talk.SEEK, 1, 0, "s", 0, [], "", "", -1),
        (talk.SEEK, 1, 0, "s", 0, [], 7, "", 0),
        (talk.OUT, 1, 0, "s", 7, "", 0),
        (talk.OUT, 1, 0, "s", [], "", 10**18),
        (talk.OUT, 1, 0, "s", [], None, 0),
        (talk.ASK, 1, 0, ["nothing"]),
        (talk.ASK, 1, 0, ["cancel", "seven"]),
        (talk.ASK, 1, 0, ["out-many", 7, [], "", 0]),
    ],
)
def test_a_call_with_a_wrong_part_is_answered(frame: tuple[Any, ...]) -> None:
    with pytest.raises(BadCall):
        talk.read_call(talk.unpack_frame(pack(frame)), LAWS)


@pytest.mark.parametrize(
    "body",
    [{"out-many": 1}, {2: []}, "out-many", ["out-many", "jobs"], ["out-many", "jobs", {}, "", 0]],
)
def test_a_batch_with_a_wrong_part_is_answered(body: Any) -> None:
    with pytest.raises(BadCall):
        list(talk.read_batch([talk.ASK, 1, 0, body], LAWS))


def _known() -> list[bytes]:
    return [
        talk.pack_out(3, 9, "jobs", FIELDS[1], "ann@w", 5),
        talk.pack_seek(3, 9, Seek("jobs", Way.TAKE, Template.of(("job", ANY, 3)))),
        talk.pack_seek(3, 9, Seek("jobs", Way.TAKE, Template.of(("job", int)), "ward", "", 5)),
        talk.pack_ask(3, 9, OutMany("jobs", (FIELDS[1],))),
        talk.pack_ask(3, 9, Cancel(1)),
    ]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(_known()), st.integers(0, 2**32))
def test_no_bytes_do_more_harm_than_that(data: bytes, seed: int) -> None:
    chance = random.Random(seed)
    hurt = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        what = chance.randrange(3)
        if what == 0 and hurt:
            hurt[chance.randrange(len(hurt))] = chance.randrange(256)
        elif what == 1 and hurt:
            del hurt[chance.randrange(len(hurt)) :]
        else:
            hurt.insert(chance.randrange(len(hurt) + 1), chance.randrange(256))
    with suppress(BadFrame, CallerError, LawError):
        talk.read_call(talk.unpack_frame(bytes(hurt)), LAWS)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_random_bytes_do_no_more_harm_either(data: bytes) -> None:
    for read in (talk.unpack_entry, talk.unpack_answer, talk.unpack_frame):
        with suppress(BadFrame, CallerError):
            read(data)


def test_frames_are_small() -> None:
    """A take of three fields and its answer, with the number of a session that has lived long."""
    seek = Seek("jobs", Way.TAKE, Template.of(("job", 17, ANY)))
    take = talk.pack_seek(70_000, 1 << 41, seek)
    assert len(take) == 30
    answer = talk.pack_reply(1 << 41, 70_000, Found(("job", 17, "x"), "ann@w", 3, "ann@w"))
    assert len(answer) == 39
    assert msgspec.msgpack.decode(answer)[0] == talk.FOUND
