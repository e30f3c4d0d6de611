"""Some games of jigsaw in every test run; `nomospace sim --workload jigsaw` plays more."""

from tests.sim.worlds import check_worlds


def test_what_must_hold_holds() -> None:
    check_worlds("jigsaw", range(3))
