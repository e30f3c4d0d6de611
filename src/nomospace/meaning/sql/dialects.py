"""What one database says otherwise than another, and that SQLGlot does not know.

A further database is a further row of `DIALECTS`; nothing else of this room knows its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from sqlglot import exp

from nomospace.meaning.sql import parts
from nomospace.meaning.sql.layout import BYTES, NUMBER, TEXT, WHOLE, SqlTable
from nomospace.meaning.sql.values import Params


class Dialect(NamedTuple):
    """One database's way to say things."""

    name: str
    """As SQLGlot calls it."""
    collation: str = ""
    """Said of texts where the database would not order them by code points of itself."""
    indexes: bool = True
    """Whether tables have indexes that are worth their making."""
    views: bool = False
    """Whether tables are views: nothing is put into one but queries, which whoever runs the
    statements adds to it."""
    fences: bool = False
    """Whether the layers of a query must be kept apart. Where the database would move conditions
    down through them, it writes the values of a layer into the next one at every mention, and
    planning takes seconds for what runs in milliseconds."""


_TYPES: Final = {kind: exp.DataType.build(kind) for kind in (BYTES, NUMBER, TEXT, WHOLE)}

DIALECTS: Final = {
    "sqlite": Dialect("sqlite"),
    "postgres": Dialect("postgres", collation="C"),
    "duckdb": Dialect("duckdb", indexes=False, fences=True),
    "spark": Dialect("spark", indexes=False, views=True),
}
"""The databases that answer questions."""


class Statement(NamedTuple):
    """A statement in the words of a database, and the values it is given."""

    sql: str
    params: Mapping[str, float | str] = MappingProxyType({})
    into: str = ""
    """The view to which the rows of this query are to be added, where tables are views."""


@lru_cache(maxsize=1_000)
def created(table: SqlTable, dialect: Dialect) -> tuple[str, ...]:
    """The statements that make a temporary table and its indexes.

    >>> table = SqlTable("t", (("tuple", "text"),), ("tuple",))
    >>> for statement in created(table, DIALECTS["postgres"]):
    ...     print(statement)
    CREATE TEMPORARY TABLE "t" ("tuple" TEXT COLLATE "C")
    CREATE UNIQUE INDEX "t_tuple" ON "t"("tuple")
    >>> created(table, DIALECTS["spark"])
    ('CREATE OR REPLACE TEMPORARY VIEW `t` AS SELECT CAST(NULL AS STRING) AS `tuple` WHERE FALSE',)
    """
    if dialect.views:
        return (_view(table, dialect),)
    columns = [
        exp.ColumnDef(
            this=exp.to_identifier(name),
            kind=_TYPES[kind].copy(),
            constraints=_collated(dialect) if kind == TEXT else [],
        )
        for name, kind in table.columns
    ]
    made: list[exp.Expr] = [
        exp.Create(
            this=exp.Schema(this=parts.table(table.name), expressions=columns),
            kind="TABLE",
            properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        )
    ]
    if dialect.indexes:
        keys = [(True, table.unique)] if table.unique else []
        for unique, names in [*keys, *((False, names) for names in table.indexes)]:
            made.append(_index(table.name, names, unique=unique))
    return tuple([rendered(statement, dialect) for statement in made])


def dropped(name: str, dialect: Dialect) -> str:
    """The statement that takes a table away."""
    kind = "VIEW" if dialect.views else "TABLE"
    return rendered(exp.Drop(tables=[parts.table(name)], kind=kind), dialect)


def emptied(table: SqlTable, dialect: Dialect) -> str:
    """The statement after which a table has no rows."""
    if dialect.views:
        return _view(table, dialect)
    return rendered(exp.Delete(this=parts.table(table.name)), dialect)


def _view(table: SqlTable, dialect: Dialect) -> str:
    """A view with the columns of a table and no rows."""
    empty = exp.Select(
        expressions=[
            parts.named(exp.Cast(this=exp.Null(), to=_TYPES[kind].copy()), name)
            for name, kind in table.columns
        ],
        where=exp.Where(this=exp.false()),
    )
    made = exp.Create(
        this=parts.table(table.name),
        kind="VIEW",
        replace=True,
        expression=empty,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )
    return rendered(made, dialect)


def rendered(statement: exp.Expr, dialect: Dialect) -> str:
    """A statement as the database reads it; every name in quotes, so that none is a word of SQL."""
    return statement.sql(dialect.name, identify=True, comments=False, copy=False)


def prepared(statement: exp.Expr, dialect: Dialect, params: Params) -> Statement:
    """A statement ready to be run, with those values that it names."""
    used = {str(node.this): None for node in statement.find_all(exp.Placeholder)}
    given = {name: params.values[name] for name in used}
    if dialect.fences:
        _fence(statement)
    if dialect.views and isinstance(statement, exp.Insert):
        return Statement(rendered(statement.expression, dialect), given, statement.this.name)
    return Statement(rendered(statement, dialect), given)


def _fence(statement: exp.Expr) -> None:
    """Keep the layers that stand on a join apart; the join itself has nothing to be moved."""
    for layered in statement.find_all(exp.With):
        for layer in layered.expressions[1:]:
            layer.set("materialized", True)


def _collated(dialect: Dialect) -> list[exp.ColumnConstraint]:
    if not dialect.collation:
        return []
    name = exp.to_identifier(dialect.collation, quoted=True)
    return [exp.ColumnConstraint(kind=exp.CollateColumnConstraint(this=name))]


def _index(table: str, names: tuple[str, ...], *, unique: bool) -> exp.Create:
    columns = [exp.column(name) for name in names]
    return exp.Create(
        this=exp.Index(
            this=exp.to_identifier("_".join((table, *names))),
            table=parts.table(table),
            params=exp.IndexParameters(columns=columns),
        ),
        kind="INDEX",
        unique=unique,
    )
