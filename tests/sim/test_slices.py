"""Worlds in which every search, step or ruling is cut: all that holds of the others holds."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.law import CompiledLaw
from nomospace.law.budget import Units, spend
from nomospace_lab import apps
from nomospace_lab.sim import find, play


@pytest.mark.parametrize(("workload", "seed"), [("federation", 5), ("correlation", 1)])
def test_searches_that_are_cut_again_and_again(
    monkeypatch: pytest.MonkeyPatch, workload: str, seed: int
) -> None:
    monkeypatch.setattr("nomospace.terms.budget.SLICE_UNITS", 12)
    monkeypatch.setattr("nomospace.space.searching.VAIN_MAX", 1)
    monkeypatch.setattr("nomospace.space.steps.STEP_UNITS", 6)
    apps.load()
    _, outcome = play(find(workload), seed)
    assert [one for one in outcome.verdicts if one.answer != "yes"] == []


@pytest.mark.parametrize(
    ("workload", "seed"),
    [("bidding", 1), ("wall", 2), ("messages", 3), ("routing", 1), ("forgetful", 2)],
)
def test_rulings_that_are_cut_again_and_again(
    monkeypatch: pytest.MonkeyPatch, workload: str, seed: int
) -> None:
    act = CompiledLaw.act
    cuts = 0

    def dear(law: CompiledLaw, *asked: Any) -> Any:
        """Every evaluation takes more than a slice, whatever its law says."""
        nonlocal cuts
        units: Units = asked[-1]
        if len(units) > 1:
            cuts += 1
            spend(units, 3)
        return act(law, *asked)

    monkeypatch.setattr("nomospace.host.deciding.SLICE_UNITS", 1)
    monkeypatch.setattr(CompiledLaw, "act", dear)
    apps.load()
    _, outcome = play(find(workload), seed)
    assert [one for one in outcome.verdicts if one.answer != "yes"] == []
    assert cuts > 100
