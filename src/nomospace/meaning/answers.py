"""Answers: which tuples, what serves each field of the template, and why.

An answer keeps its tuples and works the rest out when it is asked: most of a hundred thousand
answers are never looked into. Whatever engine found the tuples, the fields and the words come from
here, so engines cannot differ in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from nomospace.meaning.assign import Assignment, Choice, Made, QuestionAssigner, ServingField, tied
from nomospace.meaning.facts import FactRow
from nomospace.meaning.jsonforms import json_of
from nomospace.meaning.plan import CORRELATION, EXACT, SEMANTIC
from nomospace.meaning.question import ClassField
from nomospace.terms.objects import class_of, is_object
from nomospace.terms.text import show
from nomospace.terms.values import ObjectTerm, Term


class MeaningAnswer(msgspec.Struct, gc=False, eq=False):
    """One answer to a question; `kind` is exact, semantic or correlation."""

    kind: str
    rows: tuple[FactRow, ...]
    """In the order of the facts."""
    assigner: QuestionAssigner

    @property
    def tuples(self) -> tuple[str, ...]:
        """The ids of its tuples, sorted."""
        return tuple(sorted([row.id for row in self.rows]))

    @property
    def assignment(self) -> Assignment:
        """What serves each field."""
        found = self.assigner.least(self.rows, single=self.kind != CORRELATION, hang=True)
        assert found is not None, [row.id for row in self.rows]
        return found

    @property
    def fields(self) -> tuple[Term, ...]:
        """What serves each field of the template, as it was written."""
        return tuple([_written(choice) for choice in self.assignment])

    @property
    def because(self) -> list[str]:
        """Every reason, each as a short sentence."""
        return list(dict.fromkeys(_reasons(self, self.assignment)))

    @property
    def why(self) -> str:
        """The reasons in one line."""
        return _why(self, self.because)

    def told(self) -> tuple[tuple[Term, ...], str]:
        """What serves each field, and why, worked out together."""
        assignment = self.assignment
        because = list(dict.fromkeys(_reasons(self, assignment)))
        return tuple([_written(choice) for choice in assignment]), _why(self, because)

    def to_data(self) -> dict[str, Any]:
        """What `nomospace match` prints of an answer."""
        assignment = self.assignment
        because = list(dict.fromkeys(_reasons(self, assignment)))
        return {
            "kind": self.kind,
            "tuples": [written_id(id) for id in self.tuples],
            "fields": [json_of(_written(choice)) for choice in assignment],
            "why": _why(self, because),
            "because": because,
        }


class Answers(NamedTuple):
    """All answers to a question, sorted by the ids of their tuples."""

    items: list[MeaningAnswer]
    cut: str = ""
    """Why answers may be missing: a limit that was reached. Empty when all are here."""
    problems: tuple[str, ...] = ()
    """What went wrong on the way without stopping it: dependence functions that raised."""


def in_order(answers: list[MeaningAnswer]) -> list[MeaningAnswer]:
    """Answers sorted by the ids of their tuples."""
    answers.sort(key=_tuples)
    return answers


def _tuples(answer: MeaningAnswer) -> list[str]:
    ids = [row.id for row in answer.rows]
    ids.sort()
    return ids


def _written(choice: Choice) -> Term:
    return choice.row.fields[choice.at] if isinstance(choice, ServingField) else choice.value


def _why(answer: MeaningAnswer, because: list[str]) -> str:
    if because:
        return "; ".join(because)
    if answer.kind == EXACT:
        return f"{written_id(answer.tuples[0])} has just these fields"
    if answer.kind == SEMANTIC:
        return f"{written_id(answer.tuples[0])} has these fields and further ones"
    return ""


def _reasons(answer: MeaningAnswer, assignment: Assignment) -> Iterator[str]:
    assigner = answer.assigner
    for field, choice in zip(assigner.question.fields, assignment, strict=True):
        if isinstance(field, ClassField):
            yield from _class_reason(assigner, field.class_name, choice)
    if len(answer.rows) > 1:
        rows = sorted(answer.rows, key=attrgetter("id"))
        for identity, holders in assigner.shares(rows).items():
            if len(holders) > 1:
                yield _shared(assigner, identity, holders)
    for choice in assignment:
        if isinstance(choice, Made):
            yield from _made_reasons(assigner, choice)


def _shared(
    assigner: QuestionAssigner, identity: tuple[str, Term], holders: Sequence[FactRow]
) -> str:
    held = next(v for v in holders[0].seen if is_object(v) and assigner.identity(v) == identity)
    return f"{_listed([row.id for row in holders])} share {_called(held)}"


def _called(value: ObjectTerm) -> str:
    class_name, identity = value.args[0], value.args[1]
    if identity is None:
        return f"an equal {class_name}"
    return f"{class_name} {identity if type(identity) is str else show(identity, limit=80)}"


def _class_reason(assigner: QuestionAssigner, class_name: str, choice: Choice) -> Iterator[str]:
    words = assigner.ontology.why(class_name, class_of(choice.value))
    if words:
        yield words


def _made_reasons(assigner: QuestionAssigner, made: Made) -> Iterator[str]:
    for class_name, choice in made.inputs:
        yield from _class_reason(assigner, class_name, choice)
        if isinstance(choice, Made):
            yield from _made_reasons(assigner, choice)
    for left, right, tie in tied(made):
        rows = [one.row.id for one in (left, right) if isinstance(one, ServingField)]
        if len(set(rows)) == 2:
            yield f"{_listed(sorted(rows))} are tied by {tie}"
    for step in made.steps:
        yield f"{step.property} = {step.text}"


def written_id(id: str) -> str:
    """A tuple's id as people are shown it everywhere; tables have a slash in its middle.

    >>> written_id("ann@ward/17"), written_id("t1")
    ('ann@ward#17', 't1')
    """
    writer, _, count = id.rpartition("/")
    return f"{writer}#{count}" if "@" in writer and count.isdecimal() else id


def _listed(ids: Sequence[str]) -> str:
    """Ids as a sentence has them.

    >>> _listed(["t1", "t2", "t3"])
    't1, t2 and t3'
    """
    names = [written_id(id) for id in ids]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
