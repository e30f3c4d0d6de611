"""Some games of RedRover in every test run; `nomospace sim --workload redrover` plays more."""

from tests.sim.worlds import check_worlds


def test_what_must_hold_holds() -> None:
    check_worlds("redrover", range(3))
