"""Spaces of very many tuples are shared and parted in several steps; others are served between."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.problems import Cancelled, HasEnded, MoveRefused, PrivateSpace
from nomospace.calls.requests import (
    ONCE_PER_TUPLE,
    READ_ALL,
    TAKE,
    TAKE_NOWAIT,
    Adopt,
    End,
    Move,
    Open,
    Out,
    OutMany,
    React,
    Reactions,
    Seek,
    Share,
)
from nomospace.host.calls import Abandoned, Arrive, Depart, Tick
from nomospace.host.shares import Shares, TooManyMoved, TooManyRowsAtOnce, TooManySpaces
from nomospace.law import load
from nomospace.space import Space
from nomospace.terms import ANY
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts

ANN, BOB = "ann@a", "bob@a"
JOB = Template.of(("job", ANY))
MANY = 35


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.host.holding.MOVED_IN_STEP", 10)


@pytest.fixture
def net() -> Hosts:
    """Bob shares a space; ann has many tuples in one of her own."""
    net = Hosts("a")
    net.agent(BOB, "jobs")
    net.tell("a", Arrive(ANN))
    net.do(ANN, Open("jobs"))
    net.do(ANN, OutMany("jobs", tuple([("job", number) for number in range(MANY)])))
    return net


def shown(net: Hosts, agent: str = BOB) -> list[int]:
    found = net.ask(agent, Seek("jobs", READ_ALL, JOB))
    return [one.fields[1] for one in found]


def test_tuples_follow_step_by_step_and_the_call_is_answered_with_the_last(net: Hosts) -> None:
    host = net.hosts["a"]
    there = host.spaces.levels["jobs"].space
    for shared, counts in ((True, [10, 20, 30, 35]), (False, [25, 15, 5, 0])):
        op = net.call(ANN, Share(("jobs",), shared=shared))
        seen = [len(there)]
        while op not in net.answers:
            assert host.next_deadline() == net.now
            net.do(BOB, Out("jobs", ("other", 1)))
            assert net.do(BOB, Seek("jobs", TAKE_NOWAIT, Template.of(("other", 1)))) is not None
            net.tell("a", Tick())
            seen.append(len(there))
        assert seen == counts
        assert host.next_deadline() != net.now
        assert shown(net, BOB if shared else ANN) == list(range(MANY))


def test_a_later_call_may_want_it_otherwise(net: Hosts) -> None:
    ops = [net.call(ANN, Share(("jobs",), shared=on)) for on in (True, False, True)]
    net.run(1)
    assert all(net.value(op) is None for op in ops)
    assert sorted(shown(net)) == list(range(MANY))
    net.call(ANN, Share(("jobs",), shared=False))
    net.run(1)
    assert sorted(shown(net, ANN)) == list(range(MANY))
    assert shown(net) == []


@pytest.mark.parametrize("shared", [True, False])
def test_a_crash_meanwhile_loses_nothing(net: Hosts, shared: bool) -> None:
    if not shared:
        net.ask(ANN, Share(("jobs",)))
    net.call(ANN, Share(("jobs",), shared=shared))
    net.stop("a")
    net.start("a")
    assert sorted(shown(net, BOB if shared else ANN)) == list(range(MANY))
    assert len(shown(net)) == (MANY if shared else 0)


@pytest.mark.parametrize("shared", [True, False])
def test_who_leaves_meanwhile_has_all_of_them(net: Hosts, shared: bool) -> None:
    if not shared:
        net.ask(ANN, Share(("jobs",)))
    net.call(ANN, Share(("jobs",), shared=shared))
    net.tell("a", Depart(ANN))
    rows: list[Any] = [row.fields[1] for its in net.bundles[ANN].spaces for row in its.rows]
    assert sorted(rows) == list(range(MANY))
    net.run(1)
    assert shown(net) == []


def test_what_is_for_one_who_comes_follows_too(net: Hosts) -> None:
    for number in range(25):
        net.do(BOB, Out("jobs", ("for", number), ANN))
    net.ask(ANN, Share(("jobs",)))
    mine = Seek("jobs", READ_ALL, Template.of(("for", ANY)), at=ANN)
    assert len(net.do(ANN, mine)) == 25


def test_what_has_not_left_yet_can_be_taken_once(net: Hosts) -> None:
    net.ask(ANN, Share(("jobs",)))
    net.call(ANN, Share(("jobs",), shared=False))
    taken = net.do(BOB, Seek("jobs", TAKE_NOWAIT, JOB)).fields[1]
    net.run(1)
    assert sorted([taken, *shown(net, ANN)]) == list(range(MANY))


def test_a_space_under_a_law_takes_the_place_of_one_that_nobody_shares(net: Hosts) -> None:
    net.ask(ANN, Share(("jobs",)))
    net.do(BOB, Share(("jobs",), shared=False))
    net.call(ANN, Share(("jobs",), shared=False))
    cat, law = "cat@a", load("law(open). sent(X, M, Y) :- do(forward).")
    net.tell("a", Arrive(cat))
    net.do(cat, Adopt(law))
    net.do(cat, Open("jobs", law))
    net.do(cat, Share(("jobs",)))
    net.run(1)
    assert sorted(shown(net, ANN)) == list(range(MANY))
    assert len(net.hosts["a"].spaces.levels["jobs"].space) == 0


def test_what_waits_there_ends_step_by_step(net: Hosts) -> None:
    net.ask(ANN, Share(("jobs",)))
    waits = [net.call(ANN, Seek("jobs", TAKE, Template.of(("w", n)))) for n in range(25)]
    other = net.call(BOB, Seek("jobs", TAKE, Template.of(("w", ANY))))
    op = net.call(ANN, Share(("jobs",), shared=False))
    assert sum(one in net.answers for one in waits) == 10
    net.tell("a", Tick())
    assert sum(one in net.answers for one in waits) == 20
    net.run(1)
    assert net.value(op) is None
    assert all(isinstance(net.answers[one].error, PrivateSpace) for one in waits)
    assert other not in net.answers
    assert shown(net, ANN) == list(range(MANY))


def test_only_so_many_are_written_by_one_call(net: Hosts) -> None:
    rows = tuple([("row", number) for number in range(2_001)])
    op = net.call(BOB, OutMany("jobs", rows))
    error = net.answers[op].error
    assert isinstance(error, TooManyRowsAtOnce)
    assert error.code == "limits.rows"
    assert net.do(BOB, OutMany("jobs", rows[:2_000])) is None


@pytest.mark.parametrize("shared", [True, False])
def test_an_agent_ends_step_by_step_with_all_its_tuples(net: Hosts, shared: bool) -> None:
    if shared:
        net.ask(ANN, Share(("jobs",)))
    op = net.call(ANN, End())
    assert op not in net.answers
    net.do(BOB, Out("jobs", ("other", 1)))
    assert net.hosts["a"].has(ANN)
    net.run(1)
    assert net.value(op) is None
    assert not net.hosts["a"].has(ANN)
    assert shown(net) == []
    assert len(net.disks["a"].tuples["jobs"]) == 1


def test_an_agent_with_too_many_tuples_does_not_move() -> None:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    shares = Shares(moved_tuples=20)
    net.hosts["a"].step.shares = shares
    net.do(ANN, OutMany("jobs", tuple([("job", number) for number in range(20)])))
    net.do(ANN, Out("jobs", ("one", "more")))
    with pytest.raises(TooManyMoved, match="limit of 20; take some of them"):
        net.do(ANN, Move("b"))
    assert net.do(ANN, Seek("jobs", TAKE_NOWAIT, Template.of(("one", "more")))) is not None
    net.call(ANN, Move("b"))
    net.run(1)
    assert net.hosts["b"].has(ANN)


def test_a_tuple_of_many_parts_counts_as_several() -> None:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.hosts["a"].step.shares = Shares(moved_tuples=20)
    net.do(ANN, Out("jobs", ("wide", tuple(range(300)))))
    with pytest.raises(TooManyMoved):
        net.do(ANN, Move("b"))


def test_what_a_client_waited_for_is_called_off_step_by_step(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.host.call_table.ABANDONED_IN_STEP", 2)
    waits = [net.call(BOB, Seek("jobs", TAKE, Template.of(("never", n)))) for n in range(5)]
    reaction = net.do(BOB, React("jobs", JOB, ONCE_PER_TUPLE))
    net.tell("a", Abandoned(BOB, tuple(waits), (reaction, "gone before")))
    assert not any(op in net.answers for op in waits)
    assert net.do(BOB, Reactions()) == ()
    net.tell("a", Tick())
    assert [op in net.answers for op in waits] == [True, True, False, False, False]
    net.run(1)
    for op in waits:
        with pytest.raises(Cancelled):
            net.value(op)


def test_a_client_that_says_goodbye_twice_is_called_off_once(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.host.call_table.ABANDONED_IN_STEP", 2)
    waits = [net.call(BOB, Seek("jobs", TAKE, Template.of(("never", n)))) for n in range(7)]
    told: list[int] = []
    reaction = net.do(BOB, React("jobs", JOB, ONCE_PER_TUPLE))
    gone = Abandoned(BOB, tuple(waits), (reaction,))
    for _ in range(3):  # with some of them called off in between
        net.tell("a", gone)
        told.append(sum(op in net.answers for op in waits))
    assert told == sorted(told)
    assert told[-1] < len(waits)
    answered = dict(net.answers)
    net.run(1)
    assert all(isinstance(net.answers[op].error, Cancelled) for op in waits)
    assert all(net.answers[op] is answered[op] for op in waits if op in answered)
    assert net.hosts["a"].next_deadline() != net.now
    net.do(BOB, Out("jobs", ("never", 3)))
    assert net.do(BOB, Seek("jobs", TAKE_NOWAIT, Template.of(("never", ANY)))) is not None


@pytest.mark.parametrize("shared", [True, False])
def test_who_ends_while_its_tuples_follow_leaves_none(net: Hosts, shared: bool) -> None:
    if not shared:
        net.ask(ANN, Share(("jobs",)))
    sharing = net.call(ANN, Share(("jobs",), shared=shared))
    ending = net.call(ANN, End())
    net.run(1)
    assert net.value(ending) is None
    assert sharing in net.answers
    assert not net.hosts["a"].has(ANN)
    assert shown(net) == []
    assert net.disks["a"].tuples["jobs"] == {}


@pytest.mark.parametrize("steps", range(4))
def test_who_ends_while_it_moves_has_ended(steps: int) -> None:
    """Its tuples leave in several steps, in which the host it would move to lets it come."""
    net = Hosts("ab")
    for agent in (ANN, BOB):
        net.agent(agent, "jobs")
    net.agent("cat@b", "jobs")
    net.run(1)
    net.do(ANN, OutMany("jobs", tuple([("job", number) for number in range(MANY)])))
    moving = net.call(ANN, Move("b"))
    for _ in range(steps):
        net._step(net.now + 1_000_000)
    ending = net.call(ANN, End())
    assert ending not in net.answers
    with pytest.raises(MoveRefused, match="has ended"):
        net.value(moving)  # at once: it cannot leave between two steps
    net.run(20)
    assert net.value(ending) is None
    assert not any(host.has(ANN) for host in net.hosts.values())
    assert shown(net) == []
    assert net.hosts["b"].spaces.levels["jobs"].space.held_by(ANN) == []


def test_who_is_about_to_end_does_not_move() -> None:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.run(1)
    net.do(ANN, OutMany("jobs", tuple([("job", number) for number in range(MANY)])))
    ending = net.call(ANN, End())
    with pytest.raises(HasEnded):
        net.do(ANN, Move("b"))
    net.tell("a", Depart(ANN))
    net.run(20)
    assert net.value(ending) is None
    assert ANN not in net.bundles
    assert not any(host.has(ANN) for host in net.hosts.values())


def test_an_agent_that_ends_looks_at_each_of_its_spaces_once(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        net.do(ANN, Open(f"empty-{number}"))
    looks: list[str] = []
    held_by = Space.held_by

    def count(space: Space, *given: Any) -> Any:
        looks.append(space.name)
        return held_by(space, *given)

    monkeypatch.setattr(Space, "held_by", count)
    op = net.call(ANN, End())
    while op not in net.answers:
        looks.clear()
        net.tell("a", Tick())
    assert looks.count("empty-7") <= 3


def test_an_agent_opens_so_many_spaces(net: Hosts) -> None:
    net.hosts["a"].step.shares = Shares(agent_spaces=3)
    for name in ("one", "two"):
        net.do(ANN, Open(name))
    with pytest.raises(TooManySpaces, match="limit of 3; tell apart by a field") as refused:
        net.do(ANN, Open("three"))
    assert refused.value.code == "limits.spaces"
    net.do(ANN, Open("two"))  # which is open
    net.do(BOB, Open("three"))


def test_keys_of_once_hardly_count_when_an_agent_moves() -> None:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent("bob@b", "jobs")
    net.run(1)
    net.hosts["a"].step.shares = Shares(moved_tuples=20)
    for number in range(200):
        net.do(ANN, Out("jobs", ("job", number), once=f"key-{number}"))
        net.do(ANN, Seek("jobs", TAKE_NOWAIT, JOB))
    net.do(ANN, Out("jobs", ("job", 200), once="key-200"))
    with pytest.raises(TooManyMoved):
        net.do(ANN, Move("b"))
    net.do(ANN, Seek("jobs", TAKE_NOWAIT, JOB))
    with pytest.raises(TooManyMoved):
        net.do(ANN, Move("b"))
    net.hosts["a"].step.shares = Shares(moved_tuples=21)
    net.call(ANN, Move("b"))
    net.run(1)
    assert net.hosts["b"].has(ANN)
    net.do(ANN, Out("jobs", ("job", 7), once="key-7"))
    assert net.do(ANN, Seek("jobs", READ_ALL, JOB)) == ()
