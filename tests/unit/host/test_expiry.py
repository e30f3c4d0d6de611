"""Tuples that expire, wherever they are when their time comes."""

import pytest

from nomospace.calls.requests import End, Open, Out, OutMany, Share
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts

ANN, BOB = "ann@a", "bob@b"
TTL_US = 10_000_000


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent("eve@a", "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    return net


def test_a_tuple_is_gone_after_its_time(net: Hosts) -> None:
    net.do(ANN, Out("jobs", ("job", 1), ttl_us=TTL_US))
    net.do(ANN, OutMany("jobs", (("job", 2), ("job", 3)), ttl_us=2 * TTL_US))
    net.out(ANN, "job", 4)
    net.run(9.9)
    assert len(net.held(ANN, "job", ANY)) == 4
    net.run(0.2)
    assert net.held(ANN, "job", ANY) == [("job", 2), ("job", 3), ("job", 4)]
    net.run(10)
    assert net.held(ANN, "job", ANY) == [("job", 4)]
    assert [note.what for _, note in net.notes].count("expired") == 3
    assert [row.fields[1] for row in net.disks["a"].tuples["jobs"].values()] == [4]


def test_private_tuples_expire_too_and_keep_their_time_when_they_are_shared(net: Hosts) -> None:
    for name in ("kept", "shared"):
        net.do(ANN, Open(name))
        net.do(ANN, Out(name, ("job", 1), ttl_us=TTL_US))
    net.run(5)
    net.do(ANN, Share(("shared",)))
    net.run(4)
    assert net.seek(ANN, "read_nowait", "job", ANY, space="kept") == ("job", 1)
    assert net.seek(ANN, "read_nowait", "job", ANY, space="shared") == ("job", 1)
    net.run(2)
    assert net.seek(ANN, "read_nowait", "job", ANY, space="kept") is None
    assert net.seek(ANN, "read_nowait", "job", ANY, space="shared") is None


def test_a_tuple_for_another_agent_keeps_its_time(net: Hosts) -> None:
    net.do(ANN, Out("jobs", ("job", 1), BOB, TTL_US))
    net.run(5)
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    net.run(6)
    assert net.held(BOB, "job", ANY) == []
    assert net.disks["b"].tuples["jobs"] == {}


def test_time_runs_on_while_an_agent_is_on_its_way(net: Hosts) -> None:
    net.do(ANN, Out("jobs", ("job", 1), ttl_us=TTL_US))
    net.do(ANN, Out("jobs", ("job", 2), ttl_us=3 * TTL_US))
    net.move(ANN, "b", seconds=20)
    assert net.held(ANN, "job", ANY) == [("job", 2)]
    net.run(11)
    assert net.held(ANN, "job", ANY) == []


def test_what_is_past_its_time_serves_nobody_before_it_is_swept_out(net: Hosts) -> None:
    """A crash may keep a host from sweeping; no agent sees the difference."""
    net.do(ANN, Out("jobs", ("job", 1), ttl_us=TTL_US))
    net.stop("a")
    net.run(20)
    net.start("a")
    assert net.seek(ANN, "read_nowait", "job", ANY) is None
    net.run(1)
    assert net.disks["a"].tuples["jobs"] == {}


def test_time_survives_a_restart(net: Hosts) -> None:
    net.do(ANN, Out("jobs", ("job", 1), ttl_us=TTL_US))
    net.stop("a")
    net.start("a")
    net.run(9)
    assert net.held(ANN, "job", ANY) == [("job", 1)]
    net.run(2)
    assert net.held(ANN, "job", ANY) == []


def test_an_offer_that_expired_is_denied(net: Hosts) -> None:
    waiting = net.begin(BOB, "take", "job", ANY)
    net.run(0.2)
    net.do(ANN, Out("jobs", ("job", 1), ttl_us=30_000))  # offered at once, claimed in 40 ms
    net.run(1)
    assert net.got(waiting) is None
    net.out(ANN, "job", 2)
    net.run(1)
    assert net.got(waiting) == ("job", 2)


def test_an_agent_that_goes_leaves_nothing_that_expires_where_it_was(net: Hosts) -> None:
    net.do(ANN, Open("kept"))
    net.do(ANN, Out("kept", ("job", 1), ttl_us=TTL_US))
    net.do("eve@a", Open("kept"))
    net.do("eve@a", Out("kept", ("job", 2), ttl_us=TTL_US))
    net.move(ANN, "b")
    net.do("eve@a", End())
    assert list(net.hosts["a"].spaces.timed.values()) == []
    net.run(11)
    expired = [host for host, note in net.notes if note.what == "expired"]
    assert expired == ["b"]  # it was told of at the host that it had left, too


def test_spaces_that_nobody_shares_any_more_end(net: Hosts) -> None:
    """Names of spaces are without number: each was remembered for ever."""
    levels = net.hosts["a"].spaces.levels
    for number in range(20):
        agent = net.agent(f"x{number}@a", f"own-{number}")
        waiting = net.begin(agent, "take", "job", number, space=f"own-{number}")
        net.out(agent, "job", number, space=f"own-{number}")
        assert net.got(waiting) == ("job", number)
        net.do(agent, End())
    assert len(levels) <= 3


def test_a_space_in_which_somebody_waits_from_elsewhere_does_not_end(net: Hosts) -> None:
    for agent in (ANN, BOB):
        net.do(agent, Open("own"))
        net.do(agent, Share(("own",)))
    waiting = net.begin(BOB, "take", "job", ANY, space="own")
    net.settle()
    net.do(ANN, Share(("own",), shared=False))
    net.do(ANN, Open("other"))
    net.do(ANN, Share(("other",)))  # with a new one it is looked at the old ones
    net.do(ANN, Share(("own",)))
    net.do(ANN, Out("own", ("job", 7)))
    net.settle()
    assert net.got(waiting) == ("job", 7)
