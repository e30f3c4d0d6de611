"""Turns are taken in order, the best counts, and the loop that times makes the calls it says."""

import pytest

from nomospace_lab.bench.measure import interleave, stopwatch
from nomospace_lab.bench.peers.decisions import CASES, floor
from nomospace_lab.bench.peers.harness import answers, decisions
from nomospace_lab.bench.run import BadRounds, BenchRun


def test_contestants_take_turns_and_the_best_of_each_counts() -> None:
    turns: list[str] = []
    figures = {"ours": [7.0, 5.0, 6.0], "floor": [1.0, 2.0, 3.0]}

    def contestant(name: str):  # type: ignore[no-untyped-def]
        def sample(seconds: float) -> float:
            assert seconds == 0.5
            turns.append(name)
            return figures[name].pop(0)

        return sample

    best = interleave({name: contestant(name) for name in figures}, rounds=3, batch_s=0.5)
    assert best == {"ours": 5.0, "floor": 1.0}
    assert turns == ["ours", "floor"] * 3


def test_the_stopwatch_divides_by_the_calls_it_made() -> None:
    made = 0

    def call() -> None:
        nonlocal made
        made += 1

    one = stopwatch("call()", {"call": call})
    assert one(0.002) > 0
    before = made
    one(0.002)
    passes = made - before  # sized by the first sample, then kept
    four = stopwatch("call(); call(); call(); call()", {"call": call}, calls=4)
    assert passes > 0
    assert four(0.002) < 4 * one(0.002)


def test_the_floor_gives_the_right_answers_and_can_be_timed() -> None:
    cases = [case for case, _ in CASES]
    assert len(cases) == 8
    assert answers(floor, cases) == [right for _, right in CASES]
    assert decisions(floor, cases)(0.001) > 0


@pytest.mark.parametrize("rounds", [0, -1, 1001])
def test_rounds_have_limits(rounds: int) -> None:
    with pytest.raises(BadRounds, match="1 to 1,000"):
        BenchRun(rounds=rounds)


def test_a_quick_run_is_short() -> None:
    assert BenchRun(rounds=50, quick=True).rounds == 3
    assert BenchRun(rounds=2, quick=True).rounds == 2
