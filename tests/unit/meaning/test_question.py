"""Templates read for their meaning."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.meaning.question import (
    BadQuestion,
    ClassField,
    FaultyTemplate,
    LiteralField,
    PatternField,
    Question,
    TypeField,
    checked,
    object_test,
    parse_template,
    question_of,
    value_test,
)
from nomospace.terms import ANY, MISSING, Template, a, between, obj, t
from nomospace.terms.templates import same as same_as

CARS = Ontology("cars", [OntologyClass("Car", ("Automobile",)), OntologyClass("Owner")])


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("(Car)", [ClassField("Car")]),
        ("( Car = B )", [ClassField("Car", "B")]),
        ("(Car = 7)", [ClassField("Car", 7)]),
        ("(Car = 'two words')", [ClassField("Car", "two words")]),
        ("(Car where x in [1,2], 3)", [ClassField("Car", MISSING, "x in [1,2]"), LiteralField(3)]),
        ("(Car where (x = 1 or y = ')'))", [ClassField("Car", predicate="(x = 1 or y = ')')")]),
        ("(Car = A where x = 1)", [ClassField("Car", "A", "x = 1")]),
        ("(-1, 2.5, 'a', true, null)", [LiteralField(v) for v in (-1, 2.5, "a", True, None)]),
        ("(int, any)", [TypeField("int"), TypeField("any")]),
    ],
)  # fmt: skip
def test_text(text: str, fields: list[Any]) -> None:
    assert parse_template(text, CARS).fields == tuple(fields)


PRICED = Ontology(
    "priced",
    [
        OntologyClass("Car", ("Automobile",), properties={"price": "Price", "maker": "string"}),
        OntologyClass("SportsCar", parents=("Car",), properties={"spoiler": "boolean"}),
        OntologyClass("Price", properties={"amount": "number"}),
    ],
)


@pytest.mark.parametrize(
    ("predicate", "read"),
    [
        ("Car.price.amount < 5000", "price.amount < 5000"),
        ("Automobile.maker = 'x' or 5 < Car.price.amount", "maker = 'x' or 5 < price.amount"),
        ("spoiler = true", "spoiler = true"),
        ("not (Car . price.amount in [1, 2])", "not (price.amount in [1, 2])"),
        ("maker = 'Car.price'", "maker = 'Car.price'"),
        ("colour = 'red' and Car < 5", "colour = 'red' and Car < 5"),
    ],
)
def test_paths_may_begin_at_the_class(predicate: str, read: str) -> None:
    question = parse_template(f"(1, Car where {predicate})", PRICED)
    assert question.fields[1] == ClassField("Car", predicate=read)


@pytest.mark.parametrize(
    ("predicate", "under", "help"),
    [
        ("prise.amount < 5", "prise", "did you mean `price`? it has maker, price, spoiler"),
        ("Price.amount < 5", "Price", "did you mean `price`? it has maker, price, spoiler"),
        ("maker = 'x' and zzz.y = 1", "zzz", "it has maker, price, spoiler"),
    ],
)
def test_a_path_begins_at_a_property_or_the_class(predicate: str, under: str, help: str) -> None:
    with pytest.raises(FaultyTemplate) as caught:
        parse_template(f"(Car where {predicate})", PRICED)
    found = caught.value.diagnostic
    assert found.code == "template.property"
    assert caught.value.source.text[found.span.start : found.span.end] == under
    assert found.help == help


def test_of_a_class_without_properties_nothing_is_known() -> None:
    (field,) = parse_template("(Owner where name = 'x')", CARS).fields
    assert field == ClassField("Owner", predicate="name = 'x'")


def test_a_key_names_a_class() -> None:
    assert parse_template("(Car, int) key Automobile", CARS).key == "Automobile"


@pytest.mark.parametrize(
    ("text", "code", "under"),
    [
        ("Car", "template.syntax", "Car"),
        ("(Car", "template.syntax", ""),
        ("(Car) Owner", "template.syntax", "Owner"),
        ("(Truck)", "template.class", "Truck"),
        ("(Car) key Truck", "template.class", "Truck"),
        ("(Car) key int", "template.syntax", "int"),
        ("(1) key Car", "template.key", "Car"),
        ("(Car = true)", "template.syntax", "true"),
        ("(Car where)", "predicate.syntax", ")"),
        ("(Car where x < < 1)", "predicate.syntax", "<"),
        ("(Car ? 1)", "template.character", "?"),
        ("('open)", "template.string", "'open)"),
        (f"({'x' * 20_001})", "template.size", "xx)"),
    ],
)
def test_faults_have_their_place(text: str, code: str, under: str) -> None:
    with pytest.raises(FaultyTemplate) as caught:
        parse_template(text, CARS)
    found = caught.value.diagnostic
    assert found.code == code
    assert text[found.span.start : found.span.end] == under


def test_without_an_ontology_every_class_will_do() -> None:
    assert parse_template("(Truck)").fields == (ClassField("Truck"),)


@pytest.mark.parametrize(
    "options",
    [{"correlate": "perhaps"}, {"max_set": 0}, {"max_set": 17}, {"limit": 0}],
)
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(BadQuestion):
        parse_template("(Car)", CARS, **options)


def test_a_question_may_be_checked_later() -> None:
    with pytest.raises(BadQuestion, match="no key"):
        checked(Question((TypeField("int"),), key="Car"))


def test_live_templates() -> None:
    objects = [a("Car", "x < 5"), obj("Car", "A", x=1), obj("Car", "A"), obj("Car", x=1)]
    template = Template.of([*objects, 7, ANY, int, between(1, 9), t.f(ANY)])
    assert question_of(template).fields == (
        ClassField("Car", predicate="x < 5"),
        ClassField("Car", "A", equal=obj("Car", "A", x=1)),
        ClassField("Car", "A"),
        ClassField("Car", equal=obj("Car", x=1)),
        LiteralField(7),
        TypeField("any"),
        TypeField("int"),
        PatternField(between(1, 9)),
        PatternField(t.f(ANY)),
    )


def test_a_plain_live_template_is_positional() -> None:
    assert question_of(Template.of(["job", same_as("x"), same_as("x")])).positional


def test_same_has_no_meaning_beside_classes() -> None:
    with pytest.raises(BadQuestion, match="beside classes"):
        question_of(Template.of([a("Car"), same_as("x"), same_as("x")]))


def test_what_plain_fields_accept() -> None:
    assert value_test(TypeField("int"))(1)
    assert not value_test(TypeField("int"))(True)
    assert value_test(TypeField("any"))(None)
    assert value_test(LiteralField(1))(1)
    assert not value_test(LiteralField(1))(1.0)
    assert value_test(PatternField(between(1, 9)))(9)
    assert not value_test(PatternField(between(1, 9)))(10)


def test_what_class_fields_ask_beside_the_class() -> None:
    assert object_test(ClassField("Car")) is None
    equal = object_test(ClassField("Car", equal=obj("Car", x=1)))
    assert equal is not None
    assert equal(obj("Car", "any id", x=1))
    assert not equal(obj("Car", x=1, y=2))
    both = object_test(ClassField("Car", "A", "x = 1"))
    assert both is not None
    assert both(obj("Car", "A", x=1))
    assert not both(obj("Car", "A", x=2))
    assert not both(obj("Car", "B", x=1))
    assert ClassField("Car").id is MISSING
