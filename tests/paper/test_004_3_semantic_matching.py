"""`004_…` sections 2.3 and 3: exact and semantic matching; Definition 4 and its row of Table 2."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.meaning.answers import MeaningAnswer
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.question import parse_template
from nomospace.meaning.reading import read_ontology
from nomospace.terms import obj

CARS = read_ontology(
    """
classes:
  Car: {synonyms: [Automobile], properties: {price: Price}}
  SportsCar: {parents: [Car]}
  Price: {properties: {amount: number}}
  CarInsurance: {}
  SportsCarInsurance: {parents: [CarInsurance]}
  CarFinance: {}
""",
    "cars.yaml",
)
TABLE_2 = "(Car where Car.price.amount < 5000, CarInsurance = B, CarFinance)"
"""The template φ_s, with its predicate as the paper writes it."""


def sports_car(amount: int = 4000) -> Any:
    return obj("SportsCar", "A", price=obj("Price", None, amount=amount))


def answers(template: str, *facts: Fact, **options: Any) -> list[MeaningAnswer]:
    question = parse_template(template, CARS, **options)
    return Matcher(question, Facts.of(facts, CARS)).all().items


def test_table_2_the_candidate_tuple_answers_the_template() -> None:
    t = Fact("t", (sports_car(), obj("CarInsurance", "B"), obj("CarFinance", "C")))
    (found,) = answers(TABLE_2, t)
    assert (found.kind, found.tuples, found.fields) == ("semantic", ("t",), t.fields)
    assert found.because == ["SportsCar is a Car"]


def test_definition_4_a_candidate_has_a_compatible_field_for_every_field() -> None:
    short = Fact("t", (sports_car(), obj("CarInsurance", "B")))
    assert answers("(Car, CarInsurance)", short)
    assert not answers("(Car, CarInsurance, CarFinance)", short)


def test_a_candidate_may_still_fail_the_condition() -> None:
    dear = Fact("t", (sports_car(9000), obj("CarInsurance", "B"), obj("CarFinance", "C")))
    assert not answers(TABLE_2, dear)
    assert answers("(Car, CarInsurance = B, CarFinance)", dear)


@pytest.mark.parametrize(
    ("template", "field", "kind"),
    [
        ("(SportsCar)", obj("SportsCar", "A"), "exact"),
        ("(Automobile)", obj("Car", "A"), "exact"),
        ("(Car)", obj("SportsCar", "A"), "semantic"),
        ("(SportsCar)", obj("Car", "A"), None),
    ],
)
def test_2_3_exact_is_the_templates_own_class_and_semantic_one_below(
    template: str, field: Any, kind: str | None
) -> None:
    found = answers(template, Fact("t", (field,)), correlate="never")
    assert [one.kind for one in found] == ([] if kind is None else [kind])


def test_2_3_exact_comes_before_semantic_and_that_before_correlation() -> None:
    exact = Fact("t9", (obj("Car", "A"), obj("CarFinance", "C")))
    semantic = Fact("t8", (obj("SportsCar", "B"), obj("CarFinance", "D")))
    halves = (
        Fact("t1", (obj("Car", "E"), 1)),
        Fact("t2", (obj("Car", "E"), obj("CarInsurance", "F"))),
        Fact("t3", (obj("CarInsurance", "F"), obj("CarFinance", "G"))),
    )
    question = parse_template("(Car, CarFinance)", CARS, correlate="always")
    for there, kind in (
        ((exact, semantic, *halves), "exact"),
        ((semantic, *halves), "semantic"),
        (halves, "correlation"),
    ):
        first = Matcher(question, Facts.of(there, CARS)).first()
        assert first is not None
        assert first.kind == kind


def test_3_no_generalised_copies_are_made() -> None:
    t = Fact("t", (sports_car(), 7))
    facts = Facts.of([t], CARS)
    assert len(Matcher(parse_template("(Car)", CARS), facts).all().items) == 1
    assert [row.fields for row in facts.rows.values()] == [t.fields], "the template is rewritten"


def test_2_2_an_object_in_a_template_asks_for_an_identical_one() -> None:
    there = Fact("t", (obj("CarInsurance", "B", premium=5),))
    assert answers("(CarInsurance = B)", there)
    assert not answers("(CarInsurance = C)", there)
