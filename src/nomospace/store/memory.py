"""A store in memory: for simulated worlds, for tests, and for hosts that may forget.

It lasts as long as the object does. A host that starts again with the same one finds what it had,
so everything that a real store promises, but survival of the process, can be tried with it. The
model of all stores, `host.Durable`, does the keeping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from sys import maxsize
from typing import Final

from nomospace.host.changes import Durable, TuplePut
from nomospace.host.kept_tables import PlainTables
from nomospace.protocols.births import BEFORE
from nomospace.store.copying import changes_of, numbers_of
from nomospace.store.interface import (
    TRANSFERS,
    Beginning,
    Header,
    JournalEntry,
    KeptForClient,
    Step,
    StoreFinding,
    StoreNotEmpty,
    check_limit,
)

BYTES_MAX: Final = 1 << 26
"""How many bytes the records have that are kept, where not all of them are."""


class MemoryStore:
    """Keeps everything in this process, and says at once that it is kept.

    >>> from nomospace.host.changes import AgentCame
    >>> store = MemoryStore()
    >>> store.begin().life
    1
    >>> store.commit([Step((AgentCame("ann@x", 3),))], at=17)
    >>> again = store.begin()
    >>> again.life, again.durable.agents, again.last_at
    (2, {'ann@x': 3}, 17)
    """

    def __init__(self) -> None:
        self.life = 0
        self.birth = 0  # until it is told one
        self.durable = Durable()
        self.last_at = 0
        self.clock: tuple[int, ...] = ()
        self._outbox: dict[str, dict[int, KeptForClient]] = {}
        self._entries: dict[int, bytes] = {}
        self._size = self._last_seq = self._keep = 0
        self._loading: list[tuple[str, tuple[str, int]]] = []

    @property
    def where(self) -> str:
        """The name that `open_store` knows it by."""
        return "memory"

    @property
    def lasts(self) -> bool:
        """It ends with the process."""
        return False

    @property
    def tables(self) -> PlainTables:
        """The tuples of spaces that lie in the store."""
        return self.durable.tables

    def begin(self, *, tuples: bool = True, birth: int = BEFORE) -> Beginning:
        """Begin the next life."""
        self.birth = self.birth or birth
        self.life += 1
        self._loading = [
            (space, key) for space, held in self.durable.tuples.items() for key in held
        ]
        durable = self.durable
        if not tuples:
            durable = Durable()
            durable.__dict__.update(self.durable.__dict__, tuples={})
        outbox = tuple([kept for held in self._outbox.values() for kept in held.values()])
        return Beginning(self.life, durable, outbox, self.last_at, self.clock, self.birth)

    def attach(self) -> None:
        """It is at hand as it is."""

    def rows(self, after: int, limit: int) -> tuple[list[TuplePut], int | None]:
        """Tuples of the beginning that are still there, space by space."""
        upto = after + check_limit(limit)
        found = []
        for space, key in self._loading[after:upto]:
            row = self.durable.tuples[space].get(key)
            if row is not None:
                found.append(TuplePut(space, row))
        return found, upto if upto < len(self._loading) else None

    immediate = True
    """There is nothing to wait for."""

    def commit(self, steps: Sequence[Step], *, at: int) -> None:
        """Carry the changes out."""
        self.stage(steps, at=at)

    def flush(self) -> None:
        """All is kept already."""

    untidy = False
    """There is nothing to move."""

    def tidy(self) -> None:
        """There is nothing to do."""

    def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
        """Carry the changes out, all of them: there is nothing to wait for."""
        for step in steps:
            self.durable.apply(*step.changes)
            for name, number in step.counts.items():
                self.durable.small[name] = b"%d" % number
            for kept in step.outbox:
                self._outbox.setdefault(kept.agent, {})[kept.number] = kept
            for record in step.records:
                self._last_seq += 1
                self._entries[self._last_seq] = record
                self._size += len(record)
                while self._keep and (len(self._entries) > self._keep or self._size > BYTES_MAX):
                    self._size -= len(self._entries.pop(next(iter(self._entries))))
        self.last_at = at
        return len(steps)

    def trim(self, agent: str, number: int) -> None:
        """Forget at once."""
        held = self._outbox.get(agent, {})
        for known in [known for known in held if known <= number]:
            del held[known]

    @property
    def last_record(self) -> int:
        """The number of the journal's last record."""
        return self._last_seq

    def keep_records(self, limit: int) -> None:
        """Forget records past a limit, a few at a time."""
        self._keep = limit

    def journal(self, after: int, limit: int, bytes_max: int = maxsize) -> list[JournalEntry]:
        """Records from the one after a number."""
        later = (JournalEntry(seq, record) for seq, record in self._entries.items() if seq > after)
        found: list[JournalEntry] = []
        for entry in islice(later, check_limit(limit)):
            found.append(entry)
            bytes_max -= len(entry.record)
            if bytes_max <= 0:
                break
        return found

    def prune(self, upto: int) -> None:
        """Forget records up to a number."""
        for seq in [seq for seq in self._entries if seq <= upto]:
            self._size -= len(self._entries.pop(seq))

    def dump(self) -> Iterator[Header | Step]:
        """Everything as it is now."""
        sealed = min(self._entries, default=self._last_seq + 1) - 1
        numbers = numbers_of(self.durable)
        yield Header(self.life, self.last_at, self.clock, sealed, numbers, self.birth)
        outbox = tuple([kept for held in self._outbox.values() for kept in held.values()])
        yield Step(tuple(changes_of(self.durable)), outbox, tuple(self._entries.values()))
        for space, held in self.durable.tuples.items():
            yield Step(tuple([TuplePut(space, row) for row in held.values()]))
        for space, rows in self.durable.tables.tuples.items():
            yield Step(tuple([TuplePut(space, row, order) for order, row in rows.items()]))

    def found(self, header: Header) -> None:
        """Go on from a header."""
        if self.life > 1 or self.last_at:
            raise StoreNotEmpty(where=self.where)
        self.life, self.last_at, self.clock = header.life, header.last_at, header.clock
        self.birth = header.birth
        self._last_seq = header.journal
        for name, peer, number in header.numbers:
            book = self.durable.transfers if name == TRANSFERS else self.durable.parcels
            book.numbers[peer] = number
            book.waiting[peer] = {}

    def inspect(self) -> Iterator[StoreFinding]:
        """Memory is as it is."""
        return iter(())

    def close(self) -> None:
        """Nothing is let go: the next life may have it."""
