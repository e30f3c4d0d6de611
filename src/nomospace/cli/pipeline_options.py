"""Arguments and options that the jobs of the pipeline share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from nomospace.cli.remote_options import Unusable
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
DeepOption = Annotated[
    bool,
    typer.Option("--deep", help="Compare every column with its row's body, hashed or not."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def moment(text: str, option: str) -> int | None:
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
