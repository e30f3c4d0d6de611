"""Sweeps in one process: a row tells what its world went through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nomospace.cli import main
from nomospace.control import Ruling, arrived
from nomospace_lab import apps
from nomospace_lab.sim import (
    Happening,
    Packet,
    Simulation,
    Verdict,
    World,
    find,
    no,
    play,
    registry,
    workload,
    yes,
)
from nomospace_lab.sim.history import LOST, RULED, SENT
from nomospace_lab.sweep.job import SweepEngine, render_sweep, run_sweep
from nomospace_lab.sweep.rows import WORLDS, waits_in, world_row

apps.load()
PROCESS = SweepEngine.PROCESS


def test_a_row_is_what_the_world_tells() -> None:
    hospital = find("hospital")
    row = world_row(hospital, 5)
    world, outcome = play(hospital, 5)
    assert world is not None
    assert (row["passed"], row["failed"], row["says"]) == (True, [], None)
    assert row["messages"] == outcome.messages > 0
    assert row["lost"] == world.history.count(LOST)
    assert row["rulings"] == world.history.count(RULED)
    assert 0 < row["latency_p50_us"] <= row["latency_p99_us"]


def packet(number: int, message: str = "hi") -> Packet:
    return Packet(("ann", number, 0), "4c1f", "ann", message, "bob")


def ruled(seq: int, message: str = "hi") -> Ruling:
    return Ruling(seq, 0, "bob", "4c1f", arrived("ann", message, "bob"), None)


def test_waits_of_messages_that_are_lost_sent_again_or_alike() -> None:
    story = [
        Happening(10, SENT, "ann", packet(1)),
        Happening(10, LOST, "bob", (packet(1), "on the way")),  # nobody ever waits for it
        Happening(20, SENT, "ann", packet(2)),
        Happening(30, SENT, "ann", packet(3)),
        Happening(34, RULED, "bob", ruled(1)),  # the second: the first of those under way
        Happening(36, RULED, "bob", ruled(2)),
        Happening(40, SENT, "ann", packet(4, "ho")),
        Happening(41, LOST, "bob", (packet(4, "ho"), "bob's host is down")),
        Happening(50, SENT, "ann", packet(4, "ho")),  # again, after a crash
        Happening(55, RULED, "bob", ruled(3, "ho")),
        Happening(60, RULED, "bob", ruled(4, "never sent")),
        Happening(70, SENT, "ann", packet(5)),  # and never ruled on
    ]
    assert list(waits_in(story)) == [14, 6, 15]


def test_hops_of_worlds_whose_hosts_count_them() -> None:
    world, _ = play(find("routing"), 0)
    assert world is not None
    left = {count: times for count, times in world.hops.items() if count}
    mean = sum(count * times for count, times in left.items()) / sum(left.values())
    assert world_row(find("routing"), 0)["hops_mean"] == mean >= 1.0


def odd_seeds_fail(world: Simulation) -> Verdict:
    return no("seeds are even", "it is odd") if world.seed % 2 else yes("seeds are even", 1)


@pytest.fixture
def strict() -> Iterator[str]:
    """Worlds of which every other fails, and the fourth cannot be built."""

    @workload("strict", "Even seeds only.", checkers=(odd_seeds_fail,), everywhere=())
    def build(seed: int) -> World:
        if seed == 4:
            raise ValueError("no world four")
        return World(seed)

    yield "strict"
    del registry["strict"]


def test_failures_are_named_and_the_others_go_on(strict: str) -> None:
    found, swept = run_sweep(find(strict), range(1, 6), engine=PROCESS)
    assert found.schema == WORLDS
    assert found.column("seed").to_pylist() == [1, 2, 3, 4, 5]
    assert swept.failed == (1, 3, 4, 5)
    rows = found.to_pylist()
    assert rows[0]["failed"] == ["seeds are even"]
    assert rows[0]["says"] == "it is odd"
    assert "no world four" in rows[3]["says"]
    assert rows[3]["rulings"] is None
    assert "nomospace sim --workload strict --seed 3" in render_sweep(swept)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pipeline", "sweep", "--workload", "hospital", "--engine", "process", "--seeds", "2"]
    parquet, lines = tmp_path / "w.parquet", tmp_path / "w.jsonl"
    assert main([*words, "--from", "7", "--json", "--out", str(parquet)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["first"]) == (2, 7)
    assert main([*words, "--from", "7", "--out", str(lines)]) == 0
    assert "hospital: 2 of 2 worlds passed" in capsys.readouterr().out
    seen = [json.loads(line) for line in lines.read_text().splitlines()]
    kept = pq.ParquetFile(parquet).read().to_pylist()
    for rows in (seen, kept):
        for row in rows:
            del row["took_s"]
    assert seen == kept
    assert [row["seed"] for row in kept] == [7, 8]
    assert main([*words, "--out", str(lines)]) == 2
    assert "it is there already" in capsys.readouterr().err
    assert main(["pipeline", "sweep", "--workload", "nowhere"]) == 2
    assert "there is no workload 'nowhere'" in capsys.readouterr().err
