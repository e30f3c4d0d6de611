"""What people type into one box: fields apart, carets in the whole text, no other errors."""

import pytest
from hypothesis import given, settings, strategies as st

from nomospace.api.forms import (
    TEXT_MAX,
    TooLong,
    slip_of,
    typed_fields,
    typed_message,
    typed_template,
    words_of,
)
from nomospace.errors import NomospaceError
from nomospace.terms import Term, t
from nomospace.terms.source import Faulty


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("job", ("job",)),
        (" job , 17 ", ("job", 17)),
        ("(job, 17)", ("job", 17)),
        ("(1), (2)", (1, 2)),
        ("room(3, 4), [1, 2]", (t.room(3, 4), (1, 2))),
        ("'a, b', \"c, d\"", ("a, b", "c, d")),
        ("f(1), g(2)", (t.f(1), t.g(2))),
        ("", ()),
        ("()", ()),
    ],
)
def test_fields_are_told_apart_at_commas_that_stand_alone(
    text: str, fields: tuple[object, ...]
) -> None:
    assert typed_fields(text) == fields


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("job, _:itn", "itn"),
        ("(job, _:itn)", "itn"),
        ("room(1, 2),  Smith:Jones", "Jones"),
        ("'a, b', _:flaot, 3", "flaot"),
    ],
)
def test_the_caret_points_into_the_whole_text(text: str, under: str) -> None:
    with pytest.raises(Faulty) as raised:
        typed_template(text)
    slip = slip_of(raised.value)
    assert text[slip.start : slip.end] == under
    assert text in str(raised.value)  # drawn with the line as it was typed


def test_a_comma_too_many_is_a_slip_and_so_is_a_text_without_end() -> None:
    for text in ("job,", ",job", "job,,17"):
        with pytest.raises(Faulty):
            typed_fields(text)
    for read in (typed_fields, typed_template, typed_message):
        with pytest.raises(TooLong, match="100,000"):
            read("a" * (TEXT_MAX + 1))


@settings(deadline=None)
@given(st.text(max_size=40))
def test_whatever_is_typed_is_read_or_said_to_be_wrong(text: str) -> None:
    for read in (typed_fields, typed_template, typed_message):
        try:
            read(text)
        except NomospaceError as error:
            slip = slip_of(error)
            assert slip.message
            assert 0 <= slip.start <= len(text)


PLAIN = st.one_of(st.integers(), st.booleans(), st.text(max_size=8))
FIELDS = st.one_of(PLAIN, st.lists(PLAIN, max_size=3).map(tuple))


@settings(deadline=None)
@given(st.lists(FIELDS, min_size=1, max_size=4))
def test_what_is_shown_can_be_typed_again(fields: list[Term]) -> None:
    assert typed_fields(words_of(fields)) == tuple(fields)
