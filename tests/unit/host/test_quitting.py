"""An agent or a space that has quit its community, in the middle of an operation."""

from nomospace.calls.requests import Adopt, Open, Share, Tell
from nomospace.host.calls import Arrive
from nomospace.law import load
from tests.paper.hosts import Hosts

LAW = load(
    """
    law(leaving).
    R1. sent(_, bye, _) :- do(quit).
    R2. sent(_, _, _) :- do(forward).
    R3. arrived(_, close, _) :- do(quit).
    R4. arrived(_, _, _) :- do(deliver).
    """,
    "leaving.law",
)


def community() -> Hosts:
    net = Hosts("a", laws=[LAW])
    for agent in ("ann@a", "bob@a"):
        net.tell("a", Arrive(agent))
        for request in (Adopt(LAW), Open("jobs", LAW), Share(("jobs",))):
            net.do(agent, request)
    return net


def test_what_waits_for_one_who_has_quit_takes_nothing() -> None:
    net = community()
    waiting = net.begin("ann@a", "take", "job", int)
    net.call("ann@a", Tell(LAW.hash, "bye", "bob@a"))
    net.out("bob@a", "job", 1)
    assert waiting not in net.answers
    assert net.held("bob@a", "job", int) == [("job", 1)]


def test_a_space_whose_law_has_quit_answers_nothing_and_the_host_goes_on() -> None:
    net = community()
    net.out("bob@a", "job", 1)
    net.call("ann@a", Tell(LAW.hash, "close", "jobs"))
    waiting = net.begin("ann@a", "take", "job", int)
    assert waiting not in net.answers
    net.agent("cat@a", "free")
    net.out("cat@a", "x", 1, space="free")
