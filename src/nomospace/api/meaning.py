"""Ontologies to look at, and a playground: which tuples answer a template, and what joins them.

An ontology is one that a space of the host speaks, or a text that somebody is writing. Reading and
matching are done in a thread, one at a time, over few tuples: a host has other things to do, and
for what is large there is the command line.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from nomospace.api.forms import pieces_of
from nomospace.api.matching import SET_MAX, TUPLES_MAX, UNITS_MAX, read_file
from nomospace.api.service import Service
from nomospace.errors import CallerError
from nomospace.meaning.answers import MeaningAnswer
from nomospace.meaning.assign import Made, ServingField, tied
from nomospace.meaning.facts import Facts
from nomospace.meaning.jsonforms import json_of, read_facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import PLAIN, Dependence, Ontology
from nomospace.meaning.question import parse_template
from nomospace.node.views import Views
from nomospace.node.working import Workers
from nomospace.terms import Term, freeze
from nomospace.terms.objects import is_object

CLASSES_MAX: Final = 1_000
"""How many classes are shown."""
TEXT_CHARS_MAX: Final = 200_000
"""The longest ontology, and the longest text of tuples."""
ANSWERS_MAX: Final = 100
PARTS_MAX: Final = 8
"""How many parts of a template are tried alone, to see what is near."""
NEAR_MAX: Final = 3
KnownOntology: TypeAlias = Ontology
"""An ontology that was read: pages keep it between questions."""
_turn: Final = asyncio.Lock()


class TooMuchToPlay(CallerError):
    """More was given to the playground than it takes."""

    code = "api.too-much-to-play"
    words = "{what}: over {limit:,}, which is too much here; use `nomospace match`"
    what: str
    limit: int


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a tuple: what it is called, and what else it says."""

    label: str
    more: str


@dataclass(frozen=True, slots=True)
class JoinView:
    """What joins tuples of an answer: an object they share, or a tie of a computed property.

    `spots` are fields, as the tuple's id and the field's place from 0.
    """

    kind: str
    words: str
    spots: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer: its tuples with their fields, what serves the template, and why."""

    kind: str
    tuples: tuple[tuple[str, tuple[FieldView, ...]], ...]
    serves: tuple[FieldView, ...]
    served_by: tuple[tuple[str, int] | None, ...]
    why: str
    because: tuple[str, ...]
    joins: tuple[JoinView, ...]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A tuple that answers nearly: what of the template it has, and what it lacks."""

    id: str
    fields: tuple[FieldView, ...]
    has: tuple[str, ...]
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlayedView:
    """All answers; `cut` says why some may be missing. Where there is none, what is `near`."""

    answers: tuple[AnswerView, ...]
    cut: str
    problems: tuple[str, ...]
    near: tuple[NearMiss, ...] = ()


# -- ontologies ------------------------------------------------------------------------------------


def spoken(service: Service) -> dict[str, tuple[Ontology, tuple[str, ...]]]:
    """The ontologies that spaces of a host speak, by hash, each with the spaces that do."""
    found: dict[str, tuple[Ontology, tuple[str, ...]]] = {}
    for space, ontology in service.ontologies():
        if ontology.hash != PLAIN.hash:
            before = found.get(ontology.hash, (ontology, ()))[1]
            found[ontology.hash] = (ontology, tuple(dict.fromkeys([*before, space])))
    return found


async def read_text(work: Workers, text: str, format: str = "yaml", *, who: str = "") -> Ontology:
    """An ontology from its text; it may import nothing. Raises `FaultyOntology`."""
    if len(text) > TEXT_CHARS_MAX:
        raise TooMuchToPlay(what="characters of the ontology", limit=TEXT_CHARS_MAX)
    return await read_file(work, text, f"ontology.{format}", who)


def text_of(ontology: Ontology) -> str:
    """An ontology as a text that says the same, in YAML; names of a joined one's properties apart.

    >>> from nomospace.meaning.reading import read_ontology
    >>> text = "{name: c, classes: {Car: {synonyms: Auto}, Van: {parents: Car}}}"
    >>> cars = read_ontology(text, "c.yaml")
    >>> print(text_of(cars), end="")
    name: "c"
    classes:
      "Car": {"synonyms": ["Auto"]}
      "Van": {"parents": ["Car"]}
    >>> read_ontology(text_of(cars), "c.yaml").hash == cars.hash
    True
    """
    lines = [f"name: {_json(ontology.name)}", "classes:"]
    for name in sorted(ontology.classes):
        one = ontology.classes[name]
        depends = {key: [_way(made) for made in listed] for key, listed in one.depends.items()}
        said = {
            "synonyms": list(one.synonyms),
            "parents": list(one.parents),
            "properties": dict(one.properties),
            "depends": depends,
        }
        facts = {key: value for key, value in said.items() if value}
        lines.append(f"  {_json(name)}: {_json(facts)}")
    return "\n".join(lines) + "\n"


def _way(made: Dependence) -> dict[str, str]:
    return {"function": made.text, **({"when": made.condition} if made.when else {})}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def classes_of(ontology: Ontology) -> list[dict[str, object]]:
    """The classes as they were declared, for a page that draws them: so many as it shows.

    >>> from nomospace.meaning.reading import read_ontology
    >>> cars = read_ontology("classes: {Car: {synonyms: Auto}, Van: {parents: Car}}", "c.yaml")
    >>> [(one["name"], one["parents"]) for one in classes_of(cars)]
    [('Car', ()), ('Van', ('Car',))]
    """
    return [
        {
            "name": name,
            "synonyms": one.synonyms,
            "parents": one.parents,
            "properties": sorted(one.properties.items()),
            "depends": [
                {
                    "property": made.property,
                    "function": made.text,
                    "when": list(map(str, made.when)),
                    "inputs": made.inputs,
                }
                for listed in one.depends.values()
                for made in listed
            ],
        }
        for name, one in sorted(ontology.classes.items())[:CLASSES_MAX]
    ]


# -- the playground --------------------------------------------------------------------------------


async def check_question(
    work: Workers, ontology: str, format: str, template: str, *, who: str = ""
) -> None:
    """Raise what is wrong with a template over an ontology's text, or with the text."""
    parse_template(template, await read_text(work, ontology, format, who=who))


async def play(
    ontology: Ontology, tuples: str, template: str, *, correlate: str = "auto"
) -> PlayedView:
    """Which of some tuples (lines of JSON) answer a template, and what joins them.

    Raises `BadTupleLine`, what `parse_template` does, and `TooMuchToPlay`.
    """
    if len(tuples) > TEXT_CHARS_MAX:
        raise TooMuchToPlay(what="characters of tuples", limit=TEXT_CHARS_MAX)
    async with _turn:
        return await asyncio.to_thread(played, ontology, tuples, template, correlate)


def played(ontology: Ontology, tuples: str, template: str, correlate: str = "auto") -> PlayedView:
    """What `play` gives.

    >>> from nomospace.meaning.reading import read_ontology
    >>> cars = read_ontology("classes: {Car: {}, Van: {parents: Car}, Loan: {}}", "c.yaml")
    >>> lines = [[{"class": "Van", "id": "A"}], [{"class": "Van", "id": "A"}, {"class": "Loan"}]]
    >>> text = "".join(
    ...     json.dumps({"id": f"t{at}", "fields": one}) + chr(10) for at, one in enumerate(lines))
    >>> [(one.kind, one.why) for one in played(cars, text, "(Car, Loan)").answers]
    [('semantic', 'Van is a Car')]
    """
    question = parse_template(
        template, ontology, correlate=correlate, max_set=SET_MAX, limit=ANSWERS_MAX
    )
    facts = list(read_facts(tuples.split("\n"), "tuples"))
    if len(facts) > TUPLES_MAX:
        raise TooMuchToPlay(what="tuples", limit=TUPLES_MAX)
    known = Facts.of(facts, ontology)
    found = Matcher(question, known).all(UNITS_MAX)
    answers = tuple([_answer(one) for one in found.items])
    near = () if answers else nearest(ontology, known, template)
    return PlayedView(answers, found.cut, tuple(found.problems), near)


def nearest(ontology: Ontology, known: Facts, template: str) -> tuple[NearMiss, ...]:
    """The tuples that have most of a template that nothing answers.

    A part with a condition that none meets is tried without it, so that it is told which is which.

    >>> from nomospace.meaning.reading import read_ontology
    >>> cars = read_ontology("classes: {Car: {properties: {doors: integer}}, Loan: {}}", "c.yaml")
    >>> fields = [{"class": "Car", "properties": {"doors": 3}}]
    >>> known = Facts.of(list(read_facts([json.dumps({"id": "t", "fields": fields})], "t")), cars)
    >>> [(one.has, one.lacks) for one in nearest(cars, known, "(Car where doors > 4, Loan)")]
    [(('Car',), ('where doors > 4', 'Loan'))]
    """
    has: dict[str, dict[str, None]] = {}
    rows: dict[str, tuple[Term, ...]] = {}
    parts = [part for part in pieces_of(template) if part][:PARTS_MAX]
    wanted = [piece for part in parts for piece in _halves(part)]
    for part in parts:
        for asked in dict.fromkeys((part, _halves(part)[0])):
            question = parse_template(
                f"({asked})", ontology, correlate="never", max_set=SET_MAX, limit=ANSWERS_MAX
            )
            for answer in Matcher(question, known).all(UNITS_MAX // PARTS_MAX).items:
                for row in answer.rows:
                    rows[row.id] = row.fields
                    has.setdefault(row.id, {}).update(dict.fromkeys(_halves(asked)))
    order = sorted(has, key=lambda id: (-len(has[id]), id))[:NEAR_MAX]
    return tuple(
        [
            NearMiss(
                id,
                tuple(map(_field, rows[id])),
                tuple([one for one in wanted if one in has[id]]),
                tuple([one for one in wanted if one not in has[id]]),
            )
            for id in order
        ]
    )


def _halves(part: str) -> list[str]:
    """A part of a template, and its condition apart.

    >>> _halves("Car where doors > 4"), _halves("CarInsurance = B"), _halves("Loan")
    (['Car', 'where doors > 4'], ['CarInsurance', '= B'], ['Loan'])
    """
    found = re.match(r"\s*([\w.]+)\s*((?:where\b|=).*)?$", part, re.DOTALL)
    return [one for one in found.groups() if one] if found else [part.strip()]


def lines_of(views: Views, space: str) -> str:
    """The tuples of a space at a host, as lines for `play`: so many as it takes."""
    lines: list[str] = []
    size = 0
    for one in views.tuples(space, limit=TUPLES_MAX).tuples:
        fields = [json_of(freeze(field)) for field in one.fields]
        line = _json({"id": one.id, "fields": fields})
        size += len(line) + 1
        if size > TEXT_CHARS_MAX:
            break
        lines.append(f"{line}\n")
    return "".join(lines)


def _answer(answer: MeaningAnswer) -> AnswerView:
    assignment = answer.assignment
    served = [(one.row.id, one.at) if isinstance(one, ServingField) else None for one in assignment]
    rows = sorted(answer.rows, key=lambda row: row.id)
    return AnswerView(
        answer.kind,
        tuple([(row.id, tuple(map(_field, row.fields))) for row in rows]),
        tuple(map(_field, answer.fields)),
        tuple(served),
        answer.why,
        tuple(answer.because),
        (*_shared(answer), *_tied(assignment)),
    )


def _shared(answer: MeaningAnswer) -> Iterator[JoinView]:
    assigner = answer.assigner
    rows = sorted(answer.rows, key=lambda row: row.id)
    for identity, holders in assigner.shares(rows).items():
        if len(holders) > 1:
            spots = [
                (row.id, at)
                for row in holders
                for at, value in enumerate(row.seen)
                if is_object(value) and assigner.identity(value) == identity
            ]
            first = holders[0].fields[spots[0][1]]
            yield JoinView("shared", _field(first).label, tuple(spots))


def _tied(assignment: Sequence[object]) -> Iterator[JoinView]:
    for choice in assignment:
        if isinstance(choice, Made):
            for left, right, tie in tied(choice):
                if isinstance(left, ServingField) and isinstance(right, ServingField):
                    spots = ((left.row.id, left.at), (right.row.id, right.at))
                    yield JoinView("tied", str(tie), spots)


def _field(value: Term) -> FieldView:
    """A field in words.

    >>> from nomospace.terms import obj
    >>> _field(obj("Car", "A", doors=5)), _field(17)
    (FieldView(label='Car A', more='doors 5'), FieldView(label='17', more=''))
    """
    data = json_of(value)
    if not is_object(value) or not isinstance(data, dict):
        return FieldView(_json(data), "")
    identity = data.get("id")
    called = "" if identity is None else f" {identity}"
    more = ", ".join(_properties(data.get("properties", {}), ""))
    return FieldView(f"{data.get('class', '')}{called}", more)


def _properties(data: Mapping[str, object], before: str) -> Iterator[str]:
    for name, value in data.items():
        if isinstance(value, dict) and "class" not in value:
            yield from _properties(value, f"{before}{name}.")
        else:
            yield f"{before}{name} {_json(value)}"
