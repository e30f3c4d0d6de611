"""Some worlds of agents that are members twice, and of agents that end; `sim` runs more."""

from typing import Final

from tests.sim.worlds import check_worlds

AGAIN: Final = 17
"""A new primary sends again what had come to an agent that has ended since."""


def test_what_must_hold_holds() -> None:
    check_worlds("members", (*range(4), AGAIN))
