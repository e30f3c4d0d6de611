"""Worlds of one workload: what must hold in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nomospace_lab import apps
from nomospace_lab.sim import find, play


def check_worlds(workload: str, seeds: Iterable[int]) -> Counter[str]:
    """See that all holds, and that each property was put to the test; what was counted.

    What happened in the worlds is counted too, by its kind. No two seeds have the same history.
    """
    apps.load()
    tested: Counter[str] = Counter()
    happened: Counter[str] = Counter()
    digests: dict[str, int] = {}
    for seed in seeds:
        world, outcome = play(find(workload), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload {workload} --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] += verdict.cases
        assert world is not None
        assert digests.setdefault(world.history.digest(), seed) == seed, "as another seed's"
        happened.update(one.kind for one in world.history)
    assert all(tested.values()), f"never put to the test: {tested}"
    return happened
