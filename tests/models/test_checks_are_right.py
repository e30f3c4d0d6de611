"""The checks against the interpreter: what they call certain never turns out otherwise.

Random laws over a tiny vocabulary are checked and then run. A place that the checks call certainly
wrong must not be passed on the way to a ruling, and a rule called unreachable must not rule.
"""

from __future__ import annotations

import random

import pytest

from nomospace.law.bag import Bag
from nomospace.law.budget import Stop
from nomospace.law.checks import check
from nomospace.law.interpret import Interpreter, Trace
from nomospace.law.parse import parse
from nomospace.law.prelude import UNITS_MAX
from nomospace.law.tree import FindAll, LawTree, Not, TrueGoal
from nomospace.terms import Diagnostic, Source, Span, Term, term

LAWS = 300
EVENTS_A_LAW = 6
VARIABLES = ("X", "M", "A", "B", "C", "D")
# Places where these codes point are never passed by an evaluation that gives a ruling.
NEVER_PASSED = ("unbound-variable", "contradictory-guards", "deliver-elsewhere")


class LawMaker:
    """Writes random laws in which every kind of goal meets every other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def atom(self) -> str:
        return self.pick(*VARIABLES, *VARIABLES, "a", "b", "1", "2", "Self", "Msg", "_")

    def simple(self) -> str:
        return self.pick(
            self.atom(),
            self.atom(),
            f"f({self.atom()})",
            f"g({self.atom()},{self.atom()})",
            f"[{self.atom()}|{self.pick(*VARIABLES)}]",
            f"[{self.atom()},{self.atom()}]",
            "[]",
        )

    def number(self) -> str:
        return self.pick(*VARIABLES, "1", "2", "3", f"{self.pick(*VARIABLES)}+1")

    def operation(self) -> str:
        return self.pick(
            "forward",
            f"forward(Self,{self.simple()},{self.pick('Y', 'X', 'bob')})",
            f"deliver(Self,{self.simple()},{self.pick('Self', 'Y', 'bob')})",
            f"+{self.simple()}",
            f"-{self.simple()}",
            f"n({self.atom()}) <- n({self.atom()})",
            f"dcr(n({self.atom()}),{self.number()})",
            f"signal({self.pick(*VARIABLES)})",
            f"signal(g({self.pick(*VARIABLES)},{self.pick(*VARIABLES)}))",
        )

    def goal(self, depth: int) -> str:
        kind = self.random.random()
        if depth and kind < 0.2:
            one, two, three = (self.body(depth - 1, 2) for _ in range(3))
            plain = self.plain()
            return self.pick(
                f"({one} ; {two})",
                f"({one} -> {two} ; {three})",
                f"({plain} -> {two} ; {three})",
                f"not({plain})",
                f"\\+ ({plain}, {self.plain()})",
                f"findall({self.simple()}, ({plain}, {self.plain()}), {self.atom()})",
            )
        if kind < 0.5:
            return f"do({self.operation()})"
        return self.binder() if kind < 0.8 else self.plain()

    def binder(self) -> str:
        """A goal that mostly succeeds and may tie variables together."""
        return self.pick(
            f"{self.pick(*VARIABLES)} = {self.simple()}",
            f"{self.pick(*VARIABLES)} = {self.pick(*VARIABLES)}",
            f"n({self.pick(*VARIABLES)})@CS",
            f"p({self.pick(*VARIABLES)},{self.pick(*VARIABLES)})",
            f"q({self.pick(*VARIABLES)})",
            "true",
        )

    def plain(self) -> str:
        return self.pick(
            f"n({self.atom()})@CS",
            f"r({self.simple()},{self.atom()})@CS",
            f"{self.simple()} = {self.simple()}",
            f"{self.simple()} \\= {self.simple()}",
            f"{self.atom()} == {self.atom()}",
            f"{self.atom()} \\== {self.atom()}",
            f"{self.number()} {self.pick('<', '>', '=<', '>=', '=:=')} {self.number()}",
            f"{self.pick(*VARIABLES)} is {self.number()}",
            f"member({self.simple()},{self.simple()})",
            f"append({self.simple()},{self.simple()},{self.atom()})",
            f"length({self.simple()},{self.atom()})",
            f"p({self.simple()},{self.atom()})",
            "clock(T)",
        )

    def body(self, depth: int, goals: int) -> str:
        return ", ".join(self.goal(depth) for _ in range(self.random.randint(1, goals)))

    def law(self) -> str:
        lines = ["law(random)."]
        for number in range(self.random.randint(1, 3)):
            head = self.pick(
                "sent(X,M,Y)",
                f"sent(X,{self.pick('f(A)', 'g(A,B)', 'Msg')},Y)",
                f"sent({self.pick('X', 'Self')},M,{self.pick('Y', 'bob', 'Self')})",
                f"obligationDue({self.pick('A', 'f(A)', 'a')})",
            )
            lines.append(f"R{number}. {head} :- {self.body(1, 5)}.")
        lines += [
            f"p({self.pick(*VARIABLES)},{self.simple()})"
            + self.pick(".", f" :- {self.body(1, 2)}.", f" :- {self.binder()}.")
            for _ in range(self.random.randint(1, 2))
        ]
        lines.append(f"q({self.pick(*VARIABLES)}) :- {self.body(1, 2)}.")
        if self.random.random() < 0.3:
            lines.append("q([A|B]) :- q(B).")
        return "\n".join(lines)

    def ground(self) -> Term:
        return term(self.pick("a", "b", "1", "2", "f(a)", "f(1)", "g(a,b)", "g(1,1)", "[a]", "[]"))

    def event(self) -> tuple[str, tuple[Term, ...]]:
        if self.random.random() < 0.25:
            return "obligationDue", (self.ground(),)
        return "sent", ("ann", self.ground(), self.pick("bob", "ann"))

    def state(self) -> Bag:
        terms = [term(f"n({self.random.randint(1, 3)})") for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.7:
            terms.append(term(f"r({self.pick('a', '1', 'f(1)', '[a,b]')},{self.pick('a', '2')})"))
        return Bag(terms)


def inside(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def evaluate(
    law: LawTree, event: str, args: tuple[Term, ...], state: Bag
) -> tuple[int | None, list[Trace]]:
    traces: list[Trace] = []
    units = [UNITS_MAX - 200]  # little is left, so that endless recursion ends soon
    try:
        outcome = Interpreter(law, "").rule(event, "ann", args, state, Bag([]), 0, units, traces)
    except Stop:
        return None, traces
    return (None if outcome is None else outcome[0]), traces


def refuted(law: LawTree, found: list[Diagnostic], winner: int, trace: Trace) -> Diagnostic | None:
    """A finding that this ruling shows to be wrong."""
    passed = [goal.span for goal, _ in trace.held if not isinstance(goal, Not | FindAll | TrueGoal)]
    for one in found:
        if one.code in NEVER_PASSED and any(inside(one.span, span) for span in passed):
            return one
        if one.code == "unreachable-rule" and one.span == law.rules[winner].head_span:
            return one
    return None


@pytest.mark.parametrize("part", range(2))
def test_what_is_called_certain_never_happens_otherwise(part: int) -> None:
    rulings = certain = 0
    for seed in range(part * LAWS // 2, (part + 1) * LAWS // 2):
        maker = LawMaker(seed)
        source = Source(maker.law())
        law, faults = parse(source)
        assert not faults, source.text
        found = check(law)
        if any(one.code in ("unknown-predicate", "do-inside-not") for one in found):
            continue
        certain += sum(one.code in NEVER_PASSED for one in found)
        for _ in range(EVENTS_A_LAW):
            event, args = maker.event()
            state = maker.state()
            winner, traces = evaluate(law, event, args, state)
            if winner is None:
                continue
            rulings += 1
            wrong = refuted(law, found, winner, traces[-1])
            assert wrong is None, f"seed {seed} {event}{args}\n{source.text}\n{wrong}"
    assert rulings > LAWS // 5, "the laws must rule often enough to put the checks to the test"
    assert certain > LAWS, "the checks must find enough to be put to the test"
