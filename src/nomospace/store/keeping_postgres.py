"""Kept tables of a PostgreSQL store: schemas of their own in the store's database.

A set is a schema `nomospace_meaning_…`. A comment on it says that it is ours, and of which store: a
schema without one is somebody else's, and is left alone. It is filled, changed and dropped in
transactions, as the database does with tables and schemas as with rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Final

import msgspec
from psycopg import errors, pq, sql

from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.layout import VERSION, Row
from nomospace.store.keeping import SETS_MAX, WAIT_S, KeptDamaged, KeptSet, KeptUnusable, set_name
from nomospace.store.matching import DatabaseFailed
from nomospace.store.matching_postgres import PostgresDatabase
from nomospace.store.postgres import PostgresStore

PREFIX: Final = "nomospace_meaning_"
_NAME: Final = re.compile(f"{PREFIX}[0-9a-f]{{32}}")
_DAMAGE: Final = (
    errors.UndefinedTable,
    errors.UndefinedColumn,
    errors.DataCorrupted,
    errors.IndexCorrupted,
)
_OURS: Final = """
SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace
WHERE left(nspname, ?) = ? ORDER BY nspname
"""


class _Mark(msgspec.Struct, frozen=True):
    """What the comment on a schema says."""

    nomospace: str
    store: str
    space: str
    ontology: str


class KeptPostgres(PostgresDatabase):
    """A session that sees a set of tables; with no name, it only looks at what sets there are."""

    whole_scan = ""
    words: Mapping[str, str] = MappingProxyType(
        {"key": "n BIGINT", "blob": "BYTEA", "text": 'TEXT COLLATE "C"'}
    )

    def __init__(self, store: PostgresStore, name: str = "", mark: _Mark | None = None) -> None:
        self.where = f"{store.where.partition(' (')[0]} (schema {name or PREFIX})"
        self._name = name
        self._mark = mark
        self._of = store.schema
        self.host = f'"{store.schema}".'
        super().__init__(store.database)
        try:
            self.do(f"SET lock_timeout = {int(WAIT_S * 1000)}")
            if name:
                self.do(f'SET search_path = "{name}"')
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        """The rows of a query."""
        with self._told():
            return self._connection.execute(_marked(sql), params or None, binary=True).fetchall()

    def do(self, sql: str, params: Sequence[object] = ()) -> None:
        """One statement that gives nothing back."""
        with self._told():
            self._connection.execute(_marked(sql), params or None)

    def do_many(self, sql: str, params: Sequence[Sequence[object]]) -> None:
        """One statement for many rows of values."""
        with self._told(), self._connection.cursor() as cursor:
            cursor.executemany(_marked(sql), params)

    def snapshot(self) -> None:
        """See one moment."""
        self.end_snapshot()
        self.do("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def end_snapshot(self) -> None:
        """Let go of it; nothing was written but temporary tables."""
        if self._connection.info.transaction_status != pq.TransactionStatus.IDLE:
            self.do("ROLLBACK")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A transaction. What it sees begins behind the lock, not before it was waited for."""
        there = self.standing()
        self.do("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            if there:
                self.do("LOCK TABLE kept_about IN EXCLUSIVE MODE")
            yield
            self.do("COMMIT")
        except BaseException:
            with suppress(DatabaseFailed, KeptUnusable):
                self.end_snapshot()
            raise

    def standing(self) -> list[str]:
        """The names of the tables that the set has."""
        found = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = ?", (self._name,))
        return [name for (name,) in found]

    def found(self) -> None:
        """Make the schema, and say whose it is."""
        comment = sql.Literal(msgspec.json.encode(self._mark).decode())
        name = sql.Identifier(self._name)
        with self._told():
            run = self._connection.execute
            run(sql.SQL("CREATE SCHEMA {}").format(name))
            run(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(name, comment))
            run(b"CREATE TABLE kept_asked (at TIMESTAMPTZ NOT NULL)")
            run(b"INSERT INTO kept_asked VALUES (now())")

    def filled(self) -> None:
        """Let the planner know what is in the tables."""
        with suppress(DatabaseFailed, KeptUnusable):
            for name in self.standing():
                self.do(f'ANALYZE "{name}"')

    def identity(self) -> str:
        """The number of the store's table, which one that is made anew does not have."""
        ((found,),) = self.rows(f"SELECT '{self.host}tuples'::regclass::oid::bigint")
        return str(found)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            with super()._told():
                yield
        except DatabaseFailed as error:
            cause = error.__cause__
            if isinstance(cause, errors.LockNotAvailable):
                why = f"somebody else has had them for {WAIT_S:g} s"
                raise KeptUnusable(where=self.where, why=why) from error
            if isinstance(cause, _DAMAGE):
                raise self.damaged(error.why) from error
            raise

    def damaged(self, why: str) -> KeptDamaged:
        """The error that says what is wrong with the set."""
        return KeptDamaged(engine="postgres", why=why.partition("\n")[0], where=self.where)

    # -- all sets of a store -------------------------------------------------------------------

    def marks(self) -> dict[str, _Mark | None]:
        """Every schema with a name like ours, and what its comment says; `None`: it is not ours."""
        found = self.rows(_OURS, (len(PREFIX), PREFIX))
        return {name: _read_mark(comment) for name, comment in found if _NAME.fullmatch(name)}

    def of_store(self) -> list[str]:
        """The schemas of this store's sets, the one asked last first."""
        asked: list[tuple[float, str]] = []
        for name, mark in self.marks().items():
            if mark is not None and mark.store == self._of:
                asked.append((self.asked(name), name))
        return [name for _, name in sorted(asked, key=lambda one: (-one[0], one[1]))]

    def asked(self, name: str) -> float:
        """When a set was last asked; 0 when that cannot be told."""
        try:
            rows = self.rows(f'SELECT extract(epoch FROM at)::float8 FROM "{name}".kept_asked')
        except DatabaseFailed:
            return 0.0
        return max((float(at) for (at,) in rows), default=0.0)

    def remove(self, name: str) -> None:
        """Drop a set."""
        self.do(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')

    def told(self, name: str) -> KeptSet:
        """A set as an operator sees it."""
        rows = self.rows(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
            " JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = ? AND relkind = 'r'",
            (name,),
        )
        known = KeptSet(name, "", "", 0, rows[0][0], self.asked(name))
        try:
            about = self.rows(f'SELECT space, ontology, tuples FROM "{name}".kept_about')
        except KeptDamaged as error:
            return known._replace(trouble=error.why)
        for space, ontology, tuples in about:
            return known._replace(space=space, ontology=ontology, tuples=tuples)
        return known._replace(trouble="it does not say what it is of")


class KeptSchemas:
    """The sets of one store, in schemas of its database."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store.where
        self._of = store

    def open(self, space: str, ontology: Ontology) -> KeptPostgres:
        """A session with a set, which may be missing yet."""
        name = self._name(space, ontology)
        mark = _Mark(f"kept tables {VERSION}", self._of.schema, space, ontology.hash)
        opened = self._session(name, mark)
        try:
            marks = opened.marks()
            if name not in marks:
                self._sweep(opened, SETS_MAX - 1)
            elif marks[name] is None:
                raise KeptUnusable(where=opened.where, why="the schema is somebody else's")
            elif marks[name] != mark or "kept_about" not in opened.standing():
                raise opened.damaged("it is the set of something else")
            else:
                opened.do("UPDATE kept_asked SET at = now() WHERE at < now() - interval '1 minute'")
        except BaseException:
            opened.close()
            raise
        return opened

    def discard(self, space: str, ontology: Ontology) -> None:
        """Throw one set away, if it is ours."""
        name = self._name(space, ontology)
        with self._looking() as session:
            if session.marks().get(name) is not None:
                session.remove(name)

    def sets(self) -> list[KeptSet]:
        """The sets that are kept, the one asked last first."""
        with self._looking() as session:
            return [session.told(name) for name in session.of_store()]

    def drop(self, space: str | None = None) -> int:
        """Throw sets away."""
        with self._looking() as session:
            marks = session.marks()
            chosen = [
                name
                for name in session.of_store()
                if space is None or ((mark := marks[name]) is not None and mark.space == space)
            ]
            for name in chosen:
                session.remove(name)
        return len(chosen)

    def _sweep(self, session: KeptPostgres, limit: int) -> None:
        for name in session.of_store()[limit:]:
            with suppress(DatabaseFailed, KeptUnusable):
                session.remove(name)

    def _name(self, space: str, ontology: Ontology) -> str:
        return PREFIX + set_name(self._of.schema, space, ontology)

    def _session(self, name: str = "", mark: _Mark | None = None) -> KeptPostgres:
        try:
            return KeptPostgres(self._of, name, mark)
        except DatabaseFailed as error:
            raise KeptUnusable(where=self.store, why=error.why) from error

    @contextmanager
    def _looking(self) -> Iterator[KeptPostgres]:
        session = self._session()
        try:
            yield session
        finally:
            session.close()


def _read_mark(comment: str | None) -> _Mark | None:
    try:
        return msgspec.json.decode(comment or "", type=_Mark)
    except ValueError:
        return None


def _marked(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()
