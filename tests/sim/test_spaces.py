"""Some worlds of every law that governs a space; `nomospace sim --workload` runs more."""

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find, play

SEEDS = {"messages": range(6), "bidding": range(4), "congestion": range(2), "wall": range(4)}


@pytest.mark.parametrize("name", SEEDS)
def test_what_must_hold_holds(name: str) -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in SEEDS[name]:
        _, outcome = play(find(name), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload {name} --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    assert all(tested.values()), f"never put to the test: {tested}"
