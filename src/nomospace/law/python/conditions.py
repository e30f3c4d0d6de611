"""Conditions: what may stand after `if`, in `require(…)` and behind `return` in a helper.

`==` and `!=` compare terms, as `==` and `\\==` of a law do (`1` and `1.0` differ), unless a side
is a computation: then numbers are compared, as `=:=` and `=\\=` do. `in` is `member/2`: it binds
a variable on its left, and goes on to the next item when a later condition fails.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from nomospace.law import tree
from nomospace.law.arithmetic import FUNCTIONS
from nomospace.law.prelude import BUILTINS
from nomospace.law.python.expressions import Expressions, is_arithmetic, is_variable
from nomospace.terms import Span
from nomospace.terms.tokens import Node

_ORDER: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "=<", ast.Gt: ">", ast.GtE: ">="}
_NO_CONDITION: Final = {
    "clock": "write cs.clock(T)",
    "do": "do(…) stands on a line of its own",
    "fail": "fail() stands on a line of its own; in a condition write False",
    "findall": "findall gives a list: L = findall(T, condition), on a line of its own",
    "has": "write cs.has(…)",
    "obligation": "write cs.obligation(…)",
    "require": "require(…) stands on a line of its own",
    "true": "write True",
}
STATE: Final = ("has", "obligation", "clock")
"""What the control state can be asked: `cs.has(t)`, `cs.obligation(o)`, `cs.clock(T)`."""


def conj(goals: Sequence[tree.Goal], span: Span) -> tree.Goal:
    """All of some goals as one; `span` is the place of none at all."""
    if not goals:
        return tree.TrueGoal(span)
    if len(goals) == 1:
        return goals[0]
    return tree.Conj(tuple(goals), Span(goals[0].span.start, goals[-1].span.end))


class Conditions(Expressions):
    """Translates the conditions of one function. `has_state` is whether it takes `cs`."""

    has_state = False

    def condition(self, node: ast.expr) -> tree.Goal:
        """A condition as one goal."""
        return conj(self.goals(node), self.reading.span(node))

    def goals(self, node: ast.expr) -> list[tree.Goal]:
        """A condition as the goals that must all hold."""
        span = self.reading.span(node)
        if isinstance(node, ast.BoolOp):
            if isinstance(node.op, ast.And):
                return [goal for value in node.values for goal in self.goals(value)]
            alternatives = tuple([self.condition(value) for value in node.values])
            return [self.reading.made(tree.Disj(alternatives, span))]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            outside = set(self.seen)
            goal = self.condition(node.operand)
            self.seen = outside  # what a negation binds is not bound after it
            return [self.reading.made(tree.Not(goal, span))]
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return [tree.TrueGoal(span) if node.value else tree.Fail(span)]
        self._no_condition(node, span)
        return [tree.Fail(span)]

    def _no_condition(self, node: ast.expr, span: Span) -> None:
        if isinstance(node, ast.Attribute | ast.NamedExpr | ast.IfExp | ast.Lambda | ast.Await):
            self.term(node, None)  # says what to write in its place
            return
        words = "this is no condition"
        help = "conditions are cs.has(…), comparisons, in, calls of predicates, and, or, not"
        if isinstance(node, ast.Name):
            kind = "a variable" if is_variable(node.id) else "text"
            words = f"{node.id} is {kind}, no condition"
            help = "compare it, as in X == done, or call a helper: name(…)"
        self.reading.fault("python-condition", words, span, help)

    # -- comparisons -----------------------------------------------------------------------

    def _comparison(self, node: ast.Compare) -> list[tree.Goal]:
        """`a < b < c` is `a < b` and `b < c`."""
        sides = pairwise([node.left, *node.comparators])
        found: list[tree.Goal] = []
        for (left, right), operator in zip(sides, node.ops, strict=True):
            span = Span(self.reading.span(left).start, self.reading.span(right).end)
            found += self._compare(operator, left, right, span)
        return found

    def _compare(
        self, operator: ast.cmpop, left: ast.expr, right: ast.expr, span: Span
    ) -> list[tree.Goal]:
        before: list[tree.Goal] = []
        goal: tree.Goal
        if type(operator) in _ORDER:
            name = _ORDER[type(operator)]
            goal = tree.Compare(name, *self._numbers(left, right, before), span)
        elif isinstance(operator, ast.Eq | ast.NotEq):
            differ = isinstance(operator, ast.NotEq)
            if is_arithmetic(left) or is_arithmetic(right):
                name = "=\\=" if differ else "=:="
                goal = tree.Compare(name, *self._numbers(left, right, before), span)
            else:
                goal = tree.Same(self.term(left, before), self.term(right, before), differ, span)
        elif isinstance(operator, ast.In | ast.NotIn):
            goal = self._membership(operator, left, right, before, span)
        else:
            self.reading.fault(
                "python-condition", "'is' is not part of the language", span, "compare with =="
            )
            goal = tree.Fail(span)
        return [*before, self.reading.made(goal)]

    def _numbers(
        self, left: ast.expr, right: ast.expr, before: list[tree.Goal]
    ) -> tuple[Node, Node]:
        return self.arithmetic(left, before), self.arithmetic(right, before)

    def _membership(
        self,
        operator: ast.cmpop,
        left: ast.expr,
        right: ast.expr,
        before: list[tree.Goal],
        span: Span,
    ) -> tree.Goal:
        if isinstance(right, ast.Constant):
            self.reading.fault(
                "python-condition",
                "in looks into lists only",
                right,
                "parts of a text are found with sub_atom(Text, _, _, _, Part)",
            )
        outside = set(self.seen)
        goal = tree.PredicateCall(
            "member", (self.term(left, before), self.term(right, before)), span
        )
        if isinstance(operator, ast.In):
            return goal
        self.seen = outside
        return tree.Not(self.reading.made(goal), span)

    # -- calls -----------------------------------------------------------------------------

    def call(self, node: ast.Call) -> list[tree.Goal]:
        """A call that holds or does not: of the state, a built-in, a helper, `unify`."""
        span = self.reading.span(node)
        before: list[tree.Goal] = []
        goal: tree.Goal | None = None
        if isinstance(node.func, ast.Name):
            goal = self._named(node, node.func.id, before, span)
        elif isinstance(node.func, ast.Attribute):
            goal = self._state(node, node.func, before, span)
        else:
            self.reading.fault(
                "python-call", "only names can be called", node.func, "define a helper with def"
            )
        return [*before, self.reading.made(goal or tree.Fail(span))]

    def _state(
        self, node: ast.Call, func: ast.Attribute, before: list[tree.Goal], span: Span
    ) -> tree.Goal | None:
        on_state = isinstance(func.value, ast.Name) and func.value.id == "cs"
        if not on_state or func.attr not in STATE:
            self.reading.fault(
                "python-attribute",
                f"{func.attr} is no attribute that a law can use here",
                func,
                "the state is asked with cs.has(t), cs.obligation(o) and cs.clock(T)",
            )
            return None
        self.state_used(func)
        args = self.arguments(node)
        if len(args) != 1:
            self.reading.fault(
                "python-call",
                f"cs.{func.attr} takes 1 argument, not {len(args)}",
                span,
                "ask for one term at a time, and join with and",
            )
            return None
        if func.attr == "has":
            self._check_sensed(args[0])
        pattern = self.term(args[0], before)
        if func.attr == "clock":
            return tree.ClockGoal(pattern, span)
        return tree.Sense(pattern, func.attr == "obligation", span)

    def state_used(self, where: ast.expr) -> None:
        """`cs` may stand only in a function that takes it."""
        if not self.has_state:
            self.reading.fault(
                "python-cs",
                "this function does not take cs",
                where,
                "make cs its first parameter, and pass it along: name(cs, …)",
            )

    def _check_sensed(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            self.reading.fault(
                "python-sense",
                "only text and compounds are in a control state",
                node,
                "as in cs.has(quota(3))",
            )
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("clock", "obligation")
            and len(node.args) == 1
        ):
            self.reading.fault(
                "python-sense",
                f"{node.func.id}(…) is not kept among the terms of the state",
                node,
                f"write cs.{node.func.id}(…)",
            )

    def _named(
        self, node: ast.Call, name: str, before: list[tree.Goal], span: Span
    ) -> tree.Goal | None:
        if name in ("unify", "thisLaw"):
            args = self.arguments(node)
            if len(args) != 2:
                words = f"{name} takes 2 arguments, not {len(args)}"
                self.reading.fault("python-call", words, span, f"write {name}(A, B)")
                return None
            left, right = self.terms(args, before)
            if name == "unify":
                return tree.Unify(left, right, False, span)
            return tree.ThisLaw(left, right, span)
        if name in _NO_CONDITION:
            help = _NO_CONDITION[name]
            self.reading.fault("python-condition", f"{name}(…) is no condition", span, help)
            return None
        return self._predicate(node, name, before, span)

    def _predicate(
        self, node: ast.Call, name: str, before: list[tree.Goal], span: Span
    ) -> tree.Goal | None:
        if not self.plain_name(name, self.reading.span(node.func)):
            return None
        if is_variable(name):
            self.reading.fault(
                "python-call",
                f"{name} is a variable and cannot be called",
                node.func,
                "names of helpers begin with a small letter",
            )
            return None
        args = self.arguments(node)
        with_state = bool(args) and isinstance(args[0], ast.Name) and args[0].id == "cs"
        if with_state:
            self.state_used(args[0])
            del args[0]
        key = name, len(args)
        if key in FUNCTIONS:
            self.reading.fault(
                "python-condition", f"{name}(…) is a number, no condition", span, "compare it"
            )
            return None
        if (name, len(args) + 1) in BUILTINS and key not in self.reading.helper_names:
            self.reading.fault(
                "python-call",
                f"{name} takes {len(args) + 1} arguments, not {len(args)}",
                span,
                f"the last one is its result, as in N = {name}(…) on a line of its own",
            )
            return None
        self.reading.calls.append((name, len(args), with_state, span))
        return tree.PredicateCall(name, self.terms(args, before), span)
