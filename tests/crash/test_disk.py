"""What a power cut may leave of a disk: all that, and nothing else."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.disk import Disk, Unfollowed


def _states(folder: Path, *events: tuple[Any, ...]) -> set[frozenset[tuple[str, bytes | None]]]:
    """What is left at the end, in all ways that chance finds."""
    numbered = [(at, *event) for at, event in enumerate(events, 1)]
    disk = Disk(folder, numbered)
    left = [disk.state(len(events), random.Random(seed)) for seed in range(300)]
    return {frozenset(state.items()) for state in left}


def _here(folder: Path) -> int:
    return folder.stat().st_ino


def test_what_was_not_synced_may_be_lost_torn_or_there(tmp_path: Path) -> None:
    new, old = b"n" * 512, b"o" * 1024
    left = _states(
        tmp_path,
        ("new", 7, f"{tmp_path}/a"),
        ("write", 7, 0, old),
        ("sync", 7, 3),
        ("sync", _here(tmp_path), 4),
        ("write", 7, 0, new + new),
    )
    found = {dict(state)["a"] for state in left}
    assert found == {old, new + new, new + old[512:], old[:512] + new}


def test_what_came_while_a_sync_was_under_way_is_not_covered_by_it(tmp_path: Path) -> None:
    events = (
        ("new", 7, f"{tmp_path}/a"),
        ("sync", _here(tmp_path), 2),
        ("write", 7, 0, b"late"),
        ("sync", 7, 3),  # it had begun before
    )
    assert {dict(state)["a"] for state in _states(tmp_path, *events)} == {b"", b"late"}
    after = (*events[:-1], ("sync", 7, 4))
    assert {dict(state)["a"] for state in _states(tmp_path, *after)} == {b"late"}


def _renamed(folder: Path) -> Iterator[tuple[Any, ...]]:
    yield ("new", 7, f"{folder}/a")
    yield ("write", 7, 0, b"old")
    yield ("sync", 7, 3)
    yield ("sync", _here(folder), 4)
    yield ("new", 8, f"{folder}/b")
    yield ("write", 8, 0, b"new")
    yield ("sync", 8, 7)
    yield ("rename", f"{folder}/b", f"{folder}/a")


def test_a_rename_is_done_or_not_until_its_folder_is_synced(tmp_path: Path) -> None:
    found = _states(tmp_path, *_renamed(tmp_path))
    assert {dict(state)["a"] for state in found} == {b"old", b"new"}
    assert any("b" in dict(state) for state in found)
    found = _states(tmp_path, *_renamed(tmp_path), ("sync", _here(tmp_path), 9))
    assert found == {frozenset({("a", b"new")})}


def test_a_file_that_was_synced_has_no_name_before_its_folder_is(tmp_path: Path) -> None:
    events = (("new", 7, f"{tmp_path}/a"), ("write", 7, 0, b"x"), ("sync", 7, 3))
    assert frozenset[tuple[str, bytes | None]]() in _states(tmp_path, *events)


def test_a_folder_that_is_lost_takes_all_in_it_along(tmp_path: Path) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    events = (
        ("new", _here(inner), str(inner)),
        ("new", 7, f"{inner}/a"),
        ("sync", 7, 3),
        ("sync", _here(inner), 4),
    )
    found = {frozenset(dict(state)) for state in _states(tmp_path, *events)}
    assert found == {frozenset(), frozenset({"in", "in/a"})}


def test_what_the_record_cannot_follow_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unfollowed, match=r"mmap on /x/ward\.db"):
        Disk(tmp_path, [(1, "unseen", "/x/ward.db", "mmap")])
    Disk(tmp_path, [(1, "unseen", "/x/ward.db-shm", "mmap")])  # SQLite makes it anew
