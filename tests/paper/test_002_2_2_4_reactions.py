"""`002_…` sections 2.2.4 and 3.2: reactions, strong and weak, their modes, and when they fire."""

from collections.abc import Callable
from typing import Any

import pytest

from nomospace.calls.problems import BadReaction, UnboundStrong, WaitingInListener
from nomospace.calls.requests import ONCE, ONCE_PER_TUPLE, Adjust, Open, Reactions, Seek, Share
from nomospace.calls.ways import Way
from nomospace.errors import NomospaceError
from nomospace.host.operations import Firing
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, EVE, BOB, CAT = "ann@a", "eve@a", "bob@b", "cat@c"
JOBS = Template.of(("job", int))


@pytest.fixture
def one() -> Hosts:
    net = Hosts("a")
    net.agent(ANN, "jobs")
    net.agent(EVE, "jobs")
    return net


@pytest.fixture
def two() -> Hosts:
    net = Hosts("ab")
    net.agent(ANN, "jobs")
    net.agent(EVE, "jobs")
    net.agent(BOB, "jobs")
    net.settle()
    return net


def collect(into: list[Any]) -> Callable[[Firing], None]:
    return lambda firing: into.append(firing.tuple.fields[1])


# -- strong reactions --------------------------------------------------------------------------


def test_a_strong_reaction_fires_in_the_step_that_brings_the_tuple(one: Hosts) -> None:
    """2.2.4: detection and execution are one atomic step: nobody gets in between."""
    waiting = one.begin(EVE, "take", "job", int)

    def listener(firing: Firing) -> None:
        assert firing.take_nowait(JOBS) is not None
        firing.out(("done", firing.tuple.fields[1]))

    one.strong(ANN, "job", int, at="a", listener=listener)
    one.out(EVE, "job", 1)
    assert one.got(waiting) is None  # although it had waited before the reaction was there
    assert one.seek(EVE, "read_all", ANY, ANY) == [("done", 1)]


def test_reactions_run_to_the_fixed_point_before_anything_else(one: Hosts) -> None:
    """2.2.4: selection goes on until none is enabled; only then processing resumes."""

    def countdown(firing: Firing) -> None:
        number: Any = firing.tuple.fields[1]
        firing.take_nowait(Template.of(("count", number)))
        if number:
            firing.out(("count", number - 1))
        else:
            firing.out(("lift off",))

    one.strong(ANN, "count", int, at="a", listener=countdown)
    waiting = one.begin(EVE, "read", "lift off")
    one.out(EVE, "count", 10)
    assert one.got(waiting) == ("lift off",)
    assert one.seek(EVE, "read_all", "count", int) == []


def test_a_reaction_is_to_state_and_fires_for_what_is_there_already(one: Hosts) -> None:
    """2.2.4, 3.2: it may fire in the very step that registers it, unlike one to events."""
    one.out(EVE, "job", 1)
    one.out(EVE, "other", 9)
    fired: list[int] = []
    one.strong(ANN, "job", int, at="a", listener=collect(fired))
    assert fired == [1]
    assert one.firings(one.react(ANN, "job", int)) == [("job", 1)]


def test_a_listener_must_not_wait(one: Hosts) -> None:
    """2.2.4: blocking operations are not allowed in s."""
    told: list[NomospaceError] = []

    def listener(firing: Firing) -> None:
        try:
            firing._ask(Seek("jobs", Way.TAKE, Template.of(("never",))))
        except NomospaceError as error:
            told.append(error)

    one.strong(ANN, "job", int, at="a", listener=listener)
    one.out(EVE, "job", 1)
    assert [type(error) for error in told] == [WaitingInListener]
    one.out(EVE, "never")
    assert one.seek(EVE, "read_nowait", "never") == ("never",)  # nothing waits for it


def test_a_strong_reaction_names_a_host_or_an_agent(one: Hosts) -> None:
    """2.2.4: the current location field is restricted to be one."""
    with pytest.raises(UnboundStrong):
        one.strong(ANN, "job", int, listener=lambda _: None)
    assert one.do(ANN, Reactions()) == ()


@pytest.mark.parametrize(("at", "fires"), [("a", [1, 2]), (ANN, [1]), (EVE, [2]), (BOB, [])])
def test_a_strong_reaction_is_local(two: Hosts, at: str, fires: list[int]) -> None:
    """2.2.4: it fires only for tuples on the host of the agent that registered it."""
    fired: list[int] = []
    two.strong(ANN, "job", int, at=at, listener=collect(fired))
    for number, agent in enumerate((ANN, EVE, BOB), 1):
        two.out(agent, "job", number)
    two.run(1)
    assert fired == fires


@pytest.mark.parametrize("at", ["b", BOB])
def test_a_strong_reaction_for_elsewhere_sleeps_until_its_agent_is_there(
    two: Hosts, at: str
) -> None:
    """2.2.4: it may be registered for another host, and is disabled until the agent migrates."""
    fired: list[int] = []
    two.out(BOB, "job", 1)
    two.strong(ANN, "job", int, at=at, listener=collect(fired))
    two.run(1)
    assert fired == []
    two.move(ANN, "b")
    assert fired == [1]
    two.out(BOB, "job", 2)
    assert fired == [1, 2]
    two.move(ANN, "a")
    two.out(BOB, "job", 3)
    two.run(1)
    assert fired == [1, 2]


def test_a_strong_reaction_for_an_agent_sleeps_while_that_agent_is_away(two: Hosts) -> None:
    """2.2.4: ω is on the host of the reaction, or the reaction is disabled."""
    fired: list[int] = []
    two.strong(ANN, "job", int, at=EVE, listener=collect(fired))
    two.move(EVE, "b")
    two.out(EVE, "job", 1)
    two.run(1)
    assert fired == []
    two.move(EVE, "a")
    assert fired == [1]


# -- modes -------------------------------------------------------------------------------------


def test_once_fires_one_time_and_is_gone(one: Hosts) -> None:
    """2.2.4, 3.2: with an empty reactedSet only; afterwards it is deregistered."""
    fired: list[int] = []
    one.strong(ANN, "job", int, at="a", mode=ONCE, listener=collect(fired))
    weak = one.react(ANN, "job", int, mode=ONCE)
    one.out(EVE, "job", 1)
    one.out(EVE, "job", 2)
    assert fired == [1]
    assert one.firings(weak) == [("job", 1)]
    assert one.do(ANN, Reactions()) == ()
    with pytest.raises(BadReaction):
        one.do(ANN, Adjust(weak, "enable"))


def test_once_fires_one_time_even_for_many_that_are_there(one: Hosts) -> None:
    """3.2: (mode = ONCE ⇒ reactedSet = {})."""
    for number in range(5):
        one.out(EVE, "job", number)
    fired: list[int] = []
    one.strong(ANN, "job", int, at="a", mode=ONCE, listener=collect(fired))
    assert len(fired) == len(one.firings(one.react(ANN, "job", int, mode=ONCE))) == 1


def test_once_per_tuple_fires_for_each_and_never_twice_for_one(one: Hosts) -> None:
    """2.2.4, 3.2: an arbitrary number of times; equal tuples are different tuples."""
    fired: list[int] = []
    one.strong(ANN, "job", int, at="a", listener=collect(fired))
    weak = one.react(ANN, "job", int)
    for number in (1, 1, 2):
        one.out(EVE, "job", number)
    one.do(EVE, Share(("jobs",), shared=False))
    one.do(EVE, Share(("jobs",)))  # they left, and are back
    one.run(1)
    assert fired == [1, 1, 2]
    assert one.firings(weak) == [("job", 1), ("job", 1), ("job", 2)]


def test_reactions_do_not_interfere(one: Hosts) -> None:
    """3.2: each has a reactedSet of its own."""
    first, second = one.react(ANN, "job", int), one.react(EVE, "job", int)
    one.out(EVE, "job", 1)
    one.do(ANN, Adjust(first, "remove"))
    one.out(EVE, "job", 2)
    third = one.react(ANN, "job", int)
    assert one.firings(first) == [("job", 1)]
    assert one.firings(second) == one.firings(third) == [("job", 1), ("job", 2)]


# -- registering, disabling, enabling ----------------------------------------------------------


@pytest.mark.parametrize("reader", [ANN, BOB])
def test_disable_and_enable_forget(two: Hosts, reader: str) -> None:
    """3.2: a reaction that is enabled again has no memory, and may fire for the same tuples."""
    reaction = two.react(reader, "job", int)
    two.out(EVE, "job", 1)
    two.run(0.2)
    assert two.do(reader, Adjust(reaction, "disable"))
    two.out(EVE, "job", 2)
    two.run(0.2)
    assert two.firings(reaction) == [("job", 1)]
    assert two.do(reader, Adjust(reaction, "enable"))
    two.run(0.2)
    assert two.firings(reaction) == [("job", 1), ("job", 1), ("job", 2)]


def test_enabling_what_is_enabled_changes_nothing(one: Hosts) -> None:
    """3.2: enableReaction has an effect only if ¬enabled; else reactedSet stays."""
    reaction = one.react(ANN, "job", int)
    one.out(EVE, "job", 1)
    assert not one.do(ANN, Adjust(reaction, "enable"))
    assert one.firings(reaction) == [("job", 1)]


def test_a_once_reaction_that_was_disabled_before_it_fired_may_still_fire(one: Hosts) -> None:
    """3.2: isDisabled, then enableReaction, for mode ONCE."""
    reaction = one.react(ANN, "job", int, mode=ONCE)
    one.do(ANN, Adjust(reaction, "disable"))
    one.out(EVE, "job", 1)
    one.out(EVE, "job", 2)
    assert one.firings(reaction) == []
    one.do(ANN, Adjust(reaction, "enable"))
    assert one.firings(reaction) == [("job", 1)]


def test_strong_ones_are_disabled_and_enabled_too(one: Hosts) -> None:
    """3.2: enabled and reactedSet are the same for both kinds."""
    fired: list[int] = []
    reaction = one.strong(ANN, "job", int, at="a", listener=collect(fired))
    one.out(EVE, "job", 1)
    one.do(ANN, Adjust(reaction, "disable"))
    one.out(EVE, "job", 2)
    assert fired == [1]
    one.do(ANN, Adjust(reaction, "enable"))
    assert fired == [1, 1, 2]


def test_a_removed_reaction_fires_no_more(two: Hosts) -> None:
    """2.2.4: reactions are explicitly registered and deregistered."""
    reaction = two.react(ANN, "job", int)
    two.run(0.2)
    two.do(ANN, Adjust(reaction, "remove"))
    two.run(0.2)
    two.out(ANN, "job", 1)
    two.out(BOB, "job", 2)
    two.run(0.2)
    assert two.firings(reaction) == []


def test_a_listener_may_remove_its_own_reaction(one: Hosts) -> None:
    """4.1: the registration that a listener is handed is what removeReaction takes."""
    fired: list[Any] = []

    def listener(firing: Firing) -> None:
        fired.append(firing.tuple.fields[1])
        firing.remove_reaction()

    one.strong(ANN, "job", int, at="a", mode=ONCE_PER_TUPLE, listener=listener)
    one.out(EVE, "job", 1)
    one.out(EVE, "job", 2)
    assert fired == [1]


# -- weak reactions ----------------------------------------------------------------------------


def test_a_weak_reaction_spans_the_federation(two: Hosts) -> None:
    """2.2.4: for tuples of every agent of the group; it runs at the agent that registered it."""
    reaction = two.react(ANN, "job", int)
    for number, agent in enumerate((ANN, EVE, BOB), 1):
        two.out(agent, "job", number)
    two.run(0.2)
    fired = [one for one in two.fired if one.reaction == reaction]
    assert {one.agent for one in fired} == {ANN}
    assert [(one.found.fields[1], one.found.source) for one in fired] == [
        (1, ANN),
        (2, EVE),
        (3, BOB),
    ]


def test_a_weak_reaction_may_come_too_late_to_take_the_tuple(two: Hosts) -> None:
    """2.2.4, 3.2: other operations may occur between detection and execution."""
    reaction = two.react(ANN, "job", int)
    two.run(0.2)
    two.out(BOB, "job", 1)
    assert two.seek(BOB, "take_nowait", "job", int) == ("job", 1)
    two.run(0.2)
    assert two.firings(reaction) == [("job", 1)]


@pytest.mark.parametrize(
    ("at", "dest", "fires"),
    [
        ("", "", ["ann", "eve", "bob", "bob>far"]),
        ("", "far@z", ["bob>far"]),
        ("a", "", ["ann", "eve"]),
        ("b", "", ["bob", "bob>far"]),
        (EVE, "", ["eve"]),
        (BOB, "far@z", ["bob>far"]),
        ("b", BOB, ["bob"]),
        (CAT, "", []),
    ],
)
def test_reactions_take_locations_as_queries_do(
    two: Hosts, at: str, dest: str, fires: list[str]
) -> None:
    """2.2.4: the full form is R[ω, λ](s, p, m)."""
    reaction = two.react(ANN, str, at=at, dest=dest)
    for agent in (ANN, EVE, BOB):
        two.out(agent, agent[:3])
    two.out(BOB, "bob>far", to="far@z")
    two.run(0.5)
    assert [fields[0] for fields in two.firings(reaction)] == fires


def test_only_tuples_of_the_shared_space_are_reacted_to(two: Hosts) -> None:
    """3.2: even in the weak model. A private space is not part of it, nor is another name."""
    reaction = two.react(ANN, "job", int)
    two.do(BOB, Share(("jobs",), shared=False))
    two.do(BOB, Open("other"))
    two.do(BOB, Share(("other",)))
    two.out(BOB, "job", 1)
    two.out(BOB, "job", 2, space="other")
    two.run(0.5)
    assert two.firings(reaction) == []
    two.do(BOB, Share(("jobs",)))
    two.run(0.5)
    assert two.firings(reaction) == [("job", 1)]


def test_firings_keep_the_order_of_the_tuples(two: Hosts) -> None:
    """3.2, at the end: the implementation keeps order and guarantees selection."""
    reaction = two.react(ANN, "job", int)
    two.run(0.2)
    for number in range(50):
        two.out(BOB, "job", number)
    two.run(0.5)
    assert two.firings(reaction) == [("job", number) for number in range(50)]


def test_registered_reactions_can_be_asked_for(one: Hosts) -> None:
    """4.1: getRegisteredReactions, with what each was registered with."""
    weak = one.react(ANN, "job", int)
    strong = one.strong(ANN, "job", int, at="a", mode=ONCE, listener=lambda _: None)
    one.react(EVE, "hers")
    one.do(ANN, Adjust(weak, "disable"))
    listed = one.do(ANN, Reactions())
    assert [(r.id, r.strength, r.mode, r.at, r.enabled) for r in listed] == [
        (weak, "weak", ONCE_PER_TUPLE, "", False),
        (strong, "strong", ONCE, "a", True),
    ]


def test_reactions_watch_private_spaces_too() -> None:
    """4.1: all operations but the waiting ones mean the same on a private space."""
    net = Hosts("ab")
    net.agent(ANN)
    net.agent(BOB, "jobs")
    net.do(ANN, Open("jobs"))
    net.settle()
    reaction = net.react(ANN, "job", int)
    net.out(ANN, "job", 1)
    net.out(BOB, "job", 2)
    net.run(0.5)
    assert net.firings(reaction) == [("job", 1)]
    net.do(ANN, Share(("jobs",)))
    net.run(0.5)
    assert net.firings(reaction) == [("job", 1), ("job", 2)]
