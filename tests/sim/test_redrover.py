"""Some games of RedRover in every test run; `nomospace sim --workload redrover` plays more."""

import os
import subprocess
import sys

from nomospace_lab import apps
from nomospace_lab.sim import find, play

SEEDS = range(3)

TELL = """
from nomospace_lab import apps
from nomospace_lab.sim import find
apps.load()
world = find("redrover").build(3)
world.run()
print(world.messages, world.history.digest())
"""


def test_what_must_hold_holds() -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in SEEDS:
        _, outcome = play(find("redrover"), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload redrover --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    assert all(tested.values()), f"never put to the test: {tested}"


def test_a_game_replays_exactly_in_another_process() -> None:
    told = subprocess.run(
        [sys.executable, "-c", TELL],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    apps.load()
    world = find("redrover").build(3)
    world.run()
    assert told == f"{world.messages} {world.history.digest()}\n"
