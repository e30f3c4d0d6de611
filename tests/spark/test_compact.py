"""Spark lays tuples out, counts and merges as one process does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomospace.pipeline.archive import read_manifest
from nomospace.pipeline.jobs import compact
from nomospace.pipeline.jobs.compact import run_compact
from tests.unit.pipeline.test_merging import compacted, rows, said
from tests.unit.pipeline.told import CARS


def test_spark_makes_the_archive_that_one_process_makes(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two days in one part, then a third in a second, then all of them merged into one."""
    here, there = tmp_path / "here", tmp_path / "there"
    monkeypatch.setattr(compact, "HERE_ROWS", 0)
    for days, whole in ((2, False), (3, True)):
        compacted(tmp_path, here, days, whole=whole)
    run_compact(tmp_path / "j2", CARS, there, spark=spark)
    done = run_compact(tmp_path / "j3", CARS, there, spark=spark, whole=True)
    assert (done.merged, done.parts, done.tuples, done.tuples_in_all) == (2, 1, 4, 12)
    assert rows(there) == rows(here)
    ours, theirs = (read_manifest(archive, CARS).parts[0] for archive in (here, there))
    assert theirs.recurring == ours.recurring
    assert (theirs.segments, theirs.shapes, theirs.classes) == (
        ours.segments,
        ours.shapes,
        ours.classes,
    )
    assert said(there) == said(here) != []
