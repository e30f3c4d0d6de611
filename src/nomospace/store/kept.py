"""Sets of kept tables, opened and brought up to date (`store.keeping` says what they are)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.coding import escaped
from nomospace.meaning.sql.kept import KeptTables, TableCounts
from nomospace.meaning.sql.layout import BYTES, TEXT, WHOLE
from nomospace.store.interface import Store
from nomospace.store.keeping import KeptDamaged, KeptDatabase, KeptPlace, KeptUnusable
from nomospace.store.keeping_sqlite import KeptFolder
from nomospace.store.kept_changes import Changes
from nomospace.store.matching import DatabaseFailed
from nomospace.store.sqlite import SqliteStore
from nomospace.wire.values import unpack_fields

RECOUNT_FROM: Final = 4
"""When the tuples that change are more than one in so many, all is counted anew."""

_ABOUT: Final = """
CREATE TABLE kept_about (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), space TEXT NOT NULL, ontology TEXT NOT NULL,
    stamp TEXT NOT NULL, oldest TEXT NOT NULL, revision BIGINT NOT NULL, tuples BIGINT NOT NULL,
    tally TEXT NOT NULL
)
"""
_ORIGIN: Final = """
CREATE TABLE kept_origin ({key} NOT NULL PRIMARY KEY, sum {blob} NOT NULL, tuple {text} NOT NULL)
"""
_ORIGIN_COLUMNS: Final = (("n", WHOLE), ("sum", BYTES), ("tuple", TEXT))


class _About(msgspec.Struct, frozen=True):
    """What a set says of itself."""

    stamp: str
    """The state of the store that it shows (`_Stamp`); empty before it is filled."""
    oldest: str
    """What was the oldest row of the store's backlog then (`Changes.oldest`)."""
    revision: int
    tally: str


class _Stamp(msgspec.Struct, frozen=True, array_like=True):
    """The state of a store: as long as this is the same, so are its tuples."""

    identity: str
    life: int
    batch: int
    last_at: int
    clock: str
    floor: int
    journal: int


class SpaceKeptTables:
    """The kept tables of one space of a store, brought up to date when they are asked to be.

    `tables` answers questions of the moment of the last `refresh`, until `rest` lets go of it.
    """

    def __init__(self, database: KeptDatabase, ontology: Ontology, space: str, store: str) -> None:
        self._database = database
        self._space = space
        self._ontology = ontology
        self._store = store
        self._revision = -1
        self.tables = KeptTables(ontology, database, unpack_fields)

    @contextmanager
    def asking(self) -> Iterator[KeptTables]:
        """The tables, up to date, for one question or several of the same moment."""
        self.refresh()
        try:
            yield self.tables
        finally:
            self.rest()

    def refresh(self) -> tuple[int, int]:
        """Let the tables show what the store has now; how many tuples came, and how many went.

        Raises `KeptUnusable` where the set cannot be changed, and `KeptDamaged` where it is no set
        of ours; `StoreDamaged` where it is the store that cannot be read.
        """
        database = self._database
        database.snapshot()
        new = "kept_about" not in database.standing()
        behind = new or self._about().stamp != self._stamp()
        database.end_snapshot()
        changed = self._update() if behind else (0, 0)
        if new:
            database.filled()
        database.snapshot()
        self._load(self._about())
        return changed

    def rest(self) -> None:
        """Let go of the moment that is seen: databases clean up behind those who do."""
        self._database.end_snapshot()

    def close(self) -> None:
        """Let go of the database; twice is harmless."""
        self._database.close()

    # -- what the set is -----------------------------------------------------------------------

    def _about(self) -> _About:
        found = self._database.rows(
            "SELECT space, ontology, stamp, oldest, revision, tally FROM kept_about"
        )
        if [row[:2] for row in found] != [(self._space, self._ontology.hash)]:
            raise self._damaged("it is the set of something else")
        return _About(*found[0][2:])

    def _stamp(self) -> str:
        """The state that the store has now."""
        ((*state,),) = self._database.rows(
            "SELECT life, batch, last_at, clock, floor, journal"
            f" FROM {self._database.host}state WHERE one = 1"
        )
        return msgspec.json.encode(_Stamp(self._database.identity(), *state)).decode()

    def _load(self, about: _About) -> None:
        """Take over what the set is now, if somebody has changed it."""
        if about.revision == self._revision:
            return
        try:
            tally = TableCounts.read(about.tally)
        except ValueError:
            raise self._damaged("its tally cannot be read") from None
        self.tables.load(tally, standing=self._database.standing())
        if missing := self.tables.missing:
            raise self._damaged(f"there is no table {missing[0]}")
        self._revision = about.revision

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
            about = self._about()
            if about.stamp:
                self._load(about)
            if about.stamp == stamp:  # somebody else was quicker
                return 0, 0
            changes = Changes(database, self._space, self._store)
            since, oldest = self._shown(about, stamp)
            changes.find(self.tables.tally.tuples, since, oldest)
            self._carry_out(changes)
            changes.end()
            tally = self.tables.tally
            database.do(
                "UPDATE kept_about SET stamp = ?, oldest = ?, revision = ?, tuples = ?, tally = ?",
                (stamp, changes.oldest, about.revision + 1, tally.tuples, tally.text()),
            )
        return changes.came, changes.went

    def _found(self) -> None:
        """Make a set with nothing in it."""
        database = self._database
        database.found()
        database.do(_ABOUT)
        database.do(_ORIGIN.format(**database.words))
        database.do(
            "INSERT INTO kept_about VALUES (1, ?, ?, '', '', 0, 0, '')",
            (self._space, self._ontology.hash),
        )
        self.tables.load(TableCounts(), standing=database.standing())
        self.tables.change()  # the tables that there are whatever the classes

    def _shown(self, about: _About, stamp: str) -> tuple[int, str]:
        """The last commit that the set shows, and the oldest row of the backlog then.

        Of another life of the store nothing is known: its tables catch up when it begins.
        """
        if not about.stamp:
            return 0, ""
        try:
            old, new = (msgspec.json.decode(one, type=_Stamp) for one in (about.stamp, stamp))
        except ValueError:
            raise self._damaged("its state cannot be read") from None
        alike = (old.identity, old.life) == (new.identity, new.life) and old.batch <= new.batch
        return old.batch, about.oldest if alike else ""

    def _carry_out(self, changes: Changes) -> None:
        """Take out what is gone or is other than it was, then put in what is new."""
        tables = self.tables
        few = (changes.came + changes.went) * RECOUNT_FROM <= tables.tally.tuples
        for facts in changes.gone():
            tables.change(gone=facts, count=few)
        for chunk in changes.new():
            facts = [Fact(f"{row.writer}/{row.count}", row.fields) for _, _, row in chunk]
            tables.change(came=facts, count=few)
            rows = [
                (n, total, escaped(fact.id))
                for (n, total, _), fact in zip(chunk, facts, strict=True)
            ]
            self._database.put("kept_origin", _ORIGIN_COLUMNS, rows)
        if not few:
            tables.recount()


def open_kept(
    place: KeptPlace, space: str, ontology: Ontology, say: Callable[[str], None]
) -> SpaceKeptTables:
    """The kept tables of a space, ready to be asked; what is damaged is made anew, and said.

    Raises `KeptUnusable` where tables cannot be kept; temporary ones then give the same answers.
    """
    try:
        try:
            return _opened(place, space, ontology)
        except KeptDamaged as error:
            say(f"the kept tables {error.where} are damaged ({error.why}); they are made anew")
            place.discard(space, ontology)
            return _opened(place, space, ontology)
    except DatabaseFailed as error:
        where = error.where if isinstance(error, KeptDamaged) else f"of {place.store}"
        raise KeptUnusable(where=where, why=error.why) from error


def _opened(place: KeptPlace, space: str, ontology: Ontology) -> SpaceKeptTables:
    database = place.open(space, ontology)
    try:
        kept = SpaceKeptTables(database, ontology, space, place.store)
        kept.refresh()
    except BaseException:
        database.close()
        raise
    return kept


def kept_place(store: Store) -> KeptPlace | None:
    """The place of a store's sets of tables; `None` for a store that has none, in memory.

    >>> from nomospace.store.opening import open_store
    >>> kept_place(open_store("memory"))
    >>> kept_place(open_store("ward.db")).path.name
    'ward.db.meaning'
    """
    if isinstance(store, SqliteStore):
        return KeptFolder(store)
    if type(store).__name__ == "PostgresStore":  # its driver is loaded only where it is needed
        from nomospace.store.keeping_postgres import KeptSchemas
        from nomospace.store.postgres import PostgresStore

        assert isinstance(store, PostgresStore)
        return KeptSchemas(store)
    return None
