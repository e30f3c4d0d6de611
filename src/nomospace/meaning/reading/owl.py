"""OWL and RDFS as drafts: the part of them that says which class is which and under which.

- Classes are called by the last part of their IRIs. `rdfs:label`, `skos:prefLabel` and
  `skos:altLabel`, in every language, are their synonyms, unless two classes share one.
- `rdfs:subClassOf` a class, or an intersection that holds it, makes it a parent. A class that is
  equivalent to a union (or a disjoint union) is a parent of its members.
- `owl:equivalentClass` of two classes makes them one, called by the first of their names.
- A property belongs to the classes of its domain, with the type of its range: a class, or a basic
  type for a datatype. Without a range, or with one that names several, it is of any type.
- `owl:imports` are read from local files.

Individuals, restrictions and other axioms are not used: they constrain objects, and what we ask of
an ontology is what names mean to each other. `owl:Thing` is above everything and therefore nothing.

rdflib makes graphs of triples of the texts (`read_graph`); we keep it from harm and tell where it
fails. No text can make it reach for the network or for other files: a JSON-LD context must stand in
the file itself, and XML's entities are plain short texts (as OWL files use them for prefixes). How
deep a text nests is bounded: rdflib follows it by recursion, or in time that grows with its square.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote
from xml.parsers import expat
from xml.sax import SAXParseException

from nomospace.extras import need
from nomospace.meaning.reading.drafts import (
    ClassDraft,
    NamedPiece,
    OntologyDraft,
    SameClass,
    SourcePlace,
)
from nomospace.meaning.reading.faults import Faults, FaultyOntology
from nomospace.meaning.reading.imports import HERE, base_of
from nomospace.terms.source import Source, Span

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node


_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
_OWL: Final = "http://www.w3.org/2002/07/owl#"
_SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
_SCHEMA: Final = ("http://schema.org/", "https://schema.org/")

_VOCABULARY: Final = (_XSD, _RDF, _RDFS, _OWL)
"""Namespaces of the languages themselves: nothing in them is a class of the author's."""

_INTEGERS: Final = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger"
    " negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
).split()
_DATATYPES: Final = {
    **{f"{_XSD}{name}": "integer" for name in _INTEGERS},
    **{f"{_XSD}{name}": "number" for name in ("decimal", "double", "float")},
    **{f"{_XSD}{name}": "bytes" for name in ("base64Binary", "hexBinary")},
    f"{_XSD}boolean": "boolean",
    f"{_RDFS}Literal": "any",
    f"{_RDFS}Resource": "any",
    f"{_OWL}Thing": "any",
    f"{_OWL}real": "number",
    f"{_OWL}rational": "number",
    **{
        f"{space}{name}": kind
        for space in _SCHEMA
        for name, kind in (
            ("Boolean", "boolean"),
            ("Date", "string"),
            ("DateTime", "string"),
            ("Float", "number"),
            ("Integer", "integer"),
            ("Number", "number"),
            ("Text", "string"),
            ("Time", "string"),
            ("URL", "string"),
        )
    },
}


def read_owl(
    source: Source, format: str, stem: str, faults: Faults
) -> tuple[OntologyDraft, list[NamedPiece]]:
    """What a file says, and which files it imports."""
    return _Owl(source, format, read_graph(source, format, faults), faults).draft(stem)


class _Owl:
    def __init__(self, source: Source, format: str, graph: Graph, faults: Faults) -> None:
        from rdflib.term import URIRef

        self.source = source
        self.graph = graph
        self.faults = faults
        self.iri = URIRef
        self.spans = dict(_subjects(source.text, format))
        self.drafts: dict[str, ClassDraft] = {}

    def draft(self, stem: str) -> tuple[OntologyDraft, list[NamedPiece]]:
        made = OntologyDraft(stem)
        for subject in self._subjects(f"{_RDF}type", f"{_OWL}Ontology"):
            if not subject.startswith(HERE):
                made.name = _last(subject.rstrip("#/")) or stem
        for kind in (f"{_OWL}Class", f"{_RDFS}Class"):
            for subject in self._subjects(f"{_RDF}type", kind):
                self._class(subject)
        self._hierarchy(made)
        self._labels()
        self._properties()
        made.classes = [self.drafts[key] for key in sorted(self.drafts)]
        imports = [NamedPiece(iri, self._find(iri)) for _, iri in self._pairs(f"{_OWL}imports")]
        return made, imports

    # Looking at triples; always in the order of names, since a graph has none.

    def _subjects(self, predicate: str, object: str) -> list[str]:
        found = self.graph.subjects(self.iri(predicate), self.iri(object))
        return sorted(str(one) for one in found if isinstance(one, self.iri))

    def _links(self, predicate: str) -> list[tuple[str, Node]]:
        """Named subjects and whatever a predicate links them to."""
        found = self.graph.subject_objects(self.iri(predicate))
        return sorted((str(s), o) for s, o in found if isinstance(s, self.iri))

    def _pairs(self, predicate: str) -> list[tuple[str, str]]:
        return [(s, str(o)) for s, o in self._links(predicate) if isinstance(o, self.iri)]

    def _members(self, node: Node, predicate: str) -> list[str]:
        """The named members of the lists that a predicate hangs on a node."""
        found: list[str] = []
        for head in self.graph.objects(node, self.iri(predicate)):
            try:
                found += [str(one) for one in self.graph.items(head) if isinstance(one, self.iri)]
            except ValueError:  # a list that bites its own tail
                self.faults.add("syntax", "a list here has no end", SourcePlace(self.source))
        return sorted(found)

    # Making drafts.

    def _class(self, iri: str) -> ClassDraft | None:
        if iri.startswith(_VOCABULARY) or iri in _DATATYPES:
            return None
        made = self.drafts.get(iri)
        if made is None:
            name = NamedPiece(_last(iri), self._place(iri))
            made = self.drafts[iri] = ClassDraft(iri, name, is_owl=True)
        return made

    def _under(self, below: str, above: str) -> None:
        child, parent = self._class(below), self._class(above)
        if child is not None and parent is not None:
            child.parents.append(NamedPiece(above, child.name.place))

    def _hierarchy(self, made: OntologyDraft) -> None:
        for below, above in self._links(f"{_RDFS}subClassOf"):
            if isinstance(above, self.iri):
                self._under(below, str(above))
            else:
                for one in self._members(above, f"{_OWL}intersectionOf"):
                    self._under(below, one)
        for left, right in self._links(f"{_OWL}equivalentClass"):
            if isinstance(right, self.iri):
                if self._class(left) is not None and self._class(str(right)) is not None:
                    place = self._place(left)
                    made.same.append(
                        SameClass(NamedPiece(left, place), NamedPiece(str(right), place))
                    )
            else:
                self._composed(left, right)
        for predicate in ("intersectionOf", "unionOf", "disjointUnionOf"):
            for name in dict.fromkeys(name for name, _ in self._links(f"{_OWL}{predicate}")):
                self._composed(name, self.iri(name))

    def _composed(self, name: str, node: Node) -> None:
        """A class that is the intersection or the union of others."""
        for one in self._members(node, f"{_OWL}intersectionOf"):
            self._under(name, one)
        for predicate in ("unionOf", "disjointUnionOf"):
            for one in self._members(node, f"{_OWL}{predicate}"):
                self._under(one, name)

    def _labels(self) -> None:
        for predicate in (f"{_RDFS}label", f"{_SKOS}prefLabel", f"{_SKOS}altLabel"):
            for iri, value in self._links(predicate):
                draft = self.drafts.get(iri)
                text = " ".join(str(value).split())
                if draft is not None and text and text != draft.name.text:
                    draft.labels.append(NamedPiece(text, draft.name.place))

    def _properties(self) -> None:
        domains = [f"{_RDFS}domain", *(f"{space}domainIncludes" for space in _SCHEMA)]
        for predicate in domains:
            for iri, domain in self._links(predicate):
                name = NamedPiece(_last(iri), self._place(iri))
                for one in self._named(domain):
                    draft = self._class(one)
                    if draft is not None:
                        draft.properties.append((name, self._range(iri)))

    def _named(self, node: Node) -> list[str]:
        """The classes that a domain or a range names: one, or those of a union."""
        if isinstance(node, self.iri):
            return [str(node)]
        return self._members(node, f"{_OWL}unionOf")

    def _range(self, iri: str) -> NamedPiece:
        place = self._place(iri)
        ranges = [f"{_RDFS}range", *(f"{space}rangeIncludes" for space in _SCHEMA)]
        found = [
            one
            for predicate in ranges
            for node in self.graph.objects(self.iri(iri), self.iri(predicate))
            for one in self._named(node) or ["?"]
        ]
        if len(found) != 1:
            return NamedPiece("any", place)
        kind = _DATATYPES.get(found[0])
        if kind is None and found[0].startswith(_VOCABULARY):
            kind = "string" if found[0].startswith(_XSD) else "any"
        if kind is None and self._class(found[0]) is not None and found[0] != "?":
            return NamedPiece(found[0], place)
        return NamedPiece(kind or "any", place)

    # Places: rdflib tells none, so a subject is looked for where the format writes subjects.

    def _place(self, iri: str) -> SourcePlace:
        return SourcePlace(self.source, *self.spans.get(_last(iri), ()))

    def _find(self, iri: str) -> SourcePlace:
        text = iri.removeprefix(HERE).rpartition("/")[2] if iri.startswith(HERE) else iri
        start = self.source.text.find(text)
        return (
            SourcePlace(self.source, start, start + len(text))
            if start >= 0
            else SourcePlace(self.source)
        )


def _last(iri: str) -> str:
    """The name in an IRI: what stands after its last mark.

    >>> _last("http://example.org/cars#SportsCar"), _last("urn:cars:Van"), _last("http://e.org/A%20B")
    ('SportsCar', 'Van', 'A B')
    """
    return unquote(re.split(r"[#/:]", iri)[-1])


_SUBJECTS: Final = {
    "turtle": r"^[ \t]*(?:<(?P<a>[^>\s]*)>|(?P<b>[\w.-]*:[\w.%-]+))(?=\s)",
    "xml": r"""rdf:(?:about|ID)\s*=\s*["'](?P<a>[^"']*)["'](?P<b>)""",
    "json-ld": r'"@id"\s*:\s*"(?P<a>[^"]*)"(?P<b>)',
}


def _subjects(text: str, format: str) -> Iterator[tuple[str, Span]]:
    """Names and where they are written as subjects; the last yielded of a name is its first."""
    found: list[tuple[str, Span]] = []
    for match in re.finditer(_SUBJECTS[format], text, re.MULTILINE):
        group = "b" if match["b"] else "a"
        found.append((_last(match[group]), Span(*match.span(group))))
    yield from reversed(found)


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
