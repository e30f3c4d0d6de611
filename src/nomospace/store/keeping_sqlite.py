"""Kept tables of a SQLite store: files in a folder beside it, `ward.db.meaning` beside `ward.db`.

Each set is a file of its own, so that questions about different spaces do not wait for each other,
and a damaged file takes no other with it. The store is attached for reading only: SQLite then takes
no lock that its host could meet. A set is first filled with a rollback journal, which writes new
pages once, and then goes over to a write-ahead log, so that questions and changes do not wait for
each other.

A file is ours if it says so (`APPLICATION`, and the version of the layout). A lock on the folder is
shared by those who ask and taken alone by those who remove: no file vanishes under a question, and
no log of a removed file is taken for that of a new one.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.layout import VERSION, Row
from nomospace.store.keeping import SETS_MAX, WAIT_S, KeptDamaged, KeptSet, KeptUnusable, set_name
from nomospace.store.matching_sqlite import SqliteDatabase
from nomospace.store.private import make_file
from nomospace.store.sqlite import SqliteStore

APPLICATION: Final = 0x6E6D6B74
"""What the header of a file of ours says it is of."""
CACHE_KB: Final = 65_536
"""The most memory for pages of a set."""
_LOOK_S: Final = 0.02
"""How often a lock that somebody has is tried."""
_NAME: Final = re.compile(r"[0-9a-f]{32}\.db")
_ENDS: Final = ("", "-wal", "-shm", "-journal")
"""What SQLite puts behind the name of a file for its companions."""
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TROUBLE: Final = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)


class KeptSqlite(SqliteDatabase):
    """A set of tables in a file, with its store attached."""

    host = "host."
    whole_scan = "NOT INDEXED"
    words: Mapping[str, str] = MappingProxyType(
        {"key": "n INTEGER", "blob": "BLOB", "text": "TEXT"}
    )

    def __init__(self, path: Path, store: Path, lock: int) -> None:
        self.where = str(path)
        self._store = store
        self._attached = ""
        self._lock: int | None = lock
        try:
            with suppress(OSError):  # then SQLite will say what is wrong
                make_file(path)
            with self._translated():
                super().__init__(_uri(path, "rwc"), wait_s=WAIT_S)
        except BaseException:
            os.close(lock)
            raise
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """See whose file it is, and attach the store."""
        ((application,),) = self.rows("PRAGMA application_id")
        ((version,),) = self.rows("PRAGMA user_version")
        if (application, version) != (APPLICATION, VERSION) and (
            application or version or self.rows("SELECT 1 FROM sqlite_master LIMIT 1")
        ):
            ours = application == APPLICATION
            raise self._damaged(f"it has version {version}" if ours else "it is some other file")
        self.do(f"PRAGMA cache_size = -{CACHE_KB}")
        self.do("PRAGMA synchronous = NORMAL")
        self._attach()
        if application:
            self.filled()

    def _attach(self) -> None:
        """Have the file that is the store now: one that was exchanged is not the one we had."""
        try:
            found = self._store.stat()
        except OSError as error:
            raise KeptUnusable(where=self.where, why=f"its store: {error.strerror}") from None
        identity = f"{found.st_dev}:{found.st_ino}"
        if identity != self._attached:
            if self._attached:
                self.do("DETACH host")
            self.do("ATTACH ? AS host", (_uri(self._store, "ro"),))
            self._attached = identity

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        """The rows of a query."""
        with self._told() as connection:
            return connection.execute(sql, params).fetchall()

    def do(self, sql: str, params: Sequence[object] = ()) -> None:
        """One statement that gives nothing back."""
        with self._told() as connection:
            connection.execute(sql, params)

    def do_many(self, sql: str, params: Sequence[Sequence[object]]) -> None:
        """One statement for many rows of values."""
        with self._told() as connection:
            connection.executemany(sql, params)

    def snapshot(self) -> None:
        """See one moment."""
        self.end_snapshot()
        self._attach()
        self.do("BEGIN")

    def end_snapshot(self) -> None:
        """Let go of it; nothing was written but temporary tables."""
        if self._connection.in_transaction:
            self.do("ROLLBACK")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A transaction; the store is read only, so it is only the set that is locked."""
        self.do("BEGIN IMMEDIATE")
        try:
            yield
            self.do("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:  # some errors end it
                    self._connection.execute("ROLLBACK")
            raise

    def standing(self) -> list[str]:
        """The names of the tables that the set has."""
        return [name for (name,) in self.rows("SELECT name FROM main.sqlite_master")]

    def found(self) -> None:
        """Mark the file as ours."""
        self.do(f"PRAGMA application_id = {APPLICATION}")
        self.do(f"PRAGMA user_version = {VERSION}")

    def filled(self) -> None:
        """Go over to a log; where somebody has the file open just now, some later one does."""
        with suppress(KeptUnusable):
            self.rows("PRAGMA main.journal_mode = WAL")

    def identity(self) -> str:
        """The number of the store's file."""
        return self._attached

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        with self._translated(), super()._told() as connection:
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            cause = error if isinstance(error, sqlite3.Error) else error.__cause__
            code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
            if code in _DAMAGE:
                raise self._damaged(str(cause)) from error
            if code in _TROUBLE:
                raise KeptUnusable(where=self.where, why=_words(code, str(cause))) from error
            raise

    def _damaged(self, why: str) -> KeptDamaged:
        return KeptDamaged(engine="sqlite", why=why, where=self.where)

    def close(self) -> None:
        """Let go of the file; twice is harmless."""
        super().close()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


class KeptFolder:
    """The sets of one store, in a folder beside it."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store.where
        self._file = store.path.absolute()
        self.path = self._file.with_name(self._file.name + ".meaning")

    def open(self, space: str, ontology: Ontology) -> KeptSqlite:
        """A connection to a set, which may be empty yet."""
        path = self._path_of(space, ontology)
        self._make()
        if not path.exists():
            self._sweep(SETS_MAX - 1)
        lock = self._locked(fcntl.LOCK_SH)
        opened = KeptSqlite(path, self._file, lock)
        with suppress(OSError):  # another's file: then it is not known that it was asked
            os.utime(path)
        return opened

    def discard(self, space: str, ontology: Ontology) -> None:
        """Throw one set away."""
        self._remove([self._path_of(space, ontology)], WAIT_S)

    def sets(self) -> list[KeptSet]:
        """The sets that are kept, the one asked last first."""
        if not self.path.is_dir():
            return []
        return [self._told(path) for path in self._files()]

    def drop(self, space: str | None = None) -> int:
        """Throw sets away; the folder stays, with its lock."""
        if not self.path.is_dir():
            return 0
        chosen = [
            path for path in self._files() if space is None or self._told(path).space == space
        ]
        self._remove(chosen, WAIT_S)
        return len(chosen)

    def _path_of(self, space: str, ontology: Ontology) -> Path:
        return self.path / f"{set_name('', space, ontology)}.db"

    def _make(self) -> None:
        """The folder, for its owner alone: it shows what is in the store."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            owner = self.path.stat().st_uid
            if owner not in (os.geteuid(), self._file.stat().st_uid):
                raise self._unusable(f"the folder belongs to user {owner}")
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None

    def _files(self) -> list[Path]:
        """The files of sets, the one asked last first."""
        found: list[tuple[float, Path]] = []
        for path in sorted(self.path.glob("*.db")):
            if not _NAME.fullmatch(path.name):
                continue  # not of our making, and not ours to remove
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
        return [path for _, path in sorted(found, key=lambda one: -one[0])]

    def _told(self, path: Path) -> KeptSet:
        found = path.stat()
        size = sum(one.stat().st_size for one in _companions(path) if one.exists())
        known = KeptSet(str(path), "", "", 0, size, found.st_mtime)
        lock = self._locked(fcntl.LOCK_SH)
        try:
            opened = KeptSqlite(path, self._file, lock)
        except (KeptDamaged, KeptUnusable) as error:
            return known._replace(trouble=error.why)
        try:
            if "kept_about" not in opened.standing():
                return known._replace(trouble="it was never filled")
            rows = opened.rows("SELECT space, ontology, tuples FROM kept_about")
        except (KeptDamaged, KeptUnusable) as error:
            return known._replace(trouble=error.why)
        finally:
            opened.close()
        for space, ontology, tuples in rows:
            return known._replace(space=space, ontology=ontology, tuples=tuples)
        return known._replace(trouble="it does not say what it is of")

    def _sweep(self, limit: int) -> None:
        """Let the sets that were asked longest ago go; where somebody asks, some other time."""
        old = self._files()[limit:]
        if old:
            with suppress(KeptUnusable):
                self._remove(old, 0.0)

    def _remove(self, paths: Sequence[Path], wait_s: float) -> None:
        lock = self._locked(fcntl.LOCK_EX, wait_s)
        try:
            for path in paths:
                for one in _companions(path):
                    one.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        finally:
            os.close(lock)

    def _locked(self, how: int, wait_s: float = WAIT_S) -> int:
        """The folder's lock, which ends with its file descriptor."""
        until = monotonic() + wait_s
        try:
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        while True:
            try:
                fcntl.flock(lock, how | fcntl.LOCK_NB)
            except OSError as error:
                if not isinstance(error, BlockingIOError) or monotonic() >= until:
                    os.close(lock)
                    raise self._unusable(f"somebody else has had them for {wait_s:g} s") from None
                sleep(_LOOK_S)
            else:
                return lock

    def _unusable(self, why: str) -> KeptUnusable:
        return KeptUnusable(where=str(self.path), why=why)


def _companions(path: Path) -> list[Path]:
    """A file of SQLite and those beside it; the log goes before what it is the log of."""
    return [path.with_name(path.name + end) for end in reversed(_ENDS)]


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"


def _words(code: int, words: str) -> str:
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"somebody else has had them for {WAIT_S:g} s"
    return words
