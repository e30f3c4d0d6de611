"""Two laws over one journal: what differs, and in which order it is told."""

from __future__ import annotations

import pytest

from nomospace.pipeline.comparing import NOTHING, compare
from nomospace.pipeline.jobs.replay import Engine, run_replay
from nomospace.pipeline.laws import OtherCommunity
from tests.unit.pipeline.made import AP, Journals, stricter

EVENTS = 1_000


def test_the_law_in_force_differs_in_nothing_from_itself(journals: Journals) -> None:
    found = compare(journals.made(EVENTS, 30), None, AP, community="ap")
    assert found.events == EVENTS
    assert (found.differing, found.first, found.passed_over) == (0, (), 0)


def test_a_stricter_law_differs_where_a_replay_says_so(journals: Journals) -> None:
    folder = journals.made(EVENTS, 30)
    found = compare(folder, None, stricter(), community="ap")
    replayed = run_replay(folder, stricter(), engine=Engine.PROCESS)
    assert found.differing == replayed.changed > 0
    assert found.members_differing == replayed.diverged
    earliest = replayed.first[0]
    first = found.first[0]
    assert (first.agent, first.at, first.event) == (earliest.agent, earliest.at, earliest.event)
    assert first.before.ruling != first.after.ruling
    assert [one.at for one in found.first] == sorted(one.at for one in found.first)


def test_sides_change_places_with_the_laws(journals: Journals) -> None:
    folder = journals.made(EVENTS, 30)
    there = compare(folder, AP, stricter(), community="ap")
    back = compare(folder, stricter(), AP, community="ap")
    assert there.differing == back.differing > 0
    assert [(one.before, one.after) for one in there.first] == [
        (one.after, one.before) for one in back.first
    ]
    alone = [one for one in there.first if one.seq == 0]
    assert alone, "obligations of the stricter law fall due earlier, which no record has"
    assert all(NOTHING in (one.before.ruling, one.after.ruling) for one in alone)


def test_what_is_too_much_is_counted(journals: Journals) -> None:
    found = compare(journals.made(EVENTS, 30), None, stricter(), community="ap", shown=1)
    assert len(found.first) == 1 < found.differing


def test_a_community_that_is_not_there_is_named(journals: Journals) -> None:
    with pytest.raises(OtherCommunity, match="ap"):
        compare(journals.made(EVENTS, 30), None, AP, community="chess")
