"""Arguments and options that the jobs of the pipeline share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nomospace.pipeline.jobs.replay import Engine

JournalArgument = Annotated[
    list[Path],
    typer.Argument(metavar="JOURNAL...", help="Folders of segments, or folders of such."),
]
MasterOption = Annotated[
    str, typer.Option(metavar="URL", help="local[2], spark://machine:7077, yarn, k8s://…")
]
EngineOption = Annotated[Engine, typer.Option(help="Where to do it.")]
SkipBadOption = Annotated[
    bool,
    typer.Option("--skip-bad", help="Leave segments out that are missing, damaged or too new."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
