"""The store engine: spaces whose tuples lie in the tables of their host's store (`004_…` 5).

There are two engines, as the paper's LIME has two tuple spaces below it (`002_…` 4.1). In the other
one, the memory engine (`store`), everything is at hand. Those who wait, reactions, leases and the
order of steps are the space's own, and the same above both (`EngineRecords`).

A space may be larger than memory here. In memory are the tuples that the tables do not have yet,
and some thousand that were written last; the rest is asked for, a page of rows at a time.

The tables are behind: a step of the core is in them some time after it was made. So two things are
laid over them, both by id: what is in memory, which counts instead of its row, and what is *hidden*
(taken, or lent out). Every change of a tuple that the host writes down is counted here, and the
tables say how many they have (`TupleTables.applied`). Once they have the change that removed a
tuple, it is hidden no more; once they have the one that wrote it, it may leave memory.

| a tuple is | in memory | hidden | its row |
| --- | --- | --- | --- |
| written | yes | no | yet to come |
| at rest | maybe | no | as it is |
| lent out | no | yes, under 0 | as it is |
| taken | no | yes, under the number of that change | still there |

Tuples have one order, in memory and in the tables, so the oldest match is found whichever of the
two has it. Where all tuples are in memory no table is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from nomospace.errors import Unavailable
from nomospace.space.asking import Scope
from nomospace.space.composites import Composite
from nomospace.space.meant import Meant, Speech
from nomospace.space.pages import Pages
from nomospace.space.records import Record, TupleId
from nomospace.space.shelves import Shelf
from nomospace.space.slots import order_of
from nomospace.space.store import Looker, NotInSpace, SpaceRecords, TupleTwice
from nomospace.space.tables import RowsFound, TupleTables, Wanted, wanted_for, wanted_of
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.space.correlating import Correlating

CACHE_MAX: Final = 20_000
"""Tuples at rest that stay in memory; the oldest go first."""
BUSY_TIMES: Final = 4
"""While searches are under way so many times as many stay: they know some of them."""
PAGE_MIN, PAGE_MAX = 4, 64
"""Rows that are asked for at a time: few at first, as mostly the first one will do."""
DUE_PAGE: Final = 256
"""Rows that are asked for where expired tuples are looked for."""
SKIPS_MAX: Final = 1_024
"""Questions for which it is known how many rows at the front are hidden."""
NONE_MAX: Final = 20_000
"""Values of which it is known that none of the tuples in the tables alone has them."""
SEEN_MAX: Final = 10_000
"""Rows that were read and are remembered, in a step and while searches are under way: to take one
of them needs no second look."""
LOOK_UNITS: Final = 16
"""What it costs to look at a row, above what a tuple in memory costs."""
RETRY_US: Final = 1_000_000
"""When expired tuples are looked for again where the tables could not be asked."""

Equal: TypeAlias = tuple[tuple[int, Term], ...]
"""Places, and the values that fields must have there."""

_deadline = attrgetter("expires", "order")


class Hidden(msgspec.Struct, gc=False):
    """A tuple whose row does not count: `change` removes it, or 0 while it is lent out."""

    order: int
    change: int = 0


class StoreEngine:
    """The spaces of one host that lie in its store."""

    def __init__(
        self, tables: TupleTables, names: Iterable[str] = (), cache_max: int = CACHE_MAX
    ) -> None:
        self.tables = tables
        self.names = frozenset(names)
        """Spaces that lie here whoever opens them."""
        self.cache_max = cache_max
        self.spaces: dict[str, StoredRecords] = {}
        self.next_order = 0
        """Of all these spaces; known from the first of them on."""
        self.change = tables.applied
        """How many changes to their tuples were written down."""
        self.pages = Pages(tables)

    def records(self, name: str, speech: Speech, is_busy: Callable[[], bool]) -> StoredRecords:
        """Those of a space; one that was here before goes on with what it had under way."""
        if not self.next_order:
            self.next_order = self.tables.last() + 1
        made = StoredRecords(self, name, speech, is_busy)
        before, self.spaces[name] = self.spaces.get(name), made
        if before is not None:
            made.follow(before)
        return made

    def end_step(self) -> None:
        """All that this step changed was written down."""
        applied = self.tables.applied
        for space in self.spaces.values():
            space.settle(applied)
        self.pages.end_step(applied)


class StoredRecords:
    """The records of one space, in memory and in the tables."""

    def __init__(
        self, engine: StoreEngine, name: str, speech: Speech, is_busy: Callable[[], bool]
    ) -> None:
        self.name = name
        self.sets: dict[Scope, Correlating] = {}
        self.lookers: tuple[Looker, ...] = ()
        self.near = SpaceRecords(name, speech)
        """What is in memory."""
        self._engine = engine
        self._tables = engine.tables
        self._is_busy = is_busy
        self._hidden: dict[TupleId, Hidden] = {}
        self._unsettled: dict[TupleId, int] = {}
        """Tuples in memory, and the change that the tables must have before they may leave."""
        self._changes: deque[tuple[int, TupleId, bool]] = deque()
        """What the tables have yet to come to: the change, its tuple, and whether it was put."""
        self._rest: deque[Record] = deque()
        """What may leave memory, the oldest first; some of it may be gone."""
        self._seen: dict[TupleId, Record] = {}
        """What was read from the tables in this step, and in those of searches under way."""
        self._behind: dict[TupleId, int] = {}
        """The orders of rows whose tuples have come again, with other orders, in this step."""
        self._lately: dict[TupleId, int] = {}
        """The orders of tuples that were read, whatever has become of them."""
        self._far_last = max(engine.next_order - 1, self._tables.top(name))
        """What is in the tables alone has no higher order."""
        self._skips: dict[Wanted, int] = {}
        """Questions, and the order up to which all their rows are hidden."""
        self._skipped = 0
        self._none_far: dict[tuple[int, Equal], int] = {}
        """Widths and values, and the order up to which no tuple in the tables alone has them."""
        self._writers = self._tables.writers(name)
        self.size = sum([count for count, _ in self._writers.values()])
        self._soonest = self._tables.soonest(name, 0) if self.size else None
        self._due: deque[Record] = deque()
        self.objects = StoredObjects(self)

    @property
    def next_order(self) -> int:
        """Of all that lies in the store's spaces, and of those who wait and react there."""
        return self._engine.next_order

    @next_order.setter
    def next_order(self, order: int) -> None:
        self._engine.next_order = order

    @property
    def look_units(self) -> int:
        """What it costs to look at a tuple, above what one in memory costs."""
        return 0 if self.is_near else LOOK_UNITS

    @property
    def is_near(self) -> bool:
        """Whether all tuples are in memory."""
        return self.size == self.near.size

    def follow(self, before: StoredRecords) -> None:
        """Go on after records of the same space: what they wrote down may not be in the tables."""
        self._hidden, self._changes = before._hidden, before._changes
        self._unsettled = before._unsettled
        self._writers, self.size = before._writers, before.size
        self._far_last, self._soonest = before._far_last, before._soonest
        for record in before.near.everything():
            self.near.add(record)
            if record.id not in self._unsettled:
                self._rest.append(record)

    # -- change ------------------------------------------------------------------------------

    def get(self, id: TupleId) -> Record | None:
        """The record of an id."""
        found = self.near.get(id)
        if found is not None or self.is_near or id in self._hidden:
            return found
        if id[1] > self._writers.get(id[0], (0, 0))[1]:
            return None
        found = self._seen.get(id)
        if found is None:
            found = self._row(id)
        return None if found is None else self._see(found)

    def _row(self, id: TupleId) -> Record | None:
        """The tuple of an id from the tables, where it was seen if it was lately."""
        order = self._lately.get(id, 0)
        found = self._tables.at(self.name, order) if order else None
        if found is not None and found.id == id:
            return found
        return self._tables.get(self.name, id)

    def _see(self, record: Record) -> Record:
        """The object that stands for a row in this step."""
        id = record.id
        if len(self._lately) >= SEEN_MAX:
            self._lately.clear()
        self._lately[id] = record.order
        if len(self._seen) >= SEEN_MAX:
            return record
        return self._seen.setdefault(id, record)

    def lies(self, record: Record) -> bool:
        """Whether this very tuple lies here, be it another object by now."""
        id, order = record.id, record.order
        if order <= 0:
            return False
        self._lately[id] = order
        found = self.get(id)
        return found is not None and found.order == order

    def add(self, record: Record) -> None:
        """Take in a record whose order is set, unless its id is here."""
        writer, count = id = record.id
        number, highest = self._writers.get(writer, (0, 0))
        if count <= highest and self.get(id) is not None:
            raise TupleTwice(writer=writer, count=count, space=self.name)
        self.near.add(record)
        hidden = self._hidden.pop(id, None)
        if hidden is not None and not hidden.change and hidden.order != record.order:
            self._behind[id] = hidden.order
        self._writers[writer] = (number + 1, max(count, highest))
        self.size += 1

    def remove(self, record: Record) -> None:
        """Let go of a record. `NotInSpace` when it does not lie here."""
        id, order = record.id, record.order
        found = self.near.get(id)
        if found is None:
            if order <= 0 or (self._seen.get(id) is not record and not self.lies(record)):
                raise self.missing(record)
        elif found.order != order:
            raise self.missing(record)
        else:
            self.near.remove(found)
        record.order = 0
        seen = self._seen.pop(id, None)
        if seen is not None:
            seen.order = 0
        self._hidden[id] = Hidden(order)
        number, highest = self._writers[record.writer]
        self._writers[record.writer] = (number - 1, highest)
        self.size -= 1

    def move(self, record: Record, cur: str) -> None:
        """Let another agent hold a record that is here."""
        if self.near.get(record.id) is None:
            self.near.add(record)  # its row is out of date from now on
            self._seen.pop(record.id, None)
        self.near.move(record, cur)

    def missing(self, record: Record) -> NotInSpace:
        """That a record is not here, as an error."""
        return self.near.missing(record)

    # -- what the tables have ----------------------------------------------------------------

    def put_down(self, id: TupleId) -> int:
        """A tuple is written down as it is: its order, or 0 when it does not lie here."""
        record, hidden = self.near.get(id), self._hidden.get(id)
        if record is not None:
            order = record.order
        elif hidden is not None and not hidden.change:  # lent out, or taken in this very step
            order = hidden.order
        else:
            return 0
        self._unsettled[id] = self._note(id, is_put=True)
        return order

    def left_behind(self, id: TupleId) -> int:
        """The order that a tuple had when it was last written down, if it has another now; or 0."""
        order = self._behind.pop(id, 0)
        if order:
            self._note(id)
        return order

    def gone(self, id: TupleId) -> int:
        """It is written down that a tuple is gone: its order, or 0 for one that was not here."""
        if (order := self.left_behind(id)) != 0:
            return order  # it came again in this step
        hidden = self._hidden.get(id)
        if hidden is not None and not hidden.change:
            hidden.change = self._note(id)
            return hidden.order
        record = self.near.get(id)
        if record is None:
            return 0
        self._note(id)
        return record.order

    def _note(self, id: TupleId, is_put: bool = False) -> int:
        change = self._engine.change = self._engine.change + 1
        self._changes.append((change, id, is_put))
        return change

    def settle(self, applied: int) -> None:
        """The tables have so many changes; a step is over."""
        if len(self._seen) >= SEEN_MAX or not self._is_busy():
            self._seen.clear()
        self._behind.clear()
        changes = self._changes
        while changes and changes[0][0] <= applied:
            change, id, is_put = changes.popleft()
            if is_put:
                if self._unsettled.get(id) == change:
                    del self._unsettled[id]
                    record = self.near.get(id)
                    if record is not None:
                        self._rest.append(record)
            elif (hidden := self._hidden.get(id)) is not None and hidden.change == change:
                del self._hidden[id]
        room = self._engine.cache_max
        if len(self._rest) > room and (len(self._rest) > BUSY_TIMES * room or not self._is_busy()):
            while len(self._rest) > room:
                self._let_go(self._rest.popleft())

    def _let_go(self, record: Record) -> None:
        """Have a tuple in the tables only, if it lies here and is there as it is."""
        id, order = record.id, record.order
        if order <= 0 or self.near.get(id) is not record or id in self._unsettled:
            return
        self.near.remove(record)
        record.order = order  # who knows it may still take it
        if record.expires and (self._soonest is None or record.expires < self._soonest):
            self._soonest = record.expires
        if order <= self._far_last:  # it was lent, or moved
            self._engine.pages.forget(self.name)
            self._none_far.clear()
        self._far_last = max(self._far_last, order)
        if order <= self._skipped:
            self._skips.clear()
            self._skipped = 0

    # -- search ------------------------------------------------------------------------------

    def shelf(self, width: int) -> StoredShelf | None:
        """Where records of a width are looked for."""
        return StoredShelf(self, width) if self.size else None

    def far(self, wanted: Wanted, after: int = 0) -> Iterator[Record]:
        """Those in the tables alone, behind an order, page by page; raises `RowsAway`."""
        if self.is_near:
            return
        near, hidden, pages = self.near, self._hidden, self._engine.pages
        limit, front = PAGE_MIN, self._skips.get(wanted, 0)
        leads = after <= front
        if leads and not pages.knows((self.name, wanted, after)):
            after = front
        while after < self._far_last:
            page = pages.page((self.name, wanted, after), self._far_last, limit)
            for order, record in zip(page.orders, page.records, strict=True):
                id = record.id
                if id in hidden:
                    if leads:
                        front = order
                    continue
                if leads:
                    leads = False
                    self._skip(wanted, front)
                if near.get(id) is None:
                    yield self._see(record)
            after, limit = page.upto, min(4 * limit, PAGE_MAX)
        if leads:
            self._skip(wanted, front)

    def none_far(self, width: int, equal: Equal) -> bool:
        """Whether no tuple in the tables alone has these values.

        To say so of values that were asked for lately takes no look at the tables.
        """
        key, last = (width, equal), self._far_last
        known = self._none_far.get(key, 0)
        if known >= last:
            return True
        rows = self._few_far(width, equal, known)
        if rows is None or rows.upto < last:
            return False
        for one in rows.records:
            if one.id not in self._hidden and self.near.get(one.id) is None:
                return False
        if len(self._none_far) >= NONE_MAX:
            self._none_far.clear()
        self._none_far[key] = last
        return True

    def first_far(self, width: int, equal: Equal) -> Record | None:
        """The first tuple in the tables alone that has these values, if few rows lead to it."""
        rows = self._few_far(width, equal, 0)
        if rows is None:
            return None
        for one in rows.records:
            if one.id not in self._hidden and self.near.get(one.id) is None:
                fields = one.fields
                for place, value in equal:
                    if fields[place].__class__ is not value.__class__ or fields[place] != value:
                        return None
                return self._see(one)
        return None

    def _few_far(self, width: int, equal: Equal, after: int) -> RowsFound | None:
        """A few rows that may have these values, texts and numbers; `None`: look for them."""
        pages = self._engine.pages
        if not self._tables.at_hand or pages.left <= 0:
            return None
        for _, value in equal:
            if type(value) is not str and type(value) is not int:
                return None
        wanted = wanted_of(width, equal)
        try:
            rows = self._tables.rows(self.name, wanted, after, self._far_last, PAGE_MIN)
        except Unavailable:
            return None
        pages.left -= rows.looked
        return rows

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Whoever asks now cannot be cut."""
        with self._engine.pages.at_once():
            yield

    def _held(self, wanted: Wanted, after: int = 0) -> Iterator[Record]:
        """The same for those who cannot be cut; an index has them in their order."""
        rows = self.far(wanted, after)
        while True:
            with self.at_once():
                record = next(rows, None)
            if record is None:
                return
            yield record

    def _skip(self, wanted: Wanted, front: int) -> None:
        """Begin behind the rows that are hidden, the next time."""
        if not front:
            return
        if len(self._skips) >= SKIPS_MAX:
            self._skips.clear()
        self._skips[wanted] = front
        self._skipped = max(self._skipped, front)

    def held_by(self, agent: str) -> Iterator[Record]:
        """What an agent holds, oldest first."""
        return merge(self.near.held_by(agent), self._held(Wanted(at=agent)), key=order_of)

    def misplaced_for(self, dest: str) -> Iterator[Record]:
        """What is for an agent and held by another, oldest first."""
        far = self._held(Wanted(dest=dest, astray=True))
        return merge(self.near.misplaced_for(dest), far, key=order_of)

    def misplaced(self) -> list[str]:
        """Whom misplaced records are for."""
        far = [] if self.is_near else self._tables.misplaced(self.name)
        both = dict.fromkeys([*self.near.misplaced(), *far])
        return [dest for dest in both if next(self.misplaced_for(dest), None) is not None]

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All that is here, in order; with `after`, from near that order on."""
        return merge(self.near.everything(after), self._held(Wanted(), after), key=order_of)

    def written_by(self, agent: str, some: int) -> tuple[int, list[Record]]:
        """How many records here an agent has written, and a few of them."""
        count, _ = self._writers.get(agent, (0, 0))
        _, few = self.near.written_by(agent, some)
        if count and some and not few:
            few = list(islice(self._held(Wanted(at=agent)), some))
        return (count, few) if few or not some else (0, [])

    def composites(self) -> list[Composite]:
        """The composites that searches have asked for."""
        return self.near.composites()

    # -- time --------------------------------------------------------------------------------

    def due(self, now: int) -> Record | None:
        """The record that expired first; it stays until it is removed."""
        near, far = self.near.due(now), None
        try:
            far = self._far_due(now)
        except Unavailable:
            self._soonest = now + RETRY_US
        if near is None or far is None:
            return near or far
        return min(near, far, key=_deadline)

    def _far_due(self, now: int) -> Record | None:
        """The one that expired first of those in the tables alone."""
        if self._soonest is None or self._soonest > now:
            return None
        if not self._due:
            limit = DUE_PAGE + len(self._hidden)
            page = self._tables.rows(self.name, Wanted(due=now), 0, self._far_last, limit)
            self._due.extend([one for one in page.records if one.id not in self._hidden])
        while self._due:
            if self.lies(self._due[0]) and self.near.get(self._due[0].id) is None:
                return self._due[0]
            self._due.popleft()
        self._soonest = self._tables.soonest(self.name, now)
        return None

    def soonest(self) -> int | None:
        """When to ask that again."""
        near = self.near.soonest()
        both = [when for when in (near, self._soonest) if when is not None]
        return min(both, default=None)


class StoredShelf:
    """The tuples of one width."""

    __slots__ = ("_near", "_records", "_width")

    def __init__(self, records: StoredRecords, width: int) -> None:
        self._records, self._width = records, width
        self._near = records.near.shelf(width)

    def candidates(
        self, template: Template, at: str | None, dest: str | None, after: int = 0
    ) -> Iterable[Record]:
        """Some records, oldest first, with all among them that match; the caller verifies."""
        near: Iterable[Record] = ()
        if self._near is not None:
            near = self._near.candidates(template, at, dest, after)
        if self._records.is_near:
            return near
        far = self._records.far(wanted_for(template, at, dest), after)
        return merge(near, far, key=order_of) if near else far

    def first(self, equal: Equal) -> Record | None:
        """The first record with these values, where little has to be looked at to tell."""
        near, records = self._near, self._records
        found = None if near is None else near.first(equal)
        if records.is_near:
            return found
        if found is not None:
            return found if records.none_far(self._width, equal) else None
        if near is None or near.lacks(equal):
            return records.first_far(self._width, equal)
        return None

    def ask_for_composite(self, template: Template, at: str | None, dest: str | None) -> None:
        """Have one in memory; tables have the indexes that they have."""
        if self._near is not None:
            self._near.ask_for_composite(template, at, dest)


class StoredObjects:
    """The tuples of a space that hold objects; rows with compounds are all looked at."""

    __slots__ = ("_records",)

    def __init__(self, records: StoredRecords) -> None:
        self._records = records

    def exact(self, meant: Meant, after: int = 0) -> Iterable[Record]:
        """Some records, all that fit exactly among them."""
        near = self._records.near.objects.exact(meant, after)
        return near if self._records.is_near else merge(near, self._far(after), key=order_of)

    def fitting(self, meant: Meant, after: int = 0) -> Iterable[Record]:
        """The same for all that fit."""
        near = self._records.near.objects.fitting(meant, after)
        return near if self._records.is_near else merge(near, self._far(after), key=order_of)

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All of them."""
        return merge(self._records.near.objects.everything(after), self._far(after), key=order_of)

    def _far(self, after: int) -> Iterator[Record]:
        return self._records.far(Wanted(deep=True), after)


EngineRecords: TypeAlias = SpaceRecords | StoredRecords
"""The records of one space, in either engine."""
Lookup: TypeAlias = Shelf | StoredShelf
"""Where the tuples of one width are looked for."""
