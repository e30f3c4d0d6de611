"""What a store has other than a set of kept tables, found without reading what is the same.

The set remembers of each tuple its `n` in the store and the checksum of its body (`kept_origin`).
The database compares both with the store's `tuples` and `stored`. Either alone would not do: `n`
may be used again after a restart, and another store may have taken the place of the one that was
read. What the store has put off (`store.backlog`) is laid over its tables in Python: those rows are
hidden, and what takes their place comes later.

Mostly there is a shorter way. The backlog is emptied whenever the tables catch up, and not
otherwise. So while its oldest row is still the one that was there when the set was last brought up
to date, the tables have not been touched since, and all that can have changed is in the rows that
came after: nothing else is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias
from zlib import crc32

from nomospace.meaning.facts import Fact
from nomospace.meaning.sql.coding import unescaped
from nomospace.meaning.sql.tables import CHUNK
from nomospace.protocols.spaces import Row
from nomospace.store.backlog import Backlog, CommitPart, decode_part
from nomospace.store.guarded import Altered, guarded_row
from nomospace.store.keeping import KeptDamaged, KeptDatabase
from nomospace.store.loading import StoreReader
from nomospace.store.schema import StoredKey, TupleKey
from nomospace.wire.changes import BadRecord
from nomospace.wire.packing import Unfit
from nomospace.wire.values import unpack_fields

Origin: TypeAlias = tuple[int, bytes, Row]
"""A tuple of the store: its `n`, the checksum of its body, and itself."""

_TEMPORARY: Final = (
    "CREATE TEMPORARY TABLE kept_late (writer TEXT NOT NULL, count BIGINT NOT NULL)",
    "CREATE TEMPORARY TABLE kept_hidden ({key} NOT NULL PRIMARY KEY)",
    "CREATE TEMPORARY TABLE kept_later ({key} NOT NULL PRIMARY KEY, sum {blob} NOT NULL)",
    "CREATE TEMPORARY TABLE kept_near ({key} NOT NULL PRIMARY KEY)",
    "CREATE TEMPORARY TABLE kept_fresh ({key} NOT NULL PRIMARY KEY)",
    "CREATE TEMPORARY TABLE kept_stale ({key} NOT NULL PRIMARY KEY)",
)
_SUM: Final = "substr(t.body, length(t.body) - 3)"
"""The checksum of a body (`store.guarded`)."""


class Changes:
    """What has changed, worked out inside the transaction that changes the set.

    `near` tells where to look: tuples of commits after `since`, if the oldest row of the backlog is
    still `oldest`. Where that is not so, everything is compared.
    """

    def __init__(self, database: KeptDatabase, space: str, store: str) -> None:
        self._database = database
        self._space = space
        self._reader = StoreReader(store, lambda sql, params=(): database.rows(sql, params))
        self._later: dict[int, tuple[bytes, Row]] = {}
        self._late: list[int] = []
        self.oldest = ""
        """The oldest row of the store's backlog, by its number and checksum; empty: it has none."""
        self.came = 0
        self.went = 0
        """How many tuples are new, and how many are gone; one that is another is both."""

    def find(self, there: int, since: int, oldest: str) -> None:
        """Work it out, for a set that has so many tuples and knows a commit and its backlog."""
        database = self._database
        for statement in _TEMPORARY:
            database.do(statement.format(**database.words))
        near = self._put_off(since, oldest)
        late = database.rows(
            "SELECT l.n FROM kept_later l LEFT JOIN kept_origin o ON o.n = l.n AND o.sum = l.sum"
            " WHERE o.n IS NULL ORDER BY l.n"
        )
        self._late = [n for (n,) in late]
        self.came = len(late)
        if near is None:
            self._compare_all(there)
        else:
            self._compare(near)
        self.went = self._number("SELECT count(*) FROM kept_stale")

    def end(self) -> None:
        """Leave nothing behind but what was changed."""
        for statement in _TEMPORARY:
            self._database.do(f"DROP TABLE {statement.split()[3]}")

    # -- comparing -----------------------------------------------------------------------------

    def _put_off(self, since: int, oldest: str) -> list[int] | None:
        """Lay the store's backlog over its tables; gives where to look, or `None`: everywhere."""
        parts = self._parts()
        backlog = Backlog()
        for _, part in parts:
            backlog.add(part)
        gone, puts = backlog.of_space(self._space)
        found = self._places(dict.fromkeys([*gone, *puts]))
        hidden = [*found.values(), *self._orders(backlog.left)]
        self._database.do_many("INSERT INTO kept_hidden VALUES (?)", [(n,) for n in hidden])
        left = dict(found)
        for key in gone:
            left.pop(key, None)
        for key, (place, row, body) in puts.items():  # one that is replaced keeps its place
            self._later[left.get(key, place)] = crc32(body).to_bytes(4, "little"), row
        for n in self._orders(backlog.lying):
            row, body = backlog.lying[self._space, n]
            self._later[n] = crc32(body).to_bytes(4, "little"), row
        self._database.do_many(
            "INSERT INTO kept_later VALUES (?, ?)",
            [(n, total) for n, (total, _) in self._later.items()],
        )
        if not oldest or oldest != self.oldest:
            return None
        touched = {key for n, part in parts if n > since for key in (*part.gone, *part.puts)}
        near = [n for key, n in found.items() if key in touched]
        for _, part in parts:
            near += [place for key, (place, _, _) in part.puts.items() if key in touched]
        for n, part in parts:
            if n > since:
                near += self._orders((*part.left, *part.lying))
        return near

    def _orders(self, keys: Iterable[StoredKey]) -> list[int]:
        """The orders of those that are in this space."""
        return [n for space, n in keys if space == self._space]

    def _parts(self) -> list[tuple[int, CommitPart]]:
        parts: list[tuple[int, CommitPart]] = []
        for n, blob in self._database.rows(
            f"SELECT n, body FROM {self._database.host}backlog ORDER BY n"
        ):
            if not parts:
                self.oldest = f"{n} {bytes(blob[-4:]).hex()}"
            parts.append((n, self._reader.read("backlog", str(n), decode_part, blob)))
        return parts

    def _places(self, keys: dict[TupleKey, None]) -> dict[TupleKey, int]:
        """The places that tuples have in the store's table, if they have one there."""
        database, space = self._database, self._space
        database.do_many("INSERT INTO kept_late VALUES (?, ?)", [key[1:] for key in keys])
        found = database.rows(
            f"SELECT l.writer, l.count, t.n FROM kept_late l JOIN {database.host}tuples t"
            " ON t.space = ? AND t.writer = l.writer AND t.count = l.count",
            (space,),
        )
        return {(space, writer, count): n for writer, count, n in found}

    def _compare(self, near: list[int]) -> None:
        """Look at a few places only, which are all in the backlog: none is new in the table."""
        places = [(n,) for n in dict.fromkeys(near)]
        self._database.do_many("INSERT INTO kept_near VALUES (?)", places)
        self._database.do(
            "INSERT INTO kept_stale SELECT o.n FROM kept_origin o"
            " WHERE o.n IN (SELECT n FROM kept_near)"
            " AND NOT EXISTS (SELECT 1 FROM kept_later l WHERE l.n = o.n AND l.sum = o.sum)"
        )

    def _compare_all(self, there: int) -> None:
        """Compare everything; where most of the store is asked for, in the order it stands in."""
        database, host, params = self._database, self._database.host, (self._space,)
        low, high = (self._number(f"SELECT {end}(n) FROM {host}tuples") for end in ("min", "max"))
        scan = database.whole_scan if there * 4 > high - low else ""
        for table in (f"tuples t {scan}", "stored t"):
            database.do(
                f"INSERT INTO kept_fresh SELECT t.n FROM {host}{table}"
                f" LEFT JOIN kept_origin o ON o.n = t.n AND o.sum = {_SUM}"
                " WHERE t.space = ? AND o.n IS NULL AND t.n NOT IN (SELECT n FROM kept_hidden)",
                params,
            )
        fresh = self._number("SELECT count(*) FROM kept_fresh")
        self.came += fresh
        # What is not new is in the set. If that is all that the set has, nothing is gone.
        held = sum(
            self._number(f"SELECT count(*) FROM {host}{table} t WHERE t.space = ?", params)
            for table in ("tuples", "stored")
        )
        hidden = self._number("SELECT count(*) FROM kept_hidden")
        if held - hidden - fresh + len(self._later) - len(self._late) == there:
            return
        database.do(
            "INSERT INTO kept_stale SELECT o.n FROM kept_origin o WHERE "
            + " AND ".join(
                f"NOT EXISTS (SELECT 1 FROM {host}{table} t WHERE t.n = o.n AND t.space = ?"
                f" AND {_SUM} = o.sum AND t.n NOT IN (SELECT n FROM kept_hidden))"
                for table in ("tuples", "stored")
            )
            + " AND NOT EXISTS (SELECT 1 FROM kept_later l WHERE l.n = o.n AND l.sum = o.sum)",
            (*params, *params),
        )

    def _number(self, sql: str, params: tuple[str, ...] = ()) -> int:
        ((number,),) = self._database.rows(sql, params)
        return number or 0

    # -- what was found ------------------------------------------------------------------------

    def gone(self) -> Iterator[list[Fact]]:
        """The tuples that are to be taken out, as the set has them, chunk by chunk."""
        after = -1
        left = self.went
        while rows := self._database.rows(
            "SELECT s.n, w.tuple, w.body FROM kept_stale s JOIN kept_origin o ON o.n = s.n"
            " JOIN tuples w ON w.tuple = o.tuple WHERE s.n > ? ORDER BY s.n LIMIT ?",
            (after, CHUNK),
        ):
            after = rows[-1][0]
            left -= len(rows)
            try:
                yield [Fact(unescaped(one), unpack_fields(bytes(body))) for _, one, body in rows]
            except Unfit as error:
                raise self._damaged(f"a tuple cannot be read: {error}") from None
        if left:
            raise self._damaged(f"{left} of its tuples are missing")
        self._database.do("DELETE FROM kept_origin WHERE n IN (SELECT n FROM kept_stale)")

    def new(self) -> Iterator[list[Origin]]:
        """The tuples that are to be put in, as the store has them, chunk by chunk."""
        after = -1
        host = self._database.host
        while rows := self._database.rows(
            f"SELECT f.n, coalesce(t.body, s.body) FROM kept_fresh f"
            f" LEFT JOIN {host}tuples t ON t.n = f.n"
            f" LEFT JOIN {host}stored s ON s.space = ? AND s.n = f.n"
            " WHERE f.n > ? ORDER BY f.n LIMIT ?",
            (self._space, after, CHUNK),
        ):
            after = rows[-1][0]
            chunk: list[Origin] = []
            for n, blob in rows:
                try:
                    chunk.append((n, bytes(blob[-4:]), guarded_row(blob)))
                except (Altered, BadRecord) as error:
                    raise self._reader.damaged("tuples", str(n), error) from None
            yield chunk
        late = iter([(n, *self._later[n]) for n in self._late])
        while chunk := list(islice(late, CHUNK)):
            yield chunk

    def _damaged(self, why: str) -> KeptDamaged:
        database = self._database
        return KeptDamaged(engine=database.dialect.name, why=why, where=database.where)
