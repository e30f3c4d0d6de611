"""Worlds in which every search is cut after a few tuples: all that holds of the others holds."""

from __future__ import annotations

import pytest

from nomospace import apps
from nomospace.sim import find, play


@pytest.mark.parametrize(("workload", "seed"), [("federation", 5), ("correlation", 1)])
def test_searches_that_are_cut_again_and_again(
    monkeypatch: pytest.MonkeyPatch, workload: str, seed: int
) -> None:
    monkeypatch.setattr("nomospace.terms.budget.SLICE_UNITS", 12)
    monkeypatch.setattr("nomospace.space.searching.VAIN_MAX", 1)
    apps.load()
    _, outcome = play(find(workload), seed)
    assert [one for one in outcome.verdicts if one.answer != "yes"] == []
