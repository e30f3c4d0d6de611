"""Files of a journal that are not what was sealed; spaces without law; laws that share a name."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nomospace.cli import main
from nomospace.control import Membership, RecordRuling, arrived, sent
from nomospace.law import CompiledLaw, load
from nomospace.pipeline.audit.words import render
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.jobs.replay import Engine, run_replay
from nomospace.pipeline.laws import OtherCommunity
from nomospace.pipeline.report import render as render_replay
from nomospace.pipeline.segments import BadSegments, list_journal, read_batches
from nomospace.wire.segments import AT_AGAIN, LATER, TABLES
from nomospace_lab.cli.journal_writing import JournalWriter

FIRST = load("law(post). R1. sent(X, M, Y) :- do(forward). R2. arrived(X, M, Y) :- do(deliver).")
SECOND = load("law(post). R1. arrived(X, M, Y) :- do(deliver).")
EVENTS = "events/seg-00000001.parquet"
SECOND_S = 1_000_000


def written(folder: Path, *laws: CompiledLaw) -> Path:
    """A journal: under each law ann sends, and the space `post` hears; two spaces have tuples."""
    writer = JournalWriter(folder, "inn")
    for law in laws:
        writer.law(law, at=0)
        for home, event in (
            ("ann@inn", sent("ann@inn", "hello", "post")),
            ("post", arrived("ann@inn", "hello", "post")),
        ):
            member = Membership(law, home)
            writer.checkpoint(member.snapshot(), at=0)
            for effect in member.handle(event, now=SECOND_S):
                if isinstance(effect, RecordRuling):
                    writer.ruling(effect.ruling)
    writer.tuple("post", "ann@inn", 1, "written", ("hello",), at=SECOND_S)
    writer.tuple("jobs", "ann@inn", 2, "written", ("job", 1), at=2 * SECOND_S)
    writer.tuple("jobs", "ann@inn", 2, "taken", ("job", 1), at=3 * SECOND_S)
    writer.tuple("jobs", "ann@inn", 3, "expired", ("job", 2), at=4 * SECOND_S)
    writer.close()
    return folder


def forge(folder: Path, *, rehash: bool | None, **cells: object) -> None:
    """Change cells of the first event; sizes are in order, and with `rehash` the hash is.

    With `None` the manifest is of before there were hashes, and so is the file.
    """
    path = folder / EVENTS
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0].update(cells)
    table = pa.Table.from_pylist(rows, schema=table.schema)
    if rehash is None:
        table = table.select([name for name in table.column_names if name not in LATER])
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)
    facts = json.loads((folder / "manifest.json").read_text())
    (segment,) = facts["segments"]
    segment["bytes"]["events"] = path.stat().st_size
    if rehash:
        segment["hashes"]["events"] = hashlib.sha256(path.read_bytes()).hexdigest()
    elif rehash is None:
        segment.pop("hashes", None)
    facts.pop("check", None)
    (folder / "manifest.json").write_text(json.dumps(facts))


def both(folder: Path, **options: Any) -> list[Any]:
    """A replay and an audit."""
    return [
        run_replay(folder, engine=Engine.PROCESS, **options),
        run_audit(folder, engine=AuditEngine.DUCKDB, **options),
    ]


def test_a_changed_cell_is_noticed(tmp_path: Path) -> None:
    folder = written(tmp_path / "j", FIRST)
    replayed, audited = both(folder, deep=True)
    assert (replayed.events, audited.overview["events"]) == (2, 2)
    assert (replayed.unhashed, audited.unhashed) == (0, 0)
    forge(folder, rehash=False, rule="R7")
    said = r"altered .*seg-00000001.* changed after it was sealed: column rule of record 3 is not"
    with pytest.raises(BadSegments, match=said):
        run_replay(folder, engine=Engine.PROCESS)
    with pytest.raises(BadSegments, match=said):
        run_audit(folder, engine=AuditEngine.DUCKDB)
    skipped = run_audit(folder, engine=AuditEngine.DUCKDB, skip_bad=True)
    assert skipped.overview["events"] == 0
    assert "Left out: altered" in render(skipped)


def test_a_cell_that_no_body_has_is_noticed_by_the_hash(tmp_path: Path) -> None:
    folder = written(tmp_path / "j", FIRST)
    forge(folder, rehash=False, took_ns=17)
    with pytest.raises(BadSegments, match="its hash is not the one that the manifest has"):
        run_replay(folder, engine=Engine.PROCESS)


def test_who_changes_the_manifest_too_is_found_by_a_deep_look(tmp_path: Path) -> None:
    folder = written(tmp_path / "j", FIRST)
    forge(folder, rehash=True, agent="eve@inn")
    both(folder)
    for command in ("replay", "audit"):
        words = ["pipeline", command, str(folder), "--engine", "duckdb", "--deep"]
        assert main(words) == 2


def test_segments_of_before_open_and_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "j", FIRST)
    forge(folder, rehash=None)
    assert main(["pipeline", "replay", str(folder), "--engine", "process"]) == 0
    assert "3 files were sealed without a hash: their columns were" in capsys.readouterr().out
    assert "3 files were sealed" in render(run_audit(folder, engine=AuditEngine.DUCKDB))
    listing = list_journal(folder).sound()
    (batch,) = read_batches(listing, "events", list(TABLES["events"]))
    assert batch.column(AT_AGAIN).to_pylist() == batch.column("at").to_pylist()
    assert batch.column("path").to_pylist() == [None, None]
    forge(folder, rehash=None, peer="eve@inn")
    with pytest.raises(BadSegments, match="column peer of record 3 is not what its body says"):
        both(folder)


def test_the_moment_has_a_name_that_needs_no_quotes(tmp_path: Path) -> None:
    folder = written(tmp_path / "j", FIRST)
    tables = [table for table in TABLES if (folder / table).exists()]
    assert {"events", "tuples", "laws", "checkpoints"} <= set(tables)
    for table in tables:
        files = str(folder / table / "*.parquet")
        asked = f"SELECT count(*) FROM '{files}' AS t WHERE happened_at = t.\"at\""
        rows = duckdb.execute(asked).fetchall()
        assert rows == duckdb.execute(f"SELECT count(*) FROM '{files}'").fetchall()


def test_spaces_without_law_are_told(tmp_path: Path) -> None:
    found = run_audit(written(tmp_path / "j", FIRST), engine=AuditEngine.DUCKDB)
    told = [(row["space"], row["governed"], row["operations"]) for row in found.tables["spaces"]]
    assert told == [("jobs", 0, 2), ("post", 1, 1)]
    words = render(found)
    assert "2 of 3 operations on tuples passed no law." in words
    assert "jobs: 1 written and 1 taken by 1 agent, from 1970-01-01 00:00:02" in words


def test_a_law_is_chosen_by_its_hash_where_two_have_one_name(tmp_path: Path) -> None:
    folder = written(tmp_path / "j", FIRST, SECOND)
    said: list[str] = []
    told: list[str] = []

    def replayed(law: CompiledLaw | None, community: str = "") -> tuple[int, int]:
        said.clear()
        report = run_replay(
            folder, law, community=community, engine=Engine.PROCESS, say=said.append
        )
        told.append(render_replay(report))
        return report.events, report.changed

    assert replayed(SECOND) == (2, 0)
    assert "2 further events of the journal are under no law, or of another" in told[-1]
    assert f"laws share a name: post ({FIRST.hash[:12]}), post ({SECOND.hash[:12]})" in said
    assert any(f"taken: {SECOND.hash[:12]};" in line for line in said)
    assert replayed(FIRST) == (2, 0)
    assert replayed(SECOND, "post") == (4, 1)  # a name takes all that have it
    assert replayed(SECOND, FIRST.hash[:8]) == (2, 1)
    with pytest.raises(OtherCommunity, match=rf"post \({FIRST.hash[:12]}\), post"):
        replayed(SECOND, "0" * 12)
