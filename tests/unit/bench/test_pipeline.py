"""The bench of the pipeline: what it is measured on, and what its goals ask."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nomospace.cli import main
from nomospace.client.ontologies import load_ontology
from nomospace.meaning.question import parse_template
from nomospace.pipeline.jobs.compact import run_compact
from nomospace.pipeline.jobs.match import MatchEngine, run_match
from nomospace.pipeline.jobs.replay import Engine
from nomospace.pipeline.jobs.session import NoSpark
from nomospace_lab.bench.processes import PartFailed
from nomospace_lab.bench.report import BenchRow
from nomospace_lab.bench.run import BenchRun
from nomospace_lab.bench.suites import pipeline, pipeline_data
from nomospace_lab.cli.journal_make import write_journal
from tests.unit.pipeline.made import AP, Journals


def run_in(folder: Path) -> tuple[BenchRun, list[str]]:
    said: list[str] = []
    return BenchRun(cache=folder / "peers", say=said.append), said


def test_a_rate_is_judged_against_the_floor() -> None:
    goal = pipeline.at_least_rate(0.8)
    assert BenchRow(what="x", unit="s", ours=12.4, floor=10.0, goal=goal).met
    assert not BenchRow(what="x", unit="s", ours=12.6, floor=10.0, goal=goal).met
    assert not BenchRow(what="x", unit="s", ours=1.0, goal=goal).met
    assert not pipeline._judged(BenchRun(quick=True), goal).judged
    assert pipeline._judged(BenchRun(), goal) is goal


def test_without_spark_it_says_so_before_any_journal_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[object] = []
    monkeypatch.setattr(pipeline_data, "journal", lambda *asked: made.append(asked))
    monkeypatch.setattr("nomospace.cli.spark.ensure_spark", lambda: None)  # as outside a checkout
    monkeypatch.setattr("nomospace.pipeline.jobs.session.has_spark", lambda: False)
    assert main(["bench", "pipeline", "--quick"]) != 0
    assert "pip install 'nomospace[spark]'" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(NoSpark):
        next(iter(pipeline.pipeline(BenchRun(quick=True))))  # also for who does not use the command
    assert made == []


def test_a_grown_archive_has_every_answer_as_often(tmp_path: Path) -> None:
    journal, archive = tmp_path / "j", tmp_path / "a"
    write_journal(journal, AP, events=1, agents=1, seed=1, tuples=1_500)
    ontology = load_ontology(journal / "market.yaml")
    run_compact(journal, ontology, archive, engine=Engine.PROCESS)
    run, said = run_in(tmp_path)
    large = pipeline_data.grown(run, archive, ontology)
    question = parse_template(pipeline.TEMPLATE, ontology, limit=10**6)
    few, many = (
        [one.to_data() for one in found.items]
        for found in (
            run_match((), ontology, question, archive=at, engine=MatchEngine.DUCKDB)
            for at in (archive, large)
        )
    )
    assert len(few) > 20
    assert len(many) == pipeline_data.TIMES * len(few)
    assert [one for one in many if one["tuples"][0].startswith("d000-")] == few
    assert len(said) > 1
    assert pipeline_data.grown(run, archive, ontology) == large  # kept
    assert [path.name for path in large.parent.iterdir()] == [large.name]


def test_a_plain_process_tells_what_its_controllers_took(tmp_path: Path) -> None:
    told = pipeline._plain(Journals(tmp_path / "made").made(1_000, 30))
    assert told["same"] == 1_000
    assert 0 < told["controller_s"] < told["took_s"]
    with pytest.raises(PartFailed, match="is no journal"):
        pipeline._plain(tmp_path)


def test_what_is_made_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, said = run_in(tmp_path)
    monkeypatch.setattr(pipeline_data, "SAY_S", 0.2)
    made = pipeline_data.journal(run, 2_000)
    assert any("of 2,000" in line for line in said)
    assert (made / "manifest.json").is_file()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert pipeline_data.journal(run, 2_000) == made
    with pytest.raises(PartFailed, match="maker"):
        pipeline_data.journal(run, 2_001)
    assert [path.name for path in made.parent.iterdir()] == [made.name]
