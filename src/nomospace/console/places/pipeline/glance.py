"""The journal before anything runs: how much there is, from when to when, who, what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.published import RulingView, Views
from nomospace.api.service import Service
from nomospace.console.frame import Frame
from nomospace.console.look import (
    REFUSED,
    attributes,
    doorway,
    empty,
    exactly,
    fact,
    span,
    verdict_of,
)
from nomospace.errors import NomospaceError

NEWEST: Final = 1_000
"""How many of a host's newest records are looked through."""
BARS: Final = 60
SHOWN: Final = 4


@dataclass
class JournalGlance:
    """What the newest records of some hosts have.

    `records` are all that were ever written; so many of them were `looked` through, and so many of
    those are `rulings`.
    """

    records: int = 0
    looked: int = 0
    rulings: int = 0
    begin: int = 0
    end: int = 0
    agents: Counter[str] = field(default_factory=Counter)
    laws: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """By law and rule, and"""
    last: dict[tuple[str, str | None], int] = field(default_factory=dict)
    """the place of the last such ruling."""
    bars: list[int] = field(default_factory=list)


def glance_at(rulings: Sequence[RulingView], records: int, looked: int) -> JournalGlance:
    """Rulings at a glance, of so many records that were looked through."""
    found = JournalGlance(records=records, looked=looked, rulings=len(rulings))
    if not rulings:
        return found
    found.begin = min(one.at for one in rulings)
    found.end = max(one.at for one in rulings)
    found.bars = [0] * BARS
    wide = max(1, found.end - found.begin + 1)
    for at, one in enumerate(rulings):
        found.bars[(one.at - found.begin) * BARS // wide] += 1
        if one.community:
            found.agents[one.home] += 1
            found.laws[one.community] += 1
            if verdict_of(one) == REFUSED:
                found.refused[one.community, one.rule] += 1
                found.last[one.community, one.rule] = at
    return found


async def read_glance(body: ui.element, frame: Frame, services: Mapping[str, Service]) -> None:
    """Read what the journals of hosts have, a few records at a time, and draw it."""
    told: list[tuple[Views, RulingView]] = []
    for service in services.values():
        newest = await service.views.latest(most=NEWEST, among=NEWEST)
        told += [(service.views, one) for one in reversed(newest)]
    written = [service.views.last_record for service in services.values()]
    looked = sum(min(NEWEST, number) for number in written)
    found = glance_at([one for _, one in told], sum(written), looked)
    body.clear()
    with body:
        _draw_glance(frame, found, told)


def _draw_glance(
    frame: Frame, found: JournalGlance, told: Sequence[tuple[Views, RulingView]]
) -> None:
    if not told:
        empty("Nothing is recorded yet.", "Let agents send messages under a law; then ask.")
        return
    with fact("records"):
        ui.label(glance_words(found)).classes("num")
    with fact("from, to"):
        begin, end = exactly(found.begin)[:19], exactly(found.end)[:19]
        same_day = begin[:10] == end[:10]
        ui.label(f"{begin} to {end[11:] if same_day else end} UTC").classes("num")
        ui.label(span(found.end - found.begin)).classes("quiet num")
    with fact("who"):
        for agent, count in found.agents.most_common(SHOWN):
            doorway(f"{agent} {count:,}", partial(frame.open, "agent", frame.console.name, agent))
        if len(found.agents) > SHOWN:
            ui.label(f"and {len(found.agents) - SHOWN:,} more").classes("quiet")
    with fact("laws"):
        ui.label(", ".join(f"{law} {count:,}" for law, count in found.laws.most_common(SHOWN)))
    with fact("refused"):
        if not found.refused:
            ui.label("nothing").classes("quiet")
        for kind, count in found.refused.most_common(SHOWN):
            views, last = told[found.last[kind]]
            said = f"{kind[0]}: {'the last: ' * (count > 1)}{_said(views, last)}"
            ui.label(f"✕ {count:,} {said}").classes("refused")
    _draw_bars(found)


def glance_words(found: JournalGlance) -> str:
    """How much there is, and how much of it is told.

    >>> glance_words(JournalGlance(records=69, looked=69, rulings=23))
    '69, 23 of them rulings'
    >>> glance_words(JournalGlance(records=5_050, looked=1_000, rulings=400))
    '5,050; below are the newest 1,000, 400 of them rulings'
    """
    newest = f"; below are the newest {found.looked:,}" if found.looked < found.records else ""
    return f"{found.records:,}{newest}, {found.rulings:,} of them rulings"


def _said(views: Views, ruling: RulingView) -> str:
    """The one sentence on a refusal; as much of it as can still be told."""
    try:
        return views.why(ruling.record).verdict.removeprefix("Refused: ")
    except NomospaceError:
        return ruling.verdict


def _draw_bars(found: JournalGlance) -> None:
    most = max(found.bars)
    words = f"Rulings over time, at most {most:,} in {span((found.end - found.begin) // BARS)}"
    with attributes(ui.element("div"), role="img", aria_label=words, title=words).classes("bars"):
        for count in found.bars:
            ui.element("span").style(f"height: {100 * count / most:.0f}%")
