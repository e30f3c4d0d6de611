"""`nomospace pipeline audit`: who did what under which law, as a summary and as a page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from nomospace.cli.law import Unusable
from nomospace.cli.pipeline.options import JournalArgument, JsonOption, MasterOption, SkipBadOption
from nomospace.cli.spark import ensure_spark, progress
from nomospace.pipeline.audit.words import render
from nomospace.pipeline.charts import can_paint
from nomospace.pipeline.jobs.audit import AuditEngine, Part, run_audit, write_report
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
    as_json: JsonOption = False,
) -> None:
    """Say what happened: refusals and their rules, rules that rest, obligations, load, hops, time.

    With --out there is a page to read (report.html), its figures (audit.json) and each plot as PNG.
    """
    part = Part(_moment(since, "--since"), _moment(until, "--until"), community or None)
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
        prepare=ensure_spark,
        say=progress,
    )
    print(msgspec.json.encode(found).decode() if as_json else render(found))
    if out is not None:
        written = write_report(found, out)
        progress(f"wrote {written[0]} and {len(written) - 1} files beside it")
        if not can_paint():
            progress("no PNGs: Pillow is not installed (pip install 'nomospace[spark]')")


def _moment(text: str, option: str) -> int | None:
    """Microseconds since 1970 of a date or a time, UTC unless it says otherwise."""
    if not text:
        return None
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        why = "it is no time; write 2026-01-31 or 2026-01-31T08:30:00"
        raise Unusable(what=f"{option} {text}", why=why) from None
    told = told if told.tzinfo else told.replace(tzinfo=UTC)
    past = told - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
