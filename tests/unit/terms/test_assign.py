"""Templates that name classes: which field of a tuple each of their fields is given."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from nomospace.terms import ANY, Term, a, between, obj, t
from nomospace.terms.budget import Budget, TestTooDear
from nomospace.terms.templates import Template, same as same_as

CAR, BUS, VAN = obj("Car", "c1", price=4), obj("Bus", "b1"), obj("Van", "v1")


def wide(name: str) -> frozenset[str]:
    """An ontology in which a van is a car, and an automobile is one by another name."""
    return frozenset(("Car", "Auto", "Van") if name in ("Car", "Auto") else (name,))


def own(name: str) -> frozenset[str]:
    return frozenset(("Car", "Auto") if name in ("Car", "Auto") else (name,))


@pytest.mark.parametrize(
    ("patterns", "fields", "places"),
    [
        ([a("Car")], (BUS, CAR), (1,)),
        ([a("Car"), a("Bus")], (BUS, CAR), (1, 0)),
        ([a("Car"), a("Car")], (CAR,), None),
        ([a("Car"), a("Car")], (VAN, CAR), (1, 0)),  # its own class first
        ([a("Car"), a("Van")], (VAN, CAR), (1, 0)),
        ([a("Van"), a("Car")], (VAN, CAR), (0, 1)),
        ([a("Auto"), a("Van")], (CAR, VAN), (0, 1)),
        ([a("Car"), "x", "y"], ("x", CAR, "z", "y"), (1, 0, 3)),
        ([a("Car"), "y", "x"], ("x", CAR, "y"), None),  # plain fields keep their order
        ([a("Car"), int, between(1, 9)], (7, CAR, 8, 99), (1, 0, 2)),
        ([a("Car"), ANY], (CAR, BUS), (0, 1)),
        ([a("Car"), ANY], (CAR, 5, BUS), (0, 1)),
        ([a("Car"), "x", ANY], (BUS, CAR, "x"), (1, 2, 0)),
        ([a("Car"), ANY, ANY], (CAR, 5), None),
        ([a("Car"), same_as("n"), same_as("n")], (1, CAR, 2, 1), (1, 0, 3)),
        ([a("Car"), same_as("n"), t.at(same_as("n"))], (1, CAR, 2, t.at(2)), (1, 2, 3)),
        ([obj("Car", "c1")], (obj("Van", "c1", wheels=3),), (0,)),
        ([obj("Car", "c1")], (CAR, obj("Van", "c1")), (0,)),
        ([obj("Car", price=4)], (BUS, CAR), (1,)),
        ([obj("Car", price=4.0)], (CAR,), None),
        ([obj("Car", "c1", price=ANY)], (CAR,), (0,)),
        ([obj("Car", same_as("id"), price=4), same_as("id")], (CAR, "b1", "c1"), (0, 2)),
        ([a("Car", "price > 4")], (CAR,), None),
    ],
)
def test_the_least_way(
    patterns: list[Any], fields: tuple[Any, ...], places: tuple[int, ...] | None
) -> None:
    assigner = Template.of(patterns).assigner(wide, own)
    assert assigner.places(fields) == places
    assert assigner.fits(fields, Budget()) is (places is not None)


def test_an_exact_match_has_no_further_field_and_no_other_class() -> None:
    assigner = Template.of([a("Car"), "x"]).assigner(wide, own)
    assert assigner.exact(("x", obj("Auto", "a1")), Budget())
    assert not assigner.exact((VAN, "x"), Budget())
    assert not assigner.exact((CAR, "x", 1), Budget())


@pytest.mark.parametrize("patterns", [[a("Car")], [a("Auto"), "x"], ["x", a("Car", "price > 3")]])
def test_the_short_way_to_an_exact_match_says_what_the_long_one_does(patterns: list[Any]) -> None:
    assigner = Template.of(patterns).assigner(wide, own)
    assert assigner.exact != assigner._exact, "these are told by one walk over the tuple"
    values: tuple[Term, ...] = (CAR, BUS, VAN, obj("Auto", "a1"), "x", "y")
    for width in range(1, 4):
        for fields in product(values, repeat=width):
            assert assigner.exact(fields, Budget()) is assigner._exact(fields, Budget())


def test_predicates_see_objects_as_they_are_shown() -> None:
    def show(found: Any) -> Term:
        return obj(found.args[0], found.args[1], preis=found.args[2][0].args[0])

    shown = Template.of([a("Car", "preis = 4")]).assigner(wide, own, show)
    assert shown.fits((CAR,), Budget())


def _spent(patterns: list[Any], fields: tuple[Any, ...]) -> tuple[bool, int]:
    budget = Budget()
    return Template.of(patterns).matches(fields, budget), budget.spent


def test_many_ties_without_equals_are_told_apart_at_once() -> None:
    patterns = [a("Car"), *[same_as(f"n{n}") for n in range(4) for _ in "ab"]]
    fits, spent = _spent(patterns, (CAR, *range(30)))
    assert not fits
    assert spent < 2_000


@pytest.mark.parametrize("width", [10, 20, 30])
def test_ties_of_many_classes_cost_about_their_number_squared(width: int) -> None:
    tied = [obj("Car", same_as("id") if n in (0, width - 1) else ANY) for n in range(width)]
    fields = tuple([obj("Car", n) for n in range(width)])
    fits, spent = _spent(tied, fields)
    assert not fits
    assert spent < 20 * width * width
    fits, spent = _spent(tied, (*fields[:-1], obj("Car", 0)))
    assert fits
    assert spent < 20 * width * width


def test_the_least_way_is_found_behind_others_that_the_ties_rule_out() -> None:
    patterns = [obj("Car", same_as("x")), obj("Car", same_as("y")), same_as("y"), same_as("x")]
    fields = (obj("Car", 1), obj("Car", 2), obj("Car", 3), 3, 1, 2)
    assert Template.of(patterns).assigner().places(fields) == (0, 2, 3, 4)


def test_what_has_no_quick_answer_is_stopped_and_said_so() -> None:
    # Paths through a graph that has none: every class field is tied to the next.
    steps = [obj("Edge", same_as(f"n{n}"), to=same_as(f"n{n + 1}")) for n in range(14)]
    edges = [obj("Edge", n, to=m) for n in range(6) for m in range(6) if n != m]
    template = Template.of([*steps, obj("Edge", same_as("n14"), to=7)])
    with pytest.raises(TestTooDear, match="same"):
        template.matches((*edges, obj("Edge", 8, to=7)))


def test_a_template_without_classes_is_as_it_was() -> None:
    plain = Template.of([ANY, "x"])
    assert not plain.meant
    assert plain.matches((CAR, "x"))
    assert not plain.matches(("x", CAR))
    assert not plain.matches((CAR, "x", 1))
    assert Template.of([t.sold(a("Car")), "x"]).meant is False  # only what stands at the top counts
