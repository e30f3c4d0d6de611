"""The job `sweep`: thousands of simulated worlds, on a cluster or in this process, a row each."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.pipeline.jobs.session import LOCAL, Say, check_master, session_for
from nomospace_lab.sim import Workload
from nomospace_lab.sweep.rows import WORLDS, sweep, sweep_here, which

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED_SHOWN: Final = 20
"""How many failed seeds a summary names."""
SAY_S: Final = 5.0


class SweepEngine(StrEnum):
    """Where worlds are run: on Spark, or one after the other in this process."""

    SPARK = "spark"
    PROCESS = "process"


class Swept(msgspec.Struct, frozen=True):
    """A sweep added up. Latencies are the medians over worlds, in the worlds' own time."""

    workload: str
    engine: str
    seeds: int
    first: int
    passed: int
    failed: tuple[int, ...]
    rulings: int
    messages: int
    lost: int
    crashes: int
    hops_mean: float | None
    latency_p50_us: int | None
    latency_p99_us: int | None
    worlds_s: float
    took_s: float


def run_sweep(
    workload: Workload,
    seeds: range,
    *,
    engine: SweepEngine = SweepEngine.SPARK,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> tuple[pa.Table, Swept]:
    """Run a world for each seed: rows of `WORLDS` in the order of seeds, and their sum.

    `spark` and `prepare` are as in every job. Raises what `open_session` does.
    """
    on_spark = engine is SweepEngine.SPARK
    made_here = on_spark and spark is None
    if made_here:
        check_master(master)
    with session_for(spark, master, wanted=on_spark, prepare=prepare, say=say) as used:
        began = monotonic()
        say(f"running {len(seeds):,} worlds of {workload.name}")
        if used is not None:
            found: pa.Table = sweep(used, which(workload), seeds).toArrow().cast(WORLDS)
        else:
            found = _here(workload, seeds, say)
    found = found.sort_by("seed")
    name = f"spark {master}" if made_here else str(engine)
    return found, _add_up(found, workload.name, name, seeds, monotonic() - began)


def _here(workload: Workload, seeds: range, say: Say) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    said = monotonic()
    for batch in sweep_here(which(workload), seeds):
        batches.append(batch)
        if monotonic() - said >= SAY_S:
            said = monotonic()
            say(f"  {len(batches):,} of {len(seeds):,} worlds")
    return pa.Table.from_batches(batches, schema=WORLDS)


def _add_up(found: pa.Table, workload: str, engine: str, seeds: range, took_s: float) -> Swept:
    rows: list[dict[str, Any]] = found.to_pylist()

    def total(name: str) -> Any:
        return sum(row[name] or 0 for row in rows)

    def median(name: str) -> Any:
        known = sorted(row[name] for row in rows if row[name] is not None)
        return known[(len(known) - 1) // 2] if known else None

    return Swept(
        workload=workload,
        engine=engine,
        seeds=len(rows),
        first=seeds.start,
        passed=sum(row["passed"] for row in rows),
        failed=tuple([row["seed"] for row in rows if not row["passed"]]),
        rulings=total("rulings"),
        messages=total("messages"),
        lost=total("lost"),
        crashes=total("crashes"),
        hops_mean=median("hops_mean"),
        latency_p50_us=median("latency_p50_us"),
        latency_p99_us=median("latency_p99_us"),
        worlds_s=round(total("took_s"), 3),
        took_s=round(took_s, 3),
    )


def write_worlds(found: pa.Table, out: Path) -> None:
    """Write the rows as Parquet, or as lines of JSON where the name ends in `.jsonl`."""
    beside = out.with_name(f".{out.name}.new")
    try:
        if out.suffix == ".jsonl":
            beside.write_bytes(msgspec.json.Encoder().encode_lines(found.to_pylist()))
        else:
            pq.write_table(found, beside, compression="zstd")
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)


def render_sweep(swept: Swept) -> str:
    """The sum for people."""
    last = swept.first + swept.seeds - 1
    lost = f"{swept.lost:,} lost, {swept.crashes:,} crashes"
    lines = [
        f"{swept.workload}: {swept.passed:,} of {swept.seeds:,} worlds passed",
        f"  seeds {swept.first} to {last}; {swept.engine}, {swept.took_s:.1f} s",
        f"  {swept.rulings:,} rulings, {swept.messages:,} messages, {lost}",
    ]
    if swept.latency_p50_us is not None and swept.latency_p99_us is not None:
        half, most = swept.latency_p50_us / 1e3, swept.latency_p99_us / 1e3
        lines.append(f"  half had arrived within {half:,.1f} ms, 99 of 100 within {most:,.1f} ms")
    if swept.hops_mean is not None:
        lines.append(f"  {swept.hops_mean:.2f} hops a message that leaves its host")
    if swept.failed:
        lines.append("failed; replay them with:")
        lines += [
            f"  nomospace sim --workload {swept.workload} --seed {seed}"
            for seed in swept.failed[:FAILED_SHOWN]
        ]
        if len(swept.failed) > FAILED_SHOWN:
            lines.append(f"  and {len(swept.failed) - FAILED_SHOWN:,} more")
    return "\n".join(lines)
