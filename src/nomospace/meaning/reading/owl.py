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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from nomospace.meaning.reading.drafts import (
    ClassDraft,
    NamedPiece,
    OntologyDraft,
    SameClass,
    SourcePlace,
)
from nomospace.meaning.reading.faults import Faults
from nomospace.meaning.reading.graphs import read_graph
from nomospace.meaning.reading.imports import HERE
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
