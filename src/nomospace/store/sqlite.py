"""A store in a file: SQLite in WAL mode with full sync, the default.

A commit is one transaction and one sync of the log, however many steps it has. Readers (backups,
the sealing of journal segments, `nomospace journal`) work beside the host without holding it up.
When the tables catch up, one statement has hundreds of rows: the interpreter's lock is let go once
a statement, and a thread that took it again after every row would wait for it after every row.

A lock file beside the database, held by the kernel for as long as the process lives, keeps a
second host out and says who the first one is.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from sys import maxsize
from typing import Final, cast

from nomospace.errors import NomospaceError
from nomospace.protocols.pair import ACTIVE, RESTORED, StorePaired
from nomospace.store import schema
from nomospace.store.backlog import by_writer
from nomospace.store.blocks import SIZES
from nomospace.store.checkpoints import Checkpoints
from nomospace.store.converting import SQLITE_STEPS
from nomospace.store.interface import (
    Step,
    StoreDamaged,
    StoreFinding,
    StoreFull,
    StoreInUse,
    StoreTooNew,
)
from nomospace.store.private import make_file, make_folder
from nomospace.store.schema import VERSION, Params, SqlRow, TupleKey
from nomospace.store.sql import SqlStore
from nomospace.store.sums import PageSums, SumsDamaged
from nomospace.store.wal import LogRead, examine

SMALLEST_PAGE: Final = 512
PAGE: Final = 4_096
"""The size of pages of a store that is made."""
LOG_BYTES_KEPT: Final = 64 << 20
"""A log that has grown longer is cut to this when it begins anew."""
BUSY_S: Final = 5.0
"""How long one writer waits for another; the others' transactions are short."""
CACHE_KB: Final = 8_192
"""The most memory for pages of the writer, and of questions about spaces of the store engine."""
STORED_CACHE_KB: Final = 65_536
"""The writer's, once it was asked about such spaces. To catch up with them it changes some
ten thousand pages, which would be written out and read again where they do not fit."""
_WORDS: Final = {"int": "INTEGER", "blob": "BLOB", "lean": "WITHOUT ROWID", "maybe": ""}


class SqliteStore(SqlStore):
    """A host's state in one file.

    >>> import tempfile
    >>> from nomospace.host.changes import AgentCame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         store = SqliteStore(Path(folder) / "ward.db")
    ...         beginning = store.begin()
    ...         print(beginning.life, beginning.durable.agents)
    ...         store.commit([Step((AgentCame("ann@ward", 3),))], at=17)
    ...         store.close()
    1 {}
    2 {'ann@ward': 3}
    """

    hints = True

    def __init__(self, path: Path | str) -> None:
        super().__init__()
        self.path = Path(path)
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._asker: sqlite3.Connection | None = None
        self._lock: int | None = None
        self._sums = PageSums(self.path)
        self._checkpoints = Checkpoints(self.path, self._sums, self._connected)
        self._wrong: list[int] = []
        """Pages that are not what was written."""
        self._older = False
        """Whether an earlier version has written it."""
        self.paired = False
        """Whether it is opened as one of two (`store.paired`)."""
        self.untidy = False
        self._stores = False
        """Whether a space of the store engine was asked for something."""
        self._asks = False
        """Whether the writer has a transaction in which it is asked, until it writes: to end one
        after each question would take longer than to answer it."""

    @property
    def where(self) -> str:
        """The path of the file."""
        return str(self.path)

    # -- opening -------------------------------------------------------------------------------

    def _open(self, *, alone: bool) -> None:
        if alone:
            self._take()
        if self._writer is not None:
            return
        if alone:
            self._check_pages()
        with self._told():
            for end in ("", "-wal", "-shm"):  # SQLite gives the new ones the mode of the first
                file = self.path.with_name(self.path.name + end)
                if not end or file.exists():
                    with suppress(OSError):  # then SQLite will say what is wrong
                        make_file(file)
            self._writer = writer = self._connected()
            writer.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a file that is new
            writer.execute("PRAGMA journal_mode = WAL")
            writer.execute(f"PRAGMA journal_size_limit = {LOG_BYTES_KEPT}")
            writer.execute("PRAGMA synchronous = FULL")
            # Some builds write each page anew that nothing lies on any more, to have zeros there.
            writer.execute("PRAGMA secure_delete = FAST")
            writer.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            self._reader = self._connected()
            version = self._version()
        if version is None or version < VERSION:
            held = self._lock is not None
            self._take()
            if len(self._wrong) == 1:  # it says an earlier version, and is not what was written
                self._tell_wrong()
            self._bring_up_to_date(version)
            self._older = version is not None
            if not held:
                self._release()
        elif version > VERSION:
            raise StoreTooNew(where=self.where, version=version, known=VERSION)
        if alone and not self.paired:
            for host, role, by_itself in self._standing():
                if role != ACTIVE or not by_itself:
                    self.close()
                    raise StorePaired(where=self.where, host=host, role=role)
                self.fenced = True

    def _check_pages(self) -> None:
        """Look at the log and the file before SQLite does; raises `StoreDamaged`.

        SQLite would pass over commits that were synced, and believe what pages say.
        """
        beside = self.path.with_name(self.path.name + "-wal")
        head = log = b""
        with suppress(OSError):  # most often there is no log
            with self.path.open("rb") as file:
                head = file.read(18)
            log = beside.read_bytes()
        page = int.from_bytes(head[16:18], "big")
        page = 65_536 if page == 1 else max(page, SMALLEST_PAGE) if head else PAGE
        read = examine(log, page) if head else LogRead()
        if read.damaged:
            why = "its checksum does not fit, and commits follow; restore a backup"
            key = f"frame {read.damaged}"
            raise StoreDamaged(where=self.where, table="the log", key=key, why=why)
        try:
            self._wrong = self._sums.open(read.pages, page)
        except SumsDamaged as error:
            why = f"{error}; look at the store with `nomospace doctor`, then remove the file"
            raise StoreDamaged(
                where=self.where, table=self._sums.path.name, key="", why=why
            ) from None
        except OSError as error:
            raise self._of_os(error) from None

    def _begin_life(self) -> None:
        """Count one life more; not on pages that are not what was written."""
        life = self._tables.number("SELECT life FROM state") or 0
        # An earlier version, which knows nothing of checksums, may have had it meanwhile.
        older = self._older or (len(self._wrong) > 1 and life > self._sums.life)
        if self._wrong and not older:
            self._tell_wrong()
        try:
            self._sums.begin(life + 1, anew=bool(self._wrong))
        except OSError as error:
            raise self._of_os(error) from None
        super()._begin_life()

    def _tell_wrong(self) -> None:
        """Say what is damaged: by its row if that can be told, else by its page."""
        for found in self.inspect():
            raise StoreDamaged(where=self.where, table=found.table, key=found.key, why=found.what)
        why = (
            "it is not what was written; restore a backup, or remove the file "
            f"{self._sums.path.name} if another program has changed the store"
        )
        key = f"page {self._wrong[0]}"
        raise StoreDamaged(where=self.where, table="the file", key=key, why=why)

    def _let_go(self) -> None:
        """Have checksums of all pages that SQLite moves when the last connection is closed."""
        with suppress(NomospaceError):
            try:
                if frames := self._checkpoints.frames()[0]:
                    self._take()  # unless its host has it, who sees to it
                    self._sums.note(frames)
            except OSError:  # the disk is full, and SQLite moves them all the same
                self._sums.path.unlink(missing_ok=True)

    def _connected(self) -> sqlite3.Connection:
        made = sqlite3.connect(
            self.path,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,  # `stage` and `flush` take turns in two threads
            cached_statements=256,
        )
        made.execute("PRAGMA wal_autocheckpoint = 0")  # first: what SQLite moves has no checksums
        return made

    def _standing(self) -> list[SqlRow]:
        """Whose it is, what it is of two, and whether it does without the other; if it is."""
        if not list(self._ask("SELECT 1 FROM sqlite_master WHERE name = 'standing'")):
            return []
        return list(self._ask("SELECT host, role, alone FROM standing"))

    def _pair_of(self) -> str:
        return next((host for host, *_ in self._standing()), "")

    def _restored(self, host: str) -> None:
        self._script(schema.STANDING)
        self._do(schema.FIRST_STANDING, (host, RESTORED))

    def _version(self) -> int | None:
        """The version of the tables; `None` where there are none."""
        names = [name for (name,) in self._ask("SELECT name FROM sqlite_master")]
        if not names:
            return None
        if "state" not in names:
            raise self._tables.damaged(
                "state", "", "it is missing: the file is some other database"
            )
        for (version,) in self._ask("SELECT version FROM state"):
            if isinstance(version, int):
                return version
        raise self._tables.damaged("state", "", "it has no row with a version")

    def _bring_up_to_date(self, version: int | None) -> None:
        with self._transaction():
            if version is None:
                self._script(schema.ALL)
                self._do(schema.FIRST_STATE)
                return
            for older in range(version, VERSION):
                SQLITE_STEPS[older](self)
            self._do("UPDATE state SET version = ? WHERE one = 1", (VERSION,))

    def _script(self, text: str) -> None:
        """Statements in the running transaction, which `executescript` would end."""
        for statement in text.format(**_WORDS).split(";"):
            self._do(statement)

    def _take(self) -> None:
        """Take the store for this process alone."""
        if self._lock is not None:
            return
        beside = self.path.with_name(self.path.name + ".lock")
        try:
            make_folder(self.path.parent)
            lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._of_os(error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
            os.close(lock)
            raise StoreInUse(
                where=self.where, holder=f"process {holder}" if holder else "a process"
            ) from None
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(lock)
            raise self._of_os(error) from None
        self._lock = lock

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(OSError):
                os.ftruncate(lock, 0)
            os.close(lock)

    def close(self) -> None:
        """Let go of the file; what is staged and not flushed is dropped.

        The tables catch up, if they can: other tools know nothing of a backlog.
        """
        if self._begun and self._staged is None:
            with suppress(NomospaceError, sqlite3.Error), self._transaction():
                self._catch_up_inside()
        self._checkpoints.disconnect()
        if self._writer is not None:
            self._let_go()
        connections = (self._writer, self._reader, self._asker)
        self._stores = self._asks = self.untidy = False
        self._writer = self._reader = self._asker = None
        for connection in connections:
            if connection is not None:
                connection.close()
        self._checkpoints.close()
        self._release()
        self._dropped()
        self._begun = False

    # -- writing -------------------------------------------------------------------------------

    def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
        """Write these steps in one transaction, which `flush` ends."""
        staged = self._gather(steps, at, bytes_max)
        try:
            if self._writer is None:
                raise self._unavailable("it is closed")
            if self._asks:
                self._asked()
            self._writer.execute("BEGIN IMMEDIATE")
            self._write(staged)
        except sqlite3.Error as error:
            self._roll_back()
            raise self._translated(error) from error
        except BaseException:
            self._roll_back()
            raise
        return len(staged.steps)

    def flush(self) -> None:
        """End the transaction, and wait for the disk."""
        staged, writer = self._staged, self._writer
        assert staged is not None, "something is staged before it is flushed"
        assert writer is not None, "it was staged with it"
        try:
            if staged.folds or staged.late is not None or staged.wanted is not None:
                self._tidy(staged)
            writer.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise self._translated(error) from error
        except BaseException:
            self._roll_back()
            raise
        self.untidy = self._checkpoints.due()  # first: from `_kept` on the writer may be asked
        self._kept(staged)

    def tidy(self) -> None:
        """See that pages move out of the log, when there are many."""
        if self.untidy:
            self._checkpoints.go_on(self._write_with)
            self.untidy = False

    def _roll_back(self) -> None:
        self._forget_pages()
        self._dropped()

    def _forget_pages(self) -> None:
        """End the writer's transaction after an error; pages that it has read may be wrong."""
        self._asks = False
        if self._writer is None:
            return
        if self._writer.in_transaction:  # some errors end it
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
        with suppress(sqlite3.Error):
            self._writer.execute("PRAGMA shrink_memory")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        assert self._staged is None, "what is staged has the transaction"
        with self._told():
            self._asked()
            self._write_with.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._write_with.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        if self._checkpoints.due():
            self._checkpoints.go_on(self._write_with)

    def _asked(self) -> None:
        """The writer is asked nothing more for now."""
        if self._asks:
            self._asks = False
            if self._write_with.in_transaction:
                self._write_with.execute("COMMIT")

    @property
    def _write_with(self) -> sqlite3.Connection:
        if self._writer is None:
            raise self._unavailable("it is closed")
        return self._writer

    def _do(self, sql: str, params: Params = ()) -> None:
        self._write_with.execute(sql, params)

    def _ask_inside(self, sql: str, params: Params = ()) -> Iterable[SqlRow]:
        return self._write_with.execute(sql, params)

    def _carry_out(self, runs: list[tuple[str, list[Params]]]) -> None:
        assert self._writer is not None, "it has begun a transaction"
        for name, rows in runs:
            self._writer.executemany(schema.STATEMENTS[name], rows)

    def _carry_out_many(self, runs: list[tuple[str, list[Params]]]) -> None:
        write = self._write_with
        for name, rows in runs:
            widened = _WIDE.get(name)
            if widened is None:
                write.executemany(schema.STATEMENTS[name], rows)
                continue
            if name == "tuple gone":
                rows = self._delete_gone(cast("list[TupleKey]", rows))
            at = 0
            for size, statement in widened.items():
                while len(rows) - at >= size:
                    write.execute(statement, tuple(chain.from_iterable(rows[at : at + size])))
                    at += size

    def _delete_gone(self, gone: list[TupleKey]) -> list[Params]:
        """Delete tuples of a writer that are many; gives the others."""
        write, rest = self._write_with, list[Params]()
        for key, counts in by_writer(gone).items():
            at = 0
            for size, statement in _GONE_OF_WRITER.items():
                while len(counts) - at >= size:
                    write.execute(statement, (*key, *counts[at : at + size]))
                    at += size
            rest += [(*key, count) for count in counts[at:]]
        return rest

    # -- reading -------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[None]:
        reader = self._reader
        if reader is None:
            raise self._unavailable("it is closed")
        with self._told():
            if not reader.in_transaction:  # else it has stood still since `pin`
                reader.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):  # it was closed meanwhile
                    reader.execute("ROLLBACK")  # nothing was written

    def hold(self) -> None:
        """Let nobody commit until `let_go`; for a cut through several stores (`cut`)."""
        assert self._writer is not None, "it is attached"
        with self._told():
            self._writer.execute("BEGIN IMMEDIATE")

    def pin(self) -> None:
        """Have the next `dump` show the store as it is now."""
        assert self._reader is not None, "it is attached"
        self._reader.execute("BEGIN")
        self._reader.execute("SELECT one FROM state").fetchone()

    def let_go(self) -> None:
        assert self._writer is not None, "it is attached"
        self._writer.execute("ROLLBACK")

    def _ask(self, sql: str, params: Params = ()) -> Iterable[SqlRow]:
        assert self._reader is not None
        return self._reader.execute(sql, params)

    def _ask_beside(self, sql: str, params: Params = ()) -> list[SqlRow]:
        if self._writer is None:
            raise self._unavailable("it is closed")
        if self._staged is None and not self.untidy:  # it has no transaction, and pages at hand
            try:
                if not self._stores:
                    self._stores = True
                    self._writer.execute(f"PRAGMA cache_size = -{STORED_CACHE_KB}")
                if not self._asks:
                    self._asks = True
                    self._writer.execute("BEGIN")
                return self._writer.execute(sql, params).fetchall()
            except sqlite3.Error as error:
                self._forget_pages()
                raise self._translated(error) from error
        asker = self._asker
        try:
            if asker is None:
                self._asker = asker = self._connected()
                asker.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            return asker.execute(sql, params).fetchall()
        except sqlite3.Error as error:
            self._asker = None  # it would remember pages that were wrong
            if asker is not None:
                asker.close()
            raise self._translated(error) from error

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._translated(error) from error
        except UnicodeDecodeError as error:  # in what SQLite says of names that are altered
            raise StoreDamaged(where=self.where, table="the file", key="", why=str(error)) from None

    def _translated(self, error: sqlite3.Error) -> NomospaceError:
        """An error of SQLite as one of ours; what is neither disk nor file is a bug, and stays."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return StoreFull(where=self.where, why=str(error))
        altered = _ALTERED.match(str(error)) is not None
        if altered or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreDamaged(where=self.where, table="the file", key="", why=str(error))
        if code in _PASSING:
            return self._unavailable(str(error))
        raise error

    def _of_os(self, error: OSError) -> NomospaceError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return StoreFull(where=self.where, why=error.strerror or str(error))
        return self._unavailable(error.strerror or str(error))

    def _inspect_engine(self) -> Iterator[StoreFinding]:
        try:
            found = [str(line) for (line,) in self._ask("PRAGMA quick_check(100)")]
        except sqlite3.Error as error:
            found = [str(error)]
        return iter([StoreFinding("the file", "", line) for line in found if line != "ok"])


_ALTERED: Final = re.compile("no such|Could not decode to UTF-8|malformed")
"""What SQLite says of names and texts that are not those which were written."""
_PASSING: Final = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
)
"""Errors that may pass, or that an operator mends while the host waits."""


def _wide(name: str) -> dict[int, str]:
    """A statement that puts a row, for many rows, by how many."""
    head, _, rest = schema.STATEMENTS[name].partition(" VALUES (")
    row, _, tail = rest.partition(")")
    return {size: f"{head} VALUES {', '.join([f'({row})'] * size)}{tail}" for size in SIZES}


_GONE: Final = (
    "DELETE FROM tuples WHERE n IN (SELECT t.n FROM (VALUES {}) g CROSS JOIN tuples t"
    " ON t.space = g.column1 AND t.writer = g.column2 AND t.count = g.column3)"
)
"""A comparison with a list of rows would not use the index."""
_GONE_OF_WRITER: Final = {
    size: "DELETE FROM tuples WHERE space = ? AND writer = ? AND count IN"
    f" ({', '.join('?' * size)})"
    for size in SIZES
    if size > 1
}
"""One with a list of numbers does, and takes half as long."""
_WIDE: Final = {
    "kept": _wide("kept"),
    "tuple gone": {size: _GONE.format(", ".join(["(?, ?, ?)"] * size)) for size in SIZES},
    "tuple put": _wide("tuple put"),
    "tuple stored": _wide("tuple stored"),
}
"""Statements that take many rows at once, by name and by how many; the longest first."""
