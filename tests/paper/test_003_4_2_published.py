"""`003_…` section 4.2, Figures 4 to 6: the published FQSC, over every order of what may happen.

Its servers keep their whole lock while a message is forwarded and while an agent moves, and so can
wait for each other for ever. Each test explores all interleavings of a smallest case, finds the
state, and prints the shortest story that leads there (`pytest -s` shows them). That the same cases
come to a good end in ours is shown in `models/test_routing_explored.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nomospace_lab.testing.explore import Exploration, explore
from tests.paper.published_fqsc import (
    Create,
    Letter,
    Move,
    Name,
    Process,
    Send,
    World,
    due,
    steps,
    waiting,
    world,
)

ONE = {"S1": "Q1", "S2": "Q1", "S3": "Q1"}
TWO = {"S1": "Q1", "S2": "Q2"}
A, B = Name("a", "Q1"), Name("b", "Q2")


def wrong(now: World) -> str:
    """No value may reach its agent twice."""
    twice = [got for got, count in Counter(now.got).items() if count > 1]
    return f"{twice} came twice" if twice else ""


def all_orders(start: World) -> Exploration[World, str]:
    found = explore(start, steps, wrong=wrong, due=due, seconds_max=60)
    assert not found.unfinished
    assert found.wrong == ()
    return found


def both(a: Sequence[Process], b: Sequence[Process]) -> Exploration[World, str]:
    """`a` at S1 under Q1 and `b` at S2 under Q2, each with its processes."""
    return all_orders(world(TWO, {"a": ("S1", a), "b": ("S2", b)}))


def story(found: Exploration[World, str]) -> list[str]:
    """The one story there is, printed; two servers wait for each other at its end."""
    (stuck,) = found.stuck
    assert found.counts == (0, 1, 0)
    assert waiting(stuck.story.end) == {"Q1": "Q2", "Q2": "Q1"}
    assert list(steps(stuck.story.end)) == []
    print(f"\n{found}\n{stuck}")
    return list(stuck.story.labels)


def test_two_servers_that_forward_to_each_other_wait_for_ever() -> None:
    """Nobody moves; one message in each direction between two domains is enough."""
    found = both([(Send(B, "m"),)], [(Send(A, "n"),)])
    assert story(found) == [
        "a asks D1 to send m to b",
        "b asks D2 to send n to a",
        "D1 sends m to Q1",
        "D2 sends n to Q2",
        "Q1 takes its lock and forwards m for b to Q2",
        "Q2 takes its lock and forwards n for a to Q1",
    ]
    assert found.ends > 0, "in other orders both arrive"


def test_two_agents_that_cross_in_opposite_directions_wait_for_ever() -> None:
    found = both([(Move("S2"),)], [(Move("S1"),)])
    assert story(found) == [
        "a would move to S2 and asks Q1",
        "b would move to S1 and asks Q2",
        "Q1 takes its lock and lets a go",
        "Q2 takes its lock and lets b go",
        "a moves to S2 and would register at Q2",
        "b moves to S1 and would register at Q1",
    ]
    assert found.ends > 0, "in other orders both settle"


def test_a_message_and_its_target_that_cross_wait_for_ever() -> None:
    found = both([(Send(B, "m"),)], [(Move("S1"),)])
    assert story(found) == [
        "a asks D1 to send m to b",
        "b would move to S1 and asks Q2",
        "D1 sends m to Q1",
        "Q1 takes its lock and forwards m for b to Q2",
        "Q2 takes its lock and lets b go",
        "b moves to S1 and would register at Q1",
    ]
    assert found.ends > 0, "in other orders the message arrives"


def test_migrating_for_an_unknown_agent_never_gives_the_lock_back() -> None:
    """In every order: one stray word, and a whole domain stands still."""
    stray = Letter("Q1", "", "migrating", (Name("ghost", "Q1"),))
    start = world(ONE, {"a": ("S1", [(Move("S2"),)])}, air=[stray])
    found = all_orders(start)
    shortest = found.stuck[0]
    print(f"\n{found}\n{shortest}")
    assert list(shortest.story.labels) == [
        "a would move to S2 and asks Q1",
        "Q1 takes its lock, does not know ghost, and stops",
    ]
    assert waiting(shortest.story.end) == {"Q1": "nobody"}
    assert shortest.story.end.agents[0].waits is not None, "a waits with it"
    assert found.ends == 0
    assert all(stuck.story.end.servers[0].holder is not None for stuck in found.stuck)


def test_a_message_for_an_unknown_agent_at_its_own_home_never_gives_the_lock_back() -> None:
    """Of the same kind: the home server forwards it to itself."""
    found = all_orders(world(ONE, {"a": ("S1", [(Send(Name("ghost", "Q1"), "m"),)])}))
    (stuck,) = found.stuck
    print(f"\n{found}\n{stuck}")
    assert stuck.story.labels[-1] == "Q1 takes its lock and forwards m for ghost to Q1"
    assert waiting(stuck.story.end) == {"Q1": "Q1"}
    assert found.ends == 0


def test_within_one_domain_all_is_well() -> None:
    """So what was found above is the federation's locks, not how the algorithm was written down."""
    b = Name("b", "Q1")
    twice: list[Process] = [(Send(b, "m"),), (Send(b, "n"),)]
    start = world(ONE, {"a": ("S1", twice), "b": ("S2", [(Move("S1"), Move("S3"))])})
    found = explore(start, steps, wrong=wrong, due=lambda now: due(now) or _missing(now, 2))
    assert found.proved, found.stuck[0]
    assert found.states > 500
    assert found.ends > 1, "the daemons' guesses differ with the order"


def test_across_domains_one_thing_at_a_time_is_well() -> None:
    """Creation, a cross-domain move, and a message that follows the pointer, one after another."""
    c = Name("c", "Q1")
    creates: Process = (Create("c", ((Move("S2"),),)), Send(c, "m"))
    found = explore(
        world(TWO, {"a": ("S1", [creates])}),
        steps,
        wrong=wrong,
        due=lambda now: due(now) or _missing(now, 1),
    )
    assert found.proved, found.stuck[0]
    assert found.ends > 1


def _missing(now: World, count: int) -> str:
    return "" if len(now.got) == count else f"only {now.got} came"
