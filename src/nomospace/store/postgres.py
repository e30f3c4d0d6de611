"""A store in PostgreSQL, for installations that run one anyway.

Each host has a schema of its own. A commit goes out as one pipeline: one round trip, however many
rows it has. `stage` only gathers; `flush` talks to the server.

A connection that breaks during a commit leaves open whether the commit was done. So each one has a
number, written in its own transaction: after connecting again the store looks at the last number,
and what was done is not done twice. What is found done counts when a write after it has reached the
replica too, if the server waits for one (`postgres_servers`).

Every commit carries the life that it belongs to, and the number of the one before it. The server
compares both in the commit's own statement: who has begun a later life, wherever it is, fences off
all who were before it, and an older copy of the database takes nothing (`protocols.lease`).

A lock that the server holds for the session keeps a second host out. A host whose connection broke
takes it again. Processes that stand for one host share the lock, and the row of `lease` says which
of them is active.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from sys import maxsize
from threading import get_ident
from time import monotonic
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import errors, pq, sql

from nomospace.errors import NomospaceError
from nomospace.protocols.lease import (
    Fate,
    LeaseClaim,
    LeaseStand,
    OlderStore,
    TakenOver,
    commit_fate,
)
from nomospace.store import schema
from nomospace.store.converting import POSTGRES_STEPS
from nomospace.store.interface import (
    BadStoreUrl,
    Step,
    StoreDamaged,
    StoreFinding,
    StoreFull,
    StoreInUse,
    StoreLeased,
    StoreTooNew,
)
from nomospace.store.postgres_servers import Servers, Session, shown
from nomospace.store.schema import VERSION, Params, SqlRow
from nomospace.store.sql import SqlStore, Staged

STATEMENT_MS: Final = 60_000
"""How long one statement may take."""
SILENCE_MS: Final = 10_000
"""How long the network may swallow what was sent before the connection counts as broken."""
ASKED_MS: Final = 1_000
"""How long a query of a space may take, by an index: for some its host does nothing meanwhile."""
ASK_AGAIN_S: Final = 1.0
"""A server that was away is not asked again sooner."""
LOCK_MS: Final = 3_000
"""How long a host waits for the one before it to let go of its store."""
LEASE_MS: Final = 1_000
"""How long a look at a lease, or its renewal, may take."""
WRITES: Final = " writes"
"""What the session that a process commits with is called, after the process."""
SCHEMA: Final = "nomospace"
"""The schema of a URL that names none."""

_WORDS: Final = {"int": "BIGINT", "blob": "BYTEA", "lean": ""}
_SQL: Final = {name: statement.replace("?", "%s") for name, statement in schema.STATEMENTS.items()}
_SQL["committed"] = _SQL["committed"].replace(
    " WHERE", ", life = CASE WHEN life = %s AND batch = %s THEN life END WHERE"
)
"""A commit of another life, or after another one than the last, is an error of the server's."""
_LEASE: Final = (
    "SELECT version, life, batch, host, holder, token, beat, hold_us, last_at"
    " FROM state LEFT JOIN lease ON lease.one = state.one"
)
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_CHUNK: Final = 5_000


class PostgresStore(SqlStore):
    """A host's state in a schema of a PostgreSQL database."""

    at_hand = False
    _fenced = True

    def __init__(self, url: str) -> None:
        super().__init__()
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.schema = options.pop("schema", SCHEMA)
        if not _NAME.fullmatch(self.schema):
            raise BadStoreUrl(
                url=shown(url), why="a schema has a name of small letters, digits and _"
            )
        self.database = urlunsplit(parts._replace(query=urlencode(options)))
        """The URL of the database, which others may use too; it may have a password in it."""
        self.servers = Servers(self.database)
        self._lock = _number(self.schema)
        self._writer: Session | None = None
        self._reader: Session | None = None
        self._askers: dict[int, Session] = {}
        """Who asks for rows of spaces, by thread."""
        self._asked_at: dict[int, float] = {}
        """When nobody was there to be asked."""
        self._open_now = False
        self._alone = False
        self._doubt: Staged | None = None
        """A commit of which it is not known whether it was done."""
        self._cursors = count(1)
        self.claim: LeaseClaim | None = None
        """What a process that stands for a host begins its life with."""
        self._leaser: Session | None = None
        self._leasing = False
        machine = socket.gethostname().partition(".")[0][:24]
        self.holder = f"nomospace {machine} {os.getpid()} {secrets.token_hex(4)}"
        """What this process is called in leases, and its sessions at the server."""

    @property
    def where(self) -> str:
        """The URL without its password, and the schema."""
        return f"{shown(self.database)} (schema {self.schema})"

    # -- opening -------------------------------------------------------------------------------

    def _open(self, *, alone: bool) -> None:
        self._open_now = True
        self._alone = self._alone or alone
        with self._told():
            version = self._version(self._write_with())
            if version is not None and version > VERSION:
                raise StoreTooNew(where=self.where, version=version, known=VERSION)
            if version != VERSION:
                writer = self._write_with()
                with writer.transaction():
                    self._do("SELECT pg_advisory_xact_lock(?)", (self._lock ^ 1,))
                    version = self._version(writer)  # another may have been quicker
                    if version is None:
                        self._create()
                    elif version < VERSION:
                        self._bring_up_to_date(version)

    def _version(self, connection: Session) -> int | None:
        """The version of the tables; `None` where there are none."""
        found = connection.execute(
            "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'state'", (self.schema,)
        )
        if not list(found):
            return None
        for (version,) in connection.execute("SELECT version FROM state"):
            return int(version)
        raise self._tables.damaged("state", "", "it has no row")

    def _create(self) -> None:
        writer = self._write_with()
        name = sql.Identifier(self.schema)
        writer.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        self._script(f"{schema.ALL};{schema.LEASE}")
        writer.execute(schema.FIRST_STATE.encode())

    def _bring_up_to_date(self, version: int) -> None:
        for older in range(version, VERSION):
            POSTGRES_STEPS[older](self)
        self._do("UPDATE state SET version = ? WHERE one = 1", (VERSION,))

    def _script(self, text: str) -> None:
        """Statements in the running transaction."""
        for statement in text.format(**_WORDS).split(";"):
            self._write_with().execute(statement.encode())

    def _connected(self, statement_ms: int = STATEMENT_MS) -> Session:
        if not self._open_now:
            raise self._unavailable("it is closed")
        return self.servers.connect(
            writes=self._alone or self._leasing,
            wait_s=(statement_ms + LEASE_MS) / 1000,
            application_name=self.holder,
            options=f"-c statement_timeout={statement_ms} -c search_path={self.schema}",
            tcp_user_timeout=min(SILENCE_MS, 2 * statement_ms),
            keepalives_idle=SILENCE_MS // 1000,
        )

    def _write_with(self) -> Session:
        """The connection to write with; a new one, with the lock, if the last one broke."""
        writer = self._writer
        if writer is not None and not writer.closed:
            return writer
        self._writer = None
        writer = self._connected()
        try:
            if self._alone:
                self._take(writer)
        except BaseException:
            writer.close()
            raise
        self._writer = writer
        return writer

    def _current(self, session: Session | None) -> Session | None:
        """A session that can be used; one from before a failover is let go."""
        if session is None or self.servers.current(session):
            return session
        session.close()
        return None

    def _take(self, writer: Session) -> None:
        """Take the store for this host alone; those who stand for one host share it."""
        try:
            # The session of a host that has just ended may linger.
            writer.execute(f"SET lock_timeout = {LOCK_MS}".encode())
            if self.claim is None:
                writer.execute("SELECT pg_advisory_lock(%s)", (self._lock,))
            else:
                writer.execute("SELECT pg_advisory_lock_shared(%s)", (self._lock,))
                self._take_for_writing(writer)
            got = True
        except errors.LockNotAvailable:
            got = False
        if self._begun and not got:
            raise self._unavailable("the session before this one has not ended yet")
        if not got:
            holder = writer.execute(
                "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)"
                " WHERE locktype = 'advisory' AND granted AND datname = current_database()"
                " AND (classid::bigint << 32 | objid::bigint) = %s LIMIT 1",
                (self._lock,),
            ).fetchone()
            raise StoreInUse(where=self.where, holder=holder[0] if holder else "another host")

    def _take_for_writing(self, writer: Session) -> None:
        """End the session that this process wrote with before: nothing of it is under way now."""
        writer.execute("SELECT set_config('application_name', %s, false)", (self.holder + WRITES,))
        if self._begun:
            writer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND pid <> pg_backend_pid()",
                (self.holder + WRITES,),
            )
        writer.execute("SELECT pg_advisory_lock(%s)", (_number(self.holder),))

    # -- the lease -----------------------------------------------------------------------------

    def look(self) -> LeaseStand:
        """How the store stands, and who has its lease; nothing is made or written."""
        with self._told():
            leaser = self._lease_with()
            try:
                row = leaser.execute(_LEASE.encode()).fetchone()
            except errors.UndefinedTable:  # it is of before there were leases, or not there
                if self._version(leaser) is None:
                    return LeaseStand()
                row = leaser.execute("SELECT version, life, batch, NULL FROM state").fetchone()
        assert row is not None, "it has one row"
        version, life, batch, *lease = row
        if version > VERSION:
            raise StoreTooNew(where=self.where, version=version, known=VERSION)
        return LeaseStand(life, batch, *lease) if lease[0] is not None else LeaseStand(life, batch)

    def renew(self) -> None:
        """Renew the lease of this life; raises `TakenOver`, or `StoreUnavailable`."""
        with self._told():
            leaser = self._lease_with()
            renewed = leaser.execute(
                "UPDATE lease SET beat = beat + 1 WHERE token = %s AND holder = %s",
                (self._life, self.holder),
            )
            self._confirm(leaser)
        if renewed.rowcount != 1:
            self._explain(self.look(), self._batch)

    @property
    def token(self) -> int:
        """What this process commits with."""
        return self._life

    def let_go(self) -> None:
        """Let another have the lease at once."""
        with self._told():
            self._lease_with().execute(
                "UPDATE lease SET holder = '' WHERE token = %s AND holder = %s",
                (self._life, self.holder),
            )

    def _lease_with(self) -> Session:
        leaser = self._current(self._leaser)
        if leaser is None:
            self._open_now = self._leasing = True
            self._leaser = leaser = self._connected(LEASE_MS)
        return leaser

    def _confirm(self, session: Session) -> None:
        """What was committed must have reached the replica; raises `OperationalError`."""
        if session.cancelled:
            self.servers.doubt()
            session.give_up()

    def _begin_life(self) -> None:
        claim = self.claim
        if claim is None:
            for (holder,) in self._ask_inside("SELECT holder FROM lease WHERE holder <> ''"):
                raise StoreLeased(where=self.where, holder=holder)
            super()._begin_life()
            return
        seen = claim.seen
        if seen.holder:
            now = LeaseStand(*next(iter(self._ask_inside(_LEASE)))[1:])
            if (now.token, now.beat) != (seen.token, seen.beat):
                raise TakenOver(token=now.token, mine=seen.token)
            self._do(  # so that what it has under way holds nobody up
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE starts_with(application_name, ?) AND datname = current_database()",
                (seen.holder,),
            )
        counted = self._ask_inside(
            "UPDATE state SET life = life + 1 WHERE one = 1 AND life = ? RETURNING life",
            (seen.token,),
        )
        for (life,) in counted:
            self._life = life
            given = self._ask_inside(
                "INSERT INTO lease (one, host, holder, token, beat, hold_us)"
                " VALUES (1, ?, ?, ?, 1, ?) ON CONFLICT (one) DO UPDATE SET host = excluded.host,"
                " holder = excluded.holder, token = excluded.token, beat = lease.beat + 1,"
                " hold_us = excluded.hold_us WHERE lease.token = ? AND lease.beat = ?"
                " AND lease.holder = ? RETURNING token",
                (
                    *(claim.host, self.holder, life, claim.hold_us),
                    *(seen.leased, seen.beat, seen.holder),
                ),
            )
            if list(given):
                return
        raise TakenOver(token=seen.token + 1, mine=seen.token)

    def _fence(self) -> Params:
        return self._life, self._batch

    def _explain(self, stand: LeaseStand, number: int) -> Fate:
        """What became of a commit; raises `TakenOver` and `OlderStore` when it can never be."""
        fate = commit_fate(stand, self._life, number)
        if fate is Fate.TAKEN_OVER:
            raise TakenOver(token=stand.token, mine=self._life)
        if fate is Fate.OLDER:
            there, known = f"{stand.token}.{stand.number}", f"{self._life}.{number - 1}"
            raise OlderStore(there=there, known=known)
        return fate

    def close(self) -> None:
        """Let go of the schema; what is staged and not flushed is dropped."""
        connections = (self._writer, self._reader, self._leaser, *self._askers.values())
        self._writer = self._reader = self._leaser = None
        self._askers.clear()
        for connection in connections:
            if connection is not None:
                connection.close()
        self._dropped()
        self._begun = self._alone = self._leasing = self._open_now = False
        self._doubt = None

    # -- writing -------------------------------------------------------------------------------

    def stage(self, steps: Sequence[Step], *, at: int, bytes_max: int = maxsize) -> int:
        """Gather these steps; nothing is sent."""
        return len(self._gather(steps, at, bytes_max).steps)

    def flush(self) -> None:
        """Write what was gathered, in one transaction."""
        staged = self._staged
        assert staged is not None, "something is staged before it is flushed"
        left: Staged | None = staged
        try:
            with self._told():
                self._writer = self._current(self._writer)
                writer = self._write_with()
                if self._doubt is not None:
                    left = self._settle(staged)
                if left is not None:
                    self._flush(writer, left)
        except BaseException:
            self._dropped()
            raise
        if left is not None:
            self._kept(left)

    def _flush(self, writer: Session, staged: Staged) -> None:
        try:
            with writer.pipeline(), writer.transaction():
                self._write(staged)
                self._tidy(staged)
            self._confirm(writer)
        except errors.NotNullViolation as error:
            if error.diag.column_name == "life":
                self._explain(self._stand(), self._batch + 1)
            raise
        except psycopg.Error:
            if writer.closed or writer.info.status is not pq.ConnStatus.OK:
                self._doubt = staged
            raise

    def _settle(self, staged: Staged) -> Staged | None:
        """What is left to do of what is staged, now that the server can be asked."""
        doubt = self._doubt
        assert doubt is not None
        with self._confirmed():  # what is found is on the replica too when a write after it is
            self._do("UPDATE state SET batch = batch WHERE one = 1")
        fate = self._explain(self._stand(), self._batch + 1)
        self._doubt = None
        if fate is Fate.OPEN:
            return staged
        known = len(doubt.steps)
        assert all(
            old is new for old, new in zip(doubt.steps, staged.steps[:known], strict=True)
        ), "steps whose fate is unknown are tried again first"
        self._kept(doubt)
        for agent, number in staged.trims.items():  # some may have come since
            self.trim(agent, number)
        rest = staged.steps[known:]
        return self._gather(rest, staged.at, maxsize) if rest else None

    def _stand(self) -> LeaseStand:
        """How the store stands, by the connection that writes."""
        return LeaseStand(*next(iter(self._ask_inside("SELECT life, batch FROM state"))))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        assert self._staged is None, "what is staged has the transaction"
        with self._told(), self._confirmed():
            yield

    @contextmanager
    def _confirmed(self) -> Iterator[None]:
        self._writer = self._current(self._writer)
        writer = self._write_with()
        with writer.transaction():
            yield
        self._confirm(writer)

    def _do(self, sql: str, params: Params = ()) -> None:
        self._write_with().execute(_marked(sql), params)

    def _ask_inside(self, sql: str, params: Params = ()) -> Iterable[SqlRow]:
        return self._write_with().execute(_marked(sql), params, binary=True)

    def _carry_out(self, runs: list[tuple[str, list[Params]]]) -> None:
        with self._write_with().cursor() as cursor:
            for name, rows in runs:
                cursor.executemany(_SQL[name].encode(), rows)

    # -- reading -------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._told():
            reader = self._current(self._reader)
            if reader is None:
                self._reader = reader = self._connected()
            with reader.transaction():
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield

    def _ask(self, sql: str, params: Params = ()) -> Iterator[SqlRow]:
        """Rows come in chunks: there may be more of them than memory for them."""
        assert self._reader is not None
        with self._reader.cursor(f"rows_{next(self._cursors)}") as cursor:
            cursor.itersize = _CHUNK
            cursor.execute(_marked(sql), params, binary=True)
            yield from cursor

    def _ask_beside(self, sql: str, params: Params = ()) -> list[SqlRow]:
        thread = get_ident()
        asker = self._current(self._askers.get(thread))
        if asker is None:
            if monotonic() - self._asked_at.get(thread, -ASK_AGAIN_S) < ASK_AGAIN_S:
                raise self._unavailable("it was away just now")
            self._asked_at[thread] = monotonic()
            with self._told():
                self._askers[thread] = asker = self._connected()
                asker.execute(f"SET statement_timeout = {ASKED_MS}".encode())
        with self._told():
            return asker.execute(_marked(sql), params, binary=True).fetchall()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._translated(error) from error

    def _translated(self, error: psycopg.Error) -> NomospaceError:
        """An error of the server as one of ours; what is neither its disk nor it being away stays.

        A server that is short of anything (class 53), is being stopped (57) or cannot be heard
        (08) may be back later; so may a row that another session has.
        """
        state = error.sqlstate or ""
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        if isinstance(error, errors.DiskFull):
            return StoreFull(where=self.where, why=why)
        if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
            return StoreDamaged(where=self.where, table="the server's files", key="", why=why)
        if (
            state[:2] in ("08", "53", "57")
            or isinstance(error, errors.LockNotAvailable)
            or (not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError))
        ):
            return self._unavailable(why)
        raise error

    def _inspect_engine(self) -> Iterator[StoreFinding]:
        with self._reading():
            names = {
                name
                for (name,) in self._ask(
                    "SELECT tablename FROM pg_tables WHERE schemaname = ?", (self.schema,)
                )
            }
        wanted = re.findall(r"CREATE TABLE (\w+)", schema.ALL.replace("IF NOT EXISTS ", ""))
        return iter(
            [StoreFinding(name, "", "it is missing") for name in wanted if name not in names]
        )


@lru_cache(maxsize=256)
def _marked(statement: str) -> bytes:
    """A statement with the placeholders of psycopg."""
    return statement.replace("?", "%s").encode()


def _number(name: str) -> int:
    """The number of a lock, by its name."""
    told = blake2b(name.encode(), digest_size=8, person=b"nomospace").digest()
    return int.from_bytes(told, "big", signed=True)
