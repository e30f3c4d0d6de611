"""What an answer says: its fields, and why; and tuples as JSON has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nomospace.meaning.answers import MeaningAnswer
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.jsonforms import BadTupleLine, json_of, read_facts, term_of
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.meaning.question import parse_template
from nomospace.meaning.reading import read_ontology
from nomospace.terms import obj, t

CARS = read_ontology(
    """
classes:
  Car: {synonyms: [Automobile]}
  SportsCar: {parents: [Car]}
  Tax: {}
  Loan: {}
  Start: {properties: {no: any, at: number}}
  End: {properties: {no: any, at: number}}
  LateEnd: {parents: [End]}
  Trip:
    properties: {no: any, time: number, price: number}
    depends:
      time: {function: "minus(End.at, Start.at)", when: "End.no = Trip.no = Start.no"}
  Cost:
    properties: {sum: number}
    depends:
      sum:
        - {function: "times(Trip.price, 2)"}
        - {function: "times(Trip.time, 3)"}
""",
    "cars.yaml",
)


def answer(template: str, *facts: Fact, ontology: Ontology = CARS) -> MeaningAnswer:
    (found,) = Matcher(parse_template(template, ontology), Facts.of(facts, ontology)).all().items
    return found


def test_an_exact_answer_needs_no_reason() -> None:
    found = answer("(Car, int)", Fact("t1", (1, obj("Car", "A"))))
    assert (found.kind, found.because, found.why) == ("exact", [], "t1 has just these fields")
    assert found.fields == (obj("Car", "A"), 1)


def test_further_fields_are_a_reason_of_their_own() -> None:
    found = answer("(Car)", Fact("t1", (obj("Car", "A"), 1)))
    assert (found.kind, found.why) == ("semantic", "t1 has these fields and further ones")


def test_classes_and_what_is_shared() -> None:
    car = obj("SportsCar", 7)
    facts = Fact("t2", (car, obj("Tax", "x"))), Fact("t1", (obj("Loan", "y"), car))
    found = answer("(Automobile, Tax, Loan)", *facts)
    assert found.because == ["SportsCar is a Automobile", "t1 and t2 share SportsCar 7"]
    assert found.why == "; ".join(found.because)


def test_three_may_share_one_and_an_equal_one_without_id() -> None:
    same = obj("Car", x=1)
    names = ("Tax", "Loan", "Start")
    facts = [Fact(f"t{at}", (same, obj(name, "i"))) for at, name in enumerate(names)]
    assert answer("(Tax, Loan, Start)", *facts).because == ["t0, t1 and t2 share an equal Car"]


def test_ties_by_the_computed_object_link_too() -> None:
    end = Fact("t1", (obj("LateEnd", "e", no=1, at=9),))
    start = Fact("t2", (obj("Start", "s", no=1.0, at=2),))
    found = answer("(Trip)", end, start)
    assert found.fields == (obj("Trip", no=1, time=7),)
    assert found.because == ["LateEnd is a End", "time = minus(End.at, Start.at)"]


def test_alternatives_are_tried_in_order_and_inputs_computed() -> None:
    facts = Fact("t1", (obj("End", "e", no=1, at=9),)), Fact("t2", (obj("Start", "s", no=1, at=2),))
    found = answer("(Cost)", *facts)
    assert found.fields == (obj("Cost", sum=21),), "a computed trip has no price"
    assert found.because[-1] == "sum = times(Trip.time, 3)"
    known = Fact("t3", (obj("Trip", "t", time=5, price=50),))
    assert answer("(Cost)", known).fields == (obj("Cost", sum=100),)


def test_fields_are_shown_as_they_were_written() -> None:
    joined = Ontology("j", [OntologyClass("Auto")], renames={"Auto": {"preis": "price"}})
    found = answer(
        "(Auto where price < 9)", Fact("t1", (obj("Auto", "a", preis=5),)), ontology=joined
    )
    assert found.fields == (obj("Auto", "a", preis=5),)


def test_data_is_json() -> None:
    found = answer("(Car)", Fact("t1", (obj("SportsCar", "A", price=obj("Price", amount=5)),)))
    assert json.loads(json.dumps(found.to_data())) == {
        "kind": "semantic",
        "tuples": ["t1"],
        "fields": [
            {
                "class": "SportsCar",
                "id": "A",
                "properties": {
                    "price": {"class": "Price", "id": None, "properties": {"amount": 5}}
                },
            }
        ],
        "why": "SportsCar is a Car",
        "because": ["SportsCar is a Car"],
    }


# JSON.


@pytest.mark.parametrize(
    "data",
    [
        {"class": "Car", "id": "A", "properties": {"price": {"amount": 5, "of": [1, 2.5, None]}}},
        {"class": "Car", "id": 7, "properties": {}},
        {"class": "Car", "id": None, "properties": {"x": {"class": "B", "seats": 4}}},
        [1, "a", True, None, {"x": []}],
    ],
)
def test_json_comes_back(data: Any) -> None:
    assert json_of(term_of(data)) == data


def test_what_json_does_not_know_is_its_text() -> None:
    assert json_of(t.room(3)) == "room(3)"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[]", "no JSON object"),
        ("{}", "no `id`"),
        ('{"id": "", "fields": [1]}', "no `id`"),
        ('{"id": "t", "fields": [1], "more": 1}', "'more'"),
        ('{"id": "t", "id": "u", "fields": [1]}', "a key twice"),
        ('{"id": "t", "fields": [{"class": "Car", "colour": 1}]}', "field 0 is no object"),
        ('{"id": "t", "fields": [{"class": "Car", "properties": {"": 1}}]}', "an empty name"),
        ('{"id": "t", "fields": [Infinity]}', "no number"),
        ('{"id": "t", "fields": [' + "[" * 101 + "]" * 101 + "]}", "deep"),
        ('{"id": "t", "fields": [' + "[" * 9_999 + "]" * 9_999 + "]}", "no JSON we can hold"),
        ('{"id": "t", "fields": [' + "9" * 5_000 + "]}", "no JSON we can hold"),
        ('{"id": "t", "fields": ["\\ud800"]}', ""),
    ],
)
def test_lines_that_are_no_tuples(line: str, why: str) -> None:
    with pytest.raises(BadTupleLine, match="file:2: ") as caught:
        list(read_facts(["", line], "file"))
    assert why in str(caught.value)


def test_an_id_stands_once() -> None:
    line = '{"id": "t", "fields": [1]}'
    with pytest.raises(BadTupleLine, match="file:3: the id 't' stands in line 1 already"):
        list(read_facts([line, "", line], "file"))
