"""OWL and RDFS: what is read of them, in three formats, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rdflib

import nomospace as ns
from nomospace.client.ontologies import OntologyFile
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.reading import FaultyOntology, read_ontology

FILES = Path(__file__).parent / "ontologies"
PREFIXES = """@prefix : <http://e.example/x#> .
@prefix b: <http://b.example/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def turtle(text: str) -> Ontology:
    return read_ontology(PREFIXES + text, "x.ttl")


def names(ontology: Ontology, class_name: str) -> set[str]:
    return set(ontology.accepted(class_name))


# Two ontologies in the style of public ones.


def test_teas() -> None:
    teas = ns.Ontology.load(FILES / "teas.owl")
    assert (teas.name, len(teas), teas.warnings) == ("teas", 10, ())
    matcha = {"Matcha", "PowderedTea"}
    assert names(teas, "GreenTea") == {"GreenTea", "Sencha", *matcha}
    assert names(teas, "JapaneseTea") == {"JapaneseTea", "Sencha", *matcha}
    tea = {"Tea", "Tee", "Thé", "GreenTea", "JapaneseTea", "Sencha", *matcha}
    assert names(teas, "Thé") == tea
    assert names(teas, "Drink") == {"Drink", *tea}
    assert names(teas, "HotDrink") == {"HotDrink", "Coffee", *tea}
    assert teas.ancestors("PowderedTea") == ("GreenTea", "JapaneseTea", "Tea", "Drink", "HotDrink")
    assert teas.properties("Sencha") == {"grams": "number", "grownIn": "Region", "name": "string"}
    assert teas.properties("Coffee") == {"grams": "number"}
    assert teas.classes["Sencha"].place.endswith("teas.owl:49:22")
    assert not teas.accepts("Colour", "Green")  # an individual is no class


def test_people() -> None:
    people = ns.Ontology.load(FILES / "people.ttl")
    assert (people.name, len(people)) == ("people", 8)
    human = {"Human", "Person", "person", "Mensch", "Human being"}
    assert names(people, "Mensch") == human
    assert names(people, "Agent") == {"Agent", "Organization", "Employer", "Company", *human}
    assert people.ancestors("Company") == ("Employer", "Located", "Organization", "Agent")
    assert people.properties("Company") == {"latitude": "number", "name": "string"}
    assert people.properties("Person") == {"age": "integer", "knows": "Human", "name": "string"}
    assert people.properties("Poison") == {"maker": "any"}
    assert people.classes["Located"].place.endswith("places.ttl:9:1")
    assert people.canonical("Gift") == "Gift"
    (warning,) = people.warnings
    assert "warning [ontology.ambiguous-label] Gift is a label of Poison and names Gift" in warning


@pytest.mark.parametrize("file", ["teas.owl", "people.ttl"])
@pytest.mark.parametrize("format", ["turtle", "xml", "json-ld"])
def test_the_format_does_not_change_the_hash(file: str, format: str, tmp_path: Path) -> None:
    suffix = {"turtle": "ttl", "xml": "rdf", "json-ld": "jsonld"}[format]
    graph = rdflib.Graph().parse(FILES / file, format="xml" if file == "teas.owl" else "turtle")
    (tmp_path / f"x.{suffix}").write_text(graph.serialize(format=format), "utf-8")
    (tmp_path / "places.ttl").write_bytes((FILES / "places.ttl").read_bytes())
    (tmp_path / "people.ttl").write_bytes((FILES / "people.ttl").read_bytes())
    assert ns.Ontology.load(tmp_path / f"x.{suffix}").hash == ns.Ontology.load(FILES / file).hash


def test_owl_and_yaml_of_one_content_have_one_hash() -> None:
    owl = turtle("""
    :Car a owl:Class ; rdfs:label "Auto"@de ; rdfs:subClassOf :Fit .
    :price rdfs:domain :Car ; rdfs:range xsd:double .
    """)
    yaml = read_ontology(
        "classes: {Fit: {}, Car: {synonyms: Auto, parents: Fit, properties: {price: number}}}"
    )
    assert owl.hash == yaml.hash


# Part by part.


@pytest.mark.parametrize(
    ("range_", "kind"),
    [
        ("xsd:string", "string"),
        ("xsd:dateTime", "string"),
        ("xsd:unsignedShort", "integer"),
        ("xsd:decimal", "number"),
        ("xsd:boolean", "boolean"),
        ("xsd:hexBinary", "bytes"),
        ("rdfs:Literal", "any"),
        ("owl:Thing", "any"),
        ("<https://schema.org/Text>", "string"),
        ("<http://schema.org/Integer>", "integer"),
        (":Other", "Other"),
        ("xsd:string, :Other", "any"),
        ("[ a owl:Class ; owl:unionOf (:Other :Car) ]", "any"),
        ("[ a owl:Class ; owl:unionOf (:Other) ]", "Other"),
        ("[ a rdfs:Datatype ]", "any"),
    ],
)
def test_the_type_of_a_range(range_: str, kind: str) -> None:
    found = turtle(f":Car a owl:Class . :p rdfs:domain :Car ; rdfs:range {range_} .")
    assert found.properties("Car") == {"p": kind}


def test_a_property_without_a_range_is_of_any_type() -> None:
    assert turtle(":p rdfs:domain :Car .").properties("Car") == {"p": "any"}


def test_a_property_may_have_several_domains() -> None:
    found = turtle(":p rdfs:domain :A, [ owl:unionOf (:B :C) ] ; rdfs:range xsd:int .")
    assert {name: dict(one.properties) for name, one in found.classes.items()} == {
        "A": {"p": "integer"},
        "B": {"p": "integer"},
        "C": {"p": "integer"},
    }


def test_classes_are_found_wherever_they_are_named() -> None:
    found = turtle(":A rdfs:subClassOf :B . :C owl:equivalentClass :D . :p rdfs:range :E .")
    assert list(found.classes) == ["A", "B", "C"]  # a range alone has no domain to be used in


def test_the_languages_own_classes_are_none_of_ours() -> None:
    found = turtle("""
    :A rdfs:subClassOf owl:Thing, rdfs:Resource ; a owl:Class .
    owl:Nothing rdfs:subClassOf :A .
    :T a rdfs:Datatype .
    """)
    assert list(found.classes) == ["A"]
    assert found.classes["A"].parents == ()


def test_a_chain_of_equivalences_is_one_class() -> None:
    found = turtle("""
    :C owl:equivalentClass :B . :B owl:equivalentClass b:A . :D rdfs:subClassOf :C .
    b:A rdfs:subClassOf :C .
    """)
    assert found.classes["A"].synonyms == ("B", "C")
    assert found.classes["D"].parents == ("A",)
    assert found.classes["A"].parents == ()  # under itself, as every class is


def test_equal_names_of_two_spaces_are_one_class_only_if_it_is_said() -> None:
    one = turtle(":Car owl:equivalentClass b:Car . b:Car rdfs:subClassOf b:Thing .")
    assert list(one.classes) == ["Car", "Thing"]
    with pytest.raises(FaultyOntology) as caught:
        turtle(":Car a owl:Class . b:Car a owl:Class .")
    (fault,) = caught.value.faults
    assert fault.code == "ontology.duplicate"
    assert "<http://b.example/Car>" in fault.message
    assert "<http://e.example/x#Car>" in fault.message


def test_a_label_that_two_classes_share_is_nobodys() -> None:
    found = turtle(':A a owl:Class ; rdfs:label "x", "y" . :B a owl:Class ; rdfs:label "x" .')
    assert found.canonical("x") is None
    assert found.canonical("y") == "A"
    assert len(found.warnings) == 1


def test_a_ring_of_subclasses_is_refused_with_its_line() -> None:
    with pytest.raises(FaultyOntology) as caught:
        turtle(":A rdfs:subClassOf :B .\n:B rdfs:subClassOf :C .\n:C rdfs:subClassOf :A .\n")
    (fault,) = caught.value.faults
    assert fault.message == "A is under itself: A -> B -> C -> A"
    assert fault.place.where == "x.ttl:6:1"


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("x.ttl", "x.ttl:4:1"),
        ("x.rdf", "x.rdf:3:23"),
        ("x.jsonld", "x.jsonld:2:10"),
    ],
)
def test_places_in_every_format(name: str, where: str) -> None:
    texts = {
        "x.ttl": "@prefix : <http://e.example/x#> .\n"
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n\n:int a owl:Class .\n",
        "x.rdf": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\n'
        ' xmlns:owl="http://www.w3.org/2002/07/owl#">\n<owl:Class rdf:about="http://e.example/int"/>'
        "</rdf:RDF>",
        "x.jsonld": '{\n "@id": "http://e.example/int",\n'
        ' "@type": "http://www.w3.org/2002/07/owl#Class"}',
    }
    with pytest.raises(FaultyOntology) as caught:
        read_ontology(texts[name], name)
    (fault,) = caught.value.faults
    assert fault.message.startswith("'int' cannot name a class")
    assert fault.place.where == where


# Bad texts.

XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
ENTITIES = "".join(
    f'<!ENTITY {b} "&{a};&{a};">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "where", "words"),
    [
        ("x.ttl", "@prefix : <#> .\n:A a :B ;\n  :c [ :d .\n", "x.ttl:3:11", "objectList expected"),
        ("x.ttl", "# ä\n@prefix : <#> .\n:ä a x:B .", "x.ttl:3:6", 'Prefix "x:" not bound'),
        ("x.ttl", "@prefix : <#> .\n:a :b " + "[" * 4000, "x.ttl", "nests too deep"),
        ("x.rdf", f"{XML}\n<a></rdf:RDF>", "x.rdf:2:6", "mismatched tag"),
        ("x.rdf", f"{XML}\n<rdf:li/></rdf:RDF>", "x.rdf:2:1", "Invalid node element URI"),
        ("x.rdf", XML + "<a>" * 100, "x.rdf:1:", "nested over 64 deep"),
        ("x.rdf", f'<!DOCTYPE x [<!ENTITY a "x">{ENTITIES}]><x>&i;</x>', "x.rdf:1:", "entity b"),
        ("x.rdf", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///s">]><x/>', "x.rdf:1:", "entity a"),
        ("x.rdf", "", "x.rdf:1:1", "no element found"),
        ("x.jsonld", '{"@id":\n }', "x.jsonld:2:2", "Expecting value"),
        ("x.jsonld", "5", "x.jsonld:1:1", "an object or a list"),
        ("x.jsonld", '{"@context": 5}', "x.jsonld", "this is no JSON-LD"),
        ("x.jsonld", '{"a":' * 70 + "1" + "}" * 70, "x.jsonld", "nests over 64 deep"),
        ("x.jsonld", "[" * 200_000, "x.jsonld", "nests too deep"),
        ("x.jsonld", '{"@context": "https://schema.org"}', "x.jsonld:1:14", "is not in this file"),
        ("x.jsonld", '{"a": {"@context": ["http://c.example"]}}', "x.jsonld:1:21", "is not in"),
        ("x.jsonld", '{"@context": {"@import": "http://c.example"}}', "x.jsonld:1:26", "is not in"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_read(name: str, text: str, where: str, words: str) -> None:
    with pytest.raises(FaultyOntology) as caught:
        read_ontology(text, name)
    (fault,) = caught.value.faults
    assert words in fault.message
    assert fault.place.where.startswith(where)
    assert where.endswith(":") or fault.place.where == where


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(FaultyOntology, match="byte 3 is no UTF-8"):
        read_ontology(b"abc\xff", "x.ttl")


# Imports.


def test_files_import_each_other_by_name_or_address(tmp_path: Path) -> None:
    folder = tmp_path / "more files"
    folder.mkdir()
    (tmp_path / "main.yaml").write_text(
        "imports: [more files/cars.ttl]\n"
        "classes:\n"
        "  Van: {parents: Car}\n"
        "  Car: {properties: {price: number}, depends: {price: 'plus(Offer.net, 1)'}}\n"
        "  Offer: {properties: {net: number}}\n"
    )
    (folder / "cars.ttl").write_text(
        PREFIXES + "<> owl:imports <base.rdf>, <http://far.example/onto/units#> .\n"
        ":Car rdfs:subClassOf :Vehicle .\n"
    )
    (folder / "base.rdf").write_text(
        f'{XML}<Class xmlns="http://www.w3.org/2002/07/owl#" rdf:about="http://e.example/x#Vehicle">'
        '<label xmlns="http://www.w3.org/2000/01/rdf-schema#">Fahrzeug</label>'
        "</Class></rdf:RDF>"
    )
    (folder / "units.yaml").write_text("imports: [cars.ttl]\nclasses: {Unit: {}}\n")
    found = ns.Ontology.load(tmp_path / "main.yaml")
    assert found.name == "main"
    assert list(found.classes) == ["Car", "Offer", "Unit", "Van", "Vehicle"]
    assert found.accepts("Fahrzeug", "Van")
    assert found.depends("Van")["price"][0].text == "plus(Offer.net, 1)"


def test_an_import_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "x.ttl"
    file.write_text(PREFIXES + "<> owl:imports\n  <http://far.example/units> .\n")
    with pytest.raises(FaultyOntology) as caught:
        ns.Ontology.load(file)
    (fault,) = caught.value.faults
    assert fault.message == "http://far.example/units is imported, and there is no such file"
    assert fault.place.where == f"{file}:7:4"
    assert fault.help == f"put it here as {tmp_path}/units.ttl; nothing is fetched from the network"


def test_nothing_is_asked_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a text reached for the network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("socket.create_connection", refuse)
    with pytest.raises(FaultyOntology):
        read_ontology(json.dumps({"@context": "http://a.example/c", "@id": "x"}), "x.jsonld")
    with pytest.raises(FaultyOntology):
        turtle("<> owl:imports <http://a.example/c> .")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OntologyFile, match=r"no-such\.yaml: No such file or directory; name a"):
        ns.Ontology.load(tmp_path / "no-such.yaml")
    with pytest.raises(OntologyFile, match="Is a directory"):
        ns.load_mapping(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.owl", PREFIXES + ":A a owl:Class ."),
        ("x.owl", f'{XML}<Class xmlns="http://www.w3.org/2002/07/owl#" rdf:ID="A"/></rdf:RDF>'),
        ("x.owl", '{"@id": "#A", "@type": "http://www.w3.org/2002/07/owl#Class"}'),
        ("x", "classes: {A: {}}"),
        ("x", PREFIXES.replace("@prefix", "PREFIX").replace(" .", "") + ":A a owl:Class ."),
    ],
)  # fmt: skip
def test_the_format_is_told_by_the_text_where_the_name_does_not(name: str, text: str) -> None:
    assert list(read_ontology(text, name).classes) == ["A"]
