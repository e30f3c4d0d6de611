"""What classes of objects mean to each other, and which tuples answer a question about them.

`ontology` holds the closed tables, `functions` the dependence functions, `reading` makes ontologies
from texts (YAML, Turtle, RDF/XML, JSON-LD), `mapping` joins two of them, `picture` draws one.
Nothing here opens a file: whoever calls hands in texts, and a function that fetches what they
import.

`question` reads templates, `facts` holds tuples; `planner` makes a `plan` of the two, which
`memory` runs and `sql` says in SQL. `assign` chooses what serves each field, `answers` says why.

The readers are loaded by those who read, and with them rdflib and pyyaml: a host that reads no
ontology does without.
"""

from nomospace.meaning.ontology import Ontology as Ontology, OntologyClass as OntologyClass
