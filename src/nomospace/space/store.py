"""Where the records of a space are kept, and the indexes that lead to them.

Every record is found by its order of arrival, by its id, by the agent that holds it, by the one it
is for while it is misplaced, and by its *features* (`nomospace.terms.features`). A template names
features that any match must show, so a search walks the smallest slot among those and verifies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from typing import ClassVar, Final

from nomospace.errors import CallerError
from nomospace.space.records import Record, TupleId
from nomospace.space.slots import Slots, size_of
from nomospace.terms.templates import Path, Template, features_of, is_eager

SEGMENT: Final = 5_460
"""Records in one dictionary of the store: as many as fill it before it would grow."""


@dataclass(eq=False, kw_only=True)
class TupleTwice(CallerError):
    """A tuple was put into a space that holds it."""

    code: ClassVar[str] = "space.tuple-twice"
    writer: str
    count: int
    space: str

    def __str__(self) -> str:
        return (
            f"tuple {self.count} of {self.writer!r} is in space {self.space!r} already; "
            "an id names one tuple for good, so remove the old one first"
        )


class Store:
    """The records of one space, by everything a search may ask for."""

    __slots__ = ("_by_arity", "_by_cur", "_by_dest", "_by_id", "_by_order", "_paths", "size")

    def __init__(self) -> None:
        self.size = 0
        self._by_order: dict[int, dict[int, Record]] = {}
        self._by_id: dict[str, dict[int, dict[int, Record]]] = {}
        self._by_arity: Slots[Record] = Slots(self.at_order)
        self._by_cur: Slots[Record] = Slots(self.at_order)
        self._by_dest: Slots[Record] = Slots(self.at_order)  # the misplaced only
        self._paths: dict[int, dict[Path, Slots[Record]]] = {}

    def at_order(self, order: int) -> Record:
        return self._by_order[order // SEGMENT][order]

    def get(self, id: TupleId) -> Record | None:
        writer, count = id
        segments = self._by_id.get(writer)
        segment = None if segments is None else segments.get(count // SEGMENT)
        return None if segment is None else segment.get(count)

    # -- change ------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        """Take in a record whose order is set."""
        order, count = record.order, record.count
        self._by_order.setdefault(order // SEGMENT, {})[order] = record
        self._by_id.setdefault(record.writer, {}).setdefault(count // SEGMENT, {})[count] = record
        arity = len(record.fields)
        self._by_arity.add(arity, record)
        self._place(record)
        paths = self._paths.setdefault(arity, {})
        for path, key in features_of(record.fields):
            slots = paths.get(path)
            if slots is None:
                slots = paths[path] = Slots(self.at_order)
            slots.add(key, record)
        self.size += 1

    def drop(self, record: Record) -> None:
        """Let go of a record that is here."""
        order, count = record.order, record.count
        arity = len(record.fields)
        paths = self._paths[arity]
        for path, key in features_of(record.fields):
            paths[path].drop(key, record)
        self._by_arity.drop(arity, record)
        self._displace(record)
        segment = self._by_order[order // SEGMENT]
        del segment[order]
        if not segment:
            del self._by_order[order // SEGMENT]
        segments = self._by_id[record.writer]
        segment = segments[count // SEGMENT]
        del segment[count]
        if not segment:
            del segments[count // SEGMENT]
            if not segments:
                del self._by_id[record.writer]
        self.size -= 1

    def move(self, record: Record, cur: str) -> None:
        """Let another agent hold a record that is here."""
        self._displace(record)
        record.cur = cur
        self._place(record)

    def _place(self, record: Record) -> None:
        self._by_cur.add(record.cur, record)
        if record.cur != record.dest:
            self._by_dest.add(record.dest, record)

    def _displace(self, record: Record) -> None:
        self._by_cur.drop(record.cur, record)
        if record.cur != record.dest:
            self._by_dest.drop(record.dest, record)

    # -- search ------------------------------------------------------------------------------

    def held_by(self, agent: str) -> Iterable[Record]:
        return self._by_cur.of(agent)

    def misplaced_for(self, dest: str) -> Iterable[Record]:
        return self._by_dest.of(dest)

    def misplaced(self) -> Iterator[str]:
        for shard in self._by_dest.shards:
            yield from shard  # type: ignore[misc]  # the keys of this index are agents

    def candidates(self, template: Template, at: str | None, dest: str | None) -> Iterable[Record]:
        """A few records, oldest first, with all among them that match; the caller verifies."""
        best = self._by_arity.get(template.arity)
        if best is None:
            return ()
        best_size = size_of(best)
        paths = self._paths[template.arity]
        for path, key in template.features:
            if is_eager(path):
                slots = paths.get(path)
                slot = None if slots is None else slots.get(key)
                if slot is None:
                    return ()
                if (size := size_of(slot)) < best_size:
                    best, best_size = slot, size
        if at is not None:
            slot = self._by_cur.get(at)
            if slot is None:
                return ()
            if (size := size_of(slot)) < best_size:
                best, best_size = slot, size
        elif dest is not None:
            home, astray = self._by_cur.get(dest), self._by_dest.get(dest)
            size = (0 if home is None else size_of(home)) + (
                0 if astray is None else size_of(astray)
            )
            if size < best_size:
                walk = self._by_cur.walk
                return merge(walk(home), walk(astray), key=_order)
        return self._by_arity.walk(best)


def _order(record: Record) -> int:
    return record.order
