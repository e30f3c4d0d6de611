"""`nomospace sim`, as a user meets it."""

import json

import pytest

from nomospace.cli import main
from nomospace.law import load
from nomospace_lab import apps
from nomospace_lab.sim import Verdict, World, no, workload

OPEN = load("law(open). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")


def never(world: World) -> Verdict:
    return no("pigs fly", "they do not", *list(world.history)[:1])


@workload("test-failing", "always fails", checkers=(never,))
def build(seed: int) -> World:
    world = World(seed)
    world.join("ann@x", OPEN)
    return world


def test_the_report_has_the_keys_that_others_build_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--workload", "messages", "--seeds", "3", "--from", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["workload", "seeds", "failed", "checked", "took_s"]
    assert (told["workload"], told["seeds"], told["failed"]) == ("messages", 3, [])
    assert told["checked"]["letters are seen by their addressee only"] > 0


def test_failing_seeds_come_with_the_command_that_replays_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sim", "--workload", "test-failing", "--seeds", "2", "--from", "4"]) == 1
    out = capsys.readouterr().out
    assert "2 of 2 worlds failed" in out
    assert "  nomospace sim --workload test-failing --seed 4\n" in out
    assert main(["sim", "--workload", "test-failing", "--seeds", "2", "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["failed"] == [0, 1]
    assert "replay it with: nomospace sim --workload test-failing --seed 1" in printed.err


def test_a_failed_seed_tells_its_story_and_its_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--workload", "test-failing", "--seed", "4"]) == 1
    out = capsys.readouterr().out
    assert "08:00:00.000  ann@x  noted (no rule applies): adopted([])" in out
    assert "no: pigs fly (1 cases)\n  they do not\n" in out


def test_one_seed_tells_its_story_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--workload", "wall", "--seed", "2"]) == 0
    first = capsys.readouterr().out
    assert main(["sim", "--workload", "wall", "--seed", "2"]) == 0
    assert capsys.readouterr().out == first
    assert " crashed\n" in first
    assert "refused (no rule applies): sent(" in first
    assert main(["sim", "--workload", "wall", "--seed", "2", "--about", "crashed"]) == 0
    story = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert story
    assert all("crashed" in line for line in story)


def test_one_seed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--workload", "wall", "--seed", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["failed"] is False
    assert len(told["history"]) == 64
    assert {verdict["answer"] for verdict in told["verdicts"]} == {"yes"}


def test_ctrl_c_tells_what_was_found_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    def build(seed: int) -> World:
        if seed == 2:
            raise KeyboardInterrupt
        return World(seed)

    workload("test-stopped", "ends by hand", checkers=())(build)
    assert main(["sim", "--workload", "test-stopped", "--seeds", "9", "--json"]) == 130
    printed = capsys.readouterr()
    assert json.loads(printed.out)["seeds"] == 2
    assert "interrupted after 2 of 9 worlds" in printed.err


def test_the_workloads_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == list(apps.WORKLOADS)


def test_an_unknown_workload_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--workload", "hopsital"]) == 2
    said = capsys.readouterr().err
    assert "there is no workload 'hopsital'; there are assistants, bidding, " in said


@pytest.mark.parametrize("bad", [["--seeds", "0"], ["--seeds", "x"], ["--seed", "-1"]])
def test_bad_numbers_are_bad_input(bad: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", *bad]) == 2
