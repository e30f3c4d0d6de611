"""The explorer: it visits everything, tells shortest stories, and says when it did not finish."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from random import Random

import pytest

from nomospace_lab.testing.explore import FINDINGS_MAX, Cores, explore, fingerprint


def grid(state: tuple[int, int]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Two counters to 9, in every order."""
    for at in range(2):
        if state[at] < 9:
            yield "xy"[at], (state[0] + (at == 0), state[1] + (at == 1))


def test_every_state_is_visited_once_and_every_step_counted() -> None:
    found = explore((0, 0), grid)
    assert (found.states, found.transitions, found.depth, found.ends) == (100, 180, 18, 1)
    assert found.proved


def test_the_story_to_a_wrong_state_is_a_shortest_one() -> None:
    asked = list[tuple[int, int]]()

    def wrong(state: tuple[int, int]) -> str:
        asked.append(state)
        return "x leads by three" if state[0] - state[1] == 3 else ""

    found = explore((0, 0), grid, wrong=wrong)
    (only,) = found.wrong
    assert only.story.labels == ("x", "x", "x")
    assert only.story.states == ((0, 0), (1, 0), (2, 0), (3, 0))
    assert str(only) == "  1. x\n  2. x\n  3. x\n  => x leads by three"
    assert found.counts == (7, 0, 0)
    assert not any(x - y > 3 for x, y in asked), "nothing is tried beyond a wrong state"
    assert not found.proved


def test_a_first_state_can_be_wrong_or_at_rest() -> None:
    never = explore((0, 0), grid, wrong=lambda state: "at once")
    assert (never.states, never.wrong[0].story.labels, never.depth) == (1, (), 0)
    still = explore((9, 9), grid, due=lambda state: "more")
    assert (still.states, still.stuck[0].story.end, still.ends) == (1, (9, 9), 0)


def test_stuck_is_only_where_nothing_can_happen_and_something_should() -> None:
    found = explore((0, 0), grid, due=lambda state: "" if state == (9, 9) else "stopped early")
    assert found.proved
    found = explore((0, 0), grid, due=lambda state: "it should go on")
    assert [len(finding.story.labels) for finding in found.stuck] == [18]


def test_findings_of_a_kind_differ_in_what_they_say_and_have_a_limit() -> None:
    def wrong(state: tuple[int, int]) -> str:
        return f"odd {state[1]}" if state[0] == 5 else ""

    found = explore((0, 0), grid, wrong=wrong)
    assert [finding.what for finding in found.wrong] == [f"odd {y}" for y in range(10)]
    many = explore(0, lambda at: [("", n) for n in range(1, 99)] if at == 0 else [], due=str)
    assert (len(many.stuck), many.counts) == (FINDINGS_MAX, (0, 98, 0))


def test_states_that_run_for_ever_are_trapped() -> None:
    """1 and 2 turn in a circle without a way out; 3 and 4 do too, but can leave."""
    edges = {0: [1, 3], 1: [2], 2: [1], 3: [4], 4: [3, 5]}
    found = explore(0, lambda at: [(f"to {to}", to) for to in edges.get(at, [])], trapped=True)
    (trap,) = found.trapped
    assert (trap.story.labels, found.counts) == (("to 1",), (0, 0, 2))
    assert explore(0, lambda at: [("", to) for to in edges.get(at, [])]).trapped == ()


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_against_the_plainest_search(seed: int) -> None:
    rng = Random(seed)
    edges = {at: rng.sample(range(40), rng.choice((0, 0, 1, 1, 2, 3))) for at in range(40)}
    reach: dict[int, int] = {0: 0}
    while new := {to: far + 1 for at, far in reach.items() for to in edges[at] if to not in reach}:
        reach = {**new, **reach}
    ends = {at for at in reach if not edges[at]}
    freed = set(ends)
    while more := {at for at in reach if at not in freed and freed & set(edges[at])}:
        freed |= more
    found = explore(
        0,
        lambda at: [(f"to {to}", to) for to in edges[at]],
        due=str,
        trapped=True,
        key=fingerprint if seed % 2 else None,
    )
    assert (found.states, found.counts) == (len(reach), (0, len(ends), len(reach) - len(freed)))
    assert found.depth == max(reach.values())
    for finding in found.stuck:
        assert finding.what == str(finding.story.end)
        assert len(finding.story.labels) == reach[finding.story.end]


def test_limits_end_an_exploration_and_are_owned_up_to() -> None:
    endless = explore(0, lambda at: [("up", at + 1)], states_max=50)
    assert (endless.states, endless.unfinished) == (51, "more than 50 states")
    assert not endless.proved
    late = explore(0, lambda at: [("up", at + 1)], seconds_max=0.01, trapped=True)
    assert late.unfinished == "more than 0.01 s"
    assert "unfinished: more than 0.01 s" in str(late)
    assert late.trapped == ()


def test_what_was_found_before_a_limit_is_told() -> None:
    found = explore(
        0, lambda at: [("up", at + 1)], wrong=lambda at: "seven" * (at == 7), states_max=3
    )
    assert (found.wrong, found.unfinished) == ((), "more than 3 states")
    fork = explore(
        0,
        lambda at: [("up", at + 2), ("odd", 1)] if at != 1 else [],
        wrong=lambda at: "one" * (at == 1),
        states_max=20,
    )
    assert (fork.wrong[0].story.labels, fork.unfinished) == (("odd",), "more than 20 states")


class Cell:
    """A core that holds a number and counts how often it was copied."""

    copies = 0

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def copy(self) -> Cell:
        Cell.copies += 1
        return Cell(self.value)

    def state(self) -> Hashable:
        return self.value

    def add(self, amount: int) -> list[str]:
        self.value = (self.value + amount) % 4
        return [f"added {amount}"]


def test_cores_are_kept_once_for_each_state_and_stepped_once_for_each_event() -> None:
    cores = Cores[Cell]()
    first = cores.put(Cell())
    Cell.copies = 0

    def steps(state: tuple[int, int]) -> Iterator[tuple[str, tuple[int, int]]]:
        for at in range(2):
            for amount in (1, 3):
                after, effects = cores.step(state[at], amount, partial(Cell.add, amount=amount))
                pair = (after, state[1]) if at == 0 else (state[0], after)
                yield effects[0], pair

    found = explore((first, first), steps)
    assert (found.states, found.transitions, len(cores)) == (16, 64, 4)
    assert Cell.copies == 8, "four states and two events"
    assert [core.value for core in cores] == [0, 1, 3, 2]
