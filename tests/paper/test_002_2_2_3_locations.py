"""`002_…` sections 2.2.3 and 3.2: `out[λ]`, misplaced tuples, and every row of Table I."""

import pytest

from nomospace.calls.requests import Open, Share
from nomospace.host.operations import Firing
from nomospace.host.system import SYSTEM
from nomospace.protocols.spaces import Migrated
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, EVE, BOB, BEA, FAR = "ann@a", "eve@a", "bob@b", "bea@b", "far@z"
JOBS = Template.of(("job", int))


# -- out[λ] and misplaced tuples ---------------------------------------------------------------


def test_out_keeps_a_tuple_with_its_writer() -> None:
    """2.2.3: without a location the writer holds the tuple, and carries it when alone."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    net.out(ANN, "plain")
    net.out(ANN, "own", to=ANN)
    net.cut("ab")
    net.settle()
    assert net.held(ANN, ANY) == [("plain",), ("own",)]
    assert net.held(BOB, ANY) == []


@pytest.mark.parametrize("to", [EVE, BOB])
def test_out_for_a_connected_agent_moves_the_tuple_at_once(to: str) -> None:
    """2.2.3: to a co-located agent in the very step, to one elsewhere as fast as it can go."""
    net = Hosts("ab")
    for agent in (ANN, EVE, BOB):
        net.agent(agent, "jobs")
    net.settle()
    net.out(ANN, "for", to, to=to)
    assert net.held(ANN, ANY, ANY) == []
    if to == EVE:
        assert net.held(EVE, ANY, ANY) == [("for", EVE)]
    net.run(0.1)
    assert net.held(to, ANY, ANY) == [("for", to)]
    net.cut("ab")
    net.settle()
    assert net.held(to, ANY, ANY) == [("for", to)]


def test_out_for_an_absent_agent_stays_and_goes_when_it_comes() -> None:
    """2.2.3: misplaced with its writer, until the engagement that brings its destination."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(EVE, "jobs")
    net.agent(BOB, "jobs")
    net.out(ANN, "job", 1, to=BOB)
    net.run(5)
    assert net.held(ANN, "job", int) == [("job", 1)]
    assert net.seek(EVE, "read", "job", int) == ("job", 1)  # seen by the group like any other
    net.join("ab")
    net.settle()
    assert net.held(ANN, "job", int) == []
    net.cut("ab")
    net.settle()
    assert net.held(BOB, "job", int) == [("job", 1)]


def test_a_misplaced_tuple_can_be_withdrawn_before_it_goes() -> None:
    """2.2.3, note 4: a destination is neither ownership nor a promise of delivery."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(EVE, "jobs")
    net.agent(BOB, "jobs")
    net.out(ANN, "job", 1, to=BOB)
    assert net.seek(EVE, "take", "job", int) == ("job", 1)
    net.join("ab")
    net.settle()
    assert net.held(BOB, "job", int) == []


def test_a_tuple_can_be_withdrawn_after_it_has_arrived() -> None:
    """2.2.3, note 4: some other agent may take it from the destination too."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    net.out(ANN, "job", 1, to=BOB)
    net.run(0.2)
    assert net.seek(ANN, "take", "job", int) == ("job", 1)
    assert net.held(BOB, "job", int) == []


def test_a_tuple_goes_when_its_destination_shares_the_space() -> None:
    """2.2.3: being reachable is not enough, the destination must hold a space of that name."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "other")
    net.agent(EVE, "other")
    net.settle()
    net.out(ANN, "job", 1, to=BOB)
    net.out(ANN, "job", 2, to=EVE)
    net.run(1)
    assert net.held(ANN, "job", int) == [("job", 1), ("job", 2)]
    for agent in (BOB, EVE):
        net.agent(agent.replace("@", "2@"), "jobs")  # others on the same hosts do not count
    net.run(1)
    assert net.held(ANN, "job", int) == [("job", 1), ("job", 2)]
    open_and_share(net, EVE)
    assert net.held(ANN, "job", int) == [("job", 1)]
    assert net.held(EVE, "job", int) == [("job", 2)]
    open_and_share(net, BOB)
    net.run(0.2)
    assert net.held(ANN, "job", int) == []
    assert net.held(BOB, "job", int) == [("job", 1)]


def open_and_share(net: Hosts, agent: str) -> None:
    net.do(agent, Open("jobs"))
    net.do(agent, Share(("jobs",)))


def test_migration_is_part_of_the_engagement() -> None:
    """3.2: who sees the other connected sees the tuples gone, or there. No step lies between."""
    net = Hosts("abc", links="ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.agent("cat@c", "jobs")
    for number in range(20):
        net.out(ANN, "job", number, to="cat@c")
    net.settle()
    seen: dict[str, list[int]] = {}

    def look_at(agent: str, other: str) -> None:
        def count(firing: Firing) -> None:
            found = firing.read_all(JOBS, space="jobs")
            seen.setdefault(agent, []).append(len(found))

        pattern = ("agent", other, ANY, "connected")
        net.strong(agent, *pattern, space=SYSTEM, listener=count)

    look_at(ANN, "cat@c")
    look_at("cat@c", ANN)
    look_at("cat@c", BOB)
    net.join("bc")
    net.settle()
    assert seen == {ANN: [0], "cat@c": [20, 20]}


def test_every_step_of_an_engagement_shows_each_tuple_in_one_place_at_most() -> None:
    """3.2: agents see it with its old holder, then with its new one, and never with both."""
    net = Hosts("ab", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.out(ANN, "job", 1, to=BOB)
    places: list[tuple[bool, bool]] = []

    def look() -> None:
        spaces = [net.hosts[name].spaces.levels["jobs"].space for name in "ab"]
        there = [space.find(JOBS) is not None for space in spaces]
        places.append((there[0], there[1]))

    net.after_each.append(look)
    net.join("ab")
    net.settle()
    assert (True, True) not in places
    assert places[0] == (True, False)
    assert places[-1] == (False, True)


def test_a_tuple_that_passes_through_keeps_its_destination() -> None:
    """2.2.3: its holder may move; the tuple goes along, misplaced, until it meets λ."""
    net = Hosts("abc", links="")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.agent("cat@c", "jobs")
    net.out(ANN, "job", 1, to="cat@c")
    net.move(ANN, "b", seconds=1)
    net.run(5)
    assert net.seek(BOB, "read_all", "job", int, dest="cat@c") == [("job", 1)]
    net.join("bc")
    net.settle()
    assert net.held("cat@c", "job", int) == [("job", 1)]


def test_migration_is_one_message_for_each_tuple() -> None:
    """3.2: a tuple is moved, not copied: nothing else carries it."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    net.out(ANN, "job", 1, to=BOB)
    net.run(2)
    assert net.messages(Migrated) == ["ab"]


# -- Table I -----------------------------------------------------------------------------------
#
# Hosts a (ann, eve) and b (bob, bea) are engaged; far@z is never there. Each tuple is named for
# the agent that holds it, and for the one it is for: "ann", "ann>far", and so on.

AGENTS = (ANN, EVE, BOB, BEA)
OWN = [id.partition("@")[0] for id in AGENTS]
ROWS = {
    "anywhere, for anyone": ("", "", [*OWN, *[f"{name}>far" for name in OWN]]),
    "anywhere, for λ": ("", FAR, [f"{name}>far" for name in OWN]),
    "anywhere, for λ itself": ("", BOB, ["bob"]),
    "at ω, for anyone, here": (ANN, "", ["ann", "ann>far"]),
    "at ω, for anyone, beside": (EVE, "", ["eve", "eve>far"]),
    "at ω, for anyone, there": (BEA, "", ["bea", "bea>far"]),
    "at Ω, for anyone, here": ("a", "", ["ann", "eve", "ann>far", "eve>far"]),
    "at Ω, for anyone, there": ("b", "", ["bob", "bea", "bob>far", "bea>far"]),
    "at ω, for λ, here": (ANN, FAR, ["ann>far"]),
    "at ω, for λ, beside": (EVE, FAR, ["eve>far"]),
    "at ω, for λ, there": (BOB, FAR, ["bob>far"]),
    "at ω, for ω": (BOB, BOB, ["bob"]),
    "at ω, for another": (ANN, EVE, []),
    "at Ω, for λ, here": ("a", FAR, ["ann>far", "eve>far"]),
    "at Ω, for λ, there": ("b", FAR, ["bob>far", "bea>far"]),
    "at Ω, for ω of it": ("b", BEA, ["bea"]),
    "at an ω that is away": (FAR, "", []),
    "at an Ω that is away": ("z", "", []),
}
LOCAL = {name: row for name, row in ROWS.items() if row[0]}


@pytest.fixture
def table() -> Hosts:
    net = Hosts("ab")
    for agent in AGENTS:
        net.agent(agent, "jobs")
    net.settle()
    for agent, name in zip(AGENTS, OWN, strict=True):
        net.out(agent, name)
        net.out(agent, f"{name}>far", to=FAR)
    return net


@pytest.mark.parametrize(("at", "dest", "names"), ROWS.values(), ids=ROWS)
def test_table_1_in_and_rd(table: Hosts, at: str, dest: str, names: list[str]) -> None:
    """2.2.3, Table I: `in[ω,λ]` and `rd[ω,λ]` see the projection, all of it and no more."""
    for name in names:
        assert table.seek(ANN, "read", name, at=at, dest=dest) == (name,)
    taken = [table.seek(ANN, "take", ANY, at=at, dest=dest)[0] for _ in names]
    assert sorted(taken) == sorted(names)
    waiting = [table.begin(ANN, how, ANY, at=at, dest=dest) for how in ("read", "take")]
    table.run(2)
    assert [table.got(op) for op in waiting] == [None, None]


@pytest.mark.parametrize(("at", "dest", "names"), LOCAL.values(), ids=LOCAL)
def test_table_1_inp_and_rdp(table: Hosts, at: str, dest: str, names: list[str]) -> None:
    """2.2.3, 3.2, Table I: probes name a host or an agent, and take each tuple of it once."""
    for name in names:
        assert table.seek(ANN, "read_nowait", name, at=at, dest=dest) == (name,)
    taken = [table.seek(ANN, "take_nowait", ANY, at=at, dest=dest) for _ in range(len(names) + 1)]
    assert taken[-1] is None
    assert sorted(one[0] for one in taken[:-1]) == sorted(names)


@pytest.mark.parametrize(("at", "dest", "names"), LOCAL.values(), ids=LOCAL)
def test_table_1_ing_and_rdg(table: Hosts, at: str, dest: str, names: list[str]) -> None:
    """2.2.3, 3.2, Table I: group operations read, then take, the whole projection."""
    for how in ("read_all", "take_all"):
        found = table.seek(ANN, how, ANY, at=at, dest=dest)
        assert sorted(one[0] for one in found) == sorted(names)
    assert table.seek(ANN, "read_all", ANY, at=at, dest=dest) == []


@pytest.mark.parametrize("dest", ["", FAR])
def test_probes_and_group_operations_mean_their_own_host_unless_told(
    table: Hosts, dest: str
) -> None:
    """4.1: a probe over the whole federation would be a distributed transaction; it is not one."""
    here = [name for name in ROWS["at Ω, for anyone, here"][2] if not dest or ">far" in name]
    found = table.seek(ANN, "read_all", ANY, dest=dest)
    assert sorted(one[0] for one in found) == sorted(here)
    taken = [table.seek(ANN, "take_nowait", ANY, dest=dest)[0] for _ in here]
    assert sorted(taken) == sorted(here)
    assert table.seek(ANN, "take_nowait", ANY, dest=dest) is None


def test_a_host_named_in_a_private_space_is_that_host() -> None:
    """4.1: operations mean the same on a private space; another host's part of it is empty."""
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    net.out(ANN, "mine")
    net.do(ANN, Share(("jobs",), shared=False))
    for how, nothing in (("read_nowait", None), ("take_nowait", None), ("take_all", [])):
        assert net.seek(ANN, how, "mine", at="b") == nothing
        assert net.seek(ANN, how, "mine", at=BOB) == nothing
    assert net.seek(ANN, "read_nowait", "mine", at="a") == ("mine",)
    assert net.seek(ANN, "take_nowait", "mine", at=ANN) == ("mine",)


def test_a_wait_for_an_agent_follows_the_agent() -> None:
    """2.2.3: `in[ω]` is about ω, wherever ω is and whenever it comes."""
    net = Hosts("abc", links="ab bc")
    for agent in (ANN, BOB, "cat@c"):
        net.agent(agent, "jobs")
    net.settle()
    waiting = net.begin(ANN, "take", "job", int, at=BOB)
    net.move(BOB, "c", seconds=1)
    net.out("cat@c", "job", 1)
    net.run(1)
    assert net.got(waiting) is None
    net.out(BOB, "job", 2)
    net.run(1)
    assert net.got(waiting) == ("job", 2)
