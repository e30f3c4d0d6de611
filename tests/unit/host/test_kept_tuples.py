"""Governed spaces from other hosts: tuples that a law keeps, and laws that differ."""

import pytest

from nomospace.calls.requests import Adopt, Cancel, Open, Share
from nomospace.law import load
from nomospace.protocols.spaces import Migrated
from tests.paper.hosts import Hosts

LAW = load(
    "law(kept).\n"
    "R1. sent(_, found(_, [job, N]), _) :- N > 0, do(forward).\n"
    "R2. sent(_, M, _) :- \\+ M = found(_, _), do(forward).\n"
    "R3. arrived(_, _, _) :- do(deliver).\n"
)


@pytest.mark.parametrize("how", ["read", "take"])
@pytest.mark.parametrize("agent", ["ann@a", "eve@b"])
def test_a_tuple_that_the_law_keeps_does_not_end_the_wait(how: str, agent: str) -> None:
    """Here and from another host alike."""
    net = Hosts("ab")
    for one in ("ann@a", "bob@b", "eve@b"):
        net.agent(one)
        net.do(one, Adopt(LAW))
        net.do(one, Open("jobs", LAW))
        net.do(one, Share(("jobs",)))
    net.settle()
    waiting = net.begin(agent, how, "job", int)
    net.run(0.5)
    for number in (0, 0, 1):
        assert net.got(waiting) is None
        net.out("bob@b", "job", number)
        net.run(0.5)
    assert net.got(waiting) == ("job", 1)


def test_spaces_of_one_name_under_different_laws_are_not_one() -> None:
    """Nothing is seen, fires or migrates between them, whatever their hosts' group."""
    net = Hosts("ab")
    net.agent("ann@a", "jobs")
    net.agent("bob@b")
    net.do("bob@b", Adopt(LAW))
    net.do("bob@b", Open("jobs", LAW))
    net.do("bob@b", Share(("jobs",)))
    net.settle()
    reaction = net.react("ann@a", "job", int)
    waiting = net.begin("ann@a", "take", "job", int)
    net.out("bob@b", "job", 1)
    net.run(1)
    assert net.got(waiting) is None
    assert net.firings(reaction) == []
    assert net.seek("ann@a", "read_nowait", "job", int, at="b") is None
    net.do("ann@a", Cancel(waiting))
    net.out("ann@a", "job", 2, to="bob@b")
    net.run(1)
    assert net.held("ann@a", "job", int) == [("job", 2)]
    assert net.messages(Migrated) == []
