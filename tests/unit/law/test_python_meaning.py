"""What a Python law does is what Python would do: generated bodies, translated and ruled on by the
interpreter, against the very same text run by Python with orders that only take notes.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from nomospace.law.bag import Bag
from nomospace.law.interpret import Interpreter
from nomospace.law.python import parse_python
from nomospace.terms import Compound, Source, term
from nomospace.terms.values import as_compound, parts_of


@dataclass
class Writer:
    """Writes bodies over the numbers A and B and the list of numbers L."""

    random: Random
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def expression(self, known: list[str], depth: int = 2) -> str:
        kind = self.random.randint(0, 5 if depth else 1)
        if kind == 0:
            return str(self.random.randint(-9, 9))
        if kind == 1:
            return str(self.random.choice(known))
        left = self.expression(known, depth - 1)
        if kind == 2:
            divisor = self.random.choice([-3, -2, 1, 2, 5])
            return f"({left}) {self.random.choice(['//', '%'])} ({divisor})"
        right = self.expression(known, depth - 1)
        if kind == 3:
            return f"{self.random.choice(['max', 'min'])}({left}, {right})"
        return f"({left}) {self.random.choice(['+', '-', '*'])} ({right})"

    def condition(self, known: list[str], depth: int = 2) -> str:
        kind = self.random.randint(0, 5 if depth else 2)
        left, right = self.expression(known, 1), self.expression(known, 1)
        if kind == 0:
            compared = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"{left} {compared} {right}"
        if kind == 1:
            asked = self.random.choice(["in", "not in"])
            return f"{self.random.choice(known)} {asked} L"
        if kind == 2:
            return f"{left} <= {right} < 5"
        if kind == 3:
            return f"not ({self.condition(known, depth - 1)})"
        joined = self.random.choice(["and", "or"])
        return f"({self.condition(known, depth - 1)}) {joined} ({self.condition(known, depth - 1)})"

    def block(self, margin: str, known: list[str], depth: int, ending: str) -> None:
        known = list(known)
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.randint(0, 4 if depth else 1)
            if kind == 0:
                self.lines.append(f"{margin}do(signal(s(0 + {self.expression(known)})))")
            elif kind == 1:
                self.count += 1
                self.lines.append(f"{margin}V{self.count} = {self.expression(known)}")
                known.append(f"V{self.count}")
            elif kind == 4 and ending == "return":
                self.count += 1
                item = f"X{self.count}"
                self.lines.append(f"{margin}for {item} in L:")
                self.block(margin + "    ", [*known, item], depth - 1, "continue")
            else:
                self.branches(margin, known, depth, ending)
        if self.random.randint(0, 3) == 0 and margin != "    ":
            self.lines.append(f"{margin}{ending}")

    def branches(self, margin: str, known: list[str], depth: int, ending: str) -> None:
        for word in ["if", *["elif"] * self.random.randint(0, 1)]:
            self.lines.append(f"{margin}{word} {self.condition(known)}:")
            self.block(margin + "    ", known, depth - 1, ending)
        if self.random.random() < 0.5:
            self.lines.append(f"{margin}else:")
            self.block(margin + "    ", known, depth - 1, ending)


def a_body(random: Random) -> str:
    writer = Writer(random)
    writer.block("    ", ["A", "B"], 3, "return")
    return "\n".join(writer.lines)


def in_python(body: str, a: int, b: int, numbers: list[int]) -> list[int]:
    """What Python does with a body that a test has written."""
    notes: list[int] = []
    names: dict[str, Any] = {
        "do": notes.append,
        "signal": lambda value: value,
        "s": lambda value: value,
    }
    exec(f"def rule(A, B, L):\n{body}\n", names)
    names["rule"](a, b, numbers)
    return notes


def in_a_law(body: str, a: int, b: int, numbers: list[int]) -> list[int]:
    text = f'law = Law("l")\n@law.sent(m(A, B, L))\ndef rule(cs):\n{body}\n'
    source = Source(text)
    law, faults = parse_python(source)
    # Where every path has returned, what follows is refused; the law is read without that check.
    assert all(fault.code == "python-unreachable" for fault in faults), [
        fault.render(source) for fault in faults
    ]
    message = Compound("m", (a, b, tuple(numbers)))
    outcome = Interpreter(law, "").rule("sent", "me", ("me", message, "you"), Bag(), Bag(), 0, [0])
    assert outcome is not None, "nothing in these bodies can fail"
    return [int(str(parts_of(as_compound(op).args[0])[0])) for op in outcome[1]]


@pytest.mark.parametrize("seed", range(5))
def test_a_law_does_what_python_does(seed: int) -> None:
    random = Random(seed)
    for _ in range(40):
        body = a_body(random)
        a, b = random.randint(-7, 7), random.randint(-7, 7)
        numbers = [random.randint(-7, 7) for _ in range(random.randint(0, 3))]
        assert in_a_law(body, a, b, numbers) == in_python(body, a, b, numbers), body


@given(st.integers(), st.integers(1) | st.integers(max_value=-1))
def test_floor_division_is_pythons(a: int, b: int) -> None:
    assert in_a_law("    do(signal(s(A // B)))", a, b, []) == [a // b]


def ruling(text: str, message: str, state: str = "[]") -> list[str] | None:
    law, faults = parse_python(Source(text))
    assert not faults
    args = ("me", term(message), "you")
    bag = Bag(parts_of(term(state)))
    outcome = Interpreter(law, "").rule("sent", "me", args, bag, Bag(), 0, [0])
    return None if outcome is None else [str(op) for op in outcome[1]]


def signals(*texts: str) -> list[str]:
    return [str(Compound("signal", (term(text),))) for text in texts]


def test_what_is_asked_of_the_state_is_asked_again_when_a_later_condition_fails() -> None:
    text = """
law = Law("l")
@law.sent(pick)
def pick(cs):
    require(cs.has(quota(N)))
    require(N > 2)
    do(signal(N))
"""
    assert ruling(text, "pick", "[quota(1), quota(3), quota(4)]") == signals("3")
    assert ruling(text, "pick", "[quota(1)]") is None


def test_an_order_on_a_path_that_fails_leaves_nothing() -> None:
    text = """
law = Law("l")
@law.sent(go)
def first(cs):
    do(signal(first))
    fail()
@law.sent(go)
def second(cs):
    do(signal(second))
"""
    assert ruling(text, "go") == signals("second")


def test_a_loop_knows_the_home_and_the_message() -> None:
    text = """
law = Law("l")
@law.sent(tell(L), to=Y)
def tell(cs):
    for X in L:
        if X != Self:
            do(signal(to(X, Y, Msg)))
"""
    assert ruling(text, "tell([me, bob])") == signals("to(bob, you, tell([me, bob]))")
