"""Files of ontologies with random damage: they are read, or refused with a place; nothing else."""

from __future__ import annotations

import random
from pathlib import Path

from nomospace.meaning.mapping import read_mapping
from nomospace.meaning.reading import FaultyOntology, read_ontology

FILES = Path(__file__).parents[1] / "unit" / "meaning" / "ontologies"
TEXTS = {path.name: path.read_text("utf-8") for path in sorted(FILES.iterdir())}
TEXTS["x.jsonld"] = """{"@context": {"owl": "http://www.w3.org/2002/07/owl#",
  "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}, "@graph": [
  {"@id": "#Car", "@type": "owl:Class", "rdfs:label": {"@value": "Auto", "@language": "de"}},
  {"@id": "#Van", "@type": "owl:Class", "rdfs:subClassOf": {"@id": "#Car"}}]}"""
MAPPING = "same: {Auto: Car}\nunder: {Van: [A, B]}\nproperties: {Auto.preis: Car.price}\n"
PIECES = "{ } [ ] : \n ' \" & * - # \t \0 é | > ! % @ < / . ; , ~ = ( ) null owl: _:a and".split(
    " "
)


def damaged(rng: random.Random, text: str) -> str:
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(text) + 1)
        how = rng.random()
        if how < 0.35:
            text = text[:at] + text[at + rng.randint(1, 20) :]
        elif how < 0.75:
            text = text[:at] + rng.choice(PIECES) * rng.choice([1, 1, 3]) + text[at:]
        else:
            start = rng.randrange(len(text) + 1)
            text = text[:at] + text[start : start + rng.randint(1, 80)] + text[at:]
    return text


def fetch(name: str) -> bytes:
    return (FILES / Path(name).name).read_bytes()


def test_damaged_files_are_read_or_refused_with_a_place() -> None:
    taken = refused = 0
    for seed in range(600):
        rng = random.Random(seed)
        name = rng.choice(list(TEXTS))
        try:
            found = read_ontology(damaged(rng, TEXTS[name]), name, fetch=fetch)
        except FaultyOntology as error:
            refused += 1
            for fault in error.faults:
                assert fault.render().startswith(fault.place.source.name)
            continue
        taken += 1
        assert found.hash
        for one in found.classes:
            assert found.accepts(one, one)
            assert found.properties(one) is not None
    assert min(taken, refused) > 30, (taken, refused)


def test_damaged_mappings_are_read_or_refused() -> None:
    cars = read_ontology("classes: {Car: {properties: {price: any}}, A: {}, B: {}}", "cars.yaml")
    autos = read_ontology("classes: {Auto: {properties: {preis: any}}, Van: {}}", "autos.yaml")
    told: list[str] = []
    for seed in range(150):
        text = damaged(random.Random(seed), MAPPING)
        try:
            joined = cars.joined(autos, read_mapping(text, "meet.yaml"))
        except FaultyOntology as error:
            told.append(str(error))
            continue
        assert {"A", "B", "Van"} <= set(joined.classes)
    assert 75 < len(told) < 150
    assert all(words.startswith("meet.yaml") for words in told)
