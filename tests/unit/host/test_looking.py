"""Searches that take more than a slice: parked, gone on with in turns, answered in their last step.

A slice is so short here that it is used up by a few tuples.
"""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.problems import AgentLeft, Busy, Cancelled, SearchTooLong, TooManyFound
from nomospace.calls.requests import Adjust, Cancel, Out, React, Reactions, Seek, Settle, Share
from nomospace.calls.ways import Mode, Way
from nomospace.host.calls import Depart, Tick
from nomospace.host.looking import PARKED_EACH_MAX, WatchersTooDear
from nomospace.terms import ANY, obj, where
from nomospace.terms.budget import TestTooDear
from nomospace.terms.templates import Template, same as same_as
from tests.paper.hosts import Hosts

ANN, BOB = "ann@a", "bob@a"
ALL = Template.of(("job", ANY))
LATE = Template.of(("job", where("not (<= 80)")))
"""Fits the last of a hundred tuples, and says nothing that an index knows."""
NONE = Template.of(("job", where("not (<= 1000)")))
STEPS = [obj("Edge", same_as(f"n{n}"), to=same_as(f"n{n + 1}")) for n in range(14)]
DEAR = Template.of([*STEPS, obj("Edge", same_as("n14"), to=7)])
"""A path through a graph, which takes long to find where there is none."""
GRAPH = tuple([obj("Edge", n, to=m) for n in range(6) for m in range(6) if n != m])


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.terms.budget.SLICE_UNITS", 60)
    monkeypatch.setattr("nomospace.space.searching.VAIN_MAX", 4)


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab", links="")
    for agent in (ANN, BOB):
        net.agent(agent, "jobs")
    for number in range(100):
        net.do(ANN, Out("jobs", ("job", number)))
    return net


def ask(net: Hosts, agent: str, how: str, template: Template, **more: Any) -> int:
    """Call without letting the host hear the time after it."""
    return net.call(agent, Seek("jobs", Way(how), template, **more))


def tick(net: Hosts, name: str = "a") -> int:
    """One slice after the other until nothing is parked; how many."""
    host, count = net.hosts[name], 0
    while host.looking.next_deadline() is not None:
        assert host.next_deadline() == host.step.now  # it wants to go on at once
        net.tell(name, Tick())
        count += 1
    return count


def test_an_answer_comes_after_several_slices(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", LATE)
    assert op not in net.answers
    assert tick(net) > 3
    assert net.got(op) == ("job", 81)
    assert net.held(ANN, "job", 81) == []


def test_all_that_match_are_those_of_the_last_step(net: Hosts) -> None:
    op = ask(net, BOB, "read_all", LATE)
    net.tell("a", Tick())
    net.do(ANN, Seek("jobs", Way.TAKE_NOWAIT, Template.of(("job", 90))))
    net.do(ANN, Out("jobs", ("job", 200)))
    tick(net)
    found = [one.fields[1] for one in net.answers[op].value]
    assert found == [*range(81, 90), *range(91, 100), 200]


def test_a_take_whose_tuple_goes_before_it_is_reached_has_the_next(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", LATE)
    net.do(ANN, Seek("jobs", Way.TAKE_NOWAIT, Template.of(("job", 81))))
    tick(net)
    assert net.got(op) == ("job", 82)


def test_a_tuple_that_comes_back_behind_is_found(net: Hosts) -> None:
    lent = net.do(ANN, Seek("jobs", Way.TAKE, Template.of(("job", 3)), lease_us=10**9))
    op = ask(
        net, BOB, "take_nowait", Template.of(("job", where("not (< 3) and not (> 3 and < 99)")))
    )
    net.tell("a", Tick())
    net.tell("a", Tick())
    net.do(ANN, Settle("jobs", lent.lease, done=False))
    tick(net)
    assert net.got(op) == ("job", 3)


def test_nothing_is_found_after_all(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", NONE)
    tick(net)
    assert net.answers[op].value is None
    assert net.answers[op].error is None


def test_a_search_is_called_off(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", LATE)
    assert net.do(BOB, Cancel(op)) is True
    assert isinstance(net.answers[op].error, Cancelled)
    assert tick(net) == 0
    assert len(net.held(ANN, "job", ANY)) == 100


def test_its_agent_leaves(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", LATE)
    net.tell("a", Depart(BOB))
    assert isinstance(net.answers[op].error, AgentLeft)
    assert tick(net) == 0
    assert len(net.held(ANN, "job", ANY)) == 100


def test_a_host_that_crashes_meanwhile_has_lost_nothing(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", LATE)
    net.tell("a", Tick())
    net.stop("a")
    net.start("a")
    net.agent(ANN, "jobs")
    assert op not in net.answers
    assert len(net.held(ANN, "job", ANY)) == 100


def test_a_search_rests_while_the_group_changes(net: Hosts) -> None:
    op = ask(net, BOB, "take_nowait", LATE)
    net.join("ab")
    net.until(lambda: net.hosts["a"].frozen or op in net.answers)
    net.settle()
    assert net.got(op) == ("job", 81)


def test_a_space_that_is_parted_meanwhile_is_searched_where_its_tuples_are(net: Hosts) -> None:
    mine = ask(net, ANN, "read_nowait", LATE)
    other = ask(net, BOB, "read_nowait", LATE)
    net.tell("a", Tick())
    net.do(ANN, Share(("jobs",), shared=False))
    tick(net)
    assert net.got(mine) == ("job", 81)
    assert net.answers[other].value is None
    mine = ask(net, ANN, "read_nowait", LATE)
    net.tell("a", Tick())
    net.do(ANN, Share(("jobs",)))
    tick(net)
    assert net.got(mine) == ("job", 81)


def test_a_waiting_take_is_served_once(net: Hosts) -> None:
    """By what comes while it searches, or by what it finds, and not by both."""
    op = ask(net, BOB, "take", LATE)
    net.tell("a", Tick())
    net.do(ANN, Out("jobs", ("job", 500)))
    tick(net)
    assert net.got(op) == ("job", 500)
    assert len(net.held(ANN, "job", ANY)) == 100
    op = ask(net, BOB, "take", LATE)
    tick(net)
    assert net.got(op) == ("job", 81)


def test_a_waiting_take_that_found_nothing_waits(net: Hosts) -> None:
    op = ask(net, BOB, "take", NONE)
    tick(net)
    assert op not in net.answers
    net.do(ANN, Out("jobs", ("job", 2_000)))
    assert net.got(op) == ("job", 2_000)


def test_searches_have_their_slices_in_turns(net: Hosts) -> None:
    """Ten of bob's do not keep ann's waiting: she has every second slice."""
    many = [ask(net, BOB, "read_nowait", NONE) for _ in range(10)]
    mine = ask(net, ANN, "read_nowait", NONE)
    alone = 0
    while mine not in net.answers:
        net.tell("a", Tick())
        alone += 1
    assert sum(op in net.answers for op in many) <= 1
    tick(net)
    assert all(op in net.answers for op in many)
    assert alone < 40


def test_a_search_that_is_too_long_is_answered_so(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.space.search.SEARCH_UNITS_MAX", 200)
    for how in ("take_nowait", "read_all", "take"):
        op = ask(net, BOB, how, LATE)
        tick(net)
        error = net.answers[op].error
        assert isinstance(error, SearchTooLong)
        assert error.code == "limits.search"


def test_only_so_many_are_read_or_taken_at_once(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.host.open_operations.READ_MAX", 99)
    monkeypatch.setattr("nomospace.host.open_operations.TAKEN_MAX", 18)
    for how, template in (("read_all", ALL), ("take_all", LATE)):
        op = ask(net, BOB, how, template)
        tick(net)
        error = net.answers[op].error
        assert isinstance(error, TooManyFound)
        assert error.code == "limits.bulk"
    assert net.hosts["a"].view.members == ("a",)
    op = ask(net, BOB, "read_all", LATE)
    tick(net)
    assert len(net.answers[op].value) == 19


def test_only_so_many_searches_of_one_agent_are_parked(net: Hosts) -> None:
    ops = [ask(net, BOB, "read_nowait", NONE) for _ in range(PARKED_EACH_MAX + 2)]
    assert isinstance(net.answers[ops[-1]].error, Busy)
    mine = ask(net, ANN, "read_nowait", LATE)
    tick(net)
    assert net.got(mine) == ("job", 81)


def test_a_waiter_whose_test_is_too_dear_is_told_and_the_writer_is_not_harmed(
    net: Hosts,
) -> None:
    op = net.call(BOB, Seek("jobs", Way.TAKE, DEAR))
    assert op not in net.answers
    net.do(ANN, Out("jobs", (*GRAPH, obj("Edge", 8, to=7))))
    error = net.answers[op].error
    assert isinstance(error, TestTooDear)
    assert error.code == "limits.test"
    with pytest.raises(TestTooDear):
        net.ask(BOB, Seek("jobs", Way.READ_NOWAIT, DEAR))


class TestBetweenHosts:
    """The same for the agents of other hosts."""

    @pytest.fixture
    def net(self) -> Hosts:
        net = Hosts("ab")
        net.agent(ANN, "jobs")
        net.agent("cat@b", "jobs")
        net.settle()
        for number in range(100):
            net.do(ANN, Out("jobs", ("job", number)))
        return net

    @pytest.mark.parametrize("how", ["take_nowait", "take", "read", "read_nowait"])
    def test_another_host_is_answered_after_several_slices(self, net: Hosts, how: str) -> None:
        at = "a" if how.endswith("nowait") else ""
        op = net.call("cat@b", Seek("jobs", Way(how), LATE, at=at))
        net.settle()
        assert net.got(op) == ("job", 81)

    def test_another_host_is_told_that_it_asks_too_much(
        self, net: Hosts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("nomospace.space.search.SEARCH_UNITS_MAX", 200)
        ops = [
            net.call("cat@b", Seek("jobs", Way.TAKE_NOWAIT, LATE, at="a")),
            net.call("cat@b", Seek("jobs", Way.TAKE, LATE)),
        ]
        net.settle()
        for op in ops:
            assert "this search" in str(net.answers[op].error)

    def test_contact_is_lost_meanwhile(self, net: Hosts) -> None:
        op = net.call("cat@b", Seek("jobs", Way.TAKE, LATE))
        net.until(lambda: net.hosts["a"].looking.next_deadline() is not None)
        net.cut("ab")
        net.run(60)
        assert op not in net.answers
        assert net.hosts["a"].looking.next_deadline() is None
        assert len(net.held(ANN, "job", ANY)) == 100


class TestReactions:
    """What was there before a reaction is met in slices, each tuple once."""

    def fired(self, net: Hosts) -> list[Any]:
        return [one.found.fields[1] for one in net.fired]

    def test_what_was_there_is_met_slice_by_slice(self, net: Hosts) -> None:
        net.do(BOB, React("jobs", LATE, mode=Mode.ONCE_PER_TUPLE))
        net.tell("a", Tick())
        assert len(self.fired(net)) < 19
        net.do(ANN, Out("jobs", ("job", 300)))
        net.do(ANN, Seek("jobs", Way.TAKE_NOWAIT, Template.of(("job", 99))))
        tick(net)
        assert sorted(self.fired(net)) == [*range(81, 99), 300]

    def test_one_that_is_removed_or_disabled_meets_no_more(self, net: Hosts) -> None:
        for what in ("remove", "disable"):
            id = net.do(BOB, React("jobs", LATE, mode=Mode.ONCE_PER_TUPLE))
            net.do(BOB, Adjust(id, what))
            assert tick(net) <= 1
        assert self.fired(net) == []

    def test_one_that_fires_once_is_over_then(self, net: Hosts) -> None:
        net.do(BOB, React("jobs", LATE, mode=Mode.ONCE))
        tick(net)
        assert self.fired(net) == [81]
        assert net.do(BOB, Reactions()) == ()

    def test_its_agent_leaves_meanwhile(self, net: Hosts) -> None:
        net.do(BOB, React("jobs", LATE, mode=Mode.ONCE_PER_TUPLE))
        net.tell("a", Depart(BOB))
        assert tick(net) <= 1
        assert self.fired(net) == []

    def test_a_watchdog_at_another_host_meets_in_slices_too(self) -> None:
        net = Hosts("ab")
        net.agent(ANN, "jobs")
        net.agent("cat@b", "jobs")
        net.settle()
        for number in range(100):
            net.do(ANN, Out("jobs", ("job", number)))
        net.do("cat@b", React("jobs", LATE, mode=Mode.ONCE_PER_TUPLE))
        net.settle()
        assert sorted(self.fired(net)) == [*range(81, 100)]


class TestThoseWhoWait:
    """A write pays for those who wait; so what they may cost is bounded when they begin."""

    def test_only_so_much_may_wait_for_one_agent(
        self, net: Hosts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("nomospace.host.looking.WATCHERS_UNITS_MAX", 5_000)
        first = net.call(BOB, Seek("jobs", Way.TAKE, DEAR))
        net.do(BOB, React("jobs", DEAR))
        refused = net.call(BOB, Seek("jobs", Way.TAKE, DEAR))
        assert isinstance(net.answers[refused].error, WatchersTooDear)
        with pytest.raises(WatchersTooDear, match="fewer ties"):
            net.do(BOB, React("jobs", DEAR))
        other = net.call(ANN, Seek("jobs", Way.TAKE, DEAR))
        assert other not in net.answers  # it is bob's share that is used up
        net.do(BOB, Cancel(first))
        again = net.call(BOB, Seek("jobs", Way.TAKE, DEAR))
        assert again not in net.answers

    def test_a_reaction_whose_test_is_too_dear_is_disabled_and_noted(self, net: Hosts) -> None:
        net.do(BOB, React("jobs", DEAR))
        net.do(ANN, Out("jobs", (*GRAPH, obj("Edge", 8, to=7))))
        [listed] = net.do(BOB, Reactions())
        assert not listed.enabled
        assert [note.what for _, note in net.notes] == ["reaction-too-dear"]
