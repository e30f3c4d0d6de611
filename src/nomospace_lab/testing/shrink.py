"""Makes a law and a case smaller while something stays true of them.

A law is shrunk as a tree: clauses go, goals go or give way to what is inside them, terms give way
to their parts. Of a case, terms of the state go. Greedy, and bounded by `TRIES_MAX`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from nomospace.law.render import show_clause
from nomospace.law.tree import (
    Clause,
    ClockGoal,
    Compare,
    Conj,
    Disj,
    Do,
    FindAll,
    Goal,
    If,
    Is,
    LawTree,
    Not,
    PredicateCall,
    Rule,
    Same,
    Sense,
    ThisLaw,
    TrueGoal,
    Unify,
)
from nomospace.terms import Term
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable
from nomospace_lab.testing.generate import LAW_NAME, EventCase

TRIES_MAX: Final = 2_000


class Small(msgspec.Struct, frozen=True):
    """A law and a case on the way to being small."""

    clauses: tuple[Rule | Clause, ...]
    case: EventCase

    @property
    def text(self) -> str:
        """The law as it would be written."""
        lines = [f"law({LAW_NAME}).", *(show_clause(c, spaced=True) for c in self.clauses)]
        return "\n".join(lines) + "\n"


def shrink(
    law: LawTree, case: EventCase, fails: Callable[[str, EventCase], bool]
) -> tuple[str, EventCase]:
    """The smallest law and case found for which `fails` still says yes."""
    helpers = [clause for clauses in law.helpers.values() for clause in clauses]
    best = Small((*law.rules, *helpers), case)
    if not fails(best.text, best.case):  # it needs the very text it was found with
        return law.source.text, case
    tries = 0
    again = True
    while again and tries < TRIES_MAX:
        again = False
        for smaller in _smaller(best):
            tries += 1
            if fails(smaller.text, smaller.case):
                best, again = smaller, True
                break
            if tries >= TRIES_MAX:
                break
    return best.text, best.case


def _smaller(now: Small) -> Iterator[Small]:
    clauses, case = now.clauses, now.case
    for at in range(len(clauses)):
        yield replace(now, clauses=clauses[:at] + clauses[at + 1 :])
    for state in _fewer(case.state):
        yield replace(now, case=case._replace(state=state))
    for obligations in _fewer(case.obligations):
        yield replace(now, case=case._replace(obligations=obligations))
    if case.spent:
        yield replace(now, case=case._replace(spent=0))
    if case.now:
        yield replace(now, case=case._replace(now=0))
    for at, clause in enumerate(clauses):
        for other in _clauses(clause):
            yield replace(now, clauses=(*clauses[:at], other, *clauses[at + 1 :]))


def _fewer(terms: tuple[Term, ...]) -> Iterator[tuple[Term, ...]]:
    if len(terms) > 1:
        yield ()
    for at in range(len(terms)):
        yield terms[:at] + terms[at + 1 :]


def _clauses(clause: Rule | Clause) -> Iterator[Rule | Clause]:
    if clause.label:
        yield replace(clause, label=None)
    for body in _goals(clause.body):
        yield replace(clause, body=body)
    for args in _varied(clause.args, _nodes):
        yield replace(clause, args=args)


def _varied(parts: tuple[Any, ...], vary: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    for at, part in enumerate(parts):
        for other in vary(part):
            yield (*parts[:at], other, *parts[at + 1 :])


def _goals(goal: Goal) -> Iterator[Goal]:
    """Goals a little smaller than this one."""
    if isinstance(goal, TrueGoal):
        return
    yield TrueGoal(goal.span)
    match goal:
        case Conj() | Disj():
            yield from goal.goals
            if len(goal.goals) > 2:
                for at in range(len(goal.goals)):
                    yield replace(goal, goals=goal.goals[:at] + goal.goals[at + 1 :])
            for parts in _varied(goal.goals, _goals):
                yield replace(goal, goals=parts)
        case If():
            yield Conj((goal.condition, goal.then), goal.span)
            if goal.otherwise is not None:
                yield goal.otherwise
                for inner in _goals(goal.otherwise):
                    yield replace(goal, otherwise=inner)
            for inner in _goals(goal.condition):
                yield replace(goal, condition=inner)
            for inner in _goals(goal.then):
                yield replace(goal, then=inner)
        case Not():
            for inner in _goals(goal.goal):
                yield replace(goal, goal=inner)
        case FindAll():
            for inner in _goals(goal.goal):
                yield replace(goal, goal=inner)
            yield from _with_nodes(goal, "template", "result")
        case Sense():
            yield from _with_nodes(goal, "pattern")
        case ClockGoal():
            yield from _with_nodes(goal, "time")
        case ThisLaw():
            yield from _with_nodes(goal, "name", "hash")
        case Unify() | Same() | Compare():
            yield from _with_nodes(goal, "left", "right")
        case Is():
            yield from _with_nodes(goal, "result", "expression")
        case Do():
            yield from _with_nodes(goal, "operation")
        case PredicateCall():
            for args in _varied(goal.args, _nodes):
                yield replace(goal, args=args)


def _with_nodes(goal: Any, *fields: str) -> Iterator[Goal]:
    for field in fields:
        for node in _nodes(getattr(goal, field)):
            yield replace(goal, **{field: node})


def _nodes(node: Node) -> Iterator[Node]:
    """Terms a little smaller than this one."""
    if isinstance(node, Variable):
        return
    if isinstance(node, Const):
        if node.value not in ("a", 1):
            yield Const(1, node.span)
            yield Const("a", node.span)
        return
    if isinstance(node, Struct):
        yield from node.args
        yield Const("a", node.span)
        for args in _varied(node.args, _nodes):
            yield Struct(node.name, args, node.span)
        return
    yield Const("a", node.span)
    yield from node.items
    if node.tail is not None:
        yield ListSyntax(node.items, None, node.span)
    for at in range(len(node.items)):
        if len(node.items) > 1 or node.tail is None:
            yield ListSyntax(node.items[:at] + node.items[at + 1 :], node.tail, node.span)
    for items in _varied(node.items, _nodes):
        yield ListSyntax(items, node.tail, node.span)
