"""`004_…` section 2.1 and Definitions 1 to 3: classes, objects, dependence, compatibility."""

from __future__ import annotations

import pytest

from nomospace.meaning.ontology import Dependence, Input, Ontology
from nomospace.meaning.reading import FaultyOntology, read_ontology
from nomospace.terms import MISSING, Object, obj, property_of

CARS = read_ontology(
    """
    classes:
      Car: {synonyms: [Automobile, Motorcar], properties: {price: Price, doors: integer}}
      sportsCar: {parents: [Car], properties: {topSpeed: number}}
      USSportsCar: {parents: [sportsCar]}
      Price: {properties: {amount: number, currency: string}}
      Departure: {properties: {shippingID: string, timeStamp: number}}
      Arrival: {properties: {shippingID: string, timeStamp: number}}
      ShippingDuration:
        properties: {shippingID: string, duration: number}
        depends:
          duration:
            function: minus(Arrival.timeStamp, Departure.timeStamp)
            when: ShippingDuration.shippingID = Arrival.shippingID = Departure.shippingID
    """,
    "cars.yaml",
)


# Definition 1: a class is <N, S, P, R, F>.


def test_definition_1_a_class_has_name_synonyms_properties_parents_and_functions() -> None:
    car, sports = CARS.classes["Car"], CARS.classes["sportsCar"]
    assert car.name == "Car"
    assert car.synonyms == ("Automobile", "Motorcar")
    assert car.properties == {"price": "Price", "doors": "integer"}  # a class, a basic type
    assert sports.parents == ("Car",)
    assert car.depends == {}
    assert list(CARS.classes["ShippingDuration"].depends) == ["duration"]


def test_definition_1_a_function_gives_a_property_of_its_class_from_those_of_others() -> None:
    (function,) = CARS.depends("ShippingDuration")["duration"]
    assert (function.owner, function.property) == ("ShippingDuration", "duration")
    assert all(one != "ShippingDuration" for one in function.inputs)
    with pytest.raises(FaultyOntology, match="a function's inputs come from other classes"):
        read_ontology("classes: {A: {properties: {x: any, y: any}, depends: {x: 'round(A.y)'}}}")


def test_definition_1_its_predicate_correlates_the_inputs() -> None:
    (function,) = CARS.depends("ShippingDuration")["duration"]
    assert [str(tie) for tie in function.when] == [
        "ShippingDuration.shippingID = Arrival.shippingID",
        "Arrival.shippingID = Departure.shippingID",
    ]


def test_2_1_sports_cars_inherit_all_attributes_of_cars() -> None:
    assert CARS.properties("Car").items() < CARS.properties("sportsCar").items()
    assert set(CARS.properties("sportsCar")) == {"doors", "price", "topSpeed"}


def test_2_1_the_shipping_example() -> None:
    (function,) = CARS.depends("ShippingDuration")["duration"]
    assert function.text == "minus(Arrival.timeStamp, Departure.timeStamp)"
    assert CARS.functions.apply(function.function, [1700, 1200]) == 500


# Figure 1: the dependence tree of a class, and its complete dependence sets.

TREE = read_ontology("""
classes:
  C:
    properties: {p1: number, pn: number}
    depends:
      p1: plus(C11.v, C12.v, C1m.v)
      pn: ["minus(Cn1.v, Cn2.v)", "max(Cn3.v, 0)"]
  C11: {properties: {v: number}, depends: {v: "times(C111.v, C112.v)"}}
  C12: {properties: {v: number}}
  C1m: {properties: {v: number}}
  Cn1: {properties: {v: number}}
  Cn2: {properties: {v: number}}
  Cn3: {properties: {v: number}}
  C111: {properties: {v: number}}
  C112: {properties: {v: number}}
""")


def dependence_tree(ontology: Ontology, name: str) -> object:
    """Class nodes, operator nodes, and the depended classes with trees of their own."""

    def operator(one: Dependence) -> tuple[str, list[object]]:
        return one.function, [dependence_tree(ontology, need) for need in one.inputs]

    below = {key: [operator(one) for one in ways] for key, ways in ontology.depends(name).items()}
    return (name, below) if below else name


def test_figure_1_class_nodes_operator_nodes_and_depended_class_nodes() -> None:
    assert dependence_tree(TREE, "C") == (
        "C",
        {
            "p1": [("plus", [("C11", {"v": [("times", ["C111", "C112"])]}), "C12", "C1m"])],
            "pn": [("minus", ["Cn1", "Cn2"]), ("max", ["Cn3"])],
        },
    )


def test_figure_1_a_complete_dependence_set_is_what_one_function_of_a_property_needs() -> None:
    sets = {key: [one.inputs for one in ways] for key, ways in TREE.depends("C").items()}
    assert sets == {"p1": [("C11", "C12", "C1m")], "pn": [("Cn1", "Cn2"), ("Cn3",)]}


def test_figure_1_is_a_tree_whatever_the_file_says() -> None:
    with pytest.raises(FaultyOntology, match="A needs itself to be computed: A -> B -> C -> A"):
        read_ontology("""
        classes:
          A: {properties: {x: any}, depends: {x: round(B.x)}}
          B: {properties: {x: any}, depends: {x: round(C.x)}}
          C: {properties: {x: any}, depends: {x: round(A.x)}}
        """)


def test_figure_1_a_class_that_a_predicate_alone_names_is_needed_too() -> None:
    ontology = read_ontology("""
    classes:
      A: {properties: {x: any}, depends: {x: {function: round(B.x), when: B.k = D.k}}}
      B: {properties: {x: any, k: any}}
      D: {properties: {k: any}}
    """)
    (function,) = ontology.depends("A")["x"]
    assert function.arguments == (Input("B", ("x",)),)
    assert function.inputs == ("B", "D")


# Definition 2: an object is <ID, Nc, V>.


def test_definition_2_an_object_has_an_id_a_class_and_values_of_its_attributes() -> None:
    price = obj("Price", None, amount=4500, currency="EUR")
    car = obj("sportsCar", "sportsCarA", price=price, doors=2)
    read = Object.of(car)
    assert (read.id, read.class_name) == ("sportsCarA", "sportsCar")
    assert dict(read.properties) == {"price": price, "doors": 2}
    assert set(read.properties) <= set(CARS.properties(read.class_name))
    found = property_of(car, "price")
    assert found is not MISSING
    assert property_of(found, "amount") == 4500
    assert property_of(car, "topSpeed") is MISSING  # it need not have all of them


# Definition 3: C_i is compatible with C_j if it is the same, or a superclass of it.


def test_definition_3_i_the_same_class_by_name_or_synonym() -> None:
    names = ("Car", "Automobile", "Motorcar")
    assert all(CARS.accepts(one, other) for one in names for other in names)


def test_definition_3_ii_a_superclass_at_any_distance() -> None:
    assert CARS.accepts("Car", "sportsCar")
    assert CARS.accepts("Automobile", "USSportsCar")
    assert not CARS.accepts("sportsCar", "Car")  # it is no symmetric relation
    assert not CARS.accepts("USSportsCar", "Motorcar")
    assert not CARS.accepts("Car", "Price")


def test_definition_3_a_class_belongs_to_a_set_that_holds_one_it_is_compatible_with() -> None:
    def belongs(name: str, among: set[str]) -> bool:
        return any(CARS.accepts(name, one) for one in among)

    assert belongs("Car", {"Price", "USSportsCar"})
    assert not belongs("sportsCar", {"Price", "Car"})


def test_1_no_generalised_copies_are_made() -> None:
    """What a class accepts is a set of names: tuples are neither copied nor rewritten for it."""
    assert CARS.accepted("Car") == {"Automobile", "Car", "Motorcar", "USSportsCar", "sportsCar"}


def test_2_1_the_formulation_can_be_implemented_in_owl() -> None:
    owl = read_ontology(
        """
        @prefix : <http://cars.example/#> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        :Car a owl:Class ; rdfs:label "Automobile" .
        :sportsCar a owl:Class ; rdfs:subClassOf :Car .
        :Price a owl:Class .
        :price rdfs:domain :Car ; rdfs:range :Price .
        :amount rdfs:domain :Price ; rdfs:range xsd:decimal .
        """,
        "cars.ttl",
    )
    yaml = read_ontology("""
    classes:
      Car: {synonyms: [Automobile], properties: {price: Price}}
      sportsCar: {parents: [Car]}
      Price: {properties: {amount: number}}
    """)
    assert owl == yaml
