"""A last call inside `not`, a condition or `findall` hands on to that goal, not to its clause."""

import pytest

from nomospace.law import load
from nomospace.law.bag import Bag
from nomospace.terms import term
from nomospace_lab.testing.evaluating import evaluate

HELPERS = """
bad(out(d)).
one(M) :- not(bad(M)).
two(M) :- ( bad(M) -> fail ; true ).
three(M) :- findall(x, bad(M), []).
"""


@pytest.mark.parametrize("helper", ["one", "two", "three"])
@pytest.mark.parametrize("message", ["out(d)", "out(e)"])
def test_a_helper_that_ends_in_a_question_about_another(helper: str, message: str) -> None:
    law = load(f"law(x). R1. sent(_, M, _) :- {helper}(M), do(forward). {HELPERS}")
    args = ("a@x", term(message), "b@x")
    compiled = evaluate(law, "sent", "a@x", args, Bag(), Bag(), 0, [0])
    interpreted = law.interpreter.rule("sent", "a@x", args, Bag(), Bag(), 0, [0])
    assert compiled == interpreted
    assert (compiled is None) == (message == "out(d)")
