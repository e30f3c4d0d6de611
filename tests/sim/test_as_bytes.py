"""Worlds in which every frame and every change goes through bytes are the same worlds."""

import pytest

from nomospace_lab import apps
from nomospace_lab.sim import find
from nomospace_lab.sim.federation import Sites


def played(workload: str, seed: int, *, encode: bool) -> tuple[str, int, int]:
    """The digest of all that happened in a world, and how much it was."""
    apps.load()
    world = find(workload).build(seed)
    assert isinstance(world, Sites)
    world.encode = encode
    world.run()
    return world.history.digest(), world.messages, world.frames


@pytest.mark.parametrize(
    ("workload", "seed"),
    [("federation", 0), ("federation", 1), ("federation", 3), ("routing", 0), ("assistants", 0)],
)
def test_bytes_change_nothing(workload: str, seed: int) -> None:
    digest, messages, frames = played(workload, seed, encode=False)
    assert played(workload, seed, encode=True) == (digest, messages, frames)
    assert frames > 1_000
