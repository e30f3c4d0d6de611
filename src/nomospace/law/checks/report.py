"""Where the checks put what they find, and the few questions that all of them ask of a law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from nomospace.law.checks.codes import CODES
from nomospace.law.tree import Clause, Goal, LawTree, PredicateCall, Rule, goals_in
from nomospace.terms import Compound, Diagnostic, Span, Term
from nomospace.terms.tokens import Const, Node, Struct, Variable

FINDINGS_MAX: Final = 1_000
"""A law with more faults than this is told the first errors, then the first warnings."""

Key = tuple[str, int]
"""Name and number of arguments."""

MESSAGE_EVENTS: Final = ("sent", "arrived", "submitted")
"""Events that carry a message, and so have `Msg`, `Peer` and a bare `forward` or `deliver`."""
HOME: Final = {"sent": 0, "arrived": 2, "submitted": 2}
"""Which argument of a message's event is the home agent."""
PEER: Final = {"sent": 2, "arrived": 0, "submitted": 0}
"""Which argument of a message's event is the other party."""


class CheckReport:
    """The findings of one law, with what several checks want to know about it."""

    def __init__(self, law: LawTree) -> None:
        self.law = law
        self._found: dict[tuple[str, Span], Diagnostic] = {}

    def add(
        self,
        code: str,
        message: str,
        span: Span,
        help: str = "",
        related: tuple[tuple[str, Span], ...] = (),
    ) -> None:
        """Keep a finding, unless the same place has one with the same code."""
        if (code, span) not in self._found:
            severity = CODES[code].severity
            self._found[code, span] = Diagnostic(code, message, span, help, related, severity)

    def text(self, span: Span, most: int = 60) -> str:
        """What stands at a place, in one line; cut where it is long."""
        text = " ".join(self.law.source.text[span.start : span.end].split())
        return text if len(text) <= most else text[: most - 1] + "…"

    def findings(self) -> list[Diagnostic]:
        """All findings in the order of the text, errors before warnings at one place."""
        found = [
            one
            for (code, span), one in self._found.items()
            # That a value is missing is said already.
            if code != "singleton-variable" or ("unbound-variable", span) not in self._found
        ]
        if len(found) > FINDINGS_MAX:
            found.sort(key=lambda one: (one.severity != "error", one.span))
            del found[FINDINGS_MAX:]
        found.sort(key=lambda one: (one.span, one.severity, one.code))
        return found

    @cached_property
    def goals(self) -> tuple[tuple[Rule | Clause, tuple[Goal, ...]], ...]:
        """Each rule and each clause of a helper with all its goals, in the order of the text."""
        helpers = (clause for clauses in self.law.helpers.values() for clause in clauses)
        found: tuple[Rule | Clause, ...] = (*self.law.rules, *helpers)
        return tuple((clause, tuple(goals_in(clause.body))) for clause in found)

    @cached_property
    def calls(self) -> dict[Key, list[Key]]:
        """Which helpers each helper calls."""
        found: dict[Key, list[Key]] = {}
        helpers = self.law.helpers
        for clause, goals in self.goals:
            if isinstance(clause, Rule):
                continue
            callees = found.setdefault((clause.name, len(clause.args)), [])
            callees += called(goals, helpers)
        return found

    def reached(self, start: Iterable[Key]) -> set[Key]:
        """The helpers that can be called, directly or not, from those given."""
        return closure(start, self.calls)


def closure(start: Iterable[Key], links: Mapping[Key, Iterable[Key]]) -> set[Key]:
    """All that links lead to from some keys on, these included."""
    seen = set(start)
    pending = list(seen)
    while pending:
        for key in links.get(pending.pop(), ()):
            if key not in seen:
                seen.add(key)
                pending.append(key)
    return seen


def called(goals: Iterable[Goal], helpers: dict[Key, tuple[Clause, ...]]) -> Iterator[Key]:
    """The helpers that goals call, in the order of the text."""
    for goal in goals:
        if isinstance(goal, PredicateCall) and (goal.name, len(goal.args)) in helpers:
            yield goal.name, len(goal.args)


def functor(node: Node | Term) -> Key | None:
    """Name and number of arguments of an atom or a compound; `None` for anything else."""
    if isinstance(node, Struct | Compound):
        return node.name, len(node.args)
    value = node.value if isinstance(node, Const) else node
    return (value, 0) if isinstance(value, str) else None


def is_variable(node: Node, name: str) -> bool:
    """Whether a node is the variable of that name."""
    return isinstance(node, Variable) and node.name == name


def listed(words: Iterable[str], last: str = "and") -> str:
    """Words as a list in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *rest, final = words
    return f"{', '.join(rest)} {last} {final}" if rest else final


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant."""
    found = get_close_matches(name[:40], known, n=1, cutoff=0.7)
    return found[0] if found else None
