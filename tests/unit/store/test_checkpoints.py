"""Pages of a SQLite file move out of its log while commits go on, and never without checksums."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest

from nomospace.host.changes import SmallKept
from nomospace.store import checkpoints
from nomospace.store.checkpoints import Checkpoints
from nomospace.store.interface import Step
from nomospace.store.sqlite import SqliteStore
from nomospace.store.sums import PageSums

WITHIN_S = 60.0


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store that moves pages when its log has twenty."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_FRAMES", 20)
    with closing(SqliteStore(tmp_path / "ward.db")) as made:
        made.begin()
        yield made


class SlowDisk:
    """The thread that moves pages waits here, before each of its checksums are noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.goes_on = Event(), Event()
        self.noted: list[int] = []
        note = PageSums.note

        def slow(sums: PageSums, frames: int) -> None:
            if current_thread() is not main_thread():
                self.reached.set()
                assert self.goes_on.wait(WITHIN_S)
                self.noted.append(frames)
            note(sums, frames)

        monkeypatch.setattr(PageSums, "note", slow)


def _commit(store: SqliteStore, number: int) -> None:
    store.commit([Step((SmallKept(f"n{number % 5}", b"%d" % number * 2_000),))], at=number)


def _moved(store: SqliteStore) -> int:
    return store._checkpoints.frames()[1]


def _comes_back(store: SqliteStore, folder: Path) -> dict[str, bytes]:
    """What a host has that was killed just now."""
    folder.mkdir()
    for end in ("", "-sums", "-wal"):
        shutil.copy(f"{store.path}{end}", folder / f"ward.db{end}")
    with closing(SqliteStore(folder / "ward.db")) as copy:
        return copy.begin().durable.small


def test_commits_do_not_wait_for_pages_that_move(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)
    for number in range(50):
        _commit(store, number)
    assert disk.reached.wait(WITHIN_S)
    begun = store._checkpoints.frames()[0]
    for number in range(50, 100):  # nothing of this goes to the file: nobody has its checksums
        _commit(store, number)
    assert (_moved(store), disk.noted) == (0, [])
    disk.goes_on.set()
    store._checkpoints.settle()
    assert 20 <= disk.noted[0] == _moved(store) <= begun < store._checkpoints.frames()[0]
    found = _comes_back(store, tmp_path / "killed")
    assert found == {f"n{n}": b"%d" % (95 + n) * 2_000 for n in range(5)}


def test_a_log_begins_anew_when_little_is_left(store: SqliteStore, tmp_path: Path) -> None:
    longest = before = anew = 0
    for number in range(400):
        _commit(store, number)
        frames = store._checkpoints.frames()[0]
        longest, anew, before = max(longest, frames), anew + (frames < before), frames
        if number % 3 == 0:  # some moves end before the next commit, and others after it
            store._checkpoints.settle()
    assert anew > 5
    assert longest < 500
    assert len(_comes_back(store, tmp_path / "killed")) == 5


def test_commits_do_not_wait_each_time_that_pages_have_moved(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside: list[int] = []
    between: list[int] = []
    move = Checkpoints._move

    def told(self: Checkpoints, connection: sqlite3.Connection, frames: int) -> None:
        (between if current_thread() is main_thread() else beside).append(frames)
        move(self, connection, frames)

    monkeypatch.setattr(Checkpoints, "_move", told)
    disk = SlowDisk(monkeypatch)
    for number in range(1_000):
        _commit(store, number)
        if disk.reached.is_set():  # a commit has come meanwhile: not all has moved
            disk.reached.clear()
            _commit(store, number)
            disk.goes_on.set()
            store._checkpoints.settle()
            disk.goes_on.clear()
    disk.goes_on.set()
    assert len(between) > 5
    assert min(between) >= 2 * 20
    assert len(beside) >= len(between)


def test_commits_wait_for_a_log_that_is_too_long(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "LOG_FRAMES_MAX", 60)
    disk = SlowDisk(monkeypatch)
    settle = Checkpoints.settle

    def goes_on(self: Checkpoints) -> None:
        disk.goes_on.set()
        settle(self)

    monkeypatch.setattr(Checkpoints, "settle", goes_on)
    for number in range(200):
        _commit(store, number)
        assert store._checkpoints.frames()[0] < 60 + 20
        disk.goes_on.clear()
    disk.goes_on.set()


def test_who_reads_for_long_is_not_asked_at_each_commit(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    move = Checkpoints._move

    def counted(self: Checkpoints, connection: object, frames: int) -> None:
        tried.append(frames)
        move(self, connection, frames)  # type: ignore[arg-type]

    monkeypatch.setattr(Checkpoints, "_move", counted)
    store.pin()
    for number in range(100):
        _commit(store, number)
        store._checkpoints.settle()
    assert 1 <= len(tried) <= 1 + 100 * 20 // checkpoints.CHECKPOINT_AGAIN
    assert _moved(store) < store._checkpoints.frames()[0]
