"""A shelf: the tuples of one width, by order of arrival and by everything that they show.

Each position has a column, an index over its atomic values; compounds and lists are indexed by
name and width and by their first atomic arguments (`nomospace.terms.features`). The columns are
the hot path of a space: `add` and `drop` do for them in one loop what `Slots` does one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from typing import Final, cast

from nomospace.space.composites import (
    COMPOSITES_MAX,
    GAPS_MAX,
    IDLE_AFTER,
    Composite,
    Name,
    name_of,
)
from nomospace.space.records import Record
from nomospace.space.slots import (
    CHUNK_MAX,
    SEGMENT,
    SHARD_FROM,
    Few,
    Many,
    Slot,
    Slots,
    order_of,
    resolver,
    size_of,
)
from nomospace.terms import Compound, Term
from nomospace.terms.features import PLAIN_INT
from nomospace.terms.templates import Path, Template, features_of, is_eager, key_of

SHRINK_AT: Final = frozenset((120, 40, 12, 4, 0))
"""Sizes at which a segment that only loses records is copied, or ends: a dictionary never
shrinks."""

WIDE: Final = 64
"""Slots with more records than this are wide: a composite is used if there is one."""
SLICES_WIDE: Final = 4
"""Segments that a wide search builds, in each of its slices: some three milliseconds."""
NEAR: Final = 4
"""Numbers that lie in so many times as many places, or in fewer, are looked up together."""
END: Final = 1 << 62
"""No segment has a higher number."""


def _living(segments: dict[int, dict[int, Record]], orders: Sequence[int]) -> list[int]:
    """Those of some orders, which are sorted, that resolve."""
    if not orders:
        return []
    first, last = orders[0] // SEGMENT, orders[-1] // SEGMENT
    if (last - first) * SEGMENT <= NEAR * len(orders):  # one look at each without a step of Python
        there = set().union(*[segments.get(at, ()) for at in range(first, last + 1)])
        return list(filter(there.__contains__, orders))
    return [order for order in orders if order in segments.get(order // SEGMENT, ())]


class Shelf:
    """The tuples of one width."""

    __slots__ = (
        "_living",
        "_resolve",
        "astray",
        "columns",
        "composites",
        "deep",
        "grown",
        "held",
        "newest",
        "ragged",
        "segments",
        "wide",
    )

    def __init__(self, width: int) -> None:
        self.segments: dict[int, dict[int, Record]] = {}
        self.grown = False
        """Whether it has had so many tuples that it is not kept when it is empty; queues that are
        empty most of the time do without a new one for each tuple."""
        self.newest = 0
        self.ragged: dict[int, None] = {}  # segments that an older record came back to
        self._resolve = resolver(self.segments)
        self._living = partial(_living, self.segments)
        self.columns: list[Slots[Record]] = [self._slots() for _ in range(width)]
        self.deep: dict[Path, Slots[Record]] = {}
        self.held = self._slots()  # by the agent that holds them
        self.astray = self._slots()  # the misplaced, by whom they are for
        self.composites: dict[Name, Composite] = {}
        self.wide = 0  # searches whose best slot was wide

    def _slots(self) -> Slots[Record]:
        return Slots(self._resolve, self._living)

    # -- change ------------------------------------------------------------------------------

    def add(self, record: Record) -> bool:
        """Take in a record whose order is set; say whether it has compounds or lists."""
        order = record.order
        segment = self.segments.get(order // SEGMENT)
        if segment is None:
            self.grown = self.grown or bool(self.segments)
            self.segments[order // SEGMENT] = {order: record}
        else:
            segment[order] = record
        if order > self.newest:
            self.newest = order
        else:
            self.ragged[order // SEGMENT] = None
        deep = False
        for slots, key in zip(self.columns, record.fields):  # noqa: B905 - the word costs 0.3 µs
            if type(key) is not str and (type(key) is not int or not -PLAIN_INT < key < PLAIN_INT):
                if type(key) is Compound or type(key) is tuple:
                    deep = True
                    continue
                key = key_of(key)
            shard = slots.whole or slots.shards[hash(key) % slots.width]
            slot = shard.get(key)
            if slot is None:
                shard[key] = record
                if len(shard) > SHARD_FROM and slots.width == 1:
                    slots.spread()
            elif type(slot) is Many and len(last := slot.last) < CHUNK_MAX and order > last[-1]:
                last.append(order)
                slot.total += 1
            else:
                slots.join(shard, key, slot, record)
        if deep:
            for path, key in features_of(record.fields):
                if len(path) > 1:
                    found = self.deep.get(path)
                    if found is None:
                        found = self.deep[path] = self._slots()
                    found.add(key, record)
        key, held = record.cur, self.held
        slot = (held.whole or held.shards[hash(key) % held.width]).get(key)
        if type(slot) is Many and len(last := slot.last) < CHUNK_MAX and order > last[-1]:
            last.append(order)
            slot.total += 1
        else:
            held.add(key, record)
        if key != record.dest:
            self.astray.add(record.dest, record)
        if self.composites:
            for composite in self.composites.values():
                if order // SEGMENT <= composite.done:
                    composite.add(record)
            self._build()  # after: else it could be taken in twice
        return deep

    def drop(self, record: Record) -> bool:
        """Let go of a record that is here; say whether it has compounds or lists."""
        order = record.order
        segment = self.segments[order // SEGMENT]
        del segment[order]
        if len(segment) in SHRINK_AT:
            if segment:
                self.segments[order // SEGMENT] = segment.copy()
            else:
                del self.segments[order // SEGMENT]
        # From here on its order does not resolve, which is what `Slots.leave` asks for.
        deep = False
        for slots, key in zip(self.columns, record.fields):  # noqa: B905 - the word costs 0.3 µs
            if type(key) is not str and (type(key) is not int or not -PLAIN_INT < key < PLAIN_INT):
                if type(key) is Compound or type(key) is tuple:
                    deep = True
                    continue
                key = key_of(key)
            shard = slots.whole or slots.shards[hash(key) % slots.width]
            slot = shard[key]
            if slot is record:
                del shard[key]
            elif type(slot) is Many:
                slot.dead = dead = slot.dead + 1
                if dead >= slot.look:
                    slots.settle(shard, key, slot)
            else:
                slots.drop(key, record)
        if deep:
            for path, key in features_of(record.fields):
                if len(path) > 1:
                    found = self.deep[path]
                    found.leave(key, record)
                    if found.width == 1 and not found.shards[0]:
                        del self.deep[path]
        key, held = record.cur, self.held
        shard = held.whole or held.shards[hash(key) % held.width]
        slot = shard[key]
        if type(slot) is Many:
            slot.dead = dead = slot.dead + 1
            if dead >= slot.look:
                held.settle(shard, key, slot)
        else:
            held.drop(key, record)
        if key != record.dest:
            self.astray.leave(record.dest, record)
        if self.composites:
            for composite in self.composites.values():
                if order // SEGMENT <= composite.done:
                    composite.drop(record)
            self._build()
        return deep

    def move(self, record: Record, cur: str) -> None:
        """Let another agent hold a record that is here."""
        self.held.drop(record.cur, record)
        if record.cur != record.dest:
            self.astray.drop(record.dest, record)
        moved = [
            one
            for one in self.composites.values()
            if one.by_cur and record.order // SEGMENT <= one.done
        ]
        for composite in moved:
            composite.drop(record)
        record.cur = cur
        for composite in moved:
            composite.add(record)
        self.held.add(cur, record)
        if cur != record.dest:
            self.astray.add(record.dest, record)

    # -- search ------------------------------------------------------------------------------

    def candidates(
        self, template: Template, at: str | None, dest: str | None, after: int = 0
    ) -> Iterable[Record]:
        """A few records, oldest first, with all among them that match; the caller verifies.

        With `after`, at least those that came later than the record of that order.
        """
        best: Slot = None
        best_size = len(self.segments) * SEGMENT
        for path, key in template.features:
            if len(path) == 1:
                slots = self.columns[path[0]]
            else:
                found = self.deep.get(path)
                if found is None:
                    if is_eager(path):
                        return ()
                    continue
                slots = found
            slot: Slot = slots.shards[hash(key) % slots.width].get(key)
            kind = slot.__class__
            if kind is Record:
                return (slot,)
            if slot is None:
                return ()
            size = len(slot.items) if kind is Few else slot.total - slot.dead
            if best is None or size < best_size:
                best, best_size = slot, size
        meant = False  # whether to go by whom they are for
        if at is not None:
            slot = self.held.get(at)
            if slot is None:
                return ()
            if best is None or size_of(slot) < best_size:
                best, best_size = slot, size_of(slot)
        elif dest is not None:
            size = size_of(self.held.get(dest)) + size_of(self.astray.get(dest))
            meant = best is None or size < best_size
            best_size = min(size, best_size)
        if best_size > WIDE and self.composites:
            self.wide += 1
            for _ in range(SLICES_WIDE):
                self._build()
            composite = self.composites.get(name_of(template, at, dest))
            if composite is not None and composite.whole:
                composite.used = self.wide
                fewer = composite.candidates(template, at, dest, best_size)
                if fewer is not None:
                    return fewer
        if meant:
            assert dest is not None
            held, astray = self.held, self.astray
            return merge(
                held.walk(held.get(dest), after), astray.walk(astray.get(dest), after), key=order_of
            )
        return self.everything(after) if best is None else self.held.walk(best, after)

    def first(self, equal: Sequence[tuple[int, Term]]) -> Record | None:
        """The oldest record that shows these values at these places, if that is known at once.

        It is where only one record shows one of them, or where there is only one value.
        """
        for place, key in reversed(equal):  # tuples begin with what many have in common
            if type(key) is not str and type(key) is not int:
                return None
            slots = self.columns[place]
            slot = (slots.whole or slots.shards[hash(key) % slots.width]).get(key)
            if type(slot) is Record:
                fields = slot.fields
                for at, value in equal:
                    if at != place:
                        field = fields[at]
                        if type(field) is not type(value) or field != value:
                            return None
                return slot
            if slot is None:
                return None
            if len(equal) == 1:
                many = type(slot) is Many
                return cast("Record", slot.first(self._resolve) if many else slot.items[0])
        return None

    def lacks(self, equal: Sequence[tuple[int, Term]]) -> bool:
        """Whether no record shows one of these values, a number or a text, at its place."""
        for place, key in equal:
            if type(key) is str or type(key) is int:
                slots = self.columns[place]
                if slots.shards[hash(key) % slots.width].get(key) is None:
                    return True
        return False

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All records, oldest first; with `after`, from the segment of that order on."""
        if self.ragged:
            for number in self.ragged:
                segment = self.segments.get(number)
                if segment is not None:
                    self.segments[number] = dict(sorted(segment.items()))
            self.ragged.clear()
            ordered = sorted(self.segments.items())
            self.segments.clear()
            self.segments.update(ordered)
        if not after:
            for segment in self.segments.values():
                yield from segment.values()
            return
        first = after // SEGMENT
        for number in [one for one in self.segments if one >= first]:
            yield from self.segments[number].values()

    # -- composites --------------------------------------------------------------------------

    def ask_for_composite(self, template: Template, at: str | None, dest: str | None) -> None:
        """Begin a composite for a search that looked at many in vain, if it would help."""
        name = name_of(template, at, dest)
        paths, by_cur, by_dest, ranged = name
        if len(paths) + by_cur + by_dest < 2 and ranged is None and all(map(is_eager, paths)):
            return  # it would be one of the indexes that there are
        if name in self.composites or not self.segments:
            return
        if len(self.composites) >= COMPOSITES_MAX:
            idlest = min(self.composites, key=lambda one: self.composites[one].used)
            if self.wide - self.composites[idlest].used < IDLE_AFTER:
                return
            del self.composites[idlest]
        made = self.composites[name] = Composite(name, self._resolve, min(self.segments) - 1)
        made.used = self.wide

    def _build(self) -> None:
        """Go on building what is unfinished, one after the other: a segment."""
        for composite in self.composites.values():
            if composite.whole:
                continue
            for _ in range(GAPS_MAX):
                composite.done += 1
                segment = self.segments.get(composite.done)
                if segment is not None:
                    for record in segment.values():
                        composite.add(record)
                    break
                if composite.done > self.newest // SEGMENT:
                    composite.whole = True
                    composite.done = END
                    break
            else:  # a wide gap, as between priorities
                ahead = [one for one in self.segments if one > composite.done]
                composite.done = min(ahead, default=self.newest // SEGMENT) - 1
            return
