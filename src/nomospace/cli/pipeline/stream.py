"""`nomospace pipeline stream`: keep answering a template over a live journal, and act on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from nomospace.cli.pipeline_options import JsonOption, MasterOption
from nomospace.cli.remote_options import URLS, IdentityOption, TokenOption, TrustOption, Unusable
from nomospace.cli.spark import ensure_spark, progress
from nomospace.meaning.question import SET_MAX, parse_template
from nomospace.pipeline.jobs.session import LOCAL
from nomospace.pipeline.jobs.stream import RECORDS, Streamed, StreamPlan, run_stream
from nomospace.pipeline.stream.answering import AnswerEngine
from nomospace.pipeline.stream.tail import HostPlace
from nomospace.pipeline.stream.writing import LETTERS, Target

RECORDS_MAX: Final = 1_000_000
LIMIT: Final = 1_000_000
"""How many answers there may be, of which a batch brings some."""
TRIGGERS: Final = ("once", "available-now")
_UNITS: Final = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_UNITS_OF_DAYS: Final = {**_UNITS, "d": 86_400_000_000}


def stream(
    *,
    source: Annotated[str, typer.Option("--from", metavar="URL", help=f"The host: {URLS}")],
    template: Annotated[
        str, typer.Option(metavar="TEXT", help='Such as "(Car where price.amount < 5000, int)".')
    ],
    ontology: Annotated[
        str, typer.Option(metavar="FILE", help="The ontology: .yaml, .ttl, .rdf, .owl or .jsonld.")
    ],
    into: Annotated[str, typer.Option(metavar="SPACE", help="The space for the answers.")],
    checkpoint: Annotated[
        Path, typer.Option(metavar="DIR", help="How far it is; to go on, name it again.")
    ],
    as_: Annotated[
        str, typer.Option("--as", metavar="AGENT", help="Who writes; if none, the identity's.")
    ] = "",
    to: Annotated[
        str, typer.Option(metavar="URL", help="The host of that space, if it is another.")
    ] = "",
    law: Annotated[str, typer.Option(metavar="FILE", help="The law of that space.")] = "",
    trigger: Annotated[
        str, typer.Option(metavar="TIME|once|available-now", help="How often; 500ms, 1s, 5m.")
    ] = "1s",
    name: Annotated[str, typer.Option(metavar="WORD", help="What answers are called.")] = "stream",
    space: Annotated[str, typer.Option(metavar="NAME", help="Only tuples of this space.")] = "",
    journal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The host's segments, for what it has no more."),
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="start|now|N", help="The first record, in a new checkpoint.")
    ] = "start",
    ever: Annotated[
        bool, typer.Option("--ever", help="Tuples that were taken or expired answer, too.")
    ] = False,
    keep: Annotated[
        str, typer.Option(metavar="TIME", help="Forget tuples after so long: 30m, 12h, 7d.")
    ] = "",
    records: Annotated[
        int, typer.Option(min=1, max=RECORDS_MAX, help="The most records of one batch.")
    ] = RECORDS,
    correlate: Annotated[
        str, typer.Option(metavar="auto|always|never", help="Whether several may answer together.")
    ] = "auto",
    max_set: Annotated[
        int, typer.Option("--max-set", metavar="N", help="The most tuples of one answer.")
    ] = SET_MAX,
    limit: Annotated[
        int,
        typer.Option(
            min=1,
            max=LIMIT,
            help="The most answers: of a batch in memory, on Spark among all tuples it keeps.",
        ),
    ] = LIMIT,
    engine: Annotated[
        AnswerEngine, typer.Option(help="Who looks for answers; auto: memory while it is enough.")
    ] = AnswerEngine.AUTO,
    token: TokenOption = "",
    identity: IdentityOption = "",
    trust: TrustOption = "",
    master: MasterOption = LOCAL,
    as_json: JsonOption = False,
) -> None:
    """Answer a template over the journal of a running host, and write the answers into a space.

    Each answer is written once, also when the job is killed and started again: with the same
    checkpoint. Answers that the law of the space refuses become letters in SPACE.refused, a private
    space of the agent's. Reading the journal takes the scope operator. Ctrl-C ends it.
    """
    from nomospace.client.dialling import Url
    from nomospace.client.ontologies import load_ontology

    known = load_ontology(ontology)
    question = parse_template(template, known, correlate=correlate, max_set=max_set, limit=limit)
    urls = (source, to or source)
    if token and not all(Url(url).secure for url in urls):
        why = "a host that is not encrypted must not be shown a token; leave it away"
        raise Unusable(what="--token", why=why)
    reading = HostPlace(url=urls[0], token=token, identity="" if token else identity, trust=trust)
    writing = HostPlace(
        url=urls[1], token="" if identity else token, identity=identity, trust=trust
    )
    if not (as_ or token or identity):
        raise Unusable(what="--as", why="say as which agent to write, or give an identity")
    plan = StreamPlan(
        source=reading,
        target=Target(place=writing, space=into, agent=as_, law=law),
        checkpoint=checkpoint,
        name=name,
        space=space,
        journal=_folder(journal),
        since=_first(since),
        records=records,
        trigger=trigger if trigger in TRIGGERS else micros("--trigger", trigger, _UNITS) / 1e6,
        ever=ever,
        keep_us=micros("--keep", keep, _UNITS_OF_DAYS) if keep else 0,
        engine=engine,
    )
    done = run_stream(plan, known, question, master=master, prepare=ensure_spark, say=progress)
    print(msgspec.json.encode(done).decode() if as_json else told(done, into))


def told(done: Streamed, into: str) -> str:
    """What a run has done, for people.

    >>> print(told(Streamed(batches=3, tuples=40, answers=7, took_s=2.0), "answers"))
    3 batches with 40 of tuples in 2.0 s: 7 answers in answers
    """
    words = f"{done.batches:,} batches with {done.tuples:,} of tuples in {done.took_s:.1f} s: "
    words += f"{done.answers:,} answers in {into}"
    return words + (f", {done.refused:,} refused in {into}{LETTERS}" if done.refused else "")


def micros(option: str, text: str, units: dict[str, int]) -> int:
    """A time as people write it, in microseconds.

    >>> micros("--keep", "90m", _UNITS)
    5400000000
    """
    found = re.fullmatch(r"(\d{1,9})([a-z]+)", text)
    if found is None or found[2] not in units or not int(found[1]):
        why = f"it is no time; write a number and {', '.join(units)}, as in 5m"
        raise Unusable(what=f"{option} {text}", why=why)
    return int(found[1]) * units[found[2]]


def _first(since: str) -> str:
    if since not in ("start", "now") and not since.isdecimal():
        raise Unusable(what=f"--since {since}", why="it is start, now, or the number of a record")
    return since


def _folder(journal: Path | None) -> str:
    if journal is not None and not journal.is_dir():
        raise Unusable(what=f"--journal {journal}", why="it is no folder; name the host's segments")
    return "" if journal is None else str(journal.resolve())
