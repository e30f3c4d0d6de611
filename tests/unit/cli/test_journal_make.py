"""A journal that is made is one that hosts could have written, whatever machine made it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nomospace.cli import main
from nomospace.pipeline.jobs.replay import Engine, run_replay
from nomospace_lab.cli.journal_make import write_journal
from tests.unit.pipeline.made import AP

MEASURED = "took_ns"


def events(folder: Path) -> list[dict[str, Any]]:
    """The rulings of all hosts, host by host."""
    found = sorted(folder.rglob("events/*.parquet"))
    return [row for path in found for row in pq.read_table(path).to_pylist()]


def without(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != name} for row in rows]


def test_sites_are_made_side_by_side_and_every_ruling_is_what_the_law_says(tmp_path: Path) -> None:
    folder = tmp_path / "j"
    made, size = write_journal(folder, AP, events=2_401, agents=61, seed=4, hosts=3, sites=2)
    assert made == 2_401
    assert size == sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    assert sorted(path.name for path in folder.iterdir()) == [f"ward-{n}" for n in range(1, 7)]
    report = run_replay(folder, engine=Engine.PROCESS)
    assert report.exact
    assert report.events == 2_401
    assert report.members == 61
    rows = events(folder)
    hops = {row["hops"] for row in rows if row["event"] == "arrived"}
    assert hops == {0, 1, 2}
    assert all(row["hops"] == 0 for row in rows if row["event"] != "arrived")
    assert all(row[MEASURED] > 0 for row in rows if row["event"] != "exception")
    # Sites do not meet: whoever is of the first three hosts writes to nobody of the others.
    first = ("@ward-1", "@ward-2", "@ward-3")
    pairs = [(row["agent"], row["peer"]) for row in rows if row["peer"] is not None]
    assert all(one.endswith(first) == other.endswith(first) for one, other in pairs)


def test_the_same_seed_gives_the_same_rulings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seed in (("a", "4"), ("b", "4"), ("c", "5")):
        words = ["--events", "1500", "--agents", "30", "--hosts", "2", "--seed", seed]
        assert main(["journal", "make", *words, str(tmp_path / name)]) == 0
    assert "wrote 1,500 rulings under ap to" in capsys.readouterr().out
    one, again, other = (without(events(tmp_path / name), MEASURED) for name in "abc")
    assert one == again
    assert one != other
    assert main(["journal", "make", str(tmp_path / "a")]) == 2
    assert "it is there already" in capsys.readouterr().err


def test_a_market_of_tuples_that_belong_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "j"
    words = ["--events", "50", "--agents", "8", "--tuples", "1200", "--sites", "2"]
    assert main(["journal", "make", *words, str(folder)]) == 0
    assert "wrote 50 rulings and 1,200 tuples under ap" in capsys.readouterr().out
    known = ["--ontology", str(folder / "market.yaml"), "--archive", str(tmp_path / "a")]
    assert main(["pipeline", "compact", str(folder), *known, "--engine", "process"]) == 0
    assert "1,200 tuples added" in capsys.readouterr().out
    template = "(Car where price.amount < 4000, CarInsurance, CarFinance)"
    asked = ["pipeline", "match", *known, "--engine", "duckdb", "--template", template]
    assert main(asked) == 0
    there = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(len(one["tuples"]) == 2 for one in there)
    assert main([*asked, "--ever"]) == 0
    ever = len(capsys.readouterr().out.splitlines())
    assert 50 < len(there) < ever  # some were taken


def test_sites_without_anyone_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["journal", "make", "--events", "100", "--agents", "3", "--sites", "4"]
    assert main([*words, str(tmp_path / "j")]) == 2
    assert "3 members cannot be shared out" in capsys.readouterr().err
    assert not (tmp_path / "j").exists()
