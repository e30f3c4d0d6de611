"""A few rounds of the model of kept tables; `python -m tests.models.kept_tables` plays many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.kept_tables import play

ROUNDS = {"sqlite": 30, "postgres": 2}


@pytest.mark.parametrize("kind", ROUNDS)
def test_kept_tables_are_what_temporary_ones_would_be(kind: str, tmp_path: Path) -> None:
    play(kind, tmp_path, seed=7, rounds=ROUNDS[kind], every=5)
