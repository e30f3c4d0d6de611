"""A question about tuples that come and go: what each lot of them brings.

Answers that were there before are not looked for again. One that was not holds a new tuple, so
each is found from those outwards, through the indexes of facts: it costs what is new, and what
hangs together with that, however much else there is. Which answers there are is not kept; only
which tuples answer by themselves, as `auto` looks for sets while none does.

Facts remember more than there is: shapes that no tuple has any more, and in how many tuples an
object once stood. That makes plans larger, never wrong. Where it makes one too large, or there are
many such shapes, the facts are made anew of the tuples that are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nomospace.meaning.answers import Answers
from nomospace.meaning.facts import Facts
from nomospace.meaning.memory.matcher import Matcher
from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.meaning.question import Question
from nomospace.terms.values import Term

SHAPES_MIN: Final = 1_024
"""Shapes of tuples that are remembered even when no tuple has them."""


class Following:
    """One question, followed through facts that change.

    >>> from nomospace.meaning.question import parse_template
    >>> from nomospace.terms import obj
    >>> following = Following(parse_template("(Car, Tax, Loan)"))
    >>> following.add("t1", (obj("Car", "A"), obj("Tax", "x")))
    >>> following.brought(["t1"]).items
    []
    >>> following.add("t2", (obj("Car", "A"), obj("Loan", "y")))
    >>> [answer.tuples for answer in following.brought(["t2"]).items]
    [('t1', 't2')]
    """

    def __init__(self, question: Question, ontology: Ontology = PLAIN) -> None:
        self._matcher = Matcher(question, Facts(ontology))
        self._alone: dict[str, None] = {}
        self._unknown: dict[str, None] = {}  # tuples of which nobody asked if they answer alone
        self._worn = False
        self._shapes_max = SHAPES_MIN

    def __len__(self) -> int:
        return len(self._matcher.facts)

    def add(self, id: str, fields: tuple[Term, ...]) -> None:
        """Take in a tuple, frozen before; one that has its id makes way."""
        self.drop(id)
        self._matcher.facts.add(id, fields)
        self._unknown[id] = None

    def drop(self, id: str) -> None:
        """Let a tuple go, if it is there."""
        if id in self._matcher.facts.rows:
            self._matcher.facts.remove(id)
            self._alone.pop(id, None)
            self._unknown.pop(id, None)
            self._worn = True

    def brought(self, ids: Iterable[str]) -> Answers:
        """The answers that hold one of some tuples, if that is there.

        They are those of `Matcher.all` that do, in its order; but `limit` is for them alone.
        """
        if len(self._matcher.facts.shapes) > self._shapes_max:
            self._renew()
        there = [id for id in dict.fromkeys(ids) if id in self._matcher.facts.rows]
        if not there:
            return Answers([])
        found = self._brought(there)
        if found.cut and self._worn:
            self._renew()
            found = self._brought(there)
        return found

    def _brought(self, ids: Iterable[str]) -> Answers:
        matcher = self._matcher
        rows = matcher.facts.rows
        if matcher.question.correlate == "auto":
            known = matcher.alone([rows[id] for id in self._unknown])
            self._alone.update(dict.fromkeys([row.id for row in known]))
        self._unknown.clear()
        return matcher.brought([rows[id] for id in ids], alone=bool(self._alone))

    def _renew(self) -> None:
        """Make facts that know of nothing but the tuples that are there."""
        old = self._matcher.facts
        fresh = Facts(old.ontology)
        for row in old.rows.values():
            fresh.add(row.id, row.fields)
        self._matcher = Matcher(self._matcher.question, fresh)
        self._worn = False
        self._shapes_max = max(SHAPES_MIN, 2 * len(fresh.shapes))
