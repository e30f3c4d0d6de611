"""`nomospace journal`: the tail of a host in another process, its segments, and exports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nomospace.cli import main
from nomospace.store.opening import open_store
from nomospace.store.segments import SegmentLimits, read_manifest, seal
from tests.servers import shared_postgres
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


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_a_host_lets_old_segments_go_and_says_from_where_its_journal_can_be_read(
    capsys: Say, tmp_path: Path, store: str
) -> None:
    where = "ward.db" if store == "sqlite" else shared_postgres().fresh()
    journal, config = tmp_path / "journal", tmp_path / "ward.toml"
    config.write_text(f'[journal]\nfolder = "{journal}"\nrows = 4\nseconds = 0.2\nkeep_bytes = 1\n')
    with running(tmp_path, "ward", "--store", where, "--config", str(config)) as url:
        cli = Cli(capsys, url)

        def write(number: int) -> None:
            """Let it have one record more, and seal it."""
            cli.run("tuple", "out", "jobs", "n", str(number))
            last = json.loads(cli.run("journal", "tail", "-n", "1", "--json"))["seq"]
            wait_until(lambda: read_manifest(journal).last >= last)

        write(0)
        run(capsys, "hold", journal, "audit", "--after", 0)
        write(1)
        assert main(["journal", "ls", str(journal)]) == 0
        assert "audit holds all records after 0" in capsys.readouterr().err
        run(capsys, "hold", journal, "audit", "--release")
        before = read_manifest(journal)
        assert (before.gone, len(before.segments)) == (0, 2)
        write(2)
        log = tmp_path / "ward.log"
        wait_until(lambda: "segments-let-go" in log.read_text())
        gone = read_manifest(journal).gone
        assert gone == before.last  # the newest segment stays
        assert main(["doctor", "--host", url]) == 0
        told = capsys.readouterr().out
        assert f"{journal} has records {gone + 1} to {read_manifest(journal).last}" in told
        refused = run(capsys, "export", journal, "--after", 1, code=2)
        assert f"it is kept from record {gone + 1} on" in refused
        assert f"(--after {gone})" in refused
        told = run(capsys, "export", journal, "--table", "tuples", "--after", gone)
        assert json.loads(told.splitlines()[-1])["fields_text"] == "[n,2]"
        refused = run(capsys, "hold", journal, "late", "--after", 0, code=2)
        assert f"from record {gone + 1} on" in refused


def wait_until(holds: Callable[[], bool]) -> None:
    """What another process does comes to pass."""
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it has not come to pass"
        time.sleep(0.05)


def test_segments_are_let_go_by_a_command(capsys: Say, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    assert main(["journal", "make", "--events", "400", "--agents", "10", str(journal)]) == 0
    (folder,) = [path.parent for path in journal.rglob("manifest.json")]
    capsys.readouterr()
    assert "--days" in run(capsys, "prune", folder, code=2)
    kept = json.loads(run(capsys, "prune", folder, "--days", 100_000, "--json"))
    assert (kept["segments"], kept["gone"]) == (0, 0)
    assert run(capsys, "prune", folder, "--bytes", 1) == "0 segments were let go, 1 are left\n"
