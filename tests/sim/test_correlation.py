"""Some markets in every test run; `nomospace sim --workload correlation` plays more."""

import pytest

from nomospace.host.collecting import Attempt, Collecting
from nomospace.host.mirroring import Wide
from nomospace.space import Gathering, correlating
from nomospace_lab import apps
from nomospace_lab.sim import find, play
from tests.sim.worlds import check_worlds

SEEDS = range(3)


def test_what_must_hold_holds() -> None:
    check_worlds("correlation", SEEDS)


def test_a_space_that_takes_half_a_set_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = correlating._gathered

    def half(answer: object) -> Gathering:
        found = right(answer)  # type: ignore[arg-type]
        return found._replace(ids=found.ids[:-1])

    monkeypatch.setattr(correlating, "_gathered", half)
    apps.load()
    unseen = {
        "no set is half taken, and no paper is lost",
        "an answer is of one car, and all of its papers",
    }
    for seed in SEEDS:
        verdicts = play(find("correlation"), seed)[1].verdicts
        unseen -= {verdict.property for verdict in verdicts if verdict.answer == "no"}
        if not unseen:
            return
    raise AssertionError(f"{unseen} would hold")


def _forget(self: Collecting, attempt: Attempt) -> None:
    """Give nothing back."""
    del self._attempts[attempt.one.number]
    attempt.wide.release(attempt.gathering.ids)


def _never(self: Collecting, wide: Wide) -> None:
    """Look at nothing."""
    wide.fresh.clear()
    wide.unlooked.clear()


@pytest.mark.parametrize(
    ("part", "wrong", "seen"),
    [
        ("_undo", _forget, "no set is half taken, and no paper is lost"),
        ("_look", _never, "whoever waits for a set that is there is served"),
    ],
)
def test_a_host_that_collects_wrongly_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, part: str, wrong: object, seen: str
) -> None:
    monkeypatch.setattr(Collecting, part, wrong)
    apps.load()
    said = (
        verdict.answer
        for seed in SEEDS
        for verdict in play(find("correlation"), seed)[1].verdicts
        if verdict.property == seen
    )
    assert "no" in said
