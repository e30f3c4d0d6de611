"""`nomospace agent` on two hosts in processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from nomospace import connect
from nomospace.cli.remote_options import Remote
from nomospace.law import load
from nomospace.wire.admin import Stats, Where
from tests.unit.cli.running import Cli, Say, running, wait_until


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Two hosts in one group: ward and icu."""
    folder = tmp_path_factory.mktemp("hosts")
    with running(folder, "ward", "--store", "memory") as ward:
        address = ward.partition("://")[2]
        with running(folder, "icu", "--store", "memory", "--join", address) as icu:
            wait_until(lambda: len(Remote(url=ward).ask(Stats()).members) == 2)
            yield ward, icu


@pytest.fixture
def ward(capsys: Say, urls: tuple[str, str]) -> Cli:
    return Cli(capsys, urls[0])


@pytest.fixture
def icu(capsys: Say, urls: tuple[str, str]) -> Cli:
    return Cli(capsys, urls[1])


def test_an_agent_is_listed_found_and_moved(ward: Cli, icu: Cli) -> None:
    assert ward.run("agent", "ls") == "agent  runs  clients  laws\n"
    ward.run("tuple", "out", "jobs", "job", "17", "--as", "nurse")
    assert ward.data("agent", "ls") == [
        {"id": "nurse@ward", "program": "", "laws": [], "clients": 0, "suspended": False}
    ]
    assert ward.run("agent", "where", "nurse@ward") == "nurse@ward is at ward\n"
    assert ward.run("agent", "move", "nurse@ward", "icu") == "nurse@ward is at icu\n"
    assert icu.run("agent", "where", "nurse@ward") == "nurse@ward is at icu\n"
    assert icu.data("tuple", "ls", "jobs") == [["job", 17]]
    wait_until(lambda: Remote(url=ward.url).ask(Where("nurse@ward")).connected)
    assert ward.data("agent", "where", "nurse@ward") == [
        {"agent": "nurse@ward", "host": "icu", "connected": True}
    ]
    told = ward.run("agent", "move", "nurse@ward", "icu", code=2)
    assert told == "nurse@ward is at icu; ask that host, with --host\n"
    assert icu.data("agent", "move", "nurse@ward", "ward") == [
        {"agent": "nurse@ward", "host": "ward"}
    ]
    assert ward.run("tuple", "take", "jobs", "job", "_", "--as", "nurse") == "job 17\n"


def test_an_agent_that_nobody_knows(ward: Cli) -> None:
    assert ward.run("agent", "where", "eve@ward", code=1) == (
        "nobody here knows where eve@ward is\n"
    )
    told = ward.run("agent", "move", "eve@ward", "icu", code=2)
    assert told.startswith("no host in touch has eve@ward")
    assert "eve@ward" not in ward.run("agent", "ls")
    assert "is no agent; give its id" in ward.run("agent", "where", "eve", code=2)


def test_an_agent_is_suspended_and_resumed(ward: Cli) -> None:
    ward.run("tuple", "out", "mine", "job", "1", "--as", "rob")
    said = ward.run("agent", "suspend", "rob@ward", "--why", "it floods")
    assert said == "rob@ward is suspended\n"
    told = ward.run("tuple", "out", "mine", "job", "2", "--as", "rob", code=2)
    assert told.startswith("rob@ward is suspended at this host (it floods); its mail and")
    assert ["rob@ward", "suspended"] in [
        r.split()[:2] for r in ward.run("agent", "ls").splitlines()
    ]
    assert ward.run("agent", "resume", "rob@ward") == "rob@ward is not suspended\n"
    assert ward.run("tuple", "take", "mine", "job", "1", "--as", "rob") == "job 1\n"
    assert "'nosuch' is no law of this host" in ward.run("law", "suspend", "nosuch", code=2)


def test_laws_that_share_a_name_are_told_apart(icu: Cli) -> None:
    laws = [load(f"law(post). R1. sent(X, {word}, Y) :- do(forward).") for word in ("a", "b")]

    async def adopt() -> None:
        async with connect(icu.url) as host:
            for name, law in zip(("ann", "bob"), laws, strict=True):
                await (await host.agent(name)).adopt(law)

    asyncio.run(adopt())
    listed, tail = icu.run("agent", "ls"), icu.run("journal", "tail")
    for name, law in zip(("ann", "bob"), laws, strict=True):
        assert f"post ({law.hash[:12]})" in listed
        assert f"{name}@icu under post ({law.hash[:12]}): adopted" in tail or name == "ann"
        icu.run("agent", "end", f"{name}@icu")
