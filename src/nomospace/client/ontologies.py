"""Ontologies and mappings from their files, with all that they import.

The room of ontologies opens no files, so this one does it: a path, the files beside it, and nothing
from the network. Importing this module lets `Ontology.load` find files; the package's face does.
"""

from __future__ import annotations

from pathlib import Path, PurePath

from nomospace.errors import CallerError
from nomospace.meaning.functions import FUNCTIONS, Functions
from nomospace.meaning.mapping import OntologyMapping, read_mapping
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.reading import FILE_BYTES_MAX, ExaminedOntology, examine, read_ontology

__all__ = ["Ontology", "OntologyFile", "load_mapping", "load_ontology"]


class OntologyFile(CallerError):
    """The file of an ontology or of a mapping cannot be read."""

    code = "ontology.file"
    words = "cannot read {path}: {why}; name a .yaml, .ttl, .rdf, .owl or .jsonld file"
    path: str
    why: str


def load_ontology(path: str | PurePath, *, functions: Functions = FUNCTIONS) -> Ontology:
    """Read, check and close an ontology from its file: `nomospace.Ontology.load`.

    Imports are looked for beside the file that names them. Functions that were registered with
    `nomospace.dependence_function` before this call may be named in it.

    Raises `OntologyFile`, and `FaultyOntology` with every fault in every file.

    >>> load_ontology("nowhere.yaml")
    Traceback (most recent call last):
    nomospace.client.ontologies.OntologyFile: cannot read nowhere.yaml: No such file...
    """
    return read_ontology(_content(path), _name(path), fetch=fetch_file, functions=functions)


def examine_ontology(path: str | PurePath, *, functions: Functions = FUNCTIONS) -> ExaminedOntology:
    """`load_ontology` for tools: faults and warnings are handed back with their places."""
    return examine(_content(path), _name(path), fetch=fetch_file, functions=functions)


def load_mapping(path: str | PurePath) -> OntologyMapping:
    """Read a mapping file, for `Ontology.joined`; raises as `load_ontology` does."""
    return read_mapping(_content(path), _name(path))


def fetch_file(name: str) -> bytes:
    """The bytes of a local file, no more than a reader takes; `OSError` where there is none."""
    with Path(name).open("rb") as file:
        return file.read(FILE_BYTES_MAX + 1)


def _content(path: str | PurePath) -> bytes:
    try:
        return fetch_file(str(path))
    except OSError as error:
        raise OntologyFile(path=str(path), why=error.strerror or str(error)) from None


def _name(path: str | PurePath) -> str:
    return PurePath(path).as_posix()


Ontology.finder = load_ontology
