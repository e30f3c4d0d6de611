"""Tuples and templates as people type them: what each text asks for, and carets under slips."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given, settings, strategies as st

from nomospace.terms import ANY, Compound, Faulty, Template, a, between, same, show, t, term, where
from nomospace.terms.templates import same as same_as
from nomospace.terms.written import read_fields, read_patterns, show_pattern
from tests.unit.terms.strategies import TERMS

HOLES = {
    "_": ANY,
    "_:any": ANY,
    "_:int": term("formal(int)"),
    "_:number": term("formal(number)"),
    "_:1..10": between(1, 10),
    "_:-5..5": between(-5, 5),
    "_:0.5..2": between(0.5, 2),
    "_:-1e3..-1": between(-1e3, -1),
    "_:'a'..'m'": between("a", "m"),
    '_:"it\'s".."z"': between("it's", "z"),
    "_:'> 5'": where("> 5"),
    "_:Car": a("Car"),
    "X": same_as("X"),
    "X:int": term("formal(int,same('X'))"),
    "formal(class('Car'),'price < 5')": a("Car", "price < 5"),
}


@pytest.mark.parametrize("text", HOLES)
def test_a_hole_alone_and_inside(text: str) -> None:
    hole: Any = HOLES[text]
    assert read_patterns([text]) == (hole,)
    assert read_patterns([f"room({text},x)"]) == (t.room(hole, "x"),)
    assert read_patterns([f"[1, {text}]"]) == ((1, hole),)


@pytest.mark.parametrize("text", HOLES)
def test_a_hole_is_shown_as_it_is_typed(text: str) -> None:
    shown = show_pattern(HOLES[text])
    assert read_patterns([shown]) == (HOLES[text],)
    if "it's" not in text and text not in ("_:any", "_:-1e3..-1"):
        assert shown == text


_NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
_RANGES = st.one_of(st.tuples(_NUMBERS, _NUMBERS), st.tuples(st.text(), st.text()))
FORMALS = st.one_of(
    _RANGES.map(sorted).map(lambda ends: between(*ends)),
    st.text(min_size=1).map(same_as),
    st.text(min_size=1, max_size=9).map(a),
)


@settings(deadline=None)
@given(FORMALS)
@example(between("", "#"))  # a hole's own number is written behind such a mark
def test_whatever_is_shown_of_a_pattern_asks_for_the_same(formal: Any) -> None:
    assert read_patterns([show_pattern(formal)]) == (formal,)


def test_each_hole_of_a_text_is_read_by_itself() -> None:
    assert read_patterns(["f(_,_:int,X,_:int,_)", "X"]) == (
        t.f(ANY, term("formal(int)"), same_as("X"), term("formal(int)"), ANY),
        same_as("X"),
    )


def test_what_stands_in_quotes_is_no_hole() -> None:
    assert read_patterns(["'_:int'", "f('X')", '"a:b"']) == ("_:int", t.f("X"), "a:b")


def test_patterns_make_a_template() -> None:
    template = Template.of(read_patterns(["job", "_:1..10", "X", "on(X)"]))
    assert template.matches(("job", 3, "fire", t.on("fire")))
    assert not template.matches(("job", 3, "fire", t.on("flood")))
    assert not template.matches(("job", 11, "fire", t.on("fire")))


def _has_at(value: Any) -> bool:
    """Whether `@` would be printed bare: that is most often an id without its quotes."""
    if isinstance(value, Compound):
        return (value.name == "@" and len(value.args) == 2) or _has_at(value.args)
    return isinstance(value, tuple) and any(map(_has_at, value))


@example(Compound("=:=", (None, None)))  # with a colon that is no hole's
@given(TERMS)
def test_a_value_reads_back_as_field_and_as_pattern(value: Any) -> None:
    assume(not _has_at(value))
    text = show(value)
    assert same(read_fields([text]), (value,))
    assert same(read_patterns([text]), (value,))


@pytest.mark.parametrize(
    ("text", "code", "under", "words"),
    [
        ("_:itn", "pattern-kind", "itn", "did you mean int?"),
        ("_:colour", "pattern-kind", "colour", "there are any, int"),
        ("f(_:)", "pattern-kind", ")", "stands nothing"),
        ("_:1..", "pattern-kind", "1..", "a range (_:1..10)"),
        ("_:5..1", "pattern-range", "5..1", "turn them round"),
        ("_:1..'z'", "pattern-range", "1..'z'", "a number and a string"),
        ("_:'> five'", "pattern-predicate", "'> five'", "cannot name `five`"),
        ("_:'a''\\q'", "pattern-constant", "'a''\\q'", "unknown escape"),
        ("X:1..3", "pattern-named", "1..3", "write _:1..3, or X alone"),
        ("[a|T]", "pattern-tail", "T", "_:list"),
        ("at(12:30)", "field-colon", ":", "needs quotes"),
        ("job:int", "field-colon", ":", "_:int"),
        ("call(ann@ward)", "field-at", "ann@ward", "write 'ann@ward'"),
        ("two words", "syntax-operator", "words", "needs quotes: 'two words'"),
        ("f(_:int", "syntax-operator", "", "expected ',' or ')'"),
    ],
)
def test_slips_are_shown_with_a_caret(text: str, code: str, under: str, words: str) -> None:
    with pytest.raises(Faulty) as caught:
        read_patterns(["fine", text])
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert text[found.span.start : found.span.end] == ("" if under == ")" else under)
    told = str(caught.value)
    assert told.startswith("pattern 2:1:")
    assert words in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Smith", "write 'Smith' in quotes"),
        ("_", "_ asks for a value"),
        ("room(_:int)", "_:int asks for a value"),
        ("[a|T]", "T is a variable"),
    ],
)
def test_a_tuple_has_no_holes(text: str, words: str) -> None:
    with pytest.raises(Faulty, match=words):
        read_fields([text])
