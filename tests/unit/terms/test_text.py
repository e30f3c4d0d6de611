from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from nomospace.law.render import show_node
from nomospace.terms import (
    TERM_DEPTH_MAX,
    Compound,
    Faulty,
    NotGround,
    Source,
    Term,
    TooLarge,
    pattern,
    same,
    show,
    t,
    term,
)
from nomospace.terms.syntax import INFIX, PREFIX, Reader
from tests.unit.terms.strategies import TERMS, deep


@given(TERMS)
@settings(max_examples=100, deadline=None)
def test_what_is_printed_reads_back_as_an_equal_term(value: Term) -> None:
    text = show(value)
    assert same(term(text), value)
    assert same(term(show(value, spaced=True)), value)


@given(TERMS)
@settings(max_examples=100, deadline=None)
def test_nodes_print_as_their_terms_do(value: Term) -> None:
    text = show(value)
    node = Reader(Source(text)).single()
    assert node is not None
    assert show_node(node) == text
    assert same(term(show_node(node, spaced=True)), value)


@pytest.mark.parametrize("name", ["f", "-", "\\+", "not", None])
def test_a_thousand_levels_print_and_read(name: str | None) -> None:
    value = deep(TERM_DEPTH_MAX, name=name)
    assert same(term(show(value)), value)
    node = Reader(Source(show(value))).single()
    assert node is not None
    assert show_node(node) == show(value)


def test_a_thousand_and_one_levels_are_refused() -> None:
    with pytest.raises(Faulty, match="more than 1,000"):
        term(show(deep(TERM_DEPTH_MAX + 2)))
    with pytest.raises(TooLarge, match="its depth"):  # commas nest, and count in a value
        term("(" + ",".join("a" * 1_100) + ")")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("quota( 3 ) <- quota(2)", "quota(3)<-quota(2)"),
        ("forward('a@w', 'm', \"b@w\")", "forward('a@w',m,'b@w')"),
        ("1-(2-3)", "1-(2-3)"),
        ("(1-2)-3", "1-2-3"),
        ("2*(3+4)", "2*(3+4)"),
        ("a mod b", "a mod b"),
        ("- 1", "-(1)"),
        ("-1", "-1"),
        ("1 - -1", "1-(-1)"),
        ("-(-(a))", "-(-a)"),
        ("2^3^4", "2^3^4"),
        ("(2^3)^4", "(2^3)^4"),
        ("a@b", "a@b"),
        ("-'not'", "-'not'"),
        ("'not'-1", "'not'-1"),
        ("+ mod(a)", "+mod(a)"),
        ("3 < -(2)-2", "3< -(2)-2"),
        ("3 < -1*a", "3< -1*a"),
        ("3 < -a", "3<(-a)"),
        ("'is'+'mod'", "'is'+'mod'"),
        ("[a|[b,c]]", "[a,b,c]"),
        ("f((a,b))", "f((a,b))"),
        ("f((a:-b;c->d))", "f((a:-b;c->d))"),
        ("[a|b,c]", None),
        ("'true'", "'true'"),
        ("[true,false,null]", "[true,false,null]"),
        ("true(x)", "true(x)"),
        ("'it''s'", "'it\\'s'"),
        ("'\\u0041\\n'", "'A\\n'"),
        ("b'00fF'", "b'00ff'"),
        ("1e3", "1000.0"),
        ("1.5E-7", "1.5e-07"),
        ("1e22", "1.0e+22"),
        ("-0.0", "0.0"),
        ("a|b", "(a;b)"),
        ("'|'(a,b)", "'|'(a,b)"),
        ("[+, -, *]", "['+','-','*']"),
        ("/* c */ a % d", "a"),
    ],
)
def test_the_canonical_text(text: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(Faulty):
            term(text)
    else:
        assert show(term(text)) == canonical


def test_spaces_for_people() -> None:
    assert show(term("f(a,[b,c],1+2,x@y)"), spaced=True) == ("f(a, [b, c], 1 + 2, x@y)")


def test_variables_of_a_pattern_are_shared_by_name_but_for_the_anonymous() -> None:
    read, variables = pattern("f(X, Y', _, X, _)")
    assert isinstance(read, Compound)
    assert read.args[0] is read.args[3] is variables["X"]
    assert read.args[2] is not read.args[4]
    assert len(variables) == 4
    assert show(read) == "f(_,_,_,_,_)"


def test_a_value_with_a_variable_is_refused_with_a_way_out() -> None:
    with pytest.raises(NotGround) as caught:
        term("to(Bob)")
    assert str(caught.value) == (
        "the term 'to(Bob)' holds the variable Bob, and a value must be ground; "
        "write 'Bob' in quotes if a string was meant"
    )


@pytest.mark.parametrize(
    "text",
    ["", "f(", "f)", "a b", "f()", "[a|b]", "'[|]'(a,b)", "1" * 2_000, "1e999", "'\\q'", "'\ud800'",
     "٣", "f(a", "'open", "/* open", "a.", "#", "= =", "a = b = c", "\\uD800", "'\\uD800'"],
)  # fmt: skip
def test_what_is_no_term_is_faulty_with_a_place(text: str) -> None:
    with pytest.raises(Faulty) as caught:
        term(text)
    assert caught.value.errors
    assert "error [syntax-" in str(caught.value)


def test_the_largest_integer_reads_back() -> None:
    value = 2**4096 - 1
    assert term(show(value)) == value
    assert term(show(-value)) == -value
    with pytest.raises(Faulty, match="at most 4,096 bits"):
        term(str(value + 1))


def test_the_maker_and_the_text_agree() -> None:
    assert t.alarm(t.kind("fire"), [1, 2.5, None]) == term("alarm(kind(fire),[1,2.5,null])")


def test_a_very_long_line_is_shown_around_its_fault() -> None:
    with pytest.raises(Faulty) as caught:
        term("f(" + "a," * 500 + "\x1b[31m" + "#" * 300 + ")")
    drawn = str(caught.value).splitlines()
    assert all(len(line) < 200 and line.isprintable() for line in drawn)


@pytest.mark.parametrize("text", ["-" * 5_000 + "a", "^".join("a" * 5_000), "+".join("a" * 5_000)])
def test_long_chains_of_operators_are_deep_terms(text: str) -> None:
    with pytest.raises(Faulty, match="more than 1,000 levels"):
        term(text.replace("-", "- "))


def doubled(levels: int, *, name: str | None = "t") -> Term:
    """A term of shared parts: two to the power of `levels` atoms, in memory of so many parts."""
    value: Term = "a"
    for _ in range(levels):
        value = (value, value) if name is None else Compound(name, (value, value))
    return value


@given(TERMS, st.integers(2, 60), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_text_with_a_limit_is_the_beginning_of_the_whole(
    value: Term, limit: int, spaced: bool
) -> None:
    whole, text = show(value, spaced=spaced), show(value, spaced=spaced, limit=limit)
    if len(whole) <= limit:
        assert text == whole
    else:
        assert len(text) <= limit
        assert text[-1] == "…"
        # an atom that is cut may need no quotes for what is left of it
        assert whole.startswith(text[:-1]) or "'" in whole[: limit + 1]


@pytest.mark.parametrize("name", ["t", None, "+", "[|]"])
def test_a_doubled_term_is_printed_as_far_as_asked_and_never_whole(name: str | None) -> None:
    value = doubled(60, name=name)
    for spaced in (False, True):
        text = show(value, spaced=spaced, limit=100)
        assert len(text) <= 100
        assert text[-1] == "…"
        with pytest.raises(TooLarge, match="its size in bytes"):
            show(value, spaced=spaced)
    if name is not None:
        assert len(repr(value)) < 2_100


def test_of_a_wide_term_no_more_is_looked_at_than_printed() -> None:
    wide: Any = (*["a"] * 20, *[object()] * 100_000)  # the printer refuses what is no term
    assert show(wide, limit=20) == "[a,a,a,a,a,a,a,a,a,…"
    assert show(Compound("f", wide), limit=10) == "f(a,a,a,a…"
    with pytest.raises(TypeError):
        show(wide)
    assert show("a" * 1_000_000, limit=5) == "aaaa…"
    assert show(b"a" * 1_000_000, limit=5) == "b'61…"


def test_a_long_list_of_terms_that_are_within_the_limits_is_printed_whole() -> None:
    state = tuple([Compound("f", ("x" * 100_000, i)) for i in range(20)])
    assert len(show(state)) > 2_000_000


@pytest.mark.parametrize("name", [*INFIX, *PREFIX])
def test_what_is_no_term_for_want_of_arguments_can_be_shown_in_an_error(name: str) -> None:
    assert show(Compound(name, ())).endswith("()")
