"""The machine under the interpreter: goals to do, choices to come back to, a trail to undo.

`law.steps` has what each goal does with it, `law.interpret` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, Literal, TypeAlias

import msgspec

from nomospace.law import tree
from nomospace.law.bag import Bag
from nomospace.law.budget import COPIED_A_UNIT, Stop, Units, spend
from nomospace.law.holes import (
    OPEN_PARTS_FREE,
    OPEN_PARTS_MAX,
    OpenTerm,
    Value,
    build,
    is_bound,
    open_size,
    resolve,
    unify,
)
from nomospace.law.prices import node_weight
from nomospace.terms import Span, Var, undo
from nomospace.terms.tokens import ListSyntax, Node, Struct, Variable

Env: TypeAlias = dict[str, Value]
"""Variables of one clause by name: a `Var`, or a term for `Self`, `Msg` and `Peer`."""


class StepResult(Enum):
    """What a step gives when it has no work to go on with."""

    FAILED = 0


FAILED: Final = StepResult.FAILED
NESTED: Final = "#nested"
"""How deep the call of a clause is nested, kept with its variables."""


class CommitStep(msgspec.Struct):
    """Stands after a condition: throw away the choices made since, then go on."""

    height: int


class CollectStep(msgspec.Struct):
    """Stands after the goal of a findall: keep a copy of the template, then ask for more."""

    template: Node
    found: list[Value]


class BindStep(msgspec.Struct):
    """Make a pattern equal to a value."""

    pattern: Node
    value: Value


SENSED_MAX: Final = 200
"""How much of what was sensed is kept for a story."""
UNPAID: Final = 10**15
"""More units than anything takes that costs nothing."""
Doable: TypeAlias = tree.Goal | CommitStep | CollectStep | BindStep
Work: TypeAlias = "tuple[Doable, Env, Work] | None"
"""A linked list of goals to do, each with the variables it is about."""


class ChoicePoint(msgspec.Struct):
    """A point to come back to: each `next` binds and gives the work to go on with."""

    alternatives: Iterator[Work]
    trail: int
    operations: int
    path: int


class Trace(msgspec.Struct):
    """The story of one rule: the goals on the way to success, or the furthest goal tried.

    The furthest is one of the rule's own goals: what goes on inside a negation, a findall or a
    helper is that goal's business. `visible` has the ids of these goals. `tried` has the place of
    every goal that was tried, for coverage.
    """

    rule: tree.Rule
    held: list[tuple[tree.Goal, Env]] = []
    furthest: tree.Goal | None = None
    furthest_env: Env = {}
    matched: bool = False
    tried: set[Span] = set()
    visible: set[int] = set()
    sensed: list[tuple[tree.Sense, Env]] = []
    """What was sensed on the way to the furthest goal, and in it, with what it found."""
    inner: tuple[tree.Goal, Env] | None = None
    """The goal that was tried last inside the furthest."""
    senses: dict[Span, tree.Sense] = {}
    inside: bool = False

    def __post_init__(self) -> None:
        self.visible = {id(goal) for goal in tree.goals_in(self.rule.body)}
        for goal in tree.goals_in(self.rule.body):
            if isinstance(goal, tree.Not | tree.FindAll):
                self.visible -= {id(inner) for inner in tree.goals_in(goal.goal)}


class Machine(msgspec.Struct, eq=False):
    """One rule on one event."""

    law: tree.LawTree
    hash: str
    call_prices: dict[tuple[str, int], int]
    state: Bag
    obligations: Bag
    now: int
    units: Units
    specials: Env
    trace: Trace | None
    trail: list[Var] = []
    choices: list[ChoicePoint] = []
    operations: list[Value] = []
    path: list[tuple[tree.Goal, Env]] = []

    def note(self, goal: Doable, env: Env) -> None:
        """Keep for the story that a goal is tried."""
        if isinstance(
            goal, tree.Conj | tree.Disj | tree.If | tree.Toll | CommitStep | CollectStep | BindStep
        ):
            return
        trace = self.trace
        assert trace is not None
        if isinstance(goal, tree.TrueGoal) and goal.span in trace.senses:  # something was sensed
            goal, env = trace.senses[goal.span], _resolved(env)
            self.path[-1] = goal, env
            if trace.inside and len(trace.sensed) < SENSED_MAX:
                trace.sensed.append((goal, env))
            return
        self.path.append((goal, env))
        trace.tried.add(goal.span)
        if isinstance(goal, tree.Sense):
            trace.senses[goal.span] = goal
        if id(goal) not in trace.visible:
            if trace.inside and not isinstance(goal, tree.TrueGoal | tree.Fail):
                trace.inner = goal, _resolved(env)
            return
        furthest = trace.furthest
        trace.inside = furthest is None or goal.span.start >= furthest.span.start
        if trace.inside:
            trace.furthest = goal
            trace.furthest_env = _resolved(env)
            trace.inner = None
            sensed = [
                (one, its) for one, its in self.path[-SENSED_MAX:] if isinstance(one, tree.Sense)
            ]
            trace.sensed = sensed[:-1] if isinstance(goal, tree.Sense) else sensed

    def backtrack(self) -> Work | Literal[StepResult.FAILED]:
        """Go back to the last choice that has another way, and give its work."""
        while self.choices:
            choice = self.choices[-1]
            undo(self.trail, choice.trail)
            del self.operations[choice.operations :]
            del self.path[choice.path :]
            try:
                return next(choice.alternatives)
            except StopIteration:
                self.choices.pop()
        return FAILED

    def choose(self, alternatives: Iterator[Work]) -> None:
        """Leave a point to come back to."""
        self.choices.append(
            ChoicePoint(alternatives, len(self.trail), len(self.operations), len(self.path))
        )

    def attempt(self, a: Value, b: Value) -> bool:
        """Unify; on failure leave nothing bound."""
        mark = len(self.trail)
        if unify(a, b, self.trail, self.units):
            return True
        undo(self.trail, mark)
        return False

    def attempt_all(
        self, pairs_a: Sequence[Value], pairs_b: Sequence[Value], units: Units | None = None
    ) -> bool:
        """Unify pair by pair; on failure leave nothing bound."""
        mark = len(self.trail)
        for a, b in zip(pairs_a, pairs_b, strict=True):
            if not unify(a, b, self.trail, units or self.units):
                undo(self.trail, mark)
                return False
        return True

    def build(self, node: Node, env: Env) -> Value:
        """The value of a node in this clause. `[H|T]` costs one unit per 100 items of T.

        What a value with holes has besides the parts that the text writes costs too.
        """
        if isinstance(node, ListSyntax | Struct):
            cost = list_cost(node, env)
            if cost:
                spend(self.units, cost)
        value = build(node, env)
        if type(value) is OpenTerm:
            most = node_weight(node) + OPEN_PARTS_MAX
            size = open_size(value, most)
            if size > most:
                raise Stop("tooLarge")
            more = OPEN_PARTS_MAX - most + size
            if more > OPEN_PARTS_FREE:
                spend(self.units, more // OPEN_PARTS_FREE)
        return value


def _resolved(env: Env) -> Env:
    return {name: resolve(value) for name, value in env.items()}


def list_cost(node: Node, env: Env) -> int:
    """Units for making the lists that a node writes out with a tail: `[H|T]` copies T."""
    cost = 0
    pending: list[Node] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, Struct):
            pending.extend(item.args)
        elif isinstance(item, ListSyntax):
            pending.extend(item.items)
            if isinstance(item.tail, Variable) and item.tail.name in env:
                tail = resolve(env[item.tail.name])
                if type(tail) is tuple:
                    cost += len(tail) // COPIED_A_UNIT
                elif is_bound(tail):
                    raise Stop("typeError")  # a list ends in a list
            elif isinstance(item.tail, Variable):
                continue
            elif item.tail is not None:
                pending.append(item.tail)
    return cost
