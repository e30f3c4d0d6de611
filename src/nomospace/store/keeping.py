"""Class tables that are kept beside a store, so that a question costs what has changed since.

A set of tables is of one space, in the words of one ontology, laid out in one way (`set_name`). It
is derived from the store and never the other way round: it can be thrown away at any time, what is
damaged or strange is made anew, and whoever cannot keep tables makes temporary ones. The host's own
tables are only read.

| table | a row is |
| --- | --- |
| `kept_about` | the set: of what it is, the store's state that it shows, what is in it (`Tally`) |
| `kept_origin` | a tuple of the store that is in the set: its `n` there, the checksum of its body |
| the others | see `meaning.sql.layout` |

A question brings its set up to date first. The store numbers its commits, so nothing has to be
compared where the number is the same. Else the database compares `kept_origin` with the store's
`tuples`: `n` may be used again after a restart, and a store may be replaced by another of the same
name, but then the checksums differ. What the store has put off (`store.backlog`) is laid over its
tables in Python. Only tuples that are new or gone are read, and written in one transaction together
with the state that the set then shows: who asks meanwhile, or after a crash, sees the set before
or after, and whole.

A question then reads one moment of its set, whatever others write to it. It does not hold on to the
store, whose host would otherwise keep old pages for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias
from zlib import crc32

import msgspec

from nomospace.errors import Unavailable
from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.coding import escaped, unescaped
from nomospace.meaning.sql.kept import KeptTables, Tally
from nomospace.meaning.sql.layout import VERSION, Row
from nomospace.meaning.sql.tables import CHUNK
from nomospace.protocols.spaces import Row as StoredTuple
from nomospace.store.backlog import Backlog, decode_part
from nomospace.store.guarded import Altered, guarded_row
from nomospace.store.loading import Reader
from nomospace.store.matching import Database, DatabaseFailed
from nomospace.wire.changes import BadRecord
from nomospace.wire.packing import Unfit
from nomospace.wire.values import unpack_term

SETS_MAX: Final = 8
"""The most sets that are kept of one store; when there is another, the one asked longest ago
goes."""
WAIT_S: Final = 5.0
"""How long a question waits for another that changes the set, and how long throwing away waits for
questions."""
RECOUNT_FROM: Final = 4
"""When the tuples that change are more than one in so many, all is counted anew."""

Later: TypeAlias = dict[int, tuple[bytes, StoredTuple]]
"""Tuples that the store has put off, by their `n`, each with its checksum."""


@dataclass(eq=False, kw_only=True)
class KeptUnusable(Unavailable):
    """Tables cannot be kept, or those that are kept cannot be used just now."""

    code: ClassVar[str] = "match.kept-unusable"
    where: str
    why: str

    def __str__(self) -> str:
        return (
            f"the kept tables {self.where} cannot be used ({self.why[:500]}); ask again later, or "
            "match with --no-keep"
        )


@dataclass(eq=False, kw_only=True)
class KeptDamaged(DatabaseFailed):
    """A set of kept tables is not what nomospace has left there; it has to be made anew."""

    code: ClassVar[str] = "match.kept-damaged"
    where: str

    def __str__(self) -> str:
        return (
            f"the kept tables {self.where} are damaged ({self.why[:500]}); throw them away with "
            "`nomospace kept STORE --drop`: they are made anew from the store"
        )


class KeptSet(NamedTuple):
    """A set of tables that is kept, as an operator sees it."""

    where: str
    space: str
    ontology: str
    """The hash of the ontology."""
    tuples: int
    bytes: int
    asked: float
    """When a question was last asked of it, in seconds since 1970."""
    damage: str = ""
    """Why it cannot be read; then nothing else but its place and size is known."""


class KeptDatabase(Database, Protocol):
    """A connection to a set of tables and to the store that they are of."""

    where: str
    """The set as an operator knows it."""
    host: str
    """What stands before the names of the store's tables."""
    whole_scan: str
    """Said of the store's tuples where most of them are asked for."""
    words: Mapping[str, str]
    """What it calls things in the statements that make tables: `key`, `blob`, `text`."""

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query; `?` is a value."""

    def do(self, sql: str, params: Sequence[Any] = ()) -> None:
        """One statement that gives nothing back."""

    def do_many(self, sql: str, params: Sequence[Sequence[Any]]) -> None:
        """One statement for many rows of values."""

    def snapshot(self) -> None:
        """From here on one moment is seen, which begins at the first look; one before ends."""

    def end_snapshot(self) -> None:
        """Let go of the moment that is seen."""

    def alone(self) -> AbstractContextManager[None]:
        """A transaction that nobody else changes the set in; waits at most `WAIT_S`."""

    def standing(self) -> list[str]:
        """The names of the tables that the set has."""

    def found(self) -> None:
        """Mark an empty place as a set of ours, in the transaction that fills it."""

    def filled(self) -> None:
        """A set that was made is in place: prepare it for many questions."""

    def identity(self) -> str:
        """What tells the store from another of the same name, as far as that is cheap to tell."""


class KeptPlace(Protocol):
    """Where the sets of one store are."""

    store: str
    """The store as an operator knows it."""

    def open(self, space: str, ontology: Ontology) -> KeptDatabase:
        """A connection to a set, which may be empty yet; raises `KeptUnusable`, `KeptDamaged`."""

    def discard(self, space: str, ontology: Ontology) -> None:
        """Throw one set away, whatever is in its place; raises `KeptUnusable`."""

    def sets(self) -> list[KeptSet]:
        """The sets that are kept, the one asked last first."""

    def drop(self, space: str | None = None) -> int:
        """Throw sets away, all or those of a space; how many. Raises `KeptUnusable`."""


def open_kept(place: KeptPlace, space: str, ontology: Ontology, say: Callable[[str], None]) -> Kept:
    """The kept tables of a space, ready to be asked; what is damaged is made anew, and said.

    Raises `KeptUnusable` where tables cannot be kept; temporary ones then give the same answers.
    """
    try:
        return _opened(place, space, ontology)
    except KeptDamaged as error:
        say(f"the kept tables {error.where} are damaged ({error.why}); they are made anew")
        place.discard(space, ontology)
    try:
        return _opened(place, space, ontology)
    except KeptDamaged as error:
        raise KeptUnusable(where=error.where, why=error.why) from error


def _opened(place: KeptPlace, space: str, ontology: Ontology) -> Kept:
    database = place.open(space, ontology)
    try:
        kept = Kept(database, ontology, space, place.store)
        kept.refresh()
    except BaseException as error:
        database.close()
        if isinstance(error, DatabaseFailed) and not isinstance(error, KeptDamaged):
            raise KeptUnusable(where=database.where, why=error.why) from error
        raise
    return kept


def set_name(store: str, space: str, ontology: Ontology) -> str:
    """A name for a set of tables: another space, ontology or layout has another.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> set_name("", "jobs", PLAIN) == set_name("", "cars", PLAIN)
    False
    """
    # What is renamed in classes that the ontology does not declare is not in its hash.
    renames = sorted((name, sorted(pairs.items())) for name, pairs in ontology.renames.items())
    told = msgspec.json.encode([store, space, ontology.hash, renames, VERSION])
    return blake2b(told, digest_size=16, person=b"kept tables").hexdigest()


_ABOUT: Final = """
CREATE TABLE kept_about (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), space TEXT NOT NULL, ontology TEXT NOT NULL,
    stamp TEXT NOT NULL, revision BIGINT NOT NULL, tuples BIGINT NOT NULL, tally TEXT NOT NULL
)
"""
_ORIGIN: Final = """
CREATE TABLE kept_origin ({key} NOT NULL PRIMARY KEY, sum {blob} NOT NULL, tuple {text} NOT NULL)
"""
_TEMPORARY: Final = (
    "CREATE TEMPORARY TABLE kept_late (writer TEXT NOT NULL, count BIGINT NOT NULL)",
    "CREATE TEMPORARY TABLE kept_hidden ({key} NOT NULL PRIMARY KEY)",
    "CREATE TEMPORARY TABLE kept_later ({key} NOT NULL PRIMARY KEY, sum {blob} NOT NULL)",
    "CREATE TEMPORARY TABLE kept_fresh ({key} NOT NULL PRIMARY KEY)",
    "CREATE TEMPORARY TABLE kept_stale ({key} NOT NULL PRIMARY KEY)",
)
_SUM: Final = "substr(t.body, length(t.body) - 3)"
"""The checksum of a body (`store.guarded`)."""


class Kept:
    """The kept tables of one space of a store, brought up to date when they are asked to be.

    `tables` answers questions of the moment of the last `refresh`, until `rest` lets go of it.
    """

    def __init__(self, database: KeptDatabase, ontology: Ontology, space: str, store: str) -> None:
        self._database = database
        self._space = space
        self._ontology = ontology
        self._store = store
        self._revision = -1
        self.tables = KeptTables(ontology, database, unpack_term)

    @contextmanager
    def asking(self) -> Iterator[KeptTables]:
        """The tables, up to date, for one question or several of the same moment."""
        self.refresh()
        try:
            yield self.tables
        finally:
            self.rest()

    def rest(self) -> None:
        """Let go of the moment that is seen: databases clean up behind those who do."""
        self._database.end_snapshot()

    def close(self) -> None:
        """Let go of the database; twice is harmless."""
        self._database.close()

    def refresh(self) -> tuple[int, int]:
        """Let the tables show what the store has now; how many tuples came, and how many went.

        Raises `KeptUnusable` where the set cannot be changed, and `KeptDamaged` where it is no set
        of ours; `StoreDamaged` where it is the store that cannot be read.
        """
        database = self._database
        database.snapshot()
        new = "kept_about" not in database.standing()
        behind = new or self._about()[0] != self._stamp()
        database.end_snapshot()
        changed = self._update() if behind else (0, 0)
        if new:
            database.filled()
        database.snapshot()
        self._load()
        return changed

    # -- what the set is -----------------------------------------------------------------------

    def _about(self) -> tuple[str, int, str]:
        """The stamp, the revision and the tally that the set has."""
        found = self._database.rows(
            "SELECT space, ontology, stamp, revision, tally FROM kept_about"
        )
        if [row[:2] for row in found] != [(self._space, self._ontology.hash)]:
            raise self._damaged("it is the set of something else")
        _, _, stamp, revision, tally = found[0]
        return stamp, revision, tally

    def _stamp(self) -> str:
        """The state of the store: as long as this is the same, so are its tuples."""
        host = self._database.host
        found = self._database.rows(
            f"SELECT life, batch, last_at, clock, floor, journal FROM {host}state"
        )
        return msgspec.json.encode([self._database.identity(), *found]).decode()

    def _load(self) -> None:
        """Take over what the set is now, if somebody has changed it."""
        _, revision, text = self._about()
        if revision == self._revision:
            return
        try:
            tally = Tally.read(text)
        except ValueError:
            raise self._damaged("its tally cannot be read") from None
        self.tables.load(tally, standing=self._database.standing())
        if missing := self.tables.missing:
            raise self._damaged(f"there is no table {missing[0]}")
        self._revision = revision

    def _damaged(self, why: str) -> KeptDamaged:
        return KeptDamaged(engine=self._database.dialect.name, why=why, where=self._database.where)

    # -- bringing it up to date ----------------------------------------------------------------

    def _update(self) -> tuple[int, int]:
        """All that has changed, in one transaction."""
        database = self._database
        self._revision = -1  # whatever happens, what is at hand is not what is there
        with database.alone():
            stamp = self._stamp()
            if "kept_about" not in database.standing():
                self._found()
                told, revision = "", 0
            else:
                told, revision, _ = self._about()
                self._load()
            if told == stamp:  # somebody else was quicker
                return 0, 0
            for statement in _TEMPORARY:
                database.do(statement.format(**database.words))
            later = self._put_off()
            changed = self._change(later)
            for statement in _TEMPORARY:
                database.do(f"DROP TABLE {statement.split()[3]}")
            tally = self.tables.tally
            database.do(
                "UPDATE kept_about SET stamp = ?, revision = ?, tuples = ?, tally = ?",
                (stamp, revision + 1, tally.tuples, tally.text()),
            )
        return changed

    def _found(self) -> None:
        database = self._database
        database.found()
        database.do(_ABOUT)
        database.do(_ORIGIN.format(**database.words))
        database.do(
            "INSERT INTO kept_about VALUES (1, ?, ?, '', 0, 0, '')",
            (self._space, self._ontology.hash),
        )
        self.tables.load(Tally(), standing=database.standing())
        self.tables.change()  # the tables that there are whatever the classes

    def _put_off(self) -> Later:
        """Lay the store's backlog over its tables: some rows are hidden, others come later."""
        database, reader = self._database, self._reader
        backlog = Backlog()
        for n, blob in database.rows(f"SELECT n, body FROM {database.host}backlog ORDER BY n"):
            backlog.add(reader.read("backlog", str(n), decode_part, blob))
        gone, puts = backlog.of_space(self._space)
        keys = dict.fromkeys([*gone, *puts])
        database.do_many("INSERT INTO kept_late VALUES (?, ?)", [key[1:] for key in keys])
        places = {
            (self._space, writer, count): n
            for writer, count, n in database.rows(
                f"SELECT l.writer, l.count, t.n FROM kept_late l JOIN {database.host}tuples t"
                " ON t.space = ? AND t.writer = l.writer AND t.count = l.count",
                (self._space,),
            )
        }
        database.do_many("INSERT INTO kept_hidden VALUES (?)", [(n,) for n in places.values()])
        for key in gone:
            places.pop(key, None)
        later: Later = {}
        for key, (place, row, body) in puts.items():  # one that is replaced keeps its place
            later[places.get(key, place)] = crc32(body).to_bytes(4, "little"), row
        rows = [(n, total) for n, (total, _) in later.items()]
        database.do_many("INSERT INTO kept_later VALUES (?, ?)", rows)
        return later

    def _change(self, later: Later) -> tuple[int, int]:
        """Take out what is gone or is other than it was, then put in what is new."""
        database, tables, there = self._database, self.tables, self.tables.tally.tuples
        host, params = database.host, (self._space,)
        ((low, high),) = database.rows(f"SELECT min(n), max(n) FROM {host}tuples")
        scan = database.whole_scan if low and there * 4 > high - low else ""
        database.do(
            f"INSERT INTO kept_fresh SELECT t.n FROM {host}tuples t {scan}"
            f" LEFT JOIN kept_origin o ON o.n = t.n AND o.sum = {_SUM}"
            " WHERE t.space = ? AND o.n IS NULL AND t.n NOT IN (SELECT n FROM kept_hidden)",
            params,
        )
        database.do(
            "INSERT INTO kept_stale SELECT o.n FROM kept_origin o WHERE NOT EXISTS"
            f" (SELECT 1 FROM {host}tuples t WHERE t.n = o.n AND t.space = ? AND {_SUM} = o.sum"
            " AND t.n NOT IN (SELECT n FROM kept_hidden))"
            " AND NOT EXISTS (SELECT 1 FROM kept_later l WHERE l.n = o.n AND l.sum = o.sum)",
            params,
        )
        late = database.rows(
            "SELECT l.n FROM kept_later l LEFT JOIN kept_origin o ON o.n = l.n AND o.sum = l.sum"
            " WHERE o.n IS NULL ORDER BY l.n"
        )
        (((stale,),), ((fresh,),)) = (
            database.rows(f"SELECT count(*) FROM {name}") for name in ("kept_stale", "kept_fresh")
        )
        came = fresh + len(late)
        few = (stale + came) * RECOUNT_FROM <= there
        left = stale
        for facts in self._gone():
            tables.change(gone=facts, count=few)
            left -= len(facts)
        if left:
            raise self._damaged(f"{left} of its tuples are missing")
        database.do("DELETE FROM kept_origin WHERE n IN (SELECT n FROM kept_stale)")
        listed = iter([(n, *later[n]) for (n,) in late])
        for chunk in self._came(listed):
            facts = [Fact(f"{row.writer}/{row.count}", row.fields) for _, _, row in chunk]
            tables.change(came=facts, count=few)
            database.put(
                "kept_origin",
                (("n", ""), ("sum", ""), ("tuple", "")),
                [
                    (n, total, escaped(fact.id))
                    for (n, total, _), fact in zip(chunk, facts, strict=True)
                ],
            )
        if not few:
            tables.recount()
        return came, stale

    def _gone(self) -> Iterator[list[Fact]]:
        """The tuples that are to be taken out, as the set has them, chunk by chunk."""
        after = -1
        while rows := self._database.rows(
            "SELECT s.n, w.tuple, w.body FROM kept_stale s JOIN kept_origin o ON o.n = s.n"
            " JOIN tuples w ON w.tuple = o.tuple WHERE s.n > ? ORDER BY s.n LIMIT ?",
            (after, CHUNK),
        ):
            after = rows[-1][0]
            try:
                yield [Fact(unescaped(one), unpack_term(bytes(body))) for _, one, body in rows]
            except Unfit as error:
                raise self._damaged(f"a tuple cannot be read: {error}") from None

    def _came(
        self, late: Iterator[tuple[int, bytes, StoredTuple]]
    ) -> Iterator[list[tuple[int, bytes, StoredTuple]]]:
        """The tuples that are to be put in, as the store has them, chunk by chunk."""
        after = -1
        while rows := self._database.rows(
            f"SELECT f.n, t.body FROM kept_fresh f JOIN {self._database.host}tuples t ON t.n = f.n"
            " WHERE f.n > ? ORDER BY f.n LIMIT ?",
            (after, CHUNK),
        ):
            after = rows[-1][0]
            chunk: list[tuple[int, bytes, StoredTuple]] = []
            for n, blob in rows:
                try:
                    chunk.append((n, bytes(blob[-4:]), guarded_row(blob)))
                except (Altered, BadRecord) as error:
                    raise self._reader.damaged("tuples", str(n), error) from None
            yield chunk
        while chunk := list(islice(late, CHUNK)):
            yield chunk

    @property
    def _reader(self) -> Reader:
        return Reader(self._store, lambda sql, params=(): self._database.rows(sql, params))
