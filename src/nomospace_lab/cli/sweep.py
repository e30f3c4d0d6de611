"""`nomospace pipeline sweep`: simulated worlds over a cluster, one row a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from nomospace.cli import SAID_NO
from nomospace.cli.pipeline import MasterOption
from nomospace.cli.remote_options import JsonOption, Unusable
from nomospace.cli.spark import ensure_spark, progress
from nomospace.pipeline.jobs.session import LOCAL
from nomospace_lab.sweep.job import SweepEngine, render_sweep, run_sweep, write_worlds

SEEDS_MAX: Final = 1_000_000
"""How many worlds one sweep has: their rows come together in one process."""


def sweep(
    workload: Annotated[str, typer.Option(help="Which worlds; `nomospace sim --list`.")],
    *,
    seeds: Annotated[int, typer.Option(min=1, max=SEEDS_MAX, help="How many worlds.")] = 100,
    first: Annotated[int, typer.Option("--from", min=0, help="The first seed.")] = 0,
    master: MasterOption = LOCAL,
    engine: Annotated[SweepEngine, typer.Option(help="Where to run them.")] = SweepEngine.SPARK,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows: Parquet, or lines of JSON (.jsonl).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a simulated world for each seed, and say how many passed and what they went through.

    The same seeds give the same rows on every engine, but for the time it took. Exit code 1 when a
    world failed.
    """
    from nomospace_lab import apps
    from nomospace_lab.sim import find

    apps.load()
    chosen = find(workload)
    if out is not None and out.exists():
        raise Unusable(what=str(out), why="it is there already; name a new file")
    if out is not None and not out.resolve().parent.is_dir():
        raise Unusable(what=str(out), why="its folder is not there; make it, or name another")
    found, swept = run_sweep(
        chosen,
        range(first, first + seeds),
        engine=engine,
        master=master,
        prepare=ensure_spark,
        say=progress,
    )
    if out is not None:
        write_worlds(found, out)
    print(msgspec.json.encode(swept).decode() if as_json else render_sweep(swept))
    if swept.failed:
        raise typer.Exit(SAID_NO)
