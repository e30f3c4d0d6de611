"""Suspended agents and laws: what is refused, what waits, and that it is served once."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.problems import NotAMember, Suspended
from nomospace.calls.requests import TAKE, Adopt, Cancel, Move, Open, Out, React, Seek, Share, Tell
from nomospace.host.calls import Resume, Suspend
from nomospace.host.suspending import HELD_EVENTS_MAX, SERVED_IN_STEP
from nomospace.law import load
from nomospace.terms import show, t
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import DELAY_US, Hosts

LAW = load(
    """\
law(notes).
R1. sent(_, remind(M), _) :- do(imposeObligation(M, 5)).
R2. sent(_, _, _) :- do(forward).
R3. arrived(_, _, _) :- do(deliver).
R4. obligationDue(M) :- do(deliver(Self, M, Self)).
"""
)
OTHER = load("law(other). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver).")
JOB = Template.of(("job", ANY))


@pytest.fixture
def net() -> Hosts:
    return community(Hosts("ab", laws=[LAW, OTHER]))


def community(net: Hosts) -> Hosts:
    for agent in ("ann@a", "bob@b", "cat@a"):
        net.agent(agent)
        for law in (LAW, OTHER):
            net.do(agent, Adopt(law))
        net.do(agent, Open("jobs"))
        net.do(agent, Open("notes", LAW))
        net.do(agent, Share(("jobs", "notes")))
    net.settle()
    return net


def told(net: Hosts, agent: str) -> list[str]:
    return [show(mail.message) for mail in net.mail if mail.agent == agent]


def error_of(net: Hosts, agent: str, request: Any) -> Any:
    return net.answers[net.call(agent, request)].error


def test_a_suspended_agent_can_do_nothing_and_what_it_waits_for_is_called_off(net: Hosts) -> None:
    waits = net.call("ann@a", Seek("jobs", TAKE, JOB))
    net.do("ann@a", React("jobs", JOB))
    net.tell("a", Suspend("ann@a", "it floods"))
    assert isinstance(net.answers[waits].error, Suspended)
    assert "it floods" in str(net.answers[waits].error)
    requests = (Out("jobs", ("job", 1)), Tell(LAW.hash, "hi", "bob@b"), Move("b"), Open("more"))
    for request in requests:
        assert isinstance(error_of(net, "ann@a", request), Suspended)
    fired = len(net.fired)
    net.do("cat@a", Out("jobs", ("job", 2)))
    assert len(net.fired) == fired
    assert net.do("cat@a", Seek("jobs", TAKE, JOB)).fields == ("job", 2)
    net.tell("a", Resume("ann@a"))
    net.do("ann@a", Out("jobs", ("job", 3)))


@pytest.mark.parametrize("name", ["ann@a", LAW.hash])
def test_mail_and_obligations_wait_through_a_crash_and_come_once(net: Hosts, name: str) -> None:
    net.do("ann@a", Tell(LAW.hash, t.remind("tea"), "ann@a"))
    net.tell("a", Suspend(name))
    for number in range(3):
        net.do("bob@b", Tell(LAW.hash, number, "ann@a"))
    net.run(10)
    before = told(net, "ann@a")
    assert "tea" not in before
    net.stop("a")
    net.start("a")
    net.run(10)
    assert told(net, "ann@a") == before
    net.tell("a", Resume(name))
    net.run(1)
    assert sorted(told(net, "ann@a")[len(before) :]) == ["0", "1", "2", "tea"]
    assert [one for one in told(net, "ann@a") if one in "012"] == ["0", "1", "2"]
    net.stop("a")
    net.start("a")
    net.run(10)
    assert told(net, "ann@a").count("tea") == 1
    assert not net.disks["a"].suspended
    assert not any(net.disks["a"].held.waiting.values())


def test_a_suspended_law_stops_its_members_and_nobody_else(net: Hosts) -> None:
    waits = net.call("ann@a", Seek("notes", TAKE, JOB))
    net.tell("a", Suspend(LAW.hash))
    assert isinstance(net.answers[waits].error, Suspended)
    assert isinstance(error_of(net, "ann@a", Tell(LAW.hash, "hi", "bob@b")), Suspended)
    assert isinstance(error_of(net, "cat@a", Out("notes", ("job", 1))), Suspended)
    assert isinstance(error_of(net, "ann@a", Move("b")), Suspended)
    net.do("ann@a", Tell(OTHER.hash, "hello", "bob@b"))
    net.do("ann@a", Out("jobs", ("job", 1)))
    net.run(1)
    assert "hello" in told(net, "bob@b")
    net.do("bob@b", Tell(LAW.hash, "there", "bob@b"))  # at another host it goes on
    net.agent("dan@a")
    assert isinstance(error_of(net, "dan@a", Adopt(LAW)), Suspended)
    net.tell("a", Resume(LAW.hash))
    assert isinstance(error_of(net, "dan@a", Tell(LAW.hash, "hi", "bob@b")), NotAMember)
    net.do("cat@a", Out("notes", ("job", 1)))


def test_what_others_wait_for_is_looked_for_when_their_law_is_resumed(net: Hosts) -> None:
    """Of one host; waits that were called off meanwhile are not, and each is served once."""
    job, old = Template.of(("job", ANY)), Template.of(("old", ANY))
    early = net.call("bob@b", Seek("notes", TAKE, old))
    net.settle()
    for name in ("job", "more", "last"):
        net.do("ann@a", Out("notes", (name, 1)))
    net.tell("a", Suspend(LAW.hash))
    late = net.call("bob@b", Seek("notes", TAKE, job))
    gone = net.call("bob@b", Seek("notes", TAKE, Template.of(("more", ANY))))
    net.do("bob@b", React("notes", Template.of(("last", ANY))))
    net.run(2)
    net.do("bob@b", Cancel(gone))
    net.run(2)
    assert not {early, late} & set(net.answers)
    assert net.fired == []
    net.tell("a", Resume(LAW.hash))
    net.run(2)
    assert net.value(late).fields == ("job", 1)
    assert [one.found.fields for one in net.fired] == [("last", 1)]
    net.do("ann@a", Out("notes", ("old", 2)))
    net.run(2)
    assert net.value(early).fields == ("old", 2)
    assert net.do("ann@a", Seek("notes", TAKE, Template.of(("more", ANY)))).fields == ("more", 1)


def test_an_agent_that_is_suspended_does_not_come(net: Hosts) -> None:
    net.tell("a", Suspend("bob@b"))
    move = net.call("bob@b", Move("a"))
    net.run(5)
    assert "suspended" in str(net.answers[move].error)
    assert net.hosts["b"].has("bob@b")


@pytest.mark.parametrize("name", ["bob@b", LAW.hash])
@pytest.mark.parametrize("frames", range(7))
def test_an_agent_that_is_suspended_on_its_way(frames: int, name: str) -> None:
    """Who has not left yet stays, and who has left comes; `c` is the server that lets it go."""
    net = community(Hosts("abc", laws=[LAW, OTHER], servers={"b": ("c",)}))
    net.run(5)
    move = net.call("bob@b", Move("a"))
    net.run(frames * DELAY_US / 1_000_000)
    here = net.hosts["b"].has("bob@b")
    assert here == (frames < 4), "the cases are on both sides of its leaving"
    net.tell("b", Suspend(name))
    net.do("ann@a", Tell(LAW.hash, "hello", "bob@b"))
    net.run(20)
    assert [net.hosts[one].has("bob@b") for one in "ab"] == [not here, here]
    if here:
        assert "suspended" in str(net.answers[move].error)
        assert isinstance(error_of(net, "bob@b", Tell(LAW.hash, "hi", "ann@a")), Suspended)
        assert told(net, "bob@b") == []
    net.tell("b", Resume(name))
    net.run(5)
    assert told(net, "bob@b") == ["hello"]


def test_what_does_not_fit_goes_back_and_what_fits_is_served_in_slices(net: Hosts) -> None:
    net.tell("a", Suspend("ann@a"))
    for number in range(HELD_EVENTS_MAX + 2):
        net.do("bob@b", Tell(LAW.hash, number, "ann@a"))
    net.run(5)
    exceptions = [r for _, r in net.ruled if r.event.kind == "exception" and r.home == "bob@b"]
    assert [show(one.event.args[1]) for one in exceptions] == ["mailboxFull"] * 2
    most, seen = 0, len(net.mail)

    def count() -> None:
        nonlocal most, seen
        most, seen = max(most, len(net.mail) - seen), len(net.mail)

    net.after_each.append(count)
    net.tell("a", Resume("ann@a"))
    assert isinstance(error_of(net, "ann@a", Tell(LAW.hash, "hi", "bob@b")), Suspended)
    net.run(1)
    assert told(net, "ann@a") == [str(number) for number in range(HELD_EVENTS_MAX)]
    assert most <= SERVED_IN_STEP


def test_large_letters_are_held_up_to_so_many_bytes(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a crash too; what was served makes room."""
    monkeypatch.setattr("nomospace.host.suspending.HELD_BYTES_MAX", 25_000)
    letter, law = "x" * 10_000, LAW.hash
    net.tell("a", Suspend("ann@a"))
    for held in (2, 3, 3):  # the third is the one that goes past the limit
        net.do("bob@b", Tell(law, letter, "ann@a"))
        if held == 2:
            net.do("bob@b", Tell(law, letter, "ann@a"))
            net.stop("a")
            net.start("a")
        net.run(5)
        assert len(net.disks["a"].held.waiting[f"ann@a {law}"]) == held
    exceptions = [r for _, r in net.ruled if r.event.kind == "exception" and r.home == "bob@b"]
    assert [show(one.event.args[1]) for one in exceptions] == ["mailboxFull"]
    net.tell("a", Resume("ann@a"))
    net.run(5)
    net.tell("a", Suspend("ann@a"))
    net.do("bob@b", Tell(law, "again", "ann@a"))
    net.tell("a", Resume("ann@a"))
    net.run(5)
    assert told(net, "ann@a") == [letter] * 3 + ["again"]


def test_suspending_twice_and_resuming_who_is_not_are_harmless(net: Hosts) -> None:
    net.tell("a", Resume("ann@a"))
    net.tell("a", Suspend("ann@a", "once"))
    since = net.hosts["a"].suspending.all()[0].since
    net.run(1)
    net.tell("a", Suspend("ann@a", "twice"))
    (only,) = net.hosts["a"].suspending.all()
    assert (only.since, only.why) == (since, "twice")
    net.tell("a", Suspend("nobody@nowhere"))
    net.tell("a", Resume("ann@a"))
    net.tell("a", Resume("nobody@nowhere"))
    assert net.hosts["a"].suspending.all() == ()


@pytest.mark.parametrize("law", [False, True])
def test_very_many_waits_are_called_off_step_by_step(
    net: Hosts, monkeypatch: pytest.MonkeyPatch, law: bool
) -> None:
    monkeypatch.setattr("nomospace.host.suspending.ENDED_IN_STEP", 2)
    space = "notes" if law else "jobs"
    waits = [net.call("ann@a", Seek(space, TAKE, Template.of(("never", n)))) for n in range(5)]
    net.tell("a", Suspend(LAW.hash if law else "ann@a"))
    assert sum(op in net.answers for op in waits) == 2
    net.run(1)
    assert all(isinstance(net.answers[op].error, Suspended) for op in waits)
