from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from hypothesis import given, settings

from nomospace.terms import Compound, Term, order_key, same, term
from nomospace_lab.testing.generate.shapes import doubled
from tests.unit.terms.strategies import TERMS

RANKS: Final[tuple[Any, ...]] = (type(None), bool, (int, float), str, bytes, tuple, Compound)


def before(a: Term, b: Term) -> bool:
    """Whether `a` comes before `b`, from the rules as they are written, without any key."""
    left, right = (next(n for n, r in enumerate(RANKS) if isinstance(x, r)) for x in (a, b))
    if left != right:
        return left < right
    if isinstance(a, Compound) and isinstance(b, Compound):
        if (len(a.args), a.name) != (len(b.args), b.name):
            return (len(a.args), a.name) < (len(b.args), b.name)
        return before(a.args, b.args)
    if isinstance(a, tuple) and isinstance(b, tuple):
        for x, y in zip(a, b, strict=False):
            if not same(x, y):
                return before(x, y)
        return len(a) < len(b)
    if a == b:
        return isinstance(a, float) and isinstance(b, int)
    return bool(a is not None and a < b)  # type: ignore[operator]


@given(TERMS, TERMS)
@settings(deadline=None)
def test_keys_are_ordered_as_their_terms_are(a: Term, b: Term) -> None:
    low, high = order_key(a), order_key(b)
    assert (low == high) == same(a, b)
    assert (low < high) == before(a, b)
    assert (high < low) == before(b, a)


def test_who_makes_a_key_hears_of_shared_parts_each_time() -> None:
    told: list[int] = []
    order_key(doubled(10), told.append)
    assert sum(told) == 3 * (2**10 - 1)


def test_the_ranks_in_full() -> None:
    ordered = (
        "null false true -1 0.0 0 0.5 1.0 1 9007199254740992.0 9007199254740992 9007199254740993 "
        "1.0e+300 '' 'A' a ab b b'' b'00' [] [1] [1,1] [2] f(1) g(0) f(0,1)"
    ).split()
    values = [term(text) for text in ordered]
    backwards = values[::-1]
    assert sorted(backwards, key=order_key) == values
    assert all(order_key(a) < order_key(b) for a, b in pairwise(values))
