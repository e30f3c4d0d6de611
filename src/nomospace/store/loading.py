"""A host's state read back from its tables; what cannot be read is named.

A `StoreReader` asks its questions through a function, so that it reads inside a transaction or
beside it, whatever the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from nomospace.host.changes import Book, Durable, StoredMember
from nomospace.space.tables import FIRST_ORDER
from nomospace.store.backlog import Backlog, decode_part
from nomospace.store.batch import Counters
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
from nomospace.store.schema import Params, SqlRow
from nomospace.wire.changes import BadRecord, decode_change, decode_ruling, decode_snapshot

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


class StoreReader:
    """Reads the tables of a store; `where` is what an operator knows it by."""

    def __init__(self, where: str, ask: QueryRows) -> None:
        self.where = where
        self.ask = ask

    def load(self) -> LoadedState:
        """Everything but the tuples."""
        durable = Durable()
        found = list(
            self.ask("SELECT birth, life, batch, last_at, clock, floor, journal FROM state")
        )
        if len(found) != 1:
            raise StoreDamaged(
                where=self.where, table="state", key="", why=f"it has {len(found)} rows, not 1"
            )
        birth, life, batch, last_at, clock, durable.floor, journal = found[0]
        durable.agents.update(self.ask("SELECT agent, count FROM agents ORDER BY agent"))
        self._load_programs(durable)
        for agent, space, blob in self.ask(
            "SELECT agent, space, body FROM spaces ORDER BY agent, space"
        ):
            opened = self._change("spaces", f"{space} of {agent}", blob)
            durable.spaces[agent, space] = opened
        durable.members = self.members("", ())
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
        outbox = backlog.over_outbox(
            KeptForClient(agent, number, self.read("outbox", f"{number} for {agent}", bytes, blob))
            for agent, number, blob in self.ask(
                "SELECT agent, number, body FROM outbox ORDER BY agent, number"
            )
        )
        counters = Counters(
            self.number(f"SELECT max(n) FROM tuples WHERE n < {FIRST_ORDER}") or 0,
            self.number("SELECT max(n) FROM routing") or 0,
            journal,
            durable.floor,
        )
        read = tuple([int(part) for part in clock.split(",")]) if clock else ()
        rows = list(self.ask("SELECT seq, body FROM journal ORDER BY seq LIMIT 1"))
        forgotten = self.records(*rows[0])[0].seq - 1 if rows else journal
        beginning = Beginning(life, durable, tuple(outbox), last_at, read, birth)
        return LoadedState(beginning, batch, counters, forgotten, backlog)

    def backlog(self) -> Backlog:
        """What the tables do not have yet."""
        backlog = Backlog()
        for n, blob in self.ask("SELECT n, body FROM backlog ORDER BY n"):
            backlog.add(self.read("backlog", str(n), decode_part, blob))
        return backlog

    def number(self, sql: str) -> int | None:
        """The one number that a query gives, if it does."""
        for (number,) in self.ask(sql):
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
                book.pending[peer] = {}
            if got is not None:
                book.got[peer] = got
        for peer, number, blob in self.ask(
            "SELECT peer, number, body FROM given WHERE book = ? ORDER BY peer, number", (name,)
        ):
            change = self._change("given", f"{name} {number} to {peer}", blob)
            book.pending.setdefault(peer, {})[number] = change.what

    def members(
        self, which: str, params: Params, rulings_max: int | None = None
    ) -> dict[tuple[str, str], StoredMember]:
        """Memberships with the rulings that are not folded yet, or the first so many of them."""
        members = {
            (home, law): StoredMember(
                self.read("members", f"{home} under {law}", decode_snapshot, blob)
            )
            for home, law, blob in self.ask(
                f"SELECT home, law, body FROM members {which} ORDER BY home, law", params
            )
        }
        limit = "" if rulings_max is None else f" LIMIT {rulings_max}"
        for home, law, seq, blob in self.ask(
            f"SELECT home, law, seq, body FROM rulings {which} ORDER BY home, law, seq{limit}",
            params,
        ):
            where = f"{seq} of {home} under {law}"
            member = members.get((home, law))
            if member is None:
                raise self.damaged("rulings", where, "its membership is missing")
            # Not `add`, which would fold them: the disk must learn of that too.
            member.log.append(self.read("rulings", where, decode_ruling, blob))
        return members

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
