"""The short way of a plain read or take gives what the long way would, or nothing."""

from typing import Any

import pytest

from nomospace.host import Answer, Arrive, Call, Host, Open, Out, Seek, Share, Template
from nomospace.host.calls import (
    READ,
    READ_NOWAIT,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    Adopt,
    Disengage,
    Loaded,
)
from nomospace.law import load
from nomospace.terms.templates import ANY

JOB = Template.of(("job", ANY))
LAW = load("law(open). R1. sent(_,_,_) :- do(forward). R2. arrived(_,_,_) :- do(deliver).")


def told(host: Host, request: Any, op: int = 1) -> list[Any]:
    effects = host.handle(Call(op, "ann@a", request), now=5)
    return [effect.value for effect in effects if isinstance(effect, Answer)]


def host(*, durable: bool = False, shared: bool = True, **options: Any) -> Host:
    made = Host("a", life=1, now=0, **options)
    made.handle(Arrive("ann@a"), now=0)
    told(made, Open("jobs", durable=durable))
    if shared:
        told(made, Share(("jobs",)))
    for number in range(3):
        told(made, Out("jobs", ("job", number)))
    return made


@pytest.mark.parametrize("how", [TAKE, TAKE_NOWAIT, READ, READ_NOWAIT])
def test_it_gives_what_a_call_would(how: str) -> None:
    short, long = host(), host()
    for _ in range(3):
        record = short.at_once("ann@a", Seek("jobs", how, JOB), now=5)
        [found] = told(long, Seek("jobs", how, JOB))
        assert record is not None
        assert (record.fields, record.writer, record.count) == (
            found.fields,
            found.writer,
            found.count,
        )
    left = [one.fields for one in told(short, Seek("jobs", "read_all", JOB))[0]]
    assert left == [one.fields for one in told(long, Seek("jobs", "read_all", JOB))[0]]


@pytest.mark.parametrize(
    ("made", "seek"),
    [
        (host(durable=True), Seek("jobs", TAKE, JOB)),  # the disk has to know
        (host(shared=False), Seek("jobs", TAKE_NOWAIT, JOB)),
        (host(), Seek("jobs", TAKE, JOB, at="ann@a")),
        (host(), Seek("jobs", TAKE, JOB, dest="bob@a")),
        (host(), Seek("jobs", TAKE, JOB, lease_us=5)),
        (host(), Seek("jobs", TAKE_ALL, JOB)),
        (host(), Seek("jobs", "tkae", JOB)),
        (host(), Seek("notes", TAKE, JOB)),
        (host(), Seek("LimeSystem", READ, Template.of(("host", "a", ANY)))),
        (host(), Seek("jobs", TAKE, Template.of(("other", ANY)))),
    ],
)
def test_all_else_takes_the_long_way(made: Host, seek: Seek) -> None:
    before = told(made, Seek("jobs", "read_all", JOB))
    assert made.at_once("ann@a", seek, now=5) is None
    assert told(made, Seek("jobs", "read_all", JOB)) == before
    assert made.at_once("bob@a", seek, now=5) is None


def test_a_governed_space_has_no_short_way() -> None:
    made = Host("a", life=1, now=0)
    made.handle(Arrive("ann@a"), now=0)
    told(made, Adopt(LAW))
    told(made, Open("jobs", LAW, durable=False))
    told(made, Share(("jobs",)))
    told(made, Out("jobs", ("job", 1)))
    assert made.at_once("ann@a", Seek("jobs", TAKE, JOB), now=5) is None


def test_it_waits_while_the_host_loads() -> None:
    made = Host("a", life=1, now=0, loading=True)
    made.handle(Arrive("ann@a"), now=0)
    assert made.at_once("ann@a", Seek("jobs", TAKE, JOB), now=5) is None
    made.handle(Loaded((), last=True), now=0)
    made.handle(Disengage(), now=0)
    assert made.agents == ("ann@a",)
