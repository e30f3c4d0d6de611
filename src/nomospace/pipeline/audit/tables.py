"""An audit on Spark: functions from DataFrame to DataFrame, for jobs and for notebooks.

`events` and `laws` are the journal's tables (`segments.read_spark`) or whatever part of them the
caller wants to know about. No function makes a session, and none starts a job except `rules`, which
fetches the texts of the laws, and `changes`, which sees once a session that its workers know
nomospace (`OtherPython`). `audit.duck` is the same without Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nomospace.pipeline.audit import questions
from nomospace.pipeline.audit.changes import CHANGES, read_changes
from nomospace.pipeline.audit.questions import AuditQuestion
from nomospace.pipeline.audit.rules import RULES, rules_of
from nomospace.pipeline.workers import check_workers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def chosen(
    events: DataFrame,
    *,
    since: int | None = None,
    until: int | None = None,
    community: str | None = None,
) -> DataFrame:
    """The events of a time and a community; `since` and `until` (not included) in microseconds."""
    return _ask(
        questions.CHOSEN, {"since": since, "until": until, "community": community}, events=events
    )


def changes(events: DataFrame) -> DataFrame:
    """What became of obligations, change by change: rows of `CHANGES`.

    Python reads them, and Spark would have it do so again for every use: `.localCheckpoint()` them
    where there are several.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    check_workers(events.sparkSession)
    stirring = _ask(questions.STIRRING, events=events)
    return stirring.mapInArrow(read_changes, from_arrow_schema(CHANGES))


def rules(laws: DataFrame) -> DataFrame:
    """The rules of the laws that a journal tells of: rows of `RULES`."""
    told = laws.select("law", "community", "text").distinct().collect()
    rows, _ = rules_of(sorted((row.law, row.community, row.text) for row in told))
    return make_frame(laws.sparkSession, rows, RULES)


def make_frame(
    spark: SparkSession, rows: Sequence[Mapping[str, object]], schema: pa.Schema
) -> DataFrame:
    """Rows of ours as a DataFrame."""
    from pyspark.sql.pandas.types import from_arrow_schema

    values = [tuple(row.get(name) for name in schema.names) for row in rows]
    return spark.createDataFrame(values, from_arrow_schema(schema))


def overview(events: DataFrame) -> DataFrame:
    """One row: how many events, members, communities, hosts and laws, from when until when."""
    return _ask(questions.OVERVIEW, events=events)


def coverage(events: DataFrame, rules: DataFrame) -> DataFrame:
    """Every rule with how often it ruled, for how many agents; rules that never did have 0 hits."""
    return _ask(questions.COVERAGE, events=events, rules=rules)


def refusals(events: DataFrame, changes: DataFrame) -> DataFrame:
    """Who was refused what, by which rule, how often. No rule let it through where `rule` is ''.

    Refused is as `control` has it: sent, not forwarded, and nothing changed.
    """
    return _ask(questions.REFUSALS, events=events, changes=changes)


def reasons(refusals: DataFrame) -> DataFrame:
    """Refusals added up over agents."""
    return _ask(questions.REASONS, refusals=refusals)


def duties(changes: DataFrame) -> DataFrame:
    """One row an obligation: imposed when, due when, and what became of it after how long.

    `outcome` is `met`, `repealed`, `missed` (it fell due) or `owed` (still, at the end); `delay_us`
    counts from imposition, `late_us` from the time it was due to the time it was ruled on.
    """
    return _ask(questions.DUTIES, changes=changes)


def obligations(duties: DataFrame) -> DataFrame:
    """Obligations by name and outcome, with percentiles of their delays."""
    return _ask(questions.OBLIGATIONS, duties=duties)


def lateness(duties: DataFrame) -> DataFrame:
    """How long after their time obligations that fell due were ruled on."""
    return _ask(questions.LATENESS, duties=duties)


def unreadable(changes: DataFrame) -> DataFrame:
    """One row: how many rows of the journal have changes that cannot be read."""
    return _ask(questions.UNREADABLE, changes=changes)


def spaces(
    events: DataFrame, tuples: DataFrame, *, since: int | None = None, until: int | None = None
) -> DataFrame:
    """How many tuples were written and taken in each space; `governed` is 0 where no law ruled.

    `events` is the whole table of the journal, and not a part of it. Reading is in no journal.
    """
    values: dict[str, int | str | None] = {"since": since, "until": until}
    return _ask(questions.SPACES, values, events=events, tuples=tuples)


def load(events: DataFrame, *, width_us: int = 60_000_000, agents: int = 8) -> DataFrame:
    """What the busiest agents handled, by time; certified mediators come first among them."""
    return _ask(questions.LOAD, {"width": width_us, "agents": agents}, events=events)


def hops(events: DataFrame) -> DataFrame:
    """How many arrivals took how many hops."""
    return _ask(questions.HOPS, events=events)


def latency(events: DataFrame) -> DataFrame:
    """Percentiles of the time that rulings took, in nanoseconds, by the kind of event."""
    return _ask(questions.LATENCY, events=events)


def rhythm(events: DataFrame, *, width_us: int = 60_000_000) -> DataFrame:
    """Events of each community, a row for each minute (or `width_us`) in which there were any."""
    return _ask(questions.RHYTHM, {"width": width_us}, events=events)


def _ask(
    question: AuditQuestion,
    values: dict[str, int | str | None] | None = None,
    /,
    **frames: DataFrame,
) -> DataFrame:
    assert tuple(frames) == question.tables, (question.name, tuple(frames))
    # Spark puts the frames where the braces are, and leaves no view behind.
    names = {name: f"{{{name}}}" for name in frames}
    spark = next(iter(frames.values())).sparkSession
    return spark.sql(question.said("spark", names, **(values or {})), **frames)
