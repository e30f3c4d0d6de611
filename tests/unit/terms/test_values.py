from __future__ import annotations

import enum
import itertools
from typing import Any

import pytest
from hypothesis import given, settings

from nomospace.terms import (
    INT_BITS_MAX,
    TERM_BYTES_MAX,
    TERM_DEPTH_MAX,
    Compound,
    NotATerm,
    Term,
    TooLarge,
    Var,
    check_size,
    compare,
    encode,
    freeze,
    is_ground,
    match,
    oversize,
    same,
    show,
    sort_terms,
    t,
    values,
)
from tests.unit.terms.strategies import TERMS, deep

ONES: tuple[Term, ...] = (1, 1.0, True)
USE = "use None, bool, int, float, str, bytes, list, tuple or t.name(…)"
WRAPPED = (
    *ONES,
    *((one,) for one in ONES),
    *(t.f(one) for one in ONES),
    *(t.f((one, "a")) for one in ONES),
)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations(WRAPPED, 2)), ids=repr)
def test_one_and_one_point_nought_and_true_are_three_values(a: Term, b: Term) -> None:
    assert not same(a, b)
    assert t.g(a) != t.g(b)
    assert len({t.g(a): 1, t.g(b): 2}) == 2
    assert not match(a, b)
    assert compare(a, b) == -compare(b, a) != 0
    assert len(sort_terms([a, b, a])) == 2
    assert encode(a) != encode(b)
    assert show(a) != show(b)


@given(TERMS, TERMS)
@settings(deadline=None)
def test_encode_tells_terms_apart_exactly_as_same_does(a: Term, b: Term) -> None:
    assert (encode(a) == encode(b)) == same(a, b)
    assert (show(a) == show(b)) == same(a, b)


@given(TERMS)
@settings(deadline=None)
def test_freezing_a_term_gives_that_term(value: Term) -> None:
    frozen = freeze(value)
    assert same(frozen, value)
    assert is_ground(frozen)
    assert oversize(frozen) is None
    assert hash(t.f(frozen)) == hash(t.f(value))


def test_freeze_makes_plain_values_of_subclasses() -> None:
    class Colour(enum.IntEnum):
        RED = 3

    class Name(str):
        __slots__ = ()

    frozen = freeze([Colour.RED, Name("x"), bytearray(b"ab"), [-0.0]])
    assert frozen == (3, "x", b"ab", (0.0,))
    assert [type(item) for item in frozen] == [int, str, bytes, tuple]
    assert str(frozen[3][0]) == "0.0"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1}, "set '{1}' is no term: " + USE),
        (float("nan"), "nan is no term: numbers are finite"),
        ([float("-inf")], "-inf is no term: numbers are finite"),
        (Var("X"), "the variable X is no term: a value must be ground"),
        (t.f(Var("X")), "the variable X is no term: a value must be ground"),
        ("a\ud800", "a string is no term: character 1 is half a surrogate pair"),
        (Compound("f", ()), "f() is no term: a compound has at least one argument"),
        (Compound("[|]", ("a", "b")), "a compound named [|] is no term: lists are Python lists"),
    ],
)  # fmt: skip
def test_freeze_says_why_a_value_is_no_term(value: Any, words: str) -> None:
    with pytest.raises(NotATerm) as caught:
        freeze(value)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2**INT_BITS_MAX, "an integer of 4,097 bits is over the limit of 4,096"),
        (deep(TERM_DEPTH_MAX + 1), "its depth is over the limit of 1,000"),
        (deep(TERM_DEPTH_MAX + 1, name=None), "its depth is over the limit of 1,000"),
        ("x" * TERM_BYTES_MAX, "its size in bytes is over the limit of 1,000,000"),
        ([2**63] * (TERM_BYTES_MAX // 9 + 1), "its size in bytes is over the limit of 1,000,000"),
        ([0] * (TERM_BYTES_MAX + 1), "its number of parts is over the limit of 1,000,000"),
    ],
    ids=["integer", "compounds", "lists", "text", "numbers", "items"],
)
def test_freeze_names_the_limit_that_is_broken(value: Any, words: str) -> None:
    with pytest.raises(TooLarge) as caught:
        freeze(value)
    assert str(caught.value) == f"the term is too large: {words}; split it"


def test_the_limits_themselves_are_allowed() -> None:
    assert freeze(2**INT_BITS_MAX - 1) > 0
    for name in ("f", None):
        value = freeze(deep(TERM_DEPTH_MAX, name=name))
        assert same(value, deep(TERM_DEPTH_MAX, name=name))
        assert len(encode(value)) >= TERM_DEPTH_MAX


def test_a_list_of_shared_lists_is_refused_before_it_is_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values, "TERM_BYTES_MAX", 10_000)
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    with pytest.raises(TooLarge, match="number of parts"):
        freeze(value)


def test_a_term_of_shared_parts_is_measured_without_being_written_out() -> None:
    value: Term = "a"
    for _ in range(200):
        value = Compound("f", (value, value))
    with pytest.raises(TooLarge, match="size in bytes"):
        check_size(value)


def test_terms_deeper_than_pythons_stack_compare_hash_and_encode() -> None:
    for name in ("f", None):
        one, two, other = (deep(10_000, name=name, core=core) for core in (1, 1, 2))
        assert same(one, two)
        assert not same(one, other)
        assert compare(one, other) == -1
        assert hash(Compound("g", (one,))) == hash(Compound("g", (two,)))
        assert encode(one) == encode(two) != encode(other)


def test_the_maker_takes_any_name_and_gives_an_atom_without_arguments() -> None:
    assert t.quit() == "quit"
    assert show(t["two words"](1, [2])) == "'two words'(1,[2])"
    with pytest.raises(AttributeError):
        t.__wrapped__  # noqa: B018
