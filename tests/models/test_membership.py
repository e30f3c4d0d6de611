"""The controller against the plainest one that is right, on generated laws and events."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.control import Event, Membership, sent
from nomospace.law import load
from nomospace.testing.differential import Tally, draw_law
from nomospace.testing.plain import difference

LAWS = 160


@pytest.mark.parametrize("part", range(2))
def test_a_membership_does_what_the_plainest_one_does(part: int) -> None:
    events = 0
    for index in range(part, LAWS, 2):
        law, cases = draw_law(7, index, Tally())
        count, found = difference(law, cases, Random(index))
        assert found is None, f"law {index}\n{found}"
        events += count
    assert events > LAWS // 2 * 10


def test_what_is_imposed_in_the_past_holds_nothing_up() -> None:
    law = load("""law(past).
        sent(X, M, Y) :- do(imposeObligation(a, 1)), do(imposeObligation(b, 2)).
        obligationDue(a) :- do(+obligation(early, 0)), do(signal(a)).
        obligationDue(O) :- do(signal(O)).
    """)
    ann = Membership(law, "ann@x")
    ann.handle(sent("ann@x", "go", "bob@x"), now=0)
    effects = ann.handle(Event("quit", ()), now=5_000_000)
    assert [str(one.what) for one in effects if hasattr(one, "what")] == ["a", "b"]
    assert ann.pending() == [(0, "early")]
    assert ann.next_deadline() == 0
