"""Rulings in slices: what they come to is what they come to at once, and units tell where."""

from __future__ import annotations

import gc
import sys

import pytest

from nomospace.control import TICK, Decision, Effect, Event, Membership, Tick, Undecided, sent
from nomospace.law import load
from nomospace.terms import Term, t

LAW = load(
    """\
law(dear).
initialCS([seen(0)]).
count(0).
count(N) :- N > 0, M is N - 1, count(M).
deep(0).
deep(N) :- N > 0, M is N - 1, deep(M), N > 0.
R1. sent(_, count(N), _) :- seen(S)@CS, count(N), do(seen(S) <- seen(N)), do(forward).
R2. sent(_, deep(N), _) :- deep(N), do(+ deep(N)), do(forward).
R3. sent(_, pairs(N), _) :- between(1, N, A), between(1, N, B), A * B > 1000000, do(forward).
R4. sent(_, owe(N), _) :- do(imposeObligation(count(N), 1)).
R5. sent(_, halt, _) :- count(500), do(quit).
R6. sent(_, open(N), _) :- findall(X - Y, between(1, N, X), L), length(L, K), do(+ open(K)).
R7. obligationDue(count(N)) :- count(N), do(+ late(N)).
R8. exception(_, budget) :- count(300), do(+ stopped).
"""
)
SLICE = 100


def member() -> Membership:
    return Membership(LAW, "ann@x")


def told(message: Term) -> Event:
    return sent("ann@x", message, "bob@x")


def sliced(
    ann: Membership, event: Event | Tick, now: int, slice: int = SLICE
) -> tuple[list[Effect], int]:
    """Rule on an event in slices: the effects, and how many slices it took after the first."""
    effects = ann.handle(event, now=now, slice=slice)
    if not effects or not isinstance(effects[-1], Undecided):
        return effects, 0
    decision = Decision(ann, effects.pop(), slice=slice)  # type: ignore[arg-type]
    for count in range(1, 10_000):
        rest = decision.go_on(now=now)
        if rest is not None:
            return effects + rest, count
    raise AssertionError("it never ends")


@pytest.mark.parametrize("slice", [1, 7, 100, 4_000, 99_999])
@pytest.mark.parametrize(
    "message", [t.count(5), t.count(2_000), t.deep(900), t.pairs(60), t.open(300), "halt", "none"]
)
def test_a_ruling_is_the_same_in_any_slices(message: Term, slice: int) -> None:
    at_once, cut = member(), member()
    expected = at_once.handle(told(message), now=7)
    assert sliced(cut, told(message), 7, slice)[0] == expected
    assert cut.snapshot() == at_once.snapshot()
    assert cut.spent == at_once.spent
    assert cut.ended == at_once.ended
    assert cut.history() == at_once.history()


def test_units_alone_say_where_it_is_cut() -> None:
    short, count = sliced(member(), told(t.count(20)), 0)
    assert (len(short), count) == (2, 0)
    counts = [sliced(member(), told(t.count(1_000)), 0)[1] for _ in range(3)]
    assert counts[0] > 10
    assert counts == [counts[0]] * 3


def test_what_uses_its_budget_up_is_stopped_and_its_exception_is_cut_too() -> None:
    at_once, cut = member(), member()
    expected = at_once.handle(told(t.count(60_000)), now=7)
    found, count = sliced(cut, told(t.count(60_000)), 7)
    assert found == expected
    assert [one.ruling.stopped for one in found] == ["budget", None]  # type: ignore[union-attr]
    assert count > 100_000 // SLICE + 5
    assert cut.snapshot() == at_once.snapshot()


def test_until_it_is_decided_nothing_has_changed() -> None:
    ann = member()
    ann.handle(told(t.owe(2_000)), now=0)
    before = ann.snapshot()
    for event in (told(t.count(2_000)), TICK):
        now = 1_000_000 if event is TICK else 0
        [undecided] = ann.handle(event, now=now, slice=SLICE)
        assert isinstance(undecided, Undecided)
        assert ann.snapshot() == before
        decision = Decision(ann, undecided, slice=SLICE)
        assert decision.go_on(now=now) is None
        assert ann.snapshot() == before
        decision.give_up()
        assert ann.snapshot() == before
        assert ann.next_deadline() == 1_000_000


def test_a_decision_that_was_given_up_begins_anew_with_the_state_of_then() -> None:
    ann, bob = member(), member()
    [undecided] = ann.handle(told(t.count(2_000)), now=0, slice=SLICE)
    assert isinstance(undecided, Undecided)
    decision = Decision(ann, undecided, slice=SLICE)
    for _ in range(3):
        assert decision.go_on(now=0) is None
    decision.give_up()
    ann.handle(told(t.count(3)), now=0)
    while (effects := decision.go_on(now=5)) is None:
        pass
    bob.handle(told(t.count(3)), now=0)
    assert effects == bob.handle(told(t.count(2_000)), now=5)
    assert ann.snapshot() == bob.snapshot()


def test_obligations_are_decided_in_slices_and_what_is_repealed_is_not() -> None:
    at_once, cut = member(), member()
    for one in (at_once, cut):
        for number in (1_000, 10, 20):
            one.handle(told(t.owe(number)), now=0)
    expected = at_once.handle(TICK, now=2_000_000)
    found: list[Effect] = []
    while cut.next_deadline() is not None:
        found += sliced(cut, TICK, 2_000_000)[0]
    assert found == expected
    assert cut.snapshot() == at_once.snapshot()

    ann = member()
    ann.handle(told(t.owe(1_000)), now=0)
    [undecided] = ann.handle(TICK, now=2_000_000, slice=SLICE)
    assert isinstance(undecided, Undecided)
    decision = Decision(ann, undecided, slice=SLICE)
    assert decision.go_on(now=2_000_000) is None
    decision.give_up()
    ann.handle(TICK, now=2_000_000)  # it is decided elsewhere meanwhile
    assert decision.go_on(now=2_000_000) == []


def test_what_a_deep_recursion_needs_is_for_it_alone() -> None:
    ann = member()
    limit = sys.getrecursionlimit()
    [undecided] = ann.handle(told(t.deep(20_000)), now=0, slice=4_000)
    assert isinstance(undecided, Undecided)
    decision = Decision(ann, undecided, slice=4_000)
    other = Decision(bob := member(), undecided, slice=4_000)
    effects = more = None
    while effects is None or more is None:  # two at a time
        effects = decision.go_on(now=0) if effects is None else effects
        assert sys.getrecursionlimit() == limit
        assert gc.isenabled()
        more = other.go_on(now=0) if more is None else more
    assert effects == member().handle(told(t.deep(20_000)), now=0)
    assert ann.snapshot() == bob.snapshot()


def test_a_deep_recursion_that_is_given_up_ends_at_once() -> None:
    ann = member()
    [undecided] = ann.handle(told(t.deep(20_000)), now=0, slice=4_000)
    assert isinstance(undecided, Undecided)
    decision = Decision(ann, undecided, slice=4_000)
    for _ in range(8):
        assert decision.go_on(now=0) is None
    decision.give_up()
    assert not decision.begun
    assert ann.snapshot() == member().snapshot()


def test_an_index_of_a_large_state_is_made_in_slices() -> None:
    """It has no price, so no unit tells where; it is there for the next one."""
    law = load("law(l).\nsent(_, M, _) :- has(M, _)@CS, do(forward).")
    ann = Membership(law, "ann@x", state=[t.has(number, 0) for number in range(50_000)])
    effects, slices = sliced(ann, told(49_999), now=0, slice=4_000)
    assert slices >= 5
    again = Membership(law, "ann@x", state=[t.has(number, 0) for number in range(50_000)])
    assert effects == again.handle(told(49_999), now=0)
    assert sliced(ann, told(7), now=0, slice=4_000)[1] == 0
