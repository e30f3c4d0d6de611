"""Questions about sets of tuples, and what they are answered with, apart from how that is found.

A space that is never asked one does without `correlating` and the planner behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from nomospace.space.records import Record, TupleId
from nomospace.terms import Term, encode
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.meaning.question import Question

Name: TypeAlias = tuple[bytes, str, str, int]
"""A question: its template's bytes, how it correlates, its key and the most tuples of a set."""
Scope: TypeAlias = tuple[str, str]
"""Whose tuples a question is about: the agent that holds all of them, and the one they are for;
empty where anyone will do."""
EVERYONE: Final[Scope] = ("", "")


def in_scope(record: Record, scope: Scope) -> bool:
    """Whether a tuple is one that a question is about.

    >>> in_scope(Record((1,), "ann@a", 1, "bob@a", "bob@a"), ("bob@a", ""))
    True
    """
    at, dest = scope
    return (not at or record.cur == at) and (not dest or record.dest == dest)


class SetQuestion(NamedTuple):
    """A question about sets, as one who asks it names it."""

    template: Template
    correlate: str = "auto"
    key: str = ""
    max_set: int = 6
    scope: Scope = EVERYONE

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
