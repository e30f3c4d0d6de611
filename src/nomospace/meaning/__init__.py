"""What classes of objects mean to each other, and which tuples answer a question about them.

`ontology` holds the closed tables, `functions` the dependence functions, `reading` makes ontologies
from texts (YAML, Turtle, RDF/XML, JSON-LD), `mapping` joins two of them. Nothing here opens a file:
whoever calls hands in texts, and a function that fetches what they import.

Names are loaded on use, so that a host which speaks no ontology does not pay for their readers.
"""

from nomospace.meaning.functions import FUNCTIONS, Function, Functions, dependence_function
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

__all__ = [
    "BASIC_TYPES",
    "CLASSES_MAX",
    "FUNCTIONS",
    "PLAIN",
    "Dependence",
    "Function",
    "Functions",
    "Input",
    "Ontology",
    "OntologyClass",
    "Tie",
    "dependence_function",
]
