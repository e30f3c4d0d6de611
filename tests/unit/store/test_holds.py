"""What is read is not let go: holds of programs, which end with them."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.jobs.replay import Engine, run_replay
from nomospace.store import holds as held
from nomospace.store.holds import LOCK, SealingAlready, holds, reading
from nomospace.store.interface import Step
from nomospace.store.journal import TupleRecord, encode_record
from nomospace.store.segments import Retention, SegmentLimits, let_go, read_manifest, seal
from nomospace.store.sqlite import SqliteStore
from nomospace_lab.cli.journal_make import write_journal
from tests.unit.pipeline.made import AP

SEGMENTS = 5
READER = """
import sys
from pathlib import Path
from nomospace.store.holds import reading
with reading(Path(sys.argv[1])) as needs:
    needs(int(sys.argv[2]))
    print("reads", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of some segments with ten records each."""
    with closing(SqliteStore(tmp_path / "ward.db")) as store:
        store.begin()
        for number in range(1, 10 * SEGMENTS + 1):
            told = TupleRecord("ward", number, "jobs", "ann@ward", number, "written", "", b"\x90")
            store.commit([Step(records=(encode_record(told),))], at=number)
        seal(store, tmp_path / "journal", SegmentLimits(rows=10, seconds=0), now=10**9)
    assert len(read_manifest(tmp_path / "journal").segments) == SEGMENTS
    return tmp_path / "journal"


def _let_go(folder: Path) -> int:
    """Let go of what may go; the last record that went."""
    return let_go(folder, Retention(bytes=1), now=10**9).gone


def test_what_a_program_reads_is_held_as_far_as_it_needs_it(folder: Path) -> None:
    with reading(folder) as needs, reading(folder) as others:
        others(45)
        assert _let_go(folder) == 0
        needs(25)
        assert _let_go(folder) == 20
        needs(50)
        assert sorted(holds(folder).values()) == [45, 50]
        assert _let_go(folder) == 40
    assert holds(folder) == {}


def test_a_program_that_was_killed_holds_nothing(folder: Path) -> None:
    command = [sys.executable, "-c", READER, str(folder), "10"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reads\n"
        assert _let_go(folder) == 10
        assert list(holds(folder).values()) == [10]
        reader.kill()
        reader.wait()
    assert _let_go(folder) == 40
    assert not list((folder / "holds").iterdir())


def test_a_folder_that_nothing_can_be_written_to_is_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "holds").touch()
    with reading(tmp_path) as needs:
        needs(5)


def test_a_process_that_never_lets_go_of_a_folder_is_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "HOLD_S", 0.1)
    with (folder / LOCK).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SealingAlready, match="another process"), reading(folder):
            pass
    assert holds(folder) == {}


def test_audits_and_replays_hold_what_they_read(tmp_path: Path) -> None:
    made = tmp_path / "made"
    write_journal(made, AP, events=600, agents=10, seed=1, hosts=1, rows=100)
    (folder,) = [path.parent for path in made.rglob("manifest.json")]
    went: list[int] = []

    def say(_: str) -> None:
        went.append(_let_go(folder))

    run_audit(made, engine=AuditEngine.DUCKDB, say=say)
    run_replay([made], engine=Engine.PROCESS, say=say)
    assert went
    assert not any(went), "nothing goes while it is read"
    assert _let_go(folder) > 0
