"""A plot as SVG, by hand: a few lines over a logarithmic axis, to be looked at beside a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final

WIDTH: Final = 640
HEIGHT: Final = 400
LEFT, RIGHT, TOP, BOTTOM = 60, 110, 40, 50
COLOURS: Final = ("#b3261e", "#8a6d00", "#1a5fb4", "#26734d")


def lines(
    title: str,
    x_label: str,
    y_label: str,
    xs: Sequence[float],
    ys: Mapping[str, Sequence[float]],
) -> str:
    """An SVG text: one line for each name, over positive `xs` on a logarithmic axis.

    >>> text = lines("t", "x", "y", [1, 10], {"ours": [1, 2]})
    >>> text.startswith("<svg"), text.count("<polyline")
    (True, 1)
    """
    low, high = log10(min(xs)), log10(max(xs))
    top = max(max(values) for values in ys.values()) * 1.05

    def at(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - low) / ((high - low) or 1)
        return (
            round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
            round(HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM), 1),
        )

    parts = _sheet(title, x_label, y_label)
    for step in range(int(top) + 1):
        x, y = at(min(xs), step)
        parts.append(f'<path d="M{x} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(_text(x - 8, y + 4, f"{step}", anchor="end"))
    for value in xs:
        x, y = at(value, 0)
        parts.append(_text(x, y + 18, f"{value:g}", anchor="middle"))
    for (name, values), colour in zip(ys.items(), COLOURS, strict=False):
        points = [at(x, y) for x, y in zip(xs, values, strict=True)]
        path = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = points[-1]
        parts.append(_text(x + 8, y + 4, name, colour=colour))
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def timeline(
    title: str,
    x_label: str,
    y_label: str,
    points: Mapping[str, Sequence[tuple[float, float]]],
    *,
    shaded: tuple[float, float] | None = None,
) -> str:
    """An SVG text: points of each name over time, heights on a logarithmic axis.

    >>> text = timeline("t", "s", "ms", {"ours": [(0, 1.0), (2, 40.0)]}, shaded=(1, 2))
    >>> text.startswith("<svg"), text.count("<circle")
    (True, 2)
    """
    every = [point for its in points.values() for point in its] or [(0.0, 1.0)]
    end = max(x for x, _ in every) or 1.0
    low = floor(log10(max(min(y for _, y in every), 1e-6)))
    high = max(ceil(log10(max(y for _, y in every))), low + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        up = (log10(max(y, 10.0**low)) - low) / (high - low)
        return (
            round(LEFT + x / end * (WIDTH - LEFT - RIGHT), 1),
            round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
        )

    parts = _sheet(title, x_label, y_label)
    if shaded is not None:
        (left, top), (right, bottom) = at(shaded[0], 10.0**high), at(shaded[1], 10.0**low)
        size = f'x="{left}" y="{top}" width="{right - left:g}" height="{bottom - top:g}"'
        parts.append(f'<rect {size} fill="#f3f0e4"/>')
    for power in range(low, high + 1):
        x, y = at(0, 10.0**power)
        parts.append(f'<path d="M{x} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(_text(x - 8, y + 4, f"{10.0**power:g}", anchor="end"))
    for step in range(7):
        x, y = at(end * step / 6, 10.0**low)
        parts.append(_text(x, y + 18, f"{end * step / 6:g}", anchor="middle"))
    for place, ((name, its), colour) in enumerate(zip(points.items(), COLOURS, strict=False)):
        for x, y in [at(*point) for point in its]:
            parts.append(f'<circle cx="{x}" cy="{y}" r="1.5" fill="{colour}"/>')
        parts.append(_text(LEFT + 10, TOP + 16 + 16 * place, name, colour=colour))
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def _sheet(title: str, x_label: str, y_label: str) -> list[str]:
    middle = f"translate(16 {HEIGHT / 2:g}) rotate(-90)"
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        '<g font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, TOP - 16, title, size=14),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle"),
        f'<g transform="{middle}">{_text(0, 0, y_label, anchor="middle")}</g>',
    ]


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, colour: str = "black"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">'
        f"{escape(words)}</text>"
    )
