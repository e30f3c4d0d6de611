"""One seed, one history: also in another process, where strings hash otherwise."""

import os
import subprocess
import sys

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find, play

TELL = """
from nomospace_lab import apps
from nomospace_lab.sim import find
apps.load()
for name in apps.WORKLOADS:
    world = find(name).build(11)
    world.run()
    print(name, world.history.digest())
"""


def test_a_history_does_not_depend_on_the_process() -> None:
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
    assert len(told[0].splitlines()) == len(apps.WORKLOADS)


@pytest.mark.parametrize("name", apps.WORKLOADS)
def test_another_seed_gives_another_history(name: str) -> None:
    apps.load()
    digests = []
    for seed in (11, 11, 12):
        world = find(name).build(seed)
        world.run()
        digests.append(world.history.digest())
    assert digests[0] == digests[1] != digests[2]


def test_asking_the_checkers_changes_nothing() -> None:
    apps.load()
    world, outcome = play(find("hospital"), 5)
    assert world is not None
    digest = world.history.digest()
    again = tuple(check(world) for check in find("hospital").checkers)
    assert again == outcome.verdicts
    assert world.history.digest() == digest
