"""`nomospace match` with databases, and over the tuples that a store has."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomospace.cli import main, match_engines
from nomospace.host.changes import TuplePut
from nomospace.meaning.facts import Fact
from nomospace.protocols.spaces import Row
from nomospace.store.interface import Step, Store
from nomospace.store.opening import open_store
from nomospace.store.sqlite import SqliteStore
from nomospace.terms import obj
from tests.servers import shared_postgres
from tests.unit.cli.running import Say

ONTOLOGY = """
classes:
  Car:          {synonyms: [Automobile], properties: {price: Price}}
  SportsCar:    {parents: [Car]}
  Price:        {properties: {amount: number}}
  CarInsurance: {}
  CarFinance:   {}
"""
TUPLES = """
{"id": "t1", "fields": [{"class": "SportsCar", "id": "A", "properties": {"price": {"class": "Price", "properties": {"amount": 4000}}}}, {"class": "CarInsurance", "id": "B"}]}
{"id": "t2", "fields": [{"class": "SportsCar", "id": "A", "properties": {"price": {"class": "Price", "properties": {"amount": 4000}}}}, {"class": "CarFinance", "id": "C"}]}
{"id": "t3", "fields": [{"class": "Automobile", "id": "D", "properties": {}}, {"class": "CarFinance", "id": "C"}, 17]}
""".strip()  # noqa: E501
TEMPLATES = (
    "(Car where price.amount < 5000, CarInsurance = B, CarFinance)",
    "(Car, CarFinance)",
    "(Car, int)",
    "(Price)",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cars.yaml").write_text(ONTOLOGY)
    (tmp_path / "tuples.jsonl").write_text(TUPLES)
    return tmp_path


def match(capsys: Say, folder: Path, *words: str, code: int = 0) -> list[Any]:
    got = main(["match", "--ontology", str(folder / "cars.yaml"), *words])
    told = capsys.readouterr()
    assert got == code, told
    return [json.loads(line) for line in told.out.splitlines()] if code == 0 else [told.err]


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "duckdb"])
def test_databases_print_what_memory_prints(engine: str, folder: Path, capsys: Say) -> None:
    url = ["--url", shared_postgres().url] if engine == "postgres" else []
    for template in TEMPLATES:
        asked = ["--tuples", str(folder / "tuples.jsonl"), "--template", template]
        for how in ([], ["--any"], ["--correlate", "always"]):
            expected = match(capsys, folder, *asked, *how)
            assert match(capsys, folder, *asked, *how, "--engine", engine, *url) == expected
    (found,) = match(capsys, folder, "--tuples", str(folder / "tuples.jsonl"), "--template",
                     TEMPLATES[0], "--engine", engine, *url)  # fmt: skip
    assert found["tuples"] == ["t1", "t2"]
    assert found["why"] == "SportsCar is a Car; t1 and t2 share SportsCar A"


def fill(store: Store) -> None:
    """A car in two tuples, and another space."""
    store.begin()
    car = obj("SportsCar", "A", price=obj("Price", amount=4000))
    rows = [
        Row((car, obj("CarInsurance", "B")), "ann@ward", 1, "", ""),
        Row((car, obj("CarFinance", "C")), "bob@ward", 7, "", ""),
    ]
    puts = [TuplePut("cars", row) for row in rows]
    other = TuplePut("boats", Row((obj("CarFinance", "X"),), "ann@ward", 2, "", ""))
    store.commit([Step((*puts, other))], at=1)
    store.close()


def test_the_tuples_of_a_store(folder: Path, capsys: Say) -> None:
    fill(SqliteStore(folder / "ward.db"))
    asked = ["--store", str(folder / "ward.db"), "--template", TEMPLATES[0]]
    for engine in ("memory", "sqlite", "duckdb"):
        (found,) = match(capsys, folder, *asked, "--space", "cars", "--engine", engine)
        assert found["tuples"] == ["ann@ward#1", "bob@ward#7"]
    (told,) = match(capsys, folder, *asked, "--space", "planes", code=2)
    assert "--space planes" in told
    assert "boats, cars" in told


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_tables_are_kept_for_the_next_question(
    engine: str, folder: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(folder / "ward.db")
    if engine == "postgres":
        url = f"{shared_postgres().url}?schema=kept_cli"
    fill(open_store(url))
    asked = ["--store", url, "--space", "cars", "--template", TEMPLATES[0], "--engine", engine]
    (alone,) = match(capsys, folder, *asked, "--no-keep")
    assert kept(capsys, "--kept", url) == []
    assert match(capsys, folder, *asked) == [alone]
    (told,) = kept(capsys, "--kept", url)
    assert (told["space"], told["tuples"]) == ("cars", 2)
    assert told["bytes"] > 0
    monkeypatch.setattr(match_engines, "stored", unread)
    assert match(capsys, folder, *asked, "--any") == [alone]
    assert kept(capsys, "--drop-kept", url) == [{"dropped": 1}]
    assert kept(capsys, "--kept", url) == []


def unread(url: str, space: str) -> Iterator[Fact]:
    """The tuples of a store that nobody is to read one by one."""
    yield pytest.fail(f"{space} of {url} is read")


def kept(capsys: Say, *words: str) -> list[Any]:
    assert main(["match", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_tables_that_cannot_be_kept(folder: Path, capsys: Say) -> None:
    fill(SqliteStore(folder / "ward.db"))
    place = folder / "ward.db.meaning"
    place.write_text("a file of that name")
    words = ["match", "--ontology", str(folder / "cars.yaml"), "--store", str(folder / "ward.db")]
    words += ["--space", "cars", "--template", TEMPLATES[0], "--engine", "sqlite"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert '"tuples": ["ann@ward#1", "bob@ward#7"]' in told.out
    why = "cannot be used (File exists); this question is answered from temporary tables"
    assert told.err == f"nomospace match: the kept tables {place} {why}\n"
    place.unlink()
    assert main([*words, "--space", "planes"]) == 2  # and no table is made for it
    assert not place.exists()
    capsys.readouterr()
    assert main(words) == 0
    tear(next(place.glob("*.db")), "o_SportsCar")
    capsys.readouterr()
    assert main(words) == 0  # found when it is asked, not when it is opened
    told = capsys.readouterr()
    assert '"tuples": ["ann@ward#1", "bob@ward#7"]' in told.out
    assert told.err.endswith("they are made anew\n")
    assert told.err.count("\n") == 1
    next(place.glob("*.db")).write_text("a file of that name")
    (one,) = kept(capsys, "--kept", str(folder / "ward.db"))
    assert one["trouble"] == "file is not a database"
    assert main(["match", "--kept", str(folder / "none.db")]) == 2


def tear(path: Path, table: str) -> None:
    """Make the page that a table begins on unreadable."""
    connection = sqlite3.connect(path)
    pages = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
    ((page,),) = pages.fetchall()
    connection.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(data)


def test_options_that_do_not_fit(folder: Path, capsys: Say) -> None:
    file = ["--tuples", str(folder / "tuples.jsonl"), "--template", "(Car)"]
    (told,) = match(capsys, folder, *file, "--engine", "postgres", code=2)
    assert "needs postgresql://" in told
    (told,) = match(capsys, folder, *file, "--engine", "sqlite", "--url", "x", code=2)
    assert "has no address" in told
    (told,) = match(capsys, folder, *file, "--store", "x.db", "--space", "s", code=2)
    assert "--tuples FILE, or --store URL and --space NAME" in told
    (told,) = match(capsys, folder, "--template", "(Car)", "--store", "x.db", code=2)
    assert "--store URL and --space NAME" in told
