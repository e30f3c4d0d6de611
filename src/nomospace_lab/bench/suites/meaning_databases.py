"""The rows of `nomospace bench meaning` about databases: the same question, asked of DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.report import information, times_floor

if TYPE_CHECKING:
    from nomospace.meaning.memory import Matcher

PER_MS = 1e6


def databases(
    run: BenchRun,
    matcher: Matcher,
    floor: Callable[[], list[Any]],
    timed: Callable[[Callable[[], object]], Sample],
) -> Iterator[BenchRow]:
    """All answers and any, from tables class by class; the floor is SQL by hand over its own."""
    from nomospace.meaning.facts import Fact
    from nomospace.store.matching import StoredFactTables
    from nomospace.store.matching_duckdb import DuckdbDatabase

    facts, question = matcher.facts, matcher.question
    base = DuckdbDatabase(threads=1)  # the floor has one too
    tables = StoredFactTables(facts.ontology, base)
    run.say(f"loading {len(facts):,} tuples into DuckDB")
    tables.add(Fact(row.id, row.fields) for row in facts.rows.values())
    answers = len(tables.answers(question).items)
    if answers != len(floor()):
        raise Bug(story=(f"`bench meaning` found {answers:,} answers in DuckDB, and SQL others",))
    run.say(f"{answers:,} answers of DuckDB")
    best = run.interleave(
        {
            "all": timed(lambda: tables.answers(question)),
            "any": timed(lambda: tables.first(question)),
            "floor": timed(floor),
        }
    )
    base.close()
    how = "through the planner, SQL over tables class by class; the floor is hand-written SQL"
    yield BenchRow(
        what=f"all {answers:,} answers of two tuples by DuckDB, {len(facts):,} tuples",
        unit="ms",
        ours=best["all"] / PER_MS,
        floor=best["floor"] / PER_MS,
        goal=information(),
        how=f"{how}; ours brings the tuples themselves into Python, ready to explain",
    )
    yield BenchRow(
        what=f"any of {answers:,} answers by DuckDB, {len(facts):,} tuples",
        unit="ms",
        ours=best["any"] / PER_MS,
        floor=best["floor"] / PER_MS,
        goal=times_floor(4),
        how=f"{how} of all answers",
    )
