"""What a law is once it has been read: preamble, rules, helper predicates, goals.

Every node has a span in the law's text. Terms inside goals stay the nodes of `terms.syntax`
(`Const`, `Variable`, `Struct`, `ListSyntax`). Both languages, `.law` and `.law.py`, give this form,
and everything else (checks, hash, interpreter, compiler, formatter) starts from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from nomospace.terms import Source, Span, Term
from nomospace.terms.tokens import Const, Node, Struct, Variable, nodes_in

EVENTS: Final[dict[str, int]] = {
    "sent": 3,
    "arrived": 3,
    "obligationDue": 1,
    "certified": 1,
    "exception": 2,
    "adopted": 1,
    "disconnected": 0,
    "reconnected": 0,
    "quit": 0,
    "submitted": 3,
    "moved": 2,
    "revoked": 1,
}
"""Regulated events: name and number of arguments."""

OPERATIONS: Final[dict[str, tuple[int, ...]]] = {
    "forward": (0, 3),
    "deliver": (0, 3),
    "multicast": (3,),
    "release": (2,),
    "+": (1,),
    "-": (1,),
    "<-": (2,),
    "incr": (2,),
    "dcr": (2,),
    "imposeObligation": (2, 3),
    "repealObligation": (1,),
    "quit": (0,),
    "signal": (1,),
}
"""Primitive operations: name and the numbers of arguments it may have."""

PREAMBLE: Final[dict[str, int]] = {
    "law": 1,
    "authority": 2,
    "cAuthority": 1,
    "initialCS": 1,
    "clearMessages": 0,
    "disclose": 1,
    "portal": 2,
    "refines": 1,
    "protectedCS": 1,
}
"""Clauses of the preamble: name and number of arguments."""

SPECIAL: Final = ("Self", "Msg", "Peer", "CS")
"""Variables with a meaning of their own: the home, the message, the other party, the state."""

UNITS: Final[dict[str, int]] = {
    "ms": 1_000,
    "sec": 1_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
"""Units of time in `imposeObligation`, in microseconds."""

RESERVED: Final = ("tupleSpace", "clock", "obligation")
"""Terms that a law may not add to, or take from, the control state."""


class TrueGoal(msgspec.Struct):
    """`true`."""

    span: Span


class Fail(msgspec.Struct):
    """`fail`."""

    span: Span


class Conj(msgspec.Struct):
    """`a, b, c`: all of them, left to right."""

    goals: tuple[Goal, ...]
    span: Span


class Disj(msgspec.Struct):
    """`a ; b ; c`: each in turn."""

    goals: tuple[Goal, ...]
    span: Span


class If(msgspec.Struct):
    """`( condition -> then ; otherwise )`: the first solution of the condition decides."""

    condition: Goal
    then: Goal
    otherwise: Goal | None
    span: Span


class Not(msgspec.Struct):
    """`not(goal)` or `\\+ goal`."""

    goal: Goal
    span: Span


class Sense(msgspec.Struct):
    """`pattern@CS`; with `obligations` set, `obligation(pattern)@CS`."""

    pattern: Node
    obligations: bool
    span: Span


class ClockGoal(msgspec.Struct):
    """`clock(T)@CS` and `clock(T)`."""

    time: Node
    span: Span


class ThisLaw(msgspec.Struct):
    """`thisLaw(Name, Hash)`."""

    name: Node
    hash: Node
    span: Span


class Unify(msgspec.Struct):
    """`left = right`, or `\\=` when negated."""

    left: Node
    right: Node
    negated: bool
    span: Span


class Same(msgspec.Struct):
    """`left == right`, or `\\==` when negated."""

    left: Node
    right: Node
    negated: bool
    span: Span


class Compare(msgspec.Struct):
    """Comparison of two arithmetic expressions: `< > =< >= =:= =\\=`."""

    operator: str
    left: Node
    right: Node
    span: Span


class Is(msgspec.Struct):
    """`result is expression`."""

    result: Node
    expression: Node
    span: Span


class FindAll(msgspec.Struct):
    """`findall(template, goal, result)`."""

    template: Node
    goal: Goal
    result: Node
    span: Span


class PredicateCall(msgspec.Struct):
    """A built-in or a helper predicate."""

    name: str
    args: tuple[Node, ...]
    span: Span


class Do(msgspec.Struct):
    """`do(operation)`."""

    operation: Node
    span: Span


class Toll(msgspec.Struct):
    """Units for what follows. No text has it: `law.prices` puts it in."""

    units: int
    span: Span


Goal: TypeAlias = (
    TrueGoal
    | Fail
    | Conj
    | Disj
    | If
    | Not
    | Sense
    | ClockGoal
    | ThisLaw
    | Unify
    | Same
    | Compare
    | Is
    | FindAll
    | PredicateCall
    | Do
    | Toll
)


class Rule(msgspec.Struct):
    """An event rule. `number` counts event rules from 1; `name` is the label or `#number`.

    `comment` is what its author wrote behind it; explanations pass it on. `later` are parts of the
    head that are matched after the rest of it: a variable that stands for each, and what it is.
    """

    label: str | None
    number: int
    event: str
    args: tuple[Node, ...]
    body: Goal
    span: Span
    head_span: Span
    comment: str = ""
    later: tuple[tuple[Variable, Node], ...] = ()

    @property
    def name(self) -> str:
        return self.label or f"#{self.number}"


class Clause(msgspec.Struct):
    """One clause of a helper predicate."""

    name: str
    args: tuple[Node, ...]
    body: Goal
    span: Span
    head_span: Span
    label: str | None = None


class LawAuthority(msgspec.Struct):
    """Whose certificates count."""

    name: str
    key: str


class LawTree(msgspec.Struct):
    """A whole law. `helpers` keeps the clauses of each predicate in the order of the text."""

    source: Source
    name: str
    rules: tuple[Rule, ...]
    helpers: dict[tuple[str, int], tuple[Clause, ...]]
    authorities: tuple[LawAuthority, ...] = ()
    controller_authority: str | None = None
    initial: tuple[Term, ...] = ()
    clear_messages: bool = False
    disclose: str = "rules"
    language: str = "law"
    preamble_spans: dict[str, Span] = {}


def arguments(count: int) -> str:
    """A number of arguments in words.

    >>> arguments(0), arguments(1), arguments(3)
    ('no arguments', '1 argument', '3 arguments')
    """
    if count == 0:
        return "no arguments"
    return "1 argument" if count == 1 else f"{count} arguments"


def goals_in(goal: Goal) -> Iterator[Goal]:
    """A goal and all goals inside it, in the order of the text."""
    pending = [goal]
    while pending:
        item = pending.pop()
        yield item
        pending.extend(reversed(subgoals(item)))


def subgoals(goal: Goal) -> tuple[Goal, ...]:
    """The goals directly inside a goal."""
    if isinstance(goal, Conj | Disj):
        return goal.goals
    if isinstance(goal, If):
        inner = (goal.condition, goal.then)
        return inner if goal.otherwise is None else (*inner, goal.otherwise)
    if isinstance(goal, Not | FindAll):
        return (goal.goal,)
    return ()


def nodes_of(goal: Goal) -> tuple[Node, ...]:
    """The term nodes that stand directly in a goal, in the order of the text."""
    if isinstance(goal, PredicateCall):
        return goal.args
    return tuple([getattr(goal, name) for name in _NODES.get(goal.__class__, ())])


_NODES: Final[dict[type, tuple[str, ...]]] = {
    Sense: ("pattern",),
    ClockGoal: ("time",),
    ThisLaw: ("name", "hash"),
    Unify: ("left", "right"),
    Same: ("left", "right"),
    Compare: ("left", "right"),
    Is: ("result", "expression"),
    FindAll: ("template", "result"),
    Do: ("operation",),
}
"""The fields of goals that are nodes."""


def operation_name(goal: Goal) -> str:
    """The name of the operation that a goal orders; of another goal, nothing."""
    node = goal.operation if isinstance(goal, Do) else None
    if isinstance(node, Struct):
        return node.name
    return node.value if isinstance(node, Const) and isinstance(node.value, str) else ""


def lets_out(rule: Rule, kind: str = "sent") -> bool:
    """Whether a rule may let a message go on: out, or to its home agent where it arrived."""
    out = ("forward", "multicast", "release") if kind == "sent" else ("deliver",)
    return any(operation_name(goal) in out for goal in goals_in(rule.body))


def variables_in(*nodes: Node) -> Iterator[Variable]:
    """Every occurrence of a variable in nodes, in the order of the text."""
    return (node for node in nodes_in(*nodes) if isinstance(node, Variable))
