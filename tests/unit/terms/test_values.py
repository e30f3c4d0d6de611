from __future__ import annotations

import enum
import itertools
import sys
from collections.abc import Callable
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
    encode,
    freeze,
    freezing,
    is_ground,
    match,
    order_key,
    oversize,
    same,
    show,
    t,
    weight,
)
from nomospace.terms.values import measure
from tests.unit.terms.strategies import TERMS, deep

ONES: tuple[Term, ...] = (1, 1.0, True)
USE = "use None, bool, int, float, str, bytes, list, tuple, dict or t.name(…)"
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
    assert order_key(a) != order_key(b)
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

    frozen: Any = freeze([Colour.RED, Name("x"), bytearray(b"ab"), [-0.0]])
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
    assert freeze(2**INT_BITS_MAX - 1) == 2**INT_BITS_MAX - 1
    for name in ("f", None):
        value = freeze(deep(TERM_DEPTH_MAX, name=name))
        assert same(value, deep(TERM_DEPTH_MAX, name=name))
        assert len(encode(value)) >= TERM_DEPTH_MAX


def test_a_list_of_shared_lists_is_refused_before_it_is_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(freezing, "TERM_BYTES_MAX", 10_000)
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
        assert order_key(one) < order_key(other)
        assert hash(Compound("g", (one,))) == hash(Compound("g", (two,)))
        assert encode(one) == encode(two) != encode(other)


def test_the_maker_takes_any_name_and_gives_an_atom_without_arguments() -> None:
    assert t.quit() == "quit"
    assert show(t["two words"](1, [2])) == "'two words'(1,[2])"
    with pytest.raises(AttributeError):
        t.__wrapped__  # noqa: B018


def plain_measure(term: Term) -> tuple[int, bool]:
    """Depth and groundness, the plain way."""
    if not isinstance(term, Compound | tuple):
        return 1, not isinstance(term, Var)
    found = [plain_measure(part) for part in (term.args if isinstance(term, Compound) else term)]
    return 1 + max([depth for depth, _ in found], default=0), all(ground for _, ground in found)


@given(TERMS)
@settings(max_examples=60, deadline=None)
def test_what_a_term_knows_of_itself_is_what_a_walk_finds(value: Term) -> None:
    for term in (value, t.f(value), t.f((value, Var("X")), value), ((value,), value)):
        depth, ground = plain_measure(term)
        for _ in range(2):  # found out, then remembered
            assert is_ground(term) == ground
            if isinstance(term, Compound | tuple):
                assert measure(term) >> 1 & 2_047 == depth
            assert not ground or weight(term) == len(encode(term))


@pytest.mark.parametrize("bits", [4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 90, 4_096])
def test_a_number_weighs_as_many_bytes_as_it_is(bits: int) -> None:
    for number in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1, 10**15, 10**16):
        assert weight(number) == len(encode(number))
        assert weight((number,)) == len(encode((number,)))


def test_a_weight_is_the_length_of_the_bytes() -> None:
    for size in (15, 16, 31, 32, 255, 256, 65_535, 65_536):
        for term in ("x" * size, "é" * (size // 2), b"x" * size, (1,) * size):
            assert weight(term) == len(encode(term))
            assert weight((term,)) == len(encode((term,)))
        for made in (Compound("x" * size, (1,)), Compound("é" * size, (1,)), t.f(*[1] * size)):
            assert weight(made) == len(encode(made))


def calls(work: Callable[[], object]) -> int:
    """How many functions are called in the course of some work."""
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def shared(levels: int, *, lists: bool = False) -> Compound:
    """A term of two to the power of `levels` parts, in memory of so many."""
    value: Term = "a"
    for _ in range(levels):
        value = (value, value) if lists else Compound("t", (value, value))
    return Compound("top", (value, 1))


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("ask", [hash, weight, is_ground, oversize, repr])
def test_what_is_asked_of_a_doubled_term_is_bounded_by_its_memory(
    ask: Callable[[Term], object], lists: bool
) -> None:
    # a call or two for each level, and for `repr` for each character
    assert calls(lambda: ask(shared(60, lists=lists))) < (25_000 if ask is repr else 5_000)
    assert calls(lambda: shared(60, lists=lists) == shared(60, lists=lists)) < 5_000


@pytest.mark.parametrize("ask", [hash, weight, is_ground, oversize])
def test_a_compound_is_not_walked_twice(ask: Callable[[Term], object]) -> None:
    for term in (shared(60), t.f(*range(1_000)), t.f(tuple([t.g(i) for i in range(1_000)]))):
        ask(term)
        assert calls(lambda term=term: ask(term)) < 20  # type: ignore[misc]


@pytest.mark.parametrize("term", [shared(40), shared(9, lists=True), deep(5_000), deep(900)])
def test_a_hash_that_is_remembered_is_the_hash_of_its_parts(term: Compound) -> None:
    if term == deep(5_000):
        assert hash(term) == hash(deep(5_000))
    else:
        assert hash(term) == hash((term.name, tuple(term.args)))


def test_what_a_compound_remembers_is_no_part_of_it() -> None:
    term = t.alarm(t.kind(t.fire("x")))
    before = encode(term)
    assert (hash(term), weight(term)) == (hash(term), weight(term))
    assert encode(term) == before
    assert term.__struct_fields__ == ("name", "args")
    with pytest.raises(AttributeError):
        term._measure = 3
