"""`nomospace match`: which tuples of a file answer a template, by meaning, and why.

Answers go to stdout, one line of JSON each, sorted by the ids of their tuples; the rest goes to
stderr. Exit codes: 0 fine, with or without answers; 1 a limit was met and answers may be missing,
which stderr says; 2 the ontology, a tuple, the template or an option cannot be used.

An engine is found by its name in `ENGINES`: a module and a function in it that opens an
`QuestionEngine` over an ontology and tuples. Only the chosen one is loaded. SQLite and PostgreSQL
keep their tables beside a store of their own kind, so that the next question finds them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Protocol, TypeAlias

import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import Commands, Unusable
from nomospace.meaning.answers import Answers, MeaningAnswer
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.jsonforms import read_facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import Plan
from nomospace.meaning.question import ANSWERS_MAX, SET_MAX, Question, parse_template

if TYPE_CHECKING:
    from typing import TextIO

ENGINES: Final = {
    "memory": "nomospace.cli.match:open_memory",
    "sqlite": "nomospace.cli.match_engines:open_sqlite",
    "postgres": "nomospace.cli.match_engines:open_postgres",
    "duckdb": "nomospace.cli.match_engines:open_duckdb",
    "spark": "nomospace.cli.match_engines:open_spark",
}
"""Where each engine is opened, as `module:function`."""

KEEPING: Final = ("sqlite", "postgres")
"""The engines that keep tables, each beside stores of its own kind."""

app = Commands()


class QuestionEngine(Protocol):
    """Answers questions about the tuples it was opened with."""

    def plan(self, question: Question) -> Plan:
        """How it will look for answers."""

    def answers(self, plan: Plan) -> Answers:
        """All answers."""

    def first(self, plan: Plan) -> MeaningAnswer | None:
        """The one that `any` gives."""

    def close(self) -> None:
        """Let go of what it holds."""


Opener: TypeAlias = Callable[[Ontology, Iterable[Fact], str], QuestionEngine]
"""Opens an engine over tuples; the text is `--url`, empty when it was not given."""


class MemoryEngine:
    """The engine in memory."""

    def __init__(self, ontology: Ontology, facts: Iterable[Fact]) -> None:
        self._facts = Facts.of(facts, ontology)
        self._asked: Matcher | None = None

    def _matcher(self, question: Question) -> Matcher:
        """The one that has planned the question already, if it was asked last."""
        if self._asked is None or self._asked.question != question:
            self._asked = Matcher(question, self._facts)
        return self._asked

    def plan(self, question: Question) -> Plan:
        """How it will look for answers."""
        return self._matcher(question).plan

    def answers(self, plan: Plan) -> Answers:
        """All answers."""
        return self._matcher(plan.question).all()

    def first(self, plan: Plan) -> MeaningAnswer | None:
        """The one that `any` gives."""
        return self._matcher(plan.question).first()

    def close(self) -> None:
        """It holds nothing but memory."""


def open_memory(ontology: Ontology, facts: Iterable[Fact], url: str) -> QuestionEngine:
    """The engine in memory, which has no address."""
    if url:
        raise Unusable(what="--url", why="the engine memory has no address; leave it out")
    return MemoryEngine(ontology, facts)


def opener(name: str) -> Opener:
    """How to open the engine of a name.

    >>> opener("memory") is open_memory
    True
    """
    place = ENGINES.get(name)
    if place is None:
        raise Unusable(what=f"--engine {name}", why=f"it is one of {', '.join(ENGINES)}")
    module, _, function = place.partition(":")
    found: Opener = getattr(import_module(module), function)
    return found


def _show_kept(store: str) -> None:
    """`--kept`: what is kept of a store; options that are needed otherwise may be missing."""
    if store:
        from nomospace.cli.match_engines import show_kept

        show_kept(store)
        raise typer.Exit


def _drop_kept(store: str) -> None:
    """`--drop-kept`: as `--kept`, to throw it away."""
    if store:
        from nomospace.cli.match_engines import drop_kept

        drop_kept(store)
        raise typer.Exit


@app.command()
def match(
    *,
    ontology: Annotated[
        str, typer.Option(metavar="FILE", help="The ontology: .yaml, .ttl, .rdf, .owl or .jsonld.")
    ],
    tuples: Annotated[
        str, typer.Option(metavar="FILE.jsonl", help="The tuples, one a line; - is stdin.")
    ] = "",
    store: Annotated[
        str, typer.Option(metavar="URL", help="Instead: the store that has the tuples.")
    ] = "",
    space: Annotated[
        str, typer.Option(metavar="NAME", help="The space of the store's tuples.")
    ] = "",
    template: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help='Such as "(Car where price.amount < 5000, CarInsurance = B, int)".'
        ),
    ],
    any_one: Annotated[bool, typer.Option("--any", help="Give one answer: the best.")] = False,
    correlate: Annotated[
        str,
        typer.Option(
            metavar="auto|always|never",
            help="Whether several tuples may answer together: auto when none does alone.",
        ),
    ] = "auto",
    max_set: Annotated[
        int, typer.Option("--max-set", metavar="N", help="The most tuples of one answer.")
    ] = SET_MAX,
    limit: Annotated[
        int, typer.Option(metavar="N", help="The most answers; a cut is reported.")
    ] = ANSWERS_MAX,
    engine: Annotated[
        str, typer.Option(metavar="|".join(ENGINES), help="Who looks for answers.")
    ] = "memory",
    url: Annotated[
        str, typer.Option(metavar="URL", help="Where the engine's database is, if it needs one.")
    ] = "",
    keep: Annotated[
        bool,
        typer.Option(
            "--keep/--no-keep",
            help="Keep the tables that sqlite or postgres makes of its own kind of store.",
        ),
    ] = True,
    kept: Annotated[
        str,
        typer.Option(
            metavar="STORE",
            help="Show the tables that are kept of a store, and do nothing else.",
            is_eager=True,
            callback=_show_kept,
        ),
    ] = "",
    drop_kept: Annotated[
        str,
        typer.Option(
            "--drop-kept",
            metavar="STORE",
            help="Throw away the tables that are kept of a store, and do nothing else.",
            is_eager=True,
            callback=_drop_kept,
        ),
    ] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the plan instead of answers.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, which is what it does anyway.")
    ] = False,
) -> None:
    """Find the tuples that answer a template, by meaning, and say why.

    A tuple is a line {"id": "t1", "fields": [{"class": "Car", "id": "A", "properties": {…}}, 17]}.
    A template is (field, …), perhaps with `key Class` behind it: tuples that answer together must
    then hold one same object of that class. A field is Class, Class = id, Class where predicate, a
    value, or a type: int, float, str.
    """
    from nomospace.client.ontologies import load_ontology

    known = load_ontology(ontology)
    question = parse_template(template, known, correlate=correlate, max_set=max_set, limit=limit)
    given = _given(tuples, store, space)
    opened = _kept(engine, known, store, space, url) if keep and store else None
    if opened is None:
        opened = opener(engine)(known, given, url or _database_of(engine, store))
    try:
        plan = opened.plan(question)
        if explain:
            _explain(plan, as_json=as_json)
        elif any_one:
            _any(opened, plan)
        else:
            show_answers(opened.answers(plan))
    finally:
        opened.close()


def _kept(
    engine: str, ontology: Ontology, store: str, space: str, url: str
) -> QuestionEngine | None:
    """The engine over tables that are kept beside the store, where it can keep some."""
    if engine not in KEEPING or url:
        return None
    from nomospace.cli.match_engines import open_kept_engine

    return open_kept_engine(engine, ontology, store, space)


def _database_of(engine: str, store: str) -> str:
    """Where an engine is that was given no address: in the store's own database, if it has one."""
    if engine != "postgres" or not store.startswith(("postgresql://", "postgres://")):
        return ""
    from nomospace.store.postgres import PostgresStore

    return PostgresStore(store).database


def _explain(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        networks = [
            {"kind": one.kind, "tuples": one.size, "plan": one.explain()} for one in plan.networks
        ]
        print(json.dumps({"question": str(plan.question), "networks": networks, "cut": plan.cut}))
    else:
        print(plan.explain())


def _any(engine: QuestionEngine, plan: Plan) -> None:
    found = engine.first(plan)
    if found is not None:
        _print([found])
    elif plan.cut:
        _cut(plan.cut)


def show_answers(answers: Answers) -> None:
    """Print answers, what went wrong with some, and whether any may be missing (then exit 1)."""
    _print(answers.items)
    sys.stdout.flush()
    for problem in answers.problems:
        print(f"nomospace match: {problem}; its object was left out", file=sys.stderr)
    if answers.cut:
        _cut(answers.cut)


def _cut(why: str) -> None:
    print(
        f"nomospace match: cut: {why}; answers may be missing: ask for less, or raise the limit",
        file=sys.stderr,
    )
    raise typer.Exit(SAID_NO)


def _print(answers: Iterable[MeaningAnswer]) -> None:
    for answer in answers:
        print(json.dumps(answer.to_data(), ensure_ascii=False))


def _given(tuples: str, store: str, space: str) -> Iterator[Fact]:
    """The tuples, from a file or from a space of a store."""
    if bool(tuples) == bool(store) or bool(store) != bool(space):
        raise Unusable(what="the tuples", why="give --tuples FILE, or --store URL and --space NAME")
    if tuples:
        return _facts(tuples)
    from nomospace.cli.match_engines import stored

    return stored(store, space)


def _facts(name: str) -> Iterator[Fact]:
    if name == "-":
        yield from read_facts(_lines(sys.stdin, "<stdin>"), "<stdin>")
        return
    try:
        with Path(name).open(encoding="utf-8") as file:
            yield from read_facts(_lines(file, name), name)
    except OSError as error:
        raise Unusable(what=name, why=f"cannot be read: {error.strerror}") from None


def _lines(file: TextIO, name: str) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise Unusable(what=name, why=f"byte {error.start} of a part is no UTF-8") from None
