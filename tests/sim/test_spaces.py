"""Some worlds of every law that governs a space."""

import pytest

from nomospace import apps
from nomospace.sim import find, play
from nomospace.sim.workloads import EVERYWHERE

OWN_FILES = ("hospital", "federation")


@pytest.mark.parametrize("name", [name for name in apps.WORKLOADS if name not in OWN_FILES])
def test_what_must_hold_holds(name: str) -> None:
    apps.load()
    tested: dict[str, int] = {}
    for seed in range(8):
        _, outcome = play(find(name), seed)
        for verdict in outcome.verdicts:
            replay = f"replay it with: nomospace sim --workload {name} --seed {seed}"
            assert verdict.answer == "yes", f"{verdict}\n{replay}"
            tested[verdict.property] = tested.get(verdict.property, 0) + verdict.cases
    own = list(tested)[len(EVERYWHERE) :]
    assert len(own) >= 3
    assert all(tested[one] for one in own), f"never put to the test: {tested}"
