"""Tuples of the store engine in a database: its tables as a space asks them (`space.tables`).

Each question is one short query over an index that has the tuples in their order, so nothing is
sorted, and a page costs what its rows cost. Where a template has several marks the walk goes along
one of them, and the others are compared. Which one is learnt: a mark along which much is looked at
in vain is remembered, and not walked along where there is another.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from nomospace.host.residents import record_of
from nomospace.space import Record, TupleId
from nomospace.space.tables import COLUMNS, Marks, RowsFound, Wanted
from nomospace.store.guarded import Altered, guarded_row
from nomospace.store.loading import StoreReader
from nomospace.store.schema import BLOCK, Params
from nomospace.wire.changes import BadRecord

_Terms: TypeAlias = dict[str, str | int | None]
"""Comparisons, and the value of each; `None` for those that have none."""

HOLDER, ADDRESSEE = "coalesce(cur, writer) = ?", "coalesce(dest, cur, writer) = ?"
WIDE_FROM: Final = 32
"""After so many rows in vain another mark is walked along, where there is one."""
VAIN_MAX: Final = 20_000
"""After so many rows in vain, which an index would have led past, it is made."""
WIDE_MAX: Final = 10_000
"""Marks of which that is remembered."""


class SqlTables:
    """Asks through a reader, which has a connection of its own."""

    def __init__(self, reader: StoreReader, *, hints: bool, at_hand: bool) -> None:
        self.applied = 0
        self.at_hand = at_hand
        self._reader = reader
        self._ask = reader.ask
        self._vain = [0] * COLUMNS
        """Rows that were looked at in vain, by the column whose index would have led past them."""
        self.wants: int | None = None
        """The column whose index is to be made."""
        self._hints = hints
        """Whether the database must be told which index to use."""
        self._wide: dict[tuple[str, int, int], None] = {}

    def last(self) -> int:
        """The last arrival."""
        return self._reader.last_stored()

    def top(self, space: str) -> int:
        """The highest order of a space."""
        rows = self._ask("SELECT max(n) FROM stored WHERE space = ?", (space,))
        return max([n or 0 for (n,) in rows], default=0)

    def writers(self, space: str) -> dict[str, tuple[int, int]]:
        """How many tuples each agent has written, and the highest of their numbers."""
        rows = self._ask(
            "SELECT agent, sum(written), max(high) FROM blocks WHERE space = ? AND written > 0"
            " GROUP BY agent",
            (space,),
        )
        return {agent: (int(number), highest) for agent, number, highest in rows}

    def rows(self, space: str, wanted: Wanted, after: int, upto: int, limit: int) -> RowsFound:
        """Tuples behind an order and up to another, of the first so many that may be wanted.

        One index leads to these; what else is wanted is looked for among them.
        """
        marks = wanted.marks
        if marks and (column := self._narrowest(space, marks)) is not None:
            return self._along_marks(space, wanted, column, (after, upto, limit))
        index, along, rest = self._way(space, wanted, after)
        table, order = "stored s", "s.n"
        if index == "blocks":
            table, order = "blocks b CROSS JOIN stored s", "b.block, s.n"
        elif index and self._hints:
            table += f" INDEXED BY {index}"
        if wanted.due:
            order = "expires, n"
        sql = _query(table, tuple(along), tuple(rest), order)
        params = (*rest.values(), *along.values(), after, upto, limit)
        found = self._found(sql, tuple([one for one in params if one is not None]), upto, limit)
        if marks:
            self._looked_in_vain(marks, found)
        return found

    @cached_property
    def indexed(self) -> set[int]:
        """The columns that have an index."""
        sql = "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
        if self._hints:
            sql = "SELECT name FROM sqlite_master WHERE type = 'index'"
        names = [name for (name,) in self._ask(sql, ())]
        return {column for column in range(COLUMNS) if f"stored_f{column}" in names}

    def got(self, column: int) -> None:
        """The index of a column has been made."""
        self.indexed.add(column)
        self.wants = None

    def _looked_in_vain(self, marks: Marks, found: RowsFound) -> None:
        """Have an index made of the last column that has none, if it would have led past much."""
        for column, _ in reversed(marks):
            if column not in self.indexed:
                self._vain[column] += found.looked - len(found.records)
                if self._vain[column] >= VAIN_MAX:
                    self.wants = column
                return

    def _along_marks(
        self, space: str, wanted: Wanted, column: int, page: tuple[int, int, int]
    ) -> RowsFound:
        """The same where a value of a field leads to them."""
        marks, at, dest = wanted.marks, wanted.at, wanted.dest
        others = mark = 0
        params: list[str | int] = []
        for other, value in marks:
            if other == column:
                mark = value
            else:
                others |= 1 << other
                params.append(value)
        if at is not None:
            params.append(at)
        if dest is not None:
            params.append(dest)
        sql = _query_along(column, others, at is not None, dest is not None, self._hints)
        _, upto, limit = page
        found = self._found(sql, (*params, space, mark, *page), upto, limit)
        if found.looked >= WIDE_FROM > 8 * len(found.records) and len(marks) > 1:
            if len(self._wide) >= WIDE_MAX:
                self._wide.clear()
            self._wide[space, column, mark] = None  # there is little along it that is wanted
            self._looked_in_vain(marks, found)
        return found

    def _found(self, sql: str, params: Params, upto: int, limit: int) -> RowsFound:
        rows = list(self._ask(sql, params))
        if not rows:
            return RowsFound([], upto, 0)
        records = [self._record(n, blob) for n, blob in rows if blob is not None]
        return RowsFound(records, rows[-1][0] if len(rows) == limit else upto, len(rows))

    def _way(self, space: str, wanted: Wanted, after: int) -> tuple[str, _Terms, _Terms]:
        """An index, what is compared along it, and what is compared besides, with the values.

        Where a value of one of the first fields is wanted there is another way. Without an index
        the tuples of a space are walked along, which stand in their order.
        """
        index = ""
        rest: _Terms = {}
        for column, mark in wanted.marks:
            rest[f"f{column} = ?"] = mark
        if wanted.width and not wanted.marks:  # marks are of a width, too
            rest["width = ?"] = wanted.width
        if wanted.at is not None:
            rest[HOLDER] = wanted.at
        along: _Terms = {"s.space = ?": space}
        if wanted.astray:
            index = "stored_dest"
            along["dest = ?"] = wanted.dest
        elif wanted.dest is not None:
            rest[ADDRESSEE] = wanted.dest
        if wanted.due:
            index = "stored_expires"
            along["expires <= ?"] = wanted.due
        elif wanted.deep:
            index = "stored_deep"
            along["deep IS NOT NULL"] = None
        elif wanted.at is not None and not wanted.astray:
            index = "blocks"
            along |= {"b.space = ?": space, "b.agent = ?": wanted.at, "b.held > 0": None}
            along["b.block >= ?"] = after // BLOCK
            along[f"s.n >= b.block * {BLOCK} AND s.n < (b.block + 1) * {BLOCK}"] = None
        return index, along, rest

    def _narrowest(self, space: str, marks: Marks) -> int | None:
        """The column to walk along: the last whose mark few tuples have, as far as is known."""
        indexed, column = self.indexed, None
        for other, mark in reversed(marks):
            if other in indexed:
                column = other
                if (space, column, mark) not in self._wide:
                    break
        return column

    def get(self, space: str, id: TupleId) -> Record | None:
        """The tuple of an id: it is in one of few blocks."""
        writer, count = id
        for n, blob in self._ask(
            "SELECT s.n, s.body FROM blocks b CROSS JOIN stored s WHERE b.space = ?"
            " AND b.agent = ? AND b.low <= ? AND b.high >= ? AND s.space = b.space"
            f" AND s.n >= b.block * {BLOCK} AND s.n < (b.block + 1) * {BLOCK}"
            " AND s.writer = b.agent AND s.count = ?",
            (space, writer, count, count, count),
        ):
            return self._record(n, blob)
        return None

    def at(self, space: str, order: int) -> Record | None:
        """The tuple of an order."""
        sql = "SELECT body FROM stored WHERE space = ? AND n = ?"
        for (blob,) in self._ask(sql, (space, order)):
            return self._record(order, blob)
        return None

    def soonest(self, space: str, after: int) -> int | None:
        """When the next tuple expires, later than a moment."""
        sql = "SELECT min(expires) FROM stored WHERE space = ? AND expires > ?"
        for (soonest,) in self._ask(sql, (space, after)):
            return None if soonest is None else int(soonest)
        return None

    def misplaced(self, space: str) -> list[str]:
        """Whom tuples are for that others hold."""
        sql = "SELECT DISTINCT dest FROM stored WHERE space = ? AND dest IS NOT NULL ORDER BY dest"
        return [str(dest) for (dest,) in self._ask(sql, (space,))]

    def _record(self, n: int, blob: bytes) -> Record:
        try:
            record = record_of(guarded_row(blob))
        except (Altered, BadRecord) as error:
            raise self._reader.damaged("stored", str(n), error) from None
        record.order, record.kept = n, True
        return record


@lru_cache(maxsize=256)
def _query(table: str, along: tuple[str, ...], rest: tuple[str, ...], order: str) -> str:
    """Rows along an index; those that are not wanted have no body."""
    body = f"CASE WHEN {' AND '.join(rest)} THEN body END" if rest else "body"
    return (
        f"SELECT n, {body} FROM {table} WHERE {' AND '.join(along)} AND s.n > ? AND s.n <= ?"
        f" ORDER BY {order} LIMIT ?"
    )


@lru_cache(maxsize=256)
def _query_along(column: int, others: int, held: bool, meant: bool, hints: bool) -> str:
    """The query along the index of a column; `others` has a bit for each that is compared."""
    rest = [f"f{other} = ?" for other in range(COLUMNS) if others >> other & 1]
    rest += [words for words, is_asked in ((HOLDER, held), (ADDRESSEE, meant)) if is_asked]
    hint = f" INDEXED BY stored_f{column}" if hints else ""
    along = ("s.space = ?", f"f{column} = ?")
    return _query(f"stored s{hint}", along, tuple(rest), "s.n")
