"""A story drawn: lanes of agents with their steps below each other, and hosts over the time.

Both are pictures beside words that say the same; all their places are numbers of ours, and names
are escaped.
"""

from __future__ import annotations

from html import escape
from typing import Final, NamedTuple

from nomospace.api.published import CausalStory, StoryStep
from nomospace.console.told import MOVES, look_of


class GraphSize(NamedTuple):
    """How far lanes are from each other at most, how wide all of them may be, how high a step is.

    The style sheet has the same height.
    """

    gap: int
    width: int
    row: int


WIDE: Final = GraphSize(34, 240, 58)
NARROW: Final = GraphSize(15, 60, 98)
"""On wide screens, and on narrow ones, where words are below each other."""
LANES_MAX: Final = 24
"""How many lanes have a place of their own; the others share the last one."""
HOST_ROW: Final = 26


def lanes_of(story: CausalStory) -> dict[str, int]:
    """The place of each lane."""
    return {lane.name: min(at, LANES_MAX - 1) for at, lane in enumerate(story.lanes)}


def graph(story: CausalStory, size: GraphSize) -> str:
    """The lanes with the steps as points, and what led to what as lines."""
    row = size.row
    places = lanes_of(story)
    row_of = {step.id: at for at, step in enumerate(story.steps)}
    lanes = max(places.values(), default=0) + 1
    gap = min(size.gap, size.width / lanes)
    width = round(gap * lanes) + 8
    height = row * len(story.steps)

    def x(step: StoryStep) -> float:
        return round(gap * (places[step.lane] + 0.5) + 4, 1)

    def y(step: StoryStep) -> float:
        return row * row_of[step.id] + 21

    parts: list[str] = []
    for lane in story.lanes:
        mine = [step for step in story.steps if step.lane == lane.name]
        if mine:
            at = x(mine[0])
            parts.append(f'<path class="lane" d="M{at} {y(mine[0])}V{y(mine[-1])}"/>')
    by_id = {step.id: step for step in story.steps}
    for step in story.steps:
        for link in step.causes:
            cause = by_id.get(link.id)
            if cause is None:
                continue
            kind = f"link {link.how}{'' if link.sure else ' unsure'}"
            x1, y1, x2, y2 = x(cause), y(cause), x(step), y(step)
            if x1 == x2:
                parts.append(f'<path class="{kind}" d="M{x1} {y1}V{y2}"/>')
            else:
                bend = min(row, abs(y2 - y1)) * 0.6
                curve = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
                parts.append(f'<path class="{kind}" d="{curve}"/>')
    for step in story.steps:
        at, down = x(step), y(step)
        if step.id == story.about:
            parts.append(f'<circle class="root" cx="{at}" cy="{down}" r="8"/>')
        if step.kind in MOVES:
            diamond = f"M{at} {down - 6}l6 6l-6 6l-6 -6z"
            parts.append(f'<path class="point moved" d="{diamond}"/>')
        else:
            hidden = " untold" if step.hidden else ""
            parts.append(
                f'<circle class="point {look_of(step)}{hidden}" cx="{at}" cy="{down}" r="5"/>'
            )
    return (
        f'<svg class="story-graph" aria-hidden="true" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def axis(story: CausalStory) -> str:
    """The hosts over the time, as it passed: steps, what was held, moves, and what went between."""
    first, last = story.steps[0].at, story.steps[-1].at
    whole = max(1, last - first)
    rows = {host: at for at, host in enumerate(story.hosts)}
    height = HOST_ROW * len(rows)

    def x(at: int) -> str:
        return f"{2 + 96 * min(1.0, max(0.0, (at - first) / whole)):.2f}%"

    def y(step: StoryStep) -> float:
        return HOST_ROW * (rows[step.host] + 0.5)

    parts = [
        f'<line class="lane" x1="0" x2="100%" y1="{HOST_ROW * (at + 0.5)}" '
        f'y2="{HOST_ROW * (at + 0.5)}"/>'
        for at in rows.values()
    ]
    by_id = {step.id: step for step in story.steps}
    for step in story.steps:
        if step.held and step.until:
            parts.append(
                f'<line class="span held" x1="{x(step.at)}" x2="{x(step.until)}" '
                f'y1="{y(step)}" y2="{y(step)}"/>'
            )
        for link in step.causes:
            cause = by_id.get(link.id)
            if cause is not None and cause.host != step.host:
                kind = f"link {link.how}{'' if link.sure else ' unsure'}"
                parts.append(
                    f'<line class="{kind}" x1="{x(cause.at)}" x2="{x(step.at)}" '
                    f'y1="{y(cause)}" y2="{y(step)}"/>'
                )
    parts += [
        f'<circle class="point {look_of(step)}" cx="{x(step.at)}" cy="{y(step)}" r="4">'
        f"<title>{escape(step.lane)}</title></circle>"
        for step in story.steps
    ]
    return (
        f'<svg class="story-axis" aria-hidden="true" width="100%" height="{height}">'
        f"{''.join(parts)}</svg>"
    )
