"""Tuples as questions find them."""

from __future__ import annotations

import pytest

from nomospace.meaning.facts import (
    COLUMNS_MAX,
    Fact,
    Facts,
    Plain,
    id_key,
    join_key,
    object_key,
)
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms import MISSING, Compound, obj, t

CARS = Ontology("cars", [OntologyClass("Car", ("Automobile",)), OntologyClass("Owner")])


def test_shapes_go_by_canonical_names() -> None:
    facts = Facts.of([Fact("t1", (obj("Automobile", "A"), 1, "x", None, t.f(1), (1,)))], CARS)
    kinds = [Plain(kind) for kind in ("int", "str", "null", "term", "list")]
    assert facts.known().shapes == ((("Car", *kinds), 1),)


def test_ids_are_told_apart_as_terms_are() -> None:
    keys = [object_key(obj("Car", one)) for one in ("1", 1, 1.0, True, None, (1,), (1.0,))]
    assert len(set(keys)) == len(keys)
    assert object_key(obj("Car", x=1)) == object_key(obj("Car", x=1))
    assert object_key(obj("Car", x=1)) != object_key(obj("Car", x=1.0))
    assert id_key(True) == object_key(obj("Car", True))


def test_values_join_as_equality_says() -> None:
    assert join_key(1) == join_key(1.0)
    assert join_key(True) != join_key(1)
    assert join_key("1") != join_key(1)
    assert join_key((1,)) != join_key((1.0,)), "inside lists numbers are terms"


def test_rows_are_found_by_object_in_any_number() -> None:
    facts = Facts(CARS)
    for number in range(40):
        facts.add(f"t{number}", (obj("Car", "A"), number))
    assert [row.id for row in facts.holding("Car", "A")] == [f"t{n}" for n in range(40)]
    for number in range(39):
        facts.remove(f"t{number}")
    assert [row.id for row in facts.holding("Car", "A")] == ["t39"]
    facts.remove("t39")
    assert list(facts.holding("Car", "A")) == []
    assert len(facts) == 0


def test_a_tuple_may_hold_an_object_twice() -> None:
    facts = Facts.of([Fact("t1", (obj("Car", "A"), obj("Car", "A")))], CARS)
    assert len(list(facts.holding("Car", "A"))) == 1
    assert facts.known().shared == {}, "one tuple is not shared"
    facts.remove("t1")
    assert list(facts.holding("Car", "A")) == []


def test_sharing_and_varying_are_known() -> None:
    facts = Facts.of([Fact("t1", (obj("Car", "A", x=1),)), Fact("t2", (obj("Owner", "A"),))], CARS)
    assert facts.known().shared == {}
    before = facts.version
    facts.add("t3", (obj("Car", "A", x=1), 7))
    assert facts.known().shared == {"Car": 2}
    assert facts.known().varying == frozenset()
    assert facts.version > before, "plans made before may miss answers"
    facts.add("t4", (obj("Automobile", "A", x=1),))
    assert facts.known().varying == {"Car"}, "its name differs"


def test_columns_follow_what_comes_and_goes() -> None:
    facts = Facts.of([Fact("t1", (obj("Car", "A", x=1),))], CARS)
    column = facts.column("Car", ("x",))
    facts.add("t2", (obj("Car", "B", x=1.0),))
    facts.add("t3", (obj("Car", "C"),))
    assert [row.id for row in column[join_key(1)].values()] == ["t1", "t2"]
    facts.remove("t1")
    facts.remove("t3")
    assert [row.id for row in column[join_key(1)].values()] == ["t2"]


def test_values_follow_what_comes_and_goes() -> None:
    facts = Facts.of([Fact("t1", (obj("Car", "A", x=1),))], CARS)
    values = facts.values("Car", ("x",))
    assert values == {"A": 1}
    facts.add("t2", (obj("Car", "B"),))
    assert values == {"A": 1, "B": MISSING}
    facts.remove("t1")
    assert values == {"B": MISSING}
    facts.add("t3", (obj("Car", "B", x=2),))
    assert facts.values("Car", ("x",)) is None, "one object with two values has none"


@pytest.mark.parametrize("sort", ["column", "values"])
def test_indexes_have_a_limit(sort: str) -> None:
    facts = Facts.of([Fact("t1", (obj("Car", "A", x=1),))], CARS)
    first = getattr(facts, sort)("Car", ("p0",))
    before = facts.version
    for number in range(1, COLUMNS_MAX + 1):
        getattr(facts, sort)("Car", (f"p{number}",))
    assert facts.version > before, "whoever holds one that went must ask again"
    assert getattr(facts, sort)("Car", ("p0",)) is not first


def test_properties_go_by_the_names_of_the_ontology() -> None:
    joined = Ontology("j", [OntologyClass("Auto")], renames={"Auto": {"preis": "price"}})
    row = Facts(joined).add("t1", (obj("Auto", "a", preis=5),))
    assert row.fields == (obj("Auto", "a", preis=5),)
    assert row.seen == (obj("Auto", "a", price=5),)


def test_the_order_of_ids_is_noticed() -> None:
    facts = Facts(CARS)
    facts.add("t1", (1,))
    facts.add("t2", (1,))
    assert facts.ids_in_order
    facts.add("t10", (1,))
    assert not facts.ids_in_order


def test_keys_of_objects_do_not_hash_as_anybody_wants() -> None:
    """Python gives all these integers one hash: of terms as keys a `dict` would make a list."""
    prime = (1 << 61) - 1
    huge = [prime * n for n in range(2, 30)]
    for keys in (
        [id_key(one) for one in huge],
        [id_key(Compound("id", (one,))) for one in huge],
        [object_key(obj("Car", None, price=one)) for one in huge],
        [join_key((one,)) for one in huge],
        [join_key(one) for one in huge if float(one) != one],
    ):
        assert len(set(map(hash, keys))) == len(keys)
    assert len({hash(one) for one in huge}) == 1


def test_keys_are_equal_where_terms_are() -> None:
    terms = [1, 1.0, True, None, "1", b"1", (1,), (1.0,), Compound("f", (1,)), 1 << 70, -(1 << 70)]
    assert len({id_key(one) for one in terms}) == len(terms)
    assert id_key(1 << 70) == id_key(1 << 70)
    assert object_key(obj("Car", None, a=1)) == object_key(obj("Van", None, a=1))
    assert object_key(obj("Car", None, a=1)) != object_key(obj("Car", None, a=True))
