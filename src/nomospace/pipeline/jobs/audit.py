"""The job `audit`: every question of an audit, on Spark or in DuckDB, and what is written of it.

What can be wrong with what was asked for is found before Spark is started, as in every job. What
is asked is the same for both engines (`audit.questions`); here is only who asks, and in what order.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.pipeline.audit import questions, tables
from nomospace.pipeline.audit.found import (
    AGENTS_MAX,
    REFUSALS_MAX,
    SPACES_MAX,
    AuditTables,
    Bodies,
    bodies_here,
    bodies_spark,
    step_width,
    tell_causes,
)
from nomospace.pipeline.audit.page import charts_of, make_page
from nomospace.pipeline.audit.rules import RULES, rules_of
from nomospace.pipeline.audit.tables import JournalDatabase
from nomospace.pipeline.charts import as_png, can_paint
from nomospace.pipeline.jobs.session import LOCAL, Say, check_master, is_small, session_for
from nomospace.pipeline.laws import LawSource, OtherCommunity, recorded_laws
from nomospace.pipeline.segments import (
    EventFilter,
    Folders,
    JournalFiles,
    Row,
    holding,
    inspected,
    is_large,
    list_journal,
    many,
    named_faults,
    read_batches,
    read_spark,
    unhashed,
)
from nomospace.store.private import whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES: Final = ("events", "laws", "tuples")
REPORT: Final = "report.html"
FIGURES: Final = "audit.json"
QUESTIONS_AT_ONCE: Final = 4


class AuditEngine(StrEnum):
    """Where the questions are asked: on Spark, or in this process by DuckDB.

    `auto` is DuckDB where a journal is small, else Spark.
    """

    SPARK = "spark"
    DUCKDB = "duckdb"
    AUTO = "auto"


@holding
def run_audit(
    folders: Folders,
    part: EventFilter | None = None,
    *,
    engine: AuditEngine = AuditEngine.SPARK,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    skip_bad: bool = False,
    deep: bool = False,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> AuditTables:
    """Ask everything of a journal.

    `spark` is a session to use instead of making one; before one is made `prepare` is called, once
    nothing speaks against it any more. Files are inspected before they are asked (`segments`);
    with `deep` all their columns are compared with their bodies. Raises `NoJournal`, `BadSegments`,
    `OtherCommunity`, and what `open_session` does.
    """
    part = part or EventFilter()
    given = [folders] if isinstance(folders, str | Path) else list(folders)
    if engine is AuditEngine.AUTO:
        small = is_small(given, say)
        engine = AuditEngine.DUCKDB if small and spark is None else AuditEngine.SPARK
    elif engine is AuditEngine.SPARK and spark is None:
        is_small(given, say, hint=True)
    on_spark = engine is AuditEngine.SPARK
    if on_spark and spark is None:
        check_master(master)
    listing = list_journal(given, TABLES).sound(skip_bad=skip_bad)
    there = on_spark and is_large(listing)
    if not there:
        listing = inspected(listing, deep=deep, skip_bad=skip_bad)
    rules, lost, laws = _rules(listing, part.community)
    with session_for(spark, master, wanted=on_spark, prepare=prepare, say=say) as used:
        began = monotonic()
        if there:
            listing = inspected(listing, deep=deep, skip_bad=skip_bad, spark=used)
        wanted = listing.within("events", part)
        say(f"auditing {many(wanted.rows['events'], 'event')}")
        with named_faults(given, TABLES, skip_bad=skip_bad):
            if used is not None:
                answers = _ask_spark(used, listing, wanted, rules, part, say)
            else:
                answers = _ask_duckdb(listing, rules, part, say)
            kept = list_journal(given, ("checkpoints",)).sound(skip_bad=True)
            files = {"events": listing, "checkpoints": kept}

            def read(table: str, agents: list[str]) -> Bodies:
                if there and used is not None:
                    return bodies_spark(used, files[table], table, agents)
                return bodies_here(files[table], table, agents)

            tell_causes(read, laws, answers["refusals"], answers["reasons"])
    (overview,) = answers["overview"]
    (unreadable,) = answers.pop("unreadable")
    return AuditTables(
        journals=tuple([Path(folder).resolve().name for folder in given]),
        engine=f"spark {master}" if on_spark and spark is None else str(engine),
        took_s=round(monotonic() - began, 3),
        width_us=step_width(overview["first_us"], overview["last_us"]),
        tables=answers,
        unreadable=unreadable["times"],
        faults=listing.faults,
        lost_laws=tuple(lost),
        unhashed=unhashed(listing),
    )


def _rules(
    listing: JournalFiles, community: str | None
) -> tuple[list[Row], list[str], dict[str, LawSource]]:
    told = {
        (row["law"], row["community"], row["text"]): None
        for batch in read_batches(listing, "laws", ("law", "community", "text"))
        for row in batch.to_pylist()
    }
    names = dict.fromkeys(name for _, name, _ in told)
    if community is not None and community not in names:
        raise OtherCommunity(community=community, known=tuple(names))
    wanted = sorted(one for one in told if community in (None, one[1]))
    return *rules_of(wanted), recorded_laws(wanted)[0]


# -- asking ----------------------------------------------------------------------------------------


def _ask_spark(
    spark: SparkSession,
    listing: JournalFiles,
    wanted: JournalFiles,
    rules: list[Row],
    part: EventFilter,
    say: Say,
) -> dict[str, list[Row]]:
    def rows(question: tuple[str, DataFrame]) -> list[Row]:
        name, frame = question
        found: list[Row] = frame.toArrow().to_pylist()
        say(f"  {name}")
        return found

    events = tables.chosen(read_spark(spark, wanted, "events"), **msgspec.structs.asdict(part))
    overview = rows(("overview", tables.overview(events)))
    width = step_width(overview[0]["first_us"], overview[0]["last_us"])
    # Kept where the workers are, and read by Python once: a cache would not be found again, because
    # Spark takes every use of a Python function for another one.
    changes = tables.changes(events).localCheckpoint()
    refusals = tables.refusals(events, changes).localCheckpoint()  # asked for twice, and few
    duties = tables.duties(changes)
    asked = {
        "coverage": tables.coverage(events, tables.make_frame(spark, rules, RULES)),
        "refusals": refusals.limit(REFUSALS_MAX),
        "reasons": tables.reasons(refusals),
        "obligations": tables.obligations(duties),
        "lateness": tables.lateness(duties),
        "unreadable": tables.unreadable(changes),
        "load": tables.load(events, width_us=width, agents=AGENTS_MAX),
        "hops": tables.hops(events),
        "latency": tables.latency(events),
        "rhythm": tables.rhythm(events, width_us=width),
        "spaces": tables.spaces(
            read_spark(spark, listing, "events"),
            read_spark(spark, listing, "tuples"),
            since=part.since,
            until=part.until,
        ).limit(0 if part.community else SPACES_MAX),
    }
    # Each is a few small stages: asked one after the other, they would leave workers idle between.
    with ThreadPoolExecutor(QUESTIONS_AT_ONCE) as pool:
        answers = list(pool.map(rows, asked.items()))
    return {"overview": overview, **dict(zip(asked, answers, strict=True))}


def _ask_duckdb(
    listing: JournalFiles, rules: list[Row], part: EventFilter, say: Say
) -> dict[str, list[Row]]:
    with JournalDatabase(listing, rules, part) as desk:

        def rows(
            question: questions.AuditQuestion, whole: bool = False, **values: int | None
        ) -> list[Row]:
            say(f"  {question.name}")
            return desk.ask(question, whole, **values).to_pylist()

        overview = rows(questions.OVERVIEW)
        width = step_width(overview[0]["first_us"], overview[0]["last_us"])
        desk.read_changes()
        desk.keep_answer(questions.REFUSALS)
        desk.keep_answer(questions.DUTIES)
        return {
            "overview": overview,
            "coverage": rows(questions.COVERAGE),
            "refusals": rows(questions.REFUSALS)[:REFUSALS_MAX],
            "reasons": rows(questions.REASONS),
            "obligations": rows(questions.OBLIGATIONS),
            "lateness": rows(questions.LATENESS),
            "unreadable": rows(questions.UNREADABLE),
            "load": rows(questions.LOAD, width=width, agents=AGENTS_MAX),
            "hops": rows(questions.HOPS),
            "latency": rows(questions.LATENCY),
            "rhythm": rows(questions.RHYTHM, width=width),
            "spaces": []
            if part.community
            else rows(questions.SPACES, True, since=part.since, until=part.until)[:SPACES_MAX],
        }


# -- writing ---------------------------------------------------------------------------------------


def write_report(found: AuditTables, folder: Path) -> list[Path]:
    """Write the page, its figures as JSON, and each plot as PNG where Pillow is installed.

    Gives the files, the page first. Each appears whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    charts = charts_of(found)
    contents: dict[str, bytes] = {
        REPORT: make_page(found, charts).encode(),
        FIGURES: msgspec.json.format(msgspec.json.encode(found), indent=1),
    }
    if can_paint():
        for chart in [chart for several in charts.values() for chart in several]:
            contents[f"{chart.name}.png"] = as_png(chart)
    for name, data in contents.items():
        with whole(folder / name) as new:
            new.write_bytes(data)
    return [folder / name for name in contents]
