"""`004_…` section 4: sets of tuples that answer together; Definitions 5 to 9, Table 2, 4.2, 4.3."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.memory import Matcher
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import parse_template
from nomospace.meaning.reading import read_ontology
from nomospace.terms import obj
from nomospace.terms.objects import class_of
from nomospace.terms.values import Term
from tests.models.match_cases import case
from tests.models.matching import Oracle

WORLD = read_ontology(
    """
classes:
  Car: {properties: {price: number}}
  SportsCar: {parents: [Car]}
  CarInsurance: {}
  SportsCarInsurance: {parents: [CarInsurance]}
  CarFinance: {}
  Licence: {}
  CarOwner: {}
  Arrival: {properties: {shippingID: string, timeStamp: number}}
  Departure: {properties: {shippingID: string, timeStamp: number}}
  ShippingDuration:
    properties: {shippingID: string, duration: number}
    depends:
      duration:
        function: minus(Arrival.timeStamp, Departure.timeStamp)
        when: ShippingDuration.shippingID = Arrival.shippingID = Departure.shippingID
  Delay:
    properties: {hours: number}
    depends:
      hours: {function: "divide(ShippingDuration.duration, 60)"}
""",
    "world.yaml",
)
CAR = obj("SportsCar", "A", price=4000)
TEMPLATE = "(Car where price < 5000, CarInsurance = B, CarFinance)"
T_K = (
    Fact("t1", (CAR, obj("SportsCarInsurance", "B"))),
    Fact("t2", (CAR, obj("CarFinance", "C"))),
)
"""Table 2's first set."""
T_F = (
    Fact("t1", (CAR, obj("Licence", "B"))),
    Fact("t2", (obj("Licence", "B"), obj("CarOwner", "C"))),
    Fact("t3", (obj("CarOwner", "C"), obj("CarInsurance", "D"))),
    Fact("t4", (CAR, obj("CarFinance", "E"))),
)
"""Table 2's second set."""
SHIPPED = (
    Fact("t1", (obj("Departure", "d", shippingID="s", timeStamp=30),)),
    Fact("t2", (obj("Arrival", "a", shippingID="s", timeStamp=150),)),
)


def sets(template: str, facts: tuple[Fact, ...], **options: Any) -> dict[tuple[str, ...], Any]:
    question = parse_template(template, WORLD, **options)
    found = Matcher(question, Facts.of(facts, WORLD)).all().items
    return {one.tuples: one.fields for one in found}


def test_definition_5_tuples_that_share_the_key_object_answer_together() -> None:
    found = sets(f"{TEMPLATE} key Car", T_K)
    assert found == {("t1", "t2"): (CAR, obj("SportsCarInsurance", "B"), obj("CarFinance", "C"))}


def test_definition_5_every_tuple_must_hold_the_key_object() -> None:
    assert sets("(Car, CarInsurance, CarFinance)", T_F)
    assert not sets("(Car, CarInsurance, CarFinance) key Car", T_F)
    other = (T_K[0], Fact("t2", (obj("SportsCar", "Z"), obj("CarFinance", "C"))))
    assert not sets(f"{TEMPLATE} key Car", other)


def test_definition_5_nothing_in_a_set_is_unneeded() -> None:
    more = Fact("t3", (CAR, obj("Licence", "L")))
    assert list(sets(f"{TEMPLATE} key Car", (*T_K, more))) == [("t1", "t2")]


def test_definitions_6_and_7_tuples_are_bridged_step_by_step() -> None:
    found = sets("(Car, CarInsurance, CarFinance)", T_F)
    assert list(found) == [("t1", "t2", "t3", "t4")]


@pytest.mark.parametrize("missing", range(4))
def test_definition_7_each_tuple_of_the_chain_is_needed(missing: int) -> None:
    rest = tuple(fact for at, fact in enumerate(T_F) if at != missing)
    assert not sets("(Car, CarInsurance, CarFinance)", rest)


def test_definition_7_a_set_is_no_larger_than_was_allowed() -> None:
    assert not sets("(Car, CarInsurance, CarFinance)", T_F, max_set=3)


def test_definition_9_an_absent_field_is_computed() -> None:
    found = sets("(ShippingDuration where duration > 100)", SHIPPED)
    made = obj("ShippingDuration", None, duration=120, shippingID="s")
    assert found == {("t1", "t2"): (made,)}
    assert not sets("(ShippingDuration where duration > 200)", SHIPPED)


def test_definition_9_but_not_where_one_is_there() -> None:
    there = Fact("t3", (obj("ShippingDuration", "x", duration=1),))
    assert list(sets("(ShippingDuration)", (*SHIPPED, there))) == [("t3",)]


def test_definition_1_the_predicate_correlates() -> None:
    other = Fact("t2", (obj("Arrival", "a", shippingID="other", timeStamp=150),))
    assert not sets("(ShippingDuration)", (SHIPPED[0], other))


def test_definition_8_computed_under_a_key() -> None:
    order = obj("CarOwner", "o")
    keyed = tuple(Fact(fact.id, (*fact.fields, order)) for fact in SHIPPED)
    assert list(sets("(ShippingDuration) key CarOwner", keyed)) == [("t1", "t2")]
    assert not sets("(ShippingDuration) key CarOwner", SHIPPED)
    assert not sets("(ShippingDuration) key CarOwner", (keyed[0], SHIPPED[1]))


def test_figure_1_an_input_may_have_to_be_computed_itself() -> None:
    found = sets("(Delay where hours = 2)", SHIPPED)
    assert found == {("t1", "t2"): (obj("Delay", None, hours=2.0),)}


def test_4_3_the_template_is_tested_on_the_computed_tuple() -> None:
    facts = (*T_K, Fact("t3", (CAR, obj("CarFinance", "D"))))
    assert list(sets(TEMPLATE, facts)) == [("t1", "t2"), ("t1", "t3")]
    dear = obj("SportsCar", "A", price=9000)
    never = tuple(Fact(f.id, (dear, f.fields[1])) for f in T_K)
    assert not sets(TEMPLATE, never)


def test_4_3_a_set_fails_only_when_no_choice_satisfies_the_predicates() -> None:
    """Here we depart: the paper discards a set on the first condition that is false."""
    dear = obj("SportsCar", "A", price=9000)
    assert sets(TEMPLATE, (Fact("t1", (dear, obj("CarInsurance", "B"))), T_K[1]))


def test_4_3_of_fields_in_several_tuples_the_templates_own_class_is_taken() -> None:
    own = obj("Car", "Z", price=1)
    facts = (T_K[0], Fact("t2", (CAR, own, obj("CarFinance", "C"))))
    assert sets(TEMPLATE, facts)["t1", "t2"][0] == own


# 4.2: the inclusions, for the sets before minimality.


def satisfying(
    template: str, ontology: Ontology, facts: tuple[Fact, ...], *, key: bool, functions: bool
) -> set[tuple[str, ...]]:
    """The sets that satisfy conditions 1 and 2, whatever smaller one does too."""
    question = parse_template(template, ontology, max_set=4)
    if not key:
        question = question._replace(key=None)
    oracle = Oracle(question, ontology, facts)
    return {
        ids
        for size in range(2, 5)
        for ids in combinations(sorted(oracle.facts), size)
        if oracle.correlated(ids, functions=functions) is not None
    }


def test_4_2_the_four_kinds_of_sets_include_each_other() -> None:
    counted = [0, 0, 0, 0]
    for seed in range(100):
        made = case(seed)
        if made.question.positional:
            continue
        names = [class_of(one) for fact in made.facts for one in fact.fields if _is_object(one)]
        if not names:
            continue
        template = f"{made.template.partition(' key ')[0]} key {names[0]}"
        kinds = [
            satisfying(template, made.ontology, made.facts[:5], key=key, functions=functions)
            for key, functions in ((True, False), (False, False), (True, True), (False, True))
        ]
        s_kc, s_fc, s_ka, s_ac = kinds
        assert s_kc <= s_fc <= s_ac, made
        assert s_kc <= s_ka <= s_ac, made
        counted = [count + len(found) for count, found in zip(counted, kinds, strict=True)]
    assert 0 < counted[0] < counted[1] < counted[3], "each inclusion was seen to be a proper one"
    assert counted[0] < counted[2] < counted[3]


def _is_object(field: Term) -> bool:
    return getattr(field, "name", "") == "object"
