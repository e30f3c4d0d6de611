"""A question followed through tuples that come and go: what is new, and nothing that was."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from nomospace.meaning.assign import QuestionAssigner
from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Following, Matcher, following
from nomospace.meaning.ontology import PLAIN
from nomospace.meaning.planner import connecting
from nomospace.meaning.question import parse_template
from nomospace.meaning.reading import read_ontology
from nomospace.terms import Term, obj
from nomospace.terms.objects import class_of
from tests.models.match_cases import case

CAR, TAX, LOAN = obj("Car", "A"), obj("Tax", "x"), obj("Loan", "y")


def followed(template: str, **options: Any) -> Following:
    return Following(parse_template(template, **options))


def comes(to: Following, id: str, *fields: Term) -> list[tuple[str, ...]]:
    """What a tuple brings."""
    to.add(id, fields)
    return [one.tuples for one in to.brought([id]).items]


def test_what_was_there_comes_no_more() -> None:
    asked = followed("(Car, Tax, Loan)")
    assert comes(asked, "t1", CAR, TAX) == []
    assert comes(asked, "t2", CAR, LOAN) == [("t1", "t2")]
    assert comes(asked, "t3", CAR, LOAN) == [("t1", "t3")]
    asked.drop("t1")
    assert comes(asked, "t4", CAR, LOAN) == []
    assert comes(asked, "t4", CAR, TAX) == [("t2", "t4"), ("t3", "t4")], "it made way for itself"
    assert [one.tuples for one in asked.brought(["t1", "t3", "t3"]).items] == [("t3", "t4")]
    assert len(asked) == 3


def test_a_set_that_holds_an_old_answer_is_none() -> None:
    asked = followed("(Tax, Loan)", correlate="always")
    assert comes(asked, "t1", CAR, TAX) == []
    assert comes(asked, "t2", CAR, LOAN) == [("t1", "t2")]
    assert comes(asked, "t3", CAR) == [], "t1 and t2 do without it"
    assert comes(asked, "t4", TAX, LOAN) == [("t4",)]
    assert comes(asked, "t5", CAR, LOAN) == [("t1", "t5")]
    twice = followed("(Car, Car)", correlate="always")
    assert comes(twice, "t1", CAR, CAR, TAX) == [("t1",)]
    assert comes(twice, "t2", obj("Car", "B"), TAX) == [], "t1 answers, with two fields if one car"


def test_sets_are_looked_for_while_no_tuple_answers_alone() -> None:
    asked = followed("(Tax, Loan)")
    assert comes(asked, "t0", TAX, LOAN) == [("t0",)]
    assert comes(asked, "t1", CAR, TAX) == []
    assert comes(asked, "t2", CAR, LOAN) == [], "t0 answers, though it is not new"
    asked.drop("t0")
    assert comes(asked, "t3", CAR, LOAN) == [("t1", "t3")]


@pytest.mark.parametrize("seed", [5, 11, 19, 46, 199])
def test_each_lot_brings_what_is_new_among_all(seed: int) -> None:
    made, chance = case(seed), Random(seed)
    asked, there, answers = Following(made.question, made.ontology), dict[str, Fact](), 0
    for turn in range(10):
        new = [fact._replace(id=f"{fact.id}-{turn}") for fact in chance.sample(made.facts, 2)]
        for one in new:
            there[one.id] = one
            asked.add(*one)
        while len(there) > 6:
            gone = chance.choice(list(there))
            del there[gone]
            asked.drop(gone)
        whole = Matcher(made.question, Facts.of(there.values(), made.ontology)).all().items
        ids = {one.id for one in new}
        expected = [one.to_data() for one in whole if ids & set(one.tuples)]
        assert [one.to_data() for one in asked.brought(ids).items] == expected
        answers += len(expected)
    assert answers


def test_plans_are_made_for_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bridges that were there once would make the plan too large; facts are then made anew."""
    monkeypatch.setattr(connecting, "STATES_MAX", 40)
    asked = followed("(Car, Tax, Loan)")
    bridges = [obj(name, "1") for name in "BCDEFG"]
    for at, one in enumerate(bridges):
        for other in bridges[:at]:
            asked.add(f"{class_of(one)}{class_of(other)}", (one, other, CAR))
    asked.add("t0", (obj("Car", "Z"), LOAN))
    asked.add("t1", (CAR, TAX))
    assert "too many ways" in asked.brought(["t1"]).cut
    for at, one in enumerate(bridges):
        for other in bridges[:at]:
            asked.drop(f"{class_of(one)}{class_of(other)}")
    asked.add("t2", (CAR, LOAN))
    found = asked.brought(["t2"])
    assert not found.cut
    assert [one.tuples for one in found.items] == [("t1", "t2")]


def test_shapes_that_no_tuple_has_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SHAPES_MIN", 8)
    asked = followed("(Car, Tax, Loan)")
    comes(asked, "t1", CAR, TAX)
    for number in range(100):
        comes(asked, "passing", obj(f"Made{number}", 1))
        assert len(asked._matcher.facts.shapes) <= 9
    assert comes(asked, "t2", CAR, LOAN) == [("t1", "t2")]


def test_what_could_be_computed_and_is_there_must_hang_together() -> None:
    ontology = read_ontology(
        """
classes:
  Car: {}
  Loan: {properties: {rate: number}}
  Rate: {properties: {of: number}, depends: {of: "max(Loan.rate, 2)"}}
""",
        "rates.yaml",
    )
    assigner = QuestionAssigner(parse_template("(Car, Rate)", ontology), ontology)
    facts = Facts.of([Fact("t1", (CAR,)), Fact("t2", (obj("Rate", 1),))], PLAIN)
    rows = list(facts.rows.values())
    assert assigner.least(rows, single=False) is None
    assert assigner.may_serve(rows)
    assert not assigner.may_serve(rows[1:])
