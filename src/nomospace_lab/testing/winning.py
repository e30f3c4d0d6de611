"""What stands on the way to a ruling: which goals, built-ins, functions and operations.

A goal stands on a winning path when the interpreter passed it on the way to the solution that
ruled, or when it encloses such a goal. `fail`, which nothing passes, counts when a goal around it
was on the path: the alternative, the condition or the negation that it made fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nomospace.law.arithmetic import COMPARE, FUNCTIONS
from nomospace.law.interpret import Trace
from nomospace.law.prelude import BUILTINS
from nomospace.law.tree import (
    OPERATIONS,
    ClockGoal,
    Compare,
    Conj,
    Disj,
    Do,
    Fail,
    FindAll,
    Goal,
    If,
    Is,
    LawTree,
    Not,
    PredicateCall,
    Same,
    Sense,
    ThisLaw,
    Toll,
    TrueGoal,
    Unify,
    nodes_of,
    subgoals,
)
from nomospace.terms.tokens import Node, Struct, Variable

_PLAIN: Final[dict[type, str]] = {
    TrueGoal: "true",
    Fail: "fail",
    Conj: "a, b",
    Disj: "a ; b",
    Not: "not(a)",
    ClockGoal: "clock(T)",
    ThisLaw: "thisLaw(N, H)",
    Is: "is",
    FindAll: "findall/3",
}
GOALS: Final = (
    *_PLAIN.values(),
    *("a -> b", "a -> b ; c", "t@CS", "X@CS", "obligation(t)@CS", "=", "\\=", "==", "\\=="),
    *COMPARE,
    "helper",
    *(f"{name}/{count}" for name, count in BUILTINS),
)
"""Every kind of goal, and every built-in."""
OPERATION_NAMES: Final = (
    *(f"do {name}/{count}" for name, counts in OPERATIONS.items() for count in counts),
    "do +obligation/2",
    "do variable",
)
FUNCTION_NAMES: Final = tuple(f"function {name}/{count}" for name, count in FUNCTIONS)
EXPECTED: Final = (*GOALS, *OPERATION_NAMES, *FUNCTION_NAMES)
"""What a run must have met often enough. Taken from the language's own tables."""


class Winning:
    """Names what a trace of one law went through."""

    def __init__(self, law: LawTree) -> None:
        self._law = law
        self._names: dict[int, frozenset[str]] = {}
        bodies = [rule.body for rule in law.rules]
        bodies += [clause.body for clauses in law.helpers.values() for clause in clauses]
        for body in bodies:
            self._enter(body, frozenset())

    def _enter(self, goal: Goal, around: frozenset[str]) -> None:
        names = around | frozenset(self._kinds(goal))
        inner = subgoals(goal)
        if any(isinstance(part, Fail) for part in inner):
            names |= {"fail"}
        self._names[id(goal)] = names
        for part in inner:
            self._enter(part, names)

    def _kinds(self, goal: Goal) -> Iterator[str]:
        match goal:
            case If():
                yield "a -> b" if goal.otherwise is None else "a -> b ; c"
            case Sense():
                if goal.obligations:
                    yield "obligation(t)@CS"
                else:
                    yield "X@CS" if isinstance(goal.pattern, Variable) else "t@CS"
            case Unify():
                yield "\\=" if goal.negated else "="
            case Same():
                yield "\\==" if goal.negated else "=="
            case Compare():
                yield goal.operator
            case PredicateCall():
                key = goal.name, len(goal.args)
                yield "helper" if key in self._law.helpers else f"{key[0]}/{key[1]}"
            case Do():
                yield from _operation(goal.operation)
            case Toll():
                pass
            case _:
                yield _PLAIN[goal.__class__]
        if isinstance(goal, Compare | Is):
            yield from _functions(nodes_of(goal))

    def names(self, trace: Trace) -> set[str]:
        """What stood on the path of a trace that has won."""
        found: set[str] = set()
        for place in {id(goal) for goal, _ in trace.held}:
            found |= self._names.get(place, frozenset())
        return found


def _operation(node: Node) -> Iterator[str]:
    if isinstance(node, Variable):
        yield "do variable"
        return
    args = node.args if isinstance(node, Struct) else ()
    name = node.name if isinstance(node, Struct) else getattr(node, "value", "")
    first = args[0] if args else None
    if (
        name == "+"
        and isinstance(first, Struct)
        and (first.name, len(first.args))
        == (
            "obligation",
            2,
        )
    ):
        yield "do +obligation/2"
        yield from _functions(first.args[1:])
    else:
        yield f"do {name}/{len(args)}"
        if name in ("incr", "dcr", "imposeObligation"):
            yield from _functions(args[1:2])


def _functions(nodes: Iterable[Node]) -> Iterator[str]:
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, Struct):
            yield f"function {node.name}/{len(node.args)}"
            pending.extend(node.args)
