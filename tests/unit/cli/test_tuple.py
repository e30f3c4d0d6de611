"""`nomospace tuple` on a host in another process, with and without certificates."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomospace import sync
from nomospace.cli import main
from tests.unit.cli.running import Cli, Say, command, running, wait_until


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("ward"), "ward", "--store", "memory") as found:
        yield found


@pytest.fixture
def cli(capsys: Say, url: str) -> Cli:
    return Cli(capsys, url)


def test_a_tuple_is_written_read_listed_and_taken(cli: Cli) -> None:
    told = cli.run("tuple", "out", "jobs", "job", "17", "room(3)", "'two words'")
    assert told == "wrote to jobs as cli@ward: job 17 room(3) 'two words'\n"
    assert cli.run("tuple", "read", "jobs", "job", "_:int", "room(_)", "_") == (
        "job 17 room(3) 'two words'\n"
    )
    assert cli.data("tuple", "ls", "jobs") == [["job", 17, "room(3)", "two words"]]
    assert cli.data("tuple", "take", "jobs", "job", "_:1..20", "_", "_:str") == [
        ["job", 17, "room(3)", "two words"]
    ]
    assert cli.run("tuple", "read", "jobs", "job", "_", "_", "_", code=1) == (
        "nothing in jobs matches\n"
    )


def test_values_of_every_kind_come_out_as_they_went_in(cli: Cli) -> None:
    fields = ["a", "2.5", "true", "null", "[1,[x]]", "b'00ff'", "f(g(1),'X')"]
    cli.run("tuple", "out", "kinds", *fields)
    assert cli.run("tuple", "ls", "kinds") == " ".join(fields) + "\n"
    assert cli.data("tuple", "take", "kinds", *["_"] * 7) == [
        ["a", 2.5, True, None, [1, ["x"]], "b'00ff'", "f(g(1),'X')"]
    ]


def test_all_that_match(cli: Cli) -> None:
    for number in ("1", "2", "30"):
        cli.run("tuple", "out", "many", "n", number)
    assert cli.data("tuple", "read", "many", "n", "_:1..10", "--all") == [["n", 1], ["n", 2]]
    assert cli.run("tuple", "take", "many", "n", "_", "--all") == "n 1\nn 2\nn 30\n"
    assert cli.run("tuple", "take", "many", "n", "_", "--all", code=1)


def test_a_negative_number_needs_two_dashes_before_it(cli: Cli) -> None:
    assert "put -- before the fields" in cli.run("tuple", "out", "temps", "-5", code=2)
    assert "No such option: --tll" in cli.run("tuple", "out", "temps", "5", "--tll", "3", code=2)
    cli.run("tuple", "out", "temps", "--", "-5")
    assert cli.run("tuple", "read", "temps", "_:-10..0") == "-5\n"


def test_slips_are_shown_before_the_host_is_asked(capsys: Say) -> None:
    nowhere = Cli(capsys, "nomos+plain://127.0.0.1:1")
    told = nowhere.run("tuple", "out", "jobs", "job", "Smith", code=2)
    assert "field 2:1:1: error [field-variable]" in told
    assert "| ^^^^^" in told
    assert "did you mean int?" in nowhere.run("tuple", "take", "jobs", "_:itn", code=2)
    told = nowhere.run("tuple", "take", "jobs", "_", "--all", "--wait", "1", code=2)
    assert told == "--all: it does not wait; leave --wait away\n"


def test_one_key_writes_once(cli: Cli) -> None:
    for number in ("1", "2"):
        cli.run("tuple", "out", "keyed", "n", number, "--once", "monday")
    cli.run("tuple", "out", "keyed", "n", "3", "--once", "tuesday")
    assert cli.run("tuple", "ls", "keyed") == "n 1\nn 3\n"


def test_for_whom_and_by_whom(cli: Cli) -> None:
    cli.run("tuple", "out", "offers", "bed", "4", "--as", "nurse", "--to", "porter@ward")
    assert cli.run("tuple", "read", "offers", "bed", "_", "--dest", "ann@ward", code=1)
    cli.run("tuple", "read", "offers", "bed", "_", "--dest", "porter@ward")
    (line,) = cli.data("tuple", "ls", "offers", "--long")
    assert (line["id"].partition("#")[0], line["holder"]) == ("nurse@ward", "nurse@ward")
    assert line["for"] == "porter@ward"
    assert f"{line['id']}  nurse@ward  porter@ward" in cli.run("tuple", "ls", "offers", "-l")
    assert cli.data("tuple", "take", "offers", "bed", "_", "--at", "nurse@ward") == [["bed", 4]]
    assert "'porter' is no agent" in cli.run("tuple", "out", "o", "x", "--to", "porter", code=2)


def test_what_is_private_is_seen_by_its_agent_and_by_operators(cli: Cli) -> None:
    cli.run("tuple", "out", "notes", "secret", "--private", "--as", "ann")
    assert cli.run("tuple", "read", "notes", "secret", "--as", "bob", code=1)
    assert cli.run("tuple", "read", "notes", "secret", "--as", "ann", "--private")
    assert cli.run("tuple", "ls", "notes") == ""  # bob shares an empty one
    assert cli.run("tuple", "ls", "notes", "--private", "ann@ward") == "secret\n"
    told = cli.run("tuple", "ls", "notes", "--private", "eve@ward", code=1)
    assert "has not a private space notes of eve@ward" in told


def test_a_tuple_goes_after_its_time(cli: Cli) -> None:
    cli.run("tuple", "out", "brief", "x", "--ttl", "0.01")
    wait_until(lambda: main(["tuple", "read", "brief", "x", "--host", cli.url]) == 1)
    assert "ttl=0.0 is no duration" in cli.run("tuple", "out", "brief", "x", "--ttl", "0", code=2)


def test_the_limit_of_a_list_is_told(cli: Cli, capsys: Say) -> None:
    for fields in (["n", "1"], ["n"], ["n", "2"]):
        cli.run("tuple", "out", "long", *fields)
    assert main(["tuple", "ls", "long", "--limit", "2", "--host", cli.url]) == 0
    told = capsys.readouterr()
    assert told.out == "n 1\nn\n"
    assert "2 of 3 tuples" in told.err
    assert "has not a shared space nil" in cli.run("tuple", "ls", "nil", code=1)


def test_waiting_for_a_tuple_that_comes(cli: Cli, url: str, tmp_path: Path) -> None:
    as_eve = ("--wait", "30", "--host", url, "--as", "eve")
    with command(tmp_path, "tuple", "take", "later", "_:int", *as_eve) as child:
        cli.run("tuple", "out", "later", "17")
        assert child.wait(60) == 0
        assert child.stdout.read() == b"17\n"
    assert cli.run("tuple", "take", "later", "_", "--wait", "0.05", code=1) == (
        "nothing in later matches within 0.05 s\n"
    )


def _waiting(cli: Cli) -> list[tuple[str, int]]:
    return [(line["name"], line["waiting"]) for line in cli.data("space", "ls")]


def test_a_wait_that_is_interrupted_takes_nothing(cli: Cli, url: str, tmp_path: Path) -> None:
    as_eve = ("--wait", "30", "--host", url, "--as", "eve")
    with command(tmp_path, "tuple", "take", "ended", "_", *as_eve) as child:
        wait_until(lambda: ("ended", 1) in _waiting(cli))  # not before it hears of signals
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
    cli.run("tuple", "out", "ended", "17")
    assert cli.run("tuple", "ls", "ended") == "17\n"


def test_a_tuple_that_could_not_be_printed_is_given_back(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.run("tuple", "out", "kept", "17")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("nobody reads")

    with monkeypatch.context() as patched:
        patched.setattr("nomospace.cli.tuple._print_tuple", fail)
        assert "nobody reads" in cli.run("tuple", "take", "kept", "17", "--wait", "5", code=70)
    assert cli.run("tuple", "take", "kept", "17") == "17\n"


def test_a_tuple_that_nobody_waited_for_and_that_has_no_room_is_written_back(
    cli: Cli, url: str
) -> None:
    cli.run("tuple", "out", "full", "17")
    take = [sys.executable, "-m", "nomospace.cli", "tuple", "take", "full", "17"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            take,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "NOMOSPACE_HOST": url},
            check=False,
        )
    assert (done.returncode, b"make room" in done.stderr) == (1, True)
    assert cli.run("tuple", "take", "full", "17") == "17\n"


def test_a_host_that_is_not_there_and_an_address_that_is_none(capsys: Say) -> None:
    told = Cli(capsys, "nomos+plain://127.0.0.1:1").run("tuple", "ls", "jobs", code=1)
    assert "cannot be reached" in told
    assert "is no address of a host" in Cli(capsys, "ward:7420").run("tuple", "ls", "x", code=2)


def test_the_host_may_stand_in_a_variable(
    cli: Cli, capsys: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOMOSPACE_HOST", cli.url)
    assert main(["tuple", "out", "env", "x"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("NOMOSPACE_TOKEN", "ns1.a.b")
    assert main(["tuple", "ls", "env"]) == 2
    assert "is NOMOSPACE_TOKEN set?" in capsys.readouterr().err


# -- with certificates -------------------------------------------------------------------------


def test_with_certificates(capsys: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def issue(*words: str) -> str:
        assert main(["trust", *words]) == 0
        return capsys.readouterr().out.strip()

    trust = str(tmp_path / "trust")
    issue("init", trust, "--host", "ward")
    monkeypatch.setenv("NOMOSPACE_TRUST", trust)
    issue("issue", "agent", "ann@ward")
    operator = issue("issue", "token", "ops@ward", "--scope", "operator", "--scope", "agent")
    plain = issue("issue", "token", "bob@ward")
    with running(tmp_path, "ward", "--trust", trust, "--store", "memory") as url:
        cli = Cli(capsys, url)
        assert "nothing was shown" in cli.run("tuple", "ls", "jobs", code=2)
        ann = ["--identity", f"{trust}/agents/ann@ward"]
        assert "as ann@ward" in cli.run("tuple", "out", "jobs", "x", *ann)
        assert "may not speak for eve@ward" in cli.run(
            "tuple", "out", "jobs", "x", "--as", "eve", *ann, code=2
        )
        told = cli.run("tuple", "ls", "jobs", "--token", plain, code=2)
        assert "is no operator" in told
        assert "`nomospace trust issue token`" in told
        assert cli.run("tuple", "ls", "jobs", "--token", operator) == "x\n"
        assert cli.run("tuple", "take", "jobs", "x", "--token", plain) == "x\n"
        assert "as ops@ward" in cli.run("tuple", "out", "jobs", "y", "--token", operator)
        monkeypatch.delenv("NOMOSPACE_TRUST")
        told = cli.run("tuple", "ls", "jobs", "--token", operator, code=2)
        assert "which authority" in told


def test_several_tuples_may_answer_together(cli: Cli) -> None:
    car, template = "object('Car',c1,[])", ("_:Insurance", "_:Finance")
    cli.run("tuple", "out", "sales", car, "object('Insurance',i1,[])")
    cli.run("tuple", "out", "sales", "loan", car, "object('Finance',f1,[])")
    cli.run("tuple", "read", "sales", *template, code=1)
    cli.run("tuple", "read", "sales", *template, "--together", "--key", "Insurance", code=1)
    told = "object('Insurance',i1,[]) object('Finance',f1,[])\n"
    assert cli.run("tuple", "read", "sales", *template, "--together", "--key", "Car") == told
    assert cli.run("tuple", "take", "sales", *template, "--together", "--wait", "5") == told
    assert cli.run("tuple", "ls", "sales") == ""
    assert cli.run("tuple", "read", "sales", *template, "--key", "Car", code=2) == (
        "--key: it is for sets of tuples; say --together too\n"
    )


def test_dead_letters_are_put_back_and_tell_how_they_died(cli: Cli, url: str) -> None:
    cli.run("tuple", "redo", "prints", "print", "_:int", code=1)
    cli.run("tuple", "out", "prints", "print", "7")
    with sync.connect(url) as host:
        prints = host.agent("printer").space("prints", shared=True)
        for number in range(5):
            job = prints.take("print", int, lease=30, timeout=60)
            prints.give_back(job, why=f"no paper, {number}")
        assert prints.take_nowait("print", int) is None
    told = cli.run("tuple", "redo", "prints", "print", "_:int").splitlines()
    assert told[0] == "print 7"
    assert [line.split("@")[0].strip() for line in told[1:]] == ["printer"] * 5
    assert told[-1].endswith(": no paper, 4")
    assert cli.run("tuple", "ls", "prints") == "print 7\n"
    assert cli.run("tuple", "ls", "prints.dead") == ""
