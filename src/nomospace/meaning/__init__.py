"""What classes of objects mean to each other, and which tuples answer a question about them.

`ontology` holds the closed tables, `functions` the dependence functions, `reading` makes ontologies
from texts (YAML, Turtle, RDF/XML, JSON-LD), `mapping` joins two of them, `picture` draws one.
Nothing here opens a file: whoever calls hands in texts, and a function that fetches what they
import.

`question` reads templates, `facts` holds tuples; `planner` makes a `plan` of the two, which
`memory` runs and `sql` says in SQL. `assign` chooses what serves each field, `answers` says why.

The readers are loaded on use, and with them rdflib and pyyaml: a host that reads no ontology does
without.
"""

from typing import TYPE_CHECKING

from nomospace.meaning.functions import (
    FUNCTIONS as FUNCTIONS,
    Function as Function,
    Functions as Functions,
    dependence_function as dependence_function,
)
from nomospace.meaning.ontology import (
    BASIC_TYPES as BASIC_TYPES,
    CLASSES_MAX as CLASSES_MAX,
    PLAIN as PLAIN,
    Dependence as Dependence,
    Input as Input,
    Ontology as Ontology,
    OntologyClass as OntologyClass,
    Tie as Tie,
)

if TYPE_CHECKING:
    from nomospace.meaning.mapping import (
        OntologyMapping as OntologyMapping,
        read_mapping as read_mapping,
    )
    from nomospace.meaning.reading import (
        FaultyOntology as FaultyOntology,
        read_ontology as read_ontology,
    )


_LATER = {
    "FaultyOntology": "nomospace.meaning.reading",
    "OntologyMapping": "nomospace.meaning.mapping",
    "read_mapping": "nomospace.meaning.mapping",
    "read_ontology": "nomospace.meaning.reading",
}


def __getattr__(name: str) -> object:
    """Load a reader on its first use."""
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'nomospace.meaning' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value
