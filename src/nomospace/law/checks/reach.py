"""What can never come to pass: rules behind others, predicates nobody calls, messages nobody takes.

And what may never end: recursion that does not use up a list. It costs no more than the budget
of an event, but the event then has no ruling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Final

from nomospace.law import tree
from nomospace.law.checks.report import (
    HOME,
    MESSAGE_EVENTS,
    PEER,
    CheckReport,
    Key,
    called,
    functor,
    is_variable,
    listed,
)
from nomospace.law.checks.shapes import COMPARED_MAX, alike, may_fit, takes_in
from nomospace.terms import Span
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

Feature = tuple[str, tuple[int, ...], object]
"""An event, the way to a part of its head, and what stands there."""
_FEATURES_MAX: Final = 40
_ASSIGNMENTS_MAX: Final = 4_096


def check(report: CheckReport) -> None:
    """Look at the order of rules, at calls, and at what is forwarded."""
    _unreachable_rules(report)
    _unused_predicates(report)
    _recursion(report)
    _forwards(report)


# -- rules behind others -----------------------------------------------------------------------


def _unreachable_rules(report: CheckReport) -> None:
    """Compare each rule with the earlier ones that always rule.

    A head has *features*: the constants and functors in it. One that takes in another has no
    feature that the other lacks, so it is filed under its rarest one, and a rule looks only
    under its own.
    """
    heads = [tuple(_features(rule)) for rule in report.law.rules]
    frequent = Counter(feature for head in heads for feature in head)
    filed: dict[Feature, list[tree.Rule]] = {}
    for rule, head in zip(report.law.rules, heads, strict=True):
        first = _taken_in(rule, head, filed)
        if first is not None:
            report.add(
                "unreachable-rule",
                f"rule {rule.name} is never reached: rule {first.name} rules on all its events",
                rule.head_span,
                f"put it before {first.name}, or give {first.name} a condition",
                ((f"rule {first.name} is here", first.head_span),),
            )
        elif _always(rule.body):
            under = filed.setdefault(min(head, key=lambda one: frequent[one]), [])
            if len(under) < COMPARED_MAX:
                under.append(rule)


def _taken_in(
    rule: tree.Rule, head: tuple[Feature, ...], filed: dict[Feature, list[tree.Rule]]
) -> tree.Rule | None:
    special = _plain_head(rule)
    for feature in head:
        for earlier in filed.get(feature, ()):
            if takes_in(_plain_head(earlier), special, ("Self", "Msg", "Peer")):
                return earlier
    return None


def _plain_head(rule: tree.Rule) -> tuple[Node, ...]:
    """A head's arguments; `Self`, `Msg` and `Peer` in their own places take whatever comes."""
    if rule.event not in MESSAGE_EVENTS:
        return rule.args
    places = {HOME[rule.event]: "Self", 1: "Msg", PEER[rule.event]: "Peer"}
    return tuple(
        Variable("_", node.span) if is_variable(node, places[at]) else node
        for at, node in enumerate(rule.args)
    )


def _features(rule: tree.Rule) -> Iterator[Feature]:
    yield rule.event, (), None
    pending: list[tuple[Node, tuple[int, ...]]] = [
        (node, (at,)) for at, node in enumerate(rule.args)
    ]
    count = 1
    at = 0  # breadth first: what stands outside tells most
    while at < len(pending) and count < _FEATURES_MAX:
        node, way = pending[at]
        at += 1
        if isinstance(node, Const):
            yield rule.event, way, (node.value.__class__, node.value)
        elif isinstance(node, Struct):
            yield rule.event, way, (node.name, len(node.args))
            pending.extend((part, (*way, i)) for i, part in enumerate(node.args))
        elif isinstance(node, ListSyntax):
            if node.tail is None:
                yield rule.event, way, len(node.items)
            pending.extend((part, (*way, i)) for i, part in enumerate(node.items[:_FEATURES_MAX]))
        else:
            continue
        count += 1


def _always(goal: tree.Goal) -> bool:
    """Whether a body has a solution whatever the event and the state are."""
    if isinstance(goal, tree.Do | tree.TrueGoal):
        return True
    if isinstance(goal, tree.Conj):
        return all(map(_always, goal.goals))
    if isinstance(goal, tree.Disj):
        return any(map(_always, goal.goals))
    if isinstance(goal, tree.If):
        return goal.otherwise is not None and _always(goal.then) and _always(goal.otherwise)
    return False


# -- predicates --------------------------------------------------------------------------------


def _unused_predicates(report: CheckReport) -> None:
    helpers = report.law.helpers
    starts = [
        key
        for clause, goals in report.goals
        if isinstance(clause, tree.Rule)
        for key in called(goals, helpers)
    ]
    used = report.reached(starts)
    for key, clauses in helpers.items():
        if key not in used:
            report.add(
                "unused-predicate",
                f"no rule calls {key[0]}/{key[1]}",
                clauses[0].head_span,
                "call it or remove it",
            )


def _recursion(report: CheckReport) -> None:
    for group in _circles(report.calls):
        steps = list(_steps(report, group))
        if not _uses_up_a_list(group, steps):
            caller, goal, _ = steps[0]
            names = listed(f"{name}/{count}" for name, count in group)
            verb = "call each other" if len(group) > 1 else "calls itself"
            report.add(
                "unbounded-recursion",
                f"{names} {verb} without using up a list",
                goal.span,
                "take a list apart in the head, as in p([First | Rest]), and pass Rest on in the "
                "same place; else only the event's budget ends it",
                (("the clause begins here", caller.head_span),),
            )


def _circles(calls: dict[Key, list[Key]]) -> Iterator[tuple[Key, ...]]:
    """The groups of predicates that call each other, or themselves (Tarjan, without recursion)."""
    order: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    on_stack: set[Key] = set()
    for start, first in calls.items():
        if start in order:
            continue
        work = [(start, iter(first))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            key, callees = work[-1]
            for callee in callees:
                if callee not in order:
                    order[callee] = low[callee] = len(order)
                    stack.append(callee)
                    on_stack.add(callee)
                    work.append((callee, iter(calls.get(callee, ()))))
                    break
                if callee in on_stack:
                    low[key] = min(low[key], order[callee])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == order[key]:
                    group = [stack.pop()]
                    while group[-1] != key:
                        group.append(stack.pop())
                    on_stack.difference_update(group)
                    if len(group) > 1 or key in calls.get(key, ()):
                        yield tuple(reversed(group))


Step = tuple[tree.Clause, tree.PredicateCall, frozenset[tuple[int, int]]]
"""A call inside a circle: which argument of the callee is a rest of which of the caller's."""


def _steps(report: CheckReport, group: tuple[Key, ...]) -> Iterator[Step]:
    members = set(group)
    for clause in (clause for key in group for clause in report.law.helpers[key]):
        goals = tuple(tree.goals_in(clause.body))
        lists = _taken_apart(clause, goals)
        for goal in goals:
            if isinstance(goal, tree.PredicateCall) and (goal.name, len(goal.args)) in members:
                yield (
                    clause,
                    goal,
                    frozenset(
                        (i, j)
                        for i, whole in lists
                        for j, part in enumerate(goal.args)
                        if _is_rest(part, whole)
                    ),
                )


def _taken_apart(clause: tree.Clause, goals: tuple[tree.Goal, ...]) -> list[tuple[int, ListSyntax]]:
    """The lists that a clause takes apart, with the argument each stands in."""
    found = [(at, node) for at, node in enumerate(clause.args) if isinstance(node, ListSyntax)]
    at_name = {node.name: at for at, node in enumerate(clause.args) if isinstance(node, Variable)}
    for goal in goals:
        if isinstance(goal, tree.Unify) and not goal.negated:
            for name, node in ((goal.left, goal.right), (goal.right, goal.left)):
                if (
                    isinstance(name, Variable)
                    and isinstance(node, ListSyntax)
                    and name.name in at_name
                ):
                    found.append((at_name[name.name], node))
    return found


def _is_rest(part: Node, whole: ListSyntax) -> bool:
    """Whether a node is what remains of a list after some of its first items."""
    if not whole.items or whole.tail is None:
        return False
    if isinstance(part, Variable):
        return is_variable(whole.tail, part.name) and part.name != "_"
    if not isinstance(part, ListSyntax) or part.tail is None or len(part.items) >= len(whole.items):
        return False
    rest = whole.items[len(whole.items) - len(part.items) :]
    return alike(part.tail, whole.tail) and all(map(alike, part.items, rest))


def _uses_up_a_list(group: tuple[Key, ...], steps: list[Step]) -> bool:
    """Whether each predicate has one argument such that every call passes a rest of it on."""
    if len(group) == 1:
        return any(all((at, at) in rests for _, _, rests in steps) for at in range(group[0][1]))
    if prod(count for _, count in group) > _ASSIGNMENTS_MAX:
        return False
    for chosen in product(*(range(count) for _, count in group)):
        place = dict(zip(group, chosen, strict=True))
        if all(
            (place[caller.name, len(caller.args)], place[goal.name, len(goal.args)]) in rests
            for caller, goal, rests in steps
        ):
            return True
    return False


# -- messages ----------------------------------------------------------------------------------


def _forwards(report: CheckReport) -> None:
    arrivals: dict[Key | None, list[tree.Rule]] = {}
    for rule in report.law.rules:
        if rule.event == "arrived":
            message = _plain_head(rule)[1]
            arrivals.setdefault(functor(message), []).append(rule)
    told: set[Key | None] = set()
    for clause, goals in report.goals:
        for goal in goals:
            if not isinstance(goal, tree.Do):
                continue
            for sender, message, to in _sendings(clause, goal.operation):
                kind = functor(message)
                if not arrivals:
                    _no_arrivals(report, goal.span)
                    return
                if kind not in told and not _accepted(arrivals, sender, message, to):
                    told.add(kind)
                    what = f"{kind[0]}/{kind[1]}" if kind else "this message"
                    report.add(
                        "unaccepted-forward",
                        f"no arrived rule accepts {what} as it is forwarded here",
                        goal.span,
                        "add an arrived rule for it; without one the message has no effect where "
                        "it arrives",
                    )


def _no_arrivals(report: CheckReport, span: Span) -> None:
    report.add(
        "unaccepted-forward",
        "the law has no arrived rule, so nothing that it forwards has any effect",
        span,
        "add one, such as arrived(X, M, Y) :- do(deliver).",
    )


def _sendings(
    clause: tree.Rule | tree.Clause, operation: Node
) -> Iterator[tuple[Node, Node, Node]]:
    """Sender, message and each destination of what an operation sends inside the community."""
    event = (
        clause.args if isinstance(clause, tree.Rule) and clause.event in MESSAGE_EVENTS else None
    )
    if functor(operation) == ("forward", 0):
        if event is not None:
            yield event[0], event[1], event[2]
        return
    if not (
        isinstance(operation, Struct)
        and operation.name in ("forward", "multicast")
        and len(operation.args) == 3
    ):
        return
    sender, message, to = operation.args
    if event is not None and is_variable(message, "Msg"):
        message = event[1]
    if isinstance(to, ListSyntax):
        for one in to.items:
            yield sender, message, one
        if to.tail is None:
            return
        to = to.tail
    yield sender, message, to


def _accepted(
    arrivals: dict[Key | None, list[tree.Rule]], sender: Node, message: Node, to: Node
) -> bool:
    kind = functor(message)
    if isinstance(message, Variable):
        if len(arrivals) > COMPARED_MAX:
            return True
        candidates = [rule for rules in arrivals.values() for rule in rules[:COMPARED_MAX]]
    else:
        candidates = [*arrivals.get(kind, ()), *(arrivals.get(None, ()) if kind else ())]
    if len(candidates) > COMPARED_MAX:
        return True
    return any(
        may_fit(rule.args[0], sender, rule.args[1], message, rule.args[2], to)
        for rule in candidates
    )
