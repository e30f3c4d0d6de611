"""An audit and a match on a master and two workers find what one process finds; so does replay.

That this machine's own Spark finds it too is shown beside each job (`test_audit`, `test_match`,
`test_replay`, where replay on the cluster is as well), where that is not the same work once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nomospace.pipeline import segments
from nomospace.pipeline.jobs import compact
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit
from nomospace.pipeline.jobs.compact import run_compact
from nomospace.pipeline.jobs.match import run_match
from tests.spark.cluster import Cluster
from tests.unit.pipeline.made import Journals
from tests.unit.pipeline.test_merging import FACTS, QUESTION, day, in_memory
from tests.unit.pipeline.told import CARS, seal


@contextmanager
def both_workers(cluster: Cluster) -> Iterator[None]:
    """What is done in here must be done by both."""
    before = cluster.done()
    yield
    after = cluster.done()
    assert len(after) == 2
    assert all(after[worker] > before[worker] for worker in after), (before, after)


def test_an_audit(
    on_cluster: Any, cluster: Cluster, journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a large journal: workers inspect its files, and read the states that tell causes."""
    monkeypatch.setattr(segments, "HERE_ROWS", 0)
    folder = journals.made(3_000, 60, hosts=3)
    with both_workers(cluster):
        there = run_audit(folder, spark=on_cluster)
    here = run_audit(folder, engine=AuditEngine.DUCKDB)
    assert there.refused > 30
    for table in ("refusals", "reasons"):
        assert any(row.get("said") for row in there.tables[table])
    assert there.tables == here.tables
    assert there.width_us == here.width_us


def test_a_match(
    on_cluster: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers lay two days out for the archive, and two that are not in it yet for the question."""
    monkeypatch.setattr(compact, "HERE_ROWS", 0)
    days = [day(number) for number in range(4)]
    archive = tmp_path / "archive"
    with both_workers(cluster):
        run_compact(seal(tmp_path / "early", days[:2]), CARS, archive, spark=on_cluster)
        found = run_match(
            [seal(tmp_path / "all", days)],
            CARS,
            QUESTION,
            archive=archive,
            scratch=tmp_path,
            spark=on_cluster,
        )
    gone = [4 * number + 3 for number in range(3)]
    there = [number for number in FACTS if number < 18 and number not in gone]
    assert [one.to_data() for one in found.items] == in_memory(there) != []
