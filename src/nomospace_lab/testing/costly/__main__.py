"""The command: search, print the worst, and draw price against time."""

from __future__ import annotations

import argparse
import sys
import time
from math import log10
from pathlib import Path
from typing import Final

from nomospace_lab.testing.costly import (
    SLICE_MS_MAX,
    TIMES_MAX,
    CostlyCase,
    CostSearch,
    Measured,
    cases,
    climb,
)

SHOWN: Final = 3
COLOURS: Final = (
    *("#2060c0", "#c05020", "#208040", "#804090"),
    *("#b08000", "#008090", "#c02060", "#607080"),
)
_WIDTH, _HEIGHT, _MARGIN = 900, 620, 70
_US: Final = range(7)
"""Powers of ten that the axes show, in microseconds."""


def main(arguments: list[str] | None = None) -> int:
    """Search; 1 when something costs too much: for its price, or in one slice."""
    known = cases()
    asked = argparse.ArgumentParser(
        prog="python -m nomospace_lab.testing.costly",
        description="Search for inputs that cost more than their price.",
    )
    asked.add_argument(
        "kind", nargs="*", help=f"what to search through: {', '.join(known)} (all of them)"
    )
    asked.add_argument("--minutes", type=float, default=1.0, help="how long, in all (1)")
    asked.add_argument("--seed", type=int, default=1, help="where to begin (1)")
    asked.add_argument("--picture", type=Path, help="an SVG file: price against time")
    chosen = asked.parse_args(arguments)
    for name in chosen.kind:
        if name not in known:
            asked.error(f"there is no kind {name!r}; there are {', '.join(known)}")
    kinds = chosen.kind or list(known)
    searches: list[CostSearch] = []
    for name in kinds:
        until = time.monotonic() + 60 * chosen.minutes / len(kinds)
        search = climb(known[name], chosen.seed, lambda _: time.monotonic() >= until)  # noqa: B023
        searches.append(search)
        _report(search)
    print(table(searches))
    if chosen.picture is not None:
        chosen.picture.write_text(picture(searches), encoding="utf-8")
        print(f"price against time: {chosen.picture}")
    return 1 if any(one.worst and one.worst[0][0].share > 1 for one in searches) else 0


def _report(search: CostSearch) -> None:
    print(f"{search.case.name}: {search.tried:,} inputs", flush=True)
    for measured, made in search.worst[:SHOWN]:
        print(f"  {describe(search.case, measured)}")
        print("    " + search.case.show(made).replace("\n", "\n    "), flush=True)


def describe(kind: CostlyCase, measured: Measured) -> str:
    """A measurement in words."""
    return (
        f"{measured.times:.2f} times its price: {measured.price:,} units, "
        f"{measured.ns / 1e6:.2f} ms, longest slice {measured.slice_ns / 1e6:.2f} ms, "
        f"{measured.bytes / 1e6:.2f} MB"
    )


def table(searches: list[CostSearch]) -> str:
    """The worst of each kind, in Markdown."""
    lines = [
        "| kind | a unit | tried | most times its price | longest slice, ms | most memory, MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in searches:
        # Of those that were doubtful only the second measurement counts, which is in `worst`.
        times = max([each.times for each, _ in one.worst], default=0.0)
        slice_ns = max([each.slice_ns for each, _ in one.worst], default=0)
        held = max([each.bytes for each in drawn(one)], default=0)
        unit = f"{one.case.unit}: {one.case.unit_ns:g} ns, {one.case.unit_bytes:g} bytes"
        lines.append(
            f"| {one.case.name} | {unit} | {one.tried:,} | {times:.2f} | {slice_ns / 1e6:.1f} "
            f"| {held / 1e6:.1f} |"
        )
    return "\n".join(lines)


def picture(searches: list[CostSearch]) -> str:
    """Every input as a point, what its price stands for to the right and its time upwards.

    Both go by powers of ten. The lines are the price, five times the price (with what is free), and
    the longest that a slice may take: of work that is cut, a point is its longest slice and what
    that would have cost.
    """
    left, right = _MARGIN, _WIDTH - _MARGIN
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        "<style>text { font: 12px sans-serif; fill: #333 }</style>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in _US:
        x, y = _at(10**power * 1e3, 10**power * 1e3)
        named = f"{10**power / 1e3:g} ms"
        lines += [
            f'<line x1="{x}" y1="{_MARGIN}" x2="{x}" y2="{_HEIGHT - _MARGIN}" stroke="#eee"/>',
            f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="#eee"/>',
            f'<text x="{x}" y="{_HEIGHT - _MARGIN + 18}" text-anchor="middle">{named}</text>',
            f'<text x="{_MARGIN - 8}" y="{y + 4}" text-anchor="end">{named}</text>',
        ]
    x, y = _WIDTH / 2, _HEIGHT - 20
    lines.append(f'<text x="{x}" y="{y}" text-anchor="middle">price, as time</text>')
    lines.append(f'<text x="8" y="{_MARGIN - 16}">processor time that it took</text>')
    for times, dash in ((1.0, ""), (TIMES_MAX, ' stroke-dasharray="5 4"')):
        ends = [10 ** (power + 0.05 * step + 3) for power in _US[:-1] for step in range(21)]
        free = 200_000.0 if times > 1 else 0.0
        path = " ".join([f"{x},{y}" for x, y in [_at(ns, free + times * ns) for ns in ends]])
        lines.append(f'<polyline points="{path}" fill="none" stroke="#888"{dash}/>')
    y = _at(1e3, SLICE_MS_MAX * 1e6)[1]
    lines.append(f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="#c00"/>')
    lines.append(f'<text x="{left + 6}" y="{y - 4}">{SLICE_MS_MAX:g} ms: a slice at most</text>')
    for number, search in enumerate(searches):
        colour, kind = COLOURS[number % len(COLOURS)], search.case
        lines.append(f'<g fill="{colour}" fill-opacity="0.45">')
        for one in drawn(search):
            share = one.slice_ns / max(one.ns, 1)
            x, y = _at(max(one.price, 1) * kind.unit_ns * share, one.slice_ns)
            lines.append(f'<circle cx="{x}" cy="{y}" r="1.8"/>')
        lines.append("</g>")
        x, y = _WIDTH - 190, _HEIGHT - _MARGIN - 16 * (len(searches) - number)
        lines.append(f'<rect x="{x - 16}" y="{y - 9}" width="9" height="9" fill="{colour}"/>')
        lines.append(f'<text x="{x}" y="{y}">{kind.name} ({search.tried:,})</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def drawn(search: CostSearch) -> list[Measured]:
    """Some of the inputs, the worst among them."""
    kept = {id(one) for one in search.points}
    return [*search.points, *[one for one, _ in search.worst if id(one) not in kept]]


def _at(price_ns: float, ns: float) -> tuple[float, float]:
    """Where a price and a time are, both in nanoseconds."""
    low, high = _US[0] + 3, _US[-1] + 3

    def along(value: float, room: int) -> float:
        return (min(max(log10(max(value, 1)), low), high) - low) / (high - low) * room

    x = _MARGIN + along(price_ns, _WIDTH - 2 * _MARGIN)
    y = _HEIGHT - _MARGIN - along(ns, _HEIGHT - 2 * _MARGIN)
    return round(x, 1), round(y, 1)


if __name__ == "__main__":
    sys.exit(main())
