"""The interpreter: what a law means, said as plainly as we can. The compiler is held to it.

It is a machine with a list of goals to do, a stack of choices to come back to, and a trail of
variables to unbind on the way back. It has no recursion of its own, so a law may recurse as
far as its budget goes. It also tells the story of an evaluation, for explanations.

The meaning, in short: rules are tried in the order of the text, the first that has a solution
gives the ruling. `do` adds an operation to the ruling and is taken back on backtracking. The
control state is read as it was when the event came. An operation's variables have the values
they have when the rule has succeeded.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from nomospace.law.bag import Bag
from nomospace.law.budget import Units, left_of, spend
from nomospace.law.holes import Value, build, resolve
from nomospace.law.machine import FAILED, UNPAID, Env, Machine, Trace, Work
from nomospace.law.prelude import UNITS_MAX
from nomospace.law.prices import INTERPRETED, WORDS_A_UNIT, call_price, weight
from nomospace.law.runtime import finish
from nomospace.law.steps import STEPS
from nomospace.law.tree import LawTree, Rule
from nomospace.terms import Compound, Term

Outcome: TypeAlias = tuple[int, tuple[Compound | str, ...]] | None
"""Number of the rule (from 0) and the operations, or `None` when no rule has a solution."""


class Circumstances(NamedTuple):
    """What is known when an event is ruled on."""

    home: str
    args: tuple[Term, ...]
    state: Bag
    obligations: Bag
    now: int
    units: Units
    traces: list[Trace] | None = None


class Interpreter:
    """Evaluates events under one law. Holds nothing between events."""

    def __init__(self, law: LawTree, hash: str) -> None:
        self.law = law  # with its prices in it
        self.hash = hash
        self.left: frozenset[int] = frozenset()
        """Rules that the compiler leaves to the interpreter, by number: units cost more there."""
        self.call_prices = {key: call_price(clauses) for key, clauses in law.helpers.items()}
        self._entered = [weight(rule.body) // WORDS_A_UNIT for rule in law.rules]
        self.by_event: dict[str, list[tuple[int, Rule]]] = {}
        for index, rule in enumerate(law.rules):
            self.by_event.setdefault(rule.event, []).append((index, rule))

    def rule(
        self,
        event: str,
        home: str,
        args: tuple[Term, ...],
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
        traces: list[Trace] | None = None,
        rate: int | None = None,
    ) -> Outcome:
        """The ruling on an event: the first rule with a solution, and its operations.

        Raises `Stop` when the evaluation goes past a bound or an operation cannot be. With `rate`,
        each unit counts so many times in every rule.
        """
        case = Circumstances(home, args, state, obligations, now, units, traces)
        for index, _ in self.by_event.get(event, ()):
            outcome = self.one(index, case, rate)
            if outcome is not None:
                return outcome
        return None

    def one(self, index: int, case: Circumstances, rate: int | None = None) -> Outcome:
        """The ruling of one rule alone."""
        if rate is None:
            rate = INTERPRETED if index in self.left else 1
        if rate == 1:
            return self._one(index, case)
        # The rule has a purse of its own, and what it spends there is paid for at the rate.
        own = _purse(case.units, rate)
        left = left_of(own)
        try:
            return self._one(index, case._replace(units=own), self._entered[index])
        finally:
            case.units[0] += (left - left_of(own)) * rate

    def _one(self, index: int, case: Circumstances, entry: int = 0) -> Outcome:
        home, args, state, obligations, now, units, traces = case
        rule = self.law.rules[index]
        trace = None
        if traces is not None:
            trace = Trace(rule)
            traces.append(trace)
        specials = special_values(rule.event, home, args)
        machine = Machine(
            self.law, self.hash, self.call_prices, state, obligations, now, units, specials, trace
        )
        operations = _solve(machine, rule, args, entry)
        if operations is None:
            return None
        message = None
        if rule.event in ("sent", "arrived", "submitted"):
            message = (args[0], args[1], args[2])
        return index, tuple([finish(op, home, message, units) for op in operations])


def _purse(units: Units, rate: int) -> Units:
    """What is left of a budget, and of the part of it at hand, at a rate."""
    left = left_of(units) // rate
    if len(units) == 1:
        return [UNITS_MAX - left]
    part = min(left, max(0, (UNITS_MAX - units[0]) // rate))
    return [UNITS_MAX - part, left - part, units[2], max(1, units[3] // rate), left - part]


def special_values(event: str, home: str, args: tuple[Term, ...]) -> Env:
    """`Self`, and `Msg` and `Peer` on events that have them."""
    if event == "sent":
        return {"Self": home, "Msg": args[1], "Peer": args[2]}
    if event in ("arrived", "submitted"):
        return {"Self": home, "Msg": args[1], "Peer": args[0]}
    return {"Self": home}


def _solve(machine: Machine, rule: Rule, args: tuple[Term, ...], entry: int) -> list[Value] | None:
    env = dict(machine.specials)
    heads = [build(node, env) for node in rule.args]
    later = [(build(variable, env), build(node, env)) for variable, node in rule.later]
    if not machine.attempt_all(tuple(heads), args, [-UNPAID]):  # heads are free
        return None
    for stand_in, head in later:
        if not machine.attempt(stand_in, head):
            return None
    if machine.trace is not None:
        machine.trace.matched = True
    if entry:
        spend(machine.units, entry)
    work: Work = (rule.body, env, None)
    while work is not None:
        goal, env, rest = work
        if machine.trace is not None:
            machine.note(goal, env)
        after = STEPS[goal.__class__](machine, goal, env, rest)
        if after is FAILED:
            after = machine.backtrack()
            if after is FAILED:
                return None
        work = after
    if machine.trace is not None:
        machine.trace.held = machine.path
    return [resolve(operation) for operation in machine.operations]


__all__ = ["Env", "Interpreter", "Outcome", "Trace", "special_values"]
