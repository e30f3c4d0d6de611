"""Single clauses and their twins: variables that stand once, labels and clauses twice."""

from __future__ import annotations

from collections.abc import Iterator

from nomospace.law import tree
from nomospace.law.checks.report import MESSAGE_EVENTS, CheckReport, functor
from nomospace.law.checks.shapes import tokens
from nomospace.terms.tokens import Variable


def check(report: CheckReport) -> None:
    """Look at each clause, and for its twin."""
    labels: dict[str, tree.Rule] = {}
    twins: dict[tuple[object, ...], tree.Rule | tree.Clause] = {}
    for clause, goals in report.goals:
        _singletons(report, clause, goals)
        if isinstance(clause, tree.Rule) and clause.label is not None:
            first = labels.setdefault(clause.label, clause)
            if first is not clause:
                report.add(
                    "duplicate-label",
                    f"the label {clause.label} stands before two rules",
                    clause.head_span,
                    "a ruling names its rule by the label; give this one another",
                    (("the first is here", first.head_span),),
                )
        twin = twins.setdefault(tuple(_form(clause, goals)), clause)
        if twin is not clause:
            report.add(
                "duplicate-clause",
                f"{_named(clause)} says the same as {_named(twin)}",
                clause.head_span,
                "remove one of the two",
                (("the first is here", twin.head_span),),
            )


def _named(clause: tree.Rule | tree.Clause) -> str:
    if isinstance(clause, tree.Rule):
        return f"rule {clause.name}"
    return f"this clause of {clause.name}/{len(clause.args)}"


def _singletons(
    report: CheckReport, clause: tree.Rule | tree.Clause, goals: tuple[tree.Goal, ...]
) -> None:
    """A variable that stands once is a slip, or wants to be `_`.

    A head names the parts of a message for the reader, so a whole argument of a head may stand
    once; and where a rule passes the message on whole, all of the message counts as used.
    """
    count: dict[str, int] = {}
    first: dict[str, Variable] = {}
    nodes = (*clause.args, *(node for goal in goals for node in tree.nodes_of(goal)))
    for variable in tree.variables_in(*nodes):
        count[variable.name] = count.get(variable.name, 0) + 1
        first.setdefault(variable.name, variable)
    quiet = {node.name for node in clause.args if isinstance(node, Variable)}
    if isinstance(clause, tree.Rule) and clause.event in MESSAGE_EVENTS:
        whole = "Msg" in count or any(
            isinstance(goal, tree.Do)
            and functor(goal.operation) in (("forward", 0), ("deliver", 0))
            for goal in goals
        )
        if whole:
            quiet.update(variable.name for variable in tree.variables_in(clause.args[1]))
    for name, times in count.items():
        if times == 1 and name[0] != "_" and name not in tree.SPECIAL and name not in quiet:
            report.add(
                "singleton-variable",
                f"{name} stands only once in {_named(clause)}",
                first[name].span,
                f"write _{name} or _ if that is meant, or is it a slip for another variable?",
            )


def _form(clause: tree.Rule | tree.Clause, goals: tuple[tree.Goal, ...]) -> Iterator[object]:
    """A clause without layout, its variables numbered: equal for clauses that say the same."""
    numbers: dict[str, int] = {}
    yield clause.event if isinstance(clause, tree.Rule) else clause.name
    yield isinstance(clause, tree.Rule)
    yield len(clause.args)
    yield from _numbered(tokens(*clause.args), numbers)
    for goal in goals:
        yield goal.__class__
        yield len(tree.subgoals(goal))
        if isinstance(goal, tree.Unify | tree.Same):
            yield goal.negated
        elif isinstance(goal, tree.Compare):
            yield goal.operator
        elif isinstance(goal, tree.Sense):
            yield goal.obligations
        elif isinstance(goal, tree.If):
            yield goal.otherwise is None
        elif isinstance(goal, tree.PredicateCall):
            yield goal.name, len(goal.args)
        yield from _numbered(tokens(*tree.nodes_of(goal)), numbers)


def _numbered(parts: Iterator[object], numbers: dict[str, int]) -> Iterator[object]:
    for part in parts:
        if isinstance(part, str) and part != "_" and part not in tree.SPECIAL:
            yield numbers.setdefault(part, len(numbers))
        else:
            yield part
