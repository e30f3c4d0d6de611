"""`nomospace pipeline match`: which tuples of journals answer a template, by meaning, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nomospace.cli.match import show_answers
from nomospace.cli.pipeline_options import MasterOption, SkipBadOption, moment
from nomospace.cli.remote_options import Unusable
from nomospace.cli.spark import ensure_spark, progress
from nomospace.meaning.question import ANSWERS_MAX, SET_MAX, parse_template
from nomospace.pipeline.jobs.match import MatchEngine, run_match
from nomospace.pipeline.jobs.session import LOCAL


def match(
    journals: Annotated[
        list[Path] | None,
        typer.Argument(metavar="JOURNAL...", help="Folders of segments, or folders of such."),
    ] = None,
    *,
    ontology: Annotated[
        str, typer.Option(metavar="FILE", help="The ontology: .yaml, .ttl, .rdf, .owl or .jsonld.")
    ],
    template: Annotated[
        str, typer.Option(metavar="TEXT", help='Such as "(Car where price.amount < 5000, int)".')
    ],
    archive: Annotated[
        Path | None, typer.Option(metavar="DIR", help="What `compact` made of them, or of others.")
    ] = None,
    at: Annotated[
        str, typer.Option(metavar="TIME", help="Tuples that were there then; UTC. Else at the end.")
    ] = "",
    ever: Annotated[
        bool, typer.Option("--ever", help="Also those that were taken or expired before.")
    ] = False,
    space: Annotated[str, typer.Option(metavar="NAME", help="Only of this space.")] = "",
    correlate: Annotated[
        str, typer.Option(metavar="auto|always|never", help="Whether several may answer together.")
    ] = "auto",
    max_set: Annotated[
        int, typer.Option("--max-set", metavar="N", help="The most tuples of one answer.")
    ] = SET_MAX,
    limit: Annotated[int, typer.Option(metavar="N", help="The most answers.")] = ANSWERS_MAX,
    engine: Annotated[MatchEngine, typer.Option(help="Where to do it.")] = MatchEngine.SPARK,
    master: MasterOption = LOCAL,
    scratch: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For passing files; a cluster's workers must see it."),
    ] = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Find tuples that answer a template, in an archive and in what is not yet compacted.

    Answers are lines of JSON, as `nomospace match` gives them; exit code 1 when a limit was met.
    """
    from nomospace.client.ontologies import load_ontology

    if not journals and archive is None:
        raise Unusable(what="the tuples", why="name journals, or --archive DIR, or both")
    known = load_ontology(ontology)
    question = parse_template(template, known, correlate=correlate, max_set=max_set, limit=limit)
    show_answers(
        run_match(
            journals or (),
            known,
            question,
            archive=archive,
            at=moment(at, "--at"),
            ever=ever,
            space=space,
            engine=engine,
            master=master,
            skip_bad=skip_bad,
            scratch=scratch,
            prepare=ensure_spark,
            say=progress,
        )
    )
