"""What classes of objects mean to each other, and which tuples answer a question about them.

`ontology` holds the closed tables, `functions` the dependence functions, `reading` makes ontologies
from texts (YAML, Turtle, RDF/XML, JSON-LD), `mapping` joins two of them. Nothing here opens a file:
whoever calls hands in texts, and a function that fetches what they import.

rdflib and pyyaml are loaded when a file is read, so that a host without ontologies has no cost.
"""

from nomospace.meaning.functions import FUNCTIONS, Function, Functions, dependence_function
from nomospace.meaning.mapping import OntologyMapping, read_mapping
from nomospace.meaning.ontology import (
    BASIC_TYPES,
    CLASSES_MAX,
    PLAIN,
    Dependence,
    Input,
    Ontology,
    OntologyClass,
    Tie,
)
from nomospace.meaning.reading import FaultyOntology, read_ontology

__all__ = [
    "BASIC_TYPES",
    "CLASSES_MAX",
    "FUNCTIONS",
    "PLAIN",
    "Dependence",
    "FaultyOntology",
    "Function",
    "Functions",
    "Input",
    "Ontology",
    "OntologyClass",
    "OntologyMapping",
    "Tie",
    "dependence_function",
    "read_mapping",
    "read_ontology",
]
