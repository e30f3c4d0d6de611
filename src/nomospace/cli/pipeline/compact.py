"""`nomospace pipeline compact`: the tuples of journals into an archive, laid out by class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from nomospace.cli.pipeline_options import EngineOption, JournalArgument, JsonOption, MasterOption
from nomospace.cli.remote_options import Unusable
from nomospace.cli.spark import ensure_spark, progress
from nomospace.pipeline.audit.words import many
from nomospace.pipeline.jobs.compact import run_compact
from nomospace.pipeline.jobs.replay import Engine
from nomospace.pipeline.jobs.session import LOCAL


def compact(
    journals: JournalArgument,
    *,
    ontology: Annotated[
        str, typer.Option(metavar="FILE", help="The ontology: .yaml, .ttl, .rdf, .owl or .jsonld.")
    ],
    archive: Annotated[
        Path, typer.Option(metavar="DIR", help="The archive; made if it is not there.")
    ],
    whole: Annotated[
        bool, typer.Option("--whole", help="Merge all its parts into one, however large.")
    ] = False,
    master: MasterOption = LOCAL,
    engine: EngineOption = Engine.SPARK,
    as_json: JsonOption = False,
) -> None:
    """Add to an archive what the journals have and it has not, and merge what is in small parts.

    It may be read meanwhile. Run again it adds only what is new; ended in the middle it has added
    nothing, or all.
    """
    from nomospace.client.ontologies import load_ontology

    if engine in (Engine.DUCKDB, Engine.AUTO):
        raise Unusable(what=f"--engine {engine}", why="tuples are laid out by spark or process")
    known = load_ontology(ontology)
    found = run_compact(
        journals,
        known,
        archive,
        engine=engine,
        whole=whole,
        master=master,
        prepare=ensure_spark,
        say=progress,
    )
    if as_json:
        print(msgspec.json.encode(found).decode())
        return
    merged = f", {many(found.merged, 'part')} merged" if found.merged else ""
    print(
        f"{found.archive}: {many(found.tuples, 'tuple')} added from "
        f"{many(found.segments, 'segment')}{merged} in {found.took_s:.1f} s; it has "
        f"{found.tuples_in_all:,} in {many(found.parts, 'part')}"
    )
