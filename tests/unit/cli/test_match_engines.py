"""`nomospace match` with databases, and over the tuples that a store has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomospace.cli import main, match_engines
from nomospace.host.changes import TuplePut
from nomospace.meaning.facts import Fact
from nomospace.protocols.spaces import Row
from nomospace.store.interface import Step, Store
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


def test_several_questions_of_the_same_tuples(
    folder: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(SqliteStore(folder / "ward.db"))
    read: list[str] = []

    def counted(url: str, space: str) -> Iterator[Fact]:
        read.append(space)
        return stored(url, space)

    stored = match_engines.stored
    monkeypatch.setattr(match_engines, "stored", counted)
    words = [word for template in TEMPLATES for word in ("--template", template)]
    asked = ["--store", str(folder / "ward.db"), "--space", "cars", "--engine", "sqlite"]
    together = match(capsys, folder, *asked, *words)
    assert read == ["cars"]
    alone = [
        {"template": template, **found}
        for template in TEMPLATES
        for found in match(capsys, folder, *asked, "--template", template)
    ]
    assert together == alone
    assert [one["template"] for one in together] == list(TEMPLATES[:2])
    (cut,) = match(capsys, folder, *asked, "--template", "(Car)", *words, "--limit", "1", code=1)
    assert cut.count("answers may be missing") == 1  # and the other questions were asked, too


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
