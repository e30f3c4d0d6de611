"""`bench hostile` on a small scale: each attack runs, and its rows have figures."""

from __future__ import annotations

import pytest

from nomospace_lab.bench.suites.hostile import measure, rows
from nomospace_lab.bench.suites.hostile_parts import ATTACKS


@pytest.mark.parametrize("attack", ["ties", "strangers"])
def test_a_client_is_measured_beside_an_attacker(attack: str) -> None:
    measured = measure(attack, 2, 20)
    trips, memory = rows(measured, sorted(measured.alone))
    assert trips.ours is not None
    assert trips.ours > 0
    assert trips.floor is not None
    assert trips.floor > 0
    assert "they were answered: " in trips.how
    assert "answered: nothing" not in trips.how
    assert memory.unit == "MB more"
    assert attack in ATTACKS
