"""`nomospace bench` with a tiny bench of its own in the registry."""

import json
from collections.abc import Iterator

import pytest

import nomospace_lab.bench as room
from nomospace.cli import main
from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun, bench, benches
from nomospace_lab.bench.report import ahead_of_peers, at_most, information, times_floor


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_registry", dict(benches()))

    @bench("tiny", "two figures that need no clock")
    def measure(run: BenchRun) -> Iterator[BenchRow]:
        run.notes.append(f"{run.rounds} rounds")
        yield BenchRow(
            what="a short thing",
            unit="µs",
            ours=0.4,
            floor=0.1,
            peers={"slow": 8.0, "absent": None},
            why_null={"absent": "it needs a compiler; run: apt-get install gcc"},
            goal=times_floor(6) & ahead_of_peers(),
            how="by decree",
        )
        if run.peers is None:
            yield BenchRow(what="a long thing", unit="ms", ours=1234.5, goal=at_most(60, "ms"))
            old = {"long ago": 99.0}
            yield BenchRow(what="history", unit="ms", ours=3.0, peers=old, goal=information())


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tiny", "--json", "--rounds", "5"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"name", "machine", "rows", "notes"}
    assert printed["name"] == "tiny"
    assert printed["notes"] == ["5 rounds"]
    assert [(r["what"], r["met"]) for r in printed["rows"]] == [
        ("a short thing", True),
        ("a long thing", False),
        ("history", True),
    ]
    assert printed["rows"][0]["peers"] == {"slow": 8.0, "absent": None}
    assert "apt-get install gcc" in printed["rows"][0]["why_null"]["absent"]


def test_the_table_gives_ratios_verdicts_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tiny"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "a short thing [at most 6 times the floor, and ahead of every peer: met]" in printed
    assert "by decree" in printed
    assert "ours 0.4 µs 4.00 times the floor" in printed
    assert "slow 8 µs 20.0 times ours" in printed
    assert "absent was not measured: it needs a compiler; run: apt-get install gcc" in printed
    assert "a long thing [at most 60 ms: missed]" in printed
    assert "ours 1,234 ms" in printed
    assert "history [for information] ours 3 ms long ago 99 ms note: 7 rounds" in printed
    assert printed.endswith("1 of 2 goals missed")


def test_strict_makes_a_missed_goal_an_exit_code() -> None:
    assert main(["bench", "tiny", "--strict"]) == 1
    assert main(["bench", "tiny", "--strict", "--peers", "none"]) == 0


def test_without_a_name_the_benches_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench"]) == 0
    listing = capsys.readouterr().out.splitlines()
    assert any(line.startswith("tiny ") and line.endswith(" need no clock") for line in listing)
    assert main(["bench", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"name": "tiny", "about": "two figures that need no clock"} in listed


def test_an_unknown_name_is_refused_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "speed"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("there is no bench 'speed'; choose one of: ")
    assert "tiny" in captured.err


def test_rounds_out_of_bounds_are_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tiny", "--rounds", "0"]) == 2
    assert "from 1 to 1,000" in capsys.readouterr().err


def test_two_benches_of_one_name_are_a_bug() -> None:
    with pytest.raises(Bug, match="two benches are called 'tiny'"):

        @bench("tiny", "another")
        def measure(run: BenchRun) -> Iterator[BenchRow]:
            yield from ()
