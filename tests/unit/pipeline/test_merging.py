"""Parts of an archive are merged: nothing is lost, nothing doubled, whoever reads or kills."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from nomospace.cli import main
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.question import Question, parse_template
from nomospace.pipeline.archive import (
    LEFT_S,
    PART,
    ArchiveManifest,
    files_of,
    read_manifest,
    write_manifest,
)
from nomospace.pipeline.jobs.compact import Compacted, run_compact
from nomospace.pipeline.jobs.match import MatchEngine, run_match
from nomospace.pipeline.jobs.replay import Engine
from nomospace.terms import obj
from tests.models.match_cases import case
from tests.models.match_databases import small
from tests.unit.pipeline.told import CARS, WRITER, Told, seal

MINUTE = 60_000_000
FACTS: dict[int, Any] = {
    number: (
        obj("Car", f"c{number // 2}", price=number),
        obj(("Tax", "Loan")[number % 2], f"x{number}"),
    )
    for number in range(2, 26)
}
QUESTION = parse_template("(Car where price < 99, Tax, Loan)", CARS)
KILLS = 4


def day(number: int) -> list[Told]:
    """Four tuples a day; the second of yesterday is taken."""
    first = 4 * number + 2
    told = [
        Told(number * MINUTE + count, count, FACTS[count], space=f"s{number % 2}")
        for count in range(first, first + 4)
    ]
    if number:
        gone = first - 3
        told.append(Told(number * MINUTE + 59, gone, FACTS[gone], "taken"))
    return told


def compacted(folder: Path, archive: Path, days: int, *, whole: bool = False) -> Compacted:
    journal = folder / f"j{days}"
    if not journal.exists():
        seal(journal, [day(number) for number in range(days)])
    return run_compact(journal, CARS, archive, engine=Engine.PROCESS, whole=whole)


def rows(archive: Path, manifest: ArchiveManifest | None = None) -> dict[str, list[Any]]:
    """All rows that count, table by table; those of a manifest that was read earlier, if given."""
    found: dict[str, list[Any]] = {}
    for part in (manifest or read_manifest(archive, CARS)).parts:
        for table, files in part.tables.items():
            for file in files:
                read = pq.read_table(archive / part.folder / file.name).to_pylist()
                assert len(read) == file.rows
                times = [row["since"] for row in read]
                assert (min(times), max(times)) == (file.first, file.last)
                assert tuple(sorted({row["space"] for row in read})) == file.spaces
                found.setdefault(table, []).extend(tuple(row.values()) for row in read)
    return {table: sorted(listed, key=repr) for table, listed in sorted(found.items())}


def said(archive: Path, **given: Any) -> list[Any]:
    found = run_match([], CARS, QUESTION, archive=archive, engine=MatchEngine.DUCKDB, **given)
    return [one.to_data() for one in found.items]


def in_memory(numbers: Any, question: Question = QUESTION) -> list[Any]:
    given = [Fact(f"{WRITER}/{number}", FACTS[number]) for number in numbers]
    return [one.to_data() for one in Matcher(question, Facts.of(given, CARS)).all().items]


def test_parts_are_merged_as_they_grow_and_answers_stay(tmp_path: Path) -> None:
    archive, once = tmp_path / "a", tmp_path / "once"
    counts = [compacted(tmp_path, archive, days).parts for days in range(1, 7)]
    assert counts == [1, 1, 2, 1, 2, 2]  # as a number in binary has ones
    compacted(tmp_path, once, 6)
    assert rows(archive) == rows(once)
    gone = [4 * number + 3 for number in range(5)]
    there = [number for number in FACTS if number not in gone]
    assert said(archive) == said(once) == in_memory(there) != []
    assert said(archive, ever=True) == in_memory(FACTS)
    assert said(archive, at=2 * MINUTE, ever=True) == in_memory(range(2, 11))
    assert compacted(tmp_path, archive, 6).merged == 0
    done = compacted(tmp_path, archive, 6, whole=True)
    assert (done.merged, done.parts, done.tuples) == (2, 1, 0)
    (part,) = read_manifest(archive, CARS).parts
    assert len(part.segments) == 6
    assert rows(archive) == rows(once)
    assert said(archive) == in_memory(there)


def test_what_recurs_is_counted_beforehand_and_files_that_cannot_answer_are_not_opened(
    tmp_path: Path,
) -> None:
    archive = tmp_path / "a"
    compacted(tmp_path, archive, 1)
    compacted(tmp_path, archive, 3)
    manifest = read_manifest(archive, CARS)
    (part,) = manifest.parts
    assert part.recurring == {"Car": (2, 2), "Tax": (1, 1), "Loan": (1, 1)}
    parts = [(archive / part.folder, part)]
    assert len(files_of(parts, "o_Car")) == 1
    assert files_of(parts, "o_Car", at=-1) == ()
    assert files_of(parts, "o_Car", space="elsewhere") == ()
    assert len(files_of(parts, "o_Car", at=MINUTE, space="s1")) == 1
    # A part that was not counted, as of an earlier version, is counted when it is asked.
    bare = msgspec.structs.replace(part, recurring={})
    before = said(archive)
    write_manifest(archive, msgspec.structs.replace(manifest, parts=(bare,)))
    assert said(archive) == before != []


def test_whoever_read_before_reads_on_and_folders_go_when_their_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "a"
    compacted(tmp_path, archive, 1)
    early = read_manifest(archive, CARS)
    before = rows(archive, early)
    assert compacted(tmp_path, archive, 2).merged == 2
    assert rows(archive, early) == before
    assert len(list(archive.glob(f"{PART}*"))) == 3
    later = read_manifest(archive, CARS)
    assert [one.folder for one in later.left][:1] == [early.parts[0].folder]
    moved = tuple(
        [msgspec.structs.replace(one, since=one.since - LEFT_S * 10**6) for one in later.left]
    )
    write_manifest(archive, msgspec.structs.replace(later, left=moved))
    compacted(tmp_path, archive, 2)
    assert [one.name for one in archive.glob(f"{PART}*")] == [later.parts[0].folder]
    assert read_manifest(archive, CARS).left == ()


@pytest.mark.parametrize("seed", [3, 40, 77])
def test_generated_cases_by_duckdb(tmp_path: Path, seed: int) -> None:
    """Half of the tuples in one part, half in another, some not compacted."""
    made = case(seed)
    while not small(made, 4):
        seed += 1
        made = case(seed)
    told = [Told(count, count, fact.fields) for count, fact in enumerate(made.facts)]
    third = max(1, len(told) // 3)
    several = [told[:third], told[third : 2 * third], told[2 * third :]]
    archive = tmp_path / "a"
    for count in (1, 2):
        journal = seal(tmp_path / f"j{count}", several[:count])
        run_compact(journal, made.ontology, archive, engine=Engine.PROCESS)
    journal = seal(tmp_path / "j", [one for one in several if one])
    found = run_match(
        [journal], made.ontology, made.question, archive=archive, engine=MatchEngine.DUCKDB
    )
    given = [Fact(f"{WRITER}/{count}", fact.fields) for count, fact in enumerate(made.facts)]
    expected = Matcher(made.question, Facts.of(given, made.ontology)).all()
    assert [one.to_data() for one in found.items] == [one.to_data() for one in expected.items]


# -- killed ----------------------------------------------------------------------------------------

_PROGRAM = """
import json, os, shutil, signal, sys
from pathlib import Path
import pyarrow.parquet as pq
from nomospace.pipeline import archive as archives
from tests.unit.pipeline.test_merging import compacted

folder, before, kills, count = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]), 0

def step(call, last):
    "Each step on disk may be the last one: before it, or when it is done."
    def stepped(*given, **named):
        global count
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)
    return stepped

for number, last in enumerate(kills):
    place = folder / str(number)
    shutil.copytree(before, place)
    child = os.fork()
    if not child:
        pq.ParquetWriter.close = step(pq.ParquetWriter.close, last)
        archives.sync = step(archives.sync, last)
        Path.replace = step(Path.replace, last)
        archives.shutil.rmtree = step(shutil.rmtree, last)
        compacted(before.parent, place, 4)  # its journal is there
        print(json.dumps([number, count]), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
"""


def killed_at(folder: Path, before: Path, kills: list[int]) -> dict[int, int]:
    """Compact copies of an archive, each killed at a step; those that ended, with their steps."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), str(before), json.dumps(kills)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


def test_killed_in_the_middle_readers_see_the_old_or_the_new_whole(tmp_path: Path) -> None:
    """Three days are there, in two parts, and one folder's time is over; a fourth day comes."""
    before = tmp_path / "before"
    for days in (1, 2, 3):
        compacted(tmp_path, before, days)
    manifest = read_manifest(before, CARS)
    old = msgspec.structs.replace(manifest.left[0], since=0)
    write_manifest(before, msgspec.structs.replace(manifest, left=(old, *manifest.left[1:])))
    shutil.copytree(before, tmp_path / "after")
    compacted(tmp_path, tmp_path / "after", 4)
    was, will_be = rows(before), rows(tmp_path / "after")
    (steps,) = killed_at(tmp_path / "whole", before, [0]).values()
    assert steps > 20
    kills = sorted(Random(7).sample(range(1, steps + 1), KILLS))
    assert killed_at(tmp_path / "killed", before, kills) == {}
    seen: list[bool] = []
    for number in range(KILLS):
        archive = tmp_path / "killed" / str(number)
        found = rows(archive)
        assert found in (was, will_be)
        seen.append(found == was)
        compacted(tmp_path, archive, 4)  # whoever comes next ends it
        assert rows(archive) == will_be
        after = read_manifest(archive, CARS)
        named = {part.folder for part in after.parts} | {one.folder for one in after.left}
        assert {one.name for one in archive.glob(f"{PART}*")} == named
    assert {True, False} == set(seen)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seal(tmp_path / "j", [day(0)])
    (tmp_path / "cars.yaml").write_text("name: cars\nclasses:\n  Car: {}\n  Tax: {}\n  Loan: {}\n")
    known = ["--ontology", str(tmp_path / "cars.yaml"), "--archive", str(tmp_path / "a")]
    words = ["pipeline", "compact", str(tmp_path / "j"), *known, "--engine", "process"]
    assert main(words) == 0
    assert "4 tuples added from 1 segment in" in capsys.readouterr().out
    asked = ["pipeline", "match", *known, "--template", "(Car, Tax, Loan)", "--engine", "duckdb"]
    assert main(asked) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["tuples"] for one in answers] == [
        ["ann@ward#2", "ann@ward#3"],
        ["ann@ward#4", "ann@ward#5"],
    ]
    assert main([*words, "--whole"]) == 0
