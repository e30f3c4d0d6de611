"""Slots: from a key to the things that show it, oldest first, small and without long pauses.

A thing is anything with a number `order`, which tells it apart and says how old it is. What a key
leads to depends on how many there are: the thing itself; a `Few`, with a tuple of them; a `Many`,
with their numbers in sorted arrays of bounded length, at eight bytes each.

Two properties of CPython shape this. A dictionary that outgrows itself is copied as a whole, so
keys are spread over `SHARDS` dictionaries once they are many. And a full garbage collection visits
all that tracked containers hold, so the dictionaries hold only what the collector does not know:
records, `Few` and `Many` are structs outside of it, and a dictionary of such is not tracked.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

FEW_MAX: Final = 24
"""Things kept in a tuple, which is copied on each change; past it they are many."""
CHUNK_MAX: Final = 1_024
"""Numbers in one sorted array; twice as many are split. Taking one out moves what follows."""
CHUNK_MIN: Final = CHUNK_MAX // 8
"""An array with fewer numbers is joined to the next one where both together are short enough."""
SHARDS: Final = 61
"""Dictionaries that keys are spread over. A prime: keys are often multiples of a power of two."""
SHARD_FROM: Final = 8_192
"""Keys up to this many are held in one dictionary."""


class Ordered(Protocol):
    """A thing that has a number of its own."""

    order: int


T = TypeVar("T", bound=Ordered)


class Few(msgspec.Struct, gc=False, eq=False):
    """Two things or some more, oldest first."""

    items: tuple[Any, ...]


class Many(msgspec.Struct, gc=False, eq=False):
    """The numbers of many things, sorted: no hole is left where one is taken out."""

    last: array[int]
    """The chunk that new numbers go to; the other chunks hold smaller ones, in order."""
    full: list[array[int]]
    tops: list[int]
    """For each chunk of `full` its largest number, or a larger one that is gone."""

    @staticmethod
    def of(orders: Iterable[int]) -> Many:
        """Make one of numbers that are sorted."""
        made = Many(array("q"), [], [])
        for order in orders:
            made.add(order)
        return made

    def add(self, order: int) -> None:
        """Put in a number that is not there; mostly it is the largest yet."""
        last = self.last
        if not last or order > last[-1]:
            if len(last) >= CHUNK_MAX:
                self.full.append(last)
                self.tops.append(last[-1])
                self.last = last = array("q")
            last.append(order)
            return
        at = bisect_left(self.tops, order)
        if at == len(self.tops):
            insort(last, order)
            if len(last) > 2 * CHUNK_MAX:
                self.full.append(last[:CHUNK_MAX])
                self.tops.append(last[CHUNK_MAX - 1])
                self.last = last[CHUNK_MAX:]
            return
        chunk = self.full[at]
        insort(chunk, order)
        if len(chunk) > 2 * CHUNK_MAX:
            self.full[at : at + 1] = [chunk[:CHUNK_MAX], chunk[CHUNK_MAX:]]
            self.tops.insert(at, chunk[CHUNK_MAX - 1])

    def drop(self, order: int) -> None:
        """Take out a number that is there."""
        tops = self.tops
        at = bisect_left(tops, order)
        if at == len(tops):
            chunk = self.last
            place = bisect_left(chunk, order)
            assert chunk[place] == order, "a number that is not there was dropped"
            del chunk[place]
            if not chunk and tops:
                self.last = self.full.pop()
                tops.pop()
            return
        full = self.full
        chunk = full[at]
        place = bisect_left(chunk, order)
        assert chunk[place] == order, "a number that is not there was dropped"
        del chunk[place]
        if len(chunk) < CHUNK_MIN:
            if not chunk:
                del full[at], tops[at]
            elif at + 1 < len(full) and len(chunk) + len(full[at + 1]) <= CHUNK_MAX:
                chunk.extend(full[at + 1])
                del full[at + 1], tops[at]

    def __len__(self) -> int:
        return sum(map(len, self.full)) + len(self.last)

    def __iter__(self) -> Iterator[int]:
        for chunk in self.full:
            yield from chunk
        yield from self.last


Slot: TypeAlias = Any
"""What a key leads to: a thing, a `Few` or a `Many`."""


def size_of(slot: Slot) -> int:
    """How many things a slot leads to; of many, about."""
    kind = slot.__class__
    if kind is Few:
        return len(slot.items)
    if kind is Many:
        return len(slot.full) * CHUNK_MAX + len(slot.last)
    return 0 if slot is None else 1


class Slots(Generic[T]):
    """An index: things by key. `resolve` finds a thing by its number.

    >>> from nomospace.space.records import Record
    >>> jobs = {n: Record(("job", n), "ann", n, "ann", "ann", order=n) for n in range(1, 4)}
    >>> slots = Slots(jobs.__getitem__)
    >>> for job in jobs.values():
    ...     slots.add("job", job)
    >>> slots.drop("job", jobs[2])
    >>> [job.fields for job in slots.of("job")]
    [('job', 1), ('job', 3)]
    """

    __slots__ = ("resolve", "shards", "width")

    def __init__(self, resolve: Callable[[int], T]) -> None:
        self.resolve = resolve
        self.width = 1
        self.shards: list[dict[Hashable, Slot]] = [{}]

    def get(self, key: Hashable) -> Slot | None:
        """What a key leads to."""
        return self.shards[hash(key) % self.width].get(key)

    def of(self, key: Hashable) -> Iterable[T]:
        """The things of a key, oldest first."""
        return self.walk(self.shards[hash(key) % self.width].get(key))

    def walk(self, slot: Slot | None) -> Iterable[T]:
        """The things of a slot, oldest first."""
        if slot is None:
            return ()
        kind = slot.__class__
        if kind is Few:
            return slot.items  # type: ignore[no-any-return]
        if kind is Many:
            return map(self.resolve, slot)
        return (slot,)

    def add(self, key: Hashable, item: T) -> None:
        """Let a key lead to one thing more."""
        shard = self.shards[hash(key) % self.width]
        slot = shard.get(key)
        if slot is None:
            shard[key] = item
            if len(shard) > SHARD_FROM and self.width == 1:
                self.spread()
        else:
            self.join(shard, key, slot, item)

    def join(self, shard: dict[Hashable, Slot], key: Hashable, slot: Slot, item: T) -> None:
        """Add a thing to a key of a shard that leads to some."""
        kind = slot.__class__
        if kind is Many:
            slot.add(item.order)
        elif kind is not Few:
            shard[key] = Few((slot, item) if slot.order < item.order else (item, slot))
        else:
            items = slot.items
            if len(items) < FEW_MAX:
                if item.order > items[-1].order:
                    slot.items = (*items, item)
                else:
                    slot.items = tuple(sorted((*items, item), key=_order))
            else:
                many = shard[key] = Many.of([one.order for one in items])
                many.add(item.order)

    def drop(self, key: Hashable, item: T) -> None:
        """Let a key no longer lead to a thing that it led to."""
        shard = self.shards[hash(key) % self.width]
        slot = shard[key]
        if slot is item:
            del shard[key]
        else:
            self.part(shard, key, slot, item)

    def part(self, shard: dict[Hashable, Slot], key: Hashable, slot: Slot, item: T) -> None:
        """Drop a thing from a key of a shard that leads to others too."""
        if slot.__class__ is Many:
            slot.drop(item.order)
            if len(slot.last) <= FEW_MAX // 2 and not slot.full:
                rest = tuple(map(self.resolve, slot.last))
                shard[key] = rest[0] if len(rest) == 1 else Few(rest)
        else:
            items = slot.items
            if len(items) == 2:
                shard[key] = items[1] if items[0] is item else items[0]
            else:
                slot.items = tuple([one for one in items if one is not item])

    def __iter__(self) -> Iterator[Any]:
        """The keys that lead anywhere."""
        for shard in self.shards:
            yield from shard

    def spread(self) -> None:
        """Go over from one dictionary to many."""
        (whole,) = self.shards
        self.width = SHARDS
        self.shards = [{} for _ in range(SHARDS)]
        for key, slot in whole.items():
            self.shards[hash(key) % SHARDS][key] = slot


def _order(item: Ordered) -> int:
    return item.order
