"""Templates against the plainest reading of them, and what they promise to indexes."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import HealthCheck, example, given, settings, strategies as st

from nomospace.errors import CallerError
from nomospace.terms import (
    ANY,
    MISSING,
    Compound,
    Template,
    Term,
    a,
    between,
    feature,
    features_of,
    freeze,
    freeze_tuple,
    is_eager,
    is_object,
    key_of,
    obj,
    same,
    t,
    where,
)
from nomospace.terms.templates import same as same_as
from tests.unit.terms.strategies import TERMS

# A small world, so that templates and tuples meet.
NUMBERS = (0, 1, 2, 3, 0.0, 1.0, 1.5, 3.0)
WORDS = ("", "a", "b", "c")
VALUES: tuple[Term, ...] = (None, True, False, *NUMBERS, *WORDS, b"", b"a")
ATOMIC = st.sampled_from(VALUES)
OBJECTS = st.builds(
    lambda name, id, inner, **found: obj(name, id, **inner, **found),
    st.sampled_from(["Car", "Bus"]),
    st.sampled_from([None, None, "c1", "c2"]),
    st.one_of(st.just({}), st.builds(lambda v: {"price": obj("Money", amount=v)}, ATOMIC)),
    year=ATOMIC,
    make=ATOMIC,
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(lambda name, args: t[name](*args), st.sampled_from(["f", "g", "[]"]), parts),
    )


VALUE = st.recursive(st.one_of(ATOMIC, OBJECTS), _nested, max_leaves=5)
TUPLES = st.lists(VALUE, min_size=1, max_size=4).map(tuple)


def _literal(value: Term) -> str:
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or value.__class__ is bool else repr(value)


WRITTEN = st.sampled_from((None, True, False, *NUMBERS, *WORDS))
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
# A predicate as nested tuples, which both the text and the naive reading are made from.
PLACES = st.sampled_from(["year", "make", "price.amount", "price", "wheels"])


def _tests(place: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    one = st.one_of(
        st.tuples(st.just("compare"), place, SIGNS, WRITTEN),
        st.tuples(st.just("in"), place, st.lists(WRITTEN, min_size=1, max_size=3)),
    )
    return st.recursive(
        one,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
            st.tuples(st.just("not"), inner),
        ),
        max_leaves=4,
    )


def written(test: Any) -> str:
    match test:
        case ("compare", place, sign, value):
            return f"{place} {sign} {_literal(value)}"
        case ("in", place, values):
            return f"{place} in [{', '.join(map(_literal, values))}]"
        case ("not", inner):
            return f"not ({written(inner)})"
        case (word, left, right):  # without brackets where they change nothing
            parts = [
                f"({written(part)})" if word == "and" and part[0] == "or" else written(part)
                for part in (left, right)
            ]
            return f" {word} ".join(parts)
    raise AssertionError(test)


KINDS = {int: "number", float: "number"}


def naive_compare(left: Any, sign: str, right: Any) -> bool:
    if left is MISSING:
        return False
    if right is None and sign == "!=":
        return left is not None
    kind = KINDS.get(left.__class__, left.__class__)
    if kind != KINDS.get(right.__class__, right.__class__):
        return False
    if sign in ("=", "!="):
        return bool(left == right) is (sign == "=")
    if kind not in ("number", str):
        return False
    below, equal = left < right, left == right
    return bool(
        {"<": below, "<=": below or equal, ">": not below and not equal, ">=": not below}[sign]
    )


def naive_test(test: Any, subject: Term) -> bool:
    match test:
        case ("compare", place, sign, value):
            return naive_compare(naive_place(place, subject), sign, value)
        case ("in", place, values):
            found = naive_place(place, subject)
            return any(naive_compare(found, "=", value) for value in values)
        case ("not", inner):
            return not naive_test(inner, subject)
        case ("and", left, right):
            return naive_test(left, subject) and naive_test(right, subject)
        case ("or", left, right):
            return naive_test(left, subject) or naive_test(right, subject)
    raise AssertionError(test)


def naive_place(place: str, subject: Any) -> Any:
    for name in place.split(".") if place else ():
        if subject.__class__ is not Compound or subject.name != "object":
            return MISSING
        listed: Any = subject.args[2]
        subject = {item.name: item.args[0] for item in listed}.get(name, MISSING)
    return subject


PREDICATES: dict[str, Any] = {}
"""What the naive reading knows of a text: the test it was written from."""


def _where(test: Any) -> Compound:
    text = written(test)
    PREDICATES[text] = test
    return where(text)


def _a(name: str, test: Any) -> Compound:
    text = written(test)
    PREDICATES[text] = test
    return a(name, text)


FORMALS = st.one_of(
    st.just(ANY),
    st.sampled_from([int, float, str, bool, bytes, list, tuple, type(None)]),
    st.just(t.formal("number")),
    st.builds(same_as, st.sampled_from(["x", "y"])),
    st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)).map(
        lambda ends: between(min(ends), max(ends))
    ),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)).map(
        lambda ends: between(min(ends), max(ends))
    ),
    st.builds(a, st.sampled_from(["Car", "Bus"])),
    _tests(st.just("")).map(_where),
    st.builds(_a, st.sampled_from(["Car", "Bus"]), _tests(PLACES)),
)
PATTERNS = st.lists(
    st.recursive(st.one_of(ATOMIC, FORMALS), _nested, max_leaves=4), min_size=1, max_size=4
)


@st.composite
def meetings(draw: st.DrawFn) -> tuple[list[Any], tuple[Term, ...]]:
    """A tuple, and a template made from it by putting patterns in place of some of its parts."""
    fields = draw(TUPLES)

    def hole(value: Term) -> Any:
        choice = draw(st.integers(0, 7))
        if choice == 0:
            return draw(FORMALS)
        if choice == 1:
            return ANY
        if choice == 2:
            return value.__class__ if value.__class__ is not Compound else ANY
        if choice == 3:
            return same_as(draw(st.sampled_from(["x", "y"])))
        if choice in (4, 5) and value.__class__ is tuple:
            return tuple(hole(part) for part in value)
        if choice in (4, 5) and value.__class__ is Compound and value.name != "object":
            return t[value.name](*(hole(part) for part in value.args))
        return value

    return [hole(field) for field in fields], fields


def naive_match(pattern: Term, value: Term, bound: dict[str, Term]) -> bool:
    """A pattern's term against a value, as the design words it."""
    if pattern.__class__ is tuple:
        return (
            value.__class__ is tuple
            and len(pattern) == len(value)
            and all(naive_match(p, v, bound) for p, v in zip(pattern, value, strict=True))
        )
    if pattern.__class__ is not Compound:
        return same(pattern, value)
    if pattern.name != "formal":
        return (
            value.__class__ is Compound
            and pattern.name == value.name
            and naive_match(pattern.args, value.args, bound)
        )
    parts: tuple[Any, ...] = pattern.args
    kind, *constraint = parts
    if kind.__class__ is Compound:
        return (
            value.__class__ is Compound
            and value.name == "object"
            and len(value.args) == 3
            and value.args[0] == kind.args[0]
            and all(naive_test(PREDICATES[text], value) for text in constraint)
        )
    names = {"NoneType": "null", "tuple": "list"}
    own = names.get(type(value).__name__, type(value).__name__)
    if kind != "any" and own != kind and not (kind == "number" and own in ("int", "float")):
        return False
    match constraint:
        case [Compound("same", (name,))]:
            return same(bound.setdefault(str(name), value), value)
        case [Compound("between", (low, high))]:
            return naive_compare(value, ">=", low) and naive_compare(value, "<=", high)
        case [text]:
            return naive_test(PREDICATES[text], value)
    return True


def is_class(pattern: Term) -> bool:
    return is_object(pattern) or (
        pattern.__class__ is Compound
        and pattern.name == "formal"
        and pattern.args[0].__class__ is Compound
    )


def naive_given(pattern: Term, value: Term, bound: dict[str, Term]) -> bool:
    """Whether a field of a template that names classes may be given a value."""
    if is_object(pattern):
        part = 2 if pattern.args[1] is None else 1
        return (
            is_object(value)
            and pattern.args[0] == value.args[0]
            and same(pattern.args[part], value.args[part])
        )
    may_be_object = is_class(pattern) or pattern in (ANY, same_as("x"), same_as("y"))
    if is_object(value) and not may_be_object:
        return False
    return naive_match(pattern, value, bound)


def naively(template: Template, fields: tuple[Term, ...]) -> bool:
    if not any(map(is_class, template.term)):
        return naive_match(template.term, fields, {})
    for places in permutations(range(len(fields)), len(template.term)):
        plain = [
            place
            for place, pattern in zip(places, template.term, strict=True)
            if not is_class(pattern) and not is_object(fields[place])
        ]
        bound: dict[str, Term] = {}
        if plain == sorted(plain) and all(
            naive_given(pattern, fields[place], bound)
            for place, pattern in zip(places, template.term, strict=True)
        ):
            return True
    return False


MANY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(patterns: list[Any], fields: tuple[Term, ...]) -> bool:
    template = Template.of(patterns)
    assert freeze_tuple(fields) == fields
    matched = template.matches(fields)
    assert matched is naively(template, fields), template
    assert Template.from_term(template.term).matches(fields) is matched
    assert {((pos,), key_of(value)) for pos, value in template.equal} <= {*template.features}
    if matched:
        for path, key in template.features:
            shown = feature(path)(fields)
            assert shown == key, (template, path)
        for pos, low, high in template.ranges:
            assert low is None or naive_compare(fields[pos], ">=", low)
            assert high is None or naive_compare(fields[pos], "<=", high)
    return matched


@MANY
@given(PATTERNS, TUPLES)
def test_matching_is_its_naive_reading(patterns: list[Any], fields: tuple[Term, ...]) -> None:
    check(patterns, fields)


@MANY
@given(meetings())
def test_matching_is_its_naive_reading_where_they_nearly_meet(
    meeting: tuple[list[Any], tuple[Term, ...]],
) -> None:
    check(*meeting)


@MANY
@given(_tests(st.just("")), st.one_of(VALUE, ATOMIC))
def test_field_predicates_mean_what_they_say(test: Any, value: Term) -> None:
    check([_where(test)], (value,))


@MANY
@given(_tests(PLACES), OBJECTS)
def test_object_predicates_mean_what_they_say(test: Any, value: Term) -> None:
    check([_a("Car", test)], (value,))


def test_the_generators_reach_matches() -> None:
    """Else the properties above would say little: about half of the near ones do match."""
    found: list[bool] = []

    @settings(max_examples=120, deadline=None, database=None, derandomize=True)
    @given(meetings())
    def count(meeting: tuple[list[Any], tuple[Term, ...]]) -> None:
        found.append(Template.of(meeting[0]).matches(meeting[1]))

    count()
    assert len(found) // 5 < sum(found) < len(found)


@given(st.lists(TERMS, min_size=1, max_size=4).map(tuple))
def test_a_tuple_shows_what_its_extractors_give(fields: tuple[Term, ...]) -> None:
    shown = features_of(fields)
    assert len({path for path, _ in shown}) == len(shown)
    for path, key in shown:
        assert is_eager(path)
        assert feature(path)(fields) == key
    actual = Template.of(fields)
    assert actual.matches(fields)
    eager = [found for found in actual.features if is_eager(found[0])]
    assert all(found in shown for found in eager)


@given(st.lists(TERMS, min_size=1, max_size=4))
@example([-0.0, [1, [-0.0]], "é", 2**80])
def test_freezing_is_freezing_field_by_field(fields: list[Any]) -> None:
    frozen = freeze_tuple(fields)
    slowly = tuple(freeze(field) for field in fields)
    assert same(frozen, slowly)
    assert repr(frozen) == repr(slowly)  # zeros have a sign that equality does not see


HOSTILE = st.recursive(
    st.one_of(TERMS, st.sampled_from(["any", "int", "> 5", "class", "x and", "\ud800"])),
    lambda inner: st.builds(
        Compound,
        st.sampled_from(["formal", "between", "same", "class", "object", "[|]", "f"]),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


@settings(max_examples=120, deadline=None)
@given(st.one_of(HOSTILE, st.lists(HOSTILE, max_size=3).map(tuple)), TUPLES)
def test_whatever_comes_is_a_template_or_a_typed_error(
    term: Term, fields: tuple[Term, ...]
) -> None:
    try:
        template = Template.from_term(term)
    except CallerError:
        return
    assert template.matches(fields) in (True, False)
    assert Template.from_term(template.term) == template
