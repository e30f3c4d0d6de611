"""What a host holds while its group changes, and tuples whose holder is nowhere to be found."""

import pytest

from nomospace.calls.requests import Cancel, Out, Seek
from nomospace.calls.ways import Way
from nomospace.host.calls import Arrive, Depart, Tick
from nomospace.protocols.spaces import Given, Handed, Returned, Watch
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"
JOB = Template.of(("job", ANY))


@pytest.fixture
def net() -> Hosts:
    net = Hosts("abc", links="ab bc")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "jobs")
    net.settle()
    return net


def test_what_is_called_while_the_group_changes_waits_and_goes_on_in_order() -> None:
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.join("ab")
    net.until(lambda: net.hosts["a"].frozen)
    ops = [net.call(ANN, Out("jobs", ("job", n))) for n in range(3)]
    ops += [net.call(ANN, Seek("jobs", Way.TAKE_NOWAIT, JOB)) for _ in range(2)]
    assert not any(op in net.answers for op in ops)
    net.settle()
    assert [net.got(op) for op in ops[3:]] == [("job", 0), ("job", 1)]


def test_calls_go_on_when_the_engagement_comes_to_nothing() -> None:
    """Its leader is lost in the middle: the host thaws in the group it had."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.join("ab")
    net.until(lambda: net.hosts["b"].frozen and net.hosts["b"].view.members == ("b",))
    net.cut("ab")
    op = net.call(BOB, Out("jobs", ("job", 1)))
    assert op not in net.answers
    net.run(40)
    assert op in net.answers
    assert net.hosts["b"].view.members == ("b",)
    assert net.held(BOB, "job", ANY) == [("job", 1)]


def test_nothing_expires_while_the_group_changes() -> None:
    """A frozen host shows its agents nothing new, not even what time brings."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.do(ANN, Out("jobs", ("job", 1), ttl_us=2_000_000))
    net.join("ab")
    net.until(lambda: net.hosts["a"].frozen)
    net.cut("ab")
    net.run((2_100_000 - net.now) / 1e6)
    assert net.hosts["a"].frozen
    assert [note.what for _, note in net.notes] == []
    net.run(10)
    assert [note.what for _, note in net.notes] == ["expired"]


def test_a_tuple_that_comes_for_nobody_any_more_goes_back(net: Hosts) -> None:
    """The take was called off while its tuple was on its way."""
    op = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    net.out(CAT, "job", 1)
    net.until(lambda: bool(net.messages(Given)))
    net.do(ANN, Cancel(op))
    net.run(1)
    assert net.messages(Given) == ["ca"]
    assert net.messages(Returned) == ["ac"]
    assert net.held(CAT, "job", ANY) == [("job", 1)]
    assert net.disks["a"].tuples.get("jobs", {}) == {}


def away_while_its_tuple_is_out(net: Hosts) -> None:
    """Let cat leave c while a tuple it holds is on its way to a take that is called off."""
    op = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    net.out(CAT, "job", 1)
    net.until(lambda: bool(net.messages(Given)))
    net.do(ANN, Cancel(op))
    net.tell("c", Depart(CAT))
    net.run(1)


def come(net: Hosts, agent: str, host: str) -> None:
    net.tell(host, Arrive(agent, net.bundles.pop(agent)))
    net.run(1)


def test_a_tuple_whose_holder_left_is_kept_for_it_and_seen_by_nobody(net: Hosts) -> None:
    away_while_its_tuple_is_out(net)
    net.agent("eve@c", "jobs")
    assert net.seek("eve@c", "read_all", ANY, ANY) == []
    waiting = net.begin(BOB, "take", "job", ANY)
    net.run(1)
    assert net.got(waiting) is None
    assert [row.cur for row in net.disks["c"].tuples["jobs"].values()] == [CAT]
    net.do(BOB, Cancel(waiting))
    come(net, CAT, "c")
    assert net.held(CAT, "job", ANY) == [("job", 1)]


@pytest.mark.parametrize("crash", [False, True])
def test_a_tuple_in_limbo_is_handed_to_its_holder_when_that_is_met(net: Hosts, crash: bool) -> None:
    away_while_its_tuple_is_out(net)
    net.cut("ab")
    net.settle()
    if crash:
        net.stop("c")
        net.start("c")
    come(net, CAT, "a")
    net.run(5)
    assert net.held(CAT, "job", ANY) == []
    net.join("ab")
    net.settle()
    net.run(1)
    assert net.messages(Handed) == ["ca"]
    assert net.held(CAT, "job", ANY) == [("job", 1)]
    assert net.disks["c"].tuples["jobs"] == {}


def test_a_tuple_follows_its_holder_who_is_known_to_be_elsewhere(net: Hosts) -> None:
    """It comes home after its holder moved to a host of the group, and goes on at once."""
    op = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    net.out(CAT, "job", 1)
    net.until(lambda: bool(net.messages(Given)))
    net.do(ANN, Cancel(op))
    net.move(CAT, "b")
    net.run(1)
    assert net.held(CAT, "job", ANY) == [("job", 1)]
    assert net.disks["c"].tuples["jobs"] == {}


def test_what_a_peer_says_wrongly_is_noted_and_the_host_goes_on() -> None:
    net = Hosts("ab")
    net.agent("ann@a", "jobs")
    net.agent("bob@b", "jobs")
    net.settle()
    group = net.hosts["a"].group
    group.tell("b", {"no": "message"})
    group.tell("b", Watch((1, 1, 0), "jobs", "", "ann@a", True, (), "", "", 0))
    net.tell("a", Tick())
    net.run(1)
    assert [note.what for host, note in net.notes if host == "b"].count("bad-message") == 2
    net.out("bob@b", "job", 1)
    assert net.held("bob@b", "job", int) == [("job", 1)]
