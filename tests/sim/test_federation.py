"""100 worlds of hosts in every test run; `nomospace sim --workload federation` runs more."""

import os
import subprocess
import sys

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find, play

SEEDS = range(100)

TELL = """
from nomospace_lab import apps
from nomospace_lab.sim import find
apps.load()
for seed in (3, 4):
    world = find("federation").build(seed)
    world.run()
    print(seed, world.messages, world.history.digest())
"""


@pytest.mark.parametrize("first", SEEDS[::10])
def test_what_must_hold_holds(first: int) -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in range(first, first + 10):
        _, outcome = play(find("federation"), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload federation --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    assert all(tested.values()), f"never put to the test: {tested}"


def test_a_world_replays_exactly_in_another_process() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", TELL],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "4242")
    ]
    assert told[0] == told[1]
    assert len(told[0].splitlines()) == 2


def test_the_worlds_are_not_all_alike() -> None:
    apps.load()
    sizes = {len(find("federation").build(seed).sites) for seed in range(60)}  # type: ignore[attr-defined]
    assert sizes == set(range(2, 13))
