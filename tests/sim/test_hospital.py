"""50 hospitals in every test run; `nomospace sim --seeds 1000` runs more of the same."""

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find, play

SEEDS = range(50)


@pytest.mark.parametrize("first", SEEDS[::10])
def test_what_must_hold_holds(first: int) -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in range(first, first + 10):
        _, outcome = play(find("hospital"), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload hospital --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    assert all(tested.values()), f"never put to the test: {tested}"


def test_the_worlds_are_not_all_alike() -> None:
    apps.load()
    worlds = [find("hospital").build(seed) for seed in SEEDS]
    mediators = {len(world.mediators) for world in worlds}  # type: ignore[attr-defined]
    assert mediators == {1, 2, 3}
