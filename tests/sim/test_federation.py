"""12 worlds of hosts in every test run; `nomospace sim --workload federation` runs more."""

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find
from tests.sim.worlds import check_worlds

SEEDS = range(12)


@pytest.mark.parametrize("first", SEEDS[::6])
def test_what_must_hold_holds(first: int) -> None:
    check_worlds("federation", range(first, first + 6))


def test_the_worlds_are_not_all_alike() -> None:
    apps.load()
    sizes = {len(find("federation").build(seed).sites) for seed in range(60)}  # type: ignore[attr-defined]
    assert sizes == set(range(2, 13))
