"""Matching by meaning over tuples that come with the question: a playground, and a service.

A worker reads the ontology; a thread does the rest, one question at a time, over few tuples: a host
has other things to do. Large sets are for `nomospace match`, or for a space with an ontology. An
ontology that comes here may import nothing, because it is nobody's file.
"""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from nomospace.api.models import Asked
from nomospace.api.routing import PROBLEMS, Caller, TheService
from nomospace.errors import Unavailable
from nomospace.meaning.canon import read
from nomospace.meaning.facts import Facts
from nomospace.meaning.jsonforms import read_facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import TEMPLATE_CHARS_MAX, parse_template
from nomospace.node.working import Workers

TUPLES_MAX: Final = 200
"""How many tuples one question is asked over."""
SET_MAX: Final = 4
"""How many tuples may answer together."""
UNITS_MAX: Final = 4_000_000
"""What one question may cost: about a second in a thread (`terms.budget`)."""
ANSWERS_MAX: Final = 1_000
ONTOLOGY_CHARS_MAX: Final = 200_000

router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["meaning"])
_turn: Final = asyncio.Lock()


class MatcherBusy(Unavailable):
    """Another question is being matched."""

    code = "api.matcher-busy"
    words = "another question is being matched just now; ask again in a moment"


class MatchAsked(Asked):
    """A template over tuples: `{"id": "t1", "fields": [{"class": "Car", "id": "A"}, 17]}`."""

    template: Annotated[str, Field(min_length=1, max_length=TEMPLATE_CHARS_MAX)]
    ontology: Annotated[str, Field(min_length=1, max_length=ONTOLOGY_CHARS_MAX)]
    format: Literal["yaml", "ttl"] = "yaml"
    tuples: Annotated[list[dict[str, object]], Field(max_length=TUPLES_MAX)]
    correlate: Literal["auto", "always", "never"] = "auto"
    max_set: Annotated[int, Field(ge=1, le=SET_MAX)] = SET_MAX


class MatchAnswers(BaseModel):
    """Answers with their reasons; `cut` says why some may be missing."""

    answers: list[dict[str, object]]
    cut: str
    problems: list[str]


async def read_file(work: Workers, text: str, name: str, who: str) -> Ontology:
    """The ontology of a file, read by a worker; the work is `who`'s. Raises `FaultyOntology`."""
    found = await work.ontology_file(text, name, who)
    return read(found.text, found.hash, found.name)  # which is remembered


@router.post("/match")
async def match(asked: MatchAsked, caller: Caller, service: TheService) -> MatchAnswers:
    """The tuples that answer a template, alone or together, and why."""
    name = f"ontology.{asked.format}"
    ontology = await read_file(service.work, asked.ontology, name, caller.name)
    if _turn.locked():
        raise MatcherBusy
    async with _turn:
        return await asyncio.shield(asyncio.to_thread(_matched, asked, ontology))


def _matched(asked: MatchAsked, ontology: Ontology) -> MatchAnswers:
    question = parse_template(
        asked.template,
        ontology,
        correlate=asked.correlate,
        max_set=asked.max_set,
        limit=ANSWERS_MAX,
    )
    lines = [json.dumps(one) for one in asked.tuples]
    found = Matcher(question, Facts.of(read_facts(lines, "tuples"), ontology)).all(UNITS_MAX)
    return MatchAnswers(
        answers=[one.to_data() for one in found.items],
        cut=found.cut,
        problems=list(found.problems),
    )
