"""Some worlds of clients whose connections break; `nomospace sim --workload sessions` runs more."""

from nomospace_lab.sim.history import CRASHED, CUT
from tests.sim.worlds import check_worlds, told

SEEDS = range(20)


def test_what_must_hold_holds() -> None:
    happened = check_worlds("sessions", SEEDS)
    assert happened[CRASHED] > len(SEEDS)
    assert happened[CUT] > 2 * len(SEEDS)


def test_one_seed_gives_one_history() -> None:
    assert told("sessions", 7) == told("sessions", 7)
