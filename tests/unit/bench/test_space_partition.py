"""The rows of a partitioned space: pairs are made, and none at home passes over a link."""

from __future__ import annotations

import pytest

from nomospace_lab.bench import BenchRun
from nomospace_lab.bench.suites import space_partition


def test_pairs_at_home_need_no_frame_and_those_from_anywhere_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(space_partition, "SIZES", (1, 2))
    monkeypatch.setattr(space_partition, "PAIRS", 20)
    near, far = space_partition.partitioned(BenchRun(rounds=1))
    assert "2 hosts" in near.what
    assert "and 0 frames, 2" in near.how
    assert near.how.endswith("and 0 frames")
    assert not far.how.endswith("and 0 frames")
