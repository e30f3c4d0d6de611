"""A front's engine: tables of a PostgreSQL database, each row a tuple.

A *shape* says how: `letters: [msg(message), from(sender), to(receiver)]` is the table `letters`,
and each bare name in the list is a column. The tables are as they were; tuples on their way to
their takers lie in one more table, `nomospace_reserved`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from nomospace.errors import CallerError
from nomospace.node.services.fronts import (
    ENGINE_S,
    SCAN_MAX,
    EngineAway,
    EngineRefused,
    Reservation,
    Row,
    TooMuchToLookAt,
)
from nomospace.terms import Compound, Faulty, NotGround, Term, freeze, show, term
from nomospace.terms.templates import Template

SqlConnection: TypeAlias = psycopg.AsyncConnection[TupleRow]

FORMAL: Final = "formal"
_PLAIN: Final = (str, int, float, bool, bytes, type(None))
_NAME: Final = re.compile(r"[A-Za-z_]\w{0,62}(\.[A-Za-z_]\w{0,62})?")


class BadRowShape(CallerError):
    """Text that does not say how the rows of a table are tuples."""

    code = "front.bad-shape"
    words = "{text!r} is no shape: {why}; write 'letters: [msg(message), from(sender)]'"
    text: str
    why: str


class RowShape:
    """How the rows of one table are tuples.

    >>> shape = RowShape("letters: [msg(message), from(sender)]")
    >>> shape.table, shape.columns
    ('letters', ('message', 'sender'))
    >>> shape.values(term("[msg(hello), from('ann@ward')]"))
    ('hello', 'ann@ward')
    >>> shape.named(term("[msg(formal(any)), from('ann@ward')]"))
    {'sender': 'ann@ward'}
    """

    def __init__(self, text: str) -> None:
        table, _, pattern = text.partition(":")
        self.table = table.strip()
        if not _NAME.fullmatch(self.table):
            raise BadRowShape(text=text, why=f"{self.table!r} is no table's name")
        try:
            self.pattern = term(pattern)
        except (Faulty, NotGround) as error:
            raise BadRowShape(text=text, why=str(error)) from None
        self.columns = tuple(_leaves(self.pattern))
        if type(self.pattern) is not tuple or not all(map(_NAME.fullmatch, self.columns)):
            raise BadRowShape(text=text, why="after the colon stands a list, with names of columns")
        if len(set(self.columns)) < len(self.columns):
            raise BadRowShape(text=text, why="a column stands in it twice")

    def values(self, fields: Row) -> tuple[Term, ...] | None:
        """The columns of a tuple; `None` for one that is no row of this table."""
        found = _meet(self.pattern, fields, formals=False)
        return None if found is None else tuple([found[name] for name in self.columns])

    def named(self, template: Term) -> dict[str, Term] | None:
        """What a template says of the columns; `None` if no row can match it."""
        return _meet(self.pattern, template, formals=True)

    def fields(self, values: Sequence[object]) -> Row:
        """The tuple that a row is."""
        columns = dict(zip(self.columns, values, strict=True))
        made = _fill(self.pattern, columns)
        assert type(made) is tuple, "a shape is a list"
        return made


def _leaves(pattern: Term) -> Iterable[str]:
    if type(pattern) is str:
        yield pattern
    else:
        parts = pattern.args if type(pattern) is Compound else pattern
        for part in parts if type(parts) is tuple else ("0",):  # which is no name
            yield from _leaves(part)


def _meet(pattern: Term, given: Term, *, formals: bool) -> dict[str, Term] | None:
    if formals and type(given) is Compound and given.name == FORMAL:
        return {}
    if type(pattern) is str:
        return {pattern: given} if type(given) in _PLAIN else None
    if type(pattern) is Compound:
        if type(given) is not Compound or given.name != pattern.name:
            return None
        pattern, given = pattern.args, given.args
    if type(pattern) is not tuple or type(given) is not tuple or len(pattern) != len(given):
        return None
    found: dict[str, Term] = {}
    for one, other in zip(pattern, given, strict=True):
        inside = _meet(one, other, formals=formals)
        if inside is None:
            return None
        found.update(inside)
    return found


def _fill(pattern: Term, columns: dict[str, object]) -> Term:
    if type(pattern) is str:
        value = columns[pattern]
        return freeze(value if type(value) in _PLAIN else str(value))
    if type(pattern) is Compound:
        return Compound(pattern.name, tuple([_fill(part, columns) for part in pattern.args]))
    assert type(pattern) is tuple, "a shape has names, compounds and lists"
    return tuple([_fill(part, columns) for part in pattern])


class TableEngine:
    """Rows of PostgreSQL tables as tuples."""

    def __init__(self, url: str, shapes: Sequence[str]) -> None:
        self._url = url
        self._shapes = [RowShape(text) for text in shapes]
        if not self._shapes:
            raise BadRowShape(text="", why="a front needs one table at least")
        self._connection: SqlConnection | None = None

    def __repr__(self) -> str:
        return f"PostgreSQL at {self._url.rpartition('@')[2]}"

    @asynccontextmanager
    async def _step(self) -> AsyncIterator[SqlConnection]:
        """A transaction; raises `EngineAway`, `EngineRefused`."""
        try:
            connection = self._connection
            if connection is None or connection.closed:
                connection = self._connection = await psycopg.AsyncConnection.connect(
                    self._url,
                    autocommit=True,
                    connect_timeout=round(ENGINE_S),
                    options=f"-c statement_timeout={round(ENGINE_S * 1000)}",
                    application_name="nomospace front",
                )
            async with connection.transaction():
                yield connection
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise EngineAway(engine=repr(self), why=_why(error)) from None
        except psycopg.Error as error:
            raise EngineRefused(engine=repr(self), why=_why(error)) from None

    async def begin(self) -> None:
        """See that the tables have the columns that they should have."""
        async with self._step() as connection:
            for shape in self._shapes:
                await connection.execute(self._select(shape, {}, limit=0)[0])
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS nomospace_reserved (key text, client text,"
                " operation text, source text, fields text)"
            )

    async def close(self) -> None:
        """Let go of the database."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _select(
        self, shape: RowShape, named: dict[str, Term], *, limit: int, lock: bool = False
    ) -> tuple[sql.Composed, list[Term]]:
        wanted = [
            sql.SQL("{} IS NULL" if value is None else "{} = %s").format(sql.Identifier(name))
            for name, value in named.items()
        ]
        text = sql.SQL("SELECT ctid::text, {} FROM {} {} {} LIMIT {} {}").format(
            sql.SQL(", ").join(map(sql.Identifier, shape.columns)),
            sql.Identifier(*shape.table.split(".")),
            sql.SQL("WHERE" if wanted else ""),
            sql.SQL(" AND ").join(wanted),
            sql.Literal(limit),
            sql.SQL("FOR UPDATE SKIP LOCKED" if lock else ""),
        )
        return text, [value for value in named.values() if value is not None]

    async def put(self, fields: Row) -> None:
        """Write a row; raises `EngineRefused` for a tuple that is none of any table."""
        async with self._step() as connection:
            await self._insert(connection, fields)

    async def _insert(self, connection: SqlConnection, fields: Row) -> None:
        for shape in self._shapes:
            values = shape.values(fields)
            if values is not None:
                text = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                    sql.Identifier(*shape.table.split(".")),
                    sql.SQL(", ").join(map(sql.Identifier, shape.columns)),
                    sql.SQL(", ").join([sql.Placeholder()] * len(values)),
                )
                await connection.execute(text, values)
                return
        why = f"{show(fields, limit=200)} is a row of none of its tables"
        raise EngineRefused(engine=repr(self), why=why)

    async def _matching(
        self,
        connection: SqlConnection,
        template: Template,
        limit: int,
        *,
        lock: bool,
    ) -> list[tuple[RowShape, str, Row]]:
        """The rows that match: their tables, places and tuples; columns equal what is named."""
        cut = False
        found: list[tuple[RowShape, str, Row]] = []
        for shape in self._shapes:
            named = shape.named(template.term)
            if named is None or len(found) >= limit:
                continue
            cursor = await connection.execute(
                *self._select(shape, named, limit=SCAN_MAX, lock=lock)
            )
            async for place, *values in cursor:
                fields = shape.fields(values)
                if len(found) < limit and template.matches(fields):
                    found.append((shape, place, fields))
            cut = cut or cursor.rowcount >= SCAN_MAX
        if cut and not found:
            raise TooMuchToLookAt(engine=repr(self), limit=SCAN_MAX)
        return found

    async def find(self, template: Template, limit: int) -> list[Row]:
        """The rows that match."""
        async with self._step() as connection:
            found = await self._matching(connection, template, limit, lock=False)
        return [fields for _, _, fields in found]

    async def reserve(self, template: Template, limit: int, ticket: Reservation) -> list[Row]:
        """Move the rows that match to those that are reserved."""
        async with self._step() as connection:
            found = await self._matching(connection, template, limit, lock=True)
            for shape, place, fields in found:
                table = sql.Identifier(*shape.table.split("."))
                gone = sql.SQL("DELETE FROM {} WHERE ctid = %s::tid").format(table)
                await connection.execute(gone, (place,))
                await connection.execute(
                    "INSERT INTO nomospace_reserved VALUES (%s, %s, %s, %s, %s)",
                    (ticket.key, ticket.client, ticket.operation, shape.table, show(fields)),
                )
        return [fields for _, _, fields in found]

    async def settle(self, key: str) -> None:
        """Forget what is reserved under a key."""
        async with self._step() as connection:
            await connection.execute("DELETE FROM nomospace_reserved WHERE key = %s", (key,))

    async def undo(self, key: str) -> None:
        """Let reserved rows stand in their tables again."""
        async with self._step() as connection:
            cursor = await connection.execute(
                "DELETE FROM nomospace_reserved WHERE key = %s RETURNING fields", (key,)
            )
            for (fields,) in await cursor.fetchall():
                await self._insert(connection, _row(fields))

    async def reservations(self) -> list[Reservation]:
        """All that is reserved."""
        async with self._step() as connection:
            cursor = await connection.execute(
                "SELECT key, client, operation, fields FROM nomospace_reserved"
            )
            rows = await cursor.fetchall()
        found: dict[str, Reservation] = {}
        for key, client, operation, fields in rows:
            one = found.get(key) or Reservation(key, client, operation, ())
            found[key] = msgspec.structs.replace(one, rows=(*one.rows, _row(fields)))
        return list(found.values())


def _row(text: str) -> Row:
    fields = term(text)
    assert type(fields) is tuple, "only tuples are reserved"
    return fields


def _why(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
