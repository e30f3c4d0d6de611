"""`002_…` sections 2.2.1, 2.2.2 and 3.2: interface spaces that are shared while agents can meet."""

import pytest

from nomospace.calls.requests import Open, Share
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts

ANN, BOB, CAT, DAN = "ann@a", "bob@b", "cat@c", "dan@d"


def waiting_read(net: Hosts, agent: str, *pattern: object, space: str = "jobs") -> bool:
    """Whether a read across the whole group finds a match within a second."""
    op = net.begin(agent, "read", *pattern, space=space)
    net.run(1)
    return op in net.answers


def test_alone_an_agent_has_its_own_tuples_only() -> None:
    """2.2.1: its interface space is all the context of an agent that is alone."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.out(ANN, "mine")
    net.run(5)
    assert waiting_read(net, ANN, "mine")
    assert not waiting_read(net, BOB, "mine")


def test_agents_of_one_host_form_a_group() -> None:
    """2.2.1, 2.2.2: the spaces of co-located agents are one host-level space."""
    net = Hosts("a")
    net.agent(ANN, "jobs")
    net.agent("eve@a", "jobs")
    net.out(ANN, "job", 1)
    assert net.seek("eve@a", "take", "job", int) == ("job", 1)


def test_agents_of_hosts_that_can_communicate_form_a_group() -> None:
    """2.2.1, 2.2.2: host-level spaces of connected hosts are one federated space."""
    net = Hosts("ab")
    for agent in (ANN, "eve@a", BOB):
        net.agent(agent, "jobs")
    net.settle()
    for agent in (ANN, "eve@a", BOB):
        net.out(agent, "of", agent)
    for reader in (ANN, "eve@a", BOB):
        for writer in (ANN, "eve@a", BOB):
            assert net.seek(reader, "read", "of", writer) == ("of", writer)


def test_groups_are_transitive_and_a_host_relays_for_those_without_a_link() -> None:
    """2.2.1: agents that reach each other only through others are in one group."""
    net = Hosts("abcd", links="ab bc cd")
    net.agent(ANN, "jobs")
    net.agent(DAN, "jobs")
    net.settle()
    net.out(DAN, "job", 1)
    assert net.seek(ANN, "take", "job", int) == ("job", 1)
    assert net.seek(DAN, "read_all", ANY, ANY) == []
    assert net.hosts["a"].view.members == ("a", "b", "c", "d")


def test_only_spaces_of_one_name_are_shared() -> None:
    """2.2.1: the paper's X and Y. Y waits for somebody who owns it too."""
    net = Hosts("abc", links="ab")
    net.agent(ANN, "X")
    net.agent(BOB, "X", "Y")
    net.agent(CAT, "Y")
    net.settle()
    net.out(BOB, "in X", space="X")
    net.out(BOB, "in Y", space="Y")
    assert waiting_read(net, ANN, "in X", space="X")
    assert not waiting_read(net, ANN, "in Y", space="X")
    net.join("bc")
    net.settle()
    assert waiting_read(net, CAT, "in Y", space="Y")


def test_disengagement_leaves_each_its_own() -> None:
    """3.2, disengage: visible are the tuples whose agents are still connected to one another."""
    net = Hosts("abc", links="ab bc")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.settle()
    for agent in (ANN, BOB, CAT):
        net.out(agent, "of", agent)
    net.cut("bc")
    net.settle()
    seen = {
        reader: [w for w in (ANN, BOB, CAT) if waiting_read(net, reader, "of", w)]
        for reader in (ANN, BOB, CAT)
    }
    assert seen == {ANN: [ANN, BOB], BOB: [ANN, BOB], CAT: [CAT]}


def test_a_tuple_that_was_taken_while_together_stays_taken() -> None:
    """3.2: the partition is of what the shared space holds, not of what each once wrote."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    net.out(ANN, "job", 1)
    assert net.seek(BOB, "take", "job", int) == ("job", 1)
    net.cut("ab")
    net.settle()
    assert net.held(ANN, "job", int) == net.held(BOB, "job", int) == []


def test_engagement_is_the_union_without_copies() -> None:
    """3.2, engage: what both had is there, each tuple once, for both."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    for number in range(3):
        net.out(ANN, "job", number)
        net.out(BOB, "job", 10 + number)
    net.join("ab")
    net.settle()
    taken = [net.seek((ANN, BOB)[number % 2], "take", "job", int)[1] for number in range(6)]
    assert sorted(taken) == [0, 1, 2, 10, 11, 12]
    assert not waiting_read(net, ANN, "job", int)


def test_whole_groups_merge_and_split() -> None:
    """2.2.1: groups of several hosts engage at once, and come apart into several groups."""
    net = Hosts("abcd", links="ab cd")
    for agent in (ANN, BOB, CAT, DAN):
        net.agent(agent, "jobs")
        net.out(agent, "of", agent)
    net.settle()
    assert net.hosts["a"].view.members == ("a", "b")
    net.join("bc")
    net.settle()
    assert all(waiting_read(net, ANN, "of", agent) for agent in (BOB, CAT, DAN))
    net.cut("bc cd")
    net.settle()
    groups = {host.view.members for host in net.hosts.values()}
    assert groups == {("a", "b"), ("c",), ("d",)}
    assert not waiting_read(net, CAT, "of", DAN)
    assert waiting_read(net, ANN, "of", BOB)


@pytest.mark.parametrize("how", ["take", "read"])
def test_who_waits_is_served_by_an_engagement(how: str) -> None:
    """2.2.1: what a member perceives changes with the members, transparently."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.out(BOB, "job", 1)
    waiting = net.begin(ANN, how, "job", int)
    net.run(5)
    assert net.got(waiting) is None
    net.join("ab")
    net.settle()
    assert net.got(waiting) == ("job", 1)
    assert net.held(BOB, "job", int) == ([] if how == "take" else [("job", 1)])


def test_agents_that_come_and_go_join_and_leave_the_group() -> None:
    """2.2.2: arrival and departure of agents change connectivity as links do."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.settle()
    net.agent(BOB, "jobs")
    net.out(BOB, "job", 1)
    net.run(0.5)
    assert net.hosts["a"].connected(BOB)
    assert waiting_read(net, ANN, "job", int)
    net.move(BOB, "b", seconds=1)  # gone for a second, then back on the same host
    net.run(0.5)
    assert waiting_read(net, ANN, "job", int)


def test_what_an_agent_on_its_way_carries_is_nobodys() -> None:
    """2.2.1: leaving takes the tuples of its context out of the group's, atomically."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent("eve@a", "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    net.out(ANN, "hers")
    net.out("eve@a", "eves")
    seen: list[bool] = []

    def look() -> None:
        if ANN not in net.hosts["a"].agents and ANN not in net.hosts["b"].agents:
            seen.append(True)

    net.after_each.append(look)
    op = net.begin(BOB, "read", "hers")
    net.run(0.5)
    assert net.got(op) == ("hers",)
    net.move(ANN, "b", seconds=0.5)
    assert seen
    assert net.held(ANN, "hers") == [("hers",)]
    assert net.seek("eve@a", "read_all", ANY) == [("eves",)]


def test_one_link_lost_of_two_ways_changes_nothing() -> None:
    """2.2.1, 3.2: connectivity is transitive; a group does not depend on which links make it."""
    net = Hosts("abc")
    net.agent(ANN, "jobs")
    net.agent(CAT, "jobs")
    net.settle()
    net.out(CAT, "job", 1)
    net.cut("ac")
    net.run(10)
    assert net.hosts["a"].view.members == ("a", "b", "c")
    assert net.seek(ANN, "take", "job", int) == ("job", 1)


def test_parting_a_space_disengages_its_tuples() -> None:
    """2.2.1 for one space: who parts leaves with what it holds."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs", "other")
    net.settle()
    net.out(BOB, "job", 1)
    net.out(BOB, "thing", space="other")
    net.do(BOB, Share(("jobs",), shared=False))
    net.run(0.5)
    assert not waiting_read(net, ANN, "job", int)
    net.do(ANN, Open("other"))
    net.do(ANN, Share(("other",)))
    assert waiting_read(net, ANN, "thing", space="other")
    net.do(BOB, Share(("jobs",)))
    assert waiting_read(net, ANN, "job", int)
