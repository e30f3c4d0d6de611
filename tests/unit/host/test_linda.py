"""Operations as terms of laws, both ways."""

import pytest

from nomospace.calls.requests import ONCE, ONCE_PER_TUPLE, STRONG, WEAK, Out, React, Seek
from nomospace.calls.ways import Way
from nomospace.host.linda import MODES, WORDS, read, seconds, show
from nomospace.terms import show as text, term
from nomospace.terms.templates import ANY, Template

JOB = Template.of(("job", ANY, int))

OPERATIONS = [
    (Out("s", ("job", 1)), "out([job,1])"),
    (Out("s", ("job", 1), "ann@x"), "out([job,1],[to('ann@x')])"),
    (Out("s", ("job", 1), "", 1_500_000), "out([job,1],[ttl(1.5)])"),
    (Out("s", ("job", 1), "ann@x", 2_000_000), "out([job,1],[to('ann@x'),ttl(2)])"),
    (Seek("s", Way.TAKE, JOB), "in([job,formal(any),formal(int)])"),
    (Seek("s", Way.READ, JOB), "rd([job,formal(any),formal(int)])"),
    (Seek("s", Way.TAKE_NOWAIT, JOB), "inp([job,formal(any),formal(int)])"),
    (Seek("s", Way.READ_NOWAIT, JOB), "rdp([job,formal(any),formal(int)])"),
    (Seek("s", Way.TAKE_ALL, JOB), "ing([job,formal(any),formal(int)])"),
    (Seek("s", Way.READ_ALL, JOB), "rdg([job,formal(any),formal(int)])"),
    (
        Seek("s", Way.TAKE, JOB, "b", "ann@x", 30_000_000),
        "in([job,formal(any),formal(int)],[lease(30),at(b),dest('ann@x')])",
    ),
    (React("s", JOB), "react([job,formal(any),formal(int)],oncePerTuple)"),
    (React("s", JOB, ONCE), "react([job,formal(any),formal(int)],once)"),
    (
        React("s", JOB, ONCE_PER_TUPLE, STRONG, "b", "ann@x"),
        "react([job,formal(any),formal(int)],oncePerTuple,[strength(strong),at(b),dest('ann@x')])",
    ),
    (
        React("s", JOB, ONCE, WEAK, "", "ann@x"),
        "react([job,formal(any),formal(int)],once,[dest('ann@x')])",
    ),
]


@pytest.mark.parametrize(("request_", "shown"), OPERATIONS, ids=[one[1] for one in OPERATIONS])
def test_an_operation_is_shown_and_read_back(request_: Out | Seek | React, shown: str) -> None:
    assert text(show(request_)) == shown
    back = read(term(shown), "s")
    assert type(back) is type(request_)
    assert back is not None
    assert show(back) == show(request_)
    assert back.space == "s"


def test_every_way_and_every_mode_has_its_word() -> None:
    assert list(WORDS.values()) == ["in", "rd", "inp", "rdp", "ing", "rdg"]
    assert list(MODES.values()) == ["once", "oncePerTuple"]


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        "17",
        "[job]",
        "out",
        "out(job)",
        "out([])",
        "out([formal(any)])",
        "in([])",
        "out([job],[to(x)],extra)",
        "out([job],to(x))",
        "out([job],[to])",
        "out([job],[to(x,y)])",
        "in(job)",
        "in([formal(nosuch)])",
        "react([job])",
        "react([job],sometimes)",
        "react([job],once,[],[])",
        "take([job])",
        "found(in([job]),[job])",
    ],
)
def test_what_is_no_operation_means_none(message: str) -> None:
    assert read(term(message), "s") is None


def test_options_that_make_no_sense_are_as_absent() -> None:
    """A law may forward anything; what an option cannot mean it does not mean."""
    assert read(term("out([job],[ttl(-1),to(7)])"), "s") == Out("s", ("job",))
    back = read(term("in([job],[lease(soon),at(1),colour(red)])"), "s")
    assert isinstance(back, Seek)
    assert (back.lease_us, back.at, back.dest) == (0, "", "")


def test_seconds_are_whole_where_they_can_be() -> None:
    assert [seconds(us) for us in (0, 1, 1_000_000, 90_000_000)] == [0, 0.000001, 1, 90]
    assert [type(seconds(us)) for us in (2_000_000, 2_500_000)] == [int, float]
