"""`nomospace journal`: the tail of a host in another process, its segments, and exports."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nomospace.cli import main
from nomospace.store.opening import open_store
from nomospace.store.segments import SegmentLimits, seal
from tests.unit.cli.running import Cli, Say, command, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ward")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with running(folder, "ward", "--store", "ward.db") as found:
        yield found


@pytest.fixture
def cli(capsys: Say, url: str) -> Cli:
    return Cli(capsys, url)


def run(capsys: Say, *words: object, code: int = 0) -> str:
    got = main(["journal", *map(str, words)])
    told = capsys.readouterr()
    assert got == code, told
    return told.out if code == 0 else told.err


def test_the_tail_follows_what_happens(cli: Cli, url: str, tmp_path: Path) -> None:
    words = ("journal", "tail", "--follow", "--host", url, "--json")
    with command(tmp_path, *words) as child:
        cli.run("tuple", "out", "jobs", "job", "17")
        cli.run("tuple", "take", "jobs", "job", "_")
        lines = [json.loads(child.stdout.readline()) for _ in range(2)]
    assert [(one["table"], one["op"], one["fields"]) for one in lines] == [
        ("tuples", "written", "[job,17]"),
        ("tuples", "taken", "[job,17]"),
    ]
    told = cli.run("journal", "tail", "-n", "1")
    assert told.count("\n") == 1
    assert "cli@ward: taken cli@ward#1 of jobs: [job,17]" in told


def test_segments_and_exports(folder: Path, cli: Cli, capsys: Say, tmp_path: Path) -> None:
    before = time.time_ns() // 1_000
    for number in range(3):
        cli.run("tuple", "out", "sealed", "n", str(number))
    journal, store = folder / "journal", open_store(str(folder / "ward.db"))
    store.attach()
    try:
        (made,) = seal(store, journal, SegmentLimits(seconds=0), now=time.time_ns() // 1_000)
    finally:
        store.close()
    (line,) = [json.loads(one) for one in run(capsys, "ls", journal, "--json").splitlines()]
    assert (line["first"], line["last"]) == (made.first, made.last)
    assert line["from"] <= line["until"] <= time.time_ns() // 1_000
    assert line["until"] >= before
    listed = run(capsys, "ls", journal).splitlines()
    assert listed[1].split()[:2] == ["1", f"{made.first}-{made.last}"]

    cli.run("tuple", "out", "later", "n", "3")
    both = [journal, "--store", folder / "ward.db", "--table", "tuples"]
    rows = [json.loads(one) for one in run(capsys, "export", *both).splitlines()]
    assert [row["fields_text"] for row in rows[-4:]] == ["[n,0]", "[n,1]", "[n,2]", "[n,3]"]
    assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})
    assert "fields" not in rows[0]
    after = run(capsys, "export", *both, "--after", rows[-2]["seq"])
    assert [json.loads(one) for one in after.splitlines()] == rows[-1:]
    sealed = run(capsys, "export", journal, "--table", "tuples").splitlines()
    assert json.loads(sealed[-1])["fields_text"] == "[n,2]"

    out = tmp_path / "tuples.parquet"
    told = run(capsys, "export", *both, "--format", "parquet", "--out", out)
    assert told == f"wrote {len(rows):,} rows of tuples to {out}\n"
    table = pq.read_table(out)
    assert table.column("fields_text").to_pylist()[-1] == "[n,3]"
    assert table.column("fields").to_pylist()[-1]
    assert "--force replaces it" in run(
        capsys, "export", *both, "--format", "parquet", "--out", out, code=2
    )
    run(capsys, "export", *both, "--out", out, "--force", "--json")
    assert len(out.read_text().splitlines()) == len(rows)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["export"], "name a journal folder, or a store"),
        (["export", ".", "--format", "parquet"], "parquet needs a file"),
        (["export", "no/such/folder"], "is no journal folder"),
        (["export", "--store", "no.db"], "there is no such store"),
        (["ls", "no/such/folder"], "is no journal folder"),
    ],
)
def test_what_cannot_be_read(
    words: list[str], why: str, capsys: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert why in run(capsys, *words, code=2)


def test_a_segment_that_was_moved_away(folder: Path, capsys: Say, tmp_path: Path) -> None:
    manifest = '{"version":1,"segments":[{"number":1,"first":1,"last":2,"rows":{"tuples":2},'
    (tmp_path / "manifest.json").write_text(manifest + '"bytes":{"tuples":9}}]}')
    told = run(capsys, "ls", tmp_path, code=2)
    assert "seg-00000001.parquet" in told
    assert "moved away" in told
