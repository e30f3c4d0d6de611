"""What a store, its journal and its backup leave on disk is for its owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomospace.law import load
from nomospace.store.backup import write_backup
from nomospace.store.opening import open_store
from nomospace.store.private import make_file, make_folder, narrow, open_file
from nomospace_lab.cli.journal_writing import JournalWriter


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    try:
        yield
    finally:
        os.umask(before)


def shown(folder: Path) -> dict[str, str]:
    """Files and folders that others may do something with."""
    return {
        str(path.relative_to(folder)): oct(path.stat().st_mode)
        for path in folder.rglob("*")
        if path.stat().st_mode & 0o077
    }


@pytest.mark.usefixtures("umask")
def test_stores_journals_and_backups_are_private(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b" / "ward.db"
    store = open_store(str(place))
    store.begin()
    try:
        files = {path.name for path in place.parent.iterdir()}
        assert files >= {"ward.db", "ward.db-wal", "ward.db-shm", "ward.db.lock"}
        assert shown(tmp_path) == {}, "while it is open"
        write_backup(open_store(str(place)), tmp_path / "ward.backup")
    finally:
        store.close()
    writer = JournalWriter(tmp_path / "c" / "journal", "ward")
    writer.law(load("law(open). sent(X, M, Y) :- do(forward)."), at=17)
    writer.close()
    assert len(list((tmp_path / "c").rglob("*.parquet"))) == 1
    assert shown(tmp_path) == {}


@pytest.mark.usefixtures("umask")
def test_what_was_open_to_others_is_narrowed(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "b", "c")]
    for file in files:
        file.write_text("old")
        file.chmod(0o666)
    with open_file(files[0], "w") as opened:
        assert not os.fstat(opened.fileno()).st_mode & 0o077
        opened.write("new")
    make_file(files[1])
    assert files[1].read_text() == "old"
    (tmp_path / "d").symlink_to(files[0])
    (tmp_path / "folder").mkdir(mode=0o755)
    assert narrow(sorted(tmp_path.iterdir())) == [files[2]]
    assert narrow([*files, tmp_path / "none"]) == []
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "below")
    (tmp_path / "there").mkdir(mode=0o755)
    make_folder(tmp_path / "there")
    assert stat.S_IMODE((tmp_path / "there").stat().st_mode) == 0o755, "it is not ours to change"
