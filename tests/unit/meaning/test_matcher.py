"""The planner and the engine in memory: what plans say, what is given first, what is cut."""

from __future__ import annotations

from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from nomospace.meaning import memory
from nomospace.meaning.facts import Fact, Facts, Plain, Shape
from nomospace.meaning.functions import Functions
from nomospace.meaning.memory import Matcher, matcher
from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.meaning.plan import Need
from nomospace.meaning.planner import Planner, connecting, making
from nomospace.meaning.planner.deriving import plain_kinds
from nomospace.meaning.planner.placing import Placement, placements
from nomospace.meaning.question import ClassField, TypeField, parse_template, question_of
from nomospace.meaning.reading import read_ontology
from nomospace.terms import Template, a, obj

CARS = read_ontology(
    """
classes:
  Car: {synonyms: [Automobile], properties: {price: number}}
  SportsCar: {parents: [Car]}
  Tax: {}
  Loan: {}
  Person: {}
""",
    "cars.yaml",
)


def asked(template: str, *facts: Fact, ontology: Ontology = CARS, **options: Any) -> Matcher:
    return Matcher(parse_template(template, **options), Facts.of(facts, ontology))


def tuples(found: Matcher) -> list[tuple[str, ...]]:
    return [one.tuples for one in found.all().items]


TAXED = Fact("t1", (obj("Car", "A", price=5), obj("Tax", "x")))
LENT = Fact("t2", (obj("Car", "A", price=5), obj("Loan", "y")))


def test_a_plan_follows_the_shapes_and_not_the_tuples() -> None:
    question = parse_template("(Car, Tax, Loan)", CARS)
    few = Facts.of([TAXED, LENT], CARS).known()
    many = few._replace(shapes=tuple((shape, 100_000) for shape, _ in few.shapes))
    assert len(Planner(question, CARS, few).plan().networks) == 1
    assert len(Planner(question, CARS, many).plan().networks) == 1


def test_what_nobody_shares_joins_nothing() -> None:
    other = Fact("t2", (obj("Car", "B"), obj("Loan", "y")))
    assert asked("(Car, Tax, Loan)", TAXED, other).plan.networks == ()


def test_joins_start_where_tuples_are_rare() -> None:
    taxes = [Fact(f"x{n}", (obj("Car", f"c{n}"), obj("Tax", f"x{n}"))) for n in range(50)]
    (network,) = asked("(Car, Tax, Loan)", TAXED, LENT, *taxes).plan.networks
    assert [network.nodes[at].rows for at in network.order] == [1, 51]


def test_an_id_is_rarer_still() -> None:
    taxes = [Fact(f"x{n}", (obj("Car", "A", price=5), obj("Tax", f"x{n}"))) for n in range(9)]
    loans = [Fact(f"l{n}", (obj("Car", "A", price=5), obj("Loan", f"y{n}"))) for n in range(9)]
    found = asked("(Car, Tax = x3, Loan)", *taxes, *loans)
    start = found.plan.networks[0].order[0]
    assert len(list(found.ready(2)[0].compiler.start_rows(start))) == 1
    assert tuples(found) == [(f"l{n}", "x3") for n in range(9)]


def test_the_plan_is_made_anew_when_it_may_miss_something() -> None:
    found = Matcher(parse_template("(Car, Tax, Loan)", CARS), Facts(CARS, steady=True))
    found.facts.add("t1", TAXED.fields)
    assert tuples(found) == []
    found.facts.add("t2", LENT.fields)
    assert tuples(found) == [("t1", "t2")]
    planner = found.planner
    found.facts.add("t3", (obj("Car", "B"), obj("Loan", "z")))
    assert found.planner is planner, "nothing new about shapes"
    found.facts.remove("t2")
    assert tuples(found) == []


@pytest.mark.parametrize("steady", [False, True])
def test_more_tuples_of_known_shapes_may_be_a_larger_set(steady: bool) -> None:
    facts = Facts(CARS, steady=steady)
    found = Matcher(parse_template("(Car, Loan)", CARS), facts)
    facts.add("t1", (obj("Car", "A"), obj("Person", 0)))
    facts.add("t2", (obj("Person", 0), obj("Person", 1)))
    facts.add("t3", (obj("Loan", "y"), obj("Person", 2)))
    assert tuples(found) == []
    facts.add("t4", (obj("Person", 1), obj("Person", 2)))
    assert tuples(found) == [("t1", "t2", "t3", "t4")]


def test_the_start_follows_how_many_there_are_now() -> None:
    found = asked("(Car, Tax, Loan)", TAXED, LENT)
    (one,) = found.ready(2)
    for number in range(9):
        found.facts.add(f"x{number}", (obj("Car", f"c{number}"), obj("Tax", f"x{number}")))
    loans = [at for at in range(2) if one.compiler.count(at) == 1]
    assert [one.start()] == loans


def test_one_object_seen_with_two_prices() -> None:
    dear = Fact("t1", (obj("Car", "A", price=9), obj("Tax", "x")))
    assert tuples(asked("(Car where price < 6, Tax, Loan)", dear, LENT)) == [("t1", "t2")]
    cheap = Fact("t3", (obj("Car", "A", price=1), 7))
    lent = Fact("t2", (obj("Car", "A", price=9), obj("Loan", "y")))
    assert tuples(asked("(Car where price < 6, Tax, Loan)", dear, lent, cheap)) == [
        ("t1", "t2", "t3")
    ]


def test_bridges_hold_two_objects_of_one_class() -> None:
    facts = [
        Fact("t1", (obj("Car", "A"), obj("Person", "p"))),
        Fact("t2", (obj("Person", "p"), obj("Person", "q"))),
        Fact("t3", (obj("Person", "q"), obj("Loan", "y"))),
    ]
    assert tuples(asked("(Car, Loan)", *facts)) == [("t1", "t2", "t3")]


def test_plain_fields_of_a_set_keep_their_order_in_a_tuple() -> None:
    one = Fact("t1", (obj("Car", "A"), 1, "x"))
    two = Fact("t2", (obj("Car", "A"), obj("Loan", "y")))
    assert tuples(asked("(Loan, int, str)", one, two)) == [("t1", "t2")]
    assert tuples(asked("(Loan, str, int)", one, two)) == []


def test_a_tuple_without_objects_is_in_no_set() -> None:
    assert tuples(asked("(Car, int)", Fact("t1", (obj("Car", "A"),)), Fact("t2", (1,)))) == []


def test_first_is_the_least_by_ids() -> None:
    facts = [
        Fact("t5", (obj("Car", "A"), obj("Tax", "x"))),
        Fact("t9", (obj("Car", "A"), obj("Loan", "y"))),
        Fact("t7", (obj("Car", "B"), obj("Tax", "x"))),
        Fact("t4", (obj("Car", "B"), obj("Loan", "y"))),
    ]
    first = asked("(Car, Tax, Loan)", *facts).first()
    assert first is not None
    assert first.tuples == ("t4", "t7")


def test_first_among_many_is_the_least_too() -> None:
    taxes = [Fact(f"x{n:03}", (obj("Car", f"c{n}"), obj("Tax", f"x{n}"))) for n in range(200)]
    loans = [Fact(f"l{n:03}", (obj("Car", f"c{n + 50}"), obj("Loan", "y"))) for n in range(200)]
    first = asked("(Car, Tax, Loan)", *taxes, *loans).first()
    assert first is not None
    assert first.tuples == ("l000", "x050")


def test_first_of_nothing_is_nothing() -> None:
    assert asked("(Car)", Fact("t1", (1,))).first() is None
    assert asked("(Car, Tax, Loan)", TAXED, LENT, correlate="never").first() is None


def test_with_row_gives_the_sets_that_hold_it() -> None:
    found = asked("(Car, Tax, Loan)", TAXED)
    row = found.facts.add("t2", LENT.fields)
    sets = {size: [one for one in found.with_row(row, size) if one] for size in range(4)}
    assert {size: [(kind, [r.id for r in rows]) for kind, rows in sets[size]] for size in sets} == {
        0: [],
        1: [],
        2: [("correlation", ["t1", "t2"])],
        3: [],
    }
    other = found.facts.add("t3", (obj("Person", "p"),))
    assert [list(found.with_row(other, size)) for size in range(4)] == [[], [], [], []]


def test_a_live_question_of_objects() -> None:
    facts = Facts.of([TAXED], PLAIN)
    for template in (
        [a("Car"), obj("Tax", "x")],
        [obj("Car", price=5)],
        [obj("Car", "A", price=5)],
        [obj("Car", "A")],
    ):
        question = question_of(Template.of(template))
        assert len(Matcher(question, facts).all().items) == 1
    for other in (obj("Car", price=6), obj("Car", "A", price=7), obj("Car", "B", price=5)):
        assert not Matcher(question_of(Template.of([other])), facts).all().items


# Limits.


def test_answers_are_cut_at_the_limit_and_that_is_said() -> None:
    loans = [Fact(f"t{n}", (obj("Car", "A", price=5), obj("Loan", f"y{n}"))) for n in range(2, 9)]
    answers = asked("(Tax, Loan)", TAXED, *loans, limit=3).all()
    assert len(answers.items) == 3
    assert "more than 3 answers" in answers.cut
    assert not asked("(Tax, Loan)", TAXED, *loans, limit=7).all().cut


def test_a_plan_says_up_to_which_size_it_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "NETWORKS_MAX", 1)
    people = [Fact(f"p{n}", (obj("Person", n), obj("Person", n + 1))) for n in range(6)]
    ends = [
        Fact("t1", (obj("Car", "A"), obj("Person", 0))),
        Fact("t2", (obj("Loan", "y"), obj("Person", 1))),
    ]
    found = asked("(Car, Loan)", *people, *ends)
    assert found.plan.complete < 6
    assert "more than" in found.all().cut
    assert found.plan.explain().endswith(found.plan.cut)


def test_growing_trees_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "STATES_MAX", 0)
    assert asked("(Car, Tax, Loan)", TAXED, LENT).plan.complete == 1


def test_steps_of_planning_are_counted_where_nobody_can_wait() -> None:
    facts = Facts.of([TAXED, LENT])
    question = parse_template("(Car, Tax, Loan)")
    whole = Planner(question, PLAIN, facts.known())
    assert len(whole.sets(2)) == 1
    cut = Planner(question, PLAIN, facts.known(), steps_max=3)
    assert cut.sets(2) == ()
    assert cut.complete == 1


def placed(shape: Shape, needs: list[Need], hubs: list[str]) -> list[Placement]:
    """`placements`, as it is said in words."""
    found = []
    for where in permutations(range(len(shape)), len(hubs)):
        if any(shape[at] != name for at, name in zip(where, hubs, strict=True)):
            continue
        for chosen in product(range(len(shape)), repeat=len(needs)):
            plain = [at for need, at in zip(needs, chosen, strict=True) if not need.classes]
            fits = [
                shape[at] in (need.classes or plain_kinds(need.asks))
                and not (at in where and shape[at] in need.apart)
                for need, at in zip(needs, chosen, strict=True)
            ]
            if all(fits) and len(set(chosen)) == len(chosen) and plain == sorted(plain):
                found.append(Placement(chosen, where))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_needs_are_placed_in_every_way(seed: int) -> None:
    rng = Random(seed)
    names = ("Car", "Tax", Plain("int"))
    shape = tuple(rng.choices(names, k=rng.randint(1, 5)))
    needs = []
    for number in range(rng.randint(0, 3)):
        name = rng.choice(names)
        if isinstance(name, str):
            apart = (name,) if rng.random() < 0.3 else ()
            needs.append(Need(number, number, ClassField(name), (name,), 0, apart=apart))
        else:
            needs.append(Need(number, number, TypeField("int"), (), 0))
    hubs = rng.choices(("Car", "Tax"), k=rng.randint(0, 2))
    assert list(placements(shape, needs, hubs)) == placed(shape, needs, hubs)


def test_rows_that_are_looked_at_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "ROWS_MAX", 0)
    assert "looked at" in asked("(Car, Tax, Loan)", TAXED, LENT).all().cut


# Functions.


def computing(function: str, functions: Functions) -> Ontology:
    return read_ontology(
        f"""
classes:
  In: {{properties: {{x: any}}}}
  Out: {{properties: {{v: any}}, depends: {{v: "{function}(In.x, 1)"}}}}
""",
        "f.yaml",
        functions=functions,
    )


def test_a_function_that_raises_is_reported_and_breaks_nothing() -> None:
    functions = Functions()

    @functions.register("fails")
    def fails(one: int, other: int) -> int:
        raise ValueError(f"no {one + other}")

    ontology = computing("fails", functions)
    answers = asked("(Out)", Fact("t1", (obj("In", "a", x=1),)), ontology=ontology).all()
    assert answers.items == []
    assert answers.problems == ("dependence function fails raised ValueError: no 2",)


@pytest.mark.parametrize("given", [{}, {"x": "text"}, {"x": None}])
def test_missing_and_mistyped_inputs_are_no_value(given: dict[str, Any]) -> None:
    ontology = computing("plus", Functions())
    assert tuples(asked("(Out)", Fact("t1", (obj("In", "a", **given),)), ontology=ontology)) == []


def test_the_package_names_what_others_use() -> None:
    assert memory.__all__ == ["Following", "Matcher"]
