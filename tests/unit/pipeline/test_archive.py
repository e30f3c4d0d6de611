"""An archive has what journals told of tuples: all of it, once, whatever happens on the way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nomospace.meaning.ontology import PLAIN
from nomospace.meaning.question import parse_template
from nomospace.pipeline.archive import (
    MANIFEST,
    PART,
    BadArchive,
    OtherArchiveOntology,
    adding,
    read_manifest,
)
from nomospace.pipeline.jobs import compact
from nomospace.pipeline.jobs.compact import Compacted, run_compact
from nomospace.pipeline.jobs.match import MatchEngine, run_match
from nomospace.pipeline.jobs.replay import Engine
from nomospace.pipeline.laying import TooManyClasses
from nomospace.pipeline.segments import BadSegments
from nomospace.terms import obj
from tests.unit.pipeline.told import CARS, Told, seal

SEGMENTS = [
    [
        Told(10, 1, (obj("Car", "A", maker="Kia", price=5, doors=4), 7)),
        Told(20, 2, (obj("Automobile", "B", price="dear"),)),
    ],
    [
        Told(30, 1, (obj("Car", "A", maker="Kia", price=5, doors=4), 7), "taken"),
        Told(40, 3, ("job", 1.5), space="jobs"),
    ],
]


def done(journal: Path, archive: Path) -> Compacted:
    return run_compact(journal, CARS, archive, engine=Engine.PROCESS)


def rows(archive: Path, table: str) -> list[dict[str, Any]]:
    """What all parts that count have of a table."""
    return [
        row
        for part in read_manifest(archive, CARS).parts
        for file in part.tables.get(table, ())
        for row in pq.read_table(archive / part.folder / file.name).to_pylist()
    ]


def test_classes_have_typed_columns_and_the_rest_is_open(tmp_path: Path) -> None:
    journal, archive = seal(tmp_path / "j", SEGMENTS), tmp_path / "a"
    found = done(journal, archive)
    assert (found.segments, found.tuples, found.parts, found.tuples_in_all) == (2, 3, 1, 3)
    cars = rows(archive, "o_Car")
    known = ("tuple", "name", "maker", "price", "space", "since")
    assert [tuple(row[name] for name in known) for row in cars] == [
        ("ann@ward/1", "Car", "Kia", 5.0, "cars", 10),
        ("ann@ward/2", "Automobile", None, None, "cars", 20),
    ]
    rest = {(row["tuple"], row["path"], row["kind"]) for row in rows(archive, "o_Car_rest")}
    assert rest == {("ann@ward/1", "doors", "n"), ("ann@ward/2", "price", "s")}
    assert [(row["tuple"], row["since"]) for row in rows(archive, "ends")] == [("ann@ward/1", 30)]
    assert [(row["tuple"], row["space"]) for row in rows(archive, "tuples")][-1] == (
        "ann@ward/3",
        "jobs",
    )


def test_again_is_harmless_and_only_what_is_new_is_added(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    done(seal(tmp_path / "j", SEGMENTS[:1]), archive)
    before = (archive / MANIFEST).read_bytes()
    assert done(tmp_path / "j", archive).segments == 0
    assert (archive / MANIFEST).read_bytes() == before
    shutil.move(tmp_path / "j", tmp_path / "moved")  # it is known by what it holds
    assert done(tmp_path / "moved", archive).segments == 0
    found = done(seal(tmp_path / "j", SEGMENTS), archive)
    assert (found.segments, found.tuples, found.parts) == (1, 1, 2)
    assert [row["tuple"][-1] for row in rows(archive, "tuples")] == ["1", "2", "3"]
    # Another host's records have the same numbers, and are others.
    other = seal(tmp_path / "k", [[Told(10, 9, ("job", 2))]], host="ward-2")
    assert done(other, archive).tuples == 1


def test_ended_before_it_counts_it_has_added_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, archive = seal(tmp_path / "j", SEGMENTS), tmp_path / "a"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compact, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            done(journal, archive)
    assert len(list(archive.glob(f"{PART}*"))) == 1
    assert rows(archive, "tuples") == []
    assert done(journal, archive).tuples == 3
    assert [one.name for one in archive.glob(f"{PART}*")] == [
        part.folder for part in read_manifest(archive, CARS).parts
    ]


def test_a_question_to_no_archive_is_refused_before_spark_starts(tmp_path: Path) -> None:
    question = parse_template("(Car)", CARS)
    with pytest.raises(BadArchive, match="compact into it first"):
        run_match([], CARS, question, archive=tmp_path / "a")
    done(seal(tmp_path / "j", SEGMENTS), tmp_path / "a")
    with pytest.raises(OtherArchiveOntology):
        run_match([], PLAIN, question, archive=tmp_path / "a")


def test_an_archive_from_before_arrays_had_rows_is_not_asked_for_elements(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    facts = (obj("Car", "A", tags=["red", "blue"]),)
    done(seal(tmp_path / "j", [[Told(10, 1, facts)]]), archive)
    question = parse_template("(Car where any(tags) = 'red')", CARS)
    asked: Any = {"archive": archive, "engine": MatchEngine.DUCKDB}
    assert len(run_match([], CARS, question, **asked).items) == 1
    manifest = (archive / MANIFEST).read_bytes()
    (archive / MANIFEST).write_bytes(manifest.replace(b'"layout":2', b'"layout":1'))
    with pytest.raises(BadArchive, match="looked into arrays; compact into a new folder"):
        run_match([], CARS, question, **asked)
    assert len(run_match([], CARS, parse_template("(Car)", CARS), **asked).items) == 1


def test_one_adds_at_a_time(tmp_path: Path) -> None:
    journal, archive = seal(tmp_path / "j", SEGMENTS), tmp_path / "a"
    with adding(archive), pytest.raises(BadArchive, match="another compaction"):
        done(journal, archive)
    assert done(journal, archive).tuples == 3


def test_what_cannot_be_used_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, archive = seal(tmp_path / "j", SEGMENTS), tmp_path / "a"
    done(journal, archive)
    with pytest.raises(OtherArchiveOntology, match="compact into a new folder"):
        run_compact(journal, PLAIN, archive, engine=Engine.PROCESS)
    manifest = (archive / MANIFEST).read_bytes()
    for bad, why in ((b"{", "cannot be read"), (b'{"version": 99}', "version 99")):
        (archive / MANIFEST).write_bytes(bad)
        with pytest.raises(BadArchive, match=why):
            done(journal, archive)
    (archive / MANIFEST).write_bytes(manifest)
    monkeypatch.setattr("nomospace.pipeline.laying.CLASSES_MAX", 0)
    with pytest.raises(TooManyClasses):
        done(journal, tmp_path / "b")
    next((journal / "tuples").glob("*-00000002.parquet")).unlink()
    with pytest.raises(BadSegments, match="missing"):
        done(journal, archive)
