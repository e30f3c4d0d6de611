"""Slots: from a key to the things that show it, oldest first, small and without long pauses.

A thing is anything with a number `order`, which tells it apart and says how old it is. What a key
leads to depends on how many there are: the thing itself; a `Few`, with a tuple of them; a `Many`,
with their numbers in sorted arrays of bounded length, at eight bytes each.

Two properties of CPython shape this. A dictionary that outgrows itself is copied as a whole, so
keys are spread over `SHARDS` dictionaries once they are many. And a full garbage collection visits
all that tracked containers hold, so the dictionaries hold only what the collector does not know:
records, `Few` and `Many` are structs outside of it, and a dictionary of such is not tracked. Things
that lead to other objects, as those who wait for a tuple do, need `TrackedSlots`: no circle that
passes through what the collector does not see is ever freed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

FEW_MAX: Final = 24
"""Things kept in a tuple, which is copied on each change; past it they are many."""
FEW_AGAIN: Final = FEW_MAX // 2
"""Many that have become so few are kept in a tuple again."""
CHUNK_MAX: Final = 1_024
"""Numbers in one sorted array; twice as many are split. Taking one out moves what follows."""
CHUNK_MIN: Final = CHUNK_MAX // 8
"""An array with fewer numbers is joined to the next one where both together are short enough."""
SWEEP_AFTER: Final = 128
"""After so many more numbers were left behind in a slot, it is looked at."""
SWEEP_CHUNKS: Final = 8
"""The most chunks that one operation sweeps."""
SHARDS: Final = 61
"""Dictionaries that keys are spread over. A prime: keys are often multiples of a power of two."""
SHARD_FROM: Final = 8_192
"""Keys up to this many are held in one dictionary."""
order_of: Final = attrgetter("order")


class Ordered(Protocol):
    """A thing that has a number of its own."""

    order: int


T = TypeVar("T", bound=Ordered)


Living: TypeAlias = Callable[[Sequence[int]], list[int]]
"""Says which of some numbers, which are sorted, are those of things that are there."""


SEGMENT: Final = 341
"""Things in one dictionary: as many as fill it before it would grow."""


def resolver(segments: Mapping[int, Mapping[int, T]]) -> Callable[[int], T | None]:
    """One that finds things by their numbers, unless they are gone, in segments of `SEGMENT`.

    It has the segments and not their owner: who hands it to its own `Slots` would be in a circle,
    and stay in memory for as long as nobody looks for those.
    """

    def resolve(order: int) -> T | None:
        segment = segments.get(order // SEGMENT)
        return None if segment is None else segment.get(order)

    return resolve


def living_by(resolve: Callable[[int], object | None]) -> Living:
    """One that looks each of them up."""
    return lambda orders: [order for order in orders if resolve(order) is not None]


class Few(msgspec.Struct, gc=False, eq=False):
    """Two things or some more, oldest first."""

    items: tuple[Any, ...]


class TrackedFew(msgspec.Struct, eq=False):
    """The same, known to the collector."""

    items: tuple[object, ...]


class Many(msgspec.Struct, gc=False, eq=False):
    """The numbers of many things, sorted, some of which may be gone: see `Slots.leave`."""

    last: array[int]
    """The chunk that new numbers go to; the other chunks hold smaller ones, in order."""
    full: list[array[int]]
    tops: array[int]
    """For each chunk of `full` its largest number, or a larger one that is gone."""
    total: int = 0
    """How many numbers stand here, of things that are there and of those that are gone."""
    dead: int = 0
    """How many numbers are left behind of things that are gone."""
    look: int = SWEEP_AFTER
    """With so many of those it is time to look at it (`Slots.settle`)."""
    hand: int = 0
    """The chunk that is swept next."""

    @staticmethod
    def of(orders: Iterable[int]) -> Many:
        """Make one of numbers that are sorted."""
        made = Many(array("q"), [], array("q"))
        for order in orders:
            made.add(order)
        made.look = max(1, min(SWEEP_AFTER, made.total - FEW_AGAIN))
        return made

    @property
    def size(self) -> int:
        """How many are there."""
        return self.total - self.dead

    def add(self, order: int) -> None:
        """Put in a number; mostly it is the largest yet."""
        self.total += 1
        last = self.last
        if not last or order > last[-1]:
            if len(last) >= CHUNK_MAX:
                self.full.append(last)
                self.tops.append(last[-1])
                self.last = last = array("q")
            last.append(order)
            return
        at = bisect_left(self.tops, order)
        chunk = last if at == len(self.tops) else self.full[at]
        place = bisect_left(chunk, order)
        if place < len(chunk) and chunk[place] == order:
            self.total -= 1  # it was left behind, and is back
            self.dead -= 1
            return
        chunk.insert(place, order)
        if len(chunk) <= 2 * CHUNK_MAX:
            return
        self.tops.insert(at, chunk[CHUNK_MAX - 1])
        if chunk is last:
            self.full.append(chunk[:CHUNK_MAX])
            self.last = chunk[CHUNK_MAX:]
        else:
            self.full[at : at + 1] = [chunk[:CHUNK_MAX], chunk[CHUNK_MAX:]]

    def clear(self) -> None:
        """Forget all numbers: the things are gone."""
        self.last = array("q")
        self.full.clear()
        del self.tops[:]
        self.total = self.dead = self.hand = 0

    def drop(self, order: int) -> None:
        """Take out a number that is there."""
        at = bisect_left(self.tops, order)
        chunk = self.last if at == len(self.tops) else self.full[at]
        place = bisect_left(chunk, order)
        assert chunk[place] == order, "a number that is not there was dropped"
        del chunk[place]
        self.total -= 1
        self.look -= 1
        self._close(at)

    def sweep(self, at: int, living: Living) -> int:
        """Clear a chunk of the numbers of things that are gone; say of how many."""
        chunk = self.last if at == len(self.full) else self.full[at]
        kept = array("q", living(chunk))
        gone = len(chunk) - len(kept)
        if gone:
            chunk[:] = kept
            self.total -= gone
            self.dead -= gone
            self.look -= gone
            self._close(at)
        return gone

    def tidy(self, living: Living) -> None:
        """Sweep some chunks where much is left behind."""
        swept = 0
        for _ in range(SWEEP_CHUNKS):
            if 2 * self.dead <= self.total or swept >= 2 * SWEEP_AFTER:
                break
            self.hand = self.hand + 1 if self.hand < len(self.full) else 0
            swept += self.sweep(min(self.hand, len(self.full)), living)

    def first(self, alive: Callable[[int], T | None]) -> T | None:
        """The oldest thing that is there; numbers before it, of things that are gone, go too."""
        while True:
            chunk = self.full[0] if self.full else self.last
            gone, found = 0, None
            for order in chunk:
                found = alive(order)
                if found is not None:
                    break
                gone += 1
            if gone:
                del chunk[:gone]
                self.total -= gone
                self.dead -= gone
                self.look -= gone
                if len(chunk) < CHUNK_MIN:
                    self._close(0)
            if found is not None or not self.total:
                return found

    def _close(self, at: int) -> None:
        """Do away with a chunk that has become empty, or short beside a short one."""
        full, tops = self.full, self.tops
        if at == len(full):
            if not self.last and full:
                self.last = full.pop()
                tops.pop()
            return
        chunk = full[at]
        if not chunk:
            del full[at], tops[at]
        elif (
            len(chunk) < CHUNK_MIN
            and at + 1 < len(full)
            and len(chunk) + len(full[at + 1]) <= CHUNK_MAX
        ):
            chunk.extend(full[at + 1])
            del full[at + 1], tops[at]

    def __iter__(self) -> Iterator[int]:
        for chunk in self.full:
            yield from chunk
        yield from self.last

    def later(self, after: int) -> Iterator[int]:
        """The numbers that are larger than one, in order."""
        first = bisect_right(self.tops, after)
        for chunk in self.full[first : first + 1] or [self.last]:
            yield from chunk[bisect_right(chunk, after) :]
        if first < len(self.full):
            for chunk in self.full[first + 1 :]:
                yield from chunk
            yield from self.last


Slot: TypeAlias = Any
"""What a key leads to: a thing, a `Few` or a `Many`."""


def size_of(slot: Slot) -> int:
    """How many things a slot leads to."""
    kind = slot.__class__
    if kind is Few:
        return len(slot.items)
    if kind is Many:
        return int(slot.size)
    return 0 if slot is None else 1


class Slots(Generic[T]):
    """An index: things by key. `resolve` finds one by its number, `living` says which are there.

    >>> from nomospace.space.records import Record
    >>> jobs = {n: Record(("job", n), "ann", n, "ann", "ann", order=n) for n in range(1, 4)}
    >>> slots = Slots(jobs.__getitem__)
    >>> for job in jobs.values():
    ...     slots.add("job", job)
    >>> slots.drop("job", jobs[2])
    >>> [job.fields for job in slots.of("job")]
    [('job', 1), ('job', 3)]
    """

    __slots__ = ("living", "resolve", "shards", "whole", "width")

    few: ClassVar[type[Few | TrackedFew]] = Few

    def __init__(self, resolve: Callable[[int], T | None], living: Living | None = None) -> None:
        self.resolve = resolve
        self.living = living or living_by(resolve)
        self.width = 1
        self.whole: dict[Hashable, Slot] = {}
        """The only shard; empty when there are many, and the key says which."""
        self.shards = [self.whole]

    def get(self, key: Hashable) -> Slot | None:
        """What a key leads to."""
        return self.shards[hash(key) % self.width].get(key)

    def of(self, key: Hashable) -> Iterable[T]:
        """The things of a key, oldest first."""
        return self.walk(self.shards[hash(key) % self.width].get(key))

    def walk(self, slot: Slot | None, after: int = 0) -> Iterable[T]:
        """The things of a slot, oldest first; of many, only those after a number."""
        if slot is None:
            return ()
        kind = slot.__class__
        if kind is self.few:
            few: Iterable[T] = slot.items
            return few
        if kind is Many:
            if after:
                return filter(None, map(self.resolve, slot.later(after)))
            first = slot.first(self.resolve)
            if first is None:
                return ()
            return chain((first,), filter(None, map(self.resolve, slot.later(first.order))))
        return (slot,)

    def add(self, key: Hashable, item: T) -> None:
        """Let a key lead to one thing more."""
        shard = self.shards[hash(key) % self.width]
        slot = shard.get(key)
        if slot is None:
            shard[key] = item
            if len(shard) > SHARD_FROM and self.width == 1:
                self.spread()
        elif (
            type(slot) is Many
            and len(last := slot.last) < CHUNK_MAX
            and item.order > last[-1]  # it never is empty, but while it is made
        ):
            last.append(item.order)
            slot.total += 1
        else:
            self.join(shard, key, slot, item)

    def join(self, shard: dict[Hashable, Slot], key: Hashable, slot: Slot, item: T) -> None:
        """Add a thing to a key of a shard that leads to some."""
        kind = slot.__class__
        if kind is Many:
            slot.add(item.order)
        elif kind is not self.few:
            shard[key] = self.few((slot, item) if slot.order < item.order else (item, slot))
        else:
            items = slot.items
            if len(items) < FEW_MAX:
                if item.order > items[-1].order:
                    slot.items = (*items, item)
                else:
                    slot.items = tuple(sorted((*items, item), key=order_of))
            else:
                many = shard[key] = Many.of([one.order for one in items])
                many.add(item.order)

    def drop(self, key: Hashable, item: T) -> None:
        """Let a key no longer lead to a thing that it led to."""
        shard = self.shards[hash(key) % self.width]
        slot = shard[key]
        if slot is item:
            del shard[key]
        elif type(slot) is Many:
            slot.drop(item.order)
            if slot.dead >= slot.look:
                self.settle(shard, key, slot)
        else:
            items = slot.items
            if len(items) == 2:
                shard[key] = items[1] if items[0] is item else items[0]
            else:
                slot.items = tuple([one for one in items if one is not item])

    def leave(self, key: Hashable, item: T) -> None:
        """As `drop`, of a thing that no longer resolves: its number may be left behind for now.

        To find a number among a million is dear when nothing of it is in the processor's caches.
        So it is only counted, skipped by walks, and swept out with others once there are as many
        as of those that are there.
        """
        shard = self.shards[hash(key) % self.width]
        slot = shard[key]
        if type(slot) is not Many:
            self.drop(key, item)
            return
        slot.dead += 1
        if slot.dead >= slot.look:
            self.settle(shard, key, slot)

    def settle(self, shard: dict[Hashable, Slot], key: Hashable, slot: Many) -> None:
        """Sweep where much is left behind; go back to a simpler slot where few are there."""
        more = slot.total - slot.dead - FEW_AGAIN
        if more > 0:
            slot.tidy(self.living)
            slot.look = slot.dead + min(SWEEP_AFTER, more)
            return
        rest = tuple([item for order in slot if (item := self.resolve(order)) is not None])
        if len(rest) > 1:
            shard[key] = self.few(rest)
        elif rest:
            shard[key] = rest[0]
        else:
            del shard[key]

    def __iter__(self) -> Iterator[Any]:
        """The keys that lead anywhere."""
        for shard in self.shards:
            yield from shard

    def spread(self) -> None:
        """Go over from one dictionary to many."""
        whole, self.whole = self.whole, {}
        self.width = SHARDS
        self.shards = [{} for _ in range(SHARDS)]
        for key, slot in whole.items():
            self.shards[hash(key) % SHARDS][key] = slot


class TrackedSlots(Slots[T]):
    """Slots of things that may be part of a circle."""

    __slots__ = ()

    few = TrackedFew
