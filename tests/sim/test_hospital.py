"""12 hospitals in every test run; `nomospace sim --seeds 1000` runs more of the same."""

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find
from tests.sim.worlds import check_worlds

SEEDS = range(12)


@pytest.mark.parametrize("first", SEEDS[::6])
def test_what_must_hold_holds(first: int) -> None:
    check_worlds("hospital", range(first, first + 6))


def test_the_worlds_are_not_all_alike() -> None:
    apps.load()
    worlds = [find("hospital").build(seed) for seed in range(50)]
    mediators = {len(world.mediators) for world in worlds}  # type: ignore[attr-defined]
    assert mediators == {1, 2, 3}
