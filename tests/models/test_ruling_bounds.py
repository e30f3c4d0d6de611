"""What the compiler tells of the size of rulings, against their bytes.

A controller does not measure a ruling whose bound is small, so a bound too low would let through
what is over the limits.
"""

from random import Random

import pytest

from nomospace.control.bounded import UNBOUNDED, bytes_of
from nomospace.law import load
from nomospace.law.bag import Bag
from nomospace.law.budget import Stop
from nomospace.law.emit.sizes import SizeBound
from nomospace.law.program import CompiledLaw
from nomospace.terms import Faulty, Term, t, term
from nomospace_lab.testing.evaluating import plain_twin
from nomospace_lab.testing.generate import HOME, make_cases, make_law

EVENT = (HOME, term("order(item(k, [1, two, x(y)]), by(ann))"), "bob@x")


def bound_of(goals: str, head: str = "sent(X, order(item(K, L), by(B)), Y)") -> SizeBound | None:
    return load(f"law(l).\n{head} :- {goals}.").bounds[0]


def asked(law: CompiledLaw, args: tuple[Term, ...]) -> tuple[int, tuple[Term, ...]]:
    outcome = plain_twin(law).act("sent", HOME, args, Bag(), Bag(), 0, [0])
    assert outcome is not None
    index, operations = outcome
    assert isinstance(index, int)
    return index, operations


@pytest.mark.parametrize(
    "goals",
    [
        "do(+kept(K, L)), do(forward)",
        "do(+kept(K, K, L, L, B)), do(forward(X, again(L, by(B)), Y))",
        "do(imposeObligation(check(L, B), 5, min)), do(forward(X, order(item(K, L), by(B)), Y))",
        "clock(T)@CS, do(+at(T, L)), do(-old(_, B)), do(forward)",
        "do(a(K) <- a(L)), do(forward)",
        "M = m(K, L), do(+k(M)), do(+n(M)), do(forward(X, M, Y))",
        "(B = ann, do(+l(L)) ; do(+l([L, L, L]))), do(forward)",
    ],
)
def test_a_ruling_of_parts_of_its_event_is_within_its_bound(goals: str) -> None:
    law = load(f"law(l).\nsent(X, order(item(K, L), by(B)), Y) :- {goals}.")
    index, operations = asked(law, EVENT)
    bound = law.bounds[index]
    assert bound is not None
    bytes_now = bytes_of(operations)
    assert bytes_now <= bound[0] + bound[1] * bytes_of(EVENT) <= 3 * bytes_now


@pytest.mark.parametrize(
    "goals",
    [
        "known(N)@CS, do(+n(N)), do(forward)",
        "N is K + 1, do(+n(N)), do(forward)",
        "append(L, L, M), do(+n(M)), do(forward)",
        "do(+n([K | L])), do(forward)",
        "do(L), do(forward)",
        "do(imposeObligation(check, K)), do(forward)",
    ],
)
def test_what_comes_from_elsewhere_has_no_bound(goals: str) -> None:
    assert bound_of(goals) is None


def test_a_ruling_whose_parts_are_doubled_is_compiled_soon_and_has_no_bound() -> None:
    doubled = ", ".join([f"V{n + 1} = f(V{n}, V{n})" for n in range(40)])
    assert bound_of(f"V0 = g(K), {doubled}, do(+k(V40)), do(forward)") is None


def test_no_ruling_of_a_drawn_law_is_larger_than_its_bound() -> None:
    rng = Random(7)
    held = 0
    while held < 400:
        draft = make_law(rng, large=rng.random() < 0.2)
        try:
            law = load(draft.text)
        except Faulty:
            continue
        plain = plain_twin(law)
        for case in make_cases(rng, draft, law.tree, 30):
            given = (case.event, HOME, case.args, Bag(case.state), Bag(case.obligations), case.now)
            try:
                outcome = plain.act(*given, [0])
            except Stop:
                continue
            if outcome is None or (bound := plain.bounds[outcome[0]]) is None:
                continue
            size = bytes_of(case.args)
            if max(size, bytes_of(outcome[1])) < UNBOUNDED and bound != (0, 0):
                assert bytes_of(outcome[1]) <= bound[0] + bound[1] * size, draft.text
                held += 1


def test_a_large_message_has_its_ruling_measured() -> None:
    law = load("law(l).\nsent(X, m(A), Y) :- do(+kept(A, A)), do(forward).")
    large = t.m("x" * 2_000)
    bound = law.bounds[0]
    assert bound is not None
    assert bound[0] + bound[1] * bytes_of((HOME, large, HOME)) >= UNBOUNDED
