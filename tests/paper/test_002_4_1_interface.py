"""`002_…` section 4.1: what the interface promises besides section 2."""

import pytest

from nomospace.calls.problems import NoSuchAgent, NotAnAgent, NotOpen, PrivateSpace
from nomospace.calls.requests import Open, OutMany, Share
from nomospace.host.calls import Arrive, Call
from nomospace.host.operations import Firing
from nomospace.host.system import SYSTEM
from nomospace.protocols.policy import Announced
from nomospace.protocols.spaces import DirectoryChanged as Line
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, EVE, BOB = "ann@a", "eve@a", "bob@b"


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab")
    for agent in (ANN, EVE, BOB):
        net.agent(agent)
        net.do(agent, Open("jobs"))
    net.settle()
    return net


def test_spaces_are_private_at_first(net: Hosts) -> None:
    """Nobody else sees them, on the same host or another, though all have one of that name."""
    net.out(ANN, "mine")
    assert net.seek(ANN, "read_nowait", "mine") == ("mine",)
    for agent, at in ((EVE, ""), (EVE, ANN), (EVE, "a"), (BOB, ANN), (BOB, "a")):
        assert net.seek(agent, "read_nowait", "mine", at=at) is None
    assert net.seek(BOB, "read_all", "space", ANY, ANY, ANY, ANY, space=SYSTEM) == []


def test_a_private_space_is_a_stepping_stone_to_a_shared_one(net: Hosts) -> None:
    """It is filled first, and then all of it is there for others in one step."""
    seen: list[int] = []

    def count(firing: Firing) -> None:
        seen.append(len(firing.read_all(Template.of(("job", int)))))

    net.do(EVE, Share(("jobs",)))
    net.strong(EVE, "job", int, at="a", listener=count)
    for number in range(5):
        net.out(ANN, "job", number)
    net.do(ANN, Share(("jobs",)))
    assert seen == [5] * 5


def test_sharing_can_be_taken_back(net: Hosts) -> None:
    """setShared(false) disengages the space; what the agent holds is its own again."""
    for agent in (ANN, EVE, BOB):
        net.do(agent, Share(("jobs",)))
    net.run(0.5)
    net.out(ANN, "anns")
    net.out(EVE, "eves")
    net.out(BOB, "for ann", to=ANN)
    net.run(0.5)
    net.do(ANN, Share(("jobs",), shared=False))
    assert net.seek(ANN, "read_all", str) == [("anns",), ("for ann",)]
    assert net.seek(EVE, "read_all", str) == [("eves",)]


@pytest.mark.parametrize("how", ["take", "read"])
def test_waiting_on_a_private_space_is_an_error(net: Hosts, how: str) -> None:
    """Nobody could ever write the tuple. It is an error even when a match is there."""
    with pytest.raises(PrivateSpace):
        net.seek(ANN, how, "mine")
    net.out(ANN, "mine")
    with pytest.raises(PrivateSpace):
        net.seek(ANN, how, "mine")
    assert net.seek(ANN, "take_nowait", "mine") == ("mine",)


def test_who_waits_on_a_space_that_is_parted_is_told(net: Hosts) -> None:
    """The same for a wait that is under way: it would now wait for ever."""
    net.do(ANN, Share(("jobs",)))
    waiting = net.begin(ANN, "take", "job", int)
    net.do(ANN, Share(("jobs",), shared=False))
    with pytest.raises(PrivateSpace):
        net.value(waiting)
    net.out(ANN, "job", 1)
    assert net.seek(ANN, "read_nowait", "job", int) == ("job", 1)


def test_several_spaces_are_shared_in_one_atomic_step(net: Hosts) -> None:
    """The static setShared: whoever sees one of them shared sees all of them, everywhere."""
    names = ("jobs", "mail", "news")
    for name in names[1:]:
        net.do(ANN, Open(name))
    seen: list[int] = []

    def count(firing: Firing) -> None:
        lines = firing.read_all(Template.of(("space", ANY, ANN, ANY, firing.tuple.fields[4])))
        seen.append(len(lines))

    for agent in (EVE, BOB):
        net.strong(agent, "space", ANY, ANN, ANY, ANY, space=SYSTEM, listener=count)
    told = len(net.messages(Line))
    net.do(ANN, Share(names))
    net.run(0.5)
    net.do(ANN, Share(names, shared=False))
    net.run(0.5)
    assert seen == [3] * 12
    assert len(net.messages(Line)) == told + 2


def test_sharing_several_of_which_one_is_not_open_shares_none(net: Hosts) -> None:
    """All or none."""
    with pytest.raises(NotOpen):
        net.do(ANN, Share(("jobs", "never opened")))
    with pytest.raises(PrivateSpace):
        net.seek(ANN, "read", "job")


def test_several_tuples_are_written_in_one_step(net: Hosts) -> None:
    """Beyond the paper: a reaction that meets the first finds all of them there."""
    net.do(ANN, Share(("jobs",)))
    seen: list[int] = []

    def count(firing: Firing) -> None:
        seen.append(len(firing.read_all(Template.of(("job", int)))))

    net.strong(ANN, "job", int, at="a", listener=count)
    net.do(ANN, OutMany("jobs", tuple([("job", number) for number in range(3)])))
    assert seen == [3, 3, 3]


def test_a_destination_is_an_agent(net: Hosts) -> None:
    """Agents are the only carriers of tuples; a host is no destination."""
    with pytest.raises(NotAnAgent):
        net.out(ANN, "job", to="b")
    assert net.seek(ANN, "read_all", ANY) == []


def test_a_space_belongs_to_the_agent_that_opened_it(net: Hosts) -> None:
    """Access by others fails: they have none of that name, or are not here at all."""
    net.do(ANN, Open("own"))
    with pytest.raises(NotOpen):
        net.out(EVE, "job", space="own")
    net.tell("a", Call(1_000_000, BOB, Open("jobs")))  # bob is on another host
    assert isinstance(net.answers[1_000_000].error, NoSuchAgent)
    net.tell("a", Arrive(ANN))  # a second agent of that id is none
    assert [note.what for _, note in net.notes[-1:]] == ["agent-exists"]


def test_opening_a_space_again_changes_nothing(net: Hosts) -> None:
    """An interface space is one thing, permanently attached to its agent."""
    net.do(ANN, Share(("jobs",)))
    net.out(ANN, "job", 1)
    net.do(ANN, Open("jobs"))
    assert net.seek(ANN, "read", "job", int) == ("job", 1)


def test_a_host_engages_and_disengages_when_told() -> None:
    """LimeServer's engage and disengage, besides connectivity."""
    net = Hosts("ab", policy=Announced())
    net.agent(ANN, "jobs")
    net.agent(BOB, "jobs")
    net.run(5)
    assert not net.hosts["a"].connected(BOB)
    net.engage("a")
    net.run(5)
    assert not net.hosts["a"].connected(BOB)
    net.engage("b")
    net.run(5)
    assert net.hosts["a"].connected(BOB)
    net.disengage("b")
    net.run(2)  # sooner than silence would be noticed
    assert not net.hosts["a"].connected(BOB)
    assert not net.hosts["b"].connected(ANN)
