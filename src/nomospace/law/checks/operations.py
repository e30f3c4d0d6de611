"""The form of operations inside `do`: known, with the right arguments, allowed where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from nomospace.law import tree
from nomospace.law.checks.report import (
    HOME,
    MESSAGE_EVENTS,
    PEER,
    CheckReport,
    Key,
    called,
    closure,
    functor,
    is_variable,
    listed,
    nearest,
)
from nomospace.terms import same
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable, nodes_in


class Needs(NamedTuple):
    """What must have a value in an operation once its rule has succeeded."""

    ground: tuple[Node, ...] = ()
    numbers: tuple[Node, ...] = ()  # evaluated as arithmetic
    named: tuple[Node, ...] = ()  # a term must stand here, and may have variables inside


def needs(operation: Node) -> Needs:
    """The parts of an operation that need values; none for what is no operation.

    `-t`, the left of `<-`, a counter and what is repealed may hold variables without a value.
    """
    if isinstance(operation, Variable):
        return Needs(named=(operation,))
    if not isinstance(operation, Struct):
        return Needs()
    name, args = operation.name, operation.args
    if len(args) not in tree.OPERATIONS.get(name, ()):
        return Needs()
    if name == "+":
        due = args[0]
        if isinstance(due, Struct) and due.name == "obligation" and len(due.args) == 2:
            return Needs((due.args[0],), (due.args[1],))
        return Needs(args)
    if name in ("-", "repealObligation"):
        return Needs()
    if name == "<-":
        return Needs((args[1],))
    if name in ("incr", "dcr"):
        return Needs((), (args[1],), (args[0],))
    if name == "imposeObligation":
        return Needs((args[0], *args[2:]), (args[1],))
    return Needs(args)


def check(report: CheckReport) -> None:
    """Look at every operation of a law."""
    messages = _message_contexts(report)
    with_do = _with_do(report)
    for clause, goals in report.goals:
        for goal in goals:
            if isinstance(goal, tree.Do):
                _operation(report, clause, goals, goal, messages)
            elif isinstance(goal, tree.Not | tree.FindAll):
                _inside(report, goal, with_do)


def _inside(report: CheckReport, outer: tree.Not | tree.FindAll, with_do: set[Key]) -> None:
    word = "not" if isinstance(outer, tree.Not) else "findall"
    for goal in tree.goals_in(outer.goal):
        if isinstance(goal, tree.Do):
            report.add(
                "do-inside-not",
                f"an operation cannot stand inside {word}",
                goal.span,
                f"{word} keeps nothing of what happens inside it; put the do after it",
                ((f"{word} begins here", outer.span),),
            )
        elif isinstance(goal, tree.PredicateCall) and (goal.name, len(goal.args)) in with_do:
            report.add(
                "do-lost",
                f"{goal.name}/{len(goal.args)} has operations, and {word} drops them",
                goal.span,
                "split the predicate: one that tests, one that acts",
                ((f"{word} begins here", outer.span),),
            )


def _with_do(report: CheckReport) -> set[Key]:
    """The helpers that may add an operation to the ruling, themselves or through others."""
    acting = {
        (clause.name, len(clause.args))
        for clause, goals in report.goals
        if isinstance(clause, tree.Clause) and any(isinstance(goal, tree.Do) for goal in goals)
    }
    callers: dict[Key, list[Key]] = {}
    for caller, callees in report.calls.items():
        for callee in callees:
            callers.setdefault(callee, []).append(caller)
    return closure(acting, callers)


def _message_contexts(report: CheckReport) -> dict[bool, set[Key]]:
    """The helpers that are called on events with a message, and on events without one."""
    starts: dict[bool, set[Key]] = {True: set(), False: set()}
    for clause, goals in report.goals:
        if isinstance(clause, tree.Rule):
            starts[clause.event in MESSAGE_EVENTS].update(called(goals, report.law.helpers))
    return {message: report.reached(start) for message, start in starts.items()}


def _operation(
    report: CheckReport,
    clause: tree.Rule | tree.Clause,
    goals: tuple[tree.Goal, ...],
    goal: tree.Do,
    messages: dict[bool, set[Key]],
) -> None:
    node = goal.operation
    if isinstance(node, Variable):
        return
    found = functor(node)
    if found is None or found[1] not in tree.OPERATIONS.get(found[0], ()):
        _unknown(report, node, found)
        return
    name, count = found
    args = node.args if isinstance(node, Struct) else ()
    if name in ("forward", "deliver") and count == 0:
        _bare(report, clause, node, name, messages)
    elif name == "deliver":
        _deliver(report, clause, goals, args[2])
    elif name == "imposeObligation" and count == 3:
        _unit(report, args[2])
    elif name in ("+", "-", "<-"):
        for part in args:
            _reserved(report, name, part)
    elif name in ("incr", "dcr"):
        _counter(report, name, args[0])
    if name == "deliver":
        _deliver_on_sent(report, clause, node, args)


_EXAMPLES: Final = {
    "forward": "forward or forward(From, Message, To)",
    "deliver": "deliver or deliver(From, Message, Self)",
    "multicast": "multicast(From, Message, [To, …])",
    "release": "release(Message, To)",
    "+": "+term",
    "-": "-term",
    "<-": "old <- new",
    "incr": "incr(name(N), Amount)",
    "dcr": "dcr(name(N), Amount)",
    "imposeObligation": "imposeObligation(What, After, Unit)",
    "repealObligation": "repealObligation(What)",
    "quit": "quit",
    "signal": "signal(What)",
}


def _unknown(report: CheckReport, node: Node, found: Key | None) -> None:
    if found is None:
        what = "a list" if isinstance(node, ListSyntax) else "a value"
        report.add(
            "unknown-operation",
            f"{what} is no operation",
            node.span,
            f"operations are {listed(tree.OPERATIONS)}",
        )
        return
    name, count = found
    if name in tree.OPERATIONS:
        allowed = listed([tree.arguments(number) for number in tree.OPERATIONS[name]], "or")
        report.add(
            "unknown-operation",
            f"the operation {name} has {allowed}, not {count}",
            node.span,
            f"write do({_EXAMPLES[name]})",
        )
        return
    near = nearest(name, tree.OPERATIONS)
    if near is not None:
        help = f"did you mean {_EXAMPLES[near]}?"
    elif name == ",":
        help = "write one do for each: do(a), do(b)"
    else:
        known = listed(tree.OPERATIONS)
        help = f"operations are {known}; a control-state term is added with do(+term)"
    report.add("unknown-operation", f"{name}/{count} is no operation", node.span, help)


def _bare(
    report: CheckReport,
    clause: tree.Rule | tree.Clause,
    node: Node,
    name: str,
    messages: dict[bool, set[Key]],
) -> None:
    help = f"say what and to whom: {_EXAMPLES[name].partition(' or ')[2]}"
    if isinstance(clause, tree.Rule):
        if clause.event not in MESSAGE_EVENTS:
            report.add(
                "no-message",
                f"{clause.event} has no message that a bare {name} could pass on",
                node.span,
                help,
                (("the event of the rule", clause.head_span),),
            )
        return
    key = clause.name, len(clause.args)
    if key in messages[False] and key not in messages[True]:
        report.add(
            "no-message",
            f"{clause.name}/{len(clause.args)} is only called on events without a message, "
            f"so a bare {name} has nothing to pass on",
            node.span,
            help,
        )


def _deliver(
    report: CheckReport, clause: tree.Rule | tree.Clause, goals: tuple[tree.Goal, ...], to: Node
) -> None:
    if isinstance(to, Variable):
        return
    if isinstance(to, Const) and isinstance(to.value, str) and _mentioned(clause, goals, to):
        return  # the rule may have made sure that the home is this agent
    report.add(
        "deliver-elsewhere",
        f"deliver hands a message to the home agent, not to {report.text(to.span, 40)}",
        to.span,
        "write Self, or forward(From, Message, To) to reach another agent",
    )


def _mentioned(
    clause: tree.Rule | tree.Clause, goals: tuple[tree.Goal, ...], constant: Const
) -> bool:
    """Whether a constant also stands in the head or in a condition of a clause."""
    tests = [goal for goal in goals if not isinstance(goal, tree.Do)]
    nodes = [*clause.args, *(node for goal in tests for node in tree.nodes_of(goal))]
    return any(
        isinstance(node, Const) and same(node.value, constant.value) for node in nodes_in(*nodes)
    )


def _deliver_on_sent(
    report: CheckReport, clause: tree.Rule | tree.Clause, node: Node, args: tuple[Node, ...]
) -> None:
    """`deliver` to the destination of `sent`: the home only when an agent writes to itself."""
    if not isinstance(clause, tree.Rule) or clause.event != "sent":
        return
    to = clause.args[PEER["sent"]]
    home = clause.args[HOME["sent"]]
    if not isinstance(to, Variable) or to.name == "Self":
        return
    if to.name != "_" and is_variable(home, to.name):
        return
    if args and not is_variable(args[2], to.name) and not is_variable(args[2], "Peer"):
        return
    report.add(
        "deliver-on-sent",
        "deliver on a sent event is carried out only when the agent writes to itself",
        node.span,
        "write do(forward) to send the message, or deliver(From, Message, Self) to answer the "
        "sender",
    )


def _unit(report: CheckReport, unit: Node) -> None:
    if isinstance(unit, Variable):
        return
    if isinstance(unit, Const) and isinstance(unit.value, str) and unit.value in tree.UNITS:
        return
    report.add(
        "unknown-unit",
        f"{report.text(unit.span, 40)} is no unit of time",
        unit.span,
        f"units are {listed(tree.UNITS)}; sec is meant when there is none",
    )


def _reserved(report: CheckReport, operation: str, node: Node) -> None:
    found = functor(node)
    if found is None or found[0] not in tree.RESERVED or found[1] > 2:
        return
    name, count = found
    if name == "obligation" and operation == "+" and count == 2:
        return
    help = {
        "tupleSpace": "the host gives tupleSpace to the manager of a space, and only to it",
        "clock": "the clock belongs to the home's host; keep a time under another name",
        "obligation": "impose with imposeObligation(What, After, Unit) or +obligation(What, Time), "
        "drop with repealObligation(What)",
    }[name]
    report.add(
        "reserved-term",
        f"{name} is reserved: a law cannot add it, remove it or put it in a term's place",
        node.span,
        help,
    )


def _counter(report: CheckReport, operation: str, node: Node) -> None:
    if isinstance(node, Variable):
        return
    if isinstance(node, Struct) and len(node.args) == 1:
        _reserved(report, operation, node)
        return
    report.add(
        "bad-counter",
        f"{operation} changes a term with one number in it, not {report.text(node.span, 40)}",
        node.span,
        f"write {operation}(name(N), Amount), for a term name(N) of the control state",
    )


def imposed(operation: Node) -> Iterator[Node]:
    """What an operation imposes as an obligation."""
    if isinstance(operation, Struct):
        if operation.name == "imposeObligation" and len(operation.args) in (2, 3):
            yield operation.args[0]
        elif operation.name == "+" and len(operation.args) == 1:
            due = operation.args[0]
            if isinstance(due, Struct) and due.name == "obligation" and len(due.args) == 2:
                yield due.args[0]
