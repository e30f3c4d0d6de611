"""Some work queues in every test run; `nomospace sim --workload leases` plays more."""

from tests.sim.worlds import check_worlds

SEEDS = range(8)


def test_what_must_hold_holds() -> None:
    check_worlds("leases", SEEDS)
