"""Some worlds of processes that stand for one host; `nomospace sim` runs more."""

from nomospace_lab.sim.standing import FENCED, LAPSED, PAUSED, TOOK, UNKNOWN
from tests.sim.worlds import check_worlds

SEEDS = range(20)


def test_what_must_hold_holds() -> None:
    happened = check_worlds("takeover", SEEDS)
    assert happened[TOOK] > 2 * len(SEEDS)
    assert happened[PAUSED] > len(SEEDS)
    assert happened[FENCED] + happened[LAPSED] > len(SEEDS) // 2
    assert happened[UNKNOWN] > 0
