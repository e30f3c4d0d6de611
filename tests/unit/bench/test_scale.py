"""`bench scale`: small worlds give every row, and worlds are put together as they say."""

import pytest

from nomospace_lab.bench import BenchRun, find
from nomospace_lab.bench.suites import scale
from nomospace_lab.bench.suites.scale_world import SECOND, ScaleWorld


def test_every_row_is_measured_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "QUICK", (10, 12))
    monkeypatch.setattr(scale, "AGENTS", 4)
    monkeypatch.setattr(scale, "TUPLES", 2)
    monkeypatch.setattr(scale, "BATCH", 3)
    rows = find("scale").report(BenchRun(quick=True)).rows
    assert len(rows) == len(scale.OPERATIONS) + len(scale.CHANGES) + 1
    assert all(row.ours is not None and "12 hosts" in row.what for row in rows)


def test_hosts_that_are_cut_apart_hear_each_other_again() -> None:
    world = ScaleWorld(12, 1, 0)
    world.run_until(lambda: world.grouped(world.hosts), step=100_000)
    names = list(world.hosts)
    cut = world.part(names[:5])
    world.connect(names[:5])
    world.connect(names[5:])
    world.run_until(lambda: world.grouped(names[:5]) and world.grouped(names[5:]), step=100_000)
    for a, b in cut:
        world.link(a, b)
    assert world.run_until(lambda: world.grouped(names), step=100_000) < 10 * SECOND
