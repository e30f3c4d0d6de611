"""How long tuples have been in a space, by marks that are made while nobody looks."""

import pytest

from nomospace.node import backlog
from nomospace.node.backlog import SpaceFigures
from nomospace.space import Record, Space

SECOND = 1_000_000


def age(figures: SpaceFigures, space: Space, now: int) -> float:
    return figures.look([(space, "", True, ())], now)["oldest_seconds"][space.name]


def test_the_first_look_knows_how_old_the_oldest_is() -> None:
    figures, jobs = SpaceFigures(began=0), Space("jobs")
    figures.mark((), SECOND)
    for second in range(2, 9):
        if second == 4:
            jobs.put(Record(("job", 1), "ann@a", 1, "ann@a", "ann@a"), now=0)
        if second == 6:
            jobs.put(Record(("job", 2), "ann@a", 2, "ann@a", "ann@a"), now=0)
        figures.mark([jobs], second * SECOND)
    assert age(figures, jobs, 9 * SECOND) == 6.0, "it came after the mark at 3 s"
    jobs.remove(jobs.oldest(1)[0])
    assert age(figures, jobs, 9 * SECOND) == 4.0
    jobs.remove(jobs.oldest(1)[0])
    assert age(figures, jobs, 9 * SECOND) == 0.0


def test_a_space_that_was_not_marked_yet_is_as_old_as_the_last_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figures, jobs = SpaceFigures(began=0), Space("jobs")
    figures.mark((), SECOND)
    figures.mark((), 5 * SECOND)
    jobs.put(Record(("job", 1), "ann@a", 1, "ann@a", "ann@a"), now=0)
    assert age(figures, jobs, 7 * SECOND) == 2.0
    monkeypatch.setattr(backlog, "MARKED_MAX", 0)  # more spaces than are marked
    assert age(figures, jobs, 7 * SECOND) == 6.0
