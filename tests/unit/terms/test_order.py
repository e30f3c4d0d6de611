from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings, strategies as st

from nomospace.terms import Term, compare, order_key, same, sort_terms, term
from tests.unit.terms.strategies import TERMS


@given(TERMS, TERMS)
@settings(max_examples=50, deadline=None)
def test_the_order_is_antisymmetric_and_agrees_with_same(a: Term, b: Term) -> None:
    assert compare(a, b) == -compare(b, a)
    assert (compare(a, b) == 0) == same(a, b)


@given(TERMS, TERMS, TERMS)
@settings(max_examples=50, deadline=None)
def test_the_order_is_transitive(a: Term, b: Term, c: Term) -> None:
    low, middle, high = sorted([a, b, c], key=order_key)
    assert compare(low, middle) <= 0
    assert compare(middle, high) <= 0
    assert compare(low, high) <= 0


@given(st.lists(TERMS, max_size=6))
@settings(deadline=None)
def test_sorting_drops_what_is_the_same_and_nothing_else(items: list[Term]) -> None:
    result = sort_terms(items)
    assert all(compare(a, b) < 0 for a, b in pairwise(result))
    assert all(any(same(item, kept) for kept in result) for item in items)
    assert all(any(same(item, kept) for item in items) for kept in result)


def test_the_ranks_in_full() -> None:
    ordered = (
        "null false true -1 0.0 0 0.5 1.0 1 9007199254740992.0 9007199254740992 9007199254740993 "
        "1.0e+300 '' 'A' a ab b b'' b'00' [] [1] [1,1] [2] f(1) g(0) f(0,1)"
    ).split()
    values = [term(text) for text in ordered]
    backwards = values[::-1]
    assert sorted(backwards, key=order_key) == values
    assert [compare(a, b) for a, b in pairwise(values)] == [-1] * (len(values) - 1)
