"""Tuples that more wait for than one step has time for: the rest are shown them later, in order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nomospace.calls.ways import ONCE_PER_TUPLE
from nomospace.space import (
    OFFER,
    READ,
    TAKE,
    Fired,
    Gathered,
    Outcome,
    Reaction,
    Record,
    SetQuestion,
    Slice,
    Space,
    Woken,
)
from nomospace.space.outcomes import Overran
from nomospace.space.watchers import Watchers
from nomospace.terms import a, obj, where
from nomospace.terms.templates import Template, same as same_as

JOB = Template.of(("job", int))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step has time to show a tuple to two."""
    monkeypatch.setattr("nomospace.space.steps.STEP_UNITS", 10)
    monkeypatch.setattr("nomospace.space.steps.WAKE_UNITS", 2)


@pytest.fixture
def space() -> Space:
    return Space("jobs")


def job(count: int) -> Record:
    return Record(("job", count), "ann", count, "ann", "ann")


def served(space: Space, units: int = 7) -> list[str]:
    """Who is served, slice by slice, until all have had their turn."""
    told: list[str] = []
    while space.is_serving:
        told += names(space.go_on_serving(now=0, slice=Slice(units)))
    return told


def names(told: list[Outcome]) -> list[str]:
    return [
        f"{one.reaction.id} {one.record.count}"
        if isinstance(one, Fired)
        else f"{one.ticket} {one.record.count}"
        for one in told
        if isinstance(one, Fired | Woken)
    ]


def test_all_who_wait_to_read_are_served_in_their_order(space: Space) -> None:
    for number in range(9):
        space.wait(f"r{number}", JOB, READ)
    space.wait("taker", JOB, TAKE)
    space.wait("other", JOB, TAKE)
    told = names(space.put(job(1), now=0))
    assert space.is_serving
    assert told + served(space) == [*[f"r{n} 1" for n in range(9)], "taker 1"]
    assert len(space) == 0
    assert [one.ticket for one in space.waiters()] == ["other"]


def test_reactions_meet_tuples_in_order_before_those_who_wait_and_each_once(space: Space) -> None:
    for number in range(6):
        space.react(Reaction(f"x{number}", JOB, ONCE_PER_TUPLE), now=0)
    space.wait("taker", JOB, TAKE)
    told = names(space.put_many([job(1), job(2)], now=0)) + names(space.put(job(3), now=0))
    told += served(space)
    fired = [one for one in told if one.startswith("x")]
    assert sorted(fired) == sorted([f"x{n} {count}" for n in range(6) for count in (1, 2, 3)])
    for number in range(6):
        mine = [one for one in fired if one.startswith(f"x{number}")]
        assert mine == sorted(mine)
    assert told.index("x5 1") < told.index("taker 1")


def test_a_tuple_that_is_taken_meanwhile_is_met_and_given_to_nobody(space: Space) -> None:
    for number in range(6):
        space.react(Reaction(f"x{number}", JOB, ONCE_PER_TUPLE), now=0)
    space.wait("taker", JOB, TAKE)
    told = names(space.put(job(1), now=0))
    [found] = space.find_all(JOB)
    space.remove(found)
    assert told + served(space) == [f"x{n} 1" for n in range(6)]
    assert [one.ticket for one in space.waiters()] == ["taker"]


def test_who_comes_later_is_not_served_with_what_it_could_have_found(space: Space) -> None:
    for number in range(6):
        space.wait(f"o{number}", JOB, OFFER)
    told = names(space.put(job(1), now=0))
    space.wait("late", JOB, READ)
    space.react(Reaction("x", Template.of(("job", where("> 5"))), ONCE_PER_TUPLE), now=0)
    assert told + served(space) == [f"o{n} 1" for n in range(6)]


def test_one_who_gives_up_is_passed_over(space: Space) -> None:
    for number in range(6):
        space.wait(f"r{number}", JOB, READ)
    told = names(space.put(job(1), now=0))
    space.cancel("r4")
    assert told + served(space) == ["r0 1", "r1 1", "r2 1", "r3 1", "r5 1"]


def test_one_whose_test_is_too_dear_is_told_in_its_turn(space: Space) -> None:
    path = [obj("Edge", same_as(f"n{n}"), to=same_as(f"n{n + 1}")) for n in range(14)]
    graph = [obj("Edge", n, to=m) for n in range(6) for m in range(6) if n != m]
    for number in range(3):
        space.wait(f"r{number}", Template.of([*path, obj("Edge", same_as("n14"), to=7)]), READ)
    told = space.put(Record(tuple(graph), "ann", 1, "ann", "ann"), now=0)
    while space.is_serving:
        told += space.go_on_serving(now=0, slice=Slice(7))
    assert [one.ticket for one in told if isinstance(one, Overran)] == ["r0", "r1", "r2"]
    assert not space.waiters()


def test_sets_are_completed_one_by_one(space: Space) -> None:
    pair = Template.of((a("Car"), a("Tax")))
    for number in range(4):
        space.wait(f"s{number}", pair, READ, ask=SetQuestion(pair, max_set=2))
    told = space.put(Record((obj("Car", "c"), 1), "ann", 1, "ann", "ann"), now=0)
    told += space.put(Record((obj("Car", "c"), obj("Tax", "t")), "ann", 2, "ann", "ann"), now=0)
    while space.is_serving:
        told += space.go_on_serving(now=0, slice=Slice(1))
    tickets = [one.ticket for one in told if isinstance(one, Woken | Gathered)]
    assert sorted(map(str, tickets)) == ["s0", "s1", "s2", "s3"]


def test_what_is_late_is_bounded(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.space.steps.LATE_MAX", 3)
    for number in range(6):
        space.react(Reaction(f"x{number}", JOB, ONCE_PER_TUPLE), now=0)
    told: list[str] = []
    for count in range(20):
        told += names(space.put(job(count), now=0))
        assert len(space._steps._late) <= 4
    told += served(space)
    assert sorted(told) == sorted([f"x{n} {count}" for n in range(6) for count in range(20)])


def test_who_had_its_turn_is_not_listed_again(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = 0
    of = Watchers.of

    def counted(watchers: Watchers[Reaction], record: Record, after: int = 0) -> Iterator[Reaction]:
        nonlocal listed
        for one in of(watchers, record, after):
            listed += 1
            yield one

    for number in range(200):
        space.react(Reaction(f"r{number}", JOB, ONCE_PER_TUPLE), now=0)
    monkeypatch.setattr(Watchers, "of", counted)
    monkeypatch.setattr("nomospace.space.watchers.LOT", 4)
    fired = len(space.put(job(1), now=0))
    steps = 0
    while space.is_serving:
        fired += len(space.go_on_serving(now=0, slice=Slice(7)))
        steps += 1
    assert fired == 200
    assert steps > 50
    assert listed < 200 + 4 * (steps + 1) + steps


@pytest.mark.parametrize("many", [1, 2, 40])
def test_those_after_one_are_listed_however_many_there_are(many: int) -> None:
    watchers: Watchers[Reaction] = Watchers()
    for order in range(1, many + 1):
        watchers.add(_in_turn(order, JOB))
    watchers.add(_in_turn(many + 1, Template.of((str, int))))
    for after in range(many + 2):
        found = [one.order for one in watchers.of(job(1), after)]
        assert found == list(range(after + 1, many + 2))
        assert [one.order for one in watchers.in_turn(job(1), after, many)] == found[:-2]


def _in_turn(order: int, template: Template) -> Reaction:
    made = Reaction(f"r{order}", template, ONCE_PER_TUPLE)
    made.order = order
    return made
