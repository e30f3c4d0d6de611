"""`000_…` section 4.2: clients that a space slows down (law CC). Points are those of its policy."""

import pytest

from nomospace.terms import term
from tests.paper.community import Community
from tests.paper.conftest import Found
from tests.paper.operations import ACCESS, WRITING

ALICE, EVE = "alice@x", "eve@x"


@pytest.fixture
def world(found: Found) -> Community:
    community = found("cc")  # the delay of a space that has set none is one second
    community.join(ALICE, EVE)
    community.join("ts", "other", manager=True)
    return community


def requests(world: Community, space: str = "ts") -> list[tuple[float, str]]:
    """What a space has been handed since it was last asked, and when."""
    return [(letter.at, letter.message) for letter in world.read(space)]


def test_the_first_request_passes_at_once(world: Community) -> None:
    """4.2, first case: nothing waits and the delay is over."""
    assert world.send(ALICE, "out([a])", "ts").rule == "R1"
    assert requests(world) == [(0, "out([a])")]
    assert world.pending(ALICE) == []


def test_an_early_request_waits_and_leaves_by_itself(world: Community) -> None:
    """4.2, second case and point 3: at the earliest time, without the client doing anything."""
    world.send(ALICE, "out([a])", "ts")
    world.advance(0.25)
    assert world.send(ALICE, "out([b])", "ts").held
    assert world.pending(ALICE) == [(1, "sendMessage(ts)")]
    world.advance(10)
    assert requests(world) == [(0, "out([a])"), (1, "out([b])")]


def test_a_request_at_the_very_end_of_the_delay_passes(world: Community) -> None:
    """4.2, point 1: the delay is a least distance, so the distance itself will do."""
    world.send(ALICE, "out([a])", "ts")
    world.advance(1)
    assert world.send(ALICE, "out([b])", "ts").forwards  # itself, and not an obligation later
    assert requests(world) == [(0, "out([a])"), (1, "out([b])")]


def test_order_and_pace_are_kept(world: Community) -> None:
    """4.2, third case and points 1 and 3: first in, first out, one for each delay."""
    for number in range(5):
        world.send(ALICE, f"out([{number}])", "ts")
    world.advance(2.5)
    world.send(ALICE, "out([5])", "ts")  # something waits still: this one goes behind it
    world.advance(60)
    assert requests(world) == [(n, f"out([{n}])") for n in range(6)]
    assert world.pending(ALICE) == []


def test_equal_requests_are_not_mixed_up(world: Community) -> None:
    """4.2, point 3: every request leaves once, also when two are the same."""
    for message in ("rd([x])", "rd([x])", "out([y])", "rd([x])"):
        world.send(ALICE, message, "ts")
    world.advance(60)
    assert requests(world) == [(0, "rd([x])"), (1, "rd([x])"), (2, "out([y])"), (3, "rd([x])")]


def test_a_late_obligation_still_keeps_the_pace(world: Community) -> None:
    """4.2, point 1, at a host that was down: what is late does not make the next one early."""
    for number in range(3):
        world.send(ALICE, f"out([{number}])", "ts")
    world.now = 5_000_000  # nobody ticked in between
    world.advance(10)
    assert requests(world) == [(0, "out([0])"), (5, "out([1])"), (6, "out([2])")]


def test_a_space_sets_the_delay_of_a_client(world: Community) -> None:
    """4.2, point 2; and the client is not shown it."""
    assert world.send("ts", "changeDelay(4)", ALICE).rule == "R4"
    assert world.read(ALICE) == []
    world.send(ALICE, "out([a])", "ts")
    world.send(ALICE, "out([b])", "ts")
    world.send(EVE, "out([c])", "ts")
    world.send(EVE, "out([d])", "ts")
    world.advance(60)
    assert requests(world) == [(0, "out([a])"), (0, "out([c])"), (1, "out([d])"), (4, "out([b])")]


@pytest.mark.parametrize("sender", [ALICE, EVE])
def test_nobody_else_sets_a_delay(world: Community, sender: str) -> None:
    """4.2, point 2: not another client, not the client itself, not through the space."""
    for to in (ALICE, "ts", (ALICE, "ts")):
        assert world.send(sender, "changeDelay(0)", to).refused
    assert world.state(ALICE) == ["defaultDelay(1)", "bufferMax(1000)"]


@pytest.mark.parametrize("form", ACCESS + WRITING)
def test_requests_about_delays_are_blocked(world: Community, form: str) -> None:
    """4.2, footnote 4: no operation on `changeDelay` tuples leaves a client."""
    for tuple_ in ("[changeDelay(0)]", "changeDelay(0)", "[x, changeDelay(formal(any))]"):
        assert world.send(EVE, form.format(tuple_), "ts").refused
    assert world.send(EVE, form.format("[changeDelay, 0]"), "ts").refused
    assert world.sent_to("ts") == []
    assert world.send(EVE, form.format("[delay(0)]"), "ts").rule == "R1"


def test_answers_are_delivered_without_delay(world: Community) -> None:
    """4.2: replies go straight through, whatever their number."""
    for _ in range(3):
        world.send("ts", "found(in([x]), [x])", ALICE)
    assert [letter.at for letter in world.read(ALICE)] == [0, 0, 0]


def test_a_longer_delay_holds_back_what_waits(world: Community) -> None:
    """4.2, point 1: a delay that grows while something waits is kept."""
    world.send(ALICE, "out([a])", "ts")
    world.send(ALICE, "out([b])", "ts")
    world.send(ALICE, "out([c])", "ts")
    world.advance(0.5)
    world.send("ts", "changeDelay(4)", ALICE)
    assert world.pending(ALICE) == [(4, "sendMessage(ts)")]
    world.advance(60)
    assert requests(world) == [(0, "out([a])"), (4, "out([b])"), (8, "out([c])")]


def test_a_shorter_delay_lets_what_waits_go_earlier(world: Community) -> None:
    """4.2, point 3: the earliest time that the new delay allows."""
    world.send("ts", "changeDelay(10)", ALICE)
    for number in range(3):
        world.send(ALICE, f"out([{number}])", "ts")
    world.advance(1)
    world.send("ts", "changeDelay(3)", ALICE)
    world.advance(60)
    assert requests(world) == [(0, "out([0])"), (3, "out([1])"), (6, "out([2])")]


def test_a_delay_that_is_over_already_lets_one_go_at_once(world: Community) -> None:
    """4.2, points 1 and 3: one request, and the next one only after the new delay."""
    world.send("ts", "changeDelay(10)", ALICE)
    for number in range(3):
        world.send(ALICE, f"out([{number}])", "ts")
    world.advance(5)
    world.send("ts", "changeDelay(2)", ALICE)
    world.advance(60)
    assert requests(world) == [(0, "out([0])"), (5, "out([1])"), (7, "out([2])")]


def test_delays_of_nothing_and_of_nonsense(world: Community) -> None:
    """4.2, point 2: any value that is a time. Anything else leaves the old one."""
    world.send("ts", "changeDelay(-1)", ALICE)
    world.send("ts", "changeDelay(soon)", ALICE)
    assert world.read(ALICE) == []
    assert world.state(ALICE) == ["defaultDelay(1)", "bufferMax(1000)"]
    world.send("ts", "changeDelay(0)", ALICE)
    for number in range(3):
        world.send(ALICE, f"out([{number}])", "ts")
    assert requests(world) == [(0, f"out([{n}])") for n in range(3)]


def test_each_space_has_its_own_pace(world: Community) -> None:
    """4.2, footnote 5: delay, last call and buffer for each space."""
    world.send("ts", "changeDelay(3)", ALICE)
    for number in range(3):
        world.send(ALICE, f"out([{number}])", "ts")
        world.send(ALICE, f"out([{number}])", "other")
    world.advance(60)
    assert requests(world) == [(3 * n, f"out([{n}])") for n in range(3)]
    assert requests(world, "other") == [(n, f"out([{n}])") for n in range(3)]


def test_no_way_to_name_a_space_gets_round_its_pace(world: Community) -> None:
    """4.2, point 1: a list of spaces has no pace of its own."""
    world.send(ALICE, "out([a])", "ts")
    for to in (("ts",), ("ts", "ts"), ("ts", "other"), ()):
        assert world.send(ALICE, "out([b])", to).refused
    assert requests(world) == [(0, "out([a])")]


def test_a_buffer_has_an_end(world: Community) -> None:
    """Not in the paper: who sends faster for ever than it may is refused in the end."""
    kept = world.members[ALICE].state
    for known in ("lastCall(ts, 0)", "buffered(ts, out([x]))", "waiting(ts, 999)"):
        kept.add(term(known))
    assert world.send(ALICE, "out([last])", "ts").held
    assert world.send(ALICE, "out([more])", "ts").refused
    assert world.send(ALICE, "out([more])", "other").rule == "R1"


def test_state_does_not_pile_up(world: Community) -> None:
    """4.2: when all has left, what is kept is when the last request did."""
    world.send("ts", "changeDelay(2)", ALICE)
    world.send("ts", "changeDelay(3)", ALICE)
    for number in range(4):
        world.send(ALICE, f"out([{number}])", "ts")
    assert "waiting(ts,3)" in world.state(ALICE)
    world.advance(60)
    assert world.state(ALICE)[2:] == ["delay(ts,3)", "lastCall(ts,9)"]
