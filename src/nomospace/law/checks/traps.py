"""What is allowed and probably not meant: terms that look computed, loose arrows, sample keys."""

from __future__ import annotations

from typing import Final

from nomospace.law import tree
from nomospace.law.checks.operations import needs
from nomospace.law.checks.report import CheckReport, listed
from nomospace.terms import Span
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable, nodes_in, tokenize

KEY_PREFIX: Final = "ed25519:"
"""How a real key begins."""
_PAIRS: Final = ("-", "/")  # also written for pairs, as in room-bed
_ARITHMETIC: Final = ("+", "-", "*", "/", "//", "mod", "rem", "**", "^")


def check(report: CheckReport) -> None:
    """Look for traps in every clause, and at the keys."""
    for clause, goals in report.goals:
        if report.law.language == "law":  # elsewhere a conditional has no arrow to be loose
            _loose_conditional(report, clause)
        _bare_ids(report, clause.args)
        for goal in goals:
            _bare_ids(report, tree.nodes_of(goal))
            if isinstance(goal, tree.Do):
                _in_operation(report, goal)
            elif isinstance(goal, tree.Unify | tree.Same):
                _unevaluated(report, goal.left, goal.right)
            elif isinstance(goal, tree.Sense):
                _unevaluated(report, goal.pattern)
            elif isinstance(goal, tree.PredicateCall):
                _unevaluated(report, *goal.args)
    _placeholders(report)
    if report.law.language == "law" and "law" not in report.law.preamble_spans:
        report.add(
            "preamble-no-name",
            "the law has no name",
            Span(0, 1),
            "begin it with a clause such as law(ward).",
        )


def _bare_ids(report: CheckReport, nodes: tuple[Node, ...]) -> None:
    """`bob@ward` without quotes is a compound of two atoms, and no agent is called that."""
    for item in nodes_in(*nodes):
        if not isinstance(item, Struct) or item.name != "@":
            continue
        text = report.law.source.text[item.span.start : item.span.end]
        atoms = [isinstance(arg, Const) and isinstance(arg.value, str) for arg in item.args]
        if all(atoms) and "(" not in text:
            report.add(
                "bare-id",
                f"{text[:60]} without quotes is a term, not the id of an agent",
                item.span,
                f"write '{text[:60]}'",
            )


def _in_operation(report: CheckReport, goal: tree.Do) -> None:
    operation = goal.operation
    if isinstance(operation, Struct):
        computed = {id(node) for node in needs(operation).numbers}
        pending = [node for node in operation.args if id(node) not in computed]
        if operation.name == "+" and computed:  # +obligation(What, Time)
            pending = list(needs(operation).ground)
        _unevaluated(report, *pending)


def _unevaluated(report: CheckReport, *nodes: Node) -> None:
    pending = list(nodes)
    while pending:
        item = pending.pop()
        if isinstance(item, ListSyntax):
            pending.extend(item.items)
        elif isinstance(item, Struct):
            if _looks_computed(item):
                text = " ".join(report.law.source.text[item.span.start : item.span.end].split())
                report.add(
                    "unevaluated-arithmetic",
                    f"{text[:60]} is not computed here: it stays a term",
                    item.span,
                    f"compute it first: Result is {text[:60]}, and write Result here",
                )
            else:
                pending.extend(item.args)


def _looks_computed(node: Struct) -> bool:
    """Whether a term is arithmetic over numbers and variables, with a variable in it."""
    if node.name not in _ARITHMETIC or len(node.args) != 2:
        return False
    variables = numbers = 0
    certain = False
    for item in nodes_in(node):
        if isinstance(item, Variable):
            variables += 1
        elif isinstance(item, Struct):
            if item.name not in _ARITHMETIC:
                return False
            certain = certain or item.name not in _PAIRS
        elif isinstance(item, Const) and item.value.__class__ in (int, float):
            numbers += 1
        else:
            return False
    return variables > 0 and (numbers > 0 or certain)


def _loose_conditional(report: CheckReport, clause: tree.Rule | tree.Clause) -> None:
    """`a, do(b), c -> d ; e`: the goals before the arrow are all its condition."""
    body = clause.body
    choices = body.goals if isinstance(body, tree.Disj) else (body,)
    for choice in choices:
        if (
            isinstance(choice, tree.If)
            and isinstance(choice.condition, tree.Conj)
            and any(isinstance(goal, tree.Do) for goal in tree.goals_in(choice.condition))
            and not _in_brackets(report, clause, choice)
        ):
            report.add(
                "loose-conditional",
                "all goals before the arrow are its condition, the operations too: when one of "
                "them fails, nothing of them is left",
                choice.condition.span,
                "put brackets around the conditional alone: a, ( Condition -> Then ; Else )",
            )


def _in_brackets(report: CheckReport, clause: tree.Rule | tree.Clause, choice: tree.If) -> bool:
    """Whether a bracket is opened between the head and the conditional."""
    text = report.law.source.text[clause.head_span.end : choice.condition.span.start + 1]
    return any(token.text == "(" for token in tokenize(text)[0])


def _placeholders(report: CheckReport) -> None:
    law = report.law
    names = [a.name for a in law.authorities if not _real(a.key)]
    if law.controller_authority is not None and not _real(law.controller_authority):
        names.append("cAuthority")
    if names:
        spans = law.preamble_spans
        span = spans.get("authority" if names[0] != "cAuthority" else "cAuthority", Span(0, 1))
        keys = "a placeholder for a key" if len(names) == 1 else "placeholders for keys"
        report.add(
            "placeholder-key",
            f"{listed(names)} {'has' if len(names) == 1 else 'have'} {keys}",
            span,
            f"law run, tests and simulated worlds take it; a real host wants {KEY_PREFIX}…",
        )


def _real(key: str) -> bool:
    return key.startswith(KEY_PREFIX) and len(key) > len(KEY_PREFIX)
