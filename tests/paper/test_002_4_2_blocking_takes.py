"""`002_…` section 4.2, Figure 8: an `in` that waits, across hosts, and the races that it names."""

import pytest

from nomospace.calls.problems import AgentLeft, Cancelled, ContactLost
from nomospace.calls.requests import Cancel, Share
from nomospace.protocols.spaces import (
    Ask,
    Claim,
    Denied,
    Given,
    Returned,
    Shown,
    TupleOffer,
    Unwatch,
    Watch,
)
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts

ANN, BOB, CAT, EVE = "ann@a", "bob@b", "cat@c", "eve@b"
HALF_WAY_S = 0.01
ONE_HOP_S = 0.021


@pytest.fixture
def net() -> Hosts:
    net = Hosts("abc")
    for agent in (ANN, BOB, CAT, EVE):
        net.agent(agent, "jobs")
    net.settle()
    return net


def story(net: Hosts, *kinds: type) -> list[str]:
    """What was said of some kinds, in order, as in a figure."""
    return [
        f"{one.src}{one.dst} {type(one.body).__name__}"
        for one in net.said
        if isinstance(one.body, kinds)
    ]


def test_a_match_of_the_own_host_is_taken_without_asking_anyone(net: Hosts) -> None:
    """As a probe would: no watch goes out."""
    net.out(BOB, "job", 1)
    net.out(ANN, "job", 2)
    assert net.seek(ANN, "take", "job", int) == ("job", 2)
    assert story(net, Watch, Ask) == []


def test_figure_8(net: Hosts) -> None:
    """Watch everywhere, one matches and offers, it is asked, it gives, and all is withdrawn."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.run(0.2)
    assert net.got(waiting) == ("job", 1)
    assert story(net, Watch, TupleOffer, Claim, Given, Denied, Unwatch) == [
        "ab Watch",
        "ac Watch",
        "ba TupleOffer",
        "ab Claim",
        "ba Given",
        "ac Unwatch",
    ]
    assert [net.hosts[host].spaces.levels["jobs"].space.stats()["waiters"] for host in "abc"] == [
        0,
        0,
        0,
    ]


def test_a_read_takes_the_first_answer_and_drops_the_others(net: Hosts) -> None:
    """For a `rd` the tuple comes at once; what arrives later is dropped, and nothing is removed."""
    waiting = net.begin(ANN, "read", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.out(CAT, "job", 2)
    net.run(0.2)
    assert story(net, Shown, TupleOffer, Claim) == ["ba Shown", "ca Shown"]
    assert net.got(waiting) == ("job", 1)
    assert net.held(BOB, "job", int) == [("job", 1)]
    assert net.held(CAT, "job", int) == [("job", 2)]


def test_two_takers_and_one_tuple(net: Hosts) -> None:
    """Both are offered it and both claim it; one has it, the other waits on."""
    first, second = net.begin(ANN, "take", "job", int), net.begin(CAT, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.run(0.5)
    assert sorted(map(str, (net.got(first), net.got(second)))) == ["('job', 1)", "None"]
    assert story(net, Claim, Given, Denied).count("ba Given") == 1
    assert len(net.messages(Denied)) == 1
    net.out(BOB, "job", 2)
    net.run(0.5)
    assert {net.got(first), net.got(second)} == {("job", 1), ("job", 2)}


def test_two_takers_of_one_host_and_one_tuple_elsewhere(net: Hosts) -> None:
    """Two agents of one host compete as those of two hosts do."""
    ops = [net.begin(ANN, "take", "job", int) for _ in range(2)]
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.run(0.5)
    assert [net.got(op) for op in ops] == [("job", 1), None]
    net.out(CAT, "job", 2)
    net.run(0.5)
    assert net.got(ops[1]) == ("job", 2)


def test_the_tuple_is_gone_between_offer_and_claim(net: Hosts) -> None:
    """The probe finds nothing, the reaction is registered again, and the agent waits on."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.run(HALF_WAY_S)
    assert net.seek(EVE, "take_nowait", "job", int) == ("job", 1)
    net.run(0.5)
    assert net.got(waiting) is None
    assert story(net, TupleOffer, Claim, Denied, Given) == [
        "ba TupleOffer",
        "ab Claim",
        "ba Denied",
    ]
    net.out(BOB, "job", 2)
    net.run(0.5)
    assert net.got(waiting) == ("job", 2)


def test_another_match_of_the_same_host_is_offered_after_a_denial(net: Hosts) -> None:
    """What came while the waiter slept is not overlooked."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.out(BOB, "job", 2)
    net.run(HALF_WAY_S)
    assert net.seek(EVE, "take_nowait", "job", 1) == ("job", 1)
    net.run(0.5)
    assert net.got(waiting) == ("job", 2)


def test_several_offers_are_kept_and_used_one_after_the_other(net: Hosts) -> None:
    """While the first is claimed the second waits; it is claimed when the first fails."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.out(CAT, "job", 2)
    net.run(HALF_WAY_S)
    assert net.seek(EVE, "take_nowait", "job", int) == ("job", 1)
    net.run(0.5)
    assert net.got(waiting) == ("job", 2)
    assert story(net, TupleOffer, Claim, Denied, Given) == [
        "ba TupleOffer",
        "ca TupleOffer",
        "ab Claim",
        "ba Denied",
        "ac Claim",
        "ca Given",
    ]


def test_several_offers_take_one_tuple_only(net: Hosts) -> None:
    """When the first claim succeeds the others are never made."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.out(CAT, "job", 2)
    net.run(0.5)
    assert net.got(waiting) == ("job", 1)
    assert net.messages(Claim) == ["ab"]
    assert net.held(CAT, "job", int) == [("job", 2)]


def test_a_match_here_while_a_claim_is_out_is_not_taken_in_vain(net: Hosts) -> None:
    """The local watcher sleeps meanwhile; it is looked at again when the claim fails."""
    for gone in (False, True):
        waiting = net.begin(ANN, "take", "job", int)
        net.run(0.2)
        net.out(BOB, "job", 1)
        net.run(ONE_HOP_S)  # offered, and claimed
        net.out(ANN, "job", 2)
        if gone:
            assert net.seek(EVE, "take_nowait", "job", int) == ("job", 1)
        net.run(0.5)
        assert net.got(waiting) == (("job", 2) if gone else ("job", 1))
        assert net.seek(ANN, "take_all", "job", int) == ([] if gone else [("job", 2)])


def test_a_wait_that_is_called_off_takes_nothing(net: Hosts) -> None:
    """Not even when its tuple is on its way: that goes back."""
    for seconds in (0.2, ONE_HOP_S, 0.05):
        waiting = net.begin(ANN, "take", "job", int)
        net.run(0.2)
        net.out(BOB, "job", 1)
        if seconds < 0.2:
            net.run(seconds)
        else:
            assert net.seek(BOB, "take_nowait", "job", int) == ("job", 1)
        assert net.do(ANN, Cancel(waiting))
        with pytest.raises(Cancelled):
            net.value(waiting)
        net.run(0.5)
        found = [] if seconds == 0.2 else [("job", 1)]
        assert net.seek(BOB, "take_all", "job", int) == found
    assert net.messages(Given) == ["ba", "ba"]
    assert net.messages(Returned) == ["ab", "ab"]


def test_a_claim_that_loses_contact_goes_on_elsewhere(net: Hosts) -> None:
    """The tuple under way is not lost: it is back when the hosts meet again."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.run(ONE_HOP_S)
    net.run(HALF_WAY_S)
    net.cut("ab bc")  # the claim is on its way
    net.settle()
    net.out(CAT, "job", 2)
    net.run(0.5)
    assert net.got(waiting) == ("job", 2)
    net.join("bc")
    net.settle()
    assert net.held(BOB, "job", int) == [("job", 1)]


def test_a_tuple_given_while_contact_breaks_goes_back_to_its_holder(net: Hosts) -> None:
    """It was removed there and never came here: exactly one place has it at the end."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.out(BOB, "job", 1)
    net.run(0.05)  # offer, claim; the tuple is on its way
    assert net.messages(Given) == ["ba"]
    net.cut("ab bc")
    assert net.held(BOB, "job", int) == []
    net.settle()
    assert net.got(waiting) is None
    net.do(ANN, Cancel(waiting))
    net.join("ab")
    net.settle()
    assert net.held(BOB, "job", int) == [("job", 1)]


def test_a_probe_elsewhere_that_loses_contact_says_so(net: Hosts) -> None:
    """2.2.5 leaves no third answer: it is an error, and the tuple stays where it was."""
    net.out(BOB, "job", 1)
    probe = net.begin(ANN, "take_nowait", "job", int, at=BOB)
    net.cut("ab bc")
    net.settle()
    with pytest.raises(ContactLost):
        net.value(probe)
    net.join("ab")
    net.settle()
    assert net.seek(ANN, "take_nowait", "job", int, at=BOB) == ("job", 1)


def test_who_joins_later_is_watched_too(net: Hosts) -> None:
    """Agents that come, and spaces that are shared, after the wait began."""
    waiting = [net.begin(ANN, "take", "late", int) for _ in range(2)]
    net.agent("new@c", "jobs")
    net.out("new@c", "late", 1)
    net.run(0.5)
    net.do(BOB, Share(("jobs",), shared=False))
    net.out(BOB, "late", 2)
    net.run(0.5)
    assert [net.got(op) for op in waiting] == [("late", 1), None]
    net.do(BOB, Share(("jobs",)))
    net.run(0.5)
    assert net.got(waiting[1]) == ("late", 2)


def test_an_agent_that_leaves_ends_its_waits(net: Hosts) -> None:
    """4.2, mobile agents: what it waited for stays with the others."""
    waiting = net.begin(ANN, "take", "job", int)
    net.run(0.2)
    net.move(ANN, "b", seconds=0.5)
    with pytest.raises(AgentLeft):
        net.value(waiting)
    net.out(CAT, "job", 1)
    net.run(0.5)
    assert net.held(CAT, ANY, int) == [("job", 1)]
