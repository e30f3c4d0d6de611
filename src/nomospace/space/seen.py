"""Which tuples a once-per-tuple reaction has met: intervals of each writer's counts, not ids.

A writer numbers its tuples one by one, so what a reaction has met is mostly a few long runs.
A reaction carries this with it when its agent moves, and what two hosts know merges (LIME 3.2, the
reacted set; LIME 4 keeps ids, which grow without end).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, TypeAlias

from nomospace.space.records import TupleId

SPANS_MAX: Final = 4_096
"""Intervals kept for one writer. Past it the gaps between the older half are closed."""
WRITERS_MAX: Final = 65_536
"""Writers remembered. Past it the one longest unheard of is forgotten."""

Spans: TypeAlias = dict[str, list[tuple[int, int]]]


class SeenIds:
    """A set of tuple ids that stays small.

    Past `SPANS_MAX` intervals of one writer, the gaps between the older half are closed: tuples
    that old which were not met by then count as met. So a reaction may miss a very late tuple,
    and never meets one twice. Past `WRITERS_MAX` writers the one that was longest not added to
    is forgotten; its tuples would be met anew.

    >>> seen = SeenIds()
    >>> for count in (1, 3, 2, 7):
    ...     seen.add(("ann", count))
    >>> ("ann", 2) in seen, ("ann", 4) in seen, seen.spans()
    (True, False, {'ann': [(1, 3), (7, 7)]})
    """

    __slots__ = ("_ends",)

    def __init__(self, spans: Spans | None = None) -> None:
        # For each writer the ends of its intervals, half open: low, high + 1, low, high + 1, …
        self._ends: dict[str, list[int]] = {}
        for writer, pairs in (spans or {}).items():
            for low, high in pairs:
                self.add_span(writer, low, high)

    def __contains__(self, id: TupleId) -> bool:
        ends = self._ends.get(id[0])
        return ends is not None and bisect_right(ends, id[1]) & 1 == 1

    def __bool__(self) -> bool:
        return bool(self._ends)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeenIds) and self._ends == other._ends

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"SeenIds({self.spans()!r})"

    def add(self, id: TupleId) -> None:
        """Remember one tuple."""
        self.add_span(id[0], id[1], id[1])

    def add_span(self, writer: str, low: int, high: int) -> None:
        """Remember the tuples of a writer from `low` to `high`, both included."""
        if high < low:
            return
        ends = self._ends.pop(writer, None)  # put back last: the longest unheard of stands first
        if ends is None:
            if len(self._ends) >= WRITERS_MAX:
                del self._ends[next(iter(self._ends))]
            ends = []
        self._ends[writer] = ends
        if not ends or low > ends[-1]:
            ends += (low, high + 1)
        elif low == ends[-1]:
            ends[-1] = high + 1
        else:
            # An interval that ends where this one starts, or the other way, becomes one with it.
            first = bisect_right(ends, low - 1)
            last = bisect_right(ends, high + 1)
            ends[first:last] = [low] * (first & 1 == 0) + [high + 1] * (last & 1 == 0)
        if len(ends) > 2 * SPANS_MAX:
            del ends[1 : len(ends) // 4 * 2 - 1]

    def merge(self, other: SeenIds) -> None:
        """Remember what another remembers too."""
        for writer, pairs in other.spans().items():
            for low, high in pairs:
                self.add_span(writer, low, high)

    def clear(self) -> None:
        """Forget all."""
        self._ends.clear()

    def spans(self) -> Spans:
        """All of it as plain data, which `SeenIds` takes back: closed intervals by writer."""
        return {
            writer: [(low, end - 1) for low, end in _pairs(ends)]
            for writer, ends in self._ends.items()
        }


def _pairs(ends: list[int]) -> Iterable[tuple[int, int]]:
    return zip(ends[::2], ends[1::2], strict=True)
