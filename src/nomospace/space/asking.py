"""Questions about sets of tuples, and what they are answered with, apart from how that is found.

A space that is never asked one does without `correlating` and the planner behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nomospace.space.records import TupleId
from nomospace.terms import Term, encode
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.meaning.question import Question

Name: TypeAlias = tuple[bytes, str, str, int]
"""A question: its template's bytes, how it correlates, its key and the most tuples of a set."""


class SetQuestion(NamedTuple):
    """A question about sets, as one who asks it names it."""

    template: Template
    correlate: str = "auto"
    key: str = ""
    max_set: int = 6

    @property
    def name(self) -> Name:
        """What tells it from other questions."""
        return encode(self.template.term), self.correlate, self.key, self.max_set

    def question(self) -> Question:
        """The question itself; raises `BadQuestion`."""
        from nomospace.meaning.question import question_of  # loaded on use, as `correlating` is

        return question_of(
            self.template,
            key=self.key or None,
            correlate=self.correlate,
            max_set=self.max_set,
        )


class Gathering(NamedTuple):
    """A set of tuples that answers, and what it answers with."""

    ids: tuple[TupleId, ...]
    """In the order in which the tuples came."""
    fields: tuple[Term, ...]
    """What the template asks for, in its order."""
    why: str
