"""Calls that cannot be: each is answered, once, with an error that says why."""

from typing import Any

import pytest

from nomospace.calls.problems import (
    AgentLeft,
    AlreadyMember,
    BadReaction,
    Busy,
    NoSuchAgent,
    NotAMember,
    NotAnAgent,
    NotOpen,
    OtherLaw,
    ReadOnly,
    UnboundStrong,
)
from nomospace.calls.requests import (
    Adjust,
    Adopt,
    Cancel,
    Open,
    Out,
    OutMany,
    React,
    Reactions,
    Request,
    Seek,
    Settle,
    Share,
)
from nomospace.calls.ways import Strength, Way
from nomospace.errors import NomospaceError
from nomospace.host.calls import Arrive, Call, Depart
from nomospace.host.core import Host
from nomospace.law import load
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

JOB = Template.of(("job", ANY))
LAW = load("law(open).\nR1. sent(_, _, _) :- do(forward).\nR2. arrived(_, _, _) :- do(deliver).\n")


@pytest.fixture
def net() -> Hosts:
    net = Hosts("a")
    net.agent("ann@a", "jobs")
    net.agent("bob@a", "jobs")
    return net


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Out("nowhere", ("job", 1)), NotOpen),
        (OutMany("nowhere", (("job", 1),)), NotOpen),
        (Seek("nowhere", Way.TAKE, JOB), NotOpen),
        (Seek("nowhere", Way.READ_ALL, JOB), NotOpen),
        (React("nowhere", JOB), NotOpen),
        (Share(("nowhere",)), NotOpen),
        (Settle("nowhere", "a/1/1"), NotOpen),
        (Out("jobs", ("job", 1), to="b"), NotAnAgent),
        (OutMany("jobs", (("job", 1),), to="b"), NotAnAgent),
        (Seek("jobs", Way.TAKE, JOB, dest="b"), NotAnAgent),
        (React("jobs", JOB, dest="b"), NotAnAgent),
        (React("jobs", JOB, strength=Strength.STRONG), UnboundStrong),
        (Adjust("no such", "remove"), BadReaction),
        (Open("other", LAW), NotAMember),
        (Open("jobs", LAW), NotAMember),
        (Share(("LimeSystem",)), ReadOnly),
        (Seek("LimeSystem", Way.TAKE, JOB), ReadOnly),
    ],
    ids=lambda one: one.__name__ if isinstance(one, type) else type(one).__name__,
)
def test_a_call_that_cannot_be_is_answered_with_its_error(
    net: Hosts, request_: Request, error: type[NomospaceError]
) -> None:
    op = net.call("ann@a", request_)
    answer = net.answers[op]
    assert type(answer.error) is error
    assert answer.value is None
    assert len(str(answer.error)) > 20
    # ... and nothing came of it.
    assert net.seek("bob@a", "read_all", ANY, ANY) == []
    assert net.do("ann@a", Reactions()) == ()


def test_an_agent_that_is_not_here_is_told_so() -> None:
    net = Hosts("a")
    net.tell("a", Call(7, "far@z", Open("jobs")))
    assert isinstance(net.answers[7].error, NoSuchAgent)
    net.tell("a", Depart("far@z"))
    assert [note.what for _, note in net.notes] == ["no-such-agent"]
    assert net.bundles == {}


def test_an_agent_comes_once(net: Hosts) -> None:
    net.out("ann@a", "job", 1)
    net.tell("a", Arrive("ann@a"))
    assert net.notes[-1][1].what == "agent-exists"
    assert net.seek("ann@a", "read", "job", 1) == ("job", 1)


def test_reactions_are_adjusted_by_their_own_agent_only(net: Hosts) -> None:
    reaction = net.react("ann@a", "job", ANY)
    with pytest.raises(BadReaction):
        net.do("bob@a", Adjust(reaction, "remove"))
    with pytest.raises(BadReaction, match="disable, enable, remove"):
        net.do("ann@a", Adjust(reaction, "pause"))
    assert net.do("ann@a", Adjust(reaction, "disable"))
    assert not net.do("ann@a", Adjust(reaction, "disable"))


def test_operations_are_called_off_by_their_own_agent_only(net: Hosts) -> None:
    waiting = net.begin("ann@a", "take", "job", ANY)
    assert not net.do("bob@a", Cancel(waiting))
    assert not net.do("ann@a", Cancel(waiting + 1_000))
    net.out("bob@a", "job", 1)
    assert net.got(waiting) == ("job", 1)
    assert not net.do("ann@a", Cancel(waiting))  # too late


def test_a_space_is_under_one_law_on_a_host(net: Hosts) -> None:
    net.do("ann@a", Adopt(LAW))
    with pytest.raises(AlreadyMember):
        net.do("ann@a", Adopt(LAW))
    with pytest.raises(OtherLaw):
        net.do("ann@a", Open("jobs", LAW))  # it is open, under none
    net.agent("eve@a")
    net.do("eve@a", Adopt(LAW))
    with pytest.raises(OtherLaw):
        net.do("eve@a", Open("jobs", LAW))  # others share it under none
    net.do("eve@a", Open("ruled", LAW))
    net.do("eve@a", Share(("ruled",)))
    net.do("bob@a", Open("own"))
    with pytest.raises(OtherLaw):
        net.do("bob@a", Open("ruled"))


def test_what_waits_is_bounded(net: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.host.open_operations.OPEN_MAX", 2)
    waiting = [net.begin("ann@a", "take", "job", ANY) for _ in range(2)]
    with pytest.raises(Busy):
        net.seek("ann@a", "take", "job", ANY)
    net.out("bob@a", "job", 1)
    assert net.got(waiting[0]) == ("job", 1)
    assert net.got(net.begin("ann@a", "read", "job", ANY)) is None  # there is room again


def test_what_is_held_is_bounded_and_what_does_not_fit_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomospace.host.core.HELD_MAX", 2)
    net = Hosts("ab")
    net.agent("ann@a", "jobs")
    net.until(lambda: net.hosts["a"].frozen)
    ops = [net.call("ann@a", Out("jobs", ("job", n))) for n in range(3)]
    assert [op in net.answers for op in ops] == [False, False, True]
    with pytest.raises(Busy):
        net.value(ops[2])
    net.settle()
    assert net.held("ann@a", "job", int) == [("job", 0), ("job", 1)]


def test_every_wait_of_an_agent_that_leaves_is_answered(net: Hosts) -> None:
    ops = [net.begin("ann@a", how, "job", ANY) for how in ("take", "read")]
    ops.append(net.begin("ann@a", "read", "host", "z", ANY, space="LimeSystem"))
    net.tell("a", Depart("ann@a"))
    for op in ops:
        with pytest.raises(AgentLeft):
            net.value(op)
    net.out("bob@a", "job", 1)
    assert net.seek("bob@a", "take", "job", ANY) == ("job", 1)


def test_a_name_is_no_way_into_a_host() -> None:
    """A fresh host has nobody and wants to hear the time at once, to say hello."""
    host = Host("a", life=1, now=5)
    assert host.agents == ()
    assert host.next_deadline() == 5
    assert not host.connected("ann@a")


def test_errors_tell_what_and_what_next(net: Hosts) -> None:
    said: dict[str, Any] = {
        "open it first": Out("nowhere", ("job",)),
        "only agents hold tuples": Out("jobs", ("job",), to="b"),
        "name it with at=": React("jobs", JOB, strength=Strength.STRONG),
        "adopt it first": Open("other", LAW),
    }
    for words, request in said.items():
        assert words in str(net.answers[net.call("ann@a", request)].error)
