"""Places boxes in layers so that lines run downwards, are short, and seldom cross.

The usual steps: a layer for each box, by the longest way down to it; a bend wherever a line passes
a layer; an order in each layer by the middle of a box's neighbours, swept up and down a few times;
then places, each layer in turn as near to its neighbours as the order and the boxes' widths allow,
which is a regression that keeps an order and has an exact answer. Parts that no line joins are laid
out apart and set side by side, in rows. All of it depends on the order given in, and on nothing
else: the same graph gives the same picture.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

SWEEPS: Final = 8
GAP_X: Final = 28.0
GAP_Y: Final = 56.0
ROW_WIDTH: Final = 1_400.0
"""A row of separate parts is not begun anew before it is this wide."""
BEND: Final = 8.0
"""The room that a passing line gets in a layer."""
BENDS_MAX: Final = 10_000
"""The most bends of all lines together; the lines after that run straight."""


class Size(NamedTuple):
    """How large a box is."""

    width: float
    height: float


class LayoutLine(NamedTuple):
    """From a box to one that belongs below it."""

    upper: str
    lower: str
    kind: str


class Spot(NamedTuple):
    """The middle of a box."""

    x: float
    y: float


class PictureLayout(msgspec.Struct):
    """Where everything goes. A line's points run from the upper box to the lower one."""

    width: float = 0.0
    height: float = 0.0
    spots: dict[str, Spot] = {}
    lines: list[tuple[LayoutLine, list[Spot]]] = []


def lay_out(boxes: Mapping[str, Size], lines: Iterable[LayoutLine]) -> PictureLayout:
    """Lay out a graph.

    >>> plan = lay_out({"Car": Size(60, 30), "Van": Size(60, 30)}, [LayoutLine("Car", "Van", "is")])
    >>> plan.spots["Car"].y < plan.spots["Van"].y, plan.spots["Car"].x == plan.spots["Van"].x
    (True, True)
    """
    every = list(lines)
    whole = PictureLayout()
    x = y = row_height = 0.0
    for names in _parts(boxes, every):
        member = dict.fromkeys(names)
        part = _Part(
            {name: boxes[name] for name in names}, [one for one in every if one.upper in member]
        ).plan()
        if x and x + part.width > ROW_WIDTH:
            x, y, row_height = 0.0, y + row_height + GAP_Y, 0.0
        for name, spot in part.spots.items():
            whole.spots[name] = Spot(spot.x + x, spot.y + y)
        for one, points in part.lines:
            whole.lines.append((one, [Spot(p.x + x, p.y + y) for p in points]))
        x += part.width + GAP_X
        row_height = max(row_height, part.height)
        whole.width = max(whole.width, x - GAP_X)
        whole.height = y + row_height
    return whole


def _parts(boxes: Mapping[str, Size], lines: list[LayoutLine]) -> list[list[str]]:
    """The boxes that lines join, largest part first; those that stand alone come last."""
    beside: dict[str, list[str]] = {name: [] for name in boxes}
    for one in lines:
        beside[one.upper].append(one.lower)
        beside[one.lower].append(one.upper)
    found: list[list[str]] = []
    seen: set[str] = set()
    for name in boxes:
        if name in seen:
            continue
        part = [name]
        seen.add(name)
        for member in part:  # grows as it is walked
            for near in beside[member]:
                if near not in seen:
                    seen.add(near)
                    part.append(near)
        found.append(part)
    found.sort(key=lambda part: -len(part))
    return found


class _Part:
    """Boxes that hang together."""

    def __init__(self, boxes: dict[str, Size], lines: list[LayoutLine]) -> None:
        self.boxes = boxes
        self.lines = lines
        self.layer: dict[str, int] = {}
        self.widths = {name: size.width for name, size in boxes.items()}
        self.ways: list[tuple[LayoutLine, list[str]]] = []
        self.above: dict[str, list[str]] = {name: [] for name in boxes}
        self.below: dict[str, list[str]] = {name: [] for name in boxes}

    def plan(self) -> PictureLayout:
        self._find_layers()
        self._bend()
        rows = self._rows()
        self._sort(rows)
        centres = self._centres(rows)
        return self._plan(rows, centres)

    def _find_layers(self) -> None:
        """The longest way down to each box. A line that would close a ring counts for nothing."""
        above: dict[str, list[str]] = {name: [] for name in self.boxes}
        below: dict[str, list[str]] = {name: [] for name in self.boxes}
        for one in self.lines:
            if not _reaches(below, one.lower, one.upper):
                above[one.lower].append(one.upper)
                below[one.upper].append(one.lower)
        self.layer = dict.fromkeys(self.boxes, 0)
        for name in TopologicalSorter(above).static_order():
            self.layer[name] = max([self.layer[upper] + 1 for upper in above[name]], default=0)
        for name in self.boxes:  # what is on top goes right above what is below it
            if below[name] and not above[name]:
                self.layer[name] = min(self.layer[lower] for lower in below[name]) - 1

    def _bend(self) -> None:
        """Give every line a bend in each layer that it passes."""
        for number, one in enumerate(self.lines):
            first, last = self.layer[one.upper], self.layer[one.lower]
            way = [one.upper]
            straight = len(self.layer) + last - first > len(self.boxes) + BENDS_MAX
            for layer in range(first + 1, first if straight else last):
                bend = f"\0{number}/{layer}"
                self.layer[bend] = layer
                self.widths[bend] = BEND
                self.above[bend], self.below[bend] = [], []
                way.append(bend)
            way.append(one.lower)
            self.ways.append((one, way))
            if first < last and (len(way) > 2 or first + 1 == last):
                for upper, lower in pairwise(way):
                    self.below[upper].append(lower)
                    self.above[lower].append(upper)

    def _rows(self) -> list[list[str]]:
        """Boxes and bends by layer, in the order in which a walk from the top meets them."""
        rows: list[list[str]] = [[] for _ in range(max(self.layer.values()) + 1)]
        seen: set[str] = set()
        for start in sorted(self.layer, key=lambda name: self.layer[name]):
            waiting = [start]
            while waiting:
                name = waiting.pop()
                if name not in seen:
                    seen.add(name)
                    rows[self.layer[name]].append(name)
                    waiting += reversed(self.below[name])
        return rows

    def _sort(self, rows: list[list[str]]) -> None:
        best, fewest = [list(row) for row in rows], _crossings(rows, self.below)
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            beside = self.above if down else self.below
            for row in rows if down else reversed(rows):
                self._sort_row(rows, row, beside)
            found = _crossings(rows, self.below)
            if found < fewest:
                best, fewest = [list(row) for row in rows], found
        for row, kept in zip(rows, best, strict=True):
            row[:] = kept

    def _sort_row(
        self, rows: list[list[str]], row: list[str], beside: Mapping[str, list[str]]
    ) -> None:
        at = {name: place for every in rows for place, name in enumerate(every)}

        def middle(name: str) -> float:
            near = beside[name]
            return sum(at[one] for one in near) / len(near) if near else at[name]

        row.sort(key=middle)

    def _centres(self, rows: list[list[str]]) -> dict[str, float]:
        """How far to the right each box and bend has its middle."""
        centres: dict[str, float] = {}
        for row in rows:
            x = 0.0
            for name in row:
                centres[name] = x + self.widths[name] / 2
                x += self.widths[name] + GAP_X
        for sweep in range(SWEEPS):
            for row in rows if sweep % 2 == 0 else reversed(rows):
                wanted = []
                for name in row:
                    near = self.above[name] + self.below[name]
                    mean = sum(centres[one] for one in near) / len(near) if near else centres[name]
                    wanted.append(mean)
                self._place(row, wanted, centres)
        return centres

    def _place(self, row: list[str], wanted: list[float], centres: dict[str, float]) -> None:
        """Put a row as near to where it wants to be as its order and widths allow."""
        offsets = [0.0]
        for one, other in pairwise(row):
            offsets.append(offsets[-1] + (self.widths[one] + self.widths[other]) / 2 + GAP_X)
        blocks: list[tuple[float, int]] = []  # the mean of a run of boxes, and how many they are
        for want, offset in zip(wanted, offsets, strict=True):
            mean, count = want - offset, 1
            while blocks and blocks[-1][0] > mean:
                before, many = blocks.pop()
                mean, count = (before * many + mean * count) / (many + count), many + count
            blocks.append((mean, count))
        starts = [mean for mean, count in blocks for _ in range(count)]
        for name, start, offset in zip(row, starts, offsets, strict=True):
            centres[name] = start + offset

    def _plan(self, rows: list[list[str]], centres: dict[str, float]) -> PictureLayout:
        left = min(centres[name] - self.widths[name] / 2 for name in centres)
        right = max(centres[name] + self.widths[name] / 2 for name in centres)
        made = PictureLayout(width=right - left)
        y = 0.0
        spots: dict[str, Spot] = {}
        for row in rows:
            height = max([self.boxes[name].height for name in row if name in self.boxes] or [0.0])
            for name in row:
                spots[name] = Spot(centres[name] - left, y + height / 2)
            made.height = y + height
            y += height + GAP_Y
        made.spots = {name: spots[name] for name in self.boxes}
        made.lines = [(one, [spots[name] for name in way]) for one, way in self.ways]
        return made


def _reaches(edges: Mapping[str, list[str]], start: str, goal: str) -> bool:
    seen = {start}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        for near in edges[name]:
            if near not in seen:
                seen.add(near)
                waiting.append(near)
    return False


def _crossings(rows: list[list[str]], below: Mapping[str, list[str]]) -> int:
    """How often lines between neighbouring rows cross."""
    total = 0
    for upper, lower in pairwise(rows):
        at = {name: place for place, name in enumerate(lower)}
        ends = [at[name] for one in upper for name in sorted(below[one], key=at.__getitem__)]
        met: list[int] = []  # in order
        for end in ends:
            total += len(met) - bisect_right(met, end)
            insort(met, end)
    return total
