"""Forks of the process that has found the tests run each of them once, and tell all of it."""

from __future__ import annotations

import os
import re
import signal
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


PLUGINS = ("-p", "nomospace_lab.cli.forks", "-p", "no:cacheprovider", "-p", "no:anyio")
PYTEST = (sys.executable, "-P", "-m", "pytest", *PLUGINS, "--processes", "2")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PYTEST, *words],
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


SERVED = """
import os, subprocess, sys, time
import pytest

@pytest.fixture(scope="module")
def server():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as server:
        yield server.pid
        server.kill()

def test_waits(server):
    with open(__name__ + ".new", "w") as file:
        file.write(f"{os.getpid()} {server}")
    os.rename(file.name, __name__)
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("told", "ignored"),
    [
        (signal.SIGTERM, False),
        (signal.SIGINT, False),
        (signal.SIGHUP, False),
        (signal.SIGTERM, True),
        (signal.SIGHUP, True),
    ],
)
def test_a_run_that_is_told_to_end_takes_its_processes_with_it(
    tmp_path: Path, told: signal.Signals, *, ignored: bool
) -> None:
    """Forks and the servers of their tests; a shell's job of the background ignores Ctrl-C."""
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text(SERVED)
    shell = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"] if ignored else []
    with subprocess.Popen([*shell, *PYTEST], cwd=tmp_path, stdout=subprocess.DEVNULL) as whole:
        pids = [int(pid) for name in "ab" for pid in _written(tmp_path / f"test_{name}").split()]
        whole.send_signal(told)
        assert whole.wait(timeout=60) == 2  # as one that is interrupted
    assert len(pids) == 4
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_fork_that_does_not_end_is_killed(tmp_path: Path) -> None:
    deaf = "import time\ndef test_{0}():\n    open('{0}', 'x').write('begun')\n"
    deaf += "    while True:\n        try:\n            time.sleep(600)\n"
    deaf += "        except KeyboardInterrupt:\n            pass\n"
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text(deaf.format(name))
    (tmp_path / "conftest.py").write_text(
        "from nomospace_lab.cli import forks\nforks.END_S = 0.5\n"
    )
    with subprocess.Popen(PYTEST, cwd=tmp_path, stdout=subprocess.DEVNULL) as whole:
        assert {_written(tmp_path / name) for name in "ab"} == {"begun"}
        whole.terminate()
        assert whole.wait(timeout=60) == 2


def _written(file: Path) -> str:
    """What a test writes down when it begins."""
    for _ in range(6_000):
        if file.exists() and (text := file.read_text()):
            return text
        time.sleep(0.01)
    raise AssertionError(f"{file.name} never began")
