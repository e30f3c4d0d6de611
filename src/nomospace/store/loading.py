"""A host's state read back from its tables; what cannot be read is named.

A `StoreReader` asks its questions through a function, so that it reads inside a transaction or
beside it, whatever the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from nomospace.control import Ruling, Snapshot
from nomospace.host.changes import Durable, StoredMember
from nomospace.protocols.transfers import Book
from nomospace.space.records import BAND, FIRST_ORDER, LEAST_ORDER, arrival
from nomospace.store.backlog import Backlog, decode_part
from nomospace.store.batch import Counters, MemberLog
from nomospace.store.bundles import unbundle
from nomospace.store.guarded import Altered, unguard
from nomospace.store.interface import (
    HELD,
    PARCELS,
    TRANSFERS,
    Beginning,
    JournalEntry,
    KeptForClient,
    StoreDamaged,
)
from nomospace.store.journal import EventRecord, decode_record
from nomospace.store.schema import Params, SqlRow
from nomospace.wire.changes import BadRecord, decode_change, decode_ruling, decode_snapshot
from nomospace.wire.rulings import read_recorded

T = TypeVar("T")


class QueryRows(Protocol):
    """Gives the rows of a query."""

    def __call__(self, sql: str, params: Params = ()) -> Iterable[SqlRow]:
        """The rows."""


class LoadedState(NamedTuple):
    """What is on disk, but for the tuples."""

    beginning: Beginning
    batch: int
    counters: Counters
    forgotten: int
    """The last record that the journal does not have any more."""
    backlog: Backlog
    """What the table of tuples does not have yet; pushes are in the beginning, all of them."""
    logs: dict[tuple[str, str], MemberLog]
    """Where the rulings that are not folded into their memberships are."""


class Unfolded(NamedTuple):
    """A membership, and the oldest rulings that are not folded into it."""

    base: Snapshot
    log: list[Ruling]
    records: list[int]
    """Where those of them are that the journal has."""


class StoreReader:
    """Reads the tables of a store; `where` is what an operator knows it by."""

    def __init__(self, where: str, ask: QueryRows) -> None:
        self.where = where
        self.ask = ask

    def load(self) -> LoadedState:
        """Everything but the tuples."""
        durable = Durable()
        found = list(
            self.ask("SELECT birth, life, batch, last_at, clock, floor, journal, needed FROM state")
        )
        if len(found) != 1:
            raise StoreDamaged(
                where=self.where, table="state", key="", why=f"it has {len(found)} rows, not 1"
            )
        birth, life, batch, last_at, clock, durable.floor, journal, needed = found[0]
        durable.agents.update(self.ask("SELECT agent, count FROM agents ORDER BY agent"))
        self._load_programs(durable)
        for agent, space, blob in self.ask(
            "SELECT agent, space, body FROM spaces ORDER BY agent, space"
        ):
            opened = self._change("spaces", f"{space} of {agent}", blob)
            durable.spaces[agent, space] = opened
        durable.members, logs = self.members(needed)
        books = {TRANSFERS: durable.transfers, PARCELS: durable.parcels, HELD: durable.held}
        for name, book in books.items():
            self._load_book(name, book)
        for peer, its, own in self.ask("SELECT peer, birth, own FROM births ORDER BY peer"):
            durable.births[peer] = (its, own)
        for core, n, blob in self.ask("SELECT core, n, body FROM routing ORDER BY core, n"):
            changes = durable.routing.setdefault(core, [])
            if blob is not None:
                changes.append(self._change("routing", f"{core!r} {n}", blob).change)
        for law, blob in self.ask("SELECT hash, body FROM laws ORDER BY hash"):
            durable.apply(self._change("laws", law, blob))
        backlog = self.backlog()
        for agent, count in backlog.counts.items():
            if durable.agents.get(agent, count) < count:
                durable.agents[agent] = count
        for name, number in backlog.small.items():
            durable.small[name] = b"%d" % number
        outbox = backlog.over_outbox(
            KeptForClient(agent, number, self.read("outbox", f"{number} for {agent}", bytes, blob))
            for agent, number, blob in self.ask(
                "SELECT agent, number, body FROM outbox ORDER BY agent, number"
            )
        )
        counters = Counters(
            self.number("SELECT max(n) FROM tuples") or 0,
            self.number("SELECT max(n) FROM routing") or 0,
            journal,
            durable.floor,
            self.last_stored(),
        )
        read = tuple([int(part) for part in clock.split(",")]) if clock else ()
        rows = list(self.ask("SELECT seq, body FROM journal ORDER BY seq LIMIT 1"))
        forgotten = self.records(*rows[0])[0].seq - 1 if rows else journal
        beginning = Beginning(life, durable, tuple(outbox), last_at, read, birth)
        return LoadedState(beginning, batch, counters, forgotten, backlog, logs)

    def backlog(self) -> Backlog:
        """What the tables do not have yet."""
        backlog = Backlog()
        for n, blob in self.ask("SELECT n, body FROM backlog ORDER BY n"):
            backlog.add(self.read("backlog", str(n), decode_part, blob))
        return backlog

    def last_stored(self) -> int:
        """The last arrival of a tuple of the store engine; `FIRST_ORDER` when there is none.

        The first row of each band of priority says it, from the top down.
        """
        last = FIRST_ORDER
        for (space,) in list(self.ask("SELECT DISTINCT space FROM blocks")):
            below, sql = 2 * FIRST_ORDER, "SELECT max(n) FROM stored WHERE space = ? AND n < ?"
            while (top := self.number(sql, (space, below)) or 0) > LEAST_ORDER:
                last, below = max(last, arrival(top)), top // BAND * BAND
        return last

    def number(self, sql: str, params: Params = ()) -> int | None:
        """The one number that a query gives, if it does."""
        for (number,) in self.ask(sql, params):
            assert number is None or isinstance(number, int)
            return number
        return None

    def _load_programs(self, durable: Durable) -> None:
        for agent, blob, state in self.ask(
            "SELECT agent, body, state FROM programs ORDER BY agent"
        ):
            bare = self._change("programs", agent, blob)
            kept = self._change("programs", f"{agent}, its state", state)
            durable.programs[agent] = msgspec.structs.replace(bare, state=kept.state)

    def _load_book(self, name: str, book: Book) -> None:
        for peer, given, got in self.ask(
            "SELECT peer, given, got FROM peers WHERE book = ? ORDER BY peer", (name,)
        ):
            if given is not None:
                book.numbers[peer] = given
                book.waiting[peer] = {}
            if got is not None:
                book.placed[peer] = got
        for peer, number, blob in self.ask(
            "SELECT peer, number, body FROM given WHERE book = ? ORDER BY peer, number", (name,)
        ):
            change = self._change("given", f"{name} {number} to {peer}", blob)
            book.waiting.setdefault(peer, {})[number] = change.what

    def members(
        self, needed: int
    ) -> tuple[dict[tuple[str, str], StoredMember], dict[tuple[str, str], MemberLog]]:
        """Memberships with the rulings that are not folded yet, and where those are.

        No record of the journal before `needed` is among them.
        """
        members: dict[tuple[str, str], StoredMember] = {}
        logs: dict[tuple[str, str], MemberLog] = {}
        begun: dict[tuple[str, str], int] = {}
        for home, law, blob, since in self.ask(
            "SELECT home, law, body, since FROM members ORDER BY home, law"
        ):
            base = self.read("members", f"{home} under {law}", decode_snapshot, blob)
            members[home, law] = StoredMember(base)
            logs[home, law] = MemberLog()
            begun[home, law] = since
        for home, law, seq, blob in self.ask(
            "SELECT home, law, seq, body FROM rulings ORDER BY home, law, seq"
        ):
            where = f"{seq} of {home} under {law}"
            if (home, law) not in members:
                raise self.damaged("rulings", where, "its membership is missing")
            # Not `add`, which would fold them: the disk must learn of that too.
            members[home, law].log.append(self.read("rulings", where, decode_ruling, blob))
            logs[home, law].plain += 1
        for row in self.ask("SELECT seq, body FROM journal WHERE seq >= ? ORDER BY seq", (needed,)):
            for entry in self.records(*row):
                body = self._ruling_body(entry) if entry.seq >= needed else b""
                if not body:
                    continue
                ruled = self._of_journal(entry.seq, read_recorded, body)
                key = (ruled.home, ruled.law)
                if begun.get(key, entry.seq) < entry.seq:
                    ruling = self._of_journal(entry.seq, decode_ruling, body)
                    members[key].log.append(ruling)
                    logs[key].records.append(entry.seq)
        for key, member in members.items():
            if logs[key].records:
                member.log = self._in_order(member.base, member.log)
                if len(member.log) < len(logs[key]):
                    where = "{} under {}".format(*key)
                    lost = (member.log[-1] if member.log else member.base).seq + 1
                    raise self.damaged("members", where, f"its ruling {lost} is missing")
        return members, logs

    def unfolded(self, home: str, law: str, log: MemberLog, most: int) -> Unfolded | None:
        """A membership and the first so many rulings of it; `None` if it is not there."""
        key = (home, law)
        for blob, since in self.ask(
            "SELECT body, since FROM members WHERE home = ? AND law = ?", key
        ):
            base = self.read("members", f"{home} under {law}", decode_snapshot, blob)
            plain = [
                self.read("rulings", f"{seq} of {home} under {law}", decode_ruling, body)
                for seq, body in self.ask(
                    "SELECT seq, body FROM rulings WHERE home = ? AND law = ? ORDER BY seq LIMIT ?",
                    (*key, most),
                )
            ]
            told = self._told([number for number in log.records[:most] if number > since])
            found = self._in_order(base, plain + list(told.values()))[:most]
            upto = found[-1].seq if found else 0
            return Unfolded(base, found, [n for n, ruling in told.items() if ruling.seq <= upto])
        return None

    def _in_order(self, base: Snapshot, rulings: list[Ruling]) -> list[Ruling]:
        """The rulings that follow a membership, as far as none is missing."""
        found: list[Ruling] = []
        for number, ruling in enumerate(sorted(rulings, key=attrgetter("seq")), base.seq + 1):
            if ruling.seq != number:
                break
            found.append(ruling)
        return found

    def _told(self, numbers: list[int]) -> dict[int, Ruling]:
        """The rulings that some records of the journal tell of."""
        told: dict[int, Ruling] = {}
        for number in numbers:
            if number in told:
                continue
            row: list[JournalEntry] = []
            for seq, blob in self.ask(
                "SELECT seq, body FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1", (number,)
            ):
                row = self.records(seq, blob)
            wanted = set(numbers)
            for entry in row:
                if entry.seq in wanted:
                    body = self._ruling_body(entry)
                    told[entry.seq] = self._of_journal(entry.seq, decode_ruling, body)
            if number not in told:
                raise self.damaged("journal", str(number), "a ruling is missing")
        return told

    def _ruling_body(self, entry: JournalEntry) -> bytes:
        """The ruling in a record of the journal, as bytes; none, if it tells of something else."""
        record = self._of_journal(entry.seq, decode_record, entry.record)
        return record.body if isinstance(record, EventRecord) else b""

    def _of_journal(self, seq: int, decode: Callable[[bytes], T], body: bytes) -> T:
        try:
            return decode(body)
        except BadRecord as error:
            raise self.damaged("journal", str(seq), error) from None

    def _change(self, table: str, key: str, blob: bytes) -> Any:
        return self.read(table, key, decode_change, blob)

    def read(self, table: str, key: str, decode: Callable[[bytes], T], blob: bytes) -> T:
        """The body of a row; raises `StoreDamaged` with its table and key."""
        try:
            return decode(unguard(blob))
        except (Altered, BadRecord) as error:
            raise self.damaged(table, key, error) from None

    def records(self, seq: int, blob: bytes) -> list[JournalEntry]:
        """The records of a row of the journal; raises `StoreDamaged`."""
        try:
            return unbundle(seq, unguard(blob))
        except (Altered, msgspec.MsgspecError) as error:
            raise self.damaged("journal", str(seq), error) from None

    def damaged(self, table: str, key: str, why: object) -> StoreDamaged:
        """The error that names what is damaged."""
        words = why.why if isinstance(why, BadRecord) else str(why)
        return StoreDamaged(where=self.where, table=table, key=key, why=words)
