"""Control state and obligations: what is looked at comes from somewhere, and the reverse."""

from __future__ import annotations

from collections.abc import Iterator

from nomospace.law.checks.operations import imposed
from nomospace.law.checks.report import CheckReport, Key, functor
from nomospace.law.checks.shapes import TermShapes
from nomospace.law.tree import RESERVED, Do, Goal, Rule, Sense, Unify
from nomospace.terms import Compound, Span, Term
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable
from nomospace.terms.values import Var


def check(report: CheckReport) -> None:
    """Gather what is added, looked at, imposed and handled, and compare."""
    use = _Use(report)
    if use.open_operation:  # do(X) may be any operation
        return
    _terms(report, use)
    _obligations(report, use)


class _Use:
    """Who adds and who looks at terms of the control state; the same for obligations."""

    def __init__(self, report: CheckReport) -> None:
        self.added, self.looked_at = TermShapes(), TermShapes()
        self.imposed, self.handled = TermShapes(), TermShapes()
        self.open_operation = False
        where = report.law.preamble_spans.get("initialCS", Span(0, 1))
        for term in report.law.initial:
            self.added.add(_shell(term, where), where)
        for clause, goals in report.goals:
            if isinstance(clause, Rule) and clause.event == "obligationDue":
                self.handled.add(clause.args[0], clause.head_span)
            for goal in goals:
                if isinstance(goal, Sense) and not goal.obligations:
                    self.looked_at.add(goal.pattern, goal.span, "sensed")
                elif isinstance(goal, Do):
                    self._operation(goal, goals)

    def _operation(self, goal: Do, goals: tuple[Goal, ...]) -> None:
        operation = goal.operation
        if isinstance(operation, Variable):
            self.open_operation = True
        for node in imposed(operation):
            for shape in _resolved(node, goals):
                self.imposed.add(shape, goal.span)
            return
        if not isinstance(operation, Struct):
            return
        name, args = operation.name, operation.args
        if name == "+" and len(args) == 1:
            self.added.add(args[0], goal.span)
        elif name == "-" and len(args) == 1:
            self.looked_at.add(args[0], goal.span, "removed")
        elif name == "<-" and len(args) == 2:
            self.looked_at.add(args[0], goal.span, "replaced")
            self.added.add(args[1], goal.span)
        elif name in ("incr", "dcr") and len(args) == 2:
            self.looked_at.add(args[0], goal.span, "changed")


def _resolved(node: Node, goals: tuple[Goal, ...]) -> Iterator[Node]:
    """What a variable is made equal to in its clause, or the node itself."""
    found = False
    if isinstance(node, Variable):
        for goal in goals:
            if isinstance(goal, Unify) and not goal.negated:
                for left, right in ((goal.left, goal.right), (goal.right, goal.left)):
                    if isinstance(left, Variable) and left.name == node.name:
                        found = True
                        yield right
    if not found:
        yield node


def _shell(term: Term, span: Span) -> Node:
    """A term of `initialCS` as a node, as far as names and atomic arguments go."""
    if isinstance(term, Compound):
        return Struct(term.name, tuple(_part(part, span) for part in term.args), span)
    if isinstance(term, tuple):
        return ListSyntax((), Variable("_", span), span)
    return _part(term, span)


def _part(term: Term, span: Span) -> Node:
    if isinstance(term, Compound | tuple | Var):
        return Variable("_", span)
    return Const(term, span)


def _shown(key: Key) -> str:
    return f"{key[0]}/{key[1]}" if key[1] else key[0]


def _terms(report: CheckReport, use: _Use) -> None:
    for key, span, how in _alone(use.looked_at, use.added):
        report.add(
            "never-added",
            f"{_shown(key)} is {how} here, but nothing in this law adds it",
            span,
            "add it with do(+…) or in initialCS; it may also come from the roll of a secretary",
        )
    for key, span, _ in _alone(use.added, use.looked_at):
        report.add(
            "never-sensed",
            f"{_shown(key)} is added here, but nothing in this law looks at it or removes it",
            span,
            f"sense it with {key[0]}{'(…)' if key[1] else ''}@CS, or do not add it",
        )


def _alone(terms: TermShapes, others: TermShapes) -> Iterator[tuple[Key, Span, str]]:
    """Uses of terms that nothing on the other side fits, one for each functor."""
    told: set[Key] = set()
    for node, span, how in terms.uses:
        key = functor(node)
        if key is None or key in told or key[0] in RESERVED or others.fits(_loose(node)):
            continue
        told.add(key)
        yield key, span, how


def _loose(node: Node) -> Node:
    """Only the name and the number of arguments: a counter's number changes after it is added."""
    if isinstance(node, Struct):
        return Struct(node.name, tuple(Variable("_", node.span) for _ in node.args), node.span)
    return node


def _obligations(report: CheckReport, use: _Use) -> None:
    for node, span, _ in use.imposed.uses:
        if not use.handled.fits(node):
            key = functor(node)
            what = f"the obligation {_shown(key)}" if key else "this obligation"
            report.add(
                "unhandled-obligation",
                f"{what} is imposed here, but no obligationDue rule handles it",
                span,
                "add a rule for it; where only the waiting counts, one with the body true",
            )
    for node, span, _ in use.handled.uses:
        if not use.imposed.fits(node):
            key = functor(node)
            what = f"the obligation {_shown(key)}" if key else "what this rule handles"
            report.add(
                "never-imposed",
                f"{what} is never imposed, so this rule never rules",
                span,
                "impose it with do(imposeObligation(…, After, Unit)), or remove the rule",
            )
