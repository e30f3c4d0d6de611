"""`nomospace bench pipeline`: journals at large on Spark, beside one plain process and DuckDB.

On one machine Spark cannot win: it brings rows to Python and back, and a cluster's care with it.
What is asked is that this costs little, so that what holds on one machine holds on many. The same
journal is replayed by one process that reads with Arrow; the same archive is asked by DuckDB, with
the same plan, in SQL by the same builder. Sessions are warm: what Java does once is not counted.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.processes import PartFailed
from nomospace_lab.bench.report import Goal, at_most, information, times_floor
from nomospace_lab.bench.suites import pipeline_data as data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nomospace.meaning.answers import Answers

MASTER: Final = "local[2]"
MANY, MANY_QUICK = 2_000_000, 20_000
"""Events of the journal, and tuples of the archive."""
WARM: Final = 20_000
ROUNDS_MAX: Final = 2
"""A round takes minutes."""
TEMPLATE: Final = "(Car where price.amount < 1900, CarInsurance, CarFinance)"
"""One car in ten is as cheap; all of the two other classes have to be looked at."""
PLAIN_S: Final = 1_800.0

T = TypeVar("T")


@bench(
    "pipeline",
    "replay, match and audit of millions on Spark, beside a plain process and DuckDB",
    spark=True,
)
def pipeline(run: BenchRun) -> Iterator[BenchRow]:
    """Replay, audit, the start of a job, match; with --full, match of ten times as many tuples."""
    from nomospace.pipeline.jobs.session import open_session

    many = MANY_QUICK if run.quick else MANY
    # Before the journals, which take minutes to make: without Spark they are of no use.
    spark = open_session(MASTER, name="bench", say=run.say)
    try:
        journal, small = data.journal(run, many), data.journal(run, WARM)
        yield from _replay(run, spark, journal, small, many)
        yield _audit(run, spark, journal, many)
        yield _second(run, spark, small)
        yield from _match(run, spark, many)
    finally:
        spark.stop()


def at_least_rate(share: float) -> Goal:
    """Ours is at least so many times as quick as the floor.

    >>> at_least_rate(0.8).text
    'at least 0.8 times the rate of one plain process'
    """

    def holds(row: BenchRow) -> bool:
        return row.over_floor is not None and row.over_floor * share <= 1

    return Goal(f"at least {share:g} times the rate of one plain process", holds)


def _judged(run: BenchRun, goal: Goal) -> Goal:
    """A goal is for the usual size; of a quick look, Spark's own pace is most."""
    return information() if run.quick else goal


# -- replay ----------------------------------------------------------------------------------------


def _replay(
    run: BenchRun, spark: SparkSession, journal: Path, small: Path, many: int
) -> Iterator[BenchRow]:
    from nomospace.pipeline.jobs.replay import run_replay

    run_replay(small, spark=spark)
    ours: list[float] = []
    plain: list[dict[str, float]] = []
    for turn in range(min(run.rounds, ROUNDS_MAX)):
        run.say(f"replaying {many:,} rulings on Spark, then in one process (round {turn + 1})")
        report, took = _timed(lambda: run_replay(journal, spark=spark))
        ours.append(took)
        plain.append(_plain(journal))
        if not report.exact or report.events != many or plain[-1]["same"] != many:
            raise Bug(story=("`bench pipeline` replayed rulings otherwise than they are recorded",))
    best = min(plain, key=lambda one: one["took_s"])
    yield BenchRow(
        what=f"replay of {many:,} rulings under the recorded law, on {MASTER}",
        unit="s",
        ours=min(ours),
        floor=best["took_s"],
        goal=_judged(run, at_least_rate(0.8)),
        how="warm; the floor is one plain process that reads and sorts with Arrow",
    )
    yield BenchRow(
        what="the plain process's time outside the controller",
        unit="%",
        ours=100 * (1 - best["controller_s"] / best["took_s"]),
        goal=_judged(run, at_most(50, "%")),
        how="reading, sorting and comparing; the rest is what a live host's controllers do too",
    )


def _plain(journal: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "nomospace_lab.bench.suites.pipeline_plain", str(journal)],
        capture_output=True,
        text=True,
        timeout=PLAIN_S,
        check=False,
    )
    if done.returncode:
        raise PartFailed(part="plain process", said=done.stderr[-2_000:])
    told: dict[str, float] = msgspec.json.decode(done.stdout)
    return told


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    began = perf_counter()
    found = call()
    return found, perf_counter() - began


# -- audit -----------------------------------------------------------------------------------------


def _audit(run: BenchRun, spark: SparkSession, journal: Path, many: int) -> BenchRow:
    from nomospace.pipeline.jobs.audit import AuditEngine, run_audit

    run.say(f"auditing {many:,} rulings on Spark, then in DuckDB")
    there, ours = _timed(lambda: run_audit(journal, spark=spark))
    here, duckdb = _timed(lambda: run_audit(journal, engine=AuditEngine.DUCKDB))
    if there.tables != here.tables:
        raise Bug(story=("`bench pipeline` audited on Spark, and DuckDB found otherwise",))
    return BenchRow(
        what=f"full audit of {many:,} rulings, on {MASTER}",
        unit="s",
        ours=ours,
        peers={"DuckDB": duckdb},
        goal=_judged(run, at_most(60, "s")),
        how="every question; DuckDB answers the same ones in one process",
    )


# -- the start of a job ----------------------------------------------------------------------------


def _second(run: BenchRun, spark: SparkSession, journal: Path) -> BenchRow:
    from nomospace.pipeline.jobs.replay import run_replay

    run.say("a second job in the same session")
    starts = [
        _until_first_task(spark, lambda: run_replay(journal, spark=spark))
        for _ in range(run.rounds)
    ]
    return BenchRow(
        what="a second job in the same session, until its first task runs",
        unit="s",
        ours=min(starts),
        goal=at_most(1, "s"),
        how=f"replay of {WARM:,} rulings: segments are looked at, laws compiled, the job planned",
    )


def _until_first_task(spark: SparkSession, job: Callable[[], object]) -> float:
    """How long it takes from the call of a job until Spark is at work on it."""
    tracker: Any = spark.sparkContext.statusTracker()
    began, seen, done = perf_counter(), list[float](), Event()

    def watch() -> None:
        while not done.is_set():
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(one is not None and one.numActiveTasks for one in stages):
                seen.append(perf_counter() - began)
                return
            done.wait(0.005)

    watching = Thread(target=watch, name="bench-watch")
    watching.start()
    try:
        job()
    finally:
        done.set()
        watching.join()
    return seen[0] if seen else perf_counter() - began


# -- match -----------------------------------------------------------------------------------------


def _match(run: BenchRun, spark: SparkSession, many: int) -> Iterator[BenchRow]:
    from nomospace.meaning.question import parse_template
    from nomospace.pipeline.jobs.match import MatchEngine, run_match

    archive, ontology = data.archive(run, many, spark)
    question = parse_template(TEMPLATE, ontology, limit=10**8)

    def on_spark(archive: Path) -> Answers:
        return run_match((), ontology, question, archive=archive, spark=spark)

    def in_duckdb(archive: Path) -> Answers:
        return run_match((), ontology, question, archive=archive, engine=MatchEngine.DUCKDB)

    run.say(f"matching {many:,} tuples, on Spark and in DuckDB")
    expected = [one.tuples for one in in_duckdb(archive).items]
    if [one.tuples for one in on_spark(archive).items] != expected:
        raise Bug(story=("`bench pipeline` found answers on Spark, and DuckDB others",))
    count = len(expected)
    del expected
    ours = floor = float("inf")
    for _ in range(max(ROUNDS_MAX, min(run.rounds, 3))):
        ours = min(ours, _freed(on_spark, archive)[1])
        floor = min(floor, _freed(in_duckdb, archive)[1])
    yield BenchRow(
        what=f"all {count:,} answers of two tuples, {many:,} tuples, on {MASTER}",
        unit="s",
        ours=ours,
        floor=floor,
        goal=_judged(run, times_floor(12)),
        how="a car, its insurance and its finance; the floor is DuckDB over the same files, by the "
        "same planner",
    )
    if run.full:
        yield _grown(run, archive, ours, many, lambda: data.grown(run, archive, ontology), on_spark)


def _grown(
    run: BenchRun,
    archive: Path,
    once: float,
    many: int,
    make: Callable[[], Path],
    ask: Callable[[Path], Answers],
) -> BenchRow:
    large = make()
    few, _ = _freed(ask, archive)
    run.say(f"matching {data.TIMES * many:,} tuples on Spark")
    count, took = _freed(ask, large)
    if count != data.TIMES * few:
        raise Bug(story=(f"`bench pipeline` found {count:,} answers, and {few:,} in each part",))
    return BenchRow(
        what=f"all {count:,} answers, {data.TIMES * many:,} tuples, for every {many:,} of them",
        unit="s",
        ours=took / data.TIMES,
        floor=once,
        goal=_judged(run, times_floor(1)),
        how=f"the floor is ours over {many:,} tuples: it grows no faster than they do",
    )


def _freed(ask: Callable[[Path], Answers], archive: Path) -> tuple[int, float]:
    """How many answers there are, and how long they took; their memory is free before and after."""
    gc.collect()
    found, took = _timed(lambda: ask(archive))
    return len(found.items), took
