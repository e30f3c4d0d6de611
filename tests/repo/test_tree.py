"""The tree itself: the lock, the launcher, the documents at its root."""

import ast
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from nomospace.extras import EXTRAS
from tests.repo.rooms import PACKAGE, ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
SPARK_LOCK = (ROOT / "requirements-spark.lock").read_text("utf-8")
LINES_MAX = 600
"""The most lines of a file of `src`."""
_PIN = r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)"
PINS = re.findall(r"^([a-z0-9][a-z0-9._-]*)==", LOCK, re.MULTILINE)


@pytest.mark.parametrize("lock", [LOCK, SPARK_LOCK], ids=["requirements", "spark"])
def test_the_lock_holds_no_addresses(lock: str) -> None:
    found = [
        line
        for line in lock.splitlines()
        if re.search(r"://|^\s*-(?!-hash=)|\bfile:|@ |/(home|root|work|tmp|opt)/", line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("lock", [LOCK, SPARK_LOCK], ids=["requirements", "spark"])
def test_every_pin_of_the_lock_has_a_hash(lock: str) -> None:
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    bare = [e.splitlines()[0] for e in entries if e[:1].isalnum() and "--hash=sha256:" not in e]
    assert len(entries) > 5
    assert not bare, "\n".join(bare)


def test_the_lock_holds_what_was_asked_for() -> None:
    lines = (ROOT / "requirements.in").read_text("utf-8").splitlines()
    asked = {_package(line) for line in lines if line.strip() and not line.startswith("#")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    everything = [
        *project["dependencies"],
        *(one for each in extras if each != "spark" for one in extras[each]),
    ]
    needed = {_package(entry) for entry in everything} - {"nomospace", "nomospace-lab"}
    assert needed <= asked
    assert asked <= set(PINS)


def test_the_lock_for_spark_adds_to_the_other_and_never_differs_from_it() -> None:
    lines = (ROOT / "requirements-spark.in").read_text("utf-8").splitlines()
    asked = {_package(line) for line in lines if line.strip() and not line.startswith("#")}
    pinned = dict(re.findall(_PIN, SPARK_LOCK, re.MULTILINE))
    assert asked <= set(pinned)
    known = dict(re.findall(_PIN, LOCK, re.MULTILINE))
    assert {name: v for name, v in pinned.items() if known.get(name, v) != v} == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {_package(one) for one in project["optional-dependencies"]["spark"]}
    assert needed - {"nomospace"} == asked


def test_every_extra_is_known_by_its_modules() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert {*EXTRAS, "all"} == set(extras)
    here = set(re.findall(r"[a-z]+", extras["all"][0].removeprefix("nomospace")))
    assert here == {*EXTRAS} - {"spark"}  # it is 600 MB, and is asked for by its name


def _package(requirement: str) -> str:
    """The name of a package, without extras, versions and markers."""
    return re.split(r"[\[<>=;\s]", requirement.strip(), maxsplit=1)[0]


def test_no_other_lock_format_is_kept() -> None:
    assert not [n for n in ("uv.lock", "poetry.lock", "Pipfile.lock") if (ROOT / n).exists()]


def test_every_module_opens_with_a_docstring_and_none_is_too_long() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"
        lines = len(text.splitlines())
        assert lines <= LINES_MAX, f"{path} has {lines} lines: find the second thing in it"


def test_no_exception_is_raised_in_another_thread() -> None:
    """CPython 3.11 can hang after one was taken back, in the next function that is traced."""
    forbidden = "PyThreadState_" + "SetAsyncExc"
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    assert [file for file in files if forbidden in file.read_text("utf-8")] == []


def test_the_launcher_is_posix_and_executable() -> None:
    launcher = ROOT / "nomospace"
    assert launcher.read_text("utf-8").startswith("#!/bin/sh\n")
    assert os.access(launcher, os.X_OK)
    shell = shutil.which("dash") or shutil.which("sh")
    assert shell is not None
    done = subprocess.run([shell, "-n", launcher], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_launcher_runs_from_another_folder_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "nomo"
    link.symlink_to(ROOT / "nomospace")
    (tmp_path / "typing.py").write_text("raise SystemExit('shadowed')\n")
    done = subprocess.run(
        [link, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"nomospace \d+\.\d+\.\d+\n", done.stdout)


def test_the_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for command in ("./nomospace up", "./nomospace test"):
        assert re.search(rf"^{re.escape(command)}\b", readme, re.MULTILINE), f"no line {command!r}"


def test_the_changelog_has_an_entry_for_this_version() -> None:
    text = (PACKAGE / "__init__.py").read_text("utf-8")
    version = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert version is not None
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## \[{re.escape(version[1])}\]", changelog, re.MULTILINE)
