"""Names that must exist: predicates, their number of arguments, functions of arithmetic."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from nomospace.law.arithmetic import FUNCTIONS
from nomospace.law.checks.operations import needs
from nomospace.law.checks.report import CheckReport, Key, functor, listed, nearest
from nomospace.law.prelude import BUILTINS
from nomospace.law.tree import EVENTS, OPERATIONS, Compare, Do, Is, PredicateCall, Sense, arguments
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

_FORMS: Final = {
    "findall": "findall(Template, Goal, List)",
    "not": "not(Goal)",
    "clock": "clock(T)",
    "thisLaw": "thisLaw(Name, Hash)",
    "true": "true",
    "fail": "fail",
    "do": "do(Operation)",
}
"""Goals that are no predicates, and how they are written."""
_ABSENT: Final = {
    "call": "goals are written out; there is no call",
    "assert": "the control state is what a law remembers: do(+term)",
    "asserta": "the control state is what a law remembers: do(+term)",
    "assertz": "the control state is what a law remembers: do(+term)",
    "retract": "the control state is what a law remembers: do(-term)",
    "false": "write fail",
    "select": "use delete(List, Item, Rest)",
    "last": "use append(_, [Item], List)",
    "nth1": "use nth0(Index, List, Item), which counts from 0",
    "msort": "use sort(List, Sorted), which drops duplicates",
    "memberchk": "use member(Item, List)",
    "sumlist": "use sum_list(List, Sum)",
    "forall": "write not((Condition, not(Then)))",
    "write": "show something with do(signal(What))",
    "print": "show something with do(signal(What))",
}
"""What authors who know Prolog reach for, and what does it here."""


def check(report: CheckReport) -> None:
    """Look at every call and every expression."""
    known = _Names(report)
    for _, goals in report.goals:
        for goal in goals:
            if isinstance(goal, PredicateCall):
                known.call(goal)
            elif isinstance(goal, Compare):
                _expression(report, goal.left)
                _expression(report, goal.right)
            elif isinstance(goal, Is):
                _expression(report, goal.expression)
            elif isinstance(goal, Do):
                for node in needs(goal.operation).numbers:
                    _expression(report, node)
    for key, clauses in report.law.helpers.items():
        if key in BUILTINS:
            report.add(
                "builtin-redefined",
                f"{key[0]}/{key[1]} is built in, and this law's own definition takes its place",
                clauses[0].head_span,
                "give the predicate another name, or leave it out",
            )


class _Names:
    """Looks names up. What a name was taken for is remembered: authors repeat themselves."""

    def __init__(self, report: CheckReport) -> None:
        self.report = report
        self.helpers = report.law.helpers
        self.arities: dict[str, list[int]] = {}
        for name, count in (*BUILTINS, *self.helpers):
            self.arities.setdefault(name, []).append(count)
        self.near: dict[str, str | None] = {}

    def call(self, goal: PredicateCall) -> None:
        name, count = goal.name, len(goal.args)
        if (name, count) in self.helpers or (name, count) in BUILTINS:
            return
        if name in self.arities:
            allowed = listed([arguments(n) for n in sorted(set(self.arities[name]))], "or")
            self.report.add(
                "unknown-predicate",
                f"the predicate {name} has {allowed}, not {count}",
                goal.span,
                f"write {_call_form(name, self.arities[name][0])}, or define {name}/{count}",
            )
            return
        self.report.add(
            "unknown-predicate",
            f"{name}/{count} is no predicate",
            goal.span,
            self._help(name, count),
        )

    def _help(self, name: str, count: int) -> str:
        if name in OPERATIONS and name not in EVENTS:
            return f"operations stand in do: do({name}{'(…)' if count else ''})"
        if name in _FORMS:
            return f"write {_FORMS[name]}"
        if name in _ABSENT:
            return _ABSENT[name]
        if (name, count) in self._state_terms:
            return f"to look at the control state, write {name}{'(…)' if count else ''}@CS"
        if name in EVENTS:
            return "events are ruled on, not called"
        if name not in self.near:
            self.near[name] = nearest(name, (*self.arities, *_FORMS, *OPERATIONS))
        near = self.near[name]
        if near in OPERATIONS:
            return f"did you mean do({near}{'(…)' if count else ''})?"
        if near in _FORMS:
            return f"did you mean {_FORMS[near]}?"
        if near is not None:
            return f"did you mean {_call_form(near, self.arities[near][0])}?"
        return (
            f"define it in the law, or write {name}{'(…)' if count else ''}@CS for a term of "
            "the control state"
        )

    @cached_property
    def _state_terms(self) -> set[Key]:
        found = set(map(functor, self.report.law.initial))
        for _, goals in self.report.goals:
            found.update(functor(goal.pattern) for goal in goals if isinstance(goal, Sense))
            for goal in goals:
                if isinstance(goal, Do) and isinstance(goal.operation, Struct):
                    found.update(map(functor, goal.operation.args))
        return {key for key in found if key is not None}


def _call_form(name: str, count: int) -> str:
    """A name with the number of arguments it has: `length(A, B)`."""
    return f"{name}({', '.join('ABCDEFGH'[:count])})" if 0 < count < 9 else f"{name}/{count}"


def _expression(report: CheckReport, node: Node) -> None:
    """Every part of an expression must be a number, a variable or a function of such."""
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, Struct):
            if (item.name, len(item.args)) in FUNCTIONS:
                pending.extend(item.args)
            else:
                _unknown_function(report, item)
        elif isinstance(item, ListSyntax):
            _no_number(report, item, "a list")
        elif isinstance(item, Const) and (
            isinstance(item.value, bool) or not isinstance(item.value, int | float)
        ):
            text = report.law.source.text[item.span.start : item.span.end]
            _no_number(report, item, text[:40] or "this")
        else:
            assert isinstance(item, Const | Variable)


def _unknown_function(report: CheckReport, node: Struct) -> None:
    name, count = node.name, len(node.args)
    counts = sorted(n for known, n in FUNCTIONS if known == name)
    if counts:
        message = f"the function {name} has {listed(map(arguments, counts), 'or')}, not {count}"
        help = ""
    else:
        message = f"{name}/{count} is no arithmetic function"
        names = list(dict.fromkeys(known for known, _ in FUNCTIONS))
        near = nearest(name, names)
        help = f"did you mean {near}?" if near else f"functions are {listed(names)}"
    report.add("unknown-function", message, node.span, help)


def _no_number(report: CheckReport, node: Node, what: str) -> None:
    report.add(
        "not-a-number",
        f"{what} is no number, so the evaluation ends with a typeError here",
        node.span,
        "compare terms with = or ==, compute with numbers",
    )
