"""What a law's own text costs: units that are known when the law is loaded.

Most goals cost nothing by themselves: a rule tries each of them once, and laws are short. What
makes them cost is repetition. So units are put where goals are come to again: at a call of a
helper, for all its clauses; behind a goal that can have several solutions, for what follows it up
to the next such goal. (Each alternative of `;` costs one.) A unit covers a few words of text
(`WORDS_FREE`), and a longer text costs more. Both the interpreter and the compiler run the text
that `priced` makes, in which these prices stand as goals (`Toll`), so they cannot differ.

Matching a rule's head is free: the compiler looks at few heads, the interpreter at all. What may
be dear in one (a variable that stands there twice, a list with a tail) is matched after the rest of
the head, and paid for. That is what `Rule.later` has.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from nomospace.law import tree
from nomospace.law.prelude import BUILTINS
from nomospace.terms.tokens import ListSyntax, Node, Struct, Variable, nodes_in

WORDS_FREE: Final = 8
"""Names, values and variables of a text that its one unit covers."""
WORDS_A_UNIT: Final = 4
"""How many more of them cost a unit."""
RULE_WORDS_FREE: Final = 64
"""Words of a rule that cost nothing when it is tried: it is tried once for an event."""
INTERPRETED: Final = 16
"""What a unit costs in a rule that the compiler leaves to the interpreter, which is that slow."""


def priced(law: tree.LawTree) -> tree.LawTree:
    """The law with its prices in it. Goals without goals inside stay the very objects they were."""
    helpers = {
        key: tuple([replace(clause, body=_tolled(clause.body)) for clause in clauses])
        for key, clauses in law.helpers.items()
    }
    return replace(law, rules=tuple(map(_rule, law.rules)), helpers=helpers)


def call_price(clauses: tuple[tree.Clause, ...]) -> int:
    """Units for a call of a helper."""
    words = 0
    for clause in clauses:
        words += weight(clause.body) + sum(map(node_weight, clause.args))
    return 1 + _units(words)


def collect_price(template: Node) -> int:
    """Units for a solution of `findall`."""
    return 1 + _units(node_weight(template))


def match_price(pattern: Node) -> int:
    """Units for each item that `delete` holds against a pattern."""
    return 8 + 2 * node_weight(pattern)


def _units(words: int, free: int = WORDS_FREE) -> int:
    return max(0, words - free) // WORDS_A_UNIT


def node_weight(node: Node) -> int:
    """How many names, values and variables a node has."""
    return sum(1 for _ in nodes_in(node))


def weight(goal: tree.Goal) -> int:
    """How many words a goal has, with all goals inside it."""
    return sum(1 + sum(map(node_weight, tree.nodes_of(item))) for item in tree.goals_in(goal))


def _repeats(goal: tree.Goal) -> bool:
    """Whether what follows a goal may be come to several times."""
    if isinstance(goal, tree.PredicateCall):
        builtin = BUILTINS.get((goal.name, len(goal.args)))
        return builtin is None or builtin.solutions
    if isinstance(goal, tree.If):
        return _repeats(goal.then) or (goal.otherwise is not None and _repeats(goal.otherwise))
    if isinstance(goal, tree.Conj):
        return any(map(_repeats, goal.goals))
    return isinstance(goal, tree.Sense | tree.Disj)


def _tolled(goal: tree.Goal) -> tree.Goal:
    if isinstance(goal, tree.Conj):
        return _tolled_conjunction(goal)
    if isinstance(goal, tree.Disj):
        return replace(goal, goals=tuple([_tolled(part) for part in goal.goals]))
    if isinstance(goal, tree.If):
        otherwise = None if goal.otherwise is None else _tolled(goal.otherwise)
        return replace(
            goal,
            condition=_tolled(goal.condition),
            then=_tolled(goal.then),
            otherwise=otherwise,
        )
    if isinstance(goal, tree.Not | tree.FindAll):
        return replace(goal, goal=_tolled(goal.goal))
    return goal


def _tolled_conjunction(goal: tree.Conj) -> tree.Conj:
    done: list[tree.Goal] = []
    words = 0  # of what follows, up to the next goal that repeats
    for part in reversed(goal.goals):
        if _repeats(part):
            if _units(words):
                done.append(tree.Toll(_units(words), part.span))
            words = 0
        words += weight(part)
        done.append(_tolled(part))
    return replace(goal, goals=tuple(reversed(done)))


def _rule(rule: tree.Rule) -> tree.Rule:
    heads = _Heads()
    args = tuple([heads.plain(node, at_top=True) for node in rule.args])
    body = _tolled(rule.body)
    dear = _units(weight(rule.body), RULE_WORDS_FREE)
    if dear:
        body = tree.Conj((tree.Toll(dear, rule.span), body), rule.span)
    return replace(rule, args=args, body=body, later=tuple(heads.later))


class _Heads:
    """Takes what may be dear out of the arguments of a head."""

    def __init__(self) -> None:
        self.later: list[tuple[Variable, Node]] = []
        self._seen: set[str] = set()

    def plain(self, node: Node, *, at_top: bool = False) -> Node:
        if isinstance(node, Struct):
            return Struct(node.name, tuple([self.plain(arg) for arg in node.args]), node.span)
        if isinstance(node, ListSyntax):
            if node.tail is not None:
                return self._put_off(node)
            return ListSyntax(tuple([self.plain(item) for item in node.items]), None, node.span)
        if isinstance(node, Variable) and node.name != "_":
            special = node.name in ("Self", "Msg", "Peer")
            if node.name in self._seen or (special and not at_top):
                return self._put_off(node)
            if not special:
                self._seen.add(node.name)
        return node

    def _put_off(self, node: Node) -> Variable:
        stand_in = Variable(f"head#{len(self.later)}", node.span)
        self.later.append((stand_in, node))
        return stand_in
