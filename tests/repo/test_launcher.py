"""The launcher makes its environment once, whole, and by one maker at a time.

The tests run the real launcher with real venv and pip on a copy of the tree whose lock is empty, so
that nothing is fetched. uv is kept off the path to make every run take the same road.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.rooms import ROOT

EMPTY_LOCK = "# nothing\n"

MAKE_S = 600
"""How long making an environment may take: pip needs minutes where much else runs."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with an empty lock."""
    shutil.copy2(ROOT / "nomospace", tmp_path / "nomospace")
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "requirements.lock").write_text(EMPTY_LOCK)
    return tmp_path


def start(tree: Path, **settings: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not (Path(folder) / "uv").exists()
    )
    # The interpreter the environment is made with; this one may itself be in an environment.
    python = getattr(sys, "_base_executable", sys.executable)
    environment = {**os.environ, "PATH": path, "NOMOSPACE_PYTHON": python, **settings}
    return subprocess.Popen(
        [tree / "nomospace", "--version"],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def left_behind(tree: Path) -> set[str]:
    return {p.name for p in tree.glob(".venv*")}


@pytest.mark.slow
def test_a_half_made_environment_and_a_dead_maker_are_cleared_by_one_of_two_starts(
    tree: Path,
) -> None:
    (tree / ".venv").mkdir()
    (tree / ".venv" / "half").touch()
    guard = tree / ".venv.making"
    guard.mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (guard / "pid").write_text(f"{dead.pid}\n")

    starts = [start(tree), start(tree)]
    told = [process.communicate(timeout=MAKE_S) for process in starts]

    assert [process.returncode for process in starts] == [0, 0], told
    assert sum("3/3" in err for _, err in told) == 1, told
    assert all(out.startswith("nomospace ") for out, _ in told)
    assert not (tree / ".venv" / "half").exists()
    assert left_behind(tree) == {".venv"}


@pytest.mark.slow
def test_a_lock_that_cannot_be_had_leaves_the_old_environment_in_place(tree: Path) -> None:
    # The stamp of an environment that another lock made; its content does not matter here.
    (tree / ".venv").mkdir()
    (tree / ".venv" / "requirements.lock").write_text("# older\n")
    (tree / "requirements.lock").write_text(f"no-such-thing==1.0 --hash=sha256:{'0' * 64}\n")

    process = start(tree, PIP_NO_INDEX="1")
    out, err = process.communicate(timeout=MAKE_S)

    assert (process.returncode, out) == (69, "")
    assert "has changed: making" in err
    assert "No matching distribution found for no-such-thing==1.0" in err
    assert (tree / ".venv" / "requirements.lock").read_text() == "# older\n"
    assert left_behind(tree) == {".venv", ".venv.log"}


def test_a_wrong_nomospace_python_is_named(tree: Path) -> None:
    process = start(tree, NOMOSPACE_PYTHON="/bin/false")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 69
    assert "NOMOSPACE_PYTHON is '/bin/false', which is no Python 3.11 or later" in err
    assert left_behind(tree) <= {".venv.log"}
