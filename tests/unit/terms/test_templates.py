from __future__ import annotations

import enum
import pickle
from random import Random
from typing import Any, NamedTuple

import pytest

from nomospace.errors import CallerError
from nomospace.terms import (
    ANY,
    INT_BITS_MAX,
    MISSING,
    TERM_BYTES_MAX,
    WIDTH_MAX,
    BadFormal,
    BadWidth,
    Compound,
    FaultyPredicate,
    FormalInTuple,
    NotAPattern,
    NotATerm,
    Template,
    Term,
    TooLarge,
    Var,
    a,
    accepts,
    between,
    feature,
    features_of,
    freeze_tuple,
    is_eager,
    key_of,
    obj,
    show,
    t,
    term,
    where,
)
from nomospace.terms.budget import WATCH_UNITS_MAX
from nomospace.terms.features import EAGER_ARGS_MAX
from nomospace.terms.hints import FEATURES_PER_FIELD_MAX
from nomospace.terms.templates import PATTERN_DEPTH_MAX, same as same_as
from nomospace.terms.tuples import PROPERTIES_MAX, TemplateTooDear, freeze_fields
from tests.unit.terms.strategies import deep

SAMPLES: tuple[Term, ...] = (
    None, True, False, 0, 1, 7, 2**70, 0.5, 1.0, 7.0, "", "a", "m", "z", "7", b"", b"a",
    (), (1,), (1, 1), (1, 2), t.f(1), t.f(1.0), t.f(1, 1), t.g(t.f(1), (1, "a")),
    obj("Car"), obj("Car", "c1", price=9), obj("Car", "c1", price=3.5), obj("Bus", price=9),
)  # fmt: skip


def fitting(pattern: object) -> list[Term]:
    """The samples that one pattern matches, however it is made."""
    made = Template.of([pattern])
    read = Template.from_term(made.term)
    found = [value for value in SAMPLES if made.matches((value,))]
    assert found == [value for value in SAMPLES if read.matches((value,))]
    return found


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (ANY, list(SAMPLES)),
        (int, [0, 1, 7, 2**70]),
        (float, [0.5, 1.0, 7.0]),
        (str, ["", "a", "m", "z", "7"]),
        (bool, [True, False]),
        (bytes, [b"", b"a"]),
        (list, [(), (1,), (1, 1), (1, 2)]),
        (tuple, [(), (1,), (1, 1), (1, 2)]),
        (type(None), [None]),
        (None, [None]),
        (True, [True]),
        (1, [1]),
        (1.0, [1.0]),
        ("a", ["a"]),
        (b"a", [b"a"]),
        (t.f(1), [t.f(1)]),
        (t.f(ANY), [t.f(1), t.f(1.0)]),
        (t.f(int), [t.f(1)]),
        (t.f(same_as("x"), same_as("x")), [t.f(1, 1)]),
        (t.g(t.f(ANY), [int, str]), [t.g(t.f(1), (1, "a"))]),
        ([], [()]),
        ([1, ANY], [(1, 1), (1, 2)]),
        ([same_as("x"), same_as("x")], [(1, 1)]),
        (between(1, 10), [1, 7]),
        (between(7, 7), [7]),
        (between(1.0, 10.0), [1.0, 7.0]),
        (between(1, 7.0), [1, 7, 1.0, 7.0]),
        (between("a", "m"), ["a", "m"]),
        (where("> 1"), [7, 2**70, 7.0]),
        (where("in ['a', 1]"), [1, 1.0, "a"]),
        (where("= 7 or = '7'"), [7, 7.0, "7"]),
        (a("Car"), [obj("Car"), obj("Car", "c1", price=9), obj("Car", "c1", price=3.5)]),
        (a("Car", "price > 5"), [obj("Car", "c1", price=9)]),
        (a("Car", "not (price > 5)"), [obj("Car"), obj("Car", "c1", price=3.5)]),
        (a("Vehicle"), []),
        (term("formal(number)"), [0, 1, 7, 2**70, 0.5, 1.0, 7.0]),
        (term("formal(int, '> 1')"), [7, 2**70]),
        (term("formal(number, '> 1')"), [7, 2**70, 7.0]),
        (term("formal(any, between(1, 7))"), [1, 7, 1.0, 7.0]),
        (term("formal(str, between(1, 7))"), []),
        (term("formal(list, same(x))"), [(), (1,), (1, 1), (1, 2)]),
    ],
)
def test_what_a_pattern_matches(pattern: object, expected: list[Term]) -> None:
    assert [show(value) for value in fitting(pattern)] == [show(value) for value in expected]


def test_width_must_agree() -> None:
    assert Template.of([ANY, ANY]).matches(("a", None))
    assert not Template.of([ANY, ANY]).matches(("a",))
    assert not Template.of([ANY, ANY]).matches(("a", "b", "c"))
    assert not Template.of([int]).matches((1, 1))


def test_same_ties_fields_at_any_depth() -> None:
    template = Template.of(
        ["link", same_as("x"), same_as("y"), t.back(same_as("x"), [1, same_as("y")])]
    )
    assert template.matches(("link", 1, t.f("a"), t.back(1, (1, t.f("a")))))
    assert not template.matches(("link", 1, t.f("a"), t.back(1.0, (1, t.f("a")))))
    assert not template.matches(("link", 1, t.f("a"), t.back(1, (1, t.f("b")))))
    assert not template.matches(("link", 1, t.f("a"), 1))
    assert Template.of([same_as("x"), same_as("y")]).matches((1, 2))


def test_classes_accept_their_own_name() -> None:
    assert accepts("Car", "Car")
    assert not accepts("Car", "car")


def test_what_indexes_learn() -> None:
    template = Template.of(
        ["job", 1.5, ANY, int, t.room(3, ANY, t.in_("x")), between(1, 9), where("> 2 and <= 7.5")]
    )
    assert not template.plain
    assert template.arity == 7
    assert template.equal == ((0, "job"), (1, 1.5))
    assert template.ranges == ((5, 1, 9), (6, 2, 7.5))
    assert template.features == (
        ((0,), "job"),
        ((1,), key_of(1.5)),
        ((3, "?"), "int"),
        ((4, "/"), ("room", 3)),
        ((4, "room", 3, 0), 3),
        ((4, "room", 3, 2, "/"), ("in_", 1)),
        ((4, "room", 3, 2, "in_", 1, 0), "x"),
        ((5, "?"), "int"),
    )


@pytest.mark.parametrize(
    ("pattern", "features"),
    [
        (list, [((0, "?"), "tuple")]),
        (between(1, 2.0), []),
        (between("a", "b"), [((0, "?"), "str")]),
        (term("formal(any, between(a, b))"), [((0, "?"), "str")]),
        (where("= 5"), []),
        (where("= true"), [((0,), key_of(True))]),
        (where("= null"), [((0,), None)]),
        (where("!= null"), []),
        (where("= 'x' or = 'y'"), []),
        (where("not = 'x'"), []),
        (where("in ['x', 'y']"), [((0, "?"), "str")]),
        (where("in ['x', 1]"), []),
        (where("!= 'x' and = 'y'"), [((0,), "y"), ((0, "?"), "str")]),
        (a("Car", "make = 'Fiat'"), []),  # it may stand anywhere
        (t.f(a("Car")), [
            ((0, "/"), ("f", 1)),
            ((0, "f", 1, 0, "/"), ("object", 3)),
            ((0, "f", 1, 0, "object", 3, 0), "Car"),
        ]),
        ([], [((0, "/"), ("[]", 0))]),
        ([1, [ANY, True]], [
            ((0, "/"), ("[]", 2)),
            ((0, "[]", 2, 0), 1),
            ((0, "[]", 2, 1, "/"), ("[]", 2)),
            ((0, "[]", 2, 1, "[]", 2, 1), key_of(True)),
        ]),
    ],
)  # fmt: skip
def test_features_of_patterns(pattern: object, features: list[Any]) -> None:
    assert Template.of([pattern]).features == tuple(features)


def test_features_of_equal_fields() -> None:
    template = Template.of([same_as("x"), 1, same_as("x"), same_as("y"), same_as("x")])
    assert template.features == (((1,), 1), ((0, "=", 2), True), ((0, "=", 4), True))
    get = feature((0, "=", 2))
    assert get((t.f(1), 1, t.f(1))) is True
    assert get((t.f(1), 1, t.f(1.0))) is MISSING
    assert get((t.f(1), 1)) is MISSING


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("> 5", ((0, 5, None),)),
        ("<= 'm'", ((0, None, "m"),)),
        ("= 5", ((0, 5, 5),)),
        ("in [3, 1.5, 2]", ((0, 1.5, 3),)),
        ("in [3, 'x']", ()),
        ("in [true]", ()),
        ("> 1 and > 3 and < 9 and < 8", ((0, 3, 8),)),
        ("> 1 and < 'x'", ((0, 1, None),)),
        ("> 9 and < 1", ((0, 9, 1),)),
        ("!= 5", ()),
        ("= null and != true", ()),
        ("> 1 or > 3", ()),
        ("not > 1", ()),
    ],
)
def test_ranges_of_predicates(text: str, ranges: tuple[Any, ...]) -> None:
    assert Template.of([where(text)]).ranges == ranges


def test_features_stop_at_their_limits() -> None:
    wide = Template.of([list(range(100))])
    assert len(wide.features) == FEATURES_PER_FIELD_MAX
    assert wide.matches((tuple(range(100)),))
    assert not wide.matches(((*range(99), 0),))
    tall = Template.of([deep(9, core=ANY)])
    assert max(len(path) for path, _ in tall.features) == 1 + 3 * 3 + 1


def test_plain_templates() -> None:
    assert Template.of(["job", 1, ANY]).plain
    assert Template.of(["job", 1.0, None, b"x", "é", Compound("formal", ("any",))]).plain
    assert not Template.of([int]).plain
    assert not Template.of([t.f(1)]).plain


def test_equal_templates_are_one_key() -> None:
    one, other = Template.of(["job", int]), Template.from_term(("job", t.formal("int")))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Template.of(["job", float])
    assert Template.of([1]) != Template.of([1.0])
    assert one != one.term


def test_templates_cannot_be_changed() -> None:
    template = Template.of(["job"])
    with pytest.raises(AttributeError):
        template.arity = 2  # type: ignore[misc]


def test_templates_pickle_even_after_use() -> None:
    template = Template.of(["job", t.f(int)])
    assert template.matches(("job", t.f(1)))
    again = pickle.loads(pickle.dumps(template))
    assert again == template
    assert again.matches(("job", t.f(1)))


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.StrEnum):
    RED = "red"


def test_freezing_a_tuple() -> None:
    frozen = freeze_tuple([Colour.RED, Point(1, 2), [1, [2]], bytearray(b"x"), -0.0, "é", 10**40])
    assert frozen == ("red", (1, 2), (1, (2,)), b"x", 0.0, "é", 10**40)
    assert [value.__class__ for value in frozen] == [str, tuple, tuple, bytes, float, str, int]
    assert str(frozen[4]) == str(freeze_tuple([-0.0])[0]) == "0.0"
    assert freeze_tuple(Point(1, 2)).__class__ is tuple
    short = ("job", 1, None, True)
    assert freeze_tuple(short) is short


@pytest.mark.parametrize(
    "fields",
    [
        ("job", ANY),
        (int.__name__, t.f([1, t.g(between(1, 2))])),
        ([same_as("x")],),
        (t.formal("whatever", 2, 3),),
        (deep(900, core=ANY),),
        ("x" * 100_000, ANY),
    ],
)
def test_no_tuple_holds_a_formal(fields: tuple[Any, ...]) -> None:
    with pytest.raises(FormalInTuple) as caught:
        freeze_tuple(fields)
    assert caught.value.position == len(fields) - 1
    assert "formals stand in templates only" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ((), BadWidth, "a tuple of 0 fields cannot be: it has 1 to 64; give at least one"),
        ([1] * 65, BadWidth, "a tuple of 65 fields cannot be: it has 1 to 64; put some"),
        ("job", NotAPattern, "str 'job': a tuple is a list or tuple of fields; put brackets"),
        ({"a": 1}, NotAPattern, "a tuple is a list or tuple of fields"),
        (("job", {"a": {1}}), NotATerm, "set '{1}' is no term"),
        (("job", {1: 2}), NotATerm, "a dict with the key 1 is no term: keys are strings"),
        (("job", {"formal": 2}), NotATerm, "a dict with the key 'formal' is no term: templates"),
        (("job", {str(i): 0 for i in range(4_097)}), TooLarge, "a dict's keys, is over"),
        (("job", int), NotATerm, "the type int is no term: a type stands for a hole, and only"),
        (("job", [int]), NotATerm, "the type int is no term: a type stands for a hole"),
        (("job", Var("X")), NotATerm, "the variable X is no term"),
        (("job", t.f(Var("X"))), NotATerm, "the variable X is no term"),
        (("job", float("nan")), NotATerm, "nan is no term: numbers are finite"),
        (("job", [float("inf")]), NotATerm, "inf is no term: numbers are finite"),
        (("job", "\ud800"), NotATerm, "half a surrogate pair"),
        (("job", ["\ud800"]), NotATerm, "half a surrogate pair"),
        ((Compound("f", ()),), NotATerm, "at least one argument"),
        ((Compound("[|]", (1, ())),), NotATerm, "lists are Python lists"),
        ((2**INT_BITS_MAX,), TooLarge, "4,097 bits"),
        (([2**INT_BITS_MAX],), TooLarge, "4,097 bits"),
        (("x" * TERM_BYTES_MAX,), TooLarge, "its size in bytes"),
        (("x" * 90_000,) * 12, TooLarge, "its size in bytes"),
        ((deep(1001),), TooLarge, "its depth"),
    ],
)
def test_what_cannot_be_a_tuple(fields: Any, kind: type[CallerError], words: str) -> None:
    with pytest.raises(kind) as caught:
        freeze_tuple(fields)
    assert words in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("patterns", "kind", "words"),
    [
        ([], BadWidth, "a template of 0 fields"),
        ([ANY] * 65, BadWidth, "a template of 65 fields"),
        ("job", NotAPattern, "a template is a list or tuple of fields"),
        (ANY, NotAPattern, "Compound formal(any): a template is a list"),
        ([set], NotATerm, "the type set is no term: templates know int, float, str, bool"),
        ([Colour], NotATerm, "the type Colour is no term"),
        ([[set]], NotATerm, "the type set is no term"),
        ([{1}], NotATerm, "set '{1}' is no term"),
        ([Var("X")], NotAPattern, "the variable X: templates have formals, not variables"),
        ([t.f(Var("X"))], NotAPattern, "the variable X: templates have formals"),
        (["\ud800"], NotATerm, "half a surrogate pair"),
        ([2**INT_BITS_MAX], TooLarge, "4,097 bits"),
        (["x" * 600_000, "y" * 600_000], TooLarge, "its size in bytes"),
        ([deep(PATTERN_DEPTH_MAX + 1, core=ANY)], NotAPattern, "33 levels deep, over the limit"),
        ([deep(990, core=ANY)], NotAPattern, "990 levels deep"),
        ([deep(5000)], TooLarge, "its depth"),
    ],
)
def test_what_cannot_be_a_template(patterns: Any, kind: type[CallerError], words: str) -> None:
    with pytest.raises(kind) as caught:
        Template.of(patterns)
    assert words in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("formal", "kind", "words"),
    [
        ("formal(dict)", BadFormal, "formal(dict) is no formal: its kind is one of any, int,"),
        ("formal(1)", BadFormal, "its kind is one of"),
        ("formal([])", BadFormal, "its kind is one of"),
        ("formal(null)", BadFormal, "its kind is one of"),
        ("formal(int, 1)", BadFormal, "its constraint is between(L, H), same(Name) or a"),
        ("formal(int, f(1))", BadFormal, "its constraint is between(L, H)"),
        ("formal(int, same(1))", BadFormal, "same(…) takes a name"),
        ("formal(int, same(a, b))", BadFormal, "its constraint is"),
        ("formal(int, between(1))", BadFormal, "its constraint is"),
        ("formal(int, between(2, 1))", BadFormal, "it is empty, 2 comes after 1; turn them"),
        ("formal(int, between(a, 1))", BadFormal, "a number and a string have no values"),
        ("formal(int, between(true, 1))", BadFormal, "between(…) takes two numbers or two"),
        ("formal(int, between(1, [2]))", BadFormal, "between(…) takes two numbers or two"),
        ("formal(any, '> five')", FaultyPredicate, "cannot name `five`"),
        ("formal(class('Car'), 'five')", FaultyPredicate, "here should stand"),
        ("formal(class('Car'), '')", FaultyPredicate, "here should stand"),
        ("formal(class('Car'), same(x))", BadFormal, "beside a class stands a predicate's text"),
        ("formal(class(1))", BadFormal, "a class is named by a string"),
        ("formal(class(''))", BadFormal, "a class is named by a string"),
        ("formal(class(a, b))", BadFormal, "its kind is one of"),
        ("formal(int, '> 1', 2)", BadFormal, "it has a kind and at most one constraint"),
    ],
)
@pytest.mark.parametrize("where_it_stands", ["{}", "f({})", "[1, [{}]]"])
def test_formals_that_mean_nothing(
    formal: str, kind: type[CallerError], words: str, where_it_stands: str
) -> None:
    with pytest.raises(kind) as caught:
        Template.from_term((term(where_it_stands.format(formal)),))
    assert words in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("value", [None, 1, "job", t.f(1), {}, (), (int,), ((int,),), (Var("X"),)])
def test_terms_from_outside_are_not_trusted(value: Any) -> None:
    with pytest.raises(CallerError):
        Template.from_term(value)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (between, (10, 1)),
        (between, ("a", 1)),
        (between, (True, False)),
        (between, (None, None)),
        (between, (float("nan"), 1.0)),
        (where, ("price > 5",)),
        (where, ("",)),
        (where, (5,)),
        (same_as, (5,)),
        (a, ("",)),
        (a, (5,)),
        (a, ("Car", "> 5")),
        (a, ("Car", 5)),
    ],
)
def test_formals_are_looked_at_when_made(make: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(CallerError):
        make(*arguments)


def test_how_formals_look_to_a_law() -> None:
    made = Template.of(
        [int, between(1, 10), between(0.5, 1.5), between(1, 1.5), between("a", "b"), where("> 5"),
         same_as("x"), a("Car"), a("Car", "price.amount < 5000")]
    )  # fmt: skip
    assert made.term == term(
        "[formal(int), formal(int, between(1, 10)), formal(float, between(0.5, 1.5)), "
        "formal(number, between(1, 1.5)), formal(str, between(a, b)), formal(any, '> 5'), "
        "formal(any, same(x)), formal(class('Car')), "
        "formal(class('Car'), 'price.amount < 5000')]"
    )


def test_keys_tell_values_apart() -> None:
    assert len({key_of(value) for value in (0, 0.0, False, 1, 1.0, True, "1", b"1", None)}) == 9


def test_features_a_stored_tuple_shows() -> None:
    fields = ("job", True, 1.0, None, t.room(3, t.x(1), 2.0), (), (b"y",))
    assert features_of(fields) == [
        ((0,), "job"),
        ((1,), key_of(True)),
        ((2,), key_of(1.0)),
        ((3,), None),
        ((4, "/"), ("room", 3)),
        ((4, "room", 3, 0), 3),
        ((4, "room", 3, 2), key_of(2.0)),
        ((5, "/"), ("[]", 0)),
        ((6, "/"), ("[]", 1)),
        ((6, "[]", 1, 0), b"y"),
    ]
    wide = features_of((tuple(range(40)),))
    assert len(wide) == 1 + EAGER_ARGS_MAX == 16
    assert all(is_eager(path) for path, _ in wide)
    assert not is_eager((0, "[]", 40, EAGER_ARGS_MAX))
    assert not is_eager((0, "f", 1, 0, "/"))
    assert not is_eager((0, "=", 1))


@pytest.mark.parametrize(
    ("path", "fields", "key"),
    [
        ((0,), (t.f(1),), MISSING),
        ((0,), ((),), MISSING),
        ((1,), ("a",), MISSING),
        ((0,), (None,), None),
        ((0,), (True,), key_of(True)),
        ((0, "/"), ("a",), MISSING),
        ((1, "/"), ("a",), MISSING),
        ((0, "?"), (t.f(1),), "Compound"),
        ((0, "?"), (None,), "NoneType"),
        ((0, "f", 1, 0), (t.f(1),), 1),
        ((0, "f", 2, 0), (t.f(1),), MISSING),
        ((0, "g", 1, 0), (t.f(1),), MISSING),
        ((0, "[]", 1, 0), (t.f(1),), MISSING),
        ((0, "f", 1, 0), ((1,),), MISSING),
        ((0, "f", 1, 0), (1,), MISSING),
        ((1, "f", 1, 0), (1,), MISSING),
        ((0, "f", 1, 0, "[]", 1, 0), (t.f((1.0,)),), key_of(1.0)),
        ((0, "f", 1, 0, "[]", 1, 0, "g", 1, 0), (t.f((t.g("x"),)),), "x"),
        ((0, "f", 1, 0, "?"), (t.f((t.g("x"),)),), "tuple"),
        ((0, "f", 1, 0, "/"), (t.f((t.g("x"),)),), ("[]", 1)),
    ],
)
def test_extractors(path: Any, fields: tuple[Term, ...], key: Any) -> None:
    assert feature(path)(fields) == key
    assert feature(path) is feature(path)


def test_the_widest_template() -> None:
    template = Template.of([ANY] * (WIDTH_MAX - 1) + [int])
    assert template.matches((None,) * 63 + (1,))
    assert freeze_tuple(list(range(64))) == tuple(range(64))


def test_the_deepest_formal() -> None:
    template = Template.of([deep(PATTERN_DEPTH_MAX, core=t.formal("int"))])
    assert template.matches((deep(PATTERN_DEPTH_MAX, core=1),))
    assert not template.matches((deep(PATTERN_DEPTH_MAX, core=1.0),))
    assert not template.matches((deep(PATTERN_DEPTH_MAX - 1, core=1),))


def test_a_template_that_is_dear_to_read_is_refused() -> None:
    long = a("Car", " or ".join(["price = 1"] * 300))
    with pytest.raises(TemplateTooDear, match="predicates together"):
        Template.from_term((long, long, long))
    with pytest.raises(TemplateTooDear, match="parts"):
        Template.from_term((tuple(range(9_999)), (1, 2)))


def test_an_object_has_only_so_many_properties() -> None:
    many = tuple([t[f"p{n}"](n) for n in range(PROPERTIES_MAX + 1)])
    with pytest.raises(TooLarge, match="properties"):
        freeze_tuple(("car", t.object("Car", None, many)))
    assert freeze_tuple(("car", t.object("Car", None, many[1:])))


def test_what_one_who_waits_may_cost() -> None:
    prices = [
        Template.of(one).price
        for one in (
            ("job", ANY),
            ("job", int),
            (a("Car"),),
            (a("Car", "price > 5"),),
            (a("Car"), a("Car")),
            (a("Car"), same_as("x"), same_as("x")),
        )
    ]
    assert prices == sorted(prices)
    assert prices[:2] == [1, 3]
    assert prices[-1] == WATCH_UNITS_MAX


def test_the_same_patterns_are_read_once() -> None:
    asked: list[Any] = ["job", int, t.room(ANY)]
    first = Template.of(tuple(asked))
    assert Template.of(("job", int, t.room(ANY))) is first
    assert Template.of(asked) is first


@pytest.mark.parametrize(
    ("one", "other"),
    [((1, int), (True, int)), ((int, 1), (int, 1.0)), ((int, (1,)), (int, (True,)))],
)
def test_what_only_python_holds_for_equal_is_read_apart(one: Any, other: Any) -> None:
    assert one == other
    assert Template.of(one) != Template.of(other)


PATTERNS = (
    *("job", "x" * 300, "é", 17, 2**80, -3, True, 1, 1.0, 0.0, None, b"x"),
    *(ANY, int, str, bool, between(1, 10), where("> 5 and < 9"), same_as("s"), same_as("s")),
    *(t.room(3), t.room(True), t.room(ANY), ("job", int), (1,), (True,), a("Car"), {"k": 1}),
)
TUPLES = ("job", "é", 17, 7, -3, True, 1, 1.0, None, b"x", t.room(3), ("job", 17), obj("Car"))


@pytest.mark.parametrize("seed", range(20))
def test_one_that_was_read_with_other_values_is_as_if_it_were_read_anew(seed: int) -> None:
    rng = Random(seed)
    for _ in range(50):
        shape = [rng.choice(PATTERNS) for _ in range(rng.randint(1, 4))]
        for _ in range(4):
            patterns = [
                rng.choice(("job", "x", 17, 1, 2**40)) if type(one) in (str, int) else one
                for one in shape
            ]
            anew = Template.from_term(freeze_fields(patterns, "template", types=True))
            found = Template.of(tuple(patterns))
            assert show(found.term) == show(anew.term)
            assert [
                (found.arity, found.plain, found.equal, found.features, found.ranges),
                (found.meant, found.steady, found.price),
            ] == [
                (anew.arity, anew.plain, anew.equal, anew.features, anew.ranges),
                (anew.meant, anew.steady, anew.price),
            ]
            for _ in range(20):
                fields = freeze_tuple(
                    [
                        rng.choice((part, *TUPLES))
                        if type(part) in (str, int)
                        else rng.choice(TUPLES)
                        for part in patterns
                    ]
                )
                assert found.matches(fields) == anew.matches(fields)
