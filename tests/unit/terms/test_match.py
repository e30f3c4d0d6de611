from __future__ import annotations

import pytest
from hypothesis import given, settings

from nomospace.terms import (
    Compound,
    Term,
    Var,
    deref,
    is_ground,
    match,
    pattern,
    resolve,
    same,
    show,
    term,
    undo,
    unify,
)
from nomospace.terms.values import UNBOUND
from tests.unit.terms.strategies import HOLES, PATTERNS, TERMS, deep


@given(PATTERNS, PATTERNS)
@settings(max_examples=100, deadline=None)
def test_unifying_makes_equal_and_undo_restores(a: Term, b: Term) -> None:
    trail: list[Var] = []
    try:
        if unify(a, b, trail):
            assert same(resolve(a), resolve(b))
            assert all(deref(hole) is not hole for hole in trail)
            again: list[Var] = []
            assert unify(a, b, again)  # what is equal needs no more binding
            assert not again
    finally:
        undo(trail, 0)
    assert all(hole.ref is UNBOUND for hole in HOLES)


@given(PATTERNS, PATTERNS)
@settings(deadline=None)
def test_unifying_is_the_same_from_both_sides(a: Term, b: Term) -> None:
    assert match(a, b) == match(b, a)


@given(TERMS, TERMS)
@settings(deadline=None)
def test_ground_terms_match_when_they_are_the_same(a: Term, b: Term) -> None:
    assert match(a, a)
    assert match(a, b) == same(a, b)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("f(X,b)", "f(a,Y)", "f(a,b)"),
        ("f(X,X)", "f(Y,a)", "f(a,a)"),
        ("[H|T]", "[1,2,3]", "[1,2,3]"),
        ("[1,2|T]", "[1|S]", "[1,2|_]"),
        ("[A,B|T]", "[1,2]", "[1,2]"),
        ("[A|T]", "[]", None),
        ("[A,B|T]", "[1]", None),
        ("[A|T]", "f(a)", None),
        ("[A|T]", "a", None),
        ("X", "f(X)", None),
        ("[X|T]", "[1|[X|T]]", None),
        ("f(X,Y)", "f(g(Y),g(X))", None),
        ("f(X)", "f(X)", "f(_)"),
        ("f(a)", "f(a,b)", None),
        ("f(a)", "g(a)", None),
    ],
)
def test_unification_case_by_case(left: str, right: str, result: str | None) -> None:
    both, _ = pattern(f"p({left}, {right})")
    assert isinstance(both, Compound)
    a, b = both.args
    trail: list[Var] = []
    assert unify(a, b, trail) == (result is not None)
    if result is not None:
        assert show(resolve(a)) == show(resolve(b)) == result
    undo(trail, 0)


def test_undo_goes_back_to_a_mark_only() -> None:
    x, y = Var("X"), Var("Y")
    trail: list[Var] = []
    assert unify(x, 1, trail)
    mark = len(trail)
    assert unify(y, x, trail)
    undo(trail, mark)
    assert (x.ref, y.ref) == (1, UNBOUND)


def test_a_list_whose_tail_is_no_list_still_equals_itself() -> None:
    tail, trail = Var("T"), list[Var]()
    both = [Compound("[|]", ("a", tail)), Compound("[|]", ("a", "b"))]
    assert unify(both[0], both[1], trail)
    assert tail.ref == "b"
    assert unify(resolve(both[0]), resolve(both[1]), trail)
    assert not match(both[1], term("[a,b]"))


def test_deep_terms_unify_resolve_and_are_searched_without_recursion() -> None:
    hole, trail = Var("X"), list[Var]()
    ground, open_ended = deep(20_000, core="a"), deep(20_000, core=hole)
    assert unify(open_ended, ground, trail)
    assert same(resolve(open_ended), ground)
    undo(trail, 0)
    assert not unify(hole, open_ended, trail)  # the occurs check reaches the bottom
    assert not is_ground(open_ended)
