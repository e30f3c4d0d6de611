"""`nomospace pipeline`: jobs over journals, a command each.

What was asked for is looked at before Spark is started; progress goes to stderr, the result to
stdout.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from nomospace.cli import SAID_NO
from nomospace.cli.laboratory import plug
from nomospace.cli.match import CorrelateOption, MaxSetOption, OntologyOption, show_answers
from nomospace.cli.remote_options import (
    URLS,
    Commands,
    IdentityOption,
    JsonOption,
    TokenOption,
    TrustOption,
    Unusable,
    say,
)
from nomospace.cli.spark import ensure_spark, progress
from nomospace.meaning.question import ANSWERS_MAX, SET_MAX, parse_template
from nomospace.pipeline.audit.words import render as render_audit
from nomospace.pipeline.charts import can_paint
from nomospace.pipeline.jobs.audit import AuditEngine, run_audit, write_report
from nomospace.pipeline.jobs.compact import run_compact
from nomospace.pipeline.jobs.match import MatchEngine, run_match
from nomospace.pipeline.jobs.replay import Engine, run_replay
from nomospace.pipeline.jobs.session import LOCAL
from nomospace.pipeline.jobs.stream import RECORDS, Streamed, StreamPlan, run_stream
from nomospace.pipeline.report import FIRST_SHOWN, render as render_report
from nomospace.pipeline.segments import EventFilter, many
from nomospace.pipeline.stream.answering import AnswerEngine
from nomospace.pipeline.stream.tail import HostPlace
from nomospace.pipeline.stream.writing import LETTERS, Target

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
TemplateOption = Annotated[
    str, typer.Option(metavar="TEXT", help='Such as "(Car where price.amount < 5000, int)".')
]


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
    say(found, render_audit(found), as_json=as_json)
    if out is not None:
        written = write_report(found, out)
        progress(f"wrote {written[0]} and {len(written) - 1} files beside it")
        if not can_paint():
            progress("no PNGs: Pillow is not installed (pip install 'nomospace[spark]')")


def compact(
    journals: JournalArgument,
    *,
    ontology: OntologyOption,
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
    merged = f", {many(found.merged, 'part')} merged" if found.merged else ""
    words = (
        f"{found.archive}: {many(found.tuples, 'tuple')} added from "
        f"{many(found.segments, 'segment')}{merged} in {found.took_s:.1f} s; it has "
        f"{found.tuples_in_all:,} in {many(found.parts, 'part')}"
    )
    say(found, words, as_json=as_json)


def match(
    journals: Annotated[
        list[Path] | None,
        typer.Argument(metavar="JOURNAL...", help="Folders of segments, or folders of such."),
    ] = None,
    *,
    ontology: OntologyOption,
    template: TemplateOption,
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
    correlate: CorrelateOption = "auto",
    max_set: MaxSetOption = SET_MAX,
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
    answers = run_match(
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
    if not show_answers(answers):
        raise typer.Exit(SAID_NO)


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
    say(report, render_report(report), as_json=as_json)
    if tried is None and not report.exact:
        raise typer.Exit(1)


RECORDS_MAX: Final = 1_000_000
LIMIT: Final = 1_000_000
"""How many answers there may be, of which a batch brings some."""
TRIGGERS: Final = ("once", "available-now")
_UNITS: Final = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_UNITS_OF_DAYS: Final = {**_UNITS, "d": 86_400_000_000}


def stream(
    *,
    source: Annotated[str, typer.Option("--from", metavar="URL", help=f"The host: {URLS}")],
    template: TemplateOption,
    ontology: OntologyOption,
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
    correlate: CorrelateOption = "auto",
    max_set: MaxSetOption = SET_MAX,
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
    say(done, told(done, into), as_json=as_json)


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


app = Commands(
    """Work through whole journals, on Spark or without it.

    A journal is the folder of a host's segments, or a folder of such folders; `nomospace journal
    make` writes one to try. The first job in a checkout installs Spark.
    """
)


app.command()(audit)
app.command()(compact)
app.command()(match)
app.command()(replay)
app.command()(stream)
plug(app, "pipeline")


@app.command()
def setup() -> None:
    """Install what the jobs need, before the first one has to."""
    from nomospace.cli.spark import need_spark, progress
    from nomospace.pipeline.jobs.session import make_archive

    need_spark()
    make_archive(say=progress)
    print("Spark is installed")
