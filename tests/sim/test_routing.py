"""100 worlds of mail and moves in every test run; `nomospace sim --workload routing` runs more."""

import os
import subprocess
import sys

import pytest

from nomospace_lab import apps
from nomospace_lab.apps.routing.world import SHORT
from nomospace_lab.sim import find, play

SEEDS = range(100)

TELL = """
from nomospace_lab import apps
from nomospace_lab.sim import find
apps.load()
world = find("routing").build(3)
world.run()
print(world.messages, world.history.digest())
"""


@pytest.mark.parametrize("first", SEEDS[::20])
def test_what_must_hold_holds(first: int) -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in range(first, first + 20):
        _, outcome = play(find("routing"), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload routing --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    assert all(tested.values()), f"never put to the test: {tested}"


def test_a_world_replays_exactly_in_another_process() -> None:
    told = subprocess.run(
        [sys.executable, "-c", TELL],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    apps.load()
    world = find("routing").build(3)
    world.run()
    assert told == f"{world.messages} {world.history.digest()}\n"


def test_the_worlds_are_not_all_alike() -> None:
    apps.load()
    worlds = [find("routing").build(seed) for seed in range(60)]
    assert {len(world.sites) for world in worlds} == set(range(3, 7))  # type: ignore[attr-defined]
    assert {len(world.servers) for world in worlds} == {2, 3}  # type: ignore[attr-defined]
    assert {world.limits is SHORT for world in worlds} == {False, True}  # type: ignore[attr-defined]
