"""Some worlds of agents that are members twice, and of agents that end; `sim` runs more."""

from typing import Final

from tests.sim.worlds import check_worlds

AGAIN: Final = 107
"""A new primary sends again what had come to an agent that has ended since."""
SECOND: Final = 24
"""The second primary is killed when the first one is back."""


def test_what_must_hold_holds() -> None:
    check_worlds("members", (*range(3), SECOND, AGAIN))
