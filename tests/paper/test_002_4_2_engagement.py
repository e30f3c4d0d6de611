"""`002_…` section 4.2, Figure 9: engagement and disengagement of hosts, and agents that move."""

from typing import Any

import pytest

from nomospace.calls.requests import Out, Seek, Share
from nomospace.calls.ways import Way
from nomospace.host.calls import Call
from nomospace.host.system import SYSTEM
from nomospace.protocols.messages import View
from nomospace.protocols.policy import Announced
from nomospace.protocols.spaces import Met, Migrated, ReactWatch
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, BOB, CAT, DAN = "ann@a", "bob@b", "cat@c", "dan@d"


def views(net: Hosts) -> dict[str, View]:
    return {name: host.view for name, host in net.hosts.items()}


def groups(net: Hosts) -> set[tuple[str, ...]]:
    return {view.members for view in views(net).values()}


@pytest.fixture
def three() -> Hosts:
    net = Hosts("abc", policy=Announced())
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.engage("a")
    net.engage("b")
    net.run(3)
    assert groups(net) == {("a", "b"), ("c",)}
    return net


def test_figure_9_a_host_joins(three: Hosts) -> None:
    """All stop, misplaced tuples and reactions pass pairwise with the newcomer, all go on."""
    three.out(ANN, "for cat", to=CAT)
    three.out(CAT, "for bob", to=BOB)
    three.react(BOB, str)
    three.react(CAT, str)
    three.run(0.5)
    before = three.now
    three.engage("c")
    three.run(3)
    assert groups(three) == {("a", "b", "c")}
    assert len(set(views(three).values())) == 1
    assert sorted(three.messages(Met, since=before)) == ["ac", "cb"], "who has tuples for whom"
    assert sorted(three.messages(Migrated, since=before)) == ["ac", "cb"]
    assert sorted(three.messages(ReactWatch, since=before)) == ["bc", "ca", "cb"]
    assert three.held(CAT, str) == [("for cat",)]
    assert three.held(BOB, str) == [("for bob",)]


def test_figure_9_a_host_leaves(three: Hosts) -> None:
    """It says so; no tuple moves; the others go on as one group at once, without waiting."""
    three.engage("c")
    three.run(3)
    three.out(CAT, "cats")
    three.out(ANN, "anns")
    before = three.now
    three.disengage("c")
    three.run(1.5)
    assert groups(three) == {("a", "b"), ("c",)}
    assert three.messages(Migrated, since=before) == three.messages(Met, since=before) == []
    assert three.held(CAT, str) == [("cats",)]
    assert three.seek(BOB, "read", "anns") == ("anns",)
    lines = three.seek(ANN, "read_all", "host", ANY, "departed", space=SYSTEM)
    assert lines == [("host", "c", "departed")]


def test_operations_halt_while_the_group_changes_and_then_go_on(three: Hosts) -> None:
    """Nothing is answered between the stop and the new group; then everything, in order."""
    three.engage("c")
    three.until(lambda: three.hosts["b"].frozen)
    ops = [three.call(BOB, Out("jobs", ("n", number))) for number in range(3)]
    ops.append(three.call(BOB, Seek("jobs", Way.TAKE_ALL, Template.of(("n", int)))))
    assert [op in three.answers for op in ops] == [False] * 4
    three.until(lambda: ops[-1] in three.answers)
    assert three.hosts["b"].view.members == ("a", "b", "c")
    assert list(three.answers)[-4:] == ops
    assert three.got(ops[-1]) == [("n", 0), ("n", 1), ("n", 2)]


def test_all_members_change_to_the_same_group() -> None:
    """Atomic for all of them: two hosts with the same view have always seen the same members."""
    net = Hosts("abcd", links="ab bc cd")
    seen: dict[Any, set[tuple[str, ...]]] = {}

    def look() -> None:
        for view in views(net).values():
            seen.setdefault(view.id, set()).add(view.members)

    net.after_each.append(look)
    net.settle()
    net.cut("bc")
    net.settle()
    net.join("bc")
    net.settle()
    assert all(len(members) == 1 for members in seen.values())
    assert len(set(views(net).values())) == 1


def test_groups_engage_with_groups() -> None:
    """What the simple protocol cannot: two groups of two become one, in one step for each host."""
    net = Hosts("abcd", links="ab cd")
    for agent in (ANN, BOB, CAT, DAN):
        net.agent(agent, "jobs")
    net.settle()
    for agent, to in ((ANN, CAT), (BOB, DAN), (CAT, BOB), (DAN, ANN)):
        net.out(agent, "from", agent, to=to)
    sizes: dict[str, list[int]] = {name: [] for name in "abcd"}

    def look() -> None:
        for name, view in views(net).items():
            if sizes[name][-1:] != [len(view.members)]:
                sizes[name].append(len(view.members))

    net.after_each.append(look)
    before = net.now
    net.join("bc")
    net.settle()
    assert sizes == {name: [2, 4] for name in "abcd"}
    # Those who knew each other do not meet again: only pairs across, that have tuples to ship.
    assert sorted(net.messages(Met, since=before)) == ["ac", "bd", "cb", "da"]
    for agent, writer in ((CAT, ANN), (DAN, BOB), (BOB, CAT), (ANN, DAN)):
        assert net.held(agent, "from", ANY) == [("from", writer)]


def test_a_group_splits_without_moving_a_tuple() -> None:
    """Disengagement transfers nothing; loss of contact is noticed by silence."""
    net = Hosts("abcd", links="ab bc cd")
    for agent in (ANN, BOB, CAT, DAN):
        net.agent(agent, "jobs")
    net.settle()
    for agent in (ANN, BOB, CAT, DAN):
        net.out(agent, "of", agent)
    before = net.now
    net.cut("bc")
    net.settle()
    assert groups(net) == {("a", "b"), ("c", "d")}
    assert [one for one in net.said if one.at >= before] == []
    for agent in (ANN, BOB, CAT, DAN):
        assert net.held(agent, "of", ANY) == [("of", agent)]


def test_silence_shorter_than_a_loss_changes_nothing() -> None:
    """A link that is away for a moment is no disengagement, and what was said meanwhile comes."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    view = net.hosts["a"].view
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.cut("ab")
    net.out(BOB, "job", 1)
    net.run(1.5)
    net.join("ab")
    net.run(3)
    assert net.hosts["a"].view == net.hosts["b"].view == view
    assert net.got(waiting) == ("job", 1)


# -- agents that move --------------------------------------------------------------------------


def test_an_agent_carries_its_spaces() -> None:
    """Made private, packed with the agent, and shared again before its program goes on."""
    net = Hosts("abc", links="ab")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.agent("eve@a", "jobs")
    net.settle()
    net.out(ANN, "job", 1)
    net.out(ANN, "for dan", 2, to=DAN)
    net.out("eve@a", "job", 3)
    net.move(ANN, "c", seconds=2)
    assert net.held(ANN, ANY, int) == [("job", 1), ("for dan", 2)]
    assert net.seek(CAT, "take", "job", int) == ("job", 1)
    assert net.seek(CAT, "read_all", ANY, int, dest=DAN) == [("for dan", 2)]
    net.run(0.5)
    assert net.seek(BOB, "take", "job", int) == ("job", 3)


def test_private_spaces_are_carried_and_stay_private() -> None:
    """What was private before the move is private after it, with what is in it."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.do(ANN, Share(("jobs",), shared=False))
    net.out(ANN, "secret")
    net.settle()
    net.move(ANN, "b")
    assert net.seek(ANN, "read_nowait", "secret") == ("secret",)
    assert net.seek(BOB, "read_nowait", "secret") is None


def test_tuples_meet_their_destination_when_it_comes_with_an_agent() -> None:
    """Engagement of an agent's spaces is an engagement: misplaced tuples migrate with it."""
    net = Hosts("abc", links="")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.out(ANN, "for bob", to=BOB)
    net.out(BOB, "for ann", to=ANN)
    net.out(CAT, "x", to=ANN)
    net.move(ANN, "b", seconds=1)
    assert net.held(BOB, str) == [("for bob",)]
    assert net.held(ANN, str) == [("for ann",)]
    net.move(ANN, "c", seconds=1)
    assert sorted(net.held(ANN, str)) == [("for ann",), ("x",)]


def test_no_tuple_is_numbered_twice_however_often_its_agent_moves() -> None:
    """4.2: an id is the agent and a number that grows; it goes on where the agent goes."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    reaction = net.react(BOB, "job", int)
    for number, host in enumerate("bab"):
        net.out(ANN, "job", number)
        net.move(ANN, host, seconds=0.1)
        net.run(0.5)
    net.out(ANN, "job", 3)
    net.run(0.5)
    fired = [(one.found.writer, one.found.count) for one in net.fired]
    assert fired == [(ANN, 1), (ANN, 2), (ANN, 3), (ANN, 4)]
    assert len(net.firings(reaction)) == 4


def test_an_agent_can_move_while_its_host_engages() -> None:
    """A departure in the middle of an engagement waits for the end of it."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.agent("eve@a", "jobs")
    net.out(ANN, "job", 1)
    net.join("ab")
    net.until(lambda: net.hosts["a"].frozen)
    net.move(ANN, "b", seconds=0.1)
    net.settle()
    assert net.held(ANN, "job", int) == [("job", 1)]
    assert net.seek("eve@a", "take", "job", int) == ("job", 1)


def test_a_call_of_an_agent_that_has_left_is_answered_with_an_error() -> None:
    """The old host knows the agent no more."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.settle()
    net.move(ANN, "b")
    net.tell("a", Call(1_000_000, ANN, Out("jobs", ("job",))))
    assert "not on host a" in str(net.answers[1_000_000].error)
