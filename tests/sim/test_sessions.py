"""Some worlds of clients whose connections break; `nomospace sim --workload sessions` runs more."""

from nomospace_lab.sim.history import CRASHED, CUT
from tests.sim.worlds import check_worlds

SEEDS = range(20)


def test_what_must_hold_holds() -> None:
    happened = check_worlds("sessions", SEEDS)
    assert happened[CRASHED] > len(SEEDS)
    assert happened[CUT] > 2 * len(SEEDS)
