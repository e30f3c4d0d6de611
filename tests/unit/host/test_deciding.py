"""Rulings that take more than a slice: others are served meanwhile, and nothing is lost or moved.

A slice is so short here that counting to a hundred takes several.
"""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.problems import Busy, Cancelled, MoveRefused, Refused, Suspended
from nomospace.calls.requests import (
    READ,
    TAKE,
    TAKE_NOWAIT,
    Adjust,
    Adopt,
    Cancel,
    Move,
    Open,
    Out,
    OutMany,
    React,
    Reactions,
    Seek,
    Settle,
    Share,
    Stand,
    Tell,
)
from nomospace.control import Ruling, sent
from nomospace.host.calls import PutBack, Resume, Suspend, Tick
from nomospace.law import load
from nomospace.law.prelude import SPACE_UNITS_MAX
from nomospace.terms import ANY, Term, show, t
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts

LAW = load(
    """\
law(dear).
count(0).
count(N) :- N > 0, M is N - 1, count(M).
R1. sent(_, dear(N), _) :- count(N), do(+ sent(N)), do(forward).
R2. sent(_, owe(N), _) :- do(imposeObligation(count(N), 1)).
R3. sent(_, bye, _) :- count(300), do(quit).
R4. sent(_, out([job, N|_]), _) :- N < 0, count(300), fail.
R5. sent(_, out([job, N|_]), _) :- N >= 0, count(300), do(forward).
R6. sent(_, M, _) :- not(M = out(_)), do(forward).
R7. arrived(_, late(N), _) :- count(N), do(+ late(N)), do(deliver).
R8. arrived(_, react(_, _), _) :- count(300), do(deliver).
R9. arrived(_, M, _) :- not(M = late(_)), do(deliver).
R10. obligationDue(count(N)) :- count(N), do(deliver(Self, owed(N), Self)).
R11. exception(_, budget) :- count(300), do(+ stopped).
R12. disconnected :- count(300), do(+ gone).
R13. adopted([count(N)]) :- count(N), do(+ ready).
"""
)
ANN, BOB, CAT = "ann@a", "bob@a", "cat@b"
JOB = Template.of(("job", ANY))
DEAR = 1_000


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.host.deciding.SLICE_UNITS", 60)
    monkeypatch.setattr("nomospace.host.deciding.STEP_UNITS", 300)


@pytest.fixture
def net() -> Hosts:
    return community()


def community() -> Hosts:
    net = Hosts("ab", laws=[LAW])
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "plain")
        net.do(agent, Adopt(LAW))
        net.do(agent, Open("jobs", LAW))
        net.do(agent, Share(("jobs",)))
    net.settle()
    net.ruled.clear()
    return net


def tell(net: Hosts, agent: str, message: Term, to: str | tuple[str, ...] = BOB) -> int:
    return net.call(agent, Tell(LAW.hash, message, to))


def mail(net: Hosts, agent: str) -> list[str]:
    return [show(one.message) for one in net.mail if one.agent == agent]


def rulings(net: Hosts, home: str) -> list[tuple[Any, ...]]:
    """What was ruled at a home, without the times."""
    return [_told(one) for _, one in net.ruled if one.home == home]


def _told(one: Ruling) -> tuple[Any, ...]:
    return (one.seq, show(one.event.term), one.rule, one.operations, one.stopped)


def state(net: Hosts, agent: str) -> list[str]:
    member = net.hosts[net.home(agent)].governing.member(agent, LAW.hash)
    return sorted(show(term) for _, term in member.state.items())


def test_a_dear_ruling_is_made_in_slices_and_others_are_served_between_them(net: Hosts) -> None:
    op = tell(net, ANN, t.dear(DEAR))
    ticks = 0
    while op not in net.answers:
        net.do(BOB, Out("plain", ("job", ticks)))
        assert net.do(BOB, Seek("plain", TAKE, JOB)).fields == ("job", ticks)
        assert net.hosts["a"].next_deadline() == net.now
        net.tell("a", Tick())
        ticks += 1
    assert ticks > 3
    assert net.value(op).rule == "R1"
    assert mail(net, BOB) == [f"dear({DEAR})"]
    assert net.hosts["a"].next_deadline() != net.now


def test_what_comes_meanwhile_waits_in_order_and_is_ruled_on_as_ever() -> None:
    stories = []
    for slice, step in ((60, 300), (100_000, 10**9)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nomospace.host.deciding.SLICE_UNITS", slice)
            patch.setattr("nomospace.host.deciding.STEP_UNITS", step)
            net = community()
        ops = [
            tell(net, ANN, t.dear(DEAR)),
            tell(net, BOB, t.late(100), ANN),
            tell(net, ANN, "hello"),
            tell(net, ANN, t.owe(150)),
            tell(net, BOB, t.late(3), ANN),
            tell(net, ANN, t.dear(90_000)),  # more than there is
            tell(net, ANN, "last"),
        ]
        net.run(5)
        rules = [net.value(op).rule for op in ops]
        stories.append((rulings(net, ANN), mail(net, ANN), mail(net, BOB), rules))
        assert "stopped" in state(net, ANN)
    assert stories[0] == stories[1]


def test_members_take_turns(net: Hosts) -> None:
    long = tell(net, ANN, t.dear(2_000))
    short = tell(net, BOB, t.dear(DEAR), ANN)
    net.until(lambda: short in net.answers)
    assert long not in net.answers
    net.until(lambda: long in net.answers)


@pytest.mark.parametrize("ticks", [0, 3])
def test_a_crash_forgets_calls_and_keeps_all_else(net: Hosts, ticks: int) -> None:
    asked = tell(net, ANN, t.dear(DEAR))
    net.do(BOB, Tell(LAW.hash, t.late(100), ANN))
    net.do(BOB, Tell(LAW.hash, t.late(101), ANN))
    tell(net, BOB, t.owe(300))
    net.now += 1_000_000
    net.tell("a", Tick())
    for _ in range(ticks):
        net.tell("a", Tick())
    net.stop("a")
    net.start("a")
    assert net.do(ANN, Stand(LAW.hash)) is not None
    again = tell(net, ANN, "again")
    net.run(10)
    assert asked not in net.answers
    assert net.value(again).rule == "R6"
    assert state(net, ANN) == ["late(100)", "late(101)"]
    assert [one for one in mail(net, ANN) if one.startswith("late")] == ["late(100)", "late(101)"]
    assert mail(net, BOB)[0] == "owed(300)" or mail(net, BOB)[-1] == "owed(300)"
    assert mail(net, BOB).count("owed(300)") == 1
    net.stop("a")
    net.start("a")
    net.run(5)
    assert [one for one in mail(net, ANN) if one.startswith("late")] == ["late(100)", "late(101)"]


def test_operations_on_spaces_and_their_answers_wait_too(net: Hosts) -> None:
    taken = net.call(BOB, Seek("jobs", TAKE, JOB))
    net.until(lambda: not net.hosts["a"].deciding.cases)
    op = net.call(ANN, Out("jobs", ("job", 1)))
    assert op not in net.answers
    net.until(lambda: op in net.answers and taken in net.answers)
    assert net.value(taken).fields == ("job", 1)
    refused = net.call(ANN, Out("jobs", ("job", -1)))
    net.until(lambda: refused in net.answers)
    assert isinstance(net.answers[refused].error, Refused)


def test_tuples_of_one_call_are_ruled_on_one_after_the_other(net: Hosts) -> None:
    rows = tuple([("job", number) for number in (1, 2, -1, 4)])
    with pytest.raises(Refused):
        net.ask(ANN, OutMany("jobs", rows))
    assert [fields[1] for fields in net.seek(BOB, "take_all", "job", ANY)] == [1, 2]
    assert net.ask(ANN, OutMany("jobs", rows[:2])) is None


def test_reactions_are_told_what_they_are_for(net: Hosts) -> None:
    reaction = net.ask(BOB, React("jobs", JOB))
    net.ask(CAT, Out("jobs", ("job", 7), ANN))
    net.until(lambda: bool(net.fired))
    assert net.fired[0].found.fields == ("job", 7)
    assert net.fired[0].reaction == reaction
    assert net.fired[0].found.writer == CAT


def test_suspended_agents_do_not_decide_and_what_arrived_is_served_once(net: Hosts) -> None:
    asked = tell(net, ANN, t.dear(DEAR))
    tell(net, BOB, t.late(100), ANN)
    waits = net.call(ANN, Out("jobs", ("job", 1)))
    net.tell("a", Suspend(ANN))
    assert isinstance(net.answers[asked].error, Suspended)
    assert isinstance(net.answers[waits].error, Suspended)
    tell(net, BOB, t.late(101), ANN)
    net.run(1)
    assert mail(net, ANN) == []
    net.tell("a", Resume(ANN))
    net.run(1)
    assert mail(net, ANN) == ["late(100)", "late(101)"]
    assert state(net, ANN) == ["late(100)", "late(101)"]
    assert net.ask(ANN, Tell(LAW.hash, "hi", BOB)).rule == "R6"


def test_an_agent_moves_when_it_has_decided(net: Hosts) -> None:
    tell(net, BOB, t.late(DEAR), ANN)
    with pytest.raises(MoveRefused, match="deciding"):
        net.do(ANN, Move("b"))
    net.run(1)
    net.call(ANN, Move("b"))
    net.run(5)
    assert net.home(ANN) == "b"
    assert state(net, ANN) == [f"late({DEAR})"]


def test_one_that_is_taken_out_of_its_host_has_decided(net: Hosts) -> None:
    tell(net, BOB, t.late(DEAR), ANN)
    tell(net, BOB, t.late(99), ANN)
    net.move(ANN, "b")
    assert mail(net, ANN) == [f"late({DEAR})", "late(99)"]


def test_who_quits_rules_on_nothing_that_waits(net: Hosts) -> None:
    asked = tell(net, ANN, "bye")
    tell(net, BOB, t.late(10), ANN)
    later = tell(net, ANN, "hello")
    net.run(1)
    assert net.value(asked).rule == "R3"
    assert net.value(later).rule is None
    assert mail(net, ANN) == []
    assert not net.hosts["a"].deciding.cases


def test_what_cannot_wait_overtakes_and_the_decision_begins_anew(net: Hosts) -> None:
    governing, deciding = net.hosts["a"].governing, net.hosts["a"].deciding
    asked = tell(net, ANN, t.dear(2_000))
    member = governing.member(ANN, LAW.hash)
    for number in range(10):
        net.tell("a", Tick())
        if asked in net.answers:
            break
        with deciding.uncut():
            governing.rule(member, sent(ANN, t.hello(number), BOB))
        governing.drain()
    assert number < 9  # it is not put off for ever
    assert net.value(asked).rule == "R1"
    assert state(net, ANN) == ["sent(2000)"]


def test_what_waits_for_one_member_is_bounded(net: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.host.deciding.WAITING_MAX", 3)
    tell(net, ANN, t.dear(DEAR))
    tell(net, ANN, "one")
    tell(net, ANN, "two")
    with pytest.raises(Busy):
        net.do(ANN, Tell(LAW.hash, "three", BOB))
    with pytest.raises(Busy):
        net.do(ANN, Out("jobs", ("job", 1)))
    net.do(BOB, Tell(LAW.hash, t.late(1), ANN))
    net.run(1)
    assert net.seek(BOB, "read_all", "job", ANY, space="jobs") == []
    full = [one for _, one in net.ruled if one.event.kind == "exception"]
    assert [one.event.args[1] for one in full] == ["mailboxFull"]
    assert mail(net, ANN) == []


def test_one_who_joins_is_a_member_when_the_law_has_said_so(net: Hosts) -> None:
    net.agent("dan@a")
    op = net.call("dan@a", Adopt(LAW, (t.count(DEAR),)))
    assert op not in net.answers
    net.stop("a")
    net.start("a")
    net.run(1)
    assert state(net, "dan@a") == ["ready"]


def test_rulings_that_a_space_waits_for_have_a_small_budget() -> None:
    """What a step cannot go on without is ruled on at once, so it must not take long."""
    law = load(
        """\
law(keeper).
count(0).
count(N) :- N > 0, M is N - 1, count(M).
R1. sent(_, found(in([job, N|_]), _), _) :- count(N), do(forward).
R2. sent(_, M, _) :- not(M = found(_, _)), do(forward).
R3. arrived(_, M, _) :- do(deliver).
"""
    )
    net = Hosts("a", laws=[law])
    net.agent(ANN)
    net.do(ANN, Adopt(law))
    net.do(ANN, Open("jobs", law))
    net.do(ANN, Share(("jobs",)))
    member = net.hosts["a"].governing.member("jobs", law.hash)
    for number, given in ((1_000, True), (3_000, False)):
        net.do(ANN, Out("jobs", ("job", number)))
        op = net.call(ANN, Seek("jobs", TAKE, Template.of(("job", number))))
        assert (op in net.answers) is given
        assert member.spent <= SPACE_UNITS_MAX
    assert [one.stopped for _, one in net.ruled if one.home == "jobs"][-2:] == ["budget", None]


def test_tuples_of_a_long_call_are_ruled_on_in_several_steps(net: Hosts) -> None:
    rows = tuple([("other", number) for number in range(40)])
    law = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
    net.do(ANN, Adopt(law))
    net.do(ANN, Open("open", law))
    op = net.call(ANN, OutMany("open", rows))
    written = [len(net.hosts["a"].spaces.residents[ANN].spaces["open"].private)]
    while op not in net.answers:
        net.do(BOB, Out("plain", ("job", 1)))
        net.tell("a", Tick())
        written.append(len(net.hosts["a"].spaces.residents[ANN].spaces["open"].private))
    assert written[-1] == 40
    assert len(written) > 3
    assert max(b - a for a, b in zip([0, *written], written, strict=False)) <= 12


def test_those_who_wait_at_a_governed_space_are_answered_in_several_steps(net: Hosts) -> None:
    law = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
    for agent in (ANN, BOB):
        net.do(agent, Adopt(law))
        net.do(agent, Open("open", law))
        net.do(agent, Share(("open",)))
    reads = [net.call(BOB, Seek("open", READ, JOB)) for _ in range(30)]
    gone = net.call(BOB, Seek("open", READ, JOB))
    taken = net.call(BOB, Seek("open", TAKE, JOB))
    reaction = net.do(BOB, React("open", JOB))
    net.do(ANN, Out("open", ("job", 1)))
    first = sum(op in net.answers for op in reads)
    assert 0 < first < 20
    net.do(BOB, Cancel(gone))
    net.do(ANN, Out("open", ("job", 2)))
    net.run(1)
    assert [net.value(op).fields for op in reads] == [("job", 1)] * 30
    assert net.value(taken).fields == ("job", 1)
    assert isinstance(net.answers[gone].error, Cancelled)
    assert [one.found.fields[1] for one in net.fired if one.reaction == reaction] == [1, 2]


def test_one_whose_law_keeps_a_tuple_is_shown_what_came_meanwhile(net: Hosts) -> None:
    law = load(
        """\
law(odd).
R1. sent(_, found(rd(_), [job, N]), _) :- 1 is N mod 2, do(forward).
R2. sent(_, M, _) :- not(M = found(rd(_), [job, _])), do(forward).
R3. arrived(_, M, _) :- do(deliver).
"""
    )
    for agent in (ANN, BOB):
        net.do(agent, Adopt(law))
        net.do(agent, Open("odd", law))
        net.do(agent, Share(("odd",)))
    reads = [net.call(BOB, Seek("odd", READ, JOB)) for _ in range(30)]
    for number in (2, 4, 5):
        net.do(ANN, Out("odd", ("job", number)))
    net.run(1)
    assert {net.value(op).fields for op in reads} == {("job", 5)}


def test_what_is_called_off_and_given_back_is_ruled_on_in_slices(net: Hosts) -> None:
    law = load(
        """\
law(slow).
count(0).
count(N) :- N > 0, M is N - 1, count(M).
R1. sent(_, cancel(_), _) :- count(300), do(forward).
R2. sent(_, returned(_), _) :- count(300), do(forward).
R3. sent(_, unreact(_), _) :- count(300), do(forward).
R4. sent(_, M, _) :- not(M = cancel(_)), not(M = returned(_)), not(M = unreact(_)), do(forward).
R5. arrived(_, M, _) :- do(deliver).
"""
    )
    net.do(ANN, Adopt(law))
    net.do(ANN, Open("slow", law))
    net.do(ANN, Share(("slow",)))
    waits = net.call(ANN, Seek("slow", TAKE, JOB))
    reaction = net.do(ANN, React("slow", Template.of(("other", ANY))))
    for request in (Cancel(waits), Adjust(reaction, "remove")):
        op = net.call(ANN, request)
        assert op not in net.answers
        assert waits not in net.answers or net.do(ANN, Reactions())
        net.run(1)
        assert net.value(op) is True
    assert waits in net.answers
    assert not net.do(ANN, Reactions())
    net.do(ANN, Out("slow", ("job", 1)))
    lent = net.ask(ANN, Seek("slow", TAKE, JOB, lease_us=60_000_000))
    op = net.call(ANN, Settle("slow", lent.lease, done=False))
    assert op not in net.answers
    net.until(lambda: op in net.answers)
    assert net.ask(ANN, Seek("slow", TAKE, JOB)).fields == ("job", 1)


def test_who_is_answered_before_its_cancel_is_ruled_on_is_answered(net: Hosts) -> None:
    taken = net.call(BOB, Seek("jobs", TAKE, JOB))
    net.until(lambda: not net.hosts["a"].deciding.cases)
    busy = tell(net, BOB, t.dear(DEAR), ANN)
    cancel = net.call(BOB, Cancel(taken))
    assert cancel not in net.answers
    net.ask(ANN, Out("jobs", ("job", 1)))
    net.until(lambda: busy in net.answers and cancel in net.answers)
    net.run(1)
    assert net.value(cancel) is False or isinstance(net.answers[taken].error, Cancelled)
    left = net.seek(ANN, "take_all", "job", ANY)
    assert len(left) == (1 if net.answers[taken].error else 0)


def test_a_ruling_sends_to_so_many_at_most_and_what_it_sends_counts(net: Hosts) -> None:
    law = load(
        "law(many). sent(S, to(L), _) :- do(forward(S, hi, L)). arrived(_, M, _) :- do(deliver)."
    )
    for agent in (ANN, BOB):
        net.do(agent, Adopt(law))
    too_many = net.ask(ANN, Tell(law.hash, t.to(tuple([BOB] * 1_001)), BOB))
    assert too_many.stopped == "tooLarge"
    op = net.call(ANN, Tell(law.hash, t.to(tuple([BOB] * 1_000)), BOB))
    assert len(mail(net, BOB)) < 30
    net.until(lambda: op in net.answers)
    net.run(5)
    assert len(mail(net, BOB)) == 1_000


def test_a_tuple_goes_back_in_slices_and_a_crash_meanwhile_leaves_it_in_its_space() -> None:
    law = load(
        """\
law(slow).
count(0).
count(N) :- N > 0, M is N - 1, count(M).
R1. sent(_, returned([job, N]), _) :- count(300), N > 0, do(forward).
R2. sent(_, M, _) :- not(M = returned(_)), do(forward).
R3. arrived(_, _, _) :- do(deliver).
"""
    )
    net = Hosts("a", laws=[law])
    net.agent(ANN, "plain")
    net.do(ANN, Adopt(law))
    net.do(ANN, Open("jobs", law))
    for number, crash in ((1, False), (-2, False), (3, True)):
        op = net.call(ANN, PutBack("jobs", ("job", number)))
        assert op not in net.answers
        net.do(ANN, Out("plain", ("others", "are served")))
        if crash:
            net.stop("a")
            net.start("a")
        net.run(1)
        assert crash or (net.answers[op].error is None) == (number > 0)
    found = [net.ask(ANN, Seek("jobs", TAKE_NOWAIT, JOB)).fields[1] for _ in range(2)]
    assert sorted(found) == [1, 3]
    assert net.ask(ANN, Seek("jobs", TAKE_NOWAIT, JOB)) is None
    rows = [row for rows in net.disks["a"].tuples.values() for row in rows.values()]
    assert [row.fields for row in rows if row.fields[0] == "job"] == []
