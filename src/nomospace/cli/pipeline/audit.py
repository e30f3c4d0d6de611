"""`nomospace pipeline audit`: who did what under which law, as a summary and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from nomospace.cli.pipeline_options import (
    DeepOption,
    JournalArgument,
    JsonOption,
    MasterOption,
    SkipBadOption,
    moment,
)
from nomospace.cli.remote_options import Unusable
from nomospace.cli.spark import ensure_spark, progress
from nomospace.pipeline.audit.words import render
from nomospace.pipeline.charts import can_paint
from nomospace.pipeline.jobs.audit import AuditEngine, EventFilter, run_audit, write_report
from nomospace.pipeline.jobs.session import LOCAL


def audit(
    journals: JournalArgument,
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the page and its plots.")
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="From then on: 2026-01-31, or with T08:30:00. UTC.")
    ] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Before then.")] = "",
    community: Annotated[str, typer.Option(metavar="NAME", help="Only of this one.")] = "",
    master: MasterOption = LOCAL,
    engine: Annotated[
        AuditEngine, typer.Option(help="Where to ask; both give the same answers.")
    ] = AuditEngine.SPARK,
    skip_bad: SkipBadOption = False,
    deep: DeepOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what happened: refusals and their rules, rules that rest, obligations, load, hops, time.

    With --out there is a page to read (report.html), its figures (audit.json) and each plot as PNG.
    """
    part = EventFilter(moment(since, "--since"), moment(until, "--until"), community or None)
    if part.since is not None and part.until is not None and part.since >= part.until:
        raise Unusable(what=f"--until {until}", why=f"it is not after --since {since}")
    if out is not None and out.exists() and not out.is_dir():
        raise Unusable(what=str(out), why="it is a file; name a folder")
    found = run_audit(
        journals,
        part,
        engine=engine,
        master=master,
        skip_bad=skip_bad,
        deep=deep,
        prepare=ensure_spark,
        say=progress,
    )
    print(msgspec.json.encode(found).decode() if as_json else render(found))
    if out is not None:
        written = write_report(found, out)
        progress(f"wrote {written[0]} and {len(written) - 1} files beside it")
        if not can_paint():
            progress("no PNGs: Pillow is not installed (pip install 'nomospace[spark]')")
