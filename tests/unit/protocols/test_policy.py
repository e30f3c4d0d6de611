"""When to engage: announced, reachable, by position."""

import pytest

from nomospace.protocols.pace import USUAL
from nomospace.protocols.policy import (
    Announced,
    NoSafeDistance,
    NotAPosition,
    Position,
    Reachable,
    is_position,
)


def test_only_an_announced_host_waits_to_be_told() -> None:
    assert [policy.willing for policy in (Reachable(), Announced())] == [True, False]
    assert Position(range_m=100, speed_max=1).willing
    assert Announced().accepts(None, None, accepted=False)


def test_the_safe_distance_outlasts_detection_and_agreement() -> None:
    policy = Position(range_m=100, speed_max=2)
    assert policy.detect_s * 1e6 >= USUAL.loss
    assert policy.agree_s * 1e6 >= USUAL.settle + USUAL.round
    assert policy.safe_m == 100 - 2 * 2 * (policy.detect_s + policy.agree_s)


def test_a_link_is_taken_up_nearer_than_it_is_given_up() -> None:
    policy = Position(range_m=100, speed_max=0, slack_m=10)
    ways = [(89.0, True, True), (90.0, True, True), (95.0, False, True), (100.5, False, False)]
    for distance, taken, kept in ways:
        at = (3.0, 4.0), (3.0, 4.0 + distance)
        assert policy.accepts(*at, accepted=False) is taken
        assert policy.accepts(*at, accepted=True) is kept


@pytest.mark.parametrize(
    "theirs",
    [None, (1.0,), (1, 2, 3, 4), (1, float("nan")), (10**400, 0), "ab", (True, 1), (1, 2, 3)],
)
def test_who_is_nowhere_is_out_of_reach(theirs: object) -> None:
    policy = Position(range_m=100, speed_max=1)
    assert not policy.accepts((1.0, 2.0), theirs, accepted=True)
    assert not policy.accepts(theirs, (1.0, 2.0), accepted=True)


def test_positions_may_have_height_and_come_from_the_wire() -> None:
    assert is_position([1, 2])
    assert Position(range_m=100, speed_max=1).accepts((0, 0, 0), [1, 2, 3], accepted=False)


@pytest.mark.parametrize(("range_m", "speed_max"), [(100, 5), (20, 1), (0, 0)])
def test_hosts_too_fast_for_their_range_have_no_safe_distance(range_m: int, speed_max: int) -> None:
    with pytest.raises(NoSafeDistance, match="longer range") as caught:
        Position(range_m=range_m, speed_max=speed_max)
    assert caught.value.safe_m == range_m - 20 * speed_max


def test_a_slack_wider_than_the_safe_distance_is_refused() -> None:
    with pytest.raises(NoSafeDistance):
        Position(range_m=100, speed_max=0, slack_m=100)


def test_a_position_that_is_none_is_told_as_such() -> None:
    assert "give two or three" in str(NotAPosition(position=(1,)))
