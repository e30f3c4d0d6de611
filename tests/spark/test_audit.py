"""An audit and a sweep on Spark find what one process finds; all of an audit: `test_cluster`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nomospace.pipeline import segments, workers
from nomospace.pipeline.audit import tables
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.segments import BadSegments, EventFilter, list_journal, read_spark
from nomospace.pipeline.workers import OtherPython
from nomospace_lab import apps
from nomospace_lab.sim import find
from nomospace_lab.sweep.job import SweepEngine, run_sweep
from tests.unit.pipeline.made import Journals, damage
from tests.unit.pipeline.test_audit import write_duties


def test_functions_from_frame_to_frame(spark: Any, tmp_path: Path) -> None:
    """In a session of the user's; obligations imposed before the time have no delay, in order."""
    write_duties(tmp_path / "j")
    listing = list_journal(tmp_path / "j").sound()
    events = read_spark(spark, listing, "events")
    rules = tables.rules(read_spark(spark, listing, "laws"))
    resting = tables.coverage(events, rules).where("hits = 0").select("rule").collect()
    assert [row.rule for row in resting] == ["R6"]
    part = tables.chosen(events, since=20_000_000, until=95_000_000, community="duties")
    duties = tables.duties(tables.changes(part))
    told = [tuple(row) for row in duties.select("outcome", "delay_us", "late_us").collect()]
    assert told == [
        ("met", None, None),
        ("repealed", None, None),
        ("missed", 63_000_000, 3_000_000),
        ("repealed", 43_000_000, None),
    ]
    bounds = EventFilter(since=20_000_000, until=95_000_000, community="duties")
    here = run_audit(tmp_path / "j", bounds, engine=AuditEngine.DUCKDB)
    found = [row.asDict() for row in tables.obligations(duties).collect()]
    assert found == here.tables["obligations"]


def test_a_damaged_page_fails_the_job_by_name(
    spark: Any, journals: Journals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a large journal, whose files are inspected by Spark's workers."""
    monkeypatch.setattr(segments, "HERE_ROWS", 0)
    folder = journals.copied(tmp_path / "j")
    for path in folder.glob("events/*.parquet"):
        damage(path, "ruling_text")
    with pytest.raises(BadSegments, match=r"corrupt .*seg-00000001\.parquet"):
        run_audit(folder, spark=spark)


def test_workers_without_nomospace_are_told_beforehand(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook's own session, whose workers run the `python3` of the path."""
    write_duties(tmp_path / "j")
    events = read_spark(spark, list_journal(tmp_path / "j").sound(), "events")
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(workers, "_able", set())
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    with pytest.raises(OtherPython, match=r"os.environ\['PYSPARK_PYTHON'\] = ") as caught:
        tables.changes(events)
    assert sys.executable in str(caught.value)


def test_worlds_on_spark_are_the_worlds_here(spark: Any) -> None:
    apps.load()
    found, swept = run_sweep(find("hospital"), range(3, 7), spark=spark)
    here, summed = run_sweep(find("hospital"), range(3, 7), engine=SweepEngine.PROCESS)
    assert found.drop_columns(["took_s"]).equals(here.drop_columns(["took_s"]))
    assert swept.passed == summed.passed == 4
