"""The command: search, print the worst, and draw price against time."""

from __future__ import annotations

import argparse
import sys
import time
from math import log10
from pathlib import Path
from typing import Final

from nomospace.testing.costly import Case, Measured, Search, cases, climb

TIMES_MAX: Final = 5.0
"""Nothing may cost more times its price than this."""
SHOWN: Final = 3
_WIDTH, _HEIGHT, _MARGIN = 760, 520, 60


def main(arguments: list[str] | None = None) -> int:
    """Search; 1 when something costs more than `TIMES_MAX` times its price."""
    known = cases()
    asked = argparse.ArgumentParser(
        prog="python -m nomospace.testing.costly",
        description="Search for inputs that cost more than their price.",
    )
    asked.add_argument("kind", nargs="+", choices=sorted(known), help="what to search through")
    asked.add_argument("--minutes", type=float, default=1.0, help="how long, for each kind (1)")
    asked.add_argument("--seed", type=int, default=1, help="where to begin (1)")
    asked.add_argument("--picture", type=Path, help="an SVG file: price against time")
    chosen = asked.parse_args(arguments)
    worst = 0.0
    searches = []
    for name in chosen.kind:
        until = time.monotonic() + 60 * chosen.minutes
        search = climb(known[name], chosen.seed, lambda _: time.monotonic() >= until)  # noqa: B023
        searches.append(search)
        worst = max(worst, _report(search))
    if chosen.picture is not None:
        chosen.picture.write_text(picture(searches), encoding="utf-8")
        print(f"price against time: {chosen.picture}")
    return 1 if worst > TIMES_MAX else 0


def _report(search: Search) -> float:
    print(f"{search.case.name}: {search.tried:,} inputs")
    for measured, made in search.worst[:SHOWN]:
        print(f"  {describe(search.case, measured)}")
        print("    " + search.case.show(made).replace("\n", "\n    "))
    return search.worst[0][0].times if search.worst else 0.0


def describe(kind: Case, measured: Measured) -> str:
    """A measurement in words."""
    return (
        f"{measured.times:.2f} times its price: {measured.price:,} units, "
        f"{measured.ns / 1e6:.2f} ms, {measured.bytes / 1e6:.2f} MB"
    )


def picture(searches: list[Search]) -> str:
    """Every input as a point, price to the right and time upwards, both by powers of ten."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">',
        "<style>text { font: 12px sans-serif }</style>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in range(7):
        x, y = _at(10**power, 1.0)[0], _at(1.0, 10 ** (power - 2))[1]
        lines.append(f'<text x="{x}" y="{_HEIGHT - 30}" text-anchor="middle">{10**power:,}</text>')
        lines.append(
            f'<text x="{_MARGIN - 8}" y="{y}" text-anchor="end">{10 ** (power - 2):g}</text>'
        )
    lines.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">units</text>')
    lines.append(f'<text x="8" y="{_MARGIN - 24}">ms of processor time</text>')
    colours = ("#2060c0", "#c05020", "#208040", "#804090")
    for number, search in enumerate(searches):
        colour = colours[number % len(colours)]
        kind = search.case
        for times, dash in ((1.0, ""), (TIMES_MAX, ' stroke-dasharray="4 4"')):
            ends = [_at(u, (kind.free_ns + times * u * kind.unit_ns) / 1e6) for u in (1, 10**6)]
            (x1, y1), (x2, y2) = ends
            lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"{dash}/>')
        for one in search.points:
            x, y = _at(max(one.price, 1), one.ns / 1e6)
            lines.append(f'<circle cx="{x}" cy="{y}" r="2" fill="{colour}" fill-opacity="0.5"/>')
        lines.append(
            f'<text x="{_WIDTH - 200}" y="{_MARGIN + 16 * number}" fill="{colour}">{kind.name}: '
            f"price, and {TIMES_MAX:g} times it</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _at(units: float, ms: float) -> tuple[float, float]:
    x = _MARGIN + log10(max(units, 1)) / 6 * (_WIDTH - 2 * _MARGIN)
    y = _HEIGHT - _MARGIN - (log10(max(ms, 0.01)) + 2) / 6 * (_HEIGHT - 2 * _MARGIN)
    return round(x, 1), round(y, 1)


if __name__ == "__main__":
    sys.exit(main())
