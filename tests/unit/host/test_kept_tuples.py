"""Waits on a governed space whose manager's law keeps a tuple: they go on for the next one."""

import pytest

from nomospace.host import Adopt, Open, Share
from nomospace.law import load
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
