"""An audit without Spark: its figures against a count by hand, its words and its page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nomospace import laws
from nomospace.cli import main
from nomospace.control import Membership, RecordRuling, Ruling, Tick, arrived, sent
from nomospace.control.reasons import clock
from nomospace.law import load
from nomospace.pipeline.audit.found import STEPS_MAX, TOLD_MAX, AuditTables, step_width
from nomospace.pipeline.audit.page import ROWS_SHOWN, charts_of, make_page
from nomospace.pipeline.audit.tables import changes_of
from nomospace.pipeline.audit.words import render, sentences
from nomospace.pipeline.charts import BARS_MAX, as_png, as_svg, bars, timeline
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit, write_report
from nomospace.pipeline.laws import OtherCommunity
from nomospace.pipeline.segments import BadSegments, EventFilter
from nomospace.store.segments import SegmentLimits
from nomospace.terms import Compound
from nomospace.wire.changes import decode_ruling
from nomospace_lab.cli.journal_writing import JournalWriter
from tests.unit.pipeline.made import Journals, damage

DUCK = AuditEngine.DUCKDB
MINUTE = 60_000_000
DUTIES = """
law(duties).
R1. sent(X, owe(N), Y) :- do(imposeObligation(pay(N), 60, sec)), do(forward).
R2. sent(X, pay(N), Y) :- do(repealObligation(pay(N))), do(forward).
R3. arrived(X, forgive(N), Y) :- do(repealObligation(pay(N))), do(deliver).
R4. obligationDue(pay(N)) :- do(repealObligation(pay(_))), do(deliver(Self, late(N), Self)).
R5. sent(X, rude(N), Y) :- do(deliver(Self, mind(forward(N)), Self)).
R6. sent(X, never, Y) :- do(forward).
"""


@pytest.fixture(scope="module")
def audited(journals: Journals) -> AuditTables:
    return run_audit(journals.made(3_000, 60, hosts=3), engine=DUCK)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("**/events/*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_refusals_are_told_down_to_their_cause(audited: AuditTables, journals: Journals) -> None:
    """The ruling that a sentence names is in the journal, at that time, with that rule."""
    rows = rows_of(journals.made(3_000, 60, hosts=3))
    rulings = [decode_ruling(row["body"]) for row in rows]
    told = [row for row in audited.tables["refusals"][:TOLD_MAX] if not row["stopped"]]
    assert all(row["said"].startswith("Refused: ") for row in told)
    causes = 0
    for row in told:
        found = re.search(r"since (\d\d:\d\d), by (\S+)'s `blockLay` \((\w+)\)", row["said"])
        if found:
            causes += 1
            assert any(
                ruling.rule == found[3]
                and ruling.home == row["agent"]
                and str(ruling.event.args[0]).startswith(f"{found[2]}@")
                and clock(ruling.at, ruling.at) == found[1]
                for ruling in rulings
            )
    assert causes
    assert any("the last: " in line for line in sentences(audited)["Who was refused, and why"])


def test_figures_are_what_the_rulings_say(audited: AuditTables, journals: Journals) -> None:
    """Counted again from the rulings themselves, by the controller's own words for them."""
    rows = rows_of(journals.made(3_000, 60, hosts=3))
    rulings = [decode_ruling(row["body"]) for row in rows]
    refused = [ruling for ruling in rulings if ruling.refused]
    assert audited.overview["events"] == len(rulings) == 3_000
    assert audited.refused == len(refused) > 0
    by_agent: dict[str, int] = {}
    for row in audited.tables["refusals"]:
        by_agent[row["agent"]] = by_agent.get(row["agent"], 0) + row["refused"]
    counted: dict[str, int] = {}
    for ruling in refused:
        counted[ruling.home] = counted.get(ruling.home, 0) + 1
    assert by_agent == counted
    hits = {row["rule"]: row["hits"] for row in audited.tables["coverage"]}
    for rule, times in hits.items():
        assert times == sum(ruling.rule == rule for ruling in rulings), rule
    assert list(hits) == [rule.name for rule in load(laws.text("ap")).tree.rules]
    assert sum(row["events"] for row in audited.tables["rhythm"]) == 3_000
    imposed = sum(change[0] == "due" for ruling in rulings for change in ruling.delta)
    assert sum(row["times"] for row in audited.tables["obligations"]) == imposed > 0


def debt(verb: str, number: int) -> Compound:
    return Compound(verb, (number,))


def write_duties(folder: Path) -> None:
    """One debtor: four debts of which one is paid, one forgiven, one missed, and one is owed."""
    law = load(DUTIES, "duties.law")
    writer = JournalWriter(folder, "bank", SegmentLimits(rows=100))
    writer.law(law, at=0)
    ann = Membership(law, "ann@bank")
    told = [
        (0, sent("ann@bank", debt("owe", 1), "bob@bank")),
        (10, sent("ann@bank", debt("owe", 2), "bob@bank")),
        (20, sent("ann@bank", debt("pay", 1), "bob@bank")),
        (25, arrived("bob@bank", debt("forgive", 2), "ann@bank")),
        (30, sent("ann@bank", debt("owe", 3), "bob@bank")),
        (50, sent("ann@bank", debt("owe", 4), "bob@bank")),
        (93, None),
        (95, sent("ann@bank", debt("rude", 1), "bob@bank")),
        (96, sent("ann@bank", debt("steal", 1), "bob@bank")),
        (97, sent("ann@bank", debt("owe", 5), "bob@bank")),
    ]
    for at_s, event in told:
        now = at_s * 1_000_000
        effects = ann.handle(Tick() if event is None else event, now=now)
        for effect in effects:
            if isinstance(effect, RecordRuling):
                writer.ruling(effect.ruling)
    writer.close()


def test_obligations_met_missed_repealed_and_owed(tmp_path: Path) -> None:
    write_duties(tmp_path / "j")
    found = run_audit(tmp_path / "j", engine=DUCK)
    told = {
        row["outcome"]: (row["times"], row["p50"], row["most"])
        for row in found.tables["obligations"]
    }
    assert told == {
        "met": (1, 20_000_000, 20_000_000),
        # Forgiven after 15 s; and the fourth, which R4 repeals when the third falls due.
        "repealed": (2, 15_000_000, 43_000_000),
        "missed": (1, 63_000_000, 63_000_000),
        "owed": (1, None, None),
    }
    (late,) = found.tables["lateness"]
    assert (late["times"], late["most"]) == (1, 3_000_000)
    words = " ".join(sentences(found)["Obligations"])
    assert "pay in duties: 5 imposed; 1 met (half of them within 20 s" in words
    assert "was ruled on 3 s after its time" in words
    assert [row["rule"] for row in found.tables["coverage"] if not row["hits"]] == ["R6"]


def test_a_refusal_that_sends_a_notice_is_one(tmp_path: Path) -> None:
    """R5 delivers a notice to its own agent; that the notice says `forward` changes nothing."""
    write_duties(tmp_path / "j")
    found = run_audit(tmp_path / "j", engine=DUCK)
    told = [(row["rule"], row["about"], row["refused"]) for row in found.tables["reasons"]]
    assert told == [("", "steal", 1), ("R5", "rude", 1)]
    assert "Refused by R5, which sends nothing on" in render(found)


def test_what_hosts_note_of_agents_under_no_law_is_no_ruling(tmp_path: Path) -> None:
    write_duties(tmp_path / "j")
    noted = JournalWriter(tmp_path / "notes", "inn", SegmentLimits(rows=100))
    noted._names[""] = ""
    event = sent("bob@inn", "hello", "ann@bank")
    noted.ruling(Ruling(1, 5, "bob@inn", "", event, None, (), ()))
    noted.close()
    alone = run_audit(tmp_path / "j", engine=DUCK)
    both = run_audit([tmp_path / "j", tmp_path / "notes"], engine=DUCK)
    assert both.tables == alone.tables


def test_a_part_of_the_time(tmp_path: Path) -> None:
    write_duties(tmp_path / "j")
    part = EventFilter(since=20_000_000, until=50_000_000, community="duties")
    found = run_audit(tmp_path / "j", part, engine=DUCK)
    assert found.overview["events"] == 3  # `until` is not included
    outcomes = {row["outcome"]: (row["times"], row["p50"]) for row in found.tables["obligations"]}
    # What was imposed before has no delay that anybody could know.
    assert outcomes == {"met": (1, None), "repealed": (1, None), "owed": (1, None)}
    with pytest.raises(OtherCommunity, match="duties"):
        run_audit(tmp_path / "j", EventFilter(community="ap"), engine=DUCK)


def test_nothing_of_that_time(tmp_path: Path) -> None:
    write_duties(tmp_path / "j")
    found = run_audit(tmp_path / "j", EventFilter(since=10**15), engine=DUCK)
    assert found.overview["events"] == 0
    assert "Nothing: the journal has no event" in render(found)
    assert "<h1>" in make_page(found, charts_of(found))


def test_hops_and_latency(tmp_path: Path, journals: Journals) -> None:
    """Percentiles of a journal whose figures are known: 1 to 100 microseconds, 0 to 4 hops."""
    folder = journals.copied(tmp_path / "j")
    for path in sorted(folder.glob("events/*.parquet")):
        table = pq.ParquetFile(path).read()
        count = table.num_rows
        sizes = pa.array([1_000 * (i % 100 + 1) for i in range(count)], pa.int64())
        hops = pa.array([i % 5 for i in range(count)], pa.int32())
        for name, values in (("took_ns", sizes), ("hops", hops)):
            table = table.set_column(table.schema.get_field_index(name), name, values)
        pq.write_table(table, path)
        manifest = folder / "manifest.json"
        told = json.loads(manifest.read_text())
        number = int(path.stem.removeprefix("seg-"))
        for segment in told["segments"]:
            if segment["number"] == number:
                segment["bytes"]["events"] = path.stat().st_size
                del segment["hashes"]["events"]
        told.pop("check", None)
        manifest.write_text(json.dumps(told))
    found = run_audit(folder, engine=DUCK)
    everything = {row["event"]: row for row in found.tables["latency"]}
    took = sorted(row["took_ns"] for row in rows_of(folder) if row["event"] == "arrived")
    row = everything["arrived"]
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99)):
        assert row[name] == took[-(-len(took) * percent // 100) - 1]
    assert row["most"] == took[-1]
    assert len(found.tables["hops"]) == 5
    assert "hops in the mean, 4 at most" in render(found)
    assert "hops" in [chart.name for chart in charts_of(found)["Hops and time"]]


def test_damage_is_named(tmp_path: Path, journals: Journals) -> None:
    folder = journals.copied(tmp_path / "j")
    damage(folder / "events" / "seg-00000002.parquet")
    with pytest.raises(BadSegments, match=r"seg-00000002\.parquet"):
        run_audit(folder, engine=DUCK)
    found = run_audit(folder, engine=DUCK, skip_bad=True)
    assert found.overview["events"] == 2_000
    assert "Left out: corrupt" in render(found)


def test_bytes_that_are_no_changes() -> None:
    bad = ("unreadable", None, None, None)
    assert list(changes_of("sent", b"\xc1", None)) == [bad]
    assert list(changes_of("sent", b"\x91\x01", None)) == [bad]
    assert list(changes_of("sent", b"\x90", b"\xc1")) == [bad]


# -- the page --------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_tells_all_and_fetches_nothing(audited: AuditTables, tmp_path: Path) -> None:
    page, figures, *plots = write_report(audited, tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    tags = Tags(text)
    assert tags.links == []
    assert tags.found.count("svg") == len(plots) == 6
    for told in sentences(audited).values():
        for sentence in told:
            assert sentence.split("'")[0] in text
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert json.loads(figures.read_text())["tables"] == audited.tables
    assert all(plot.read_bytes().startswith(b"\x89PNG") for plot in plots)
    assert write_report(audited, tmp_path / "out")[0] == page  # again is harmless


def test_what_agents_wrote_is_escaped(audited: AuditTables) -> None:
    evil = "<script>alert('&')</script>"
    tables = {
        name: [
            {key: evil if isinstance(value, str) else value for key, value in row.items()}
            for row in rows
        ]
        for name, rows in audited.tables.items()
        if name != "obligations"
    }
    tables["obligations"] = [{**row, "what": evil} for row in audited.tables["obligations"]]
    found = AuditTables((evil,), evil, 1.0, MINUTE, tables, lost_laws=(evil,))
    page = make_page(found, charts_of(found))
    assert "script" not in Tags(page).found
    assert page.count("&lt;script&gt;") > ROWS_SHOWN


def test_charts_have_their_limits() -> None:
    rows = [(f"r{i}", {"": i}) for i in range(BARS_MAX + 5)]
    assert "and 5 more" in as_svg(bars("x", "x", rows, colours={"": "c0"}))
    one = timeline("x", "x", {"ap": {0: 3}}, MINUTE)
    assert as_svg(one).count("<polyline") >= 2
    assert as_png(one).startswith(b"\x89PNG")
    assert as_png(bars("x", "nothing", [], colours={"": "c0"})).startswith(b"\x89PNG")


@pytest.mark.parametrize("days", [0, 1, 30, 400, 4_000, 100_000])
def test_time_is_cut_into_few_steps(days: int) -> None:
    span = days * 86_400_000_000
    assert span <= step_width(0, span) * STEPS_MAX


# -- the command -----------------------------------------------------------------------------------


def test_command(journals: Journals, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = str(journals.made()), tmp_path / "out"
    words = ["pipeline", "audit", folder, "--engine", "duckdb"]
    assert main([*words, "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tables"]["overview"][0]["events"] == 3_000
    assert (out / "report.html").is_file()
    assert main([*words, "--since", "yesterday"]) == 2
    assert "--since yesterday: it is no time" in capsys.readouterr().err
    assert main([*words, "--since", "2026-01-02", "--until", "2026-01-01"]) == 2
    assert "not after" in capsys.readouterr().err
    assert main([*words, "--community", "nobody"]) == 2
    assert "nothing of the community 'nobody'" in capsys.readouterr().err
    assert main(["pipeline", "audit", folder, "--master", "spork://x"]) == 2
    assert "names no Spark master" in capsys.readouterr().err
    assert main([*words, "--since", "2026-01-01T00:05:00", "--until", "2026-01-01T00:06"]) == 0
    assert "From 2026-01-01 00:05:" in capsys.readouterr().out
