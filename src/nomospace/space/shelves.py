"""A shelf: the tuples of one width, by order of arrival and by everything that they show.

Each position has a column, an index over its atomic values; compounds and lists are indexed by
name and width and by their first atomic arguments (`nomospace.terms.features`). The columns are
the hot path of a space: `add` and `drop` do for them in one loop what `Slots` does one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Final

from nomospace.space.records import Record
from nomospace.space.slots import (
    CHUNK_MAX,
    FEW_MAX,
    SHARD_FROM,
    SWEEP_MASK,
    Few,
    Many,
    Slot,
    Slots,
    size_of,
)
from nomospace.terms import Compound
from nomospace.terms.templates import Path, Template, features_of, is_eager, key_of

SEGMENT: Final = 341
"""Records in one dictionary of the store: as many as fill it before it would grow."""
SHRINK_AT: Final = frozenset((170, 85, 42, 21, 10, 5))
"""Sizes at which a segment that only loses records is copied: a dictionary never shrinks."""


class Shelf:
    """The tuples of one width."""

    __slots__ = ("astray", "columns", "deep", "held", "newest", "ragged", "segments")

    def __init__(self, width: int) -> None:
        self.segments: dict[int, dict[int, Record]] = {}
        self.newest = 0
        self.ragged: dict[int, None] = {}  # segments that an older record came back to
        self.columns: list[Slots[Record]] = [Slots(self.resolve) for _ in range(width + 1)]
        self.deep: dict[Path, Slots[Record]] = {}
        self.held = self.columns[width]  # by the agent that holds them
        self.astray: Slots[Record] = Slots(self.resolve)  # the misplaced, by whom they are for

    def resolve(self, order: int) -> Record | None:
        """The record of that order, unless it is gone."""
        segment = self.segments.get(order // SEGMENT)
        return None if segment is None else segment.get(order)

    # -- change ------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """Take in a record whose order is set."""
        order = record.order
        segment = self.segments.get(order // SEGMENT)
        if segment is None:
            self.segments[order // SEGMENT] = {order: record}
        else:
            segment[order] = record
        if order > self.newest:
            self.newest = order
        else:
            self.ragged[order // SEGMENT] = None
        deep = False
        for slots, key in zip(self.columns, (*record.fields, record.cur), strict=True):
            kind = key.__class__
            if kind is not str and kind is not int:
                if kind is Compound or kind is tuple:
                    deep = True
                    continue
                key = key_of(key)
            shard = slots.shards[hash(key) % slots.width]
            slot = shard.get(key)
            if slot is None:
                shard[key] = record
                if len(shard) > SHARD_FROM and slots.width == 1:
                    slots.spread()
            elif slot.__class__ is Many and len(last := slot.last) < CHUNK_MAX and order > last[-1]:
                last.append(order)
                slot.size += 1
            else:
                slots.join(shard, key, slot, record)
        if deep:
            for path, key in features_of(record.fields):
                if len(path) > 1:
                    found = self.deep.get(path)
                    if found is None:
                        found = self.deep[path] = Slots(self.resolve)
                    found.add(key, record)
        if record.cur != record.dest:
            self.astray.add(record.dest, record)

    def drop(self, record: Record) -> None:
        """Let go of a record that is here."""
        order = record.order
        segment = self.segments[order // SEGMENT]
        del segment[order]
        left = len(segment)
        if left in SHRINK_AT:
            self.segments[order // SEGMENT] = segment.copy()
        elif not left:
            del self.segments[order // SEGMENT]
        # From here on its order does not resolve, which is what `Slots.leave` asks for.
        deep = False
        for slots, key in zip(self.columns, (*record.fields, record.cur), strict=True):
            kind = key.__class__
            if kind is not str and kind is not int:
                if kind is Compound or kind is tuple:
                    deep = True
                    continue
                key = key_of(key)
            shard = slots.shards[hash(key) % slots.width]
            slot = shard[key]
            if slot is record:
                del shard[key]
                continue
            if slot.__class__ is Many:
                slot.size -= 1
                slot.dead += 1
                if slot.size <= FEW_MAX // 2 or not slot.dead & SWEEP_MASK:
                    slots.settle(shard, key, slot)
                continue
            slots.drop(key, record)
        if deep:
            for path, key in features_of(record.fields):
                if len(path) > 1:
                    found = self.deep[path]
                    found.leave(key, record)
                    if found.width == 1 and not found.shards[0]:
                        del self.deep[path]
        if record.cur != record.dest:
            self.astray.leave(record.dest, record)

    def move(self, record: Record, cur: str) -> None:
        """Let another agent hold a record that is here."""
        self.held.drop(record.cur, record)
        if record.cur != record.dest:
            self.astray.drop(record.dest, record)
        record.cur = cur
        self.held.add(cur, record)
        if cur != record.dest:
            self.astray.add(record.dest, record)

    # -- search ------------------------------------------------------------------------------

    def candidates(self, template: Template, at: str | None, dest: str | None) -> Iterable[Record]:
        """A few records, oldest first, with all among them that match; the caller verifies."""
        best: Slot = None
        best_size = 0
        for path, key in template.features:
            if len(path) == 1:
                slots = self.columns[path[0]]
            elif is_eager(path):
                found = self.deep.get(path)
                if found is None:
                    return ()
                slots = found
            else:
                continue
            slot: Slot = slots.shards[hash(key) % slots.width].get(key)
            kind = slot.__class__
            if kind is Record:
                return (slot,)
            if slot is None:
                return ()
            size = len(slot.items) if kind is Few else slot.size
            if best is None or size < best_size:
                best, best_size = slot, size
        if at is not None:
            slot = self.held.get(at)
            if slot is None:
                return ()
            if best is None or size_of(slot) < best_size:
                best = slot
        elif dest is not None:
            home, away = self.held.get(dest), self.astray.get(dest)
            size = size_of(home) + size_of(away)
            if best is None or size < best_size:
                walk = self.held.walk
                return merge(walk(home), walk(away), key=_order)
        if best is None:
            return self.everything()
        return self.held.walk(best)

    def everything(self) -> Iterator[Record]:
        """All records, oldest first."""
        if self.ragged:
            for number in self.ragged:
                segment = self.segments.get(number)
                if segment is not None:
                    self.segments[number] = dict(sorted(segment.items()))
            self.ragged.clear()
            self.segments = dict(sorted(self.segments.items()))
        for segment in self.segments.values():
            yield from segment.values()


def _order(record: Record) -> int:
    return record.order
