"""Parts of statements, put together without SQLGlot's own builders.

Those copy what they are given and read texts; a plan has hundreds of parts, and a question should
not wait for it. What is given here is used as it is: give a copy of what is used twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def table(name: str, alias: str = "") -> exp.Table:
    """A table by its name."""
    made = exp.Table(this=exp.Identifier(this=name))
    if alias:
        made.set("alias", exp.TableAlias(this=exp.Identifier(this=alias)))
    return made


def column(name: str, of: str = "") -> exp.Column:
    """A column, of a table or of what was given an alias."""
    made = exp.Column(this=exp.Identifier(this=name))
    if of:
        made.set("table", exp.Identifier(this=of))
    return made


def named(value: exp.Expr, name: str) -> exp.Alias:
    """A value as a column of a result."""
    return exp.Alias(this=value, alias=exp.Identifier(this=name))


def below(query: exp.Query, alias: str) -> exp.Subquery:
    """A query to select from."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.Identifier(this=alias)))


def select(
    columns: Sequence[exp.Expr],
    source: exp.Expr,
    *,
    joins: Sequence[exp.Join] = (),
    where: exp.Expr | None = None,
    distinct: bool = False,
) -> exp.Select:
    """A SELECT; a condition that is TRUE is left out."""
    made = exp.Select(expressions=list(columns), from_=exp.From(this=source))
    if joins:
        made.set("joins", list(joins))
    if where is not None and not (isinstance(where, exp.Boolean) and where.this):
        made.set("where", exp.Where(this=where))
    if distinct:
        made.set("distinct", exp.Distinct())
    return made


class Stack:
    """Queries of which each selects from the one before it.

    They stand side by side in a WITH: nested as deep as plans may be, they would be more than the
    parsers of some databases take.
    """

    def __init__(self, first: exp.Select) -> None:
        self._queries = [first]

    @property
    def top(self) -> exp.Table:
        """The query that was put on last, to select from."""
        return table(f"l{len(self._queries) - 1}")

    def put(self, query: exp.Select) -> None:
        """Put on a query, which selects from `top`."""
        self._queries.append(query)

    def whole(self) -> exp.Select:
        """All of them as one query."""
        *others, last = self._queries
        listed = [
            exp.CTE(this=query, alias=exp.TableAlias(this=exp.Identifier(this=f"l{at}")))
            for at, query in enumerate(others)
        ]
        if listed:
            last.set("with_", exp.With(expressions=listed))
        return last


def inner(source: exp.Expr, on: exp.Expr) -> exp.Join:
    """A join that keeps what has a partner."""
    return exp.Join(this=source, kind="INNER", on=on)


def left(source: exp.Expr, on: exp.Expr) -> exp.Join:
    """A join that keeps all of its left side."""
    return exp.Join(this=source, side="LEFT", on=on)


def equal(one: exp.Expr, other: exp.Expr) -> exp.EQ:
    """Two values are equal."""
    return exp.EQ(this=one, expression=other)


def missing(query: exp.Select) -> exp.Not:
    """There is no row of a query."""
    return exp.Not(this=exp.Exists(this=query))


def case(test: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """A value where a condition holds, and another, or NULL, where it does not."""
    made = exp.Case(ifs=[exp.If(this=test, true=value)])
    if otherwise is not None:
        made.set("default", otherwise)
    return made


def number(value: int) -> exp.Literal:
    """A whole number that we write ourselves."""
    return exp.Literal(this=str(value), is_string=False)
