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

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from sqlglot import exp

from nomospace.meaning.plan import CORRELATION, TupleNetwork
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import ClassField, TypeField
from nomospace.meaning.sql import parts
from nomospace.meaning.sql.dialects import Dialect, Statement, prepared
from nomospace.meaning.sql.layout import TEXT, TUPLES, ClassTable, Layout, SqlTable
from nomospace.meaning.sql.networks import is_judged, selected
from nomospace.meaning.sql.sources import Path, Sources, WantedObjects
from nomospace.meaning.sql.values import Params, all_of, both

JUDGED_MAX: Final = 200_000
"""How many rows of one network Python looks at, where it has to; beyond, answers are cut."""
PASSING: Final = ("found_", "source_")
"""How the names of tables begin that last no longer than a question."""


class NetworkGroup(NamedTuple):
    """The networks of a plan whose rows are answers of one kind and size."""

    kind: str
    size: int
    networks: tuple[TupleNetwork, ...]

    @property
    def sets(self) -> bool:
        """Whether its answers are correlations."""
        return self.kind == CORRELATION

    @property
    def table(self) -> SqlTable:
        """Where its rows are gathered."""
        columns = tuple([(f"m{at}", TEXT) for at in range(self.size)])
        return SqlTable(f"found_{self.kind}_{self.size}", columns)


def groups(planner: Planner) -> Iterator[NetworkGroup]:
    """The groups of a plan in the order in which `any` prefers their answers.

    Larger sets are planned only when somebody asks for them: many questions are answered before.
    So a group may turn out to have no networks.
    """
    for network in planner.singles:
        yield NetworkGroup(network.kind, network.size, (network,))
    if planner.question.correlate != "never":
        for size in range(1, planner.question.max_set + 1):
            yield NetworkGroup(CORRELATION, size, planner.sets(size))


class GroupFilling(NamedTuple):
    """How a network's rows get into the table of its group."""

    sources: tuple[tuple[SqlTable, Statement], ...]
    """Tables that must be there first, and what fills each."""
    rows: Statement
    """Puts the rows there; or, where they are judged, gives what may be rows, to be put there."""
    judged: bool


class StatementBuilder:
    """Makes the statements of a question for one database."""

    def __init__(
        self,
        planner: Planner,
        layout: Layout,
        open_paths: Mapping[str, Mapping[Path, None]],
        dialect: Dialect,
    ) -> None:
        self.planner = planner
        self.question = planner.question
        self.dialect = dialect
        self.sources = Sources(layout, open_paths, Params(), planner.question.fields)
        self._candidates: dict[object, Statement] = {}
        self._filling: dict[str, tuple[SqlTable, Statement]] = {}
        self._gathering: dict[int, GroupFilling] = {}

    def gather(self, group: NetworkGroup, network: TupleNetwork) -> GroupFilling:
        """What puts the rows of a network into its group's table; made once."""
        found = self._gathering.get(id(network))
        if found is None:
            self.sources.used.clear()
            select = self.select(network)
            for name, source in self.sources.used.items():
                if name not in self._filling:
                    into = exp.Insert(this=parts.table(name), expression=source.query)
                    self._filling[name] = source.table, self._prepared(into)
            sources = tuple([self._filling[name] for name in self.sources.used])
            rows: exp.Expr = select
            judged = is_judged(network, self.question.fields)
            if judged:
                select.set("limit", exp.Limit(expression=parts.number(JUDGED_MAX + 1)))
            else:
                rows = exp.Insert(this=parts.table(group.table.name), expression=select)
            found = GroupFilling(sources, self._prepared(rows), judged)
            self._gathering[id(network)] = found
        return found

    def _prepared(self, statement: exp.Expr) -> Statement:
        return prepared(statement, self.dialect, self.sources.params)

    def select(self, network: TupleNetwork) -> exp.Select:
        """The rows of one network."""
        if self.question.positional:
            return self._positional(self.sources)
        return selected(network, self.sources)

    def candidates(self, network: TupleNetwork) -> Iterator[Statement]:
        """Whether there is anything for each need of a network; without it, it has no rows.

        Asked before the network is turned into SQL, and once for each thing that is asked for.
        """
        for need in network.needs:
            if self.question.positional:
                return
            known = need.asks, need.classes
            if known not in self._candidates:
                query: exp.Query
                if isinstance(need.asks, ClassField):
                    query = self.sources.object_query(WantedObjects(need.classes, [need.asks]))
                else:
                    query = self.sources.plain_query(need.asks)
                made = parts.select([parts.number(1)], parts.below(query, "q"))
                made.set("limit", exp.Limit(expression=parts.number(1)))
                self._candidates[known] = self._prepared(made)
            yield self._candidates[known]

    def _positional(self, sources: Sources) -> exp.Select:
        """A plain Linda template: as long as the tuple, and compared position by position."""
        fields = self.question.fields
        width = parts.equal(parts.column("width", "w"), parts.number(len(fields)))
        joins = [
            parts.inner(
                sources.plain(field, f"a{pos}"),
                both(
                    parts.equal(parts.column("tuple", f"a{pos}"), parts.column("tuple", "w")),
                    parts.equal(parts.column("pos", f"a{pos}"), parts.number(pos)),
                ),
            )
            for pos, field in enumerate(fields)
            if field != TypeField("any")  # an object will do as well
        ]
        ids = [parts.named(parts.column("tuple", "w"), "m0")]
        return parts.select(ids, parts.table(TUPLES, "w"), joins=joins, where=width)

    def answers(
        self, group: NetworkGroup, smaller: Sequence[NetworkGroup], limit: int
    ) -> Statement:
        """The sets of a group that hold none of smaller groups, in order, up to a limit."""
        names = [f"m{at}" for at in range(group.size)]
        tests = [
            self._without(other, chosen)
            for other in smaller
            for chosen in combinations(names, other.size)
        ]
        made = parts.select(
            [parts.column(name, "s") for name in names],
            parts.table(group.table.name, "s"),
            where=all_of(tests),
            distinct=True,
        )
        ordered = [exp.Ordered(this=parts.column(name), nulls_first=True) for name in names]
        made.set("order", exp.Order(expressions=ordered))
        made.set("limit", exp.Limit(expression=parts.number(limit)))
        return prepared(made, self.dialect, Params())

    def _without(self, other: NetworkGroup, chosen: Sequence[str]) -> exp.Expr:
        tests: list[exp.Expr] = [
            parts.equal(parts.column(f"m{at}", "p"), parts.column(name, "s"))
            for at, name in enumerate(chosen)
        ]
        one = [parts.number(1)]
        return parts.missing(
            parts.select(one, parts.table(other.table.name, "p"), where=all_of(tests))
        )

    def any_row(self, group: NetworkGroup) -> Statement:
        """Whether a group has rows at all."""
        made = parts.select([parts.number(1)], parts.table(group.table.name))
        made.set("limit", exp.Limit(expression=parts.number(1)))
        return prepared(made, self.dialect, Params())


def statistics(table: ClassTable) -> exp.Select:
    """Of a class: in how many tuples one object stands at most, and in how many forms.

    An object has several forms where it was seen with different properties, or under two names.
    """
    most = [exp.Max(this=parts.column(name)) for name in ("holders", "forms")]
    zeros = [exp.Coalesce(this=one, expressions=[parts.number(0)]) for one in most]
    return parts.select(zeros, parts.below(_counts(table), "q"))


def _counts(table: ClassTable) -> exp.Select:
    """For each object of a class: how many tuples hold it, and how many forms it has."""
    mark = exp.DPipe(this=parts.column("name"), expression=exp.Literal.string("\t"))
    form = exp.DPipe(this=mark, expression=parts.column("props"))
    counts = parts.select(
        [
            parts.named(_distinct(parts.column("tuple")), "holders"),
            parts.named(_distinct(form), "forms"),
        ],
        parts.table(table.name),
    )
    counts.set("group", exp.Group(expressions=[parts.column("same")]))
    return counts


def _distinct(value: exp.Expr) -> exp.Count:
    return exp.Count(this=exp.Distinct(expressions=[value]))
