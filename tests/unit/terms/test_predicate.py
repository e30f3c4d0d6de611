from __future__ import annotations

import pickle

import pytest

from nomospace.terms import INT_BITS_MAX, FaultyPredicate, Template, Term, a, obj, t
from nomospace.terms.budget import Budget, TestTooDear
from nomospace.terms.conditions import compiled, priced
from nomospace.terms.predicate import (
    PREDICATE_CHARS_MAX,
    PREDICATE_DEPTH_MAX,
    Among,
    Every,
    Literal,
    Negated,
    Path,
    PredicateComparison,
    Some,
    parse,
    without_class,
)

CAR = obj(
    "Car",
    "c1",
    make="Fiat",
    sold=False,
    owner=None,
    year=2019,
    tags=["red"],
    raw=b"ab",
    price=obj("Money", amount=4500.0, unit="EUR"),
    budget=5000,
)


@pytest.mark.parametrize(
    "text",
    [
        "make = 'Fiat'",
        'make = "Fiat"',
        "make != 'Opel'",
        "make < 'Opel' and make >= 'Fiat'",
        "price.amount < 5000",
        "price.amount = 4500",
        "5000 > price.amount",
        "4500 <= price.amount",
        "price.amount < budget",
        "sold = false",
        "sold != true",
        "owner = null",
        "year != null",
        "null != year",
        "null != 5",
        "null = null",
        "year in [2018, 2019.0]",
        "sold in [1, false]",
        "owner in [null]",
        "not sold = true",
        "not (year in [1, 2])",
        "not (wheels = 4)",
        "year = 1 or make = 'Fiat'",
        "year = 1 and make = 'Opel' or sold = false",
        "sold = false or year = 1 and make = 'Opel'",
        "not year = 1 and sold = false",
        "raw = raw and tags = tags and price = price",
        "raw <= raw",
        "1 < 2",
        "  make\n=\t'Fiat' ",
        "-1 < 0.5e1",
    ],
)
def test_true_of_the_car(text: str) -> None:
    assert compiled(text, field=False)(CAR)
    assert not compiled(f"not ({text})", field=False)(CAR)


@pytest.mark.parametrize(
    "text",
    [
        "wheels = 4",
        "wheels != 4",
        "wheels != null",
        "wheels = wheels",
        "wheels in [null]",
        "make.name = 'Fiat'",
        "price.amount.x = 1",
        "make < 5",
        "4500 < price.amount",
        "make != 5",
        "year = '2019'",
        "sold = 0",
        "sold < true",
        "year in [true, '2019']",
        "sold in [0]",
        "tags in ['red']",
        "price in [4500]",
        "owner < 1",
        "owner <= null",
        "owner != 5",
        "owner != year",
        "null != null",
        "tags < tags",
        "(make = 'Fiat' or make = 'Opel') and sold = true",
    ],
)
def test_false_of_the_car(text: str) -> None:
    assert not compiled(text, field=False)(CAR)


@pytest.mark.parametrize("subject", [None, 17, "Car", (), t.object("Car"), t.object(1, 2, 3)])
def test_no_object_has_a_property(subject: Term) -> None:
    assert not compiled("make != null", field=False)(subject)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("> 5", (6, 5.5, 2**80), (5, 4.9, "6", True, None, (6,), t.f(6), b"6")),
        (">= 1 and < 9", (1, 8.99, 1.0), (0, 9, False)),
        ("in [1, 'x', null]", (1, 1.0, "x", None), (True, "y", 0, (), t.x(1))),
        ("!= 'x'", ("y", ""), ("x", 1, None)),
        ("= true", (True,), (False, 1, "true")),
        ("!= null", (0, "", False, (), b"", t.f(1)), (None,)),
        ("not > 5", (5, "x", None), (6,)),
        ("not (in [1, 2])", (3, "1"), (1, 2.0)),
        ("< 0 or > 9", (-1, 10), (5,)),
        ("= 9007199254740993", (9007199254740993,), (9007199254740992.0,)),
        (r"= 'it\'s\n\\'", ("it's\n\\",), ("it",)),
        ("= 'and'", ("and",), ()),
        ("in [true, 0]", (True, 0, 0.0), (1, 1.0, False)),
    ],
)
def test_on_a_field(text: str, yes: tuple[Term, ...], no: tuple[Term, ...]) -> None:
    test = compiled(text, field=True)
    assert [value for value in yes if not test(value)] == []
    assert [value for value in no if test(value)] == []


def test_the_tree() -> None:
    year = Path(("year",))
    assert parse("not a.in in [1] and year = 1 or year < 2.0", field=False) == Some(
        (
            Every(
                (
                    Negated(Among(Path(("a", "in")), (1,))),
                    PredicateComparison(year, "=", Literal(1)),
                )
            ),
            PredicateComparison(year, "<", Literal(2.0)),
        )
    )


@pytest.mark.parametrize(
    ("text", "field", "code", "column", "words"),
    [
        ("", True, "syntax", 1, "here should stand a comparison such as `> 5`, not the end"),
        ("", False, "syntax", 1, "here should stand a property or a value, not the end"),
        ("5", True, "syntax", 1, "the field itself is not named"),
        ("> ", True, "syntax", 3, "a value, not the end"),
        ("price > 5", True, "name", 1, "cannot name `price`"),
        ("> five", True, "name", 3, "put strings in quotes"),
        ("sold", False, "syntax", 5, "write `= true`"),
        ("year not in [1]", False, "syntax", 6, "`not (… in …)`"),
        ("year == 1", False, "syntax", 7, "equality is a single ="),
        ("(year = 1", False, "syntax", 10, "`)` for the bracket that was opened"),
        ("year = 1)", False, "syntax", 9, "`and`, `or` or the end, not `)`"),
        ("year in 1", False, "syntax", 9, "`[` after `in`"),
        ("year in []", False, "syntax", 10, "a value, not `]`"),
        ("year in [1 2]", False, "syntax", 12, "`]` or a comma"),
        ("year. = 1", False, "syntax", 7, "the name of a property"),
        ("year = 1.", False, "syntax", 9, "`and`, `or` or the end"),
        ("year & 1", False, "character", 6, "`&` has no meaning"),
        ("year = 'x", False, "string", 8, "this string has no end"),
        (r"year = 'x\q'", False, "string", 10, r"`\q` has no meaning in a string"),
        ("> 1e999", True, "number", 3, "too large"),
        (f"> {2**INT_BITS_MAX}", True, "number", 3, "too large"),
        ("= '" + "x" * PREDICATE_CHARS_MAX, True, "size", PREDICATE_CHARS_MAX + 1, "over 4,000"),
        ("not " * 99 + "= 1", True, "depth", 4 * PREDICATE_DEPTH_MAX + 1, "over 40 deep"),
        ("(" * 3999, True, "depth", PREDICATE_DEPTH_MAX + 1, "write it flatter"),
    ],
)
def test_faults(text: str, field: bool, code: str, column: int, words: str) -> None:
    with pytest.raises(FaultyPredicate) as caught:
        parse(text, field=field)
    shown = str(caught.value)
    assert shown.startswith(f"<predicate>:1:{column}: error [predicate.{code}] ")
    assert words in shown
    assert "^" in shown
    assert str(pickle.loads(pickle.dumps(caught.value))) == shown


def test_limits_are_reached_before_they_are_passed() -> None:
    assert compiled("(" * PREDICATE_DEPTH_MAX + "> 1" + ")" * PREDICATE_DEPTH_MAX, field=True)(2)
    assert compiled(f"= '{'x' * (PREDICATE_CHARS_MAX - 4)}'", field=True)("x" * 3996)
    assert compiled(f"= {2**INT_BITS_MAX - 1}", field=True)(2**INT_BITS_MAX - 1)


def test_a_long_chain_is_not_deep() -> None:
    chain = compiled(" and ".join(["!= 1"] * 400), field=True)
    assert chain(2)
    assert not chain(1)
    assert compiled(" or ".join(f"= {i}" for i in range(400)), field=True)(399)


def test_a_template_may_name_the_class_in_its_paths() -> None:
    cheap = Template.of([a("Car", "Car.price.amount < 5000 and maker != 'Car.x'")])
    assert cheap.matches((obj("Car", "c1", price=obj("Price", amount=4000), maker="Fiat"),))
    assert not cheap.matches((obj("Car", "c1", price=obj("Price", amount=6000), maker="Fiat"),))
    nested = Template.of([a("Car", "Car.Car.x = 1")])  # the second is a property
    assert nested.matches((obj("Car", Car=obj("X", x=1)),))
    assert Template.of([a("Car", "Car = 2")]).matches((obj("Car", Car=2),))


ARRAYS = obj(
    "Car", "c1", size=[180, 250], tags=["red", None], of=[{"kg": 3}, {"kg": 9}], m=[[1], []]
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("size[0] < 200", True),
        ("size[1] < 200", False),
        ("not size[2] < 200", True),
        ("any(tags) = 'red'", True),
        ("any(tags) = null and any(tags) != null", True),
        ("any(tags) in ['blue', 'green']", False),
        ("200 < any(size)", True),
        ("any(of).kg > 5 and of[0].kg = 3", True),
        ("any(m[0]) = 1 and not any(m[1]) = 1", True),
        ("any(size) < any(of).kg or any(size) > any(m[0])", True),
        ("any(make) = 'Fiat' or make[0] = 'F'", False),
    ],
)
def test_elements_of_arrays(text: str, told: bool) -> None:
    assert compiled(text, field=False)(ARRAYS) is told


def test_any_is_a_name_where_no_bracket_follows() -> None:
    assert compiled("any = 4 and any.x != 5 or any > 3", field=False)(obj("Car", any=4))
    assert without_class("any(Car.tags) = 'red'", "Car") == "any(tags) = 'red'"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("size[-1] = 2", "`-1` is no place in an array"),
        ("size[1.5] = 2", "`1.5` is no place"),
        ("size[x] = 2", "`x` is no place"),
        ("size[1000000] = 2", "counted from 0 to 999,999"),
        ("any(size)[0] = 2", "behind any"),
        ("any() = 2", "the property that has the array"),
        ("any(any(size)) = 2", "the property that has the array, not `any`"),
        ("size[0 = 2", "`]` behind the place"),
        ("size[", "is no place in an array"),
        ("any(size = 2", r"`\)` behind the array"),
    ],
)
def test_a_place_that_is_none(text: str, words: str) -> None:
    with pytest.raises(FaultyPredicate, match=words):
        parse(text, field=False)


def test_elements_are_paid_for_before_they_are_looked_at() -> None:
    test = compiled("any(tags) = any(tags)", field=False)
    with pytest.raises(TestTooDear):
        test(obj("Car", tags=list(range(200))))
    budget = Budget()
    priced("any(tags) = 3", field=False)(obj("Car", tags=list(range(1_000))), budget)
    assert 1_000 <= budget.spent < 1_010
