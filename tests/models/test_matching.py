"""The engine in memory against the brute-force oracle, on generated cases.

A hundred in every run; thousands by `python -m tests.models.match_cases --cases 2000`. The oracle
is itself held to cases whose answers were written down by hand.
"""

from __future__ import annotations

import pytest

from nomospace.meaning.ontology import Dependence, Input, Ontology, OntologyClass, Tie
from nomospace.meaning.question import parse_template
from nomospace.terms import obj
from tests.models.match_cases import ENGINES, case, differs
from tests.models.matching import Oracle, fact

BATCH = 10


@pytest.mark.parametrize("batch", range(10))
def test_memory_agrees_with_the_oracle(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        made = case(seed)
        found = differs(made, ENGINES["memory"])
        assert not found, f"{made}\n{found}"


def test_cases_have_answers_of_every_kind() -> None:
    kinds: set[tuple[str, int, bool]] = set()
    for seed in range(100):
        made = case(seed)
        for one in Oracle(made.question, made.ontology, made.facts).answers():
            known = {term for one in made.facts for term in one.fields}
            computed = any(field not in known for field in one.fields)
            kinds.add((one.kind, min(len(one.tuples), 2), computed))
    assert {
        ("exact", 1, False),
        ("semantic", 1, False),
        ("correlation", 1, True),
        ("correlation", 2, False),
        ("correlation", 2, True),
    } <= kinds


TIMES = Ontology(
    "times",
    [
        OntologyClass("Car"),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Start"),
        OntologyClass("End"),
        OntologyClass(
            "Trip",
            depends={
                "time": (
                    Dependence(
                        "Trip",
                        "time",
                        "minus",
                        (Input("End", ("at",)), Input("Start", ("at",))),
                        (
                            Tie(Input("Trip", ("no",)), "=", Input("End", ("no",))),
                            Tie(Input("End", ("no",)), "=", Input("Start", ("no",))),
                        ),
                    ),
                )
            },
        ),
    ],
)


def oracle(template: str, *facts: object, correlate: str = "auto") -> list[tuple[str, ...]]:
    question = parse_template(template, TIMES, correlate=correlate)
    return [one.tuples for one in Oracle(question, TIMES, facts).answers()]  # type: ignore[arg-type]


def test_the_oracle_on_single_tuples() -> None:
    one = fact("t1", obj("SportsCar", "A"), 7)
    assert oracle("(Car, int)", one) == [("t1",)]
    assert oracle("(SportsCar, str)", one) == []
    assert oracle("(int, Car)", one) == [("t1",)], "objects go in any order"
    assert oracle("(int)", one) == [], "without a class it is positional"


def test_the_oracle_on_sets() -> None:
    both = fact("t1", obj("Car", "A"), 1), fact("t2", obj("Car", "A"), "x")
    assert oracle("(Car, int, str)", *both) == [("t1", "t2")]
    assert oracle("(Car, int, str)", both[0], fact("t2", obj("Car", "B"), "x")) == []
    assert oracle("(Car)", *both, correlate="always") == [("t1",), ("t2",)], "nothing unneeded"


def test_the_oracle_on_computed_objects() -> None:
    end, start = fact("t1", obj("End", "e", at=9, no=1)), fact("t2", obj("Start", "s", at=2, no=1))
    assert oracle("(Trip where time = 7)", end, start) == [("t1", "t2")]
    assert oracle("(Trip where time = 8)", end, start) == []
    assert oracle("(Trip)", end, fact("t2", obj("Start", "s", at=2, no=2))) == []
    assert oracle("(Trip)", end, start, fact("t3", obj("Trip", "t"))) == [("t3",)]
