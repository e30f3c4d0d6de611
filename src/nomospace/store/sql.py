"""What SQLite and PostgreSQL have in common: a host's state in tables.

An engine brings a way to run statements and transactions, its own columns for matching, and the
translation of its errors. All else is here: reading a host back, committing steps, folding the
rulings of memberships, and looking everything over.

The records of the journal are the log of memberships; where there is no journal, rulings have a
table. A host tells a membership as it is after every `KEPT_EVERY` rulings, so what rules often is
never read back. Once one has `COMPACT_FROM` of them all the same, or one that lies `REACH` records
back or is to be forgotten, the oldest are folded into it, some `FOLD_MAX` in one commit: nobody
waits long for another's housekeeping. No record is forgotten before. Tuples and
pushes are put off, and the tables catch up now and then (`store.backlog`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from heapq import heappop, heappush, heapreplace
from itertools import islice
from sys import maxsize
from typing import Final, NamedTuple, TypeVar

import msgspec

from nomospace.control import redo
from nomospace.host.changes import COMPACT_FROM, TuplePut
from nomospace.protocols.births import BEFORE
from nomospace.store.backlog import BYTES_MAX, ROWS_MAX, Backlog, CommitPart, encode_part
from nomospace.store.batch import Batch, Counters, MemberLog
from nomospace.store.blocks import catch_up
from nomospace.store.copying import changes_of, numbers_of
from nomospace.store.guarded import Altered, guard, guarded_row
from nomospace.store.interface import (
    Beginning,
    Header,
    JournalEntry,
    Step,
    StoreDamaged,
    StoreFinding,
    StoreNotEmpty,
    StoreUnavailable,
    check_limit,
)
from nomospace.store.loading import StoreReader
from nomospace.store.looking import looks
from nomospace.store.schema import BY_FIELD, Params, SqlRow
from nomospace.store.tables import SqlTables
from nomospace.wire.changes import BadRecord, decode_row, encode_snapshot

FORGET_FROM: Final = 500
"""A journal that is bounded may have so many records more before the oldest are forgotten."""
FORGET_MAX: Final = 1_000
"""So many records are forgotten in one commit, unless more come."""
FOLD_MAX: Final = 32
"""So many rulings of a membership are folded in one commit, unless more come; some 20 us each."""
REACH: Final = 20_000
"""So many records of the journal are read at most when a host starts again."""
T = TypeVar("T")
_CHUNK: Final = 10_000


class Staged(NamedTuple):
    """Steps on their way to the disk, in rows."""

    steps: tuple[Step, ...]
    at: int
    clock: str
    trims: dict[str, int]
    batch: Batch
    folds: dict[tuple[str, str], int]
    """Memberships whose oldest rulings are folded, and how many at most."""
    folded: dict[tuple[str, str], tuple[int, int]]
    """How many were, of the table of rulings and of the journal."""
    needed: int
    """The first record that a membership rests on, before they are folded."""
    forgotten: int
    late: Backlog | None
    """What the tables catch up with in this commit; `None` when its own part is put off too."""
    rows: int
    """How many rows that part is."""
    wanted: int | None
    """The field of stored tuples that gets an index."""


class SqlStore(ABC):
    """A host's state in the tables of `store.schema`."""

    _fenced = False
    """Whether a commit is told who makes it (`_fence`)."""
    fenced = False
    """Whether its life is a token, by which others know a later process from an earlier one."""

    def __init__(self) -> None:
        self._counters = Counters()
        self.on_life: Callable[[], None] | None = None
        """Told when a life has begun on disk, before what earlier ones have kept is read."""
        self._life = 0
        self._batch = 0
        self.clock: tuple[int, ...] = ()
        self._trims: dict[str, int] = {}
        self._keep = 0
        self._prune = 0
        self._forgotten = 0
        self._logs: dict[str, dict[str, MemberLog]] = {}  # home -> law -> rulings not folded
        self._full: dict[tuple[str, str], None] = {}  # memberships to fold, oldest first
        self._firsts: list[tuple[int, str, str]] = []
        """A heap: no log of a membership has a record before the one that stands here."""
        self._in_firsts: set[tuple[str, str]] = set()
        self._bound = 0  # tuples up to here were there when this life began
        self._begun = False
        self._staged: Staged | None = None
        self._backlog = Backlog()

    # -- what an engine brings -----------------------------------------------------------------

    @property
    @abstractmethod
    def where(self) -> str:
        """The store as an operator knows it, without secrets."""

    @abstractmethod
    def _open(self, *, alone: bool) -> None:
        """Connect, and bring an older store up to date; `alone`, nobody else may begin."""

    @abstractmethod
    def _script(self, text: str) -> None:
        """Statements inside a transaction, with the words of the engine put in."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """All of what is inside, or nothing; on disk at the end. Errors are ours."""

    @abstractmethod
    def _do(self, sql: str, params: Params = ()) -> None:
        """One statement inside a transaction."""

    @abstractmethod
    def _ask_inside(self, sql: str, params: Params = ()) -> Iterable[SqlRow]:
        """The rows of a query inside a transaction."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[None]:
        """What is inside sees one moment, whoever writes meanwhile. Errors are ours.

        It has a connection of its own: a transaction that was staged may be open all the while.
        """

    @abstractmethod
    def _ask(self, sql: str, params: Params = ()) -> Iterable[SqlRow]:
        """The rows of a query inside `_reading`."""

    @abstractmethod
    def _carry_out(self, runs: list[tuple[str, list[Params]]]) -> None:
        """The runs of a batch."""

    @abstractmethod
    def _ask_beside(self, sql: str, params: Params = ()) -> list[SqlRow]:
        """The rows of a short query about spaces of the store engine, whatever is staged."""

    def _carry_out_many(self, runs: list[tuple[str, list[Params]]]) -> None:
        """The runs of a backlog, which are long; in `flush`, which nobody's event loop does."""
        self._carry_out(runs)

    @abstractmethod
    def _inspect_engine(self) -> Iterator[StoreFinding]:
        """What the engine finds wrong with its own files."""

    def _pair_of(self) -> str:
        """The host that this is one of two stores of; empty when it is not."""
        return ""

    def _restored(self, host: str) -> None:  # noqa: B027 - others have no pairs
        """Note, inside a transaction, that this is a copy of one of two."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""

    hints = False
    """Whether the engine must be told which index to use."""
    at_hand = True
    """Whether a query by an index takes so little that a step may wait for it."""

    @cached_property
    def tables(self) -> SqlTables:
        """The tuples of the store engine, as its spaces ask for them."""
        reader = StoreReader(self.where, self._ask_beside)
        return SqlTables(reader, hints=self.hints, at_hand=self.at_hand)

    # -- a life --------------------------------------------------------------------------------

    @property
    def lasts(self) -> bool:
        """Databases do."""
        return True

    def begin(self, *, tuples: bool = True, birth: int = BEFORE) -> Beginning:
        """Begin a new life, with what earlier ones wrote down."""
        self._open(alone=True)
        with self._transaction():
            self._begin_life()  # first: who had it before commits nothing from here on
            self._catch_up_inside()
            self._do("UPDATE state SET birth = ? WHERE one = 1 AND birth = 0", (birth,))
        if self.on_life is not None:
            self.on_life()
        with self._reading():
            loaded = self._tables.load()
        beginning = loaded.beginning
        self._life, self._batch = beginning.life, loaded.batch
        self.clock = beginning.clock
        self._counters, self._bound = loaded.counters, loaded.counters.tuple_n
        self._prune, self._forgotten = 0, loaded.forgotten
        self._logs, self._full = {}, {}
        self._firsts, self._in_firsts = [], set()
        for (home, law), log in loaded.logs.items():
            self._ruled(home, law, log)
        if tuples:
            held = beginning.durable.tuples
            after: int | None = 0
            while after is not None:
                chunk, after = self.rows(after, _CHUNK)
                for put in chunk:
                    held.setdefault(put.space, {})[put.row.writer, put.row.count] = put.row
        self._begun = True
        return beginning

    def _begin_life(self) -> None:
        """Count one life more, inside the transaction that begins it."""
        self._do("UPDATE state SET life = life + 1 WHERE one = 1")

    def _fence(self) -> Params:
        """What the statement of a commit is told besides, where an engine checks who commits."""
        return ()

    def attach(self) -> None:
        """Look at a store that a host may have open."""
        self._open(alone=False)

    def rows(self, after: int, limit: int) -> tuple[list[TuplePut], int | None]:
        """Tuples in the order they were first written, chunk by chunk."""
        limit = check_limit(limit)
        found: list[TuplePut] = []
        n = after
        with self._reading():
            for space, blob, n in self._ask(
                "SELECT space, body, n FROM tuples WHERE n > ? AND n <= ? ORDER BY n LIMIT ?",
                (after, self._bound, limit),
            ):
                try:
                    row = guarded_row(blob)
                except (Altered, BadRecord) as error:
                    raise self._tables.damaged("tuples", str(n), error) from None
                found.append(TuplePut(space, row))
        more = len(found) == limit and n < self._bound
        return list(self._backlog.still(found)), n if more else None

    # -- writing -------------------------------------------------------------------------------

    immediate = False
    """There is a disk to wait for."""

    def commit(self, steps: Sequence[Step], *, at: int) -> None:
        """Keep all these steps in one transaction; on disk when it returns."""
        self.stage(steps, at=at)
        self.flush()
        self.tidy()

    untidy = False

    def tidy(self) -> None:  # noqa: B027 - an engine may do something
        """There is nothing to do when everybody was told of a commit."""

    @abstractmethod
    def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
        """Take these steps in; `_gather` says what they are in rows."""

    @abstractmethod
    def flush(self) -> None:
        """Make what was staged durable, then call `_kept`; or call `_dropped`, and raise."""

    def _gather(self, steps: Sequence[Step], at: int, bytes_max: int) -> Staged:
        assert self._begun, "a store begins a life before it keeps anything"
        assert self._staged is None, "what was staged is flushed before more is"
        trims, self._trims = self._trims, {}
        counters = msgspec.structs.replace(self._counters)
        batch = Batch(counters, CommitPart(list(trims.items())), self._backlog.counts)
        told = 0
        for number, step in enumerate(steps, 1):
            batch.add(step)
            told += sum(map(len, step.records))
            if told + batch.part.weight > bytes_max:
                steps = steps[:number]
                break
        last = batch.counters.journal
        first = self._first_needed() if self._firsts else 0
        needed = first or batch.first or last + 1
        wanted = max(self._prune, last - self._keep if self._keep else 0)
        forgotten = self._forgotten
        if wanted > forgotten:
            forgotten = self._forget(batch, wanted, needed)
        folds: dict[tuple[str, str], int] = {}
        if self._full or 0 < first <= max(wanted, last - REACH):
            folds = self._choose(batch, max(wanted, last - REACH))
        backlog, part = self._backlog, batch.part
        rows = part.rows
        enough = backlog.rows + rows >= ROWS_MAX or backlog.weight + part.weight >= BYTES_MAX
        late = backlog.joined(part) if enough else None
        clock = ",".join(map(str, self.clock))
        wants = self.tables.wants
        self._staged = staged = Staged(
            tuple(steps), at, clock, trims, batch, folds, {}, needed, forgotten, late, rows, wants
        )
        return staged

    def _first_needed(self) -> int:
        """The first record of the journal that a membership rests on; 0 if there is none."""
        firsts = self._firsts
        while firsts:
            first, home, law = firsts[0]
            log = self._logs.get(home, {}).get(law)
            if log is None or not log.records:
                heappop(firsts)
                self._in_firsts.discard((home, law))
            elif log.records[0] > first:
                heapreplace(firsts, (log.records[0], home, law))
            else:
                return first
        return 0

    def _choose(self, batch: Batch, behind: int) -> dict[tuple[str, str], int]:
        """Memberships to fold: one that has many rulings, and some with one up to `behind`."""
        most = left = max(
            FOLD_MAX, 2 * sum(map(len, batch.ruled.values()))
        )  # faster than they come
        folds = dict.fromkeys(islice(self._full, 1), most)
        places = [0]
        while places and left > 0:
            place = places.pop()
            if place >= len(self._firsts) or self._firsts[place][0] > behind:
                continue
            _, home, law = self._firsts[place]
            log = self._logs.get(home, {}).get(law)
            if log is not None and log.records and log.records[0] <= behind:
                folds[home, law] = most
                left -= len(log)
            places += (2 * place + 1, 2 * place + 2)  # what stands below it in the heap
        return {
            key: count
            for key, count in folds.items()
            if key not in batch.begun and key[0] not in batch.left
        }

    def _forget(self, batch: Batch, upto: int, needed: int) -> int:
        """Let a batch forget some records of the journal; gives the last one that is forgotten."""
        last = batch.counters.journal
        if upto < self._forgotten + FORGET_FROM and upto > self._prune:
            return self._forgotten  # a few more or less do not matter
        most = max(FORGET_MAX, 2 * (last - self._counters.journal))  # faster than they come
        upto = min(upto, self._forgotten + most, needed - 1)
        if upto <= self._forgotten:
            return self._forgotten
        batch.forget(upto)
        return upto

    def _write(self, staged: Staged) -> None:
        """The rows of what was staged, inside a transaction."""
        batch = staged.batch
        runs, counters = batch.runs(), batch.counters
        if staged.late is None and staged.rows:
            runs.append(("put off", [(self._batch + 1, guard(encode_part(batch.part)))]))
        fence = self._fence() if self._fenced else ()
        state = (self._batch + 1, staged.at, staged.clock, counters.floor, counters.journal)
        # First: who may not commit is told so, and not that its rows are there already.
        self._carry_out([("committed", [(*state, staged.needed, *fence)]), *runs])

    def _tidy(self, staged: Staged) -> None:
        """Housekeeping inside the transaction; part of `flush`, which nobody's event loop does."""
        for key, most in staged.folds.items():
            staged.folded[key] = self._fold(*key, most)
        if staged.late is not None:
            left = staged.late.sweep()
            self._catch_up(staged.late)
            if left:
                self._carry_out([("put off", [(self._batch + 1, guard(left))])])
        if staged.wanted is not None:
            self._do(BY_FIELD.format(staged.wanted))

    def _catch_up(self, late: Backlog) -> None:
        """Write into the tables all that was put off, and perhaps more."""
        self._carry_out_many(late.runs())
        if late.left or late.lying:
            catch_up(late, self._ask_inside, self._carry_out_many)
        self._do("DELETE FROM backlog")

    def _catch_up_inside(self) -> None:
        """Let the tables have all that is on disk, inside a transaction."""
        self._catch_up(StoreReader(self.where, self._ask_inside).backlog())
        self._backlog = Backlog()

    def _dropped(self) -> None:
        """What was staged is not kept; it will be staged again."""
        staged, self._staged = self._staged, None
        if staged is not None:
            for agent, number in staged.trims.items():
                self.trim(agent, number)

    def _kept(self, staged: Staged) -> None:
        """What was staged is on disk: remember what it changed."""
        self._staged = None
        batch = staged.batch
        self._batch += 1
        self._counters = batch.counters
        self._forgotten = staged.forgotten
        if staged.late is None:
            self._backlog.add(batch.part)
        else:
            self._backlog = staged.late.rest or Backlog()
            self.tables.applied += staged.late.stored
        if staged.wanted is not None:
            self.tables.got(staged.wanted)
        for (home, law), (plain, records) in staged.folded.items():
            self._full.pop((home, law), None)
            if (log := self._logs.get(home, {}).get(law)) is not None:
                log.plain = max(0, log.plain - plain)
                del log.records[:records]
                self._ruled(home, law, MemberLog())
        for agent in batch.left:
            self._logs.pop(agent, None)
        for home, law in batch.begun:
            self._logs.setdefault(home, {})[law] = MemberLog()
        for (home, law), more in batch.ruled.items():
            self._ruled(home, law, more)

    def _ruled(self, home: str, law: str, more: MemberLog) -> None:
        """A membership has these rulings more that are not folded."""
        log = self._logs.setdefault(home, {}).setdefault(law, MemberLog())
        log.add(more)
        if len(log) >= COMPACT_FROM:
            self._full[home, law] = None
        if log.records and (home, law) not in self._in_firsts:
            self._in_firsts.add((home, law))
            heappush(self._firsts, (log.records[0], home, law))

    def _fold(self, home: str, law: str, most: int) -> tuple[int, int]:
        """Make one base of a membership and its oldest rulings; gives how many, of either kind."""
        log = self._logs.get(home, {}).get(law)
        inside = StoreReader(self.where, self._ask_inside)
        found = None if log is None else inside.unfolded(home, law, log, most)
        if found is None or not found.log:
            return 0, 0
        base, records = redo(found.base, found.log), found.records
        body = guard(encode_snapshot(base))
        self._do(
            "UPDATE members SET body = ? WHERE home = ? AND law = ?",
            (body, home, law),
        )
        if records:
            self._do(
                "UPDATE members SET since = ? WHERE home = ? AND law = ?", (records[-1], home, law)
            )
        if plain := len(found.log) - len(records):
            self._do(
                "DELETE FROM rulings WHERE home = ? AND law = ? AND seq <= ?", (home, law, base.seq)
            )
        return plain, len(records)

    @property
    def last_record(self) -> int:
        """The number of the journal's last record; a store that is only looked at is asked."""
        if not self._begun:
            with self._reading():
                return self._tables.number("SELECT journal FROM state WHERE one = 1") or 0
        return self._counters.journal

    def keep_records(self, limit: int) -> None:
        """Forget records of the journal past a limit, with the commits that follow."""
        self._keep = limit

    def trim(self, agent: str, number: int) -> None:
        """Forget what was kept for an agent up to a number, with the next commit."""
        self._trims[agent] = max(number, self._trims.get(agent, number))

    # -- asking --------------------------------------------------------------------------------

    def journal(self, after: int, limit: int, bytes_max: int = maxsize) -> list[JournalEntry]:
        """Records that no segment has yet."""
        found: list[JournalEntry] = []
        with self._reading():
            for seq, blob in self._ask(
                "SELECT seq, body FROM journal WHERE seq > ? ORDER BY seq LIMIT ?",
                (after, check_limit(limit)),
            ):
                some = [one for one in self._tables.records(seq, blob) if one.seq > after]
                found += some
                bytes_max -= sum([len(one.record) for one in some])
                if len(found) >= limit or bytes_max <= 0:
                    break
        return found[:limit]

    def prune(self, upto: int) -> None:
        """Forget journal records up to a number: with the commits that follow, or at once."""
        if self._begun:
            self._prune = max(self._prune, upto)
            return
        with self._reading():
            last = self._tables.number("SELECT min(seq) FROM journal") or upto + 1
            upto = min(upto, (self._tables.number("SELECT needed FROM state") or 1) - 1)
        while last <= upto:  # in short transactions: the host's commits go between
            last = min(upto, last + FORGET_MAX)
            with self._transaction():
                self._do("DELETE FROM journal WHERE seq <= ?", (last,))
            last += 1

    # -- copying -------------------------------------------------------------------------------

    def dump(self) -> Iterator[Header | Step]:
        """Everything as it was at one moment; ask nothing else of this object meanwhile."""
        read = self._tables.read
        with self._reading():
            loaded = self._tables.load()
            beginning = loaded.beginning
            numbers = numbers_of(beginning.durable)
            clock, forgotten = beginning.clock, loaded.forgotten
            life, last_at, birth = beginning.life, beginning.last_at, beginning.birth
            yield Header(life, last_at, clock, forgotten, numbers, birth, self._pair_of())
            yield Step(tuple(changes_of(beginning.durable)), beginning.outbox)
            stored = (
                TuplePut(space, read(table, str(n), decode_row, blob), n if by else 0)
                for table, by in (("tuples", ""), ("stored", "space, "))
                for space, blob, n in self._ask(
                    f"SELECT space, body, n FROM {table} ORDER BY {by}n"
                )
            )
            for chunk in _chunks(loaded.backlog.over(stored)):
                yield Step(tuple(chunk))
            for bundles in _chunks(self._ask("SELECT seq, body FROM journal ORDER BY seq")):
                rows = [self._tables.records(seq, blob) for seq, blob in bundles]
                records = [entry.record for row in rows for entry in row]
                yield Step(records=tuple(records))

    def found(self, header: Header) -> None:
        """Let an empty store go on from a header."""
        assert self._begun, "a store begins a life before it is filled"
        if self._life > 1 or self._batch:
            raise StoreNotEmpty(where=self.where)
        self.clock = header.clock
        clock = ",".join(map(str, header.clock))
        with self._transaction():
            self._do(
                "UPDATE state SET birth = ?, life = ?, last_at = ?, clock = ?, journal = ?,"
                " needed = ? WHERE one = 1",
                (
                    *(header.birth, header.life, header.last_at, clock),
                    *(header.journal, header.journal + 1),
                ),
            )
            self._carry_out([("last given", list(header.numbers))])
            if header.paired:
                self._restored(header.paired)
        self._life = header.life
        self._counters.journal = self._forgotten = header.journal

    # -- looking it over -----------------------------------------------------------------------

    def inspect(self) -> Iterator[StoreFinding]:
        """Everything that cannot be read, and every tuple whose columns are not its fields'."""
        yield from self._inspect_engine()
        for table, faults in looks(self._tables):
            found: list[StoreFinding] = []
            try:
                with self._reading():
                    found.extend(faults())
            except StoreDamaged as error:  # too badly to be read to its end
                found.append(StoreFinding(table, "", error.why))
            yield from found

    @property
    def _tables(self) -> StoreReader:
        return StoreReader(self.where, self._ask)

    def _unavailable(self, why: str) -> StoreUnavailable:
        return StoreUnavailable(where=self.where, why=why)


def _chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    source = iter(rows)
    while chunk := list(islice(source, _CHUNK)):
        yield chunk
