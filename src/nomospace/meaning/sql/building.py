"""A plan as statements: sets of tuples are gathered by size, and what is not minimal is left out.

The networks of one kind and size are a *group*. A group has a table, `found_…`, with a column for
each tuple of its sets; every network adds its rows there (`gather`). The answers of a group
(`answers`) are its rows without those that hold a set of a smaller group. As ids stand in order in
every row, a smaller set is part of a larger one when it stands in some of its columns, in order: an
anti-join by equality for every choice of columns. All of this happens in the database. What it
gives are ids of tuples; which object serves which field is then said by `meaning.assign`, for this
engine as for all others, and for answers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from sqlglot import exp

from nomospace.meaning.plan import CORRELATION, Network, Plan
from nomospace.meaning.question import TypeField
from nomospace.meaning.sql.dialects import Dialect, Statement, prepared, table_of
from nomospace.meaning.sql.layout import TEXT, TUPLES, ClassTable, Layout, Table
from nomospace.meaning.sql.networks import selected
from nomospace.meaning.sql.sources import Path, Sources
from nomospace.meaning.sql.values import Params


class Group(NamedTuple):
    """The networks of a plan whose rows are answers of one kind and size."""

    kind: str
    size: int
    networks: tuple[Network, ...]

    @property
    def table(self) -> Table:
        """Where its rows are gathered."""
        columns = tuple([(f"m{at}", TEXT) for at in range(self.size)])
        return Table(f"found_{self.kind}_{self.size}", columns)


def groups(plan: Plan) -> tuple[Group, ...]:
    """The groups of a plan in the order in which `any` prefers their answers."""
    found: dict[tuple[str, int], list[Network]] = {}
    for network in plan.networks:
        found.setdefault((network.kind, network.size), []).append(network)
    return tuple([Group(*key, tuple(networks)) for key, networks in found.items()])


class Builder:
    """Makes the statements of a plan for one database."""

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        open_paths: Mapping[str, Mapping[Path, None]],
        dialect: Dialect,
    ) -> None:
        self.plan = plan
        self.layout = layout
        self.open_paths = open_paths
        self.dialect = dialect

    def gather(self, group: Group) -> list[Statement]:
        """What puts the rows of a group's networks into its table, one statement a network."""
        made: list[Statement] = []
        for network in group.networks:
            params = Params()
            select = self.select(network, params)
            into = exp.Insert(this=table_of(group.table.name), expression=select)
            made.append(prepared(into, self.dialect, params))
        return made

    def select(self, network: Network, params: Params) -> exp.Select:
        """The rows of one network."""
        fields = self.plan.question.fields
        sources = Sources(self.layout, self.open_paths, params, fields)
        if self.plan.question.positional:
            return self._positional(sources)
        return selected(network, sources)

    def _positional(self, sources: Sources) -> exp.Select:
        """A plain Linda template: as long as the tuple, and compared position by position."""
        fields = self.plan.question.fields
        width = exp.EQ(this=exp.column("width", "w"), expression=exp.Literal.number(len(fields)))
        id_ = exp.Alias(this=exp.column("tuple", "w"), alias=exp.to_identifier("m0"))
        made = exp.select(id_).from_(exp.alias_(table_of(TUPLES), "w", table=True), copy=False)
        for pos, field in enumerate(fields):
            if field == TypeField("any"):
                continue  # an object will do as well
            alias = f"a{pos}"
            made.join(
                exp.Subquery(
                    this=sources.plain(field),
                    alias=exp.TableAlias(this=exp.to_identifier(alias)),
                ),
                on=exp.And(
                    this=exp.column("tuple", alias).eq(exp.column("tuple", "w")),
                    expression=exp.column("pos", alias).eq(exp.Literal.number(pos)),
                ),
                join_type="inner",
                copy=False,
            )
        return made.where(width, copy=False)

    def answers(self, group: Group, smaller: Sequence[Group], limit: int) -> Statement:
        """The sets of a group that hold none of smaller groups, in order, up to a limit."""
        params = Params()
        names = [f"m{at}" for at in range(group.size)]
        mine = [exp.column(name, "s") for name in names]
        made = exp.select(*mine).distinct()
        made.from_(exp.alias_(table_of(group.table.name), "s", table=True), copy=False)
        for other in smaller:
            for chosen in combinations(names, other.size):
                made.where(self._without(other, chosen), copy=False)
        made.order_by(*(exp.column(name) for name in names), copy=False).limit(limit, copy=False)
        return prepared(made, self.dialect, params)

    def _without(self, other: Group, chosen: Sequence[str]) -> exp.Expr:
        part = exp.select(exp.Literal.number(1))
        part.from_(exp.alias_(table_of(other.table.name), "p", table=True), copy=False)
        for at, name in enumerate(chosen):
            equal = exp.EQ(this=exp.column(f"m{at}", "p"), expression=exp.column(name, "s"))
            part.where(equal, copy=False)
        return exp.Not(this=exp.Exists(this=part))

    def any_row(self, group: Group) -> Statement:
        """Whether a group has rows at all."""
        made = exp.select(exp.Literal.number(1)).from_(table_of(group.table.name), copy=False)
        return prepared(made.limit(1, copy=False), self.dialect, Params())


def is_set(group: Group) -> bool:
    """Whether a group's answers are correlations."""
    return group.kind == CORRELATION


def statistics(table: ClassTable) -> exp.Select:
    """Of a class: in how many tuples one object stands at most, and in how many forms.

    An object has several forms where it was seen with different properties, or under two names.
    """
    form = exp.DPipe(
        this=exp.DPipe(this=exp.column("name"), expression=exp.Literal.string("\t")),
        expression=exp.column("props"),
    )
    counts = exp.select(
        exp.alias_(_distinct(exp.column("tuple")), "holders"), exp.alias_(_distinct(form), "forms")
    )
    counts.from_(table_of(table.name), copy=False).group_by(exp.column("same"), copy=False)
    most = [exp.Max(this=exp.column(name)) for name in ("holders", "forms")]
    zeros = [exp.Coalesce(this=one, expressions=[exp.Literal.number(0)]) for one in most]
    below = exp.Subquery(this=counts, alias=exp.TableAlias(this=exp.to_identifier("q")))
    return exp.select(*zeros).from_(below, copy=False)


def _distinct(value: exp.Expr) -> exp.Count:
    return exp.Count(this=exp.Distinct(expressions=[value]))
