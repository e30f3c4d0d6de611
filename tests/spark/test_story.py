"""The tutorial on a journal's numbers: a host of its own, and four engines that count the same."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from nomospace.pipeline.segments import list_journal, read_spark
from tests.docs.pages import blocks
from tests.repo.rooms import ROOT
from tests.unit.pipeline.leased import ENDS, record

FOLDER = ROOT / "docs" / "tutorials"


def test_four_engines_count_the_same(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The script asks for a session, and gets the one that there is."""
    assert spark is not None
    output, script = blocks(FOLDER / "journal.md")
    assert script.text == (FOLDER / "journal.py").read_text("utf-8")
    runpy.run_path(str(FOLDER / "journal.py"), run_name="__main__")
    told = capsys.readouterr().out.splitlines()
    assert told == output.text.splitlines()[1:]
    assert len({line.split(maxsplit=1)[1] for line in told}) == 1


def test_spark_reads_what_became_of_leases(spark: Any, tmp_path: Path) -> None:
    leases = read_spark(spark, list_journal(record(tmp_path)), "leases")
    counted = leases.groupBy("op").count().collect()
    assert {row["op"]: row["count"] for row in counted} == ENDS
    lent, done = leases.where("op = 'lent'"), leases.where("op = 'acknowledged'")
    spent = lent.alias("lent").join(done.alias("done"), ["space", "lease", "tuple_id"])
    assert spent.where("done.happened_at >= lent.happened_at").count() == ENDS["acknowledged"]
