r"""Nodes and goals to text: what the hash, the formatter and the differ print with.

A goal is first turned back into the node it could have been read from, so there is one printer.
It has a stack of its own: conjunctions of any length and terms of a thousand levels print alike.

The plain style is that of `terms.show`, with variables by name. The spaced style is for people:
a space after commas and around operators (not around `@`).

>>> from nomospace.terms import Source
>>> from nomospace.terms.syntax import Reader
>>> node = Reader(Source("N>0,do(dcr('quota'(N),1))|\\+X=[H|T]")).single()
>>> show_node(node, allowed=1200)
'N>0,do(dcr(quota(N),1));(\\+(X=[H|T]))'
>>> show_node(node, allowed=1200, spaced=True)
'N > 0, do(dcr(quota(N), 1)) ; \\+ X = [H | T]'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nomospace.law import tree
from nomospace.terms import show
from nomospace.terms.source import NOWHERE
from nomospace.terms.syntax import PREFIX
from nomospace.terms.text import (
    ARGUMENT,
    WHOLE,
    Piece,
    apart,
    bracketed,
    functor_text,
    operand,
    operator_pieces,
    separated,
)
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

Lexeme: TypeAlias = Callable[[Const], str]


def show_constant(node: Const) -> str:
    """A constant in its one canonical spelling."""
    return show(node.value)


def show_node(
    node: Node, *, spaced: bool = False, allowed: int = ARGUMENT, lexeme: Lexeme = show_constant
) -> str:
    """The text of a node; bracketed when its priority is over `allowed`.

    `lexeme` spells constants; the formatter keeps an author's quotes with it.
    """
    out: list[str] = []
    todo: list[Piece] = [(node, allowed)]
    while todo:
        piece = todo.pop()
        if isinstance(piece, str):
            out.append(apart(out, piece))
            continue
        item, limit = piece
        if isinstance(item, Const):
            out.append(apart(out, lexeme(item)))
        elif isinstance(item, Variable):
            out.append(item.name)
        elif isinstance(item, ListSyntax):
            todo.extend(reversed(_listing(item, spaced)))
        elif isinstance(item, Struct):
            todo.extend(reversed(_struct(item, limit, spaced)))
    return "".join(out)


def _listing(node: ListSyntax, spaced: bool) -> list[Piece]:
    pieces = ["[", *separated(node.items, spaced)]
    if node.tail is not None:
        pieces += [" | " if spaced else "|", (node.tail, ARGUMENT)]
    return [*pieces, "]"]


def _struct(node: Struct, allowed: int, spaced: bool) -> list[Piece]:
    if spaced and node.name == "\\+" and len(node.args) == 1:
        operator = PREFIX[node.name]
        pieces = ["\\+ ", *operand(node.args[0], operator.right)]
        return bracketed(pieces) if operator.priority > allowed else pieces
    tight = not spaced or node.name == "@"
    pieces = operator_pieces(node, allowed, spaced, signs=tight)
    return pieces or [f"{functor_text(node.name)}(", *separated(node.args, spaced), ")"]


# -- goals ---------------------------------------------------------------------------------


def show_goal(goal: tree.Goal, *, spaced: bool = False) -> str:
    r"""The text of a goal, as it may stand as the body of a rule.

    >>> from nomospace.law.parse import parse
    >>> from nomospace.terms import Source
    >>> law, _ = parse(Source("law(l). quit :- \\+ a@CS, (clock(T)@CS, T > 5 | b@CS)."))
    >>> show_goal(law.rules[0].body)
    'not(a@CS),(clock(T),T>5;b@CS)'
    """
    return show_node(goal_node(goal), spaced=spaced, allowed=WHOLE)


def show_head(clause: tree.Rule | tree.Clause, *, spaced: bool = False) -> str:
    """The head of a rule or of a helper's clause."""
    return show_node(head_node(clause), spaced=spaced)


def show_clause(clause: tree.Rule | tree.Clause, *, spaced: bool = False) -> str:
    """A whole clause on one line, with its label and its full stop."""
    label = f"{clause.label}. " if clause.label else ""
    text = label + show_head(clause, spaced=spaced)
    if not isinstance(clause.body, tree.TrueGoal):
        text += (" :- " if spaced else ":-") + show_goal(clause.body, spaced=spaced)
    return text + "."


def head_node(clause: tree.Rule | tree.Clause) -> Node:
    """The node that a clause's head was read from."""
    name = clause.event if isinstance(clause, tree.Rule) else clause.name
    return _made(name, *clause.args)


def _made(name: str, *args: Node) -> Node:
    # The depth only serves the reader's limit; counting it for a long chain would be quadratic.
    return Struct(name, args, NOWHERE, 1) if args else Const(name, NOWHERE)


def goal_node(goal: tree.Goal) -> Node:
    """A node that reads as this goal, in the one spelling that the canonical form has.

    `not` for `\\+`, `clock(T)` for `clock(T)@CS`, and chains of `,` and `;` without the brackets
    that mean nothing. Recursion is as deep as goals nest, which the parser bounds.
    """
    match goal:
        case tree.TrueGoal() | tree.Toll():
            return Const(True, NOWHERE)
        case tree.Fail():
            return Const("fail", NOWHERE)
        case tree.Conj():
            parts = [goal_node(part) for part in _flat(goal) if not isinstance(part, tree.Toll)]
            return _chain(",", parts, Const(True, NOWHERE))
        case tree.Disj():
            return _disjunction(goal)
        case tree.If():
            decided = _made("->", goal_node(goal.condition), goal_node(goal.then))
            if goal.otherwise is None:
                return decided
            return _made(";", decided, goal_node(goal.otherwise))
        case tree.Not():
            return _made("not", goal_node(goal.goal))
        case tree.Sense():
            pattern = _made("obligation", goal.pattern) if goal.obligations else goal.pattern
            return _made("@", pattern, Variable("CS", NOWHERE))
        case tree.ClockGoal():
            return _made("clock", goal.time)
        case tree.ThisLaw():
            return _made("thisLaw", goal.name, goal.hash)
        case tree.Unify():
            return _made("\\=" if goal.negated else "=", goal.left, goal.right)
        case tree.Same():
            return _made("\\==" if goal.negated else "==", goal.left, goal.right)
        case tree.Compare():
            return _made(goal.operator, goal.left, goal.right)
        case tree.Is():
            return _made("is", goal.result, goal.expression)
        case tree.FindAll():
            return _made("findall", goal.template, goal_node(goal.goal), goal.result)
        case tree.PredicateCall():
            return _made(goal.name, *goal.args)
        case tree.Do():
            return _made("do", goal.operation)


def _flat(goal: tree.Conj | tree.Disj) -> list[tree.Goal]:
    """The parts of a chain, with those of chains of the same kind inside it."""
    parts: list[tree.Goal] = []
    for part in goal.goals:
        if isinstance(part, tree.Conj | tree.Disj) and type(part) is type(goal):
            parts.extend(_flat(part))
        else:
            parts.append(part)
    return parts


def _disjunction(goal: tree.Disj) -> Node:
    nodes: list[Node] = []
    parts = _flat(goal)
    for index, part in enumerate(parts):
        node = goal_node(part)
        if isinstance(part, tree.If) and part.otherwise is None and index + 1 < len(parts):
            # What follows would be read as its else; this is how a condition alone fails.
            node = _made(";", node, Const("fail", NOWHERE))
        nodes.append(node)
    return _chain(";", nodes, Const("fail", NOWHERE))


def _chain(name: str, nodes: list[Node], empty: Node) -> Node:
    if not nodes:
        return empty
    node = nodes.pop()
    while nodes:
        node = _made(name, nodes.pop(), node)
    return node
