"""Replay on Spark finds what one process finds: on this machine, and on a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nomospace.cli import main
from nomospace.pipeline.java import find_java
from nomospace.pipeline.jobs import session
from nomospace.pipeline.jobs.replay import Engine, make_trial, run_replay
from nomospace.pipeline.jobs.session import archive_file
from nomospace.pipeline.replay import HISTORIES, VERDICTS, replay, replay_process, verdicts
from nomospace.pipeline.segments import BadSegments, list_journal, read_spark
from nomospace.wire.segments import TABLES
from tests.spark.cluster import Cluster, standalone
from tests.unit.pipeline.made import Journals, damage, stricter


def facts(report: Any) -> dict[str, Any]:
    """A report without what differs from run to run."""
    return {
        name: getattr(report, name)
        for name in report.__struct_fields__
        if name not in ("engine", "took_s")
    }


def test_tables_are_read_with_all_their_columns(spark: Any, journals: Journals) -> None:
    listing = list_journal(journals.made(3_000, 60, hosts=3)).sound()
    for table, columns in TABLES.items():
        frame = read_spark(spark, listing, table)
        assert frame.columns == list(columns)
        assert frame.count() == listing.rows[table]


def test_the_recorded_law_and_a_changed_one(spark: Any, journals: Journals) -> None:
    """Events of three hosts; a session of the caller's is used and left open."""
    folder = journals.made(3_000, 60, hosts=3)
    exact = run_replay(folder, spark=spark)
    assert exact.exact
    assert exact.events == 3_000
    on_spark = run_replay(folder, stricter(), spark=spark)
    here = run_replay(folder, stricter(), engine=Engine.PROCESS)
    assert on_spark.changed > 300
    assert facts(on_spark) == facts(here)
    assert spark.range(3).count() == 3


def test_functions_from_frame_to_frame(spark: Any, journals: Journals) -> None:
    """A filter is a matter of the caller, and so is what is done with the outcome."""
    listing = list_journal(journals.made())
    trial, _ = make_trial(listing, stricter())
    events = read_spark(spark, listing, "events").where("agent LIKE 'l%'")
    checkpoints = read_spark(spark, listing, "checkpoints").where("agent LIKE 'l%'")
    found = replay(events, checkpoints, trial, partitions=2)
    assert found.columns == HISTORIES.names
    agents = {row.agent for row in found.select("agent").collect()}
    assert agents
    assert all(agent.startswith("l") for agent in agents)
    each = verdicts(events, checkpoints, trial)
    assert each.columns == VERDICTS.names
    told = {(row["kind"], row["count"]) for row in each.groupBy("kind").count().collect()}
    counted: dict[str, int] = {}
    for batch in replay_process(listing, trial, which="changed"):
        for row in batch.to_pylist():
            if str(row["membership"]).startswith("l"):
                counted[str(row["kind"])] = counted.get(str(row["kind"]), 0) + 1
    assert told == set(counted.items())


def test_a_damaged_page_fails_the_job_by_name(
    spark: Any, journals: Journals, tmp_path: Path
) -> None:
    folder = journals.copied(tmp_path / "j")
    path = folder / "events" / "seg-00000002.parquet"
    damage(path)
    with pytest.raises(BadSegments, match=r"corrupt .*seg-00000002\.parquet"):
        run_replay(folder, spark=spark)
    report = run_replay(folder, spark=spark, skip_bad=True)
    assert [fault.where for fault in report.faults] == [str(path)]
    assert report.gap_count > 0
    assert report.changed == 0


# -- on other masters ------------------------------------------------------------------------------


def told_by_command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    """What the command tells, without what differs from run to run."""
    assert main(["pipeline", "replay", *map(str, words), "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    del told["engine"], told["took_s"]
    return told


def test_a_cluster_of_two_workers_finds_the_same(
    on_cluster: Any,
    cluster: Cluster,
    journals: Journals,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command, which takes the session that this process has, and stops it."""
    law = tmp_path / "stricter.law"
    law.write_text(stricter().tree.source.text)
    folder = journals.made(3_000, 60, hosts=3)
    before = cluster.done()
    there = told_by_command(capsys, folder, "--law", law, "--master", cluster.master)
    assert there == told_by_command(capsys, folder, "--law", law, "--engine", "process")
    assert there["changed"] > 300
    after = cluster.done()
    assert len(after) == 2
    assert all(after[worker] > before[worker] for worker in after), (before, after)


@pytest.mark.usefixtures("no_session")
def test_a_cluster_that_has_no_workers(
    journals: Journals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its port is open and its master takes jobs; nothing would ever come of them."""
    monkeypatch.setattr(session, "ANSWER_S", 2.0)
    folder = journals.made()
    with standalone(tmp_path / "empty", workers=0) as empty:
        assert main(["pipeline", "replay", str(folder), "--master", empty.master]) == 2
    assert "no worker took a task in 2 s" in capsys.readouterr().err


def test_the_archive_belongs_to_its_java() -> None:
    java = find_java()
    assert java.version in archive_file(java).name
