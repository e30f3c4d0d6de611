"""The rows about groups of `bench host`, on a small scale: all sizes have their figures."""

import pytest

from nomospace_lab.bench import BenchRun
from nomospace_lab.bench.suites import host_group


def test_pairs_across_hosts_are_measured_by_the_size_of_their_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_group, "PAIRS", 20)
    monkeypatch.setattr(host_group, "IDLE_S", 0.05)
    one, every = host_group.grouped(BenchRun(rounds=1), (2, 3))
    for row in (one, every):
        assert row.ours is not None
        assert row.floor is not None
        assert row.how.count(":") >= 2
    assert one.goal.text == "at most 1.5 times the floor"
