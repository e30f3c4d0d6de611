"""Draws `spaces.svg`: two hosts before and after they engage, and a misplaced tuple that moves.

Run it from the root of a checkout: `.venv/bin/python docs/pictures/spaces.py`. A test compares.
"""

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

HERE: Final = Path(__file__).resolve().parent
WIDTH, HEIGHT = 900, 470
LEFT, RIGHT = 60, 500
"""Where the two hosts begin."""
HOST_WIDTH, HOST_HEIGHT = 340, 150
CHIP_WIDTH, CHIP_HEIGHT = 140, 30

FONT: Final = 'font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="15"'
MARKER: Final = (
    'id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="4" markerHeight="4" orient="auto"'
)
LAST: Final = "when contact is lost, each keeps what it holds; no tuple is lost, none is doubled"

LIGHT: Final = {
    "paper": "fill: #ffffff; stroke: #d1d5db",
    "host": "fill: #f8fafc; stroke: #d1d5db",
    "space": "fill: #eef2ff; stroke: #4f46e5",
    "chip": "fill: #ffffff; stroke: #4f46e5",
    "astray": "stroke: #b45309",
    "home": "stroke: #15803d",
    "way": "stroke: #15803d",
    "tip": "fill: #15803d",
    "cut": "stroke: #6b7280",
    "word": "fill: #1f2937",
    "soft": "fill: #6b7280",
}
DARK: Final = {
    "paper": "fill: #0f172a; stroke: #334155",
    "host": "fill: #1e293b; stroke: #475569",
    "space": "fill: #312e81; stroke: #a5b4fc",
    "chip": "fill: #1e293b; stroke: #a5b4fc",
    "astray": "stroke: #fbbf24",
    "home": "stroke: #4ade80",
    "way": "stroke: #4ade80",
    "tip": "fill: #4ade80",
    "cut": "stroke: #9ca3af",
    "word": "fill: #e5e7eb",
    "soft": "fill: #cbd5e1",
}
SHAPE: Final = {
    "host": "stroke-width: 1.5",
    "space": "stroke-width: 1.5",
    "astray": "stroke-width: 2; stroke-dasharray: 5 3",
    "home": "stroke-width: 2",
    "way": "fill: none; stroke-width: 2",
    "cut": "fill: none; stroke-width: 1.5; stroke-dasharray: 3 6",
    "bold": "font-weight: bold",
    "soft": "font-size: 13px",
    "code": "font-family: DejaVu Sans Mono, Menlo, monospace; font-size: 12.5px",
}


def rules(looks: dict[str, str]) -> str:
    """A style for each class."""
    return "\n".join(f".{name} {{ {look} }}" for name, look in looks.items())


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    """Some words at a place."""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} class="word {kind}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, round_: float = 8) -> str:
    """A rectangle with round corners."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_:g}" '
        f'class="{kind}"/>'
    )


def chip(x: float, y: float, words: str, kind: str = "") -> list[str]:
    """A tuple."""
    return [
        box(x, y, CHIP_WIDTH, CHIP_HEIGHT, f"chip {kind}", 6),
        text(x + CHIP_WIDTH / 2, y + 20, words, "code"),
    ]


def host(x: float, y: float, name: str, agent: str) -> list[str]:
    """A host with one agent."""
    return [
        box(x, y, HOST_WIDTH, HOST_HEIGHT, "host", 10),
        text(x + 14, y + 24, f"host {name}", "soft", "start"),
        text(x + HOST_WIDTH - 14, y + 24, f"agent {agent}", "bold", "end"),
    ]


def before(y: float) -> list[str]:
    """Two hosts out of reach: two spaces, and a tuple that is not where it should be."""
    window = y + 38
    return [
        text(LEFT, y - 12, "out of reach: each sees what it holds", "bold", "start"),
        *host(LEFT, y, "ward", "ann"),
        *host(RIGHT, y, "icu", "bob"),
        f'<path d="M{LEFT + HOST_WIDTH} {y + 86} H{RIGHT}" class="cut"/>',
        box(LEFT + 14, window, HOST_WIDTH - 28, 98, "space"),
        box(RIGHT + 14, window, HOST_WIDTH - 28, 98, "space"),
        text(LEFT + 26, window + 86, "space jobs", "soft", "start"),
        text(RIGHT + 26, window + 86, "space jobs", "soft", "start"),
        *chip(LEFT + 24, window + 16, '("job", 17)'),
        *chip(LEFT + 176, window + 16, '("offer", 40)', "astray"),
        text(LEFT + 176 + CHIP_WIDTH / 2, window + 64, "for bob: misplaced", "soft"),
        *chip(RIGHT + 176, window + 16, '("done", 16)'),
    ]


def after(y: float) -> list[str]:
    """One group: one space in two windows, and the tuple is home."""
    window = y + 38
    path = f"M{LEFT + 246} {window + 50} C{LEFT + 270} {window + 84}, {RIGHT + 40} {window + 84}, "
    return [
        text(LEFT, y - 12, "engaged: one space, and each still holds its own", "bold", "start"),
        *host(LEFT, y, "ward", "ann"),
        *host(RIGHT, y, "icu", "bob"),
        box(LEFT + 14, window, RIGHT - LEFT + HOST_WIDTH - 28, 98, "space"),
        text(LEFT + 26, window + 86, "space jobs of the group", "soft", "start"),
        *chip(LEFT + 24, window + 16, '("job", 17)'),
        box(LEFT + 176, window + 16, CHIP_WIDTH, CHIP_HEIGHT, "cut", 6),
        *chip(RIGHT + 24, window + 16, '("offer", 40)', "home"),
        *chip(RIGHT + 176, window + 16, '("done", 16)'),
        f'<path d="{path}{RIGHT + 84} {window + 54}" class="way" marker-end="url(#tip)"/>',
        text(450, window + 26, "moves with the", "soft"),
        text(450, window + 42, "engagement", "soft"),
    ]


def picture() -> str:
    """The whole of it."""
    dark = f"@media (prefers-color-scheme: dark) {{\n{rules(DARK)}\n}}"
    tip = '<path d="M0 0 L10 5 L0 10 z" class="tip"/>'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT}>',
        "<title>Two hosts before and after they engage; a misplaced tuple moves</title>",
        f"<style>\n{rules(SHAPE)}\n{rules(LIGHT)}\n{dark}\n</style>",
        f"<defs><marker {MARKER}>{tip}</marker></defs>",
        box(0.5, 0.5, WIDTH - 1, HEIGHT - 1, "paper", 12),
        *before(50),
        *after(280),
        text(450, 456, LAST, "soft"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    (HERE / "spaces.svg").write_text(picture(), encoding="utf-8")
