"""What SQLite and PostgreSQL have in common: a host's state in tables.

An engine brings a way to run statements and transactions, its own columns for matching, and the
translation of its errors. All else is here: reading a host back, committing steps, folding the
rulings of memberships, and looking everything over.

Rulings are written one by one and folded into their membership once there are `COMPACT_FROM` of
them (as `host.Durable` does), at most `FOLDS_MAX` memberships in one commit: nobody waits long for
another's housekeeping.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from nomospace.control import redo
from nomospace.host.changes import COMPACT_FROM, Book, Durable, StoredMember, TuplePut
from nomospace.protocols.spaces import Row
from nomospace.store.batch import Batch, Counters, Params
from nomospace.store.copying import changes_of, numbers_of
from nomospace.store.guarded import Altered, guard, guarded_row, unguard
from nomospace.store.interface import (
    PARCELS,
    TRANSFERS,
    Beginning,
    Entry,
    Finding,
    Header,
    Kept,
    Step,
    StoreDamaged,
    StoreNotEmpty,
    StoreUnavailable,
    check_limit,
)
from nomospace.store.schema import COLUMNS
from nomospace.terms import Template, Term
from nomospace.wire.changes import (
    BadRecord,
    decode_change,
    decode_row,
    decode_ruling,
    decode_snapshot,
    encode_snapshot,
)

FORGET_FROM: Final = 2_000
"""So many records of a bounded journal are forgotten at a time."""
FOLDS_MAX: Final = 1
"""The most memberships whose rulings are folded in one commit."""
_CHUNK: Final = 10_000

T = TypeVar("T")
Decode = Callable[[bytes], T]


class _Loaded(NamedTuple):
    """What is on disk, but for the tuples."""

    beginning: Beginning
    batch: int
    counters: Counters


class Staged(NamedTuple):
    """Steps on their way to the disk, in rows."""

    steps: tuple[Step, ...]
    at: int
    clock: tuple[int, ...]
    trims: dict[str, int]
    batch: Batch
    folds: list[tuple[str, str]]


class SqlStore(ABC):
    """A host's state in the tables of `store.schema`."""

    columns: Callable[[tuple[Term, ...]], Params]
    """The values of a tuple's columns `f0` to `f3`, and of the engine's own."""

    def __init__(self) -> None:
        self._counters = Counters()
        self._life = 0
        self._batch = 0
        self._clock: tuple[int, ...] = ()
        self._trims: dict[str, int] = {}
        self._keep = 0
        self._forgotten = 0
        self._logs: dict[str, dict[str, int]] = {}  # home -> law -> rulings not folded
        self._full: dict[tuple[str, str], None] = {}  # memberships to fold, oldest first
        self._bound = 0  # tuples up to here were there when this life began
        self._begun = False
        self._staged: Staged | None = None

    # -- what an engine brings -----------------------------------------------------------------

    @property
    @abstractmethod
    def where(self) -> str:
        """The store as an operator knows it, without secrets."""

    @abstractmethod
    def _open(self, *, alone: bool) -> None:
        """Connect, and bring an older store up to date; `alone`, nobody else may begin."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """All of what is inside, or nothing; on disk at the end. Errors are ours."""

    @abstractmethod
    def _do(self, sql: str, params: Params = ()) -> None:
        """One statement inside a transaction."""

    @abstractmethod
    def _ask_inside(self, sql: str, params: Params = ()) -> Iterable[Any]:
        """The rows of a query inside a transaction."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[None]:
        """What is inside sees one moment, whoever writes meanwhile. Errors are ours.

        It has a connection of its own: a transaction that was staged may be open all the while.
        """

    @abstractmethod
    def _ask(self, sql: str, params: Params = ()) -> Iterable[Any]:
        """The rows of a query inside `_reading`."""

    @abstractmethod
    def _carry_out(self, runs: list[tuple[str, list[Params]]]) -> None:
        """The runs of a batch."""

    @abstractmethod
    def _question(self, space: str, template: Template, limit: int) -> Iterable[Any]:
        """The bodies of the tuples that a template asks for."""

    @abstractmethod
    def _inspect_engine(self) -> Iterator[Finding]:
        """What the engine finds wrong with its own files."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""

    # -- a life --------------------------------------------------------------------------------

    def begin(self, *, tuples: bool = True) -> Beginning:
        """Begin a new life, with what earlier ones wrote down."""
        self._open(alone=True)
        with self._transaction():
            self._do("UPDATE state SET life = life + 1 WHERE one = 1")
        with self._reading():
            loaded = self._load()
        beginning = loaded.beginning
        self._life, self._batch, self._clock = beginning.life, loaded.batch, beginning.clock
        self._counters, self._bound = loaded.counters, loaded.counters.tuple_n
        self._logs, self._full = {}, {}
        for (home, law), member in beginning.durable.members.items():
            self._ruled(home, law, len(member.log))
        if tuples:
            held = beginning.durable.tuples
            after: int | None = 0
            while after is not None:
                chunk, after = self.rows(after, _CHUNK)
                for put in chunk:
                    held.setdefault(put.space, {})[put.row.writer, put.row.count] = put.row
        self._begun = True
        return beginning

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
                    raise self._damaged("tuples", str(n), error) from None
                found.append(TuplePut(space, row))
        return found, n if len(found) == limit and n < self._bound else None

    # -- writing -------------------------------------------------------------------------------

    @property
    def immediate(self) -> bool:
        """There is a disk to wait for."""
        return False

    def commit(self, steps: Sequence[Step], *, at: int) -> None:
        """Keep all these steps in one transaction; on disk when it returns."""
        self.stage(steps, at=at)
        self.flush()

    @abstractmethod
    def stage(self, steps: Sequence[Step], *, at: int) -> None:
        """Take these steps in; `_gather` says what they are in rows."""

    @abstractmethod
    def flush(self) -> None:
        """Make what was staged durable, then call `_kept`; or call `_dropped`, and raise."""

    def _gather(self, steps: Sequence[Step], at: int) -> Staged:
        assert self._begun, "a store begins a life before it keeps anything"
        assert self._staged is None, "what was staged is flushed before more is"
        trims, self._trims = self._trims, {}
        batch = Batch(self._counters, self.columns)
        for agent, number in trims.items():
            batch.trim(agent, number)
        for step in steps:
            batch.add(step)
        upto = batch.counters.journal - self._keep if self._keep else 0
        if upto >= self._forgotten + FORGET_FROM:
            batch.forget(upto)
            self._forgotten = upto
        folds = list(islice(self._full, FOLDS_MAX))
        self._staged = staged = Staged(tuple(steps), at, self._clock, trims, batch, folds)
        return staged

    def _write(self, staged: Staged) -> None:
        """The rows of what was staged, inside a transaction."""
        self._carry_out(staged.batch.runs())
        for home, law in staged.folds:
            self._fold(home, law)
        counters = staged.batch.counters
        self._do(
            "UPDATE state SET batch = ?, last_at = ?, clock = ?, floor = ?, journal = ?"
            " WHERE one = 1",
            (
                self._batch + 1,
                staged.at,
                _clock_text(staged.clock),
                counters.floor,
                counters.journal,
            ),
        )

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
        for home, law in staged.folds:
            del self._full[home, law]
            self._logs.get(home, {}).pop(law, None)
        for agent in batch.left:
            self._logs.pop(agent, None)
        for home, law in batch.begun:
            self._logs.setdefault(home, {})[law] = 0
        for (home, law), more in batch.ruled.items():
            self._ruled(home, law, more)

    def _ruled(self, home: str, law: str, more: int) -> None:
        """A membership has so many rulings more that are not folded."""
        logs = self._logs.setdefault(home, {})
        count = logs[law] = logs.get(law, 0) + more
        if count >= COMPACT_FROM:
            self._full[home, law] = None

    def _fold(self, home: str, law: str) -> None:
        """Make one base of a membership and its rulings; nothing, if it has ended meanwhile."""
        members = self._members("WHERE home = ? AND law = ?", (home, law), self._ask_inside)
        member = members.get((home, law))
        if member is None or not member.log:
            return
        base = redo(member.base, member.log)
        self._do(
            "UPDATE members SET body = ? WHERE home = ? AND law = ?",
            (guard(encode_snapshot(base)), home, law),
        )
        self._do(
            "DELETE FROM rulings WHERE home = ? AND law = ? AND seq <= ?", (home, law, base.seq)
        )

    @property
    def last_record(self) -> int:
        """The number of the journal's last record."""
        return self._counters.journal

    def keep_records(self, limit: int) -> None:
        """Forget records of the journal past a limit, with the commits that follow."""
        self._keep = limit

    def trim(self, agent: str, number: int) -> None:
        """Forget what was kept for an agent up to a number, with the next commit."""
        self._trims[agent] = max(number, self._trims.get(agent, number))

    def note_clock(self, clock: tuple[int, ...]) -> None:
        """Remember a reading of the machine's clocks, with the next commit."""
        self._clock = clock

    # -- asking --------------------------------------------------------------------------------

    def match(self, space: str, template: Template, limit: int) -> list[Row]:
        """Tuples of a space that a template asks for, oldest first."""
        with self._reading():
            return [
                self._read("tuples", f"in {space}", decode_row, blob)
                for (blob,) in self._question(space, template, check_limit(limit))
            ]

    def journal(self, after: int, limit: int) -> list[Entry]:
        """Records that no segment has yet."""
        with self._reading():
            return [
                Entry(seq, self._read("journal", str(seq), bytes, blob))
                for seq, blob in self._ask(
                    "SELECT seq, body FROM journal WHERE seq > ? ORDER BY seq LIMIT ?",
                    (after, check_limit(limit)),
                )
            ]

    def prune(self, upto: int) -> None:
        """Forget journal records up to a number, in short transactions: commits go between."""
        while True:
            with self._reading():
                found = list(
                    self._ask(
                        "SELECT max(seq), count(*) FROM (SELECT seq FROM journal WHERE seq <= ?"
                        " ORDER BY seq LIMIT ?) AS oldest",
                        (upto, _CHUNK),
                    )
                )
            last, count = found[0]
            if count == 0:
                return
            with self._transaction():
                self._do("DELETE FROM journal WHERE seq <= ?", (last,))

    # -- copying -------------------------------------------------------------------------------

    def dump(self) -> Iterator[Header | Step]:
        """Everything as it was at one moment; ask nothing else of this object meanwhile."""
        with self._reading():
            loaded = self._load()
            beginning = loaded.beginning
            first = self._number("SELECT min(seq) FROM journal")
            sealed = loaded.counters.journal if first is None else first - 1
            numbers = numbers_of(beginning.durable)
            yield Header(beginning.life, beginning.last_at, beginning.clock, sealed, numbers)
            yield Step(tuple(changes_of(beginning.durable)), beginning.outbox)
            for chunk in _chunks(self._ask("SELECT space, body, n FROM tuples ORDER BY n")):
                yield Step(
                    tuple(
                        [
                            TuplePut(space, self._read("tuples", str(n), decode_row, blob))
                            for space, blob, n in chunk
                        ]
                    )
                )
            for chunk in _chunks(self._ask("SELECT seq, body FROM journal ORDER BY seq")):
                records = [self._read("journal", str(seq), bytes, blob) for seq, blob in chunk]
                yield Step(records=tuple(records))

    def found(self, header: Header) -> None:
        """Let an empty store go on from a header."""
        assert self._begun, "a store begins a life before it is filled"
        if self._life > 1 or self._batch:
            raise StoreNotEmpty(where=self.where)
        with self._transaction():
            self._do(
                "UPDATE state SET life = ?, last_at = ?, clock = ?, journal = ? WHERE one = 1",
                (header.life, header.last_at, _clock_text(header.clock), header.journal),
            )
            self._carry_out([("last given", list(header.numbers))])
        self._life = header.life
        self._clock = header.clock
        self._counters.journal = header.journal

    # -- reading a host back -------------------------------------------------------------------

    def _load(self) -> _Loaded:
        durable = Durable()
        found = list(self._ask("SELECT life, batch, last_at, clock, floor, journal FROM state"))
        if len(found) != 1:
            raise StoreDamaged(
                where=self.where, table="state", key="", why=f"it has {len(found)} rows, not 1"
            )
        life, batch, last_at, clock, durable.floor, journal = found[0]
        durable.agents.update(self._ask("SELECT agent, count FROM agents ORDER BY agent"))
        self._load_programs(durable)
        for agent, space, blob in self._ask(
            "SELECT agent, space, body FROM spaces ORDER BY agent, space"
        ):
            opened = self._change("spaces", f"{space} of {agent}", blob)
            durable.spaces[agent, space] = opened
        durable.members = self._members("", (), self._ask)
        for name, book in ((TRANSFERS, durable.transfers), (PARCELS, durable.parcels)):
            self._load_book(name, book)
        for core, n, blob in self._ask("SELECT core, n, body FROM routing ORDER BY core, n"):
            changes = durable.routing.setdefault(core, [])
            if blob is not None:
                changes.append(self._change("routing", f"{core!r} {n}", blob).change)
        for law, blob in self._ask("SELECT hash, body FROM laws ORDER BY hash"):
            durable.laws[law] = self._change("laws", law, blob).text
        outbox = [
            Kept(agent, number, self._read("outbox", f"{number} for {agent}", bytes, blob))
            for agent, number, blob in self._ask(
                "SELECT agent, number, body FROM outbox ORDER BY agent, number"
            )
        ]
        counters = Counters(
            self._number("SELECT max(n) FROM tuples") or 0,
            self._number("SELECT max(n) FROM routing") or 0,
            journal,
            durable.floor,
        )
        read = tuple([int(part) for part in clock.split(",")]) if clock else ()
        return _Loaded(Beginning(life, durable, tuple(outbox), last_at, read), batch, counters)

    def _number(self, sql: str) -> int | None:
        for (number,) in self._ask(sql):
            assert number is None or isinstance(number, int)
            return number
        return None

    def _load_programs(self, durable: Durable) -> None:
        for agent, blob, state in self._ask(
            "SELECT agent, body, state FROM programs ORDER BY agent"
        ):
            bare = self._change("programs", agent, blob)
            kept = self._change("programs", f"{agent}, its state", state)
            durable.programs[agent] = msgspec.structs.replace(bare, state=kept.state)

    def _load_book(self, name: str, book: Book) -> None:
        for peer, given, got in self._ask(
            "SELECT peer, given, got FROM peers WHERE book = ? ORDER BY peer", (name,)
        ):
            if given is not None:
                book.numbers[peer] = given
                book.pending[peer] = {}
            if got is not None:
                book.got[peer] = got
        for peer, number, blob in self._ask(
            "SELECT peer, number, body FROM given WHERE book = ? ORDER BY peer, number", (name,)
        ):
            change = self._change("given", f"{name} {number} to {peer}", blob)
            book.pending.setdefault(peer, {})[number] = change.what

    def _members(
        self, which: str, params: Params, ask: Callable[[str, Params], Iterable[Any]]
    ) -> dict[tuple[str, str], StoredMember]:
        members = {
            (home, law): StoredMember(
                self._read("members", f"{home} under {law}", decode_snapshot, blob)
            )
            for home, law, blob in ask(
                f"SELECT home, law, body FROM members {which} ORDER BY home, law", params
            )
        }
        for home, law, seq, blob in ask(
            f"SELECT home, law, seq, body FROM rulings {which} ORDER BY home, law, seq", params
        ):
            where = f"{seq} of {home} under {law}"
            member = members.get((home, law))
            if member is None:
                raise self._damaged("rulings", where, "its membership is missing")
            # Not `add`, which would fold them: the disk must learn of that too.
            member.log.append(self._read("rulings", where, decode_ruling, blob))
        return members

    def _change(self, table: str, key: str, blob: bytes) -> Any:
        return self._read(table, key, decode_change, blob)

    def _read(self, table: str, key: str, decode: Decode[T], blob: bytes) -> T:
        try:
            return decode(unguard(blob))
        except (Altered, BadRecord) as error:
            raise self._damaged(table, key, error) from None

    def _damaged(self, table: str, key: str, why: object) -> StoreDamaged:
        words = why.why if isinstance(why, BadRecord) else str(why)
        return StoreDamaged(where=self.where, table=table, key=key, why=words)

    # -- looking it over -----------------------------------------------------------------------

    def inspect(self) -> Iterator[Finding]:
        """Everything that cannot be read, and every tuple whose columns are not its fields'."""
        yield from self._inspect_engine()
        for table, sql, decode in _BODIES:
            yield from self._looked(table, partial(self._faults, table, sql, decode))
        yield from self._looked("tuples", self._tuple_faults)
        yield from self._looked("rulings", self._lone_rulings)

    def _looked(self, table: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
        """What is found in a table, which may be too damaged to be read to its end."""
        found: list[Finding] = []
        try:
            with self._reading():
                found.extend(look())
        except StoreDamaged as error:
            found.append(Finding(table, "", error.why))
        return found

    def _lone_rulings(self) -> Iterator[Finding]:
        for home, law in self._ask(
            "SELECT DISTINCT home, law FROM rulings r WHERE NOT EXISTS"
            " (SELECT 1 FROM members m WHERE m.home = r.home AND m.law = r.law)"
        ):
            yield Finding("rulings", f"{home} under {law}", "its membership is missing")

    def _faults(self, table: str, sql: str, decode: Callable[[bytes], object]) -> Iterator[Finding]:
        for *key, blob in self._ask(sql):
            words = " ".join(map(str, key))
            try:
                self._read(table, words, decode, blob)
            except StoreDamaged as error:
                yield Finding(table, words, error.why)

    def _tuple_faults(self) -> Iterator[Finding]:
        names = ", ".join(f"f{i}" for i in range(COLUMNS))
        for n, space, writer, count, arity, *keys, blob in self._ask(
            f"SELECT n, space, writer, count, arity, {names}, body FROM tuples ORDER BY n"
        ):
            words = f"{n} ({count} of {writer} in {space})"
            try:
                row = self._read("tuples", words, decode_row, blob)
            except StoreDamaged as error:
                yield Finding("tuples", words, error.why)
                continue
            columns = self.columns(row.fields)[:COLUMNS]
            if (row.writer, row.count, len(row.fields), *columns) != (writer, count, arity, *keys):
                yield Finding("tuples", words, "its columns do not fit its fields")

    def _unavailable(self, why: str) -> StoreUnavailable:
        return StoreUnavailable(where=self.where, why=why)


def _clock_text(clock: tuple[int, ...]) -> str:
    return ",".join(map(str, clock))


def _chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(rows)
    while chunk := list(islice(source, _CHUNK)):
        yield chunk


_BODIES: Final[tuple[tuple[str, str, Callable[[bytes], object]], ...]] = (
    ("programs", "SELECT agent, body FROM programs ORDER BY agent", decode_change),
    ("programs", "SELECT agent, 'state', state FROM programs ORDER BY agent", decode_change),
    ("spaces", "SELECT agent, space, body FROM spaces ORDER BY agent, space", decode_change),
    ("members", "SELECT home, law, body FROM members ORDER BY home, law", decode_snapshot),
    ("rulings", "SELECT home, law, seq, body FROM rulings ORDER BY home, law, seq", decode_ruling),
    ("given", "SELECT book, peer, number, body FROM given ORDER BY book, peer", decode_change),
    ("routing", "SELECT core, n, body FROM routing WHERE body IS NOT NULL", decode_change),
    ("laws", "SELECT hash, body FROM laws ORDER BY hash", decode_change),
    ("outbox", "SELECT agent, number, body FROM outbox ORDER BY agent, number", bytes),
    ("journal", "SELECT seq, body FROM journal ORDER BY seq", bytes),
)
"""Every table with bodies, its keys, and what reads a body."""
