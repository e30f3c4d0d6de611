"""What a session is started with: a folder without a zip, and an archive that appears whole."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nomospace.pipeline.jobs import session
from nomospace.pipeline.jobs.session import spark_home

WRITES = """#!/bin/sh
echo classes > "$3"
"""
BREAKS_OFF = """#!/bin/sh
echo cla > "$3"
echo 'no room on the disk' >&2
exit 3
"""


def test_spark_is_started_from_a_folder_that_has_no_zip(tmp_path: Path) -> None:
    home = spark_home({}, cache=tmp_path)
    assert home is not None
    assert (home / "bin" / "spark-submit").is_file()
    assert list((home / "jars").glob("spark-core_*.jar"))
    assert not (home / "python").exists()
    assert spark_home({}, cache=tmp_path) == home
    assert [path.name for path in tmp_path.iterdir()] == [home.name], "nothing half made is left"


@pytest.mark.parametrize(
    "said", [{"SPARK_HOME": "/opt/spark"}, {"PYSPARK_PYTHON": "/usr/bin/another"}]
)
def test_what_somebody_has_said_stands(said: dict[str, str], tmp_path: Path) -> None:
    assert spark_home(said, cache=tmp_path) is None


def test_the_python_of_this_process_may_be_said(tmp_path: Path) -> None:
    assert spark_home({"PYSPARK_PYTHON": sys.executable}, cache=tmp_path) is not None


@pytest.mark.parametrize(("program", "made"), [(WRITES, True), (BREAKS_OFF, False)])
def test_the_class_archive_appears_whole_or_not_at_all(
    program: str, made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that would make it is one that writes a line, or breaks off in the middle."""
    python, cache = tmp_path / "python", tmp_path / "cache"
    python.write_text(program)
    python.chmod(0o755)
    monkeypatch.setattr(session, "cache_folder", lambda: cache)
    monkeypatch.setattr(sys, "executable", str(python))
    said: list[str] = []
    archive = session.make_archive(say=said.append)
    assert archive.is_file() is made
    assert [path.name for path in cache.iterdir()] == [archive.name] * made
    assert said[1].startswith("class archive made in" if made else "no class archive (")
    session.make_archive(say=said.append)
    assert len(said) == (2 if made else 4), "one that is there is not made again"
