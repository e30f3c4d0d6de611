"""An ontology as a picture: parents above their children, synonyms under the name of a class.

Dependence functions are dotted, as the paper draws them ("Semantic Tuplespace", Figure 1): from a
class to the operator that computes one of its properties, and on to the classes that it needs. A
class shows its properties when it is pointed at. The picture is SVG with its colours in it, light
or dark as the reader's screen is.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise
from typing import Final

from nomospace.errors import CallerError
from nomospace.meaning.ontology import Dependence, Ontology
from nomospace.meaning.picture.layout import LayoutLine, PictureLayout, Size, Spot, lay_out

PICTURE_CLASSES_MAX: Final = 1_000
"""The most classes in one picture; who wants to see more asks for a part."""
SYNONYMS_SHOWN: Final = 4
MARGIN: Final = 24.0
HEAD: Final = 52.0
_NAME_CHAR: Final = 7.8
_SMALL_CHAR: Final = 6.2
_WORDS_MAX: Final = 36

_LIGHT: Final = {
    "back": "#ffffff",
    "ink": "#1d2433",
    "soft": "#5b6478",
    "box": "#f4f6fb",
    "edge": "#b9c1d4",
    "line": "#7c869c",
    "op": "#fdf3e3",
    "op-edge": "#d9a24a",
    "op-ink": "#7a4f0a",
}
_DARK: Final = {
    "back": "#12161f",
    "ink": "#e8ebf3",
    "soft": "#9aa4b8",
    "box": "#1d2433",
    "edge": "#46506a",
    "line": "#7f8aa3",
    "op": "#33270f",
    "op-edge": "#b98a3c",
    "op-ink": "#f0cf94",
}
_SHAPES: Final = """
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  text-anchor: middle; }
.title { font-size: 16px; font-weight: 600; text-anchor: start; }
.note { font-size: 11px; text-anchor: start; }
.name { font-size: 13px; font-weight: 600; }
.also { font-size: 11px; font-style: italic; }
.op text { font-size: 11px; }
.is, .tip, .needs { fill: none; stroke-width: 1.4; stroke-linejoin: round; }
.needs { stroke-dasharray: 1.5 4; stroke-linecap: round; }
""".strip()


def _colours(of: dict[str, str]) -> str:
    """The rules that colour a picture; without variables, which not every viewer knows."""
    return f"""
.back {{ fill: {of["back"]}; }}
.title, .name {{ fill: {of["ink"]}; }}
.note, .also {{ fill: {of["soft"]}; }}
.class rect {{ fill: {of["box"]}; stroke: {of["edge"]}; }}
.op rect {{ fill: {of["op"]}; stroke: {of["op-edge"]}; }}
.op text {{ fill: {of["op-ink"]}; }}
.is {{ stroke: {of["line"]}; }}
.tip {{ fill: {of["back"]}; stroke: {of["line"]}; }}
.needs {{ stroke: {of["op-edge"]}; }}
.needs-tip {{ fill: {of["op-edge"]}; }}
""".strip()


_DARK_RULES: Final = f"@media (prefers-color-scheme: dark) {{\n{_colours(_DARK)}\n}}"
_STYLE: Final = f"{_SHAPES}\n{_colours(_LIGHT)}\n{_DARK_RULES}"


class PictureTooLarge(CallerError):
    """More classes were to be drawn than a picture can show."""

    code = "ontology.picture-too-large"
    words = (
        f"{{classes:,}} classes are too many for one picture, which shows "
        f"{PICTURE_CLASSES_MAX:,}; ask for a part: --class NAME"
    )
    classes: int


def draw(ontology: Ontology, names: Iterable[str] | None = None) -> str:
    """The picture of an ontology, or of some of its classes, as the text of an SVG file.

    >>> from nomospace.meaning.reading import read_ontology
    >>> text = draw(read_ontology("classes: {Car: {synonyms: Auto}, Van: {parents: Car}}"))
    >>> text.count('class="class"'), text.count('class="is"'), ">Auto<" in text
    (2, 1, True)
    """
    shown = dict.fromkeys(sorted(ontology.classes if names is None else names))
    if len(shown) > PICTURE_CLASSES_MAX:
        raise PictureTooLarge(classes=len(shown))
    boxes: dict[str, Size] = {}
    lines: list[LayoutLine] = []
    operators: dict[str, Dependence] = {}
    for name in shown:
        boxes[name] = _class_size(ontology, name)
        lines += [
            LayoutLine(up, name, "is") for up in ontology.classes[name].parents if up in shown
        ]
    for name in shown:
        for listed in ontology.classes[name].depends.values():
            for number, one in enumerate(listed):
                key = f"{name}\0{one.property}\0{number}"
                operators[key] = one
                boxes[key] = Size(_width(_operator(one), _SMALL_CHAR) + 18, 22.0)
                lines.append(LayoutLine(name, key, "needs"))
                lines += [LayoutLine(key, need, "needs") for need in one.inputs if need in shown]
    return _svg(ontology, lay_out(boxes, lines), boxes, operators)


def _svg(
    ontology: Ontology,
    plan: PictureLayout,
    boxes: dict[str, Size],
    operators: dict[str, Dependence],
) -> str:
    title = f"Ontology {ontology.name}"
    note = (
        f"{_counted(len(boxes) - len(operators), 'class', 'classes')}, sha256:{ontology.hash[:12]}"
    )
    least = MARGIN * 2 + max(_width(title, 9.5), _width(note, _SMALL_CHAR))
    width = round(max(plan.width + 2 * MARGIN, least), 1)
    height = round(plan.height + HEAD + 2 * MARGIN, 1)
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_STYLE}\n</style>",
        '<rect class="back" width="100%" height="100%"/>',
        f'<text class="title" x="{MARGIN:g}" y="34">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN:g}" y="52">{escape(note)}</text>',
        f'<g transform="translate({(width - plan.width) / 2:.1f} {HEAD + MARGIN:g})">',
    ]
    parts += [_drawn(line, points, boxes) for line, points in plan.lines]
    for name, spot in plan.spots.items():
        if name in operators:
            parts.append(_operator_box(operators[name], spot, boxes[name]))
        else:
            parts.append(_class_box(ontology, name, spot, boxes[name]))
    return "\n".join([*parts, "</g>", "</svg>", ""])


# Boxes.


def _also(ontology: Ontology, name: str) -> list[str]:
    """The synonyms under a name: a few, and how many more there are."""
    synonyms = ontology.classes[name].synonyms
    shown = [_short(one) for one in synonyms[:SYNONYMS_SHOWN]]
    more = len(synonyms) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def _class_size(ontology: Ontology, name: str) -> Size:
    also = _also(ontology, name)
    widths = [_width(_short(name), _NAME_CHAR), *(_width(one, _SMALL_CHAR) for one in also)]
    return Size(max(widths) + 26, 32.0 + 15.0 * len(also))


def _class_box(ontology: Ontology, name: str, spot: Spot, size: Size) -> str:
    y = spot.y - size.height / 2
    told = [f"{key}: {kind}" for key, kind in ontology.properties(name).items()]
    words = "\n".join([" = ".join(ontology.classes[name].names), *told])
    texts = [f'<text class="name" x="{spot.x:.1f}" y="{y + 21:.1f}">{escape(_short(name))}</text>']
    for row, one in enumerate(_also(ontology, name)):
        at = y + 37 + 15 * row
        texts.append(f'<text class="also" x="{spot.x:.1f}" y="{at:.1f}">{escape(one)}</text>')
    box = _box(spot, size, round_by=6)
    return f'<g class="class"><title>{escape(words)}</title>{box}{"".join(texts)}</g>'


def _box(spot: Spot, size: Size, round_by: float) -> str:
    x, y = spot.x - size.width / 2, spot.y - size.height / 2
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.width:.1f}" height="{size.height:.1f}" '
        f'rx="{round_by:g}"/>'
    )


def _operator(one: Dependence) -> str:
    return _short(f"{one.property} = {one.function}")


def _operator_box(one: Dependence, spot: Spot, size: Size) -> str:
    words = f"{one.property} = {one.text}"
    if one.when:
        words += f"\nwhen {one.condition}"
    text = f'<text x="{spot.x:.1f}" y="{spot.y + 4:.1f}">{escape(_operator(one))}</text>'
    box = _box(spot, size, round_by=size.height / 2)
    return f'<g class="op"><title>{escape(words)}</title>{box}{text}</g>'


# Lines.


def _drawn(line: LayoutLine, points: list[Spot], boxes: dict[str, Size]) -> str:
    """A line from the lower edge of a box to the upper edge of another, through its bends."""
    upper, lower = points[0], points[-1]
    down = 1.0 if upper.y < lower.y else -1.0
    start = Spot(upper.x, upper.y + down * boxes[line.upper].height / 2)
    end = Spot(lower.x, lower.y - down * boxes[line.lower].height / 2)
    if line.kind == "is":  # the tip is at the parent, and points to it
        tip = start
        start = Spot(tip.x, tip.y + 9 * down)
        mark = f"M{tip.x:.1f} {tip.y:.1f}l-6 {9 * down:g}h12Z"
    else:
        tip = end
        end = Spot(tip.x, tip.y - 7 * down)
        mark = f"M{tip.x:.1f} {tip.y:.1f}l-3.5 {-7 * down:g}h7Z"
    way = [start, *points[1:-1], end]
    path = f"M{way[0].x:.1f} {way[0].y:.1f}"
    for one, other in pairwise(way):
        bend = (other.y - one.y) / 2
        path += (
            f"C{one.x:.1f} {one.y + bend:.1f} {other.x:.1f} {other.y - bend:.1f} "
            f"{other.x:.1f} {other.y:.1f}"
        )
    tip_class = "tip" if line.kind == "is" else "needs-tip"
    return f'<path class="{line.kind}" d="{path}"/><path class="{tip_class}" d="{mark}"/>'


def _width(text: str, char: float) -> float:
    """About how wide a text is; wide scripts take two places a character."""
    return sum(char if ord(one) < 0x1100 else 2 * char for one in text)


def _short(text: str) -> str:
    return text if len(text) <= _WORDS_MAX else f"{text[: _WORDS_MAX - 1]}…"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
