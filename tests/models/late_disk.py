"""A disk under a space of the store engine, with tables that are late and answer late."""

from __future__ import annotations

from random import Random

from nomospace.host.kept_tables import PlainTables
from nomospace.host.residents import row_of
from nomospace.protocols.spaces import Row
from nomospace.space import Space, TupleId
from nomospace.space.pages import RowsPage, page_of
from nomospace.space.stored import StoreEngine
from nomospace.space.tables import RowsQuestion


class Disk:
    """What a host would write down of a space, and tables that have it some time later."""

    def __init__(self, rng: Random, *, at_hand: bool = True) -> None:
        self.rng = rng
        self.tables = PlainTables(at_hand=at_hand)
        self.engine = StoreEngine(self.tables, cache_max=2)
        self.written: dict[TupleId, Row] = {}
        self.waiting: list[tuple[TupleId, Row | None, int]] = []
        self.under_way: list[tuple[RowsQuestion, RowsPage]] = []

    def write(self, space: Space) -> None:
        """Write down what a step has changed; the tables learn of some of what waits."""
        lent = [lease.record for lease in space.leases()]
        records = [*space._store.everything(), *lent]
        now = {record.id: row_of(record) for record in records}
        for id in [id for id in self.written if id not in now]:
            del self.written[id]
            self.waiting.append((id, None, self.engine.spaces["s"].gone(id)))
        for id, row in now.items():
            if self.written.get(id) != row:
                self.written[id] = row
                self.waiting.append((id, row, self.engine.spaces["s"].put_down(id)))
        self.engine.end_step()
        self.answer()
        for _ in range(self.rng.choice((0, 0, 1, 3, len(self.waiting)))):
            if self.waiting:
                id, kept, order = self.waiting.pop(0)
                if kept is None:
                    self.tables.gone("s", id)
                else:
                    self.tables.put("s", kept, order)

    def answer(self) -> None:
        """Questions are answered at once or later, in any order, with what was there before."""
        pages = self.engine.pages
        asked, pages.asked = pages.asked, []
        for question in asked:
            applied = self.tables.applied
            page = page_of(self.tables.rows(*question[:5]), applied)
            self.under_way.insert(self.rng.randint(0, len(self.under_way)), (question, page))
        while self.under_way and self.rng.random() < 0.7:
            pages.answer(*self.under_way.pop(0))
