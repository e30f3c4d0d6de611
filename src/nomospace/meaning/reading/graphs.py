"""OWL texts as graphs of triples: rdflib reads them, we keep it from harm and tell where it fails.

No text can make it reach for the network or for other files: a JSON-LD context must stand in the
file itself, and XML's entities are plain short texts (as OWL files use them for prefixes). How
deep a text nests is bounded: rdflib follows it by recursion, or in time that grows with its square.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from xml.parsers import expat
from xml.sax import SAXParseException

from nomospace.extras import need
from nomospace.meaning.reading.drafts import SourcePlace
from nomospace.meaning.reading.faults import Faults, FaultyOntology
from nomospace.meaning.reading.imports import base_of
from nomospace.terms.source import Source

if TYPE_CHECKING:
    from rdflib import Graph

NESTING_MAX: Final = 64
"""How deep XML and JSON may nest."""
ENTITY_CHARS_MAX: Final = 200
"""The longest entity of an XML file; they stand for prefixes of names."""


def read_graph(source: Source, format: str, faults: Faults) -> Graph:
    """The triples of a text, or a fault with its place."""
    need("meaning", "reading an ontology in RDF", "rdflib")
    from rdflib import Graph

    graph = Graph()
    try:
        if format == "turtle":
            _read_turtle(source, graph, faults)
        elif format == "xml":
            _check_xml(source, faults)
            graph.parse(data=source.text, format="xml", publicID=base_of(source.name))
        else:
            _read_json(source, graph, faults)
    except FaultyOntology:
        raise
    except SAXParseException as error:
        line, column = error.getLineNumber() or 1, error.getColumnNumber() or 0
        raise faults.stop("syntax", _xml(error.getMessage()), at(source, line, column)) from None
    except RecursionError:
        raise faults.stop(
            "limit", "it nests too deep", SourcePlace(source), "write it flatter"
        ) from None
    except Exception as error:  # rdflib raises whatever its parts do
        told = re.match(r"(?:[^:\s]*:(\d+):(\d+): )?(.*)", str(error)[:200], re.DOTALL)
        assert told is not None
        place = at(source, int(told[1]), int(told[2])) if told[1] else SourcePlace(source)
        words = f"this is no {_CALLED[format]}: {told[3] or type(error).__name__}"
        help = "the text is well-formed, but what it says is not RDF"
        raise faults.stop("syntax", words, place, help) from error
    return graph


_CALLED: Final = {"turtle": "Turtle", "xml": "RDF/XML", "json-ld": "JSON-LD"}


def at(source: Source, line: int, column: int) -> SourcePlace:
    """The place of a line, counted from 1, and a column, counted from 0.

    >>> at(Source("ab\\ncd", "x"), 2, 1).where
    'x:2:2'
    """
    lines = source.text.split("\n", line)
    start = sum(len(text) + 1 for text in lines[: line - 1]) + column
    start = min(max(start, 0), max(len(source.text) - 1, 0))
    return SourcePlace(source, start, start + 1)


def _read_turtle(source: Source, graph: Graph, faults: Faults) -> None:
    from rdflib.plugins.parsers.notation3 import BadSyntax

    try:
        graph.parse(data=source.text, format="turtle", publicID=base_of(source.name))
    except BadSyntax as error:
        # It may stop before white space; the fault is at what comes next.
        start: int = error._i
        blank = re.compile(r"(?:\s|#[^\n]*\n)*").match(source.text, start)
        start = min(blank.end() if blank else start, max(len(source.text) - 1, 0))
        place = SourcePlace(source, start, start + 1)
        words = f"this is no Turtle: {error._why}"
        help = "prefixes must be declared, statements end with a dot"
        raise faults.stop("syntax", words, place, help) from None


# XML.


def _xml(words: str) -> str:
    return f"this is no RDF/XML: {words}"


def _check_xml(source: Source, faults: Faults) -> None:
    """Look through the elements once: how deep they nest, and which entities they declare."""
    parser = expat.ParserCreate()
    depth = 0

    def here() -> SourcePlace:
        return at(source, parser.CurrentLineNumber, parser.CurrentColumnNumber)

    def start(name: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > NESTING_MAX:
            words = f"elements are nested over {NESTING_MAX} deep"
            raise faults.stop("limit", words, here(), "describe classes side by side")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(
        name: str,
        is_parameter: bool,
        value: str | None,
        base: object,
        system_id: object,
        *rest: object,
    ) -> None:
        if value is None or "&" in value or len(value) > ENTITY_CHARS_MAX:
            words = f"entity {name[:60]} is not a plain text of up to {ENTITY_CHARS_MAX} characters"
            raise faults.stop("limit", words, here(), "write it out where it is used")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(source.text.encode(), True)
    except expat.ExpatError as error:
        words = _xml(expat.ErrorString(error.code) or "it is broken")
        raise faults.stop("syntax", words, at(source, error.lineno, error.offset)) from None


# JSON-LD.


def _read_json(source: Source, graph: Graph, faults: Faults) -> None:
    from rdflib.plugins.parsers.jsonld import to_rdf

    try:
        data = json.loads(source.text)
    except json.JSONDecodeError as error:
        words = f"this is no JSON: {error.msg}"
        place = at(source, error.lineno, error.colno - 1)
        raise faults.stop("syntax", words, place) from None
    if not isinstance(data, dict | list):
        words = "this is no JSON-LD: an object or a list should stand here"
        raise faults.stop("syntax", words, at(source, 1, 0))
    _check_json(data, source, faults)
    to_rdf(data, graph, base=base_of(source.name))


def _check_json(data: object, source: Source, faults: Faults) -> None:
    """How deep it nests, and whether it asks for contexts from elsewhere."""
    waiting = [(data, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > NESTING_MAX:
            words = f"it nests over {NESTING_MAX} deep"
            raise faults.stop("limit", words, SourcePlace(source), "describe classes side by side")
        if isinstance(value, list):
            waiting += [(item, depth + 1) for item in value]
        elif isinstance(value, dict):
            waiting += [(item, depth + 1) for item in value.values()]
            contexts = value.get("@context", [])
            for context in contexts if isinstance(contexts, list) else [contexts]:
                far = context.get("@import") if isinstance(context, dict) else context
                if isinstance(far, str):
                    start = max(source.text.find(json.dumps(far)), 0)
                    raise faults.stop(
                        "import",
                        f"the context {far[:200]} is not in this file",
                        SourcePlace(source, start, start + len(far) + 2),
                        "write the context out; nothing is fetched from the network",
                    )
