"""The bench of streams measures what it says, and finds what a whole search finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomospace.errors import Bug
from nomospace_lab.bench import find
from nomospace_lab.bench.run import BenchRun
from nomospace_lab.bench.suites import stream


def test_rows_of_a_quick_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STATES_QUICK", (600, 700))
    monkeypatch.setattr(stream, "BATCHES_QUICK", 2)
    said: list[str] = []
    report = find("stream").report(BenchRun(quick=True, say=said.append))
    assert [row.what for row in report.rows] == [
        "a batch of 100 tuples, 600 kept",
        "the first batch after a start, 600 kept",
        "a batch of 100 tuples, 700 kept",
        "the first batch after a start, 700 kept",
    ]
    assert report.rows[2].floor == report.rows[0].ours
    assert said == ["streams that keep 600, 700 tuples"]


def test_other_answers_than_a_whole_search_finds_are_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_searched", lambda *given: 1)
    with pytest.raises(Bug, match="found 27 answers, not 1"):
        stream._Stream(tmp_path, 600).do(1)
