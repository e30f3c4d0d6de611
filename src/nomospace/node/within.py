"""What lies in the spaces of a running host, for those who look on (`views.Views` hands it out).

Looking changes nothing and costs a bounded amount: a template is tried on so many tuples
(`TRIES_MAX`), and sets of tuples that answer together are looked for in small spaces only
(`SETS_TUPLES_MAX`). When a tuple was written is not kept with it, so ages come from the journal:
`read_ages` reads on where it ended, and some way further back, a few records at a time; what was
written before the oldest record that the store has has no age.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Final

from nomospace.calls.problems import CorrelationTooDear
from nomospace.node.journaling import pages
from nomospace.node.viewed import (
    LeaseView,
    ReactionView,
    SetView,
    SpaceInside,
    SpaceView,
    TuplesView,
    TupleView,
    WaiterView,
)
from nomospace.space import Slice, Unfinished
from nomospace.space.asking import SetQuestion
from nomospace.store.journal import SPACE, TupleRecord, count_name, decode_record
from nomospace.terms import show
from nomospace.terms.templates import Template
from nomospace.terms.values import weight
from nomospace.terms.written import show_pattern
from nomospace.wire.admin import ANSWER_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nomospace.node.serve import Server
    from nomospace.space import Record, Space
    from nomospace.space.reactions import Reaction
    from nomospace.space.records import Lease
    from nomospace.space.watchers import Waiter
    from nomospace.store.interface import JournalEntry
    from nomospace.terms import Term

LINES_MAX: Final = 1_000
"""The most lines of one view."""
TEXT_MAX: Final = 2_000
"""How much of one term is shown, in characters."""
TRIES_MAX: Final = 20_000
"""How many tuples a template is tried on: the host stands still meanwhile."""
SETS_TUPLES_MAX: Final = 500
"""The largest space in which tuples that answer together are looked for."""
SETS_UNITS_MAX: Final = 12_000
"""What may be spent on looking for them: about three milliseconds."""
SETS_MAX: Final = 100
SET_SIZE_MAX: Final = 3
"""How many tuples may answer together, where one looks on."""
BORN_MAX: Final = 100_000
"""Of how many tuples it is known when they were written: the youngest."""
READ_MAX: Final = 4_000
"""How many records one question about ages reads, of late and of before, and"""
AT_ONCE: Final = 250
BYTES_AT_ONCE: Final = 1 << 18
"""how many, and how many bytes, at once: the host stands still meanwhile."""
COUNT_DIGITS_MAX: Final = 18
"""The longest count of a tuple's id."""
PAGED_MAX: Final = 1_000_000
"""How far into a space one can page."""

Kept = tuple["Space", str, bool, tuple[str, ...]]
"""A space, its law, whether it is shared, and the agents it is of."""


class Within:
    """The spaces of one host, looked at."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._born: dict[str, int] = {}
        """When tuples were written, by id, the oldest first."""
        self._read = -1
        """The last record that was read for that; -1 before the first."""
        self._back = 0
        """And the first."""
        self._gone: dict[str, None] = {}
        """Tuples that are gone and whose writing was not read yet."""
        self._lock = asyncio.Lock()

    def all(self) -> list[Kept]:
        """The spaces: shared ones, private ones, and the one that shows who is there."""
        core = self._server.host.core
        system: Kept = (core.system.space, "", True, tuple(islice(core.agents, LINES_MAX)))
        return [*core.spaces.census(), system]

    def find(self, space: str, agent: str) -> Kept | None:
        """A shared space, or the private one of an agent."""
        return find_space(self.all(), space, agent)

    def inside(self, kept: Kept) -> SpaceInside:
        """What goes on in a space."""
        space = kept[0]
        return SpaceInside(
            space_view(*kept, self._server.tally.kept),
            tuple([_waiter(waiter) for waiter in space.waiters()[:LINES_MAX]]),
            tuple([_reaction(reaction) for reaction in space.reactions()[:LINES_MAX]]),
            tuple([_lease(lease) for lease in space.leases()[:LINES_MAX]]),
        )

    def tuples(
        self,
        space: Space,
        *,
        template: Sequence[object],
        together: bool,
        limit: int,
        after: int = 0,
    ) -> TuplesView:
        """The oldest tuples, or those that a template matches; lent ones stand behind the rest."""
        after = max(0, min(after, PAGED_MAX))
        now = self._server.now()
        asked = Template.of(tuple(template)) if template else None
        if asked is None:
            records = space.oldest(after + limit + 1)
            whole = len(records) <= after + limit
        else:
            records, whole = space.look(asked, limit=after + limit, tries=TRIES_MAX, now=now)
        skipped = min(after, len(records))
        records = records[skipped:]
        lines: list[TupleView] = []
        size = 0
        for record in records[:limit]:
            why = "" if asked is None else space.why(asked, record.fields)
            lines.append(self._tuple(record, why=why))
            size += min(weight(record.fields), TEXT_MAX * len(record.fields))
            if size > ANSWER_BYTES_MAX:
                whole = False
                break
        lent = [
            lease
            for lease in space.leases()[:PAGED_MAX]
            if asked is None or (not asked.meant and asked.matches(lease.record.fields))
        ]
        passed = min(after - skipped, len(lent))  # they stand behind all others
        shown_lent = lent[passed : passed + max(0, limit - len(lines))] if whole else []
        whole = whole and passed + len(shown_lent) == len(lent)
        lines += [self._tuple(lease.record, lent_until=lease.until) for lease in shown_lent]
        skipped += passed
        sets = _sets(space, asked, now) if asked is not None and together else ()
        return TuplesView(len(space), tuple(lines), whole, sets, skipped)

    def lies(self, id: str) -> tuple[str, TupleView | None]:
        """Where a tuple lies now, lent out or not, and how."""
        writer, _, digits = id.rpartition("#")
        if not digits.isdecimal() or len(digits) > COUNT_DIGITS_MAX:
            return "", None
        count = int(digits)
        for space, *_ in self.all():
            record = space.get((writer, count))
            if record is not None:
                return space.name, self._tuple(record)
            for lease in islice(space.leases(), LINES_MAX):
                if lease.record.id == (writer, count):
                    return space.name, self._tuple(lease.record, lent_until=lease.until)
        return "", None

    async def read_ages(self) -> None:
        """Learn from the journal when tuples were written: since the last time, and before."""
        async with self._lock:
            store = self._server.store
            last = store.last_record
            if self._read < 0:
                self._read = self._back = max(last - READ_MAX, 0)
            self._read = max(self._read, last - READ_MAX)
            at_once = {"most": AT_ONCE, "bytes_max": BYTES_AT_ONCE}
            async for page in pages(store, self._read, last, **at_once):
                self._learn(page)
                self._read = page[-1].seq
            self._read = max(self._read, last)
            until = max(0, self._back - READ_MAX)
            while self._back > until and len(self._born) < BORN_MAX and len(self._gone) < BORN_MAX:
                begin = max(until, self._back - AT_ONCE)
                found: list[tuple[str, TupleRecord]] = []
                kept = False
                async for page in pages(store, begin, self._back, **at_once):
                    older = [one for one in page if one.seq <= self._back]
                    found += _tuple_records(older)
                    kept = kept or bool(older)
                self._learn_before(found)
                self._back = begin if kept else 0  # what was before is kept no longer
            for old in (self._born, self._gone):
                while len(old) > BORN_MAX:
                    del old[next(iter(old))]

    def _learn(self, entries: Iterable[JournalEntry]) -> None:
        """Learn from records that are newer than all others."""
        for id, record in _tuple_records(entries):
            if record.op == "written":
                self._born[id] = record.at
            elif record.op != "moved" and self._born.pop(id, None) is None:
                self._gone[id] = None

    def _learn_before(self, records: Iterable[tuple[str, TupleRecord]]) -> None:
        """Learn from records that are older than all others."""
        born: dict[str, int] = {}
        for id, record in records:
            if record.op == "written":
                if id in self._gone:
                    del self._gone[id]
                else:
                    born[id] = record.at
            elif record.op != "moved" and born.pop(id, None) is None:
                self._gone[id] = None
        if born:
            self._born = born | self._born

    def _tuple(self, record: Record, *, why: str = "", lent_until: int = 0) -> TupleView:
        id = f"{record.writer}#{record.count}"
        return TupleView(
            id,
            bounded(record.fields),
            record.cur,
            record.dest,
            record.deliveries,
            self._born.get(id, 0),
            record.expires,
            lent_until,
            why,
        )


def find_space(among: Iterable[Kept], name: str, agent: str) -> Kept | None:
    """A shared space of a name, or the private one of an agent."""
    for one in among:
        space, _, shared, agents = one
        if space.name == name and (shared if not agent else not shared and agents == (agent,)):
            return one
    return None


def _tuple_records(entries: Iterable[JournalEntry]) -> Iterator[tuple[str, TupleRecord]]:
    """The records of tuples among others, with the tuple's id."""
    for entry in entries:
        record = decode_record(entry.record)
        if isinstance(record, TupleRecord):
            yield f"{record.writer}#{record.count}", record


def _sets(space: Space, asked: Template, now: int) -> tuple[SetView, ...]:
    if not asked.meant or len(space) > SETS_TUPLES_MAX:
        return ()
    try:
        question, slice = SetQuestion(asked, max_set=SET_SIZE_MAX), Slice(SETS_UNITS_MAX)
        found = space.sets.gather_all(question, now=now, slice=slice)
    except Unfinished:
        raise CorrelationTooDear(limit=SETS_UNITS_MAX) from None
    return tuple(
        [
            SetView(
                tuple([f"{writer}#{count}" for writer, count in one.ids]),
                bounded(one.fields),
                one.why,
            )
            for one in found[:SETS_MAX]
        ]
    )


def shown(value: Term) -> str:
    """A term's text that fits into a line of a view.

    >>> len(shown("a" * 3_000)), shown("a" * 3_000)[-1]
    (2000, '…')
    """
    return show(value, limit=TEXT_MAX)


def bounded(fields: tuple[Term, ...]) -> tuple[object, ...]:
    """Fields of a tuple for a view: one that is large as its text, cut.

    >>> bounded(("job", 17, "a" * 3_000)) == ("job", 17, shown("a" * 3_000))
    True
    """
    return tuple([one if weight(one) <= TEXT_MAX else shown(one) for one in fields])


def fields_text(fields: tuple[object, ...]) -> str:
    """The fields of a tuple in a line.

    >>> fields_text(("job", 17))
    'job, 17'
    """
    return ", ".join([show(field) for field in fields])


SPACE_OPS: Final = (
    *("written", "taken", "expired", "moved"),
    *("lent", "renewed", "returned", "acknowledged", "lapsed"),
)
"""What may become of a tuple, or of a lease on one."""


def space_view(
    space: Space,
    law: str,
    shared: bool,
    agents: tuple[str, ...],
    counted: Mapping[str, int],
) -> SpaceView:
    """A space in figures."""
    of = space.stats()
    counts = (of["tuples"], of["lent"], of["waiters"], of["reactions"])
    ontology = space.ontology.name if space.ontology.classes else ""
    all_ops = {op: counted.get(count_name(SPACE, space.name, op), 0) for op in SPACE_OPS}
    told = {op: number for op, number in all_ops.items() if number}
    return SpaceView(space.name, law, shared, agents[:LINES_MAX], *counts, ontology, told)


def _asked(template: Template) -> str:
    """A template as one would type it."""
    text = ", ".join([show_pattern(one, limit=TEXT_MAX) for one in template.term[:TEXT_MAX]])
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


def _waiter(waiter: Waiter) -> WaiterView:
    return WaiterView(
        waiter.how,
        _asked(waiter.template),
        waiter.at or "",
        waiter.dest or "",
        isinstance(waiter.ticket, tuple),
    )


def _reaction(reaction: Reaction) -> ReactionView:
    return ReactionView(
        _asked(reaction.template),
        reaction.mode,
        reaction.listener is not None,
        reaction.enabled,
        reaction.fired,
    )


def _lease(lease: Lease) -> LeaseView:
    record = lease.record
    id = f"{record.writer}#{record.count}"
    return LeaseView(id, bounded(record.fields), lease.taker, lease.until)
