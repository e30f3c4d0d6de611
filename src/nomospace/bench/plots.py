"""A plot as SVG, by hand: a few lines over a logarithmic axis, to be looked at beside a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
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

    middle = f"translate(16 {HEIGHT / 2:g}) rotate(-90)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        '<g font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, TOP - 16, title, size=14),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle"),
        f'<g transform="{middle}">{_text(0, 0, y_label, anchor="middle")}</g>',
    ]
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


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, colour: str = "black"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">'
        f"{escape(words)}</text>"
    )
