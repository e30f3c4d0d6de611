"""What a stream holds in memory never differs from what its checkpoint says.

Some cases in every run; hundreds by `python -m tests.models.stream_cases --cases 500`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.stream_cases import play

SEEDS = (6, 9, 12, 20, 39, 41, 49, 54, 61, 65)
"""Quick ones, all of which have answers."""


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_bring_what_a_whole_search_finds_new(tmp_path: Path, seed: int) -> None:
    assert play(seed, tmp_path) > 0
