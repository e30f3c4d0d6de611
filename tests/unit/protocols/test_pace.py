"""The times of a host: chosen within bounds, and in order among themselves."""

import pytest

from nomospace.protocols.pace import (
    HEARTBEAT_MAX,
    HEARTBEAT_MIN,
    LOSS_MAX,
    USUAL,
    BadPace,
    Pace,
)

SECOND = 1_000_000
FASTEST = Pace(heartbeat=HEARTBEAT_MIN, loss=2 * HEARTBEAT_MIN)
SLOWEST = Pace(heartbeat=HEARTBEAT_MAX, loss=LOSS_MAX)


def test_the_usual_pace() -> None:
    assert (USUAL.heartbeat, USUAL.loss) == (SECOND, 3_500_000)
    assert (USUAL.settle, USUAL.retry, USUAL.pause_max) == (300_000, 400_000, 5 * SECOND)
    assert (USUAL.round, USUAL.prepared_max) == (5 * SECOND, 8 * SECOND)
    assert (USUAL.frozen_max, USUAL.grace) == (30 * SECOND, 35 * SECOND)


@pytest.mark.parametrize("pace", [FASTEST, USUAL, SLOWEST])
def test_times_are_in_order(pace: Pace) -> None:
    assert pace.settle < pace.retry < pace.pause_max <= pace.round
    assert pace.round < pace.prepared_max < pace.frozen_max < pace.grace


def test_a_fast_pace_leaves_work_its_time_and_a_slow_one_gives_it_more() -> None:
    assert FASTEST.frozen_max == USUAL.frozen_max
    assert FASTEST.round == USUAL.round
    assert SLOWEST.frozen_max > SLOWEST.loss > USUAL.frozen_max


@pytest.mark.parametrize(
    ("heartbeat", "loss", "words"),
    [
        (HEARTBEAT_MIN - 1, SECOND, "a heartbeat of 19.999 ms .* from 20 to 60,000 ms"),
        (HEARTBEAT_MAX + 1, LOSS_MAX, "a heartbeat of 60,000.001 ms"),
        (
            SECOND,
            2 * SECOND - 1,
            "a loss of 1,999.999 ms .* from 2,000, 2 heartbeats, to 300,000 ms",
        ),
        (SECOND, LOSS_MAX + 1, "a loss of 300,000.001 ms"),
    ],
)
def test_out_of_bounds(heartbeat: int, loss: int, words: str) -> None:
    with pytest.raises(BadPace, match=words):
        Pace(heartbeat=heartbeat, loss=loss)
