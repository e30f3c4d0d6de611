"""Ontologies as tables: what accepts what, what is inherited, what the hash sees."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nomospace as ns
from nomospace.meaning import ontology as tables
from nomospace.meaning.ontology import PLAIN, Input, Ontology, OntologyClass
from nomospace.meaning.reading import read_ontology
from nomospace.terms import obj
from nomospace.terms.predicate import Literal

FILES = Path(__file__).parent / "ontologies"
CARS = ns.Ontology.load(FILES / "cars.yaml")


def test_a_class_accepts_itself_its_synonyms_and_its_descendants() -> None:
    names = ("Vehicle", "Car", "Automobile", "SportsCar", "USSportsCar", "Price")
    accepted = {
        "Vehicle": {"Vehicle", "Car", "Automobile", "SportsCar", "USSportsCar"},
        "Insured": {"Car", "Automobile", "SportsCar", "USSportsCar"},
        "Car": {"Car", "Automobile", "SportsCar", "USSportsCar"},
        "Automobile": {"Car", "Automobile", "SportsCar", "USSportsCar"},
        "SportsCar": {"SportsCar", "USSportsCar"},
        "Price": {"Price"},
    }
    for template, wanted in accepted.items():
        assert {name for name in names if CARS.accepts(template, name)} == wanted
        assert CARS.accepted(template) - {"Insured"} == wanted


def test_a_name_that_nobody_knows_accepts_itself_alone() -> None:
    for ontology in (CARS, PLAIN):
        assert ontology.accepts("Boat", "Boat")
        assert not ontology.accepts("Boat", "Car")
        assert not ontology.accepts("Car", "Boat")
        assert ontology.accepted("Boat") == {"Boat"}
        assert ontology.canonical("Boat") is None
        assert ontology.same_class("Boat", "Boat")
        assert not ontology.same_class("Boat", "Car")
        assert ontology.ancestors("Boat") == ontology.descendants("Boat") == ()
        assert not ontology.properties("Boat")
        assert not ontology.depends("Boat")


def test_names_that_mean_one_class() -> None:
    assert CARS.canonical("Automobile") == CARS.canonical("Car") == "Car"
    assert CARS.same_class("Automobile", "Car")
    assert not CARS.same_class("SportsCar", "Car")


def test_ancestors_and_descendants_come_nearest_first() -> None:
    assert CARS.ancestors("USSportsCar") == ("SportsCar", "Car", "Insured", "Vehicle")
    assert CARS.descendants("Insured") == ("Car", "SportsCar", "USSportsCar")
    assert CARS.descendants("Automobile") == ("SportsCar", "USSportsCar")
    assert CARS.children("Automobile") == ("SportsCar",)


def test_properties_are_inherited() -> None:
    assert dict(CARS.properties("USSportsCar")) == {
        "maker": "string",
        "price": "Price",
        "wheels": "integer",
    }
    assert dict(CARS.classes["SportsCar"].properties) == {}


def test_of_several_types_the_narrowest_counts() -> None:
    found = read_ontology("""
    classes:
      A: {properties: {size: number, made: any, by: Agent, of: Agent}}
      B: {properties: {size: integer, made: string, by: Person, of: Person}}
      C: {parents: [A, B]}
      D: {parents: [B, A], properties: {of: any}}
      Agent: {}
      Person: {parents: Agent}
    """)
    wanted = {"by": "Person", "made": "string", "of": "Person", "size": "integer"}
    assert dict(found.properties("C")) == dict(found.properties("D")) == wanted


def test_functions_are_inherited_own_first_then_the_nearest() -> None:
    found = read_ontology("""
    classes:
      In: {properties: {x: number}}
      A: {properties: {p: number, q: number}, depends: {p: "plus(In.x, 1)", q: "plus(In.x, 2)"}}
      B: {parents: A, depends: {p: ["plus(In.x, 3)", "plus(In.x, 4)"]}}
      C: {parents: B, depends: {p: "plus(In.x, 5)"}}
    """)
    texts = {name: [d.text for d in listed] for name, listed in found.depends("C").items()}
    assert texts == {
        "p": ["plus(In.x, 5)", "plus(In.x, 3)", "plus(In.x, 4)", "plus(In.x, 1)"],
        "q": ["plus(In.x, 2)"],
    }
    assert [d.owner for d in found.depends("C")["p"]] == ["C", "B", "B", "A"]


def test_a_function_as_it_is_read() -> None:
    (found,) = CARS.depends("ShippingDuration")["duration"]
    stamp = ("timeStamp",)
    shipping = ("shippingID",)
    assert found.function == "minus"
    assert found.arguments == (Input("Arrival", stamp), Input("Departure", stamp))
    assert found.text == "minus(Arrival.timeStamp, Departure.timeStamp)"
    assert [(tie.left, tie.sign, tie.right) for tie in found.when] == [
        (Input("ShippingDuration", shipping), "=", Input("Arrival", shipping)),
        (Input("Arrival", shipping), "=", Input("Departure", shipping)),
    ]
    assert found.inputs == ("Arrival", "Departure")


def test_functions_name_classes_by_synonyms_and_hold_values() -> None:
    found = read_ontology("""
    classes:
      Sum:
        properties: {v: any, of: string}
        depends:
          v:
            function: concat(Teil-Stück.name, "it's", ', ')
            when:
              Sum.of = Part.name and Part.kind = 'a b'
              and Kind.n > -1.5e3 and Kind.ok != null
      Part: {synonyms: [Teil-Stück], properties: {name: string, kind: string}}
      Kind: {properties: {n: number, ok: boolean}}
    """)
    (read,) = found.depends("Sum")["v"]
    assert read.arguments == (Input("Part", ("name",)), Literal("it's"), Literal(", "))
    assert read.inputs == ("Part", "Kind")  # a class of the ties alone is needed too
    assert [str(tie) for tie in read.when] == [
        "Sum.of = Part.name",
        "Part.kind = 'a b'",
        "Kind.n > -1500.0",
        "Kind.ok != null",
    ]


def test_why_in_words() -> None:
    assert CARS.why("Car", "Car") == ""
    assert CARS.why("Car", "SportsCar") == "SportsCar is a Car"
    assert CARS.why("Car", "Automobile") == "Automobile means Car"
    assert CARS.why("Automobile", "Car") == "Car means Automobile"
    assert CARS.why("Vehicle", "Automobile") == "Automobile is a Vehicle"


# The hash.

SMALL = """
classes:
  B: {parents: [A, Z], synonyms: [Y, X],
      properties: {q: number, p: A}, depends: {q: "plus(C.n, 1)"}}
  A: {}
  Z: {}
  C: {properties: {n: number}}
"""
TURNED = """
name: other
classes:
  C: {properties: {n: int}}
  Z:
  A: {synonyms: []}
  B:
    depends: {q: {function: "plus( C.n ,1 )"}}
    synonyms: [X, Y]
    parents: [Z, A]
    properties: {p: A, q: number}
"""


def test_order_layout_and_name_do_not_change_the_hash() -> None:
    one, other = read_ontology(SMALL), read_ontology(TURNED.replace("int}", "number}"))
    assert one.hash == other.hash
    assert one == other
    assert one.name != other.name
    assert re.fullmatch("[0-9a-f]{64}", one.hash)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("synonyms: [Y, X]", "synonyms: [Y]"),
        ("parents: [A, Z]", "parents: [A]"),
        ("p: A", "p: Z"),
        ("plus(C.n, 1)", "plus(C.n, 1.0)"),
        ("plus(C.n, 1)", "plus(1, C.n)"),
        ("Z: {}", "Z: {}\n  New: {}"),
        ('q: "plus(C.n, 1)"', "q: {function: 'plus(C.n, 1)', when: C.n > 1}"),
    ],
)
def test_every_part_of_the_content_changes_the_hash(old: str, new: str) -> None:
    assert old in SMALL
    assert read_ontology(SMALL).hash != read_ontology(SMALL.replace(old, new)).hash


def test_the_hash_is_the_same_in_every_process() -> None:
    # Held here so that a change of its making is seen: hosts compare ontologies by it.
    assert read_ontology("classes: {Car: {synonyms: [Auto]}}").hash == (
        "1e18c01db5c4c630f68f787b115634ab3a2c283f98294e306097dc867a8249fb"
    )


# Sizes.


def test_closed_sets_are_kept_within_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CLOSED_NAMES_MAX", 60)
    chain = Ontology(
        "chain",
        [OntologyClass(f"C{i}", (f"S{i}",), (f"C{i - 1}",) if i else ()) for i in range(30)],
    )
    for _ in range(2):
        for i in range(30):
            assert len(chain.accepted(f"C{i}")) == 2 * (30 - i)
            assert chain.accepts(f"S{i}", "S29")
            kept = chain._accepted
            assert kept.names == sum(len(found) + 1 for found in kept.values())
            assert kept.names <= 60 or len(kept) == 1
    for i in range(100):
        chain.accepts(f"unknown {i}", "C1")
    assert len(chain._accepted) <= 60  # names that anyone may make up are not kept


def test_a_long_chain_of_classes_is_no_trouble() -> None:
    lines = [f"  C{i}: {{parents: [C{i - 1}]}}" for i in range(1, 3_000)]
    chain = read_ontology("\n".join(["classes:", "  C0: {properties: {x: number}}", *lines]))
    assert not chain._accepted  # the sets of all classes would be 4.5 million names
    assert chain.accepts("C0", "C2999")
    assert not chain.accepts("C2999", "C0")
    assert chain.properties("C2999") == {"x": "number"}
    assert set(chain._accepted) == {"C0", "C2999"}


def test_errors_cross_processes() -> None:
    with pytest.raises(ns.CallerError) as caught:
        read_ontology("classes: {A: {parents: B}}", "x.yaml")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# Renamed properties.


def test_an_object_is_seen_with_its_properties_renamed() -> None:
    made = Ontology(
        "m",
        [OntologyClass("Car", ("Auto",)), OntologyClass("Van", parents=("Car",))],
        renames={"Auto": {"preis": "price", "teil": "part"}},
    )
    inner = obj("Auto", None, preis=1)
    assert made.translated(obj("Van", 1, preis=2, other=3)) == obj("Van", 1, price=2, other=3)
    assert made.translated(obj("Car", 1, teil=inner)) == obj("Car", 1, part=obj("Auto", price=1))
    assert made.translated(obj("Car", 1, preis=1, price=2)) == obj("Car", 1, price=2)
    assert made.translated(obj("Bus", 1, preis=1)) == obj("Bus", 1, preis=1)
    for plain in (5, "preis", ns.t.preis(1), ns.t.object("Car", 1, 2), ns.t.object(1, 2, ())):
        assert made.translated(plain) == plain
    assert PLAIN.translated(inner) is inner


LOADED = """
import sys
import nomospace.meaning
heavy = ("yaml", "rdflib", "sqlglot", "nomospace.meaning.reading")
print([name for name in heavy if name in sys.modules])
from nomospace.meaning.reading import read_ontology
read_ontology("")
print([name for name in heavy if name in sys.modules])
"""


def test_readers_are_loaded_on_use() -> None:
    told = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout.splitlines() == ["[]", "['yaml', 'nomospace.meaning.reading']"]


def wide(width: int) -> Ontology:
    """Two classes above very many."""
    below = [OntologyClass(f"Leaf{n}", (f"Twig{n}",), ("Branch",)) for n in range(width)]
    return Ontology(
        "wide", [OntologyClass("Root"), OntologyClass("Branch", parents=("Root",)), *below]
    )


def test_a_class_with_very_many_below_it_accepts_them_without_a_list_of_them() -> None:
    ontology = wide(tables.LISTED_MAX)
    names = ("Root", "Branch", "Leaf7", "Twig7", "Boat", f"Leaf{tables.LISTED_MAX}")
    for one in ("Root", "Branch", "Leaf7", "Twig7", "Boat"):
        found = ontology.accepting(one)
        assert isinstance(found, frozenset) is (one not in ("Root", "Branch"))
        for name in names:
            assert (name in found) is (name in ontology.accepted(one)), (one, name)


def test_a_class_with_few_below_it_lists_them() -> None:
    ontology = wide(5)
    assert ontology.accepting("Root") is ontology.accepted("Root")


def test_levels_of_an_ontology() -> None:
    assert wide(3).levels() == 3
    assert CARS.levels() >= 3
    grid = [
        OntologyClass(
            f"C{row}_{n}", parents=tuple([f"C{row - 1}_{m}" for m in range(6)] * (row > 0))
        )
        for row in range(40)
        for n in range(6)
    ]
    assert Ontology("grid", grid).levels() == 40  # 6 to the 40th ways lead up
