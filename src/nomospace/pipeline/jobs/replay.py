"""The job `replay`: a law tried on a journal, on Spark, on DuckDB or in this process.

Everything that can be wrong with what was asked for (the law, the journal, the community, the
master) is found before Spark is started: a session takes seconds, an answer of no need not.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from nomospace.law import CompiledLaw
from nomospace.pipeline.jobs.session import (
    LOCAL,
    PARTITIONS,
    Say,
    check_master,
    is_small,
    session_for,
)
from nomospace.pipeline.laws import (
    LawSource,
    choose_laws,
    named_laws,
    recorded_laws,
    short,
    source_of,
)
from nomospace.pipeline.replay import (
    HISTORIES,
    Trial,
    as_table,
    replay,
    replay_duckdb,
    replay_process as replay_here,
)
from nomospace.pipeline.report import FIRST_SHOWN, ReplayReport, add_up
from nomospace.pipeline.segments import (
    Folders,
    JournalFiles,
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
    from pyspark.sql import SparkSession

ROWS_A_PARTITION: Final = 100_000
PARTITIONS_MAX: Final = 10_000
"""A partition is some seconds of work, whatever the cluster is like."""
TABLES: Final = ("events", "checkpoints", "laws")


class Engine(StrEnum):
    """Where histories are brought together: on Spark, by DuckDB, or in this process's memory.

    `auto` is in this process where a journal is small, else Spark.
    """

    SPARK = "spark"
    DUCKDB = "duckdb"
    PROCESS = "process"
    AUTO = "auto"


@holding
def run_replay(
    folders: Folders,
    law: CompiledLaw | None = None,
    *,
    community: str = "",
    engine: Engine = Engine.SPARK,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    skip_bad: bool = False,
    deep: bool = False,
    first: int = FIRST_SHOWN,
    out: Path | None = None,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> ReplayReport:
    """Try a law on the histories of its community, or without one each history's own.

    `spark` is a session to use instead of making one; before one is made `prepare` is called, once
    nothing speaks against it any more. Files are inspected first (`segments`); with `deep` all
    their columns are compared with their bodies. `out` is a Parquet file for what was found of each
    member. Raises `NoJournal`, `BadSegments`, `OtherCommunity`, `TooLarge`, and what `open_session`
    does.
    """
    if engine is Engine.AUTO:
        small = is_small(folders, say)
        engine = Engine.PROCESS if small and spark is None else Engine.SPARK
    elif engine is Engine.SPARK and spark is None:
        is_small(folders, say, hint=True)
    if engine is Engine.SPARK and spark is None:
        check_master(master)
    listing = list_journal(folders, TABLES).sound(skip_bad=skip_bad)
    there = engine is Engine.SPARK and is_large(listing)
    if not there:
        listing = inspected(listing, deep=deep, skip_bad=skip_bad)
    trial, lost = make_trial(listing, law, community, say)
    on_spark = engine is Engine.SPARK
    with session_for(spark, master, wanted=on_spark, prepare=prepare, say=say) as used:
        began = monotonic()
        if there:
            listing = inspected(listing, deep=deep, skip_bad=skip_bad, spark=used)
        say(f"replaying {many(listing.rows['events'], 'event')}")
        with named_faults(folders, TABLES, skip_bad=skip_bad):
            if used is not None:
                found = _on_spark(used, listing, trial)
            elif engine is Engine.DUCKDB:
                found = as_table(replay_duckdb(listing, trial))
            else:
                found = as_table(replay_here(listing, trial))
    took = monotonic() - began
    if out is not None:
        _write(found, out)
    return add_up(
        found,
        law="the recorded law" if law is None else f"{law.name} {short(law.hash)}",
        engine=f"spark {master}" if on_spark and spark is None else str(engine),
        took_s=took,
        first=first,
        faults=listing.faults,
        lost_laws=lost,
        unhashed=unhashed(listing),
        others=0 if there else _others(listing, trial),
    )


def _others(listing: JournalFiles, trial: Trial) -> int:
    """How many events are in no history that is tried."""
    tried = pa.array(list(trial.recorded), pa.string())
    laws = [batch.column("law") for batch in read_batches(listing, "events", ("law",))]
    return sum(pc.invert(pc.is_in(law, value_set=tried)).true_count for law in laws)


def make_trial(
    listing: JournalFiles,
    law: CompiledLaw | None,
    community: str = "",
    say: Say = lambda words: None,
) -> tuple[Trial, tuple[str, ...]]:
    """What to try on a journal, and the hashes of laws whose text it does not have.

    `community` is a name or the beginning of a law's hash (`laws.choose_laws`). Raises
    `OtherCommunity` when the journal has no history of it.
    """
    told = [
        (row["law"], row["community"], row["text"])
        for batch in read_batches(listing, "laws", ("law", "community", "text"))
        for row in batch.to_pylist()
    ]
    chosen = choose_laws(told, law, community)
    names = {name for _, name, _ in chosen}
    shared = [one for one in told if one[1] in names]
    if len(named_laws(shared)) > len(names):  # what is meant must be known where two have one name
        taken = ", ".join(dict.fromkeys(short(hash) for hash, _, _ in chosen))
        say(f"laws share a name: {', '.join(named_laws(shared))}")
        say(f"  taken: {taken}; --community takes another hash, or a name for all that have it")
    recorded, lost = recorded_laws(chosen)
    tried: LawSource | None = None if law is None else source_of(law)
    return Trial(tried, recorded), tuple(lost)


def _on_spark(spark: SparkSession, listing: JournalFiles, trial: Trial) -> pa.Table:
    events, checkpoints = (read_spark(spark, listing, name) for name in ("events", "checkpoints"))
    rows = listing.rows["events"]
    partitions = min(PARTITIONS_MAX, max(PARTITIONS, rows // ROWS_A_PARTITION))
    found: pa.Table = replay(events, checkpoints, trial, partitions=partitions).toArrow()
    return found.cast(HISTORIES)


def _write(found: pa.Table, out: Path) -> None:
    import pyarrow.parquet as pq

    with whole(out) as new:
        pq.write_table(found, new, compression="zstd")
