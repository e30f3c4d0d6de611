"""Some worlds of every law that governs a space; `nomospace sim --workload` runs more."""

import pytest

from tests.sim.worlds import check_worlds

SEEDS = {"messages": range(6), "bidding": range(4), "congestion": range(2), "wall": range(4)}


@pytest.mark.parametrize("name", SEEDS)
def test_what_must_hold_holds(name: str) -> None:
    check_worlds(name, SEEDS[name])
