"""Charts for reports: laid out once as a few marks, then written as SVG or painted as PNG.

A `Chart` is a sheet with rectangles, lines and words in named colours. As SVG it goes into a page
and takes its colours from the page's style sheet, so it follows light and dark; as PNG it is for
slides and mail, on white. Nothing here knows what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from typing import Final, TypeAlias

import msgspec

WIDTH: Final = 720
BARS_MAX: Final = 30
"""How many bars a chart has; what comes after is counted in words."""
LINES_MAX: Final = 6
_ROW: Final = 24
_FONT: Final = 12
_PNG_SCALE: Final = 2
COLOURS: Final = {
    "ink": "#1b1f24",
    "faint": "#6b7280",
    "grid": "#e2e5e9",
    "c0": "#2a6fb0",
    "c1": "#c2571a",
    "c2": "#2f855a",
    "c3": "#8a4fbf",
    "c4": "#b8860b",
    "c5": "#c2355a",
}
"""The colours by name, on light ground. The page's style sheet has their like on dark."""

Point: TypeAlias = tuple[float, float]


class Rect(msgspec.Struct, frozen=True):
    """A filled rectangle; `says` is told by a pointer that rests on it."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    says: str = ""


class ChartLine(msgspec.Struct, frozen=True):
    """A line through points."""

    points: tuple[Point, ...]
    colour: str
    width: float = 1.0


class Words(msgspec.Struct, frozen=True):
    """Words beside, before or around a point; `anchor` is `start`, `middle` or `end`."""

    x: float
    y: float
    text: str
    colour: str = "ink"
    anchor: str = "start"


class Chart(msgspec.Struct, frozen=True):
    """Marks on a sheet. `name` is its file's, `says` what a reader who cannot see it is told."""

    name: str
    says: str
    height: float
    marks: tuple[Rect | ChartLine | Words, ...]


# -- laying out ------------------------------------------------------------------------------------


def bars(
    name: str,
    says: str,
    rows: Sequence[tuple[str, Mapping[str, int]]],
    *,
    colours: Mapping[str, str],
) -> Chart:
    """Lying bars, each of one part or several; with several parts there is a legend.

    >>> chart = bars("hops", "Hops", [("1", {"n": 5}), ("2", {"n": 2})], colours={"n": "c0"})
    >>> sum(isinstance(mark, Rect) for mark in chart.marks)
    2
    """
    shown = rows[:BARS_MAX]
    left = 12.0 + min(260.0, 7.0 * max((len(label) for label, _ in shown), default=1))
    room = WIDTH - left - 90
    most = max((sum(parts.values()) for _, parts in shown), default=0) or 1
    marks: list[Rect | ChartLine | Words] = []
    top = 6.0
    if len(colours) > 1:
        marks += _legend(colours, left, top)
        top += _ROW
    for label, parts in shown:
        middle = top + _ROW * 0.68
        marks.append(Words(left - 8, middle, _cut(label, int((left - 12) / 7)), "ink", "end"))
        x = left
        for part, value in parts.items():
            wide = round(value / most * room, 1)
            if value:
                told = f"{label}: {value:,}" + (f" {part}" if len(colours) > 1 else "")
                marks.append(Rect(x, top + 3, max(wide, 1.0), _ROW - 6, colours[part], told))
            x += wide
        marks.append(Words(x + 6, middle, f"{sum(parts.values()):,}", "faint"))
        top += _ROW
    if len(rows) > len(shown):
        marks.append(Words(left, top + 16, f"and {len(rows) - len(shown):,} more", "faint"))
        top += _ROW
    return Chart(name, says, top + 6, tuple(marks))


def timeline(name: str, says: str, series: Mapping[str, Mapping[int, int]], width_us: int) -> Chart:
    """A line for each name over time, from counts by the microsecond at which each step begins.

    A step without a count counts 0: silence is shown, not bridged.

    >>> chart = timeline("rhythm", "Events", {"ap": {0: 3, 120_000_000: 5}}, 60_000_000)
    >>> [len(mark.points) for mark in chart.marks if isinstance(mark, ChartLine)][-1]
    3
    """
    shown = dict(list(series.items())[:LINES_MAX])
    moments = [us for counts in shown.values() for us in counts] or [0]
    first, last = min(moments), max(moments)
    span = (last - first) or width_us
    most = max((value for counts in shown.values() for value in counts.values()), default=1)
    step = _nice(most / 4)
    high = step * -(-most // step)
    left, right, top, bottom = 64.0, 16.0, 12.0, 200.0
    marks: list[Rect | ChartLine | Words] = []
    if len(shown) > 1:
        marks += _legend({n: f"c{i}" for i, n in enumerate(shown)}, left, 6.0)
        top, bottom = top + _ROW, bottom + _ROW

    def at(us: int, value: float) -> Point:
        across = (us - first) / span * (WIDTH - left - right)
        return round(left + across, 1), round(bottom - value / high * (bottom - top), 1)

    for value in range(0, high + 1, step):
        y = at(first, value)[1]
        marks.append(ChartLine(((left, y), (WIDTH - right, y)), "grid"))
        marks.append(Words(left - 8, y + 4, f"{value:,}", "faint", "end"))
    form = "%d %b" if span > 3 * 86_400_000_000 else "%d %b %H:%M"
    for part, anchor in ((0, "start"), (1, "middle"), (2, "end")):
        us = first + span * part // 2
        words = f"{datetime.fromtimestamp(us / 1e6, UTC):{form}}"
        marks.append(Words(at(us, 0)[0], bottom + 18, words, "faint", anchor))
    for i, counts in enumerate(shown.values()):
        steps = range(first, last + 1, width_us)
        points = tuple([at(us, counts.get(us, 0)) for us in steps])
        if len(points) == 1:
            points = (points[0], (WIDTH - right, points[0][1]))
        marks.append(ChartLine(points, f"c{i}", 1.6))
    return Chart(name, says, bottom + 28, tuple(marks))


def _legend(colours: Mapping[str, str], x: float, y: float) -> list[Rect | ChartLine | Words]:
    marks: list[Rect | ChartLine | Words] = []
    for words, colour in colours.items():
        text = _cut(words, 24)
        if x + 26 + 7 * len(text) > WIDTH:
            break
        marks += [Rect(x, y + 3, 10, 10, colour), Words(x + 15, y + 12, text, "faint")]
        x += 34 + 7 * len(text)
    return marks


def _nice(value: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50, … that is not less.

    >>> _nice(0.2), _nice(3), _nice(51)
    (1, 5, 100)
    """
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= value:
                return step * power
        power *= 10


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 1)] + "…"


# -- writing ---------------------------------------------------------------------------------------


def as_svg(chart: Chart) -> str:
    """The chart as SVG for a page, whose style sheet has a class for each colour.

    >>> as_svg(Chart("x", "A & B", 10, (Words(1, 2, "<b>"),))).count("&lt;b&gt;")
    1
    """
    size = f'viewBox="0 0 {WIDTH} {chart.height:g}" font-size="{_FONT}"'
    parts = [f'<svg {size} role="img" aria-label="{escape(chart.says)}">']
    for mark in chart.marks:
        if isinstance(mark, Rect):
            title = f"<title>{escape(mark.says)}</title>" if mark.says else ""
            size = f'width="{mark.width:g}" height="{mark.height:g}"'
            parts.append(
                f'<rect class="{mark.colour}" x="{mark.x:g}" y="{mark.y:g}" {size} rx="2">'
                f"{title}</rect>"
            )
        elif isinstance(mark, ChartLine):
            path = " ".join(f"{x:g},{y:g}" for x, y in mark.points)
            parts.append(
                f'<polyline class="{mark.colour}" points="{path}" stroke-width="{mark.width:g}"/>'
            )
        else:
            place = f'x="{mark.x:g}" y="{mark.y:g}" text-anchor="{mark.anchor}"'
            parts.append(f'<text class="{mark.colour}" {place}>{escape(mark.text)}</text>')
    return "".join([*parts, "</svg>"])


def can_paint() -> bool:
    """Whether PNGs can be made here: Pillow comes with what Spark needs."""
    from importlib.util import find_spec

    return find_spec("PIL") is not None


def as_png(chart: Chart) -> bytes:
    """The chart as a PNG on white, twice as large as it is laid out, under its own heading."""
    from PIL import Image, ImageDraw, ImageFont

    scale = _PNG_SCALE
    top = _ROW
    sheet = Image.new("RGB", (WIDTH * scale, round((chart.height + top) * scale)), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_FONT * scale)
    heading = (12 * scale, 18 * scale)
    draw.text(heading, chart.says, fill=COLOURS["ink"], font=font, anchor="ls")
    for mark in chart.marks:
        colour = COLOURS[mark.colour]
        if isinstance(mark, Rect):
            y = mark.y + top
            end = mark.x + mark.width, y + mark.height
            corners = [scale * value for value in (mark.x, y, *end)]
            draw.rectangle(corners, fill=colour)
        elif isinstance(mark, ChartLine):
            points = [(x * scale, (y + top) * scale) for x, y in mark.points]
            draw.line(points, fill=colour, width=max(1, round(mark.width * scale)), joint="curve")
        else:
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
            place = (mark.x * scale, (mark.y + top) * scale)
            draw.text(place, mark.text, fill=colour, font=font, anchor=anchor)
    out = BytesIO()
    sheet.save(out, "PNG", optimize=True)
    return out.getvalue()
