"""The controller against the plainest one that is right, on generated laws and events."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from nomospace.control import Effect, Event, Membership, RecordRuling, Signal, adopt, sent
from nomospace.law import load
from nomospace.terms import term
from nomospace_lab.testing.differential import DifferentialTally, draw_law
from nomospace_lab.testing.plain import difference

LAWS = 80


@pytest.mark.parametrize("part", range(2))
def test_a_membership_does_what_the_plainest_one_does(part: int) -> None:
    events = 0
    for index in range(part, LAWS, 2):
        law, cases = draw_law(7, index, DifferentialTally())
        count, found = difference(law, cases, Random(index))
        assert found is None, f"law {index}\n{found}"
        events += count
    assert events > LAWS // 2 * 10


def shown(effects: list[Effect]) -> list[str]:
    """Everything but the records, by the name of its kind."""
    return [type(one).__name__ for one in effects if not isinstance(one, RecordRuling)]


def test_a_ruling_that_stops_while_it_is_carried_out_leaves_nothing() -> None:
    law = load("""law(stops). initialCS([n(x), m(1), seen]).
        adopted(_) :- do(imposeObligation(o, 1)).
        sent(X, M, Y) :- do(forward), do(signal(M)), do(+new), do(-seen), do(m(_) <- k(2)),
            do(imposeObligation(p, 1)), do(repealObligation(o)), do(quit), do(incr(n(_), 1)).
        exception(_, Why) :- do(+why(Why)), do(incr(n(_), 1)).
    """)
    ann, _ = adopt(law, "ann@x", now=0)
    before = ann.snapshot()
    effects = ann.handle(sent("ann@x", "go", "bob@x"), now=5)
    stops = [one.ruling.stopped for one in effects if isinstance(one, RecordRuling)]
    assert stops == ["typeError", "typeError"], "the second is the exception's own, only recorded"
    assert shown(effects) == []
    assert msgspec.structs.replace(ann.snapshot(), seq=1, next_place=3, next_obligation=1) == before
    assert ann.next_deadline() == 1_000_000


def test_a_repeal_drops_every_obligation_that_fits() -> None:
    law = load("""law(repeals).
        sent(X, more, Y) :- do(imposeObligation(o(1), 1)), do(imposeObligation(o(2), 2)),
            do(imposeObligation(p(1), 1)), do(imposeObligation(o(1), 3)).
        sent(X, M, Y) :- do(repealObligation(o(_))).
    """)
    ann = Membership(law, "ann@x")
    ann.handle(sent("ann@x", "more", "bob@x"), now=0)
    ann.handle(sent("ann@x", "less", "bob@x"), now=0)
    assert ann.pending() == [(1_000_000, term("p(1)"))]


def test_what_is_imposed_in_the_past_holds_nothing_up() -> None:
    law = load("""law(past).
        sent(X, M, Y) :- do(imposeObligation(a, 1)), do(imposeObligation(b, 2)).
        obligationDue(a) :- do(+obligation(early, 0)), do(signal(a)).
        obligationDue(O) :- do(signal(O)).
    """)
    ann = Membership(law, "ann@x")
    ann.handle(sent("ann@x", "go", "bob@x"), now=0)
    effects = ann.handle(Event("quit", ()), now=5_000_000)
    assert [one.what for one in effects if isinstance(one, Signal)] == ["a", "b"]
    assert ann.pending() == [(0, "early")]
    assert ann.next_deadline() == 0
