"""The table `leases` of a real host's journal in DuckDB, by the query that the guide has."""

from pathlib import Path

import duckdb
import pytest

from tests.docs.pages import blocks
from tests.repo.rooms import ROOT
from tests.unit.pipeline.leased import ENDS, record


def test_duckdb_counts_leases_and_how_long_jobs_are_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path)
    monkeypatch.chdir(tmp_path)
    counted = duckdb.execute("SELECT op, count(*) FROM 'journal/leases/*.parquet' GROUP BY op")
    assert dict(counted.fetchall()) == ENDS
    whys = duckdb.execute("SELECT why FROM 'journal/leases/*.parquet' WHERE op = 'returned'")
    assert whys.fetchall() == [("no paper",)]
    (query,) = [
        block.text
        for block in blocks(ROOT / "docs" / "pipeline" / "guide.md")
        if block.language == "sql" and "leases" in block.text
    ]
    ((space, seconds),) = duckdb.execute(query).fetchall()
    assert space == "jobs"
    assert seconds >= 0
