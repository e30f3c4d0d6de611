"""Where the records of a space are kept: by id, on a shelf for each width, and by their objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from nomospace.errors import CallerError
from nomospace.space.asking import Scope
from nomospace.space.composites import Composite
from nomospace.space.kinds import Kinds
from nomospace.space.meant import Speech
from nomospace.space.objects import Objects
from nomospace.space.records import FIRST_ORDER, Record, TupleId
from nomospace.space.shelves import SHRINK_AT, Shelf
from nomospace.space.slots import SEGMENT, order_of
from nomospace.space.timers import Timers
from nomospace.terms import is_object

if TYPE_CHECKING:
    from nomospace.space.correlating import Correlating


class TupleTwice(CallerError):
    """A tuple was put into a space that holds it."""

    code = "space.tuple-twice"
    words = (
        "tuple {writer}#{count} is in space {space!r} already; "
        "an id names one tuple for good, so remove the old one first"
    )
    writer: str
    count: int
    space: str


class NotInSpace(CallerError):
    """A record, a waiter or a reaction was named that is not in the space."""

    code = "space.not-in-space"
    words = "{what} is not in space {space!r}; look it up first"
    space: str
    what: str


class Looker(Protocol):
    """Whoever follows which tuples that hold objects lie in a space. It only notes what it sees."""

    def add(self, record: Record) -> None:
        """A tuple lies there from now on."""

    def drop(self, record: Record) -> None:
        """A tuple lies there no more."""


class SpaceRecords:
    """The records of one space that lie there.

    A search goes to the shelf of its width; one that names a class goes to `objects`.
    """

    look_units = 0
    """The price of a look is that of a tuple in memory."""
    is_near = True
    at_once = nullcontext
    """Nobody is cut here for want of rows."""

    def __init__(self, name: str, speech: Speech | None = None) -> None:
        self.name = name
        self.size = 0
        self.next_order = FIRST_ORDER
        """Of records, waiters and reactions alike; never given twice."""
        self.expiries: Timers[Record] = Timers(when=attrgetter("expires"))
        self.due: Callable[[int], Record | None] = self.expiries.due
        """A record that has expired; it stays until it is removed."""
        self.soonest: Callable[[], int | None] = self.expiries.soonest
        """When to ask that again."""
        # By writer, then by segment of the writer's counts.
        self._ids: dict[str, dict[int, dict[int, Record]]] = {}
        self.shelves: dict[int, Shelf] = {}
        self.shelf: Callable[[int], Shelf | None] = self.shelves.get
        """Where records of a width are looked for; `None` where there is none."""
        self.objects = Objects(speech or Speech())
        self.sets: dict[Scope, Correlating] = {}
        """The same as facts, from when it is first asked which tuples answer together."""
        self.lookers: tuple[Looker, ...] = ()
        """Who else is told of tuples that hold objects."""
        self.kinds: Kinds | None = None
        """The kinds of what lies here, if somebody wants to know them."""

    def get(self, id: TupleId) -> Record | None:
        """The record of an id."""
        writer, count = id
        segments = self._ids.get(writer)
        segment = None if segments is None else segments.get(count // SEGMENT)
        return None if segment is None else segment.get(count)

    def add(self, record: Record) -> None:
        """Take in a record whose order is set, unless its id is here."""
        count = record.count
        segments = self._ids.get(record.writer)
        if segments is None:
            segments = self._ids[record.writer] = {}
        segment = segments.get(count // SEGMENT)
        if segment is None:
            segments[count // SEGMENT] = {count: record}
        elif count in segment:
            raise TupleTwice(writer=record.writer, count=count, space=self.name)
        else:
            segment[count] = record
        width = len(record.fields)
        shelf = self.shelves.get(width)
        if shelf is None:
            shelf = self.shelves[width] = Shelf(width)
        if shelf.add(record):
            self.objects.add(record)
            self._tell(record)
        if record.expires:
            self.expiries.add(record.order, record)
        if self.kinds is not None:
            self.kinds.came(record.fields)
        self.size += 1

    def remove(self, record: Record) -> None:
        """Let go of a record. `NotInSpace` when it does not lie here."""
        count = record.count
        try:
            segments = self._ids[record.writer]
            segment = segments[count // SEGMENT]
            if record.order <= 0 or segment[count] is not record:
                raise self.missing(record)
            del segment[count]
        except KeyError:
            raise self.missing(record) from None
        if len(segment) in SHRINK_AT:
            if segment:
                segments[count // SEGMENT] = segment.copy()
            else:
                del segments[count // SEGMENT]
                if not segments:
                    del self._ids[record.writer]
        width = len(record.fields)
        shelf = self.shelves[width]
        if shelf.drop(record):
            self.objects.drop(record)
            self._hide(record)
        if not shelf.segments and (shelf.grown or shelf.composites):
            del self.shelves[width]
        if record.expires:
            self.expiries.remove(record.order, record)
        record.order = 0
        self.size -= 1

    def lies(self, record: Record) -> bool:
        """Whether this very record lies here."""
        return record.order > 0 and self.get(record.id) is record

    def missing(self, record: Record) -> NotInSpace:
        """That a record is not here, as an error."""
        return NotInSpace(space=self.name, what=f"tuple {record.writer}#{record.count}")

    def move(self, record: Record, cur: str) -> None:
        """Let another agent hold a record that is here."""
        follows = bool(self.sets or self.lookers) and any(map(is_object, record.fields))
        if follows:
            self._hide(record)
        self.shelves[len(record.fields)].move(record, cur)
        if follows:
            self._tell(record)

    def _tell(self, record: Record) -> None:
        """Tell those who follow what holds objects that a record lies here."""
        for facts in self.sets.values():
            facts.add(record)
        for looker in self.lookers:
            looker.add(record)

    def _hide(self, record: Record) -> None:
        """Tell them that it lies here no more, or not as it did."""
        for facts in self.sets.values():
            facts.drop(record)
        for looker in self.lookers:
            looker.drop(record)

    def written_by(self, agent: str, some: int) -> tuple[int, list[Record]]:
        """How many records here an agent has written, and a few of them, evenly spread."""
        segments = list(self._ids.get(agent, {}).values())
        count = sum(map(len, segments))
        few: list[Record] = []
        for segment in segments[:: len(segments) // some + 1] if some else ():
            each = max(1, some // len(segments))
            few += islice(segment.values(), 0, None, len(segment) // each + 1)
        return count, few

    def held_by(self, agent: str) -> Iterator[Record]:
        """What an agent holds, oldest first."""
        shelves = self.shelves.values()
        return merge(*[shelf.held.of(agent) for shelf in shelves], key=order_of)

    def misplaced_for(self, dest: str) -> Iterator[Record]:
        """What is for an agent and held by another, oldest first."""
        shelves = self.shelves.values()
        return merge(*[shelf.astray.of(dest) for shelf in shelves], key=order_of)

    def misplaced(self) -> list[str]:
        """Whom misplaced records are for."""
        return list(dict.fromkeys(a for s in self.shelves.values() for a in s.astray))

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All that is here, in order; with `after`, from near that order on."""
        return merge(*[shelf.everything(after) for shelf in self.shelves.values()], key=order_of)

    def composites(self) -> list[Composite]:
        """The composites that searches have asked for."""
        return [one for shelf in self.shelves.values() for one in shelf.composites.values()]
