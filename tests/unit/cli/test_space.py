"""`nomospace space` on a host in another process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.cli.running import Cli, Say, running


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(
        tmp_path_factory.mktemp("ward"), "ward", "--store", "memory", from_nothing=True
    ) as found:
        yield found


@pytest.fixture
def cli(capsys: Say, url: str) -> Cli:
    return Cli(capsys, url)


def test_spaces_and_what_is_in_them(cli: Cli) -> None:
    assert cli.run("space", "ls") == "space    tuples  agents  law\n"
    for agent in ("ann", "bob", "carol", "dave"):
        cli.run("tuple", "out", "jobs", "n", "1", "--as", agent)
    cli.run("tuple", "out", "jobs", "mine", "--as", "eve", "--private")
    lines = cli.data("space", "ls")
    assert lines == [
        {
            "name": "jobs",
            "law": "",
            "shared": True,
            "agents": ["ann@ward", "bob@ward", "carol@ward", "dave@ward"],
            "tuples": 4,
            "lent": 0,
            "waiting": 0,
            "reactions": 0,
        },
        lines[0] | {"shared": False, "agents": ["eve@ward"], "tuples": 1},
    ]
    told = cli.run("space", "stats", "jobs").splitlines()
    assert told[0].split() == ["space", "tuples", "lent", "waiting", "reactions", "agents", "law"]
    assert told[1].split()[:6] == ["jobs", "shared", "4", "0", "0", "0"]
    assert "ann@ward, bob@ward, carol@ward and 1 more" in told[1]
    assert told[2].split() == ["jobs", "private", "1", "0", "0", "0", "eve@ward", "-"]
    assert cli.data("space", "stats", "jobs") == lines


def test_a_space_that_nobody_has(cli: Cli) -> None:
    assert cli.run("space", "stats", "nil", code=1) == "no agent on the host has a space nil\n"


def test_a_partitioned_space_and_a_host_that_is_drained(cli: Cli) -> None:
    cli.run("tuple", "out", "shards", "n", "1", "--partition", "1")
    [line] = cli.data("space", "stats", "shards")
    assert (line["partition"], line["homes"], line["tuples"]) == ("1", ["ward"], 1)
    assert cli.run("space", "stats", "shards").splitlines()[2:] == [
        "partitioned by field 1; shares at ward"
    ]
    told = cli.run("tuple", "out", "shards", "n", "1", "--partition", "0", code=2)
    assert "space 'shards' is partitioned by field 1 on this host" in told
    assert "'n' is nothing that" in cli.run("tuple", "out", "x", "n", "--partition", "n", code=2)
    assert "has no such field" in cli.run("tuple", "out", "shards", "n", code=2)
    cli.run("host", "drain", "--wait", "0", code=1)  # there is nobody who could have it
    [line] = cli.data("host", "drain", "--off")
    assert line == {"host": "ward", "drained": False, "left": 1, "moving": 0, "alone": ["shards"]}
    assert cli.run("host", "drain", "--off") == "ward keeps its share of partitioned spaces\n"
    cli.run("tuple", "take", "shards", "n", "1")
    assert "ward is drained" in cli.run("host", "drain")
    cli.run("host", "drain", "--off")
