"""A host that starts again: what was written down is there, what was under way ends well."""

import pytest

from nomospace.calls.requests import Open, Out, Reactions, Share
from nomospace.host.calls import Arrive, Call
from nomospace.host.changes import TuplePut
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Persist
from nomospace.protocols.spaces import Given, Migrated, Returned, Row
from nomospace.terms.templates import ANY
from tests.paper.hosts import Hosts

ANN, BOB = "ann@a", "bob@b"


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent("eve@a", "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    return net


def restart(net: Hosts, name: str, *, seconds: float = 1.0) -> None:
    net.stop(name)
    net.run(seconds)
    net.start(name)
    net.settle()
    net.run(2)


def test_agents_spaces_and_tuples_come_back(net: Hosts) -> None:
    net.do(ANN, Open("own"))
    net.out(ANN, "job", 1)
    net.out(ANN, "job", 2, to="far@z")
    net.out(ANN, "secret", space="own")
    net.seek(BOB, "take", "job", 1)
    net.out(ANN, "job", 3)
    restart(net, "a")
    assert net.hosts["a"].agents == (ANN, "eve@a")
    assert net.held(ANN, "job", ANY) == [("job", 2), ("job", 3)]
    assert net.seek("eve@a", "read_all", "job", ANY, dest="far@z") == [("job", 2)]
    assert net.seek(ANN, "read_nowait", "secret", space="own") == ("secret",)
    assert net.seek("eve@a", "read_nowait", "job", 3) == ("job", 3)  # shared again
    assert net.seek(BOB, "read", "job", 3) == ("job", 3)


def test_private_stays_private_and_parted_stays_parted(net: Hosts) -> None:
    net.out(ANN, "job", 1)
    net.do(ANN, Share(("jobs",), shared=False))
    restart(net, "a")
    assert net.seek("eve@a", "read_nowait", "job", ANY) is None
    assert net.seek(ANN, "read_nowait", "job", ANY) == ("job", 1)


def test_waits_and_reactions_die_with_their_programs(net: Hosts) -> None:
    reaction = net.react(ANN, "job", ANY)
    waiting = net.begin(ANN, "take", "job", ANY)
    net.run(0.5)
    restart(net, "a")
    net.out(BOB, "job", 1)
    net.run(1)
    assert net.firings(reaction) == []
    assert net.got(waiting) is None
    assert net.do(ANN, Reactions()) == ()
    assert net.held(BOB, "job", ANY) == [("job", 1)]


@pytest.mark.parametrize("durable", [True, False])
def test_no_id_comes_twice(net: Hosts, durable: bool) -> None:
    """Reactions elsewhere remember ids; a new tuple with an old id would pass them by."""
    net.do(ANN, Open("side", durable=durable))
    net.do(BOB, Open("side"))
    net.do(ANN, Share(("side",)))
    net.do(BOB, Share(("side",)))
    reaction = net.react(BOB, "n", int, space="side")
    net.out(ANN, "n", 1, space="side")
    net.run(0.5)
    restart(net, "a")
    net.out(ANN, "n", 2, space="side")
    net.run(0.5)
    assert net.firings(reaction) == [("n", 1), ("n", 2)]


def test_a_space_that_is_not_durable_is_empty_after_a_restart(net: Hosts) -> None:
    net.do(ANN, Open("side", durable=False))
    net.do(ANN, Share(("side",)))
    net.out(ANN, "n", 1, space="side")
    assert net.seek(ANN, "read", "n", int, space="side") == ("n", 1)
    restart(net, "a")
    assert net.seek(ANN, "read_all", "n", int, space="side") == []
    net.out(ANN, "n", 2, space="side")
    assert net.seek(ANN, "take", "n", int, space="side") == ("n", 2)


def test_a_space_that_is_not_durable_stays_so_where_its_agent_goes(net: Hosts) -> None:
    net.do(ANN, Open("side", durable=False))
    net.out(ANN, "n", 1, space="side")
    net.out(ANN, "job", 1)
    net.move(ANN, "b")
    assert net.seek(ANN, "read_nowait", "n", int, space="side") == ("n", 1)
    restart(net, "b")
    assert net.seek(ANN, "read_all", "n", int, space="side") == []
    assert net.held(ANN, "job", int) == [("job", 1)]


def test_views_are_never_numbered_again(net: Hosts) -> None:
    before = net.hosts["a"].view.id
    restart(net, "a", seconds=10)
    assert net.hosts["a"].view.id > before
    assert net.hosts["a"].view == net.hosts["b"].view


def test_a_reaction_elsewhere_meets_a_host_that_restarted_anew(net: Hosts) -> None:
    """It fires for what is new there, and not again for what it has met."""
    reaction = net.react(BOB, "job", ANY)
    net.out(ANN, "job", 1)
    net.run(0.5)
    restart(net, "a")
    net.out(ANN, "job", 2)
    net.run(0.5)
    assert net.firings(reaction) == [("job", 1), ("job", 2)]


def test_a_quick_restart_loses_no_wait_of_others(net: Hosts) -> None:
    """The host is back before its silence is noticed: its peers meet it again all the same."""
    waiting = net.begin(BOB, "take", "job", ANY)
    net.run(0.5)
    restart(net, "a", seconds=0.1)
    net.out(ANN, "job", 1)
    net.run(1)
    assert net.got(waiting) == ("job", 1)


@pytest.mark.parametrize("who", "ab")
@pytest.mark.parametrize("after_ms", [0, 5, 25, 45])
def test_a_migration_is_exactly_once_through_a_crash(net: Hosts, who: str, after_ms: int) -> None:
    """Of the sender or the receiver, before the tuple went, on its way, placed, acknowledged."""
    net.out(ANN, "job", 1, to=BOB)
    net.run(after_ms / 1_000)
    restart(net, who, seconds=6)
    assert net.messages(Migrated)
    assert net.held(BOB, "job", ANY) == [("job", 1)]
    assert net.held(ANN, "job", ANY) == []
    restart(net, "b")
    assert net.held(BOB, "job", ANY) == [("job", 1)]


@pytest.mark.parametrize("who", "ab")
@pytest.mark.parametrize("after_ms", [0, 25, 45, 65, 85])
def test_a_take_is_given_to_one_or_the_tuple_is_back(net: Hosts, who: str, after_ms: int) -> None:
    """When the taker's host dies with the claim, its tuple goes home; never is it in two places."""
    waiting = net.begin(BOB, "take", "job", ANY)
    net.run(0.5)
    net.out(ANN, "job", 1)
    net.run(after_ms / 1_000)
    restart(net, who, seconds=6)
    taken = [("job", 1)] if net.got(waiting) else []
    assert net.held(ANN, "job", ANY) + net.held(BOB, "job", ANY) + taken == [("job", 1)]
    if who == "b" and net.messages(Given) and not taken:
        assert net.messages(Returned)


def test_out_is_on_disk_before_it_is_answered() -> None:
    """The first effect of the step is the `Persist`, with all of it."""
    host = Host("a", life=1, now=0)
    host.handle(Arrive(ANN), now=0)
    host.handle(Call(1, ANN, Open("jobs")), now=0)
    effects = host.handle(Call(2, ANN, Out("jobs", ("job", 1))), now=0)
    assert effects == [
        Persist((TuplePut("jobs", Row(("job", 1), ANN, 1, ANN, ANN)),)),
        Answer(2),
    ]
