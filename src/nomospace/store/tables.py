"""Tuples of the store engine in a database: its tables as a space asks them (`space.tables`).

Each question is one short query over an index that has the tuples in their order, so nothing is
sorted, and a page costs what its rows cost. Where a template has several marks the walk goes along
one of them, and the others are compared. Which one is worked out once: a mark that many tuples
have is remembered, and not walked along where there is another.
"""

from __future__ import annotations

from typing import Final

from nomospace.host.residents import record_of
from nomospace.space import Record, TupleId
from nomospace.space.tables import FIRST_ORDER, Wanted
from nomospace.store.guarded import Altered, guarded_row
from nomospace.store.loading import StoreReader
from nomospace.wire.changes import BadRecord

WIDE_FROM: Final = 32
"""A mark that so many tuples have is not walked along where there is another."""
WIDE_MAX: Final = 10_000
"""Marks of which that is remembered."""


class SqlTables:
    """Asks through a reader, which has a connection of its own."""

    def __init__(self, reader: StoreReader, *, hints: bool) -> None:
        self.applied = 0
        self._reader = reader
        self._ask = reader.ask
        self._hints = hints
        """Whether the database must be told which index to use."""
        self._wide: dict[tuple[str, int, int], None] = {}

    def last(self) -> int:
        """The highest order."""
        return max(FIRST_ORDER, self._reader.number("SELECT max(n) FROM tuples") or 0)

    def writers(self, space: str) -> dict[str, tuple[int, int]]:
        """How many tuples each agent has written, and the highest of their numbers."""
        rows = self._ask(
            "SELECT writer, count(*), max(count) FROM tuples WHERE space = ? AND width IS NOT NULL"
            " GROUP BY writer",
            (space,),
        )
        return {writer: (number, highest) for writer, number, highest in rows}

    def rows(self, space: str, wanted: Wanted, after: int, upto: int, limit: int) -> list[Record]:
        """The first so many tuples behind an order and up to another, oldest first."""
        terms, params, index = ["space = ?"], list[str | int](), "tuples_space"
        params.append(space)
        if wanted.marks:
            along = self._narrowest(space, wanted.marks, after)
            index = f"tuples_f{along}"
            for column, mark in wanted.marks:
                terms.append(f"f{column} = ?")
                params.append(mark)
        elif wanted.astray:
            index = "tuples_astray"
            terms.append("cur <> dest")
        elif wanted.due:
            index = "tuples_due"
        elif wanted.deep:
            index = "tuples_deep"
        elif wanted.at is not None:
            index = "tuples_cur"
        for name, value in (("cur", wanted.at), ("dest", wanted.dest)):
            if value is not None:
                terms.append(f"{name} = ?")
                params.append(value)
        if wanted.deep:
            terms.append("deep = 1")
        if wanted.due:
            terms.append("expires > 0 AND expires <= ?")
            params.append(wanted.due)
        terms.append("width = ?" if wanted.width else "width IS NOT NULL")
        if wanted.width:
            params.append(wanted.width)
        hint = f" INDEXED BY {index}" if self._hints else ""
        sql = (
            f"SELECT n, body FROM tuples{hint} WHERE {' AND '.join(terms)}"
            f" AND n > ? AND n <= ? ORDER BY {'expires, n' if wanted.due else 'n'} LIMIT ?"
        )
        found = self._ask(sql, (*params, after, upto, limit))
        return [self._record(n, blob) for n, blob in found]

    def _narrowest(self, space: str, marks: tuple[tuple[int, int], ...], after: int) -> int:
        """The column to walk along: the last whose mark few tuples have, as far as is known."""
        wide = self._wide
        for column, mark in reversed(marks):
            if len(marks) == 1 or column == marks[0][0]:
                break
            if (space, column, mark) in wide:
                continue
            hint = f" INDEXED BY tuples_f{column}" if self._hints else ""
            found = self._ask(
                f"SELECT n FROM tuples{hint} WHERE space = ? AND f{column} = ? AND n > ?"
                " ORDER BY n LIMIT ?",
                (space, mark, after, WIDE_FROM),
            )
            if len(list(found)) < WIDE_FROM:
                break
            if len(wide) >= WIDE_MAX:
                wide.clear()
            wide[space, column, mark] = None
        return column

    def get(self, space: str, id: TupleId) -> Record | None:
        """The tuple of an id."""
        for n, blob in self._ask(
            "SELECT n, body FROM tuples WHERE space = ? AND writer = ? AND count = ?"
            " AND width IS NOT NULL",
            (space, *id),
        ):
            return self._record(n, blob)
        return None

    def soonest(self, space: str, after: int) -> int | None:
        """When the next tuple expires, later than a moment."""
        sql = "SELECT min(expires) FROM tuples WHERE space = ? AND expires > 0 AND expires > ?"
        for (soonest,) in self._ask(sql, (space, after)):
            return None if soonest is None else int(soonest)
        return None

    def misplaced(self, space: str) -> list[str]:
        """Whom tuples are for that others hold."""
        sql = "SELECT DISTINCT dest FROM tuples WHERE space = ? AND cur <> dest ORDER BY dest"
        return [str(dest) for (dest,) in self._ask(sql, (space,))]

    def _record(self, n: int, blob: bytes) -> Record:
        try:
            record = record_of(guarded_row(blob))
        except (Altered, BadRecord) as error:
            raise self._reader.damaged("tuples", str(n), error) from None
        record.order, record.kept = n, True
        return record
