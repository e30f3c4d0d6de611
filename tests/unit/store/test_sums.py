"""Checksums of a SQLite file's pages, the room that comes free in it, and its log."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from errno import ENOSPC
from pathlib import Path

import pytest

from nomospace.host.changes import AgentCame, SmallKept
from nomospace.store import checkpoints, sqlite as engine
from nomospace.store.interface import Step, StoreDamaged
from nomospace.store.sqlite import SqliteStore


def _fill(store: SqliteStore, first: int, count: int) -> None:
    """Commits, each of which waits until what the one before it began to move has moved."""
    for number in range(first, first + count):
        store.commit([Step((SmallKept(f"n{number}", b"x" * 8_000),))], at=number)
        store._checkpoints.settle()


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def _lives(path: Path) -> int:
    with closing(SqliteStore(path)) as store:
        return store.begin().life


def test_pages_that_move_out_of_the_log_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_FRAMES", 20)
    path, copy = tmp_path / "ward.db", tmp_path / "killed" / "ward.db"
    copy.parent.mkdir()
    with closing(SqliteStore(path)) as store:
        store.begin()
        _fill(store, 0, 60)
        assert path.stat().st_size > 100 * 4_096  # some have moved
        for end in ("", "-wal", "-sums"):  # as after a crash
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    assert _lives(path) == 2
    assert _lives(copy) == 2
    _flip(path, 4_096 * 40 + 17)
    with pytest.raises(StoreDamaged, match=r"ward\.db is damaged"):
        _lives(path)
    _flip(path, 4_096 * 40 + 17)
    assert _lives(path) == 3  # nothing was written meanwhile


def test_a_long_log_of_a_killed_host_is_not_moved_without_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would move it with the first page that is written, whoever writes it."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_FRAMES", 10_000)
    path, copy = tmp_path / "ward.db", tmp_path / "killed" / "ward.db"
    copy.parent.mkdir()
    with closing(SqliteStore(path)) as store:
        store.begin()
        store.commit([Step(tuple([SmallKept(f"n{n}", b"x" * 8_000) for n in range(500)]))], at=1)
        assert Path(f"{path}-wal").stat().st_size > 1_000 * 4_096
        for end in ("", "-wal", "-sums"):  # as after a crash
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    assert _lives(copy) == 2
    assert _lives(copy) == 3


@pytest.mark.parametrize("short", [False, True])
def test_checksums_that_a_full_disk_had_no_room_for_are_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    """Or a host that comes back finds pages that nobody has damaged."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_FRAMES", 20)
    write, full = os.pwrite, False

    def pwrite(file: int, data: bytes, at: int) -> int:
        if not full:
            return write(file, data, at)
        if short:
            return write(file, data[: len(data) // 2], at)
        raise OSError(ENOSPC, "no room")

    monkeypatch.setattr(os, "pwrite", pwrite)
    path, copy = tmp_path / "ward.db", tmp_path / "killed" / "ward.db"
    copy.parent.mkdir()
    with closing(SqliteStore(path)) as store:
        store.begin()
        full = True
        _fill(store, 0, 40)
        full = False
        _fill(store, 40, 40)
        assert path.stat().st_size > 100 * 4_096  # some have moved
        for end in ("", "-wal", "-sums"):  # as after a crash
            shutil.copy(f"{path}{end}", f"{copy}{end}")
        full = True
    full = False
    assert _lives(copy) == 2
    assert _lives(path) == 2  # SQLite had moved the rest when it was closed
    assert _lives(path) == 3


def test_who_only_looks_keeps_the_checksums_right(tmp_path: Path) -> None:
    path = tmp_path / "ward.db"
    with closing(SqliteStore(path)) as store:
        store.begin()
        _fill(store, 0, 5)
        left = tmp_path / "left" / "ward.db"
        left.parent.mkdir()
        for end in ("", "-wal", "-sums"):
            shutil.copy(f"{path}{end}", f"{left}{end}")
    with closing(SqliteStore(left)) as store:  # the last to close it, whose log SQLite moves
        store.attach()
        assert store.last_record == 0
    assert not Path(f"{left}-wal").exists()
    assert _lives(left) == 2


def test_what_an_earlier_version_has_written_meanwhile_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ward.db"
    assert _lives(path) == 1
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE state SET life = 5")
        other.execute("INSERT INTO agents VALUES ('ann@ward', 3)")
    assert _lives(path) == 6
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE agents SET count = 4")
    with pytest.raises(StoreDamaged, match=r"page \d+: .* remove the file ward\.db-sums"):
        _lives(path)
    Path(f"{path}-sums").unlink()
    assert _lives(path) == 7


@pytest.mark.parametrize("version", [2, 8, 9, None])
def test_a_version_that_a_bit_has_changed_is_damage(tmp_path: Path, version: int | None) -> None:
    """It must not be brought up to date from there: all else is as this version has written it."""
    path = tmp_path / "ward.db"
    assert _lives(path) == 1
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("PRAGMA writable_schema = ON")  # as a bit does not ask what a column may have
        lax = "replace(sql, 'version INTEGER NOT NULL', 'version INTEGER')"
        other.execute(f"UPDATE sqlite_master SET sql = {lax} WHERE name = 'state'")
    Path(f"{path}-sums").unlink()
    assert _lives(path) == 2
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE state SET version = ?", (version,))
    with pytest.raises(StoreDamaged, match=r"page \d+|no row with a version"):
        _lives(path)


def test_a_file_gets_smaller_and_so_does_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"CHECKPOINT_FRAMES": 20, "FREE_PAGES_MIN": 10}
    for name, value in limits.items():
        monkeypatch.setattr(checkpoints, name, value)
    monkeypatch.setattr(engine, "LOG_BYTES_KEPT", 1 << 16)
    path = tmp_path / "ward.db"
    with closing(SqliteStore(path)) as store:
        store.begin()
        store._checkpoints.settle()  # pages that still move are all that do
        many = tuple([SmallKept(f"n{number}", b"x" * 8_000) for number in range(300)])
        store.commit([Step(many)], at=1)
        store._checkpoints.settle()
        size = path.stat().st_size
        assert size > 500 * 4_096
        store.commit([Step(tuple([SmallKept(one.name, b"") for one in many]))], at=2)
        for number in range(300):
            store.commit([Step((AgentCame(f"a{number}@ward", 0),))], at=3 + number)
            store._checkpoints.settle()
        assert path.stat().st_size < size / 2
        assert Path(f"{path}-wal").stat().st_size < 40 * 4_200
    assert _lives(path) == 2
