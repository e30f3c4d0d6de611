"""Rows of tables for searches: a page at a time, and no more in a step than it has time for.

A search that walks rows may come to where it cannot go on in this step: the step has looked at
enough of them, or the tables are a server that would keep everybody waiting. There it is cut
(`RowsAway`), and it comes back when there is time, or when the rows have come. What it finds then
is looked at again as the space is at that moment: a page is laid under what is in memory and what
is hidden (`stored`) each time that it is read.

So a page may be kept, for this search and for others with the same question. It is out of date
when changes that it may not have are no longer laid over the tables: then its rows do not count,
but that there was nothing before the first of them is still so. Only a tuple that leaves memory
could lie there; then all pages of its space are dropped (`forget`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

import msgspec

from nomospace.errors import Unavailable
from nomospace.space.records import Record
from nomospace.space.tables import RowsFound, RowsQuestion, TupleTables, Wanted

STEP_ROWS: Final = 1_024
"""Rows that the searches of one step look at, about five milliseconds; then they are cut."""
SCAN_MAX: Final = 256
"""Rows that are looked at in one query which finds few among them."""
PAGES_MAX: Final = 256
"""Pages that are kept."""

Key: TypeAlias = tuple[str, Wanted, int]
"""A space, what is wanted of it, and behind which order."""


class RowsAway(Exception):
    """What comes next is not at hand in this step; it was asked for under a key, if that is why."""

    def __init__(self, key: Key | None) -> None:
        super().__init__()
        self.key = key


class RowsPage(msgspec.Struct, gc=False):
    """What is wanted behind an order, up to another; all of it, as the tables had it once."""

    records: list[Record]
    orders: list[int]
    """Of these records, whatever has become of them since."""
    upto: int
    applied: int
    """How many changes the tables had at least."""


class Pages:
    """The rows of one host's tables, as far as searches have come to them."""

    def __init__(self, tables: TupleTables) -> None:
        self._tables = tables
        self.settled = 0
        """How many changes are laid over the tables no longer."""
        self.left = STEP_ROWS
        self.asked: list[RowsQuestion] = []
        """What was asked for in this step, for the driver."""
        self._pending: dict[Key, RowsQuestion] = {}
        self._known: dict[Key, RowsPage] = {}
        self._failed: dict[Key, Unavailable] = {}
        self._insists = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Ask for rows in this step whatever it takes: who asks cannot be cut."""
        before, self._insists = self._insists, True
        try:
            yield
        finally:
            self._insists = before

    def knows(self, key: Key) -> bool:
        """Whether a page is at hand."""
        page = self._known.get(key)
        return page is not None and bool(page.records) and page.applied >= self.settled

    def is_pending(self, key: Key) -> bool:
        """Whether a question has not been answered yet."""
        return key in self._pending

    def page(self, key: Key, upto: int, limit: int) -> RowsPage:
        """The rows behind an order: some, or up to another order none; raises `RowsAway`."""
        space, wanted, at = key
        page = self._known.get(key)
        if page is not None:
            if page.upto >= upto and not page.records:
                return page
            if page.records and page.applied >= self.settled:
                return page
            at = page.orders[0] - 1 if page.records else page.upto
        if key in self._failed:
            raise self._failed.pop(key)
        tables = self._tables
        while True:
            if not self._insists:
                if not tables.at_hand:
                    self._ask(key, RowsQuestion(space, wanted, at, upto, limit, key[2]))
                    raise RowsAway(key)
                if self.left <= 0:
                    self._keep(key, RowsPage([], [], at, 0))
                    raise RowsAway(None)
            applied = tables.applied
            rows = tables.rows(space, wanted, at, upto, limit)
            self.left -= rows.looked
            page = page_of(rows, applied)
            if page.records or page.upto >= upto:
                self._keep(key, page)
                return page
            at, limit = page.upto, min(4 * limit, SCAN_MAX)

    def _ask(self, key: Key, question: RowsQuestion) -> None:
        if key not in self._pending:
            self._pending[key] = question
            self.asked.append(question)

    def answer(self, question: RowsQuestion, page: RowsPage | Unavailable) -> Key | None:
        """A question was answered: under which key; nothing comes of one that is out of date."""
        key = (question.space, question.wanted, question.front)
        if self._pending.get(key) != question:
            return None
        del self._pending[key]
        if isinstance(page, RowsPage):
            self._keep(key, page)
        else:
            self._failed[key] = page
        return key

    def _keep(self, key: Key, page: RowsPage) -> None:
        if len(self._known) >= PAGES_MAX and key not in self._known:
            del self._known[next(iter(self._known))]
        self._known[key] = page

    def forget(self, space: str) -> None:
        """Drop all pages of a space, and what was asked about it: that is asked anew."""
        for pages in (self._known, self._failed):
            for key in [key for key in pages if key[0] == space]:
                del pages[key]
        for key, question in list(self._pending.items()):
            if key[0] == space:
                self._pending[key] = question._replace(limit=question.limit + 1)
                self.asked.append(self._pending[key])

    def end_step(self, settled: int) -> None:
        """A step is over; so many changes are in the tables, and laid over them no longer."""
        self.settled = settled
        self.left = STEP_ROWS


def page_of(rows: RowsFound, applied: int) -> RowsPage:
    """A page of rows that tables had when they had so many changes."""
    return RowsPage(rows.records, [record.order for record in rows.records], rows.upto, applied)
