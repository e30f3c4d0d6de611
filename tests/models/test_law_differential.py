"""The compiler against the interpreter, on generated laws, events and states."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from nomospace.law import CompiledLaw, load
from nomospace.law.emit import LawBuilder
from nomospace.law.interpret import Outcome
from nomospace.law.render import show_goal
from nomospace.terms import Faulty, term
from nomospace_lab.testing import differential
from nomospace_lab.testing.differential import DifferentialTally, compare, differs, examine, run
from nomospace_lab.testing.generate import EventCase, make_cases, make_law
from nomospace_lab.testing.shrink import shrink

PAIRS = 2_000


def test_compiler_and_interpreter_agree_and_the_pairs_are_worth_it() -> None:
    tally = run(PAIRS, seed=1)
    assert tally.pairs == PAIRS
    assert not tally.differences, "\n\n".join(tally.differences)
    assert not tally.faults(), tally.faults()


def test_the_same_seed_gives_the_same_laws_and_cases() -> None:
    one, two = (make_law(Random(11)) for _ in range(2))
    assert one.text == two.text
    tree = load(one.text).tree
    cases = [list(make_cases(Random(5), one, tree, 8)) for _ in range(2)]
    assert cases[0] == cases[1]


def test_nearly_every_draft_is_a_law() -> None:
    tally = DifferentialTally()
    for index in range(60):
        differential.draw_law(3, index, tally)
    assert tally.dropped <= 6


LAW = """law(drawn).
sent(X, M, Y) :- quota(N)@CS, not(off@CS), ( N > 2 -> do(signal(N)) ; true ), do(forward).
sent(X, M, Y) :- step(M), do(deliver(Self, M, Self)).
arrived(X, M, Y) :- do(deliver).
step(ping). step(pong).
"""
CASE = EventCase("sent", ("ann@x", "ping", "bob@x"), ("on", term("quota(9)")), ("refill",), 7, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda outcome, units: None,
        lambda outcome, units: (outcome[0] + 1, outcome[1]),
        lambda outcome, units: (outcome[0], outcome[1][:-1]),
        lambda outcome, units: units.__setitem__(0, units[0] + 1) or outcome,
        lambda outcome, units: 1 // 0,
    ],
    ids=["no ruling", "other rule", "an operation less", "a unit more", "crash"],
)
def test_a_wrong_compiler_is_caught_and_its_case_made_small(
    wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = CompiledLaw.act

    def act(self: CompiledLaw, event: str, *given: object) -> Outcome:
        outcome = right(self, event, *given)  # type: ignore[arg-type]
        return wrong(outcome, given[-1]) if outcome else None  # type: ignore[operator]

    assert compare(load(LAW), CASE).agreed
    monkeypatch.setattr(CompiledLaw, "act", act)
    assert not compare(load(LAW), CASE).agreed
    text, case = shrink(load(LAW).tree, CASE, differs)
    assert differs(text, case)
    assert len(text.splitlines()) == 2, text
    assert (case.state, case.obligations, case.now) == ((), (), 0)


def test_a_negation_binds_nothing() -> None:
    """Few of the laws that are drawn use a variable again that a negation has tried."""
    law = load("law(l). sent(X, M, Y) :- not((gone(N)@CS, N > 9)), N = 3, do(signal(N)).")
    case = CASE._replace(state=(term("gone(7)"),), obligations=(), now=0)
    found = compare(law, case)
    assert found.agreed
    assert found.interpreted.rule == 0


def test_a_pattern_takes_no_compound_with_more_arguments() -> None:
    """Few events of those that are drawn have one argument more than a pattern."""
    law = load("""law(l).
        sent(X, M, Y) :- M = m(f(A, B)), do(signal(A)).
        sent(X, M, Y) :- do(signal(b)).
    """)
    for message, rule in (("m(f(1, 2))", 0), ("m(f(1, 2, 3))", 1)):
        found = compare(law, CASE._replace(args=("ann@x", term(message), "bob@x")))
        assert found.agreed
        assert found.interpreted.rule == rule


def test_a_law_that_the_compiler_falls_over_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LawBuilder.build

    def build(self: LawBuilder, *given: Any) -> Any:
        assert not any("signal" in show_goal(rule.body) for rule in self.law.rules)
        return right(self, *given)

    monkeypatch.setattr(LawBuilder, "build", build)
    tally = examine(2, range(40), 500)
    assert tally.differences
    assert all("cannot be compiled: AssertionError" in one for one in tally.differences)
    assert all(len(one.splitlines()) <= 5 for one in tally.differences), tally.differences


def test_a_text_that_is_no_law_is_no_difference() -> None:
    with pytest.raises(Faulty):
        load("law(drawn). sent(X) :- true.")
    assert not differs("law(drawn). sent(X) :- true.", CASE)


def test_a_run_of_poor_pairs_is_no_proof() -> None:
    tally = DifferentialTally(pairs=1_000, nonempty=200)
    faults = tally.faults()
    assert "only 200 of 1000 pairs give a ruling" in faults
    assert "findall/3 stands on a winning path only 0 times of 1" in faults
    assert "budget stops an evaluation only 0 times of 1" in faults
