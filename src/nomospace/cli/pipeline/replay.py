"""`nomospace pipeline replay`: what a law would have done with what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from nomospace.cli.pipeline_options import (
    DeepOption,
    EngineOption,
    JournalArgument,
    JsonOption,
    MasterOption,
    SkipBadOption,
)
from nomospace.cli.remote_options import Unusable
from nomospace.cli.spark import ensure_spark, progress
from nomospace.pipeline.jobs.replay import Engine, run_replay
from nomospace.pipeline.jobs.session import LOCAL
from nomospace.pipeline.report import FIRST_SHOWN, render

FIRST_MAX = 10_000


def replay(
    journals: JournalArgument,
    *,
    law: Annotated[
        str, typer.Option(metavar="FILE", help="The law to try; without it, what was in force.")
    ] = "",
    community: Annotated[
        str, typer.Option(metavar="NAME", help="Whose histories: a community, or a law's hash.")
    ] = "",
    master: MasterOption = LOCAL,
    engine: EngineOption = Engine.SPARK,
    skip_bad: SkipBadOption = False,
    deep: DeepOption = False,
    first: Annotated[
        int, typer.Option(min=0, max=FIRST_MAX, help="How many first divergences to show.")
    ] = FIRST_SHOWN,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Parquet for what was found of each member.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay histories under a law, and say what comes out otherwise, for whom first, and why.

    Each history is told to the live controller's own code. Without --law every ruling must come out
    as it was recorded; exit code 1 when one does not.
    """
    from nomospace.law import CompiledLaw
    from nomospace.law.program import load_source, read_source

    tried: CompiledLaw | None = load_source(read_source(law)) if law else None
    if out is not None and out.exists():
        raise Unusable(what=str(out), why="it is there already; name a new file")
    if out is not None and not out.resolve().parent.is_dir():
        raise Unusable(what=str(out), why="its folder is not there; make it, or name another")
    report = run_replay(
        journals,
        tried,
        community=community,
        engine=engine,
        master=master,
        skip_bad=skip_bad,
        deep=deep,
        first=first,
        out=out,
        prepare=ensure_spark,
        say=progress,
    )
    print(msgspec.json.encode(report).decode() if as_json else render(report))
    if tried is None and not report.exact:
        raise typer.Exit(1)
