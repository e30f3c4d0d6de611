"""Makes ontologies from texts: our YAML, and OWL or RDFS as Turtle, RDF/XML or JSON-LD.

`read_ontology` is given a file's content and name, and a function that fetches what it imports:
this room opens no files and no connections. Every format becomes drafts (`drafts`), and `closing`
checks and closes them all in one way. Faults are collected and raised together (`faults`).

Limits: a file's bytes, all bytes together, how many files, how deep they import each other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from nomospace.meaning.functions import FUNCTIONS, Functions
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.reading.closing import close
from nomospace.meaning.reading.drafts import NamedPiece, OntologyDraft, SourcePlace
from nomospace.meaning.reading.faults import (
    Faults,
    FaultyOntology as FaultyOntology,
    OntologyFault as OntologyFault,
)
from nomospace.terms.source import Source

FILE_BYTES_MAX: Final = 32_000_000
"""The largest file, in bytes."""
ALL_BYTES_MAX: Final = 128_000_000
"""The largest ontology, in bytes: a file and all that it imports."""
FILES_MAX: Final = 256
"""The most files of one ontology."""
IMPORT_DEPTH_MAX: Final = 16
"""How deep files may import each other."""

Fetch = Callable[[str], bytes]
"""Gives the bytes of a file by its path; raises `OSError` where there is none."""

_FORMATS: Final = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".ttl": "turtle",
    ".turtle": "turtle",
    ".nt": "turtle",
    ".rdf": "xml",
    ".xml": "xml",
    ".jsonld": "json-ld",
    ".json": "json-ld",
}


def read_ontology(
    data: bytes | str,
    name: str = "<ontology>",
    *,
    fetch: Fetch | None = None,
    functions: Functions = FUNCTIONS,
) -> Ontology:
    """Read, check and close an ontology.

    `name` is the file's path: it tells the format by its ending, stands in messages, and is what
    imports are relative to. Raises `FaultyOntology` with every fault that was found.

    >>> cars = read_ontology('''
    ... classes:
    ...   Car: {synonyms: [Automobile], properties: {price: number}}
    ...   SportsCar: {parents: [Car]}
    ... ''', "cars.yaml")
    >>> cars.accepts("Automobile", "SportsCar")
    True
    >>> read_ontology("classes: {SportsCar: {parents: [Carr]}, Car: {}}", "cars.yaml")
    Traceback (most recent call last):
    nomospace.meaning.reading.faults.FaultyOntology: cars.yaml:1:33: error \
[ontology.unknown-class] parent Carr is no class here
      1 | classes: {SportsCar: {parents: [Carr]}, Car: {}}
        |                                 ^^^^
          help: did you mean Car?
    """
    found = examine(data, name, fetch=fetch, functions=functions)
    if found.ontology is None:
        raise found.faults.error()
    return found.ontology


class ExaminedOntology(NamedTuple):
    """What was found in the files of an ontology, which is none when there were faults."""

    ontology: Ontology | None
    faults: Faults


def examine(
    data: bytes | str,
    name: str = "<ontology>",
    *,
    fetch: Fetch | None = None,
    functions: Functions = FUNCTIONS,
) -> ExaminedOntology:
    """`read_ontology` for those who want to see warnings and faults with their places."""
    faults = Faults()
    try:
        return ExaminedOntology(
            close(_Reader(faults, fetch).whole(data, name), functions, faults), faults
        )
    except FaultyOntology:
        return ExaminedOntology(None, faults)


def decode(data: bytes | str, name: str, faults: Faults) -> Source:
    """A file's content as text, within the limits."""
    source = Source("" if isinstance(data, bytes) else data, name)
    if len(data) > FILE_BYTES_MAX:
        words = f"{len(data):,} bytes are over {FILE_BYTES_MAX:,}"
        raise faults.stop("limit", words, SourcePlace(Source("", name)), "split the file")
    if isinstance(data, str):
        return source
    try:
        return Source(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        words = f"byte {error.start} is no UTF-8"
        raise faults.stop("syntax", words, SourcePlace(source), "save the file as UTF-8") from None


class _File(NamedTuple):
    source: Source
    depth: int


class _Reader:
    """Reads a file and all that it imports, each once, nearest first."""

    def __init__(self, faults: Faults, fetch: Fetch | None) -> None:
        self.faults = faults
        self.fetch = fetch
        self.seen: dict[str, None] = {}
        self.bytes = 0
        self.waiting: list[_File] = []

    def whole(self, data: bytes | str, name: str) -> OntologyDraft:
        self.seen[name] = None
        self._add(data, name, 0)
        whole: OntologyDraft | None = None
        for file in self.waiting:  # grows as it is walked
            draft, imports = self._one(file.source)
            if whole is None:
                whole = draft
            else:
                whole.classes += draft.classes
                whole.same += draft.same
            for one in imports:
                self._import(one, file)
        assert whole is not None
        return whole

    def _add(self, data: bytes | str, name: str, depth: int) -> None:
        self.bytes += len(data)
        source = decode(data, name, self.faults)
        if self.bytes > ALL_BYTES_MAX:
            words = f"with this file the ontology is over {ALL_BYTES_MAX:,} bytes"
            raise self.faults.stop("limit", words, SourcePlace(Source("", name)), "import less")
        self.waiting.append(_File(source, depth))

    def _one(self, source: Source) -> tuple[OntologyDraft, list[NamedPiece]]:
        stem = PurePosixPath(source.name).name.partition(".")[0].strip("<>") or "ontology"
        found = _format(source)
        if found == "yaml":
            from nomospace.meaning.reading.written import read_yaml

            return read_yaml(source, stem, self.faults)
        from nomospace.meaning.reading.owl import read_owl

        return read_owl(source, found, stem, self.faults)

    def _import(self, wanted: NamedPiece, file: _File) -> None:
        from nomospace.meaning.reading.imports import candidates

        tried = candidates(wanted.text, file.source.name)
        if any(name in self.seen for name in tried):
            return
        if self.fetch is None:
            words = f"{wanted.text[:200]} is imported, and there is nobody to fetch it"
            self.faults.add("import", words, wanted.place, "load the ontology from its file")
            return
        if file.depth >= IMPORT_DEPTH_MAX or len(self.seen) >= FILES_MAX:
            limit = f"over {IMPORT_DEPTH_MAX} deep" if file.depth >= IMPORT_DEPTH_MAX else ""
            words = f"files import each other {limit or f'and are over {FILES_MAX}'}"
            raise self.faults.stop("limit", words, wanted.place, "import less")
        for name in tried:
            try:
                data = self.fetch(name)
            except OSError:
                continue
            self.seen[name] = None
            self._add(data, name, file.depth + 1)
            return
        self.faults.add(
            "import",
            f"{wanted.text[:200]} is imported, and there is no such file",
            wanted.place,
            f"put it here as {tried[0][:200]}; nothing is fetched from the network",
        )


def _format(source: Source) -> str:
    """The format of a file: by its ending, else by how it begins.

    >>> _format(Source("@prefix : <#> .", "cars.owl")), _format(Source("classes: {}"))
    ('turtle', 'yaml')
    """
    known = _FORMATS.get(PurePosixPath(source.name).suffix.lower())
    if known is not None:
        return known
    start = source.text[:10_000].lstrip()
    if start.startswith(("<?xml", "<rdf:RDF", "<!DOCTYPE", "<!--")):
        return "xml"
    if start.startswith("{"):
        return "json-ld"
    lines = start.lower().splitlines()
    if any(line.lstrip().startswith(("@prefix", "@base", "prefix ", "base ")) for line in lines):
        return "turtle"
    return "xml" if source.name.endswith(".owl") else "yaml"
