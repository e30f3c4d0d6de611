"""Dicts as values: there and back, in text, in templates, beside an oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from nomospace.api.forms import fields_of, json_of
from nomospace.terms import ANY, Compound, Template, a, freeze, obj, show, t, term
from nomospace.terms.formals import same, where
from nomospace.terms.source import Faulty
from nomospace.terms.templates import feature, freeze_tuple
from nomospace.terms.values import dict_items, is_dict, thaw
from nomospace.terms.written import read_patterns

KEYS = st.text(max_size=5).filter(lambda key: key not in ("formal", "[|]"))
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    PLAIN | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def without_lists(value: Any) -> Any:
    """What a program gets back: lists are tuples."""
    if isinstance(value, list):
        return tuple([without_lists(one) for one in value])
    if isinstance(value, dict):
        return {key: without_lists(one) for key, one in value.items()}
    return value


@given(JSON)
def test_what_goes_in_comes_out_by_value_by_text_and_as_json(value: Any) -> None:
    made = freeze(value)
    assert freeze(thaw(made)) == made
    assert repr(thaw(made)) == repr(without_lists(value)) or isinstance(value, float | dict | list)
    assert thaw(made) == without_lists(value)
    assert term(show(made)) == made
    assert term(show(made, spaced=True)) == made
    assert term(json.dumps(value)) == made, "any JSON is the text of its term"
    assert term(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) == made
    assert fields_of([json_of(made)]) == (made,)
    assert fields_of([json_of(thaw(made))]) == (made,)


def fits(pattern: Any, value: Any) -> bool:
    """The oracle: a dict fits what has at least its keys, all else its equal."""
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            key in value and fits(one, value[key]) for key, one in pattern.items()
        )
    if isinstance(pattern, tuple):
        return (
            isinstance(value, tuple)
            and len(pattern) == len(value)
            and all(map(fits, pattern, value))
        )
    return freeze(pattern) == freeze(value) and type(pattern) is type(value)


SMALL = st.recursive(
    st.sampled_from((1, 2, "a", None)),
    lambda inner: (
        st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
        | st.lists(inner, max_size=2).map(tuple)
    ),
    max_leaves=8,
)


@given(SMALL, SMALL)
def test_templates_fit_as_the_oracle_says(pattern: Any, value: Any) -> None:
    template, fields = Template.of(("k", pattern)), freeze_tuple(("k", value))
    assert template.matches(fields) is fits(pattern, value)
    assert Template.from_term(template.term).matches(fields) is fits(pattern, value)
    if template.matches(fields):
        for path, key in template.features:
            assert feature(path)(fields) == key, "what an index goes by is shown by all that match"


def test_a_dict_is_looked_into_by_formals_ties_and_lists() -> None:
    job = freeze_tuple(
        ("ann", {"by": "ann", "n": 5, "tags": [{"a": 1, "b": 2}], "x": t.f({"q": 1})})
    )
    fitting: list[Any] = [
        {"n": int},
        {"n": where("> 4"), "tags": list},
        {"by": same("who")},
        {"tags": [{"b": ANY}]},
        {"x": t.f({})},
        dict,
        {},
    ]
    for pattern in fitting:
        assert Template.of((same("who"), pattern)).matches(job), pattern
    others: list[Any] = [
        {"n": str},
        {"n": where("> 5")},
        {"no": ANY},
        {"tags": []},
        {"tags": {}},
        [ANY],
    ]
    for pattern in others:
        assert not Template.of((ANY, pattern)).matches(job), pattern
    tied = Template.of((same("who"), {"n": same("who")}))
    assert not tied.matches(job)
    assert tied.matches(freeze_tuple((5, {"n": 5})))


def test_a_dict_is_no_object_and_paths_lead_into_it() -> None:
    car = obj("Car", "c1", price={"amount": 4500})
    assert Template.of((ANY,)).matches((freeze({"class": "Car"}),))
    assert Template.of((a("Car", "price.amount < 5000"),)).matches((car,))
    assert not Template.of((a("Car", "price.amount < 4000"),)).matches((car,))
    assert not Template.of((a("Car"),)).matches((freeze({"price": 1}),))


def test_what_only_looks_like_a_dict_is_left_as_it_is() -> None:
    for odd in (
        t.object(None, None, [t.b(1), t.a(2)]),
        t.object(None, None, [t.a(1), t.a(2)]),
        t.object(None, None, [t.a(1, 2)]),
        t.object(None, None, ["a"]),
        t.object(None, "id", [t.a(1)]),
        t.object(None, None, "a"),
    ):
        assert dict_items(odd) is None
        assert thaw(odd) is odd
        assert term(show(odd)) == odd
        assert isinstance(odd, Compound)
        assert Template.of((odd,)).matches((odd,))
    assert not is_dict(17)


def test_a_dict_as_one_types_it() -> None:
    template = Template.of(read_patterns(['{n: _:int, "Two words": _, m:_:1..3}', "_:dict"]))
    assert template.matches(freeze_tuple(({"n": 1, "Two words": None, "m": 3, "o": 0}, {})))
    assert not template.matches(freeze_tuple(({"n": 1, "Two words": None, "m": 4}, {})))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "a key is missing"),
        ("{a}", "expected ':' after the key 'a'"),
        ("{a:}", "a term is missing before '}'"),
        ("{a:1,}", "expected a key, found '}'"),
        ("{1:2}", "expected a key, found '1'"),
        ("{A:2}", "expected a key, found 'A'"),
        ("{a:1,a:2}", "the key 'a' stands twice"),
        ("{formal:1}", "'formal' cannot be a key"),
        ("{a:1 b:2}", "expected ',' or '}'"),
        ("{a:-b}", "expected ':', found ':-'"),
        ("{a:1", "the text ends"),
        ("a:b", "found ':'"),
    ],
)
def test_a_slip_is_shown_at_its_place(text: str, words: str) -> None:
    with pytest.raises(Faulty) as caught:
        term(text)
    assert words in str(caught.value)


def test_many_keys_are_read_in_time_that_grows_with_them() -> None:
    made = term("{" + ",".join(f"k{i:06}:0" for i in range(50_000)) + "}")
    items = dict_items(made)
    assert items is not None
    assert len(items) == 50_000
