"""Small helpers that call no other are written out where they are called.

That saves a call and a continuation each time, lets a helper take a partial value, and keeps a
clause that calls one and then itself a loop. The clause's variables get names of their own.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from nomospace.law.tree import Clause, Goal, LawTree, PredicateCall, goals_in
from nomospace.terms.tokens import ListSyntax, Node, Struct, Variable

CLAUSES_MAX: Final = 4
GOALS_MAX: Final = 12
"""Helpers with more clauses, or goals in one, are called."""


def leaves(law: LawTree) -> set[tuple[str, int]]:
    """The helpers that are written out."""
    found = set()
    for key, clauses in law.helpers.items():
        bodies = [list(goals_in(clause.body)) for clause in clauses]
        calls = any(
            isinstance(goal, PredicateCall) and (goal.name, len(goal.args)) in law.helpers
            for body in bodies
            for goal in body
        )
        if not calls and len(clauses) <= CLAUSES_MAX and max(map(len, bodies)) <= GOALS_MAX:
            found.add(key)
    return found


def renamed(clause: Clause, tag: int, keep: set[str]) -> tuple[tuple[Node, ...], Goal]:
    """A clause's arguments and body with variables of its own; those in `keep` stay."""
    args = tuple([_node(arg, tag, keep) for arg in clause.args])
    return args, _goal(clause.body, tag, keep)


def _node(node: Node, tag: int, keep: set[str]) -> Node:
    if isinstance(node, Variable):
        if node.name == "_" or node.name in keep:
            return node
        return Variable(f"{node.name}#{tag}", node.span)
    if isinstance(node, Struct):
        return Struct(node.name, tuple([_node(a, tag, keep) for a in node.args]), node.span)
    if isinstance(node, ListSyntax):
        tail = None if node.tail is None else _node(node.tail, tag, keep)
        return ListSyntax(tuple([_node(a, tag, keep) for a in node.items]), tail, node.span)
    return node


def _goal(goal: Any, tag: int, keep: set[str]) -> Any:
    """A copy of a goal; whatever it is made of is a goal, a node, a tuple of these, or plain."""
    names = [name for name in goal.__struct_fields__ if name != "span"]
    return replace(goal, **{name: _part(getattr(goal, name), tag, keep) for name in names})


def _part(value: object, tag: int, keep: set[str]) -> Any:
    if isinstance(value, tuple):
        return tuple([_part(part, tag, keep) for part in value])
    if isinstance(value, Variable | Struct | ListSyntax):
        return _node(value, tag, keep)
    return _goal(value, tag, keep) if isinstance(value, Goal) else value
