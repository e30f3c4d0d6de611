"""Forks of the process that has found the tests run each of them once, and tell all of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = """
import os, signal, sys
import pytest

@pytest.fixture(scope="session")
def lasting():
    yield
    raise ValueError("the end of a run")

@pytest.fixture(scope="module")
def of_the_file():
    yield
    print("taken down", __name__, os.getpid())

def test_passes(lasting, of_the_file, tmp_path, capfd):
    print("heard")
    assert capfd.readouterr().out == "heard\\n"
    (tmp_path / str(os.getpid())).touch()

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.parametrize("number", range(3))
def test_fails_once(lasting, of_the_file, number):
    print("said by", number)
    assert number != 1
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    plugins = ("-p", "nomospace_lab.cli.forks", "-p", "no:cacheprovider", "-p", "no:anyio")
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *plugins, "--processes", "2", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_all_run_once_and_what_fails_is_told(tmp_path: Path) -> None:
    """One test of each file kills its process: it has failed, and those after it run in another."""
    files = ("test_a.py", "test_b.py", "test_c.py")
    for file in files:
        (tmp_path / file).write_text(TESTS)
    done = run(tmp_path, "-rA")
    assert done.returncode == 1
    told = re.findall(r"^((?:PASSED|FAILED) test_.\.py::\S+)", done.stdout, re.MULTILINE)
    wanted = [
        f"{how} {file}::{name}"
        for file in files
        for how, name in (
            ("PASSED", "test_passes"),
            ("FAILED", "test_dies"),
            ("PASSED", "test_fails_once[0]"),
            ("FAILED", "test_fails_once[1]"),
            ("PASSED", "test_fails_once[2]"),
        )
    ]
    assert sorted(told) == sorted(wanted)
    assert done.stdout.count("the process of this test ended with -9") == 2 * len(files)
    assert "said by 1" in done.stdout
    assert set(re.findall(r"taken down (test_.)", done.stdout)) == {"test_a", "test_b", "test_c"}
    assert re.search(r"^ERROR test_", done.stdout, re.MULTILINE)
    assert "ValueError: the end of a run" in done.stdout


def test_enough_failures_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): assert 0\n")
    (tmp_path / "test_b.py").write_text("import time\ndef test_b(): time.sleep(600)\n")
    done = run(tmp_path, "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout


def test_a_run_that_is_told_to_end_takes_its_forks_with_it(tmp_path: Path) -> None:
    waits = "import os, time\ndef test_{0}():\n    open('{0}', 'x').write(str(os.getpid()))\n"
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text(waits.format(name) + "    time.sleep(600)\n")
    plugins = ("-p", "nomospace_lab.cli.forks", "-p", "no:cacheprovider", "-p", "no:anyio")
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "pytest", *plugins, "--processes", "2"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    ) as whole:
        forks = [int(_written(tmp_path / name)) for name in "ab"]
        whole.terminate()
        assert whole.wait(timeout=60) == 2  # as one that is interrupted
    for fork in forks:
        with pytest.raises(ProcessLookupError):
            os.kill(fork, 0)


def _written(file: Path) -> str:
    """What a test writes down when it begins."""
    for _ in range(6_000):
        if file.exists() and (text := file.read_text()):
            return text
        time.sleep(0.01)
    raise AssertionError(f"{file.name} never began")
