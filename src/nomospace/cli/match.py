"""`nomospace match`: which tuples of a file answer a template, by meaning, and why.

Answers go to stdout, one line of JSON each, sorted by the ids of their tuples; the rest goes to
stderr. Exit codes: 0 fine, with or without answers; 1 a limit was met and answers may be missing,
which stderr says; 2 the ontology, a tuple, a template or an option cannot be used.

An engine is one of `ENGINES`: a `QuestionEngine` over an ontology and tuples, in this process or a
database (`match_engines`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Protocol

import typer

from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import Commands, Unusable, print_json, usable
from nomospace.meaning.answers import Answers, MeaningAnswer
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.jsonforms import read_facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import Plan
from nomospace.meaning.question import ANSWERS_MAX, SET_MAX, Question, parse_template

if TYPE_CHECKING:
    from typing import TextIO

ENGINES: Final = ("memory", "sqlite", "postgres", "duckdb", "spark")

OntologyOption = Annotated[
    str, typer.Option(metavar="FILE", help="The ontology: .yaml, .ttl, .rdf, .owl or .jsonld.")
]
CorrelateOption = Annotated[
    str,
    typer.Option(
        metavar="auto|always|never",
        help="Whether several tuples may answer together: auto when none does alone.",
    ),
]
MaxSetOption = Annotated[
    int, typer.Option("--max-set", metavar="N", help="The most tuples of one answer.")
]

app = Commands()


class QuestionEngine(Protocol):
    """Answers questions about the tuples that it has."""

    def plan(self, question: Question) -> Plan:
        """How it will look for answers."""

    def answers(self, question: Question) -> Answers:
        """All answers."""

    def first(self, question: Question) -> MeaningAnswer | None:
        """The best answer."""


class MemoryEngine:
    """The engine in this process, which compiles a question to loops over the tuples."""

    def __init__(self, ontology: Ontology, facts: Iterable[Fact]) -> None:
        self._facts = Facts.of(facts, ontology)
        self._asked: Matcher | None = None

    def _matcher(self, question: Question) -> Matcher:
        """What looks for answers to a question; a plan and its answers come from the same one."""
        if self._asked is None or self._asked.question != question:
            self._asked = Matcher(question, self._facts)
        return self._asked

    def plan(self, question: Question) -> Plan:
        """How it will look for answers."""
        return self._matcher(question).plan

    def answers(self, question: Question) -> Answers:
        """All answers."""
        return self._matcher(question).all()

    def first(self, question: Question) -> MeaningAnswer | None:
        """The best answer."""
        return self._matcher(question).first()


def opened(
    name: str, ontology: Ontology, facts: Iterable[Fact], url: str
) -> AbstractContextManager[QuestionEngine]:
    """The engine of a name, over an ontology and tuples. Only the chosen one is loaded."""
    if name not in ENGINES:
        raise Unusable(what=f"--engine {name}", why=f"it is one of {', '.join(ENGINES)}")
    if name != "memory":
        from nomospace.cli.match_engines import filled

        return filled(name, ontology, facts, url)
    if url:
        raise Unusable(what="--url", why="the engine memory has no address; leave it out")
    return nullcontext(MemoryEngine(ontology, facts))


@app.command()
def match(
    *,
    ontology: OntologyOption,
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
        list[str],
        typer.Option(
            metavar="TEXT",
            help='Such as "(Car where price.amount < 5000, int)"; repeated, one after the other.',
        ),
    ],
    any_one: Annotated[bool, typer.Option("--any", help="Give one answer: the best.")] = False,
    correlate: CorrelateOption = "auto",
    max_set: MaxSetOption = SET_MAX,
    limit: Annotated[
        int, typer.Option(metavar="N", help="The most answers; a cut is reported.")
    ] = ANSWERS_MAX,
    engine: Annotated[
        str, typer.Option(metavar="|".join(ENGINES), help="Who looks for answers.")
    ] = "memory",
    url: Annotated[
        str, typer.Option(metavar="URL", help="Where the engine's database is, if it needs one.")
    ] = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the plan instead of answers.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, which is what it does anyway.")
    ] = False,
) -> None:
    """Find the tuples that answer a template, by meaning, and say why.

    Several templates are asked of the same tuples, which are read once; each answer then says which
    `template` it is of.

    A tuple is a line {"id": "t1", "fields": [{"class": "Car", "id": "A", "properties": {…}}, 17]}.
    A template is (field, …), perhaps with `key Class` behind it: tuples that answer together must
    then hold one same object of that class. A field is Class, Class = id, Class where predicate, a
    value, or a type: int, float, str.
    """
    from nomospace.client.ontologies import load_ontology

    known = load_ontology(ontology)
    questions = [
        parse_template(text, known, correlate=correlate, max_set=max_set, limit=limit)
        for text in template
    ]
    given = _given(tuples, store, space)
    complete = True
    with opened(engine, known, given, url or _database_of(engine, store)) as source:
        for text, question in zip(template, questions, strict=True):
            asked = {"template": text} if len(template) > 1 else {}
            if explain:
                _explain(source.plan(question), as_json=as_json)
            else:
                answers = _best(source, question) if any_one else source.answers(question)
                complete &= show_answers(answers, asked)
    if not complete:
        raise typer.Exit(SAID_NO)


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
        print_json({"question": str(plan.question), "networks": networks, "cut": plan.cut})
    else:
        print(plan.explain())


def _best(engine: QuestionEngine, question: Question) -> Answers:
    found = engine.first(question)
    return Answers([], engine.plan(question).cut) if found is None else Answers([found])


def show_answers(answers: Answers, asked: Mapping[str, str] = MappingProxyType({})) -> bool:
    """Print answers, each with what was asked, and what went wrong with some.

    False where any may be missing, which is said too.
    """
    for answer in answers.items:
        print_json({**asked, **answer.to_data()})
    for problem in answers.problems:
        print(f"nomospace match: {problem}; its object was left out", file=sys.stderr)
    if answers.cut:
        why = f"{answers.cut}; answers may be missing: ask for less, or raise the limit"
        print(f"nomospace match: cut: {why}", file=sys.stderr)
    return not answers.cut


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
    with usable(name, "cannot be read"), Path(name).open(encoding="utf-8") as file:
        yield from read_facts(_lines(file, name), name)


def _lines(file: TextIO, name: str) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise Unusable(what=name, why=f"byte {error.start} of a part is no UTF-8") from None
