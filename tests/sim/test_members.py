"""Some worlds of agents that are members twice, and of agents that end; `sim` runs more."""

from tests.sim.worlds import check_worlds


def test_what_must_hold_holds() -> None:
    check_worlds("members", range(4))
