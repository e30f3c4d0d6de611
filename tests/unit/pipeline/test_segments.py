"""Segments that are missing, damaged or too new are named, and skipped only when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.segments import (
    BadSegments,
    EventFilter,
    NoJournal,
    list_journal,
    read_batches,
)
from nomospace.wire.segments import MANIFEST, TABLES
from tests.unit.pipeline.made import Journals

EVENTS = "events/seg-00000002.parquet"


def rewritten(path: Path, **columns: object) -> None:
    """The same rows with a column of one value."""
    table = pq.read_table(path)
    for name, value in columns.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        made = pa.array([value] * table.num_rows, field.type)
        table = table.set_column(place, field, made)
    pq.write_table(table, path, compression="zstd")


def told(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / MANIFEST).read_text())
    return found


def test_a_sound_journal_has_all_its_rows(journals: Journals) -> None:
    listing = list_journal(journals.made()).sound()
    assert listing.rows["events"] == 3_000
    assert listing.rows["laws"] == 1
    assert len(listing.files["events"]) == 4
    rows: list[Any] = [
        n for b in read_batches(listing, "events", ["seq"]) for n in b["seq"].to_pylist()
    ]
    assert len(rows) == 3_000
    assert rows == sorted(rows)


def test_a_folder_of_journals_is_a_journal(journals: Journals) -> None:
    listing = list_journal(journals.made(3_000, 60, hosts=3)).sound()
    assert listing.rows["events"] == 3_000
    assert {Path(path).parts[-3] for path in listing.files["events"]} == {
        "ward-1",
        "ward-2",
        "ward-3",
    }


def test_a_folder_without_a_manifest_is_none(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    with pytest.raises(NoJournal, match="neither it nor a folder in it"):
        list_journal(tmp_path)


def test_a_file_that_is_gone(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    (folder / EVENTS).unlink()
    listing = list_journal(folder)
    (fault,) = listing.faults
    assert (fault.kind, Path(fault.where)) == ("missing", folder / EVENTS)
    assert listing.rows["events"] == 3_000 - 1_000 + told_checkpoints(folder, 2)
    with pytest.raises(BadSegments, match=r"missing .*seg-00000002\.parquet"):
        listing.sound()
    assert listing.sound(skip_bad=True) is listing


def told_checkpoints(folder: Path, number: int) -> int:
    """How many records of a full segment are not events."""
    segments = told(folder)["segments"]
    assert isinstance(segments, list)
    rows = segments[number - 1]["rows"]
    return sum(count for table, count in rows.items() if table != "events")


def test_a_range_that_the_manifest_lacks(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    manifest = told(folder)
    del manifest["check"]  # as who changes it by hand does
    segments = manifest["segments"]
    assert isinstance(segments, list)
    gone = segments.pop(1)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    (fault,) = list_journal(folder).faults
    assert fault.kind == "missing"
    assert f"records {gone['first']} to {gone['last']} are in no segment" in fault.why


def test_a_beginning_that_was_dropped_is_no_fault(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    manifest = told(folder)
    del manifest["check"]  # as who changes it by hand does
    segments = manifest["segments"]
    assert isinstance(segments, list)
    del segments[0]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert list_journal(folder).faults == ()


def test_a_file_that_was_cut_short(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    data = (folder / EVENTS).read_bytes()
    (folder / EVENTS).write_bytes(data[: len(data) // 2])
    (fault,) = list_journal(folder).faults
    assert (fault.kind, Path(fault.where)) == ("corrupt", folder / EVENTS)


def test_a_page_that_was_damaged_is_found_by_reading(journals: Journals, tmp_path: Path) -> None:
    """Its outline and its size are as they were, so only a deep look can tell."""
    folder = journals.copied(tmp_path / "j")
    data = bytearray((folder / EVENTS).read_bytes())
    for at in range(2_000, 2_032):
        data[at] ^= 0xFF
    (folder / EVENTS).write_bytes(data)
    listing = list_journal(folder)
    assert listing.faults == ()
    (fault,) = list_journal(folder, deep=True).faults
    assert (fault.kind, Path(fault.where)) == ("corrupt", folder / EVENTS)
    with pytest.raises(BadSegments, match=r"corrupt .*seg-00000002\.parquet"):
        list(read_batches(listing, "events", list(TABLES["events"])))


def test_rows_of_a_later_version(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    rewritten(folder / EVENTS, version=7)
    (fault,) = list_journal(folder).faults
    assert (fault.kind, Path(fault.where)) == ("newer", folder / EVENTS)
    assert "it is of version 7, and this nomospace knows 1 at most" in fault.why


def test_a_manifest_of_a_later_version(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    (folder / MANIFEST).write_text(json.dumps({**told(folder), "version": 9}))
    listing = list_journal(folder)
    assert [fault.kind for fault in listing.faults] == ["newer"]
    assert listing.rows["events"] == 0


def test_a_manifest_that_is_none(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    (folder / MANIFEST).write_text("{")
    assert [fault.kind for fault in list_journal(folder).faults] == ["corrupt"]


def test_an_error_names_ten_faults_and_counts_the_rest(journals: Journals, tmp_path: Path) -> None:
    folder = journals.copied(tmp_path / "j")
    for path in folder.glob("*/*.parquet"):
        path.unlink()
    listing = list_journal([folder, folder, folder])
    with pytest.raises(BadSegments) as caught:
        listing.sound()
    lines = str(caught.value).splitlines()
    assert len(lines) == 12
    assert lines[-1] == f"  and {len(listing.faults) - 10} more"


def test_files_of_other_times_and_communities_are_not_opened(journals: Journals) -> None:
    listing = list_journal(journals.made())
    files = listing.files["events"]
    assert len(files) > 2
    times = [listing.spans[path] for path in files]
    found = [pq.read_table(path, columns=["at"]).column("at").cast("int64") for path in files]
    assert [(min(one.to_pylist()), max(one.to_pylist())) for one in found] == [
        (span.first, span.last) for span in times
    ]
    second = times[1]
    assert second.first is not None
    part = listing.within("events", EventFilter(second.first, second.first + 1))
    assert set(part.files["events"]) == {
        path
        for path, span in zip(files, times, strict=True)
        if span.first <= second.first <= span.last  # type: ignore[operator]
    }
    assert part.rows["events"] == sum(listing.spans[path].rows for path in part.files["events"])
    assert part.rows["laws"] == listing.rows["laws"]
    assert listing.within("events", EventFilter()).files == listing.files
    assert listing.within("events", EventFilter(community="ap")).files == listing.files
    assert listing.within("events", EventFilter(community="sb")).files["events"] == ()
    late = run_audit(journals.made(), EventFilter(since=10**17), engine=AuditEngine.DUCKDB)
    assert late.overview["events"] == 0
