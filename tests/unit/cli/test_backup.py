"""`nomospace backup`, `restore` and `doctor --store`, while a host runs and after it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nomospace.cli import main
from nomospace.store.opening import open_store
from tests.servers import shared_postgres
from tests.unit.cli.running import Say, running


def run(capsys: Say, *words: object, code: int = 0) -> str:
    """What a command prints, on stdout when it went well and on stderr otherwise."""
    got = main([*map(str, words)])
    told = capsys.readouterr()
    assert got == code, told
    return told.out if code == 0 else told.err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of three tuples, and a backup from when there were two.

    What was written to a space that is not durable is in neither.
    """
    folder = tmp_path_factory.mktemp("ward")
    store, file = str(folder / "ward.db"), str(folder / "ward.backup")
    with running(folder, "ward", "--store", store) as url:

        def out(number: int) -> None:
            assert main(["tuple", "out", "jobs", "job", str(number), "--host", url]) == 0

        assert main(["tuple", "out", "fleeting", "x", "--no-durable", "--host", url]) == 0
        out(1)
        out(2)
        assert main(["backup", "--store", store, file]) == 0
        out(3)
        assert main(["restore", file, "--store", store, "--force"]) == 2, "a host has it open"
        assert main(["doctor", "--store", store]) == 0
        assert main(["doctor", "--host", url]) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return shutil.copytree(made, tmp_path / "ward")


def tuples(store: object) -> list[tuple[Any, ...]]:
    """What a host would find in a store."""
    with closing(open_store(str(store))) as opened:
        found = opened.begin().durable.tuples
    return [row.fields for rows in found.values() for row in rows.values()]


def test_a_store_of_one_moment(folder: Path, capsys: Say) -> None:
    new = folder / "new.db"
    told = json.loads(run(capsys, "restore", folder / "ward.backup", "--store", new, "--json"))
    assert (told["store"], told["life"]) == (str(new), 1)
    assert tuples(new) == [("job", 1), ("job", 2)]
    assert tuples(folder / "ward.db") == [("job", 1), ("job", 2), ("job", 3)]


def test_a_store_that_is_replaced_is_put_aside(folder: Path, capsys: Say) -> None:
    words = ["restore", folder / "ward.backup", "--store", folder / "ward.db"]
    assert "is not empty" in run(capsys, *words, code=2)
    for _ in range(2):
        told = run(capsys, *words, "--force")
        assert told.startswith(f"restored {folder}/ward.db from {folder}/ward.backup: ")
    assert tuples(folder / "ward.db") == [("job", 1), ("job", 2)]
    assert tuples(folder / "ward.db.replaced-1") == [("job", 1), ("job", 2), ("job", 3)]
    assert tuples(folder / "ward.db.replaced-2") == [("job", 1), ("job", 2)]
    assert not list(folder.glob(".*"))


def test_stores_of_workers_that_a_backup_knows_nothing_of_are_put_aside(
    folder: Path, capsys: Say
) -> None:
    """Else their agents would stand beside those of the restored store."""
    shutil.copy(folder / "ward.db", folder / "ward.3.db")
    new = ["restore", folder / "ward.backup", "--store", folder / "ward.db"]
    (folder / "ward.db").rename(folder / "before.db")
    assert "ward.3.db is not empty" in run(capsys, *new, code=2)
    run(capsys, *new, "--force")
    assert tuples(folder / "ward.db") == [("job", 1), ("job", 2)]
    assert not (folder / "ward.3.db").exists()
    assert tuples(folder / "ward.3.db.replaced-1") == [("job", 1), ("job", 2), ("job", 3)]


def test_through_another_kind_of_store(folder: Path, capsys: Say) -> None:
    database, back = shared_postgres().fresh(), folder / "back"
    run(capsys, "restore", folder / "ward.backup", "--store", database)
    assert "is not empty" in run(
        capsys, "restore", folder / "ward.backup", "--store", database, code=2
    )
    told = run(capsys, "restore", back, "--store", database, "--force", code=2)
    assert "name another schema" in told
    run(capsys, "backup", "--store", database, back)
    run(capsys, "restore", back, "--store", folder / "new.db")
    assert tuples(folder / "new.db") == [("job", 1), ("job", 2)]
    assert "is sound" in run(capsys, "doctor", "--store", database)


def test_files_are_not_replaced_by_a_slip(folder: Path, capsys: Say) -> None:
    words = ["backup", "--store", folder / "ward.db", folder / "ward.backup"]
    assert "--force replaces it" in run(capsys, *words, code=2)
    run(capsys, *words, "--force")
    nowhere, new = folder / "no" / "b", folder / "new.db"
    assert "No such file" in run(capsys, "backup", "--store", folder / "ward.db", nowhere, code=2)
    assert "No such file" in run(capsys, "restore", nowhere, "--store", new, code=2)
    assert "no such store" in run(capsys, "backup", "--store", new, folder / "b", code=2)
    assert "ends with its host" in run(capsys, "backup", "--store", "memory", "b", code=2)
    assert "ends with this" in run(capsys, "restore", nowhere, "--store", "memory", code=2)
    assert not new.exists()


def test_a_backup_that_was_altered_is_refused(folder: Path, capsys: Say) -> None:
    file = folder / "ward.backup"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    told = run(capsys, "restore", file, "--store", folder / "new.db", code=1)
    assert "altered" in told
    assert not list(folder.glob("*new.db*"))


def test_damage_is_named_and_told_to_programs(folder: Path, capsys: Say) -> None:
    store = folder / "ward.db"
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE tuples SET body = x'00' WHERE count = 2")
    assert main(["doctor", "--store", str(store), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    (found,) = report["findings"]
    assert found["state"] == "damaged"
    assert "cli@ward#2 in jobs" in found["what"]
    assert "nomospace restore" in found["mend"]
    store.write_bytes(b"not a database at all" * 100)
    assert main(["doctor", "--store", str(store)]) == 1
    assert "damaged" in capsys.readouterr().out
    run(capsys, "restore", folder / "ward.backup", "--store", store, "--force")
    assert tuples(store) == [("job", 1), ("job", 2)]
    assert "no such store" in run(capsys, "doctor", "--store", folder / "x.db", code=2)
    assert "excludes --host" in run(
        capsys, "doctor", "--store", store, "--host", "nomos://x", code=2
    )
