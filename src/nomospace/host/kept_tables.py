"""Tables of tuples in a dictionary: for stores in memory, and for simulated worlds.

The plainest `TupleTables`: everything is walked for every question. What is in them is what was
written down, so a space of the store engine has the same to do here as with a database.
"""

from __future__ import annotations

from nomospace.host.residents import record_of
from nomospace.protocols.spaces import Row
from nomospace.space import Record, TupleId
from nomospace.space.records import FIRST_ORDER, arrival
from nomospace.space.tables import RowsFound, Wanted, marks_of


class PlainTables:
    """The tuples of all spaces of the store engine, by order.

    >>> tables = PlainTables()
    >>> tables.put("jobs", Row(("job", 17), "ann@x", 3, "ann@x", "ann@x"), FIRST_ORDER + 1)
    >>> rows = tables.rows("jobs", Wanted(2), 0, tables.last(), 10)
    >>> [record.fields for record in rows.records]
    [('job', 17)]
    """

    def __init__(self, *, at_hand: bool = True) -> None:
        self.applied = 0
        self.at_hand = at_hand
        self.tuples: dict[str, dict[int, Row]] = {}
        self._orders: dict[str, dict[TupleId, int]] = {}

    def put(self, space: str, row: Row, order: int) -> None:
        """A tuple is there, as this row says."""
        self._drop(space, (row.writer, row.count))
        self.tuples.setdefault(space, {})[order] = row
        self._orders.setdefault(space, {})[row.writer, row.count] = order
        self.applied += 1

    def gone(self, space: str, id: TupleId) -> None:
        """A tuple is there no more."""
        self._drop(space, id)
        self.applied += 1

    def _drop(self, space: str, id: TupleId) -> None:
        order = self._orders.get(space, {}).pop(id, None)
        if order is not None:
            del self.tuples[space][order]

    def last(self) -> int:
        """The last arrival."""
        orders = [order for rows in self.tuples.values() for order in rows]
        return max([FIRST_ORDER, *map(arrival, orders)])

    def top(self, space: str) -> int:
        """The highest order of a space."""
        return max(self.tuples.get(space, ()), default=0)

    def writers(self, space: str) -> dict[str, tuple[int, int]]:
        """How many tuples each agent has written, and the highest of their numbers."""
        found: dict[str, tuple[int, int]] = {}
        for writer, count in self._orders.get(space, {}):
            number, highest = found.get(writer, (0, 0))
            found[writer] = (number + 1, max(count, highest))
        return found

    def rows(self, space: str, wanted: Wanted, after: int, upto: int, limit: int) -> RowsFound:
        """Tuples behind an order and up to another, of the first so many that may be wanted."""
        rows = self.tuples.get(space, {})
        behind = sorted([order for order in rows if after < order <= upto])
        if wanted.due:
            behind.sort(key=lambda order: rows[order].expires)
            behind = [order for order in behind if _is_wanted(rows[order], wanted)]
        looked = behind[:limit]
        found = [_record(rows[one], one) for one in looked if _is_wanted(rows[one], wanted)]
        return RowsFound(found, looked[-1] if len(behind) > limit else upto, len(looked))

    def get(self, space: str, id: TupleId) -> Record | None:
        """The tuple of an id."""
        order = self._orders.get(space, {}).get(id)
        return None if order is None else _record(self.tuples[space][order], order)

    def at(self, space: str, order: int) -> Record | None:
        """The tuple of an order."""
        row = self.tuples.get(space, {}).get(order)
        return None if row is None else _record(row, order)

    def soonest(self, space: str, after: int) -> int | None:
        """When the next tuple expires, later than a moment."""
        rows = self.tuples.get(space, {}).values()
        return min([row.expires for row in rows if row.expires > after], default=None)

    def misplaced(self, space: str) -> list[str]:
        """Whom tuples are for that others hold."""
        rows = self.tuples.get(space, {}).values()
        return sorted({row.dest for row in rows if row.cur != row.dest})


def _record(row: Row, order: int) -> Record:
    record = record_of(row)
    record.order, record.kept = order, True
    return record


def _is_wanted(row: Row, wanted: Wanted) -> bool:
    marks, deep = marks_of(row.fields)
    return (
        wanted.width in (0, len(row.fields))
        and all(marks[column] == mark for column, mark in wanted.marks)
        and wanted.at in (None, row.cur)
        and wanted.dest in (None, row.dest)
        and (not wanted.astray or row.cur != row.dest)
        and (not wanted.deep or deep)
        and (not wanted.due or 0 < row.expires <= wanted.due)
    )
