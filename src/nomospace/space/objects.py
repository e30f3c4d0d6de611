"""The tuples of a space that hold objects: by class, by object and by plain value.

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
from typing import Any, Final

from nomospace.space.meant import Meant, Speech, Wish
from nomospace.space.records import Record
from nomospace.space.slots import Slot, Slots, size_of
from nomospace.terms import MISSING, Compound, Term, is_object, key_of
from nomospace.terms.values import ATOMIC

NEAR_MAX: Final = 32
"""Classes that one object is kept under: its own, and those nearest above."""
SEGMENT: Final = 341
"""Records in one dictionary: as many as fill it before it would grow."""


def object_key(canonical: str, term: Compound) -> Hashable:
    """What an object is found by: its class and id; without id, its class and properties.

    Objects that are the same have the same key. With ids that is the other way round too; without,
    numbers of different kinds may meet, and whoever looks compares.
    """
    identity = term.args[1]
    return (canonical, term.args[2], None) if identity is None else (canonical, key_of(identity))


class Objects:
    """The index. Records come and go with `add` and `drop`."""

    __slots__ = (
        "_far",
        "_segments",
        "_speech",
        "by_class",
        "by_object",
        "by_own",
        "by_value",
        "names",
        "size",
    )

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._segments: dict[int, dict[int, Record]] = {}
        self.size = 0
        self.by_class: Slots[Record] = Slots(self.resolve)
        """Under the canonical name of every class, near enough, that accepts one of its objects."""
        self.by_own: Slots[Record] = Slots(self.resolve)
        """Under an object's class itself, with the tuple's width."""
        self.by_object: Slots[Record] = Slots(self.resolve)
        """Under `object_key`."""
        self.by_value: Slots[Record] = Slots(self.resolve)
        """Under the key of every plain atomic field."""
        self.names: dict[str, int] = {}
        """How many objects there are of each class, by canonical name."""
        self._far: dict[str, int] = {}  # those of `names` that have too many classes above

    def resolve(self, order: int) -> Record | None:
        """The record of that order, unless it is gone."""
        segment = self._segments.get(order // SEGMENT)
        return None if segment is None else segment.get(order)

    # -- change ------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """Take in a record whose order is set, if it holds an object."""
        keys = self._keys(record)
        if keys is None:
            return
        self.size += 1
        order = record.order
        segment = self._segments.get(order // SEGMENT)
        if segment is None:
            self._segments[order // SEGMENT] = {order: record}
        else:
            segment[order] = record
        for slots, some in zip(self._indexes(), keys, strict=True):
            for key in some:
                slots.add(key, record)
        self._count(record, 1)

    def drop(self, record: Record) -> None:
        """Let go of a record that was taken in, if it holds an object."""
        keys = self._keys(record)
        if keys is None:
            return
        self.size -= 1
        segment = self._segments[record.order // SEGMENT]
        del segment[record.order]
        if not segment:
            del self._segments[record.order // SEGMENT]
        # From here on its order does not resolve, which is what `Slots.leave` asks for.
        for slots, some in zip(self._indexes(), keys, strict=True):
            for key in some:
                slots.leave(key, record)
        self._count(record, -1)

    def _indexes(self) -> tuple[Slots[Record], ...]:
        return self.by_class, self.by_own, self.by_object, self.by_value

    def _keys(self, record: Record) -> tuple[dict[Any, None], ...] | None:
        """What a record is kept under in each index; `None` when it holds no object."""
        above = self._speech.above
        classes: dict[Any, None] = {}
        own: dict[Any, None] = {}
        objects: dict[Any, None] = {}
        values: dict[Any, None] = {}
        width = len(record.fields)
        for field in record.fields:
            if field.__class__ in ATOMIC:
                values[key_of(field)] = None
            elif is_object(field):
                near = above(field.args[0])
                for name in near[:NEAR_MAX]:
                    classes[name] = None
                own[near[0], width] = None
                objects[object_key(near[0], field)] = None
        return (classes, own, objects, values) if own else None

    def _count(self, record: Record, by: int) -> None:
        for field in record.fields:
            if is_object(field):
                above = self._speech.above(field.args[0])
                _count(self.names, above[0], by)
                if len(above) > NEAR_MAX:
                    _count(self._far, above[0], by)

    # -- search ------------------------------------------------------------------------------

    def candidates(self, meant: Meant, *, exact: bool) -> Iterable[Record]:
        """A few records, oldest first, all that fit (exactly) among them; the caller verifies."""
        best: list[Slot] | None = None
        best_size = 0
        for key in meant.literals:
            best, best_size = _fewer([self.by_value.get(key)], best, best_size)
            if not best_size:
                return ()
        width = len(meant.template.term)
        for wish in meant.wishes:
            if exact:
                slots = [self.by_own.get((wish.canonical, width))]
            else:
                slots = self._class_slots(wish)
            best, best_size = _fewer(slots, best, best_size)
            if not best_size:
                return ()
            if wish.id is not MISSING:
                best, best_size = _fewer(self._object_slots(wish, exact), best, best_size)
                if not best_size:
                    return ()
        assert best is not None, "a meant template names a class"
        return self.walk([slot for slot in best if slot is not None])

    def walk(self, slots: list[Slot]) -> Iterable[Record]:
        """The records of several slots, oldest first, each once."""
        walks = [self.by_class.walk(slot) for slot in slots]
        return walks[0] if len(walks) == 1 else _once(merge(*walks, key=_order))

    def of_class(self, wish: Wish) -> Iterable[Record]:
        """The records that hold an object of a class that a template's class accepts."""
        return self.walk([slot for slot in self._class_slots(wish) if slot is not None] or [None])

    def _class_slots(self, wish: Wish) -> list[Slot]:
        slot: Slot = self.by_class.get(wish.canonical)
        if not self._far:
            return [slot]
        far = [
            name
            for name in self._far
            if name in wish.names and wish.canonical not in self._speech.above(name)[:NEAR_MAX]
        ]
        return [slot, *[self.by_class.get(name) for name in far]]

    def _object_slots(self, wish: Wish, exact: bool) -> list[Slot]:
        if exact or len(wish.names) == 1:
            return [self.by_object.get((wish.canonical, wish.id))]
        smaller = self.names if len(self.names) < len(wish.names) else wish.names
        names = [name for name in smaller if name in wish.names and name in self.names]
        return [self.by_object.get((name, wish.id)) for name in sorted(names)] or [None]


def _fewer(slots: list[Slot], best: list[Slot] | None, size: int) -> tuple[list[Slot], int]:
    """The better of two ways to look: the one with fewer records."""
    found = sum([size_of(slot) for slot in slots])
    return (slots, found) if best is None or found < size else (best, size)


def _count(counts: dict[str, int], name: str, by: int) -> None:
    left = counts.get(name, 0) + by
    if left:
        counts[name] = left
    else:
        del counts[name]


def _once(records: Iterable[Record]) -> Iterator[Record]:
    last = 0
    for record in records:
        if record.order != last:
            last = record.order
            yield record


def _order(record: Record) -> int:
    return record.order


def objects_of(fields: tuple[Term, ...]) -> list[tuple[int, Compound]]:
    """The objects among fields, with their positions."""
    return [(pos, field) for pos, field in enumerate(fields) if is_object(field)]
