"""Indexes that searches ask for: over all that a template names at once, made while the space runs.

Some templates narrow to few tuples only by everything they say together. A search that looked at
many tuples in vain asks for a composite: an index whose key is every feature that the template
names, with the holder and the addressee where it asks for those; and where it bounds a number, the
tuples of a key are kept sorted by that number. A composite is built a segment at a time, by the
operations that follow, and used when it is whole. There is a limit to how many a shelf keeps.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable
from heapq import heapify, heappop
from typing import Any, Final, TypeAlias

from nomospace.space.records import Record
from nomospace.space.slots import Slots, size_of
from nomospace.terms import Term
from nomospace.terms.templates import MISSING, Path, Template, feature

COMPOSITES_MAX: Final = 8
"""Composites of one shelf. A new one takes the place of one that is not in use, or waits."""
IDLE_AFTER: Final = 1_000
"""A composite is not in use when this many wide searches have gone by without it."""
GAPS_MAX: Final = 1_000
"""Empty segments that one slice of building skips."""
RUN_MAX: Final = 512
"""Numbers in one sorted array of a run; twice as many are split."""

Name: TypeAlias = tuple[tuple[Path, ...], bool, bool, int | None]
"""Paths, whether the holder and the addressee are in the key, and the position that is sorted."""


def name_of(template: Template, at: str | None, dest: str | None) -> Name:
    """The composite that would serve a search best."""
    ranged = next((pos for pos, *bounds in template.ranges if _is_numeric(bounds)), None)
    paths = tuple([path for path, _ in template.features])
    return paths, at is not None, dest is not None, ranged


def _is_numeric(bounds: Iterable[Term | None]) -> bool:
    return all(one is None or one.__class__ in (int, float) for one in bounds)


def _as_float(value: Any) -> float:
    """A number as near as a float comes; a larger one never becomes smaller than another's."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class OrderRun:
    """Orders by a number each, sorted by number, in arrays of bounded length."""

    __slots__ = ("chunks", "size", "tops")

    def __init__(self) -> None:
        self.size = 0
        self.chunks: list[tuple[array[float], array[int]]] = []
        self.tops: list[tuple[float, int]] = []

    def add(self, value: float, order: int) -> None:
        """Put in an order under a number."""
        self.size += 1
        at = min(bisect_left(self.tops, (value, order)), len(self.tops) - 1)
        if at < 0:
            self.chunks.append((array("d", (value,)), array("q", (order,))))
            self.tops.append((value, order))
            return
        values, orders = self.chunks[at]
        place = self._place(at, value, order)
        values.insert(place, value)
        orders.insert(place, order)
        self.tops[at] = max(self.tops[at], (value, order))
        if len(values) > 2 * RUN_MAX:
            self.chunks[at : at + 1] = [
                (values[:RUN_MAX], orders[:RUN_MAX]),
                (values[RUN_MAX:], orders[RUN_MAX:]),
            ]
            self.tops.insert(at, (values[RUN_MAX - 1], orders[RUN_MAX - 1]))

    def drop(self, value: float, order: int) -> None:
        """Take out an order that was put in under a number."""
        self.size -= 1
        at = bisect_left(self.tops, (value, order))
        values, orders = self.chunks[at]
        place = self._place(at, value, order)
        assert orders[place] == order, "an order that is not there was dropped"
        del values[place], orders[place]
        if not values:
            del self.chunks[at], self.tops[at]

    def between(self, low: float, high: float) -> list[int]:
        """The orders under numbers from `low` to `high`."""
        found: list[int] = []
        for at in range(bisect_left(self.tops, (low, -1)), len(self.chunks)):
            values, orders = self.chunks[at]
            end = bisect_right(values, high)
            found += orders[bisect_left(values, low) : end]
            if end < len(values):
                break
        return found

    def _place(self, at: int, value: float, order: int) -> int:
        values, orders = self.chunks[at]
        first = bisect_left(values, value)
        return bisect_left(orders, order, first, bisect_right(values, value, first))


class Composite:
    """One index over all that templates of one shape name."""

    __slots__ = ("_extractors", "_name", "_resolve", "_runs", "_slots", "done", "used", "whole")

    def __init__(self, name: Name, resolve: Callable[[int], Record | None], done: int) -> None:
        self._name = name
        self._resolve = resolve
        self._extractors = [feature(path) for path in name[0]]
        self._slots: Slots[Record] = Slots(resolve)
        self._runs: dict[Hashable, OrderRun] = {}
        self.done = done  # segments up to this one are in it
        self.whole = False
        self.used = 0  # the wide search that last used it

    @property
    def by_cur(self) -> bool:
        """Whether a record that moves must be moved in it."""
        return self._name[1]

    def _key(self, record: Record) -> tuple[Hashable, ...] | None:
        keys = []
        for extract in self._extractors:
            key = extract(record.fields)
            if key is MISSING:
                return None
            keys.append(key)
        _, at, dest, _ = self._name
        return (*keys, record.cur if at else None, record.dest if dest else None)

    def add(self, record: Record) -> None:
        """Take in a record."""
        key = self._key(record)
        if key is None:
            return
        ranged = self._name[3]
        if ranged is None:
            self._slots.add(key, record)
            return
        value = record.fields[ranged]
        if value.__class__ in (int, float):
            self._runs.setdefault(key, OrderRun()).add(_as_float(value), record.order)

    def drop(self, record: Record) -> None:
        """Let go of a record that it took in."""
        key = self._key(record)
        if key is None:
            return
        ranged = self._name[3]
        if ranged is None:
            self._slots.drop(key, record)
            return
        value = record.fields[ranged]
        if value.__class__ in (int, float):
            run = self._runs[key]
            run.drop(_as_float(value), record.order)
            if not run.size:
                del self._runs[key]

    def candidates(
        self, template: Template, at: str | None, dest: str | None, fewer_than: int
    ) -> Iterable[Record] | None:
        """The records of a template's key, oldest first; None when there are no fewer than that."""
        key = (*[key for _, key in template.features], at, dest)
        ranged = self._name[3]
        if ranged is None:
            slot = self._slots.get(key)
            return self._slots.walk(slot) if size_of(slot) < fewer_than else None
        run = self._runs.get(key)
        if run is None:
            return ()
        low, high = next((low, high) for pos, low, high in template.ranges if pos == ranged)
        orders = run.between(
            float("-inf") if low is None else _as_float(low),
            float("inf") if high is None else _as_float(high),
        )
        return self._sorted(orders) if len(orders) < fewer_than else None

    def _sorted(self, orders: list[int]) -> Iterable[Record]:
        heapify(orders)
        while orders:
            record = self._resolve(heappop(orders))
            assert record is not None, "a composite holds a record that is gone"
            yield record
