"""Two ontologies joined by a mapping file."""

from __future__ import annotations

import re

import pytest

from nomospace.meaning.functions import BadFunction, Functions
from nomospace.meaning.mapping import read_mapping
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.reading import FaultyOntology, read_ontology
from nomospace.terms import obj

OURS = read_ontology(
    """
    classes:
      Vehicle: {properties: {wheels: integer}}
      Car: {parents: Vehicle, properties: {price: number, maker: string}}
      Price: {properties: {amount: number}}
    """,
    "ours.yaml",
)
THEIRS = read_ontology(
    """
    classes:
      Auto: {synonyms: [Pkw], properties: {preis: number, hersteller: string}}
      Kombi: {parents: Auto}
      Lieferwagen: {}
      Angebot: {properties: {preis: number, auto: string}, depends: {preis: {
        function: "times(Auto.preis, 0.9)", when: "Angebot.auto = Kombi.hersteller"}}}
    """,
    "theirs.yaml",
)


def join(text: str, one: Ontology = OURS, other: Ontology = THEIRS) -> Ontology:
    return one.joined(other, read_mapping(re.sub("[«»]", "", text), "meet.yaml"))


def test_classes_become_one_or_go_under_others() -> None:
    both = join("same: {Auto: Car}\nunder: {Lieferwagen: [Vehicle, Price]}")
    assert both.name == "ours+theirs"
    assert both.canonical("Pkw") == both.canonical("Auto") == "Car"
    assert both.accepted("Car") == {"Car", "Auto", "Pkw", "Kombi"}
    assert both.accepted("Vehicle") == {"Vehicle", "Lieferwagen", *both.accepted("Car")}
    assert both.ancestors("Lieferwagen") == ("Price", "Vehicle")
    assert both.why("Car", "Auto") == "Auto means Car"
    assert set(both.properties("Kombi")) == {"hersteller", "maker", "preis", "price", "wheels"}
    assert len(OURS) == 3  # they stay as they were
    assert len(THEIRS) == 4


def test_properties_are_called_as_the_mapping_says() -> None:
    both = join("same: {Auto: Car}\nproperties: {Auto.preis: Car.price, Pkw.hersteller: Car.maker}")
    assert dict(both.properties("Kombi")) == {
        "maker": "string",
        "price": "number",
        "wheels": "integer",
    }
    (found,) = both.depends("Angebot")["preis"]  # the offer's own price keeps its name
    assert found.text == "times(Car.price, 0.9)"
    assert [str(tie) for tie in found.when] == ["Angebot.auto = Kombi.maker"]
    assert both.translated(obj("Kombi", 1, preis=5)) == obj("Kombi", 1, price=5)
    assert both.translated(obj("Angebot", 1, preis=5)) == obj("Angebot", 1, preis=5)


def test_a_class_that_goes_under_another_may_rename_too() -> None:
    both = join("under: {Auto: Vehicle}\nproperties: {Auto.preis: Vehicle.wheels}")
    assert dict(both.properties("Auto")) == {"hersteller": "string", "wheels": "integer"}
    assert both.translated(obj("Vehicle", 1, preis=5)) == obj("Vehicle", 1, preis=5)


def test_classes_that_share_a_name_are_joined_without_being_told() -> None:
    other = read_ontology(
        "classes: {Automobile: {synonyms: Car, properties: {seats: integer}}, Vehicle: {}}"
    )
    both = join("", OURS, other)
    assert both.canonical("Automobile") == "Car"
    assert both.properties("Automobile").keys() == {"maker", "price", "seats", "wheels"}
    assert list(both.classes) == ["Car", "Price", "Vehicle"]


def test_a_joined_ontology_can_be_joined_again() -> None:
    both = join("same: {Auto: Car}\nproperties: {Auto.preis: Car.price}")
    third = read_ontology("classes: {Voiture: {properties: {prix: number}}}")
    three = join("same: {Voiture: Auto}\nproperties: {Voiture.prix: Car.price}", both, third)
    assert three.accepted("Voiture") == {"Auto", "Car", "Kombi", "Pkw", "Voiture"}
    assert three.canonical("Car") == "Car"
    for word in ("preis", "prix"):
        assert three.translated(obj("Voiture", 1, **{word: 5})) == obj("Voiture", 1, price=5)


def test_the_hash_sees_the_renames() -> None:
    plain = join("same: {Auto: Car}", other=read_ontology("classes: {Auto: {}}"))
    renamed = Ontology(plain.name, plain.classes.values(), renames={"Car": {"preis": "price"}})
    assert plain.hash != renamed.hash


@pytest.mark.parametrize(
    ("code", "words", "marked"),
    [
        ("unknown-class", "Autoo is no class", "same: {«Autoo»: Car}"),
        ("unknown-class", "Carr is no class", "same: {Auto: «Carr»}"),
        ("unknown-class", "Van is no class of ours or theirs", "under: {«Van»: Car}"),
        ("unknown-class", "parent Van is no class", "under: {Auto: «Van»}"),
        ("unknown-class", "Van is no class", "properties: {«Van.x»: Car.price}"),
        ("unknown-property", "Auto has no property x", "properties: {«Auto.x»: Car.price}"),
        ("unknown-property", "Car has no property x", "properties: {Auto.preis: «Car.x»}"),
        ("form", "preis names no property", "properties: {«preis»: Car.price}"),
        ("form", "Auto must be given one name", "same: {«Auto»: [Car, Vehicle]}"),
        ("form", "sme has no meaning here", "«sme»: {}"),
        ("form", "here should stand a mapping", "same: «Auto»"),
        ("duplicate", "Auto stands here a second time", "same: {Auto: Car, «Auto»: Vehicle}"),
        (
            "mapping",
            "Auto is neither Car nor under it, so Auto.preis cannot be Car.price",
            "properties: {«Auto.preis»: Car.price}",
        ),
        (
            "mapping",
            "Car and Vehicle cannot be one class: Car is under Vehicle in ours",
            "same: {«Car»: Vehicle}",
        ),
        (
            "mapping",
            "Auto and Kombi cannot be one class: Kombi is under Auto in theirs",
            "same: {«Auto»: Kombi}",
        ),
        ("cycle", "is under itself", "under: {Vehicle: «Kombi», Auto: Vehicle}"),
        ("cycle", "Car is under itself: Car -> Car", "same: {Auto: Car}\nunder: {Auto: «Car»}"),
        ("syntax", "this is no YAML", "same: {Auto: Car\n"),
    ],
)
def test_what_does_not_fit_and_where(code: str, words: str, marked: str) -> None:
    with pytest.raises(FaultyOntology) as caught:
        join(marked)
    fault = caught.value.faults[0]
    assert (fault.code, words in fault.message) == (f"ontology.{code}", True), fault.message
    assert fault.render().startswith("meet.yaml:")
    assert fault.help
    if "«" in marked:
        assert (fault.place.start, fault.place.end) == (marked.index("«"), marked.index("»") - 1)


def test_types_that_cannot_be_one() -> None:
    other = read_ontology("classes: {Auto: {properties: {price: string}}}", "other.yaml")
    with pytest.raises(FaultyOntology) as caught:
        join("same: {Auto: Car}", OURS, other)
    (fault,) = caught.value.faults
    assert fault.message == "Car.price is string here and number at ours.yaml:4:7"
    assert fault.place.where == "other.yaml:1:11"


def test_functions_of_both_are_known() -> None:
    mine, yours = Functions(), Functions()
    mine.register("half")(lambda x: x / 2)
    yours.register("third")(lambda x: x / 3)
    text = (
        "classes: {%s: {properties: {x: any}, depends: {x: %s(In.n)}}, In: {properties: {n: any}}}"
    )
    one = read_ontology(text % ("A", "half"), functions=mine)
    other = read_ontology(text % ("B", "third"), functions=yours)
    both = join("", one, other)
    assert both.functions.apply("half", [3]) == 1.5
    assert both.functions.apply("third", [3]) == 1.0
    yours.register("half")(lambda x: x / 4)
    with pytest.raises(BadFunction, match="'half': two functions have this name; rename one"):
        join("", one, other)
