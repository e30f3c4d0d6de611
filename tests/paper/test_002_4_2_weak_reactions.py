"""`002_…` section 4.2, Figure 7: a weak reaction watches on every host of the group."""

import pytest

from nomospace.calls.requests import ONCE, Adjust, Share
from nomospace.protocols.spaces import Reacted, ReactWatch, UnreactWatch
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"


@pytest.fixture
def net() -> Hosts:
    net = Hosts("abc", links="ab bc")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.settle()
    return net


def watchdogs(net: Hosts, host: str) -> int:
    return net.hosts[host].spaces.levels["jobs"].space.stats()["reactions"]


def test_figure_7(net: Hosts) -> None:
    """Watchdogs at A, B and C; B's tuple fires at A; C leaves, and its watchdog with it."""
    reaction = net.react(ANN, "job", int)
    net.run(0.2)
    assert sorted(net.messages(ReactWatch)) == ["ab", "ac"]
    assert [watchdogs(net, host) for host in "abc"] == [1, 1, 1]
    net.out(BOB, "job", 1)
    net.run(0.2)
    assert net.messages(Reacted) == ["ba"]
    assert net.firings(reaction) == [("job", 1)]
    net.cut("bc")
    net.settle()
    assert [watchdogs(net, host) for host in "abc"] == [1, 1, 0]
    net.out(CAT, "job", 2)
    net.out(BOB, "job", 3)
    net.out(ANN, "job", 4)
    net.run(0.2)
    assert sorted(net.firings(reaction)) == [("job", 1), ("job", 3), ("job", 4)]
    net.join("bc")
    net.settle()
    assert [watchdogs(net, host) for host in "abc"] == [1, 1, 1]
    assert net.firings(reaction)[3:] == [("job", 2)]


def test_an_engagement_fires_for_what_the_other_side_has() -> None:
    """Reactions of both sides are registered with it, and meet the tuples that are there."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    hers, his = net.react(ANN, "job", int), net.react(BOB, "job", int)
    net.out(ANN, "job", 1)
    net.out(BOB, "job", 2)
    net.run(5)
    net.join("ab")
    net.settle()
    assert net.firings(hers) == [("job", 1), ("job", 2)]
    assert net.firings(his) == [("job", 2), ("job", 1)]


def test_once_fires_once_though_many_hosts_answer(net: Hosts) -> None:
    """The listener runs once, whatever comes from where; then all watchdogs are withdrawn."""
    reaction = net.react(ANN, "job", int, mode=ONCE)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.out(CAT, "job", 2)
    net.run(0.2)
    assert net.messages(Reacted) == ["ba", "ca"]
    assert len(net.firings(reaction)) == 1
    assert [watchdogs(net, host) for host in "abc"] == [0, 0, 0]
    net.out(ANN, "job", 3)
    assert len(net.firings(reaction)) == 1


def test_once_fires_once_though_here_and_there_match_at_the_same_time(net: Hosts) -> None:
    """The same when one of the hosts is the reaction's own."""
    reaction = net.react(ANN, "job", int, mode=ONCE)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.out(ANN, "job", 2)
    net.run(0.2)
    assert net.firings(reaction) == [("job", 2)]


def test_once_per_tuple_does_not_fire_again_when_hosts_meet_again(net: Hosts) -> None:
    """Weak reactions are uninstalled and reinstalled; the list of ids remembers."""
    reaction = net.react(ANN, "job", int)
    net.out(CAT, "job", 1)
    net.out(CAT, "job", 1)
    net.run(0.2)
    for _ in range(3):
        net.cut("bc")
        net.settle()
        net.join("bc")
        net.settle()
    assert net.firings(reaction) == [("job", 1), ("job", 1)]
    assert net.messages(Reacted) == ["ca", "ca"]  # the watchdog is told what is known


def test_once_per_tuple_does_not_fire_again_when_the_tuple_migrates(net: Hosts) -> None:
    """Tuples move with their agents and to their destinations; the id stays the same."""
    reaction = net.react(ANN, "job", int)
    net.cut("bc")
    net.settle()
    net.out(BOB, "job", 1, to=CAT)
    net.run(0.2)
    assert net.firings(reaction) == [("job", 1)]
    net.join("bc")
    net.settle()
    assert net.held(CAT, "job", int) == [("job", 1)]
    net.move(CAT, "a")  # onto the reaction's own host
    net.run(0.5)
    assert net.held(CAT, "job", int) == [("job", 1)]
    assert net.firings(reaction) == [("job", 1)]


def test_once_per_tuple_does_not_fire_again_when_the_reactions_agent_moves(net: Hosts) -> None:
    """The list is the reaction's, and goes where its agent goes."""
    net.out(BOB, "job", 1)
    reaction = net.react(ANN, "job", int)
    net.run(0.2)
    net.move(ANN, "b", seconds=1)
    net.run(0.5)
    net.out(CAT, "job", 2)
    net.run(0.2)
    assert net.firings(reaction) == [("job", 1), ("job", 2)]


def test_a_tuple_that_is_written_again_is_another_tuple(net: Hosts) -> None:
    """A reaction that met one meets the other: ids tell them apart, contents do not."""
    reaction = net.react(ANN, "job", int)
    net.run(0.2)
    for _ in range(2):
        net.out(BOB, "job", 1)
        assert net.seek(BOB, "take_nowait", "job", int) == ("job", 1)
        net.run(0.2)
    assert net.firings(reaction) == [("job", 1), ("job", 1)]


def test_location_parameters_say_which_hosts_are_involved(net: Hosts) -> None:
    """The message goes to the hosts that the reaction is about, and to no other."""
    net.react(ANN, "job", int, at=CAT)
    net.react(ANN, "job", int, at="b")
    net.react(ANN, "job", int, at="a")
    net.run(0.2)
    assert net.messages(ReactWatch) == ["ac", "ab"]


def test_a_reaction_about_an_agent_follows_it(net: Hosts) -> None:
    """ω moves; the watchdog is withdrawn there and registered here."""
    reaction = net.react(ANN, "job", int, at=CAT)
    net.run(0.2)
    net.move(CAT, "b")
    net.run(0.5)
    net.out(CAT, "job", 1)
    net.out(BOB, "job", 2)
    net.run(0.2)
    assert net.firings(reaction) == [("job", 1)]
    assert net.messages(ReactWatch) == ["ac", "ab"]
    assert net.messages(UnreactWatch) == ["ac"]


def test_watchdogs_go_with_the_space_that_they_watch(net: Hosts) -> None:
    """Sharing engages and parting disengages, for one space as for a host."""
    reaction = net.react(ANN, "job", int)
    net.run(0.2)
    net.do(BOB, Share(("jobs",), shared=False))
    net.run(0.2)
    net.out(BOB, "job", 1)
    assert watchdogs(net, "b") == 0
    net.do(BOB, Share(("jobs",)))
    net.run(0.2)
    assert watchdogs(net, "b") == 1
    assert net.firings(reaction) == [("job", 1)]


def test_what_is_on_its_way_to_a_removed_or_new_reaction_is_not_heard(net: Hosts) -> None:
    """An answer for an older generation of a reaction comes too late."""
    removed, renewed = net.react(ANN, "job", int), net.react(ANN, "job", int)
    net.run(0.2)
    net.out(CAT, "job", 1)
    net.run(0.03)  # the word is half way, through b
    assert net.seek(CAT, "take_nowait", ANY, int) == ("job", 1)
    net.do(ANN, Adjust(removed, "remove"))
    net.do(ANN, Adjust(renewed, "disable"))
    net.do(ANN, Adjust(renewed, "enable"))
    net.run(1)
    assert net.messages(Reacted) == ["ca", "ca"]
    assert net.firings(removed) == net.firings(renewed) == []
