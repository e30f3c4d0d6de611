"""One seed, one history: also in another process, where strings hash otherwise."""

import json
import os
import subprocess
import sys

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find, play

TELL = """
import json
from tests.unit.sim.test_determinism import played
from nomospace_lab import apps
print(json.dumps({name: played(name, 11) for name in apps.WORKLOADS}))
"""


def played(name: str, seed: int) -> list[int | str]:
    """How many messages a world had, and the digest of all that happened in it."""
    apps.load()
    world = find(name).build(seed)
    world.run()
    return [world.messages, world.history.digest()]


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, list[int | str]]:
    """What another process plays, with hashes of texts that this one does not have."""
    told = subprocess.run(
        [sys.executable, "-c", TELL],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return dict(json.loads(told))


@pytest.mark.parametrize("name", apps.WORKLOADS)
def test_a_seed_has_one_history_anywhere(elsewhere: dict[str, list[int | str]], name: str) -> None:
    """That another seed has another is seen where worlds are checked (`tests/sim`)."""
    assert played(name, 11) == elsewhere[name]


def test_another_seed_has_another_history() -> None:
    """Of assistants, which have no worlds there."""
    assert played("assistants", 11) != played("assistants", 12)


def test_asking_the_checkers_changes_nothing() -> None:
    apps.load()
    world, outcome = play(find("hospital"), 5)
    assert world is not None
    digest = world.history.digest()
    again = tuple(check(world) for check in find("hospital").checkers)
    assert again == outcome.verdicts
    assert world.history.digest() == digest
