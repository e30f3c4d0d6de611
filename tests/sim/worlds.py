"""Worlds of one workload: what must hold in all of them, and that each is the same anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Final

from nomospace_lab import apps
from nomospace_lab.sim import find, play

TELL: Final = """
import sys
from tests.sim.worlds import told
print(told(sys.argv[1], *map(int, sys.argv[2:])), end="")
"""


def check_worlds(workload: str, seeds: Iterable[int]) -> Counter[str]:
    """See that all holds, and that each property was put to the test; what was counted.

    What happened in the worlds is counted too, by its kind.
    """
    apps.load()
    tested: Counter[str] = Counter()
    happened: Counter[str] = Counter()
    for seed in seeds:
        world, outcome = play(find(workload), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload {workload} --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] += verdict.cases
        assert world is not None
        happened.update(one.kind for one in world.history)
    assert all(tested.values()), f"never put to the test: {tested}"
    return happened


def check_replay(workload: str, *seeds: int) -> None:
    """See that another process, with other hashes of texts, has the very same worlds."""
    other = subprocess.run(
        [sys.executable, "-c", TELL, workload, *map(str, seeds)],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout == told(workload, *seeds)


def told(workload: str, *seeds: int) -> str:
    """How many messages worlds had, and the digest of all that happened in them."""
    apps.load()
    lines = []
    for seed in seeds:
        world = find(workload).build(seed)
        world.run()
        lines.append(f"{seed} {world.messages} {world.history.digest()}\n")
    return "".join(lines)
