"""The tuples of a space that hold objects: by class, by id and by plain value.

A template that names a class looks here and not at the shelves, since width and position do not
count for it. For each object a tuple is kept under the object's class and every class above it, so
that a template finds all that its class accepts under one key, however large the ontology. Above
`NEAR_MAX` classes the far ones are left out, and a search for one of those looks at the classes
below it one by one.

A tuple without objects is not here, and costs nothing here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import merge
from typing import Final, TypeVar

from nomospace.space.meant import Meant, Speech, Wish
from nomospace.space.records import Record
from nomospace.space.slots import (
    CHUNK_MAX,
    SEGMENT,
    SWEEP_AFTER,
    Many,
    Slot,
    Slots,
    living_by,
    order_of,
    resolver,
    size_of,
)
from nomospace.terms import MISSING, Compound, is_object, key_of

NEAR_MAX: Final = 32
"""Classes that one object is kept under: its own, and those nearest above."""
CLASSES_MIN: Final = 1_024
"""Classes, of one width each, that are kept ready even when there is nothing of them."""

K = TypeVar("K")


class Objects:
    """The index. Records come and go with `add` and `drop`."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._segments: dict[int, dict[int, Record]] = {}
        # Under the canonical name of every class, near enough, that accepts one of its objects.
        self._by_class: dict[str, Many] = {}
        # Under an object's class itself, with the tuple's width: where an exact match would be.
        self._by_own: dict[tuple[str, int], Many] = {}
        # Of each class name and width, what the two above have for it: looked up once.
        self._lines: dict[tuple[str, int], tuple[Many, ...]] = {}
        self._room = CLASSES_MIN
        self._resolve = resolver(self._segments)
        self._by_id: Slots[Record] = Slots(self._resolve)
        self._by_value: Slots[Record] = Slots(self._resolve)  # of every plain atomic field
        self._far: dict[str, int] = {}  # how many there are of classes with too many above

    # -- change ------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """Take in a record whose order is set, if it holds an object."""
        lines, ids, values = self._keys(record, 1)
        if not lines:
            return
        order = record.order
        segment = self._segments.get(order // SEGMENT)
        if segment is None:
            self._segments[order // SEGMENT] = {order: record}
        else:
            segment[order] = record
        for many in lines:
            if (last := many.last) and len(last) < CHUNK_MAX and order > last[-1]:
                last.append(order)
                many.total += 1
            else:
                many.add(order)
        for key in ids:
            self._by_id.add(key, record)
        for key in values:
            self._by_value.add(key, record)
        if len(self._by_own) > self._room:
            self._purge()

    def drop(self, record: Record) -> None:
        """Let go of a record that was taken in, if it holds an object."""
        lines, ids, values = self._keys(record, -1)
        if not lines:
            return
        segment = self._segments[record.order // SEGMENT]
        del segment[record.order]
        if not segment:
            del self._segments[record.order // SEGMENT]
        # From here on its order does not resolve: its number may be left behind for now.
        for many in lines:
            many.dead += 1
            if many.dead == many.total:
                many.clear()
            elif many.dead >= many.look:
                many.tidy(living_by(self._resolve))
                many.look = many.dead + SWEEP_AFTER
        for key in ids:
            self._by_id.leave(key, record)
        for key in values:
            self._by_value.leave(key, record)

    def _keys(
        self, record: Record, count: int
    ) -> tuple[Iterable[Many], Iterable[Hashable], Iterable[Hashable]]:
        """What a record is kept under, each once; nothing when it holds no object."""
        fields = record.fields
        width = len(fields)
        lines: tuple[Many, ...] = ()
        ids: list[Hashable] = []
        values: list[Hashable] = []
        objects = 0
        for field in fields:
            kind = field.__class__
            if kind is str:
                values.append(field)
            elif kind is Compound:
                if not is_object(field):
                    continue
                objects += 1
                name, identity, _ = field.args
                line = self._lines.get((name, width)) or self._line(name, width)
                lines += line
                if identity is not None:
                    ids.append(key_of(identity))
                if len(line) > NEAR_MAX:  # it may be cut
                    above = self._speech.above(name)
                    if len(above) > NEAR_MAX:
                        _count(self._far, above[0], count)
            elif kind is not tuple:
                values.append(key_of(field))
        if objects > 1:
            return dict.fromkeys(lines), dict.fromkeys(ids), dict.fromkeys(values)
        return lines, ids, dict.fromkeys(values) if len(values) > 1 else values

    def _line(self, name: str, width: int) -> tuple[Many, ...]:
        """What tuples of a width that hold an object of a class are kept under."""
        above = self._speech.above(name)[:NEAR_MAX]
        own = _many(self._by_own, (above[0], width))
        line = self._lines[name, width] = (own, *[_many(self._by_class, one) for one in above])
        return line

    def _purge(self) -> None:
        """Forget the classes of which there is nothing: anyone may make up names."""
        self._lines.clear()
        self._by_class = {key: many for key, many in self._by_class.items() if many.size}
        self._by_own = {key: many for key, many in self._by_own.items() if many.size}
        self._room = max(CLASSES_MIN, 2 * len(self._by_own))

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All tuples that hold an object, oldest first; those that came after one."""
        for number in sorted([one for one in self._segments if one >= after // SEGMENT]):
            segment = self._segments[number]
            for order in sorted([one for one in segment if one > after]):
                yield segment[order]

    # -- search ------------------------------------------------------------------------------

    def exact(self, meant: Meant, after: int = 0) -> Iterable[Record]:
        """A few records, oldest first, all that fit exactly among them; the caller verifies.

        With `after`, at least those that came later than the record of that order.
        """
        slots: list[Slot] = []
        for key in meant.own:
            slot = self._by_own.get(key)
            if slot is None or not slot.size:
                return ()
            slots.append(slot)
        return self._fewest(meant, slots, after)

    def fitting(self, meant: Meant, after: int = 0) -> Iterable[Record]:
        """The same for all that fit."""
        slots: list[Slot] = []
        for wish in meant.wishes:
            slot: Slot = self._by_class.get(wish.canonical)
            if self._far and (far := self._far_slots(wish)):
                slot = far
            elif slot is None or not slot.size:
                return ()
            slots.append(slot)
        return self._fewest(meant, slots, after)

    def _fewest(self, meant: Meant, slots: list[Slot], after: int) -> Iterable[Record]:
        """The records of the smallest of some slots and of those that values and ids lead to."""
        for key in meant.literals:
            slot = self._by_value.get(key)
            if slot is None:
                return ()
            slots.append(slot)
        for wish in meant.wishes:
            if wish.id is not MISSING:
                slot = self._by_id.get(wish.id)
                if slot is None:
                    return ()
                slots.append(slot)
        best = slots[0]
        if len(slots) > 1:
            least = _size(best)
            for slot in slots[1:]:
                if (size := _size(slot)) < least:
                    best, least = slot, size
        if type(best) is list:
            lines = [self._by_value.walk(one, after) for one in best]
            return _once(merge(*lines, key=order_of))
        return self._by_value.walk(best, after)

    def _far_slots(self, wish: Wish) -> list[Slot]:
        """The slots of a class and of those below that are not kept under it; none if all are."""
        far = [
            self._by_class.get(name)
            for name in self._far
            if name in wish.names and wish.canonical not in self._speech.above(name)[:NEAR_MAX]
        ]
        near = self._by_class.get(wish.canonical)
        return far if near is None or not far else [near, *far]


def _size(slot: Slot) -> int:
    if type(slot) is Many:
        size: int = slot.size
        return size
    return sum(map(size_of, slot)) if type(slot) is list else size_of(slot)


def _count(counts: dict[str, int], name: str, by: int) -> None:
    left = counts.get(name, 0) + by
    if left:
        counts[name] = left
    else:
        del counts[name]


def _many(index: dict[K, Many], key: K) -> Many:
    found = index.get(key)
    if found is None:
        found = index[key] = Many.of(())
    return found


def _once(records: Iterable[Record]) -> Iterator[Record]:
    last = 0
    for record in records:
        if record.order != last:
            last = record.order
            yield record
