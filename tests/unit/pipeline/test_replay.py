"""Replay of whole journals without Spark: the recorded law, a changed one, and what is wrong."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nomospace import laws
from nomospace.cli import main
from nomospace.control import Ruling
from nomospace.law import load
from nomospace.pipeline.jobs import session
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.jobs.replay import Engine, make_trial, run_replay
from nomospace.pipeline.laws import OtherCommunity
from nomospace.pipeline.replay import HISTORIES, replay_process
from nomospace.pipeline.report import ReplayReport, render
from nomospace.pipeline.segments import BadSegments, list_journal, read_batches
from nomospace.terms import Compound
from nomospace.terms.values import as_compound, parts_of
from nomospace.wire.changes import decode_ruling
from tests.unit.pipeline.made import AP, Journals, damage, stricter

EVENTS, AGENTS = 20_000, 200
MINUTE = 60_000_000
HERE = Engine.PROCESS


def rulings(folder: Path) -> list[Ruling]:
    """All recorded rulings, agent by agent, read without the pipeline's help."""
    found = [
        decode_ruling(body)
        for path in sorted(folder.glob("events/*.parquet"))
        for body in pq.read_table(path, columns=["body"])["body"].to_pylist()
        if body is not None
    ]
    found.sort(key=lambda ruling: (ruling.home, ruling.seq))
    return found


def now_by_rule(report: ReplayReport) -> dict[str, int]:
    return {total.rule: total.now for total in report.rules}


def changed_by_rule(report: ReplayReport) -> dict[str, int]:
    return {total.rule: total.changed for total in report.rules}


def test_the_recorded_law_reproduces_twenty_thousand_rulings(journals: Journals) -> None:
    report = run_replay(journals.made(EVENTS, AGENTS), engine=HERE)
    assert report.exact
    assert (report.events, report.same, report.members) == (EVENTS, EVENTS, AGENTS)
    assert report.forwarded == report.forwarded_before > 5_000
    assert report.refused == report.refused_before > 200
    assert {"R1", "R3", "R4", "R6", "R7", "R9", "R12", "R14"} <= set(now_by_rule(report))


def test_a_law_in_python_is_found_by_its_hash(journals: Journals) -> None:
    text = laws.path("ap").with_name("ap.law.py").read_text()
    law = load(text, "ap.law.py")
    folder = journals.made(2_000, 40, law=law)
    report = run_replay(folder, engine=HERE)
    assert report.exact
    assert report.events == 2_000
    assert run_replay(folder, law, engine=HERE).exact
    assert run_replay(folder, AP, engine=HERE).same == 2_000  # they rule alike


# -- a changed law, by hand ------------------------------------------------------------------------


def duties(listed: list[Ruling]) -> list[tuple[str, int, Any]]:
    """Who was laid a duty to handle an alarm, when, and which alarm."""
    return [
        (ruling.home, ruling.at, parts_of(operation.args[0])[0])
        for ruling in listed
        if ruling.rule == "R6"
        for operation in ruling.operations
        if type(operation) is Compound
        and operation.name == "imposeObligation"
        and as_compound(operation.args[0]).name == "handlingExpire"
    ]


def test_where_a_job_runs_is_chosen_by_the_size_of_its_journal(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, said = journals.made(2_000, 40), list[str]()
    report = run_replay(folder, engine=Engine.AUTO, say=said.append)
    assert report.engine == "process"
    assert said[0] == "2,000 events: in this process"
    assert run_audit(folder, engine=AuditEngine.AUTO).engine == "duckdb"
    monkeypatch.setattr(session, "SMALL_EVENTS", 2_000)
    for asked in (Engine.AUTO, Engine.SPARK):  # it is told that nobody is at that address
        with pytest.raises(session.MasterSilent):
            run_replay(folder, engine=asked, master="spark://127.0.0.1:1", say=said.append)
    assert said[-1] == "2,000 events: on Spark"  # nothing to hint at: it is not small now


def test_three_figures_by_hand(journals: Journals) -> None:
    """Ten minutes become five, and laymen are limited by kind; from the record alone:

    1. every alarm that laid a duty lays another one now, and no other arrival changes;
    2. a duty brings a metaAlarm now if nobody acknowledged within five minutes, and an
       acknowledgement counts only within them;
    3. a layman's alarm goes out only if none of its kind did in the five minutes before.
    """
    folder = journals.made(EVENTS, AGENTS)
    listed = rulings(folder)
    report = run_replay(folder, stricter(), engine=HERE)
    laid = duties(listed)
    assert changed_by_rule(report)["R6"] == len(laid) > 100

    last = {ruling.home: ruling.at for ruling in listed}
    acknowledged: dict[tuple[str, Any], int] = {}
    for ruling in listed:
        if ruling.rule == "R12":
            acknowledged.setdefault((ruling.home, parts_of(ruling.event.args[1])[0]), ruling.at)
    in_time = late = unanswered = 0
    for home, at, alarm in laid:
        answer = acknowledged.get((home, alarm))
        if answer is not None and answer < at + 5 * MINUTE:
            in_time += 1
        elif last[home] >= at + 5 * MINUTE:  # a history ends with its last event
            unanswered += 1
            late += answer is not None
    assert late > 10
    assert now_by_rule(report)["R14"] == unanswered
    assert now_by_rule(report)["R12"] == in_time
    assert changed_by_rule(report)["R12"] == late

    assert now_by_rule(report)["R3"] == published_by_hand(listed)
    refused = sum(ruling.rule == "R3" for ruling in listed) - now_by_rule(report)["R3"]
    assert report.refused == report.refused_before + refused + late
    assert refused > 100
    first = report.first[0]
    assert first.reason.startswith("was forwarded by R3; now refused: ")
    assert "`publish` (R3)" in first.reason


def published_by_hand(listed: list[Ruling]) -> int:
    """How many alarms go out if a layman may raise one of a kind every five minutes."""
    expert: dict[tuple[str, Any], None] = {}
    blocked: dict[tuple[str, Any], None] = {}
    until: dict[tuple[str, Any], int] = {}
    count = 0
    for ruling in listed:
        kind = ruling.event.kind
        args: tuple[Any, ...] = ruling.event.args
        if ruling.rule == "R1" and (role := args[0][2].args[0][0].args[0]).__class__ is Compound:
            expert[ruling.home, role.args[0]] = None
        elif ruling.rule == "R11":
            blocked[ruling.home, args[1].args[0]] = None
        elif kind == "sent" and getattr(args[1], "name", "") == "publish":
            alarm = args[1].args[0]
            if len(alarm.args) != 2:  # a rogue's forgery
                continue
            key = ruling.home, alarm.args[0].args[0]
            if key in expert:
                count += 1
            elif key not in blocked and ruling.at >= until.get(key, 0):
                until[key] = ruling.at + 5 * MINUTE
                count += 1
    return count


# -- engines and what they find --------------------------------------------------------------------


@pytest.mark.parametrize("hosts", [1, 3])
def test_duckdb_finds_the_same(journals: Journals, hosts: int) -> None:
    folder = journals.made(3_000, 60, hosts=hosts)
    one = run_replay(folder, stricter(), engine=Engine.PROCESS)
    two = run_replay(folder, stricter(), engine=Engine.DUCKDB)
    assert one.changed > 0
    assert facts(one) == facts(two)


def facts(report: ReplayReport) -> dict[str, Any]:
    """A report without what differs from run to run."""
    plain = json.loads(json.dumps({f: repr(getattr(report, f)) for f in report.__struct_fields__}))
    return {name: value for name, value in plain.items() if name not in ("engine", "took_s")}


def test_verdicts_one_by_one(journals: Journals) -> None:
    listing = list_journal(journals.made())
    trial, lost = make_trial(listing, stricter())
    assert lost == ()
    every = [r for b in replay_process(listing, trial, which="all") for r in b.to_pylist()]
    changed = [r for b in replay_process(listing, trial, which="changed") for r in b.to_pylist()]
    assert [row for row in every if row["kind"] != "same"] == changed
    recorded = [row for row in every if row["kind"] != "arises"]
    assert len(recorded) == 3_000
    assert {row["agent_seq"] for row in every if row["kind"] == "arises"} <= {0}


def test_missing_segments_leave_gaps_that_are_told(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    (folder / "events" / "seg-00000002.parquet").unlink()
    with pytest.raises(BadSegments, match=r"seg-00000002\.parquet"):
        run_replay(folder, engine=HERE)
    report = run_replay(folder, engine=HERE, skip_bad=True)
    assert [fault.kind for fault in report.faults] == ["missing"]
    assert report.gap_count > 10
    assert report.changed == 0
    assert report.events + report.passed_over == report_rows(folder)
    text = render(report)
    assert "seg-00000002.parquet" in text
    assert f"{report.gap_count:,} gaps in histories" in text


def report_rows(folder: Path) -> int:
    listing = list_journal(folder)
    return sum(batch.num_rows for batch in read_batches(listing, "events", ["seq"]))


def test_a_damaged_page_is_named_whichever_engine_stumbles(
    journals: Journals, tmp_path: Path
) -> None:
    folder = journals.copied(tmp_path / "j")
    path = folder / "events" / "seg-00000002.parquet"
    damage(path)
    for engine in (Engine.PROCESS, Engine.DUCKDB):
        with pytest.raises(BadSegments, match=r"corrupt .*seg-00000002\.parquet"):
            run_replay(folder, engine=engine)
    assert run_replay(folder, engine=HERE, skip_bad=True).faults[0].kind == "corrupt"


def test_a_journal_of_another_community(journals: Journals) -> None:
    with pytest.raises(OtherCommunity, match=r"nothing of the community 'mp' \(it has ap\)"):
        run_replay(journals.made(), load(laws.text("mp")), engine=HERE)


def test_a_law_may_be_tried_on_another_community(journals: Journals) -> None:
    report = run_replay(journals.made(), load(laws.text("mp")), community="ap", engine=HERE)
    assert report.diverged > 50


def test_a_law_without_its_text(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    path = folder / "laws" / "seg-00000001.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    text = str(rows[0]["text"])
    (row,) = [{**row, "text": text.replace("10, min", "11, min")} for row in rows]
    pq.write_table(table.from_pylist([row], schema=table.schema), path)
    with pytest.raises(OtherCommunity, match="tells of no law"):  # its size is not as told
        run_replay(folder, engine=HERE, skip_bad=True)
    listing = list_journal(journals.made())
    told = listing.files | {"laws": (str(path),)}
    trial, lost = make_trial(type(listing)(told, listing.rows), None)
    assert (trial.recorded, lost) == ({}, (AP.hash,))


# -- the command -----------------------------------------------------------------------------------


def test_the_command(
    journals: Journals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stricter.law"
    file.write_text(stricter().tree.source.text)
    folder = str(journals.made())
    out = tmp_path / "found.parquet"
    common = ["pipeline", "replay", folder, "--engine", "process"]
    assert main([*common, "--law", str(file), "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["events"] == 3_000
    assert told["changed"] > 0
    assert pq.read_table(out).schema.equals(HISTORIES)
    assert main([*common, "--law", str(file), "--first", "1"]) == 0
    text = capsys.readouterr().out
    assert "first divergences" in text
    assert "now refused" in text
    assert main(common) == 0
    assert "changed               0  for 0 of" in capsys.readouterr().out


def test_the_command_says_no_when_a_ruling_is_not_reproduced(
    journals: Journals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A journal that was tampered with: one forged ruling, with its sums in order."""
    folder = journals.copied(tmp_path / "j")
    path = folder / "events" / "seg-00000003.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    forged = next(row for row in rows if row["rule"] == "R4")
    forged["body"] = forged["body"].replace(b"R4", b"R5")
    pq.write_table(table.from_pylist(rows, schema=table.schema), path, compression="zstd")
    manifest = folder / "manifest.json"
    facts = json.loads(manifest.read_text())
    facts["segments"][2]["bytes"]["events"] = path.stat().st_size
    facts["segments"][2]["hashes"]["events"] = sha256(path.read_bytes()).hexdigest()
    del facts["check"]
    manifest.write_text(json.dumps(facts))
    assert main(["pipeline", "replay", str(folder), "--engine", "process"]) == 1
    assert "changed               1  for 1 of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere"], "is no journal"),
        (["JOURNAL", "--law", "/no.law"], "cannot read the law /no.law"),
        (["JOURNAL", "--law", "BAD"], "error"),
        (["JOURNAL", "--master", "spork"], "names no Spark master"),
        (["JOURNAL", "--master", "spark://127.0.0.1:1"], "does not answer"),
        (["JOURNAL", "--out", "/nowhere/x"], "its folder is not there"),
    ],
)
def test_bad_input_is_told_before_anything_starts(
    journals: Journals,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    (tmp_path / "bad.law").write_text("law(ap). R1. sent(X, M, Y) :- do(forwrd).")
    given = {"JOURNAL": str(journals.made()), "BAD": str(tmp_path / "bad.law")}
    assert main(["pipeline", "replay", *[given.get(word, word) for word in words]]) == 2
    assert said in capsys.readouterr().err


# -- journals to try it on -------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["mp", "sb", "cc", "cw"])
def test_any_law_has_a_journal(tmp_path: Path, law: str) -> None:
    assert (
        main(
            [
                "journal",
                "make",
                "--events",
                "800",
                "--agents",
                "20",
                "--law",
                law,
                str(tmp_path / "j"),
            ]
        )
        == 0
    )
    report = run_replay(tmp_path / "j", engine=HERE)
    assert report.exact
    assert report.events == 800
