"""What a file says about classes, before anybody has checked it: names, each with its place.

Every format is read into these drafts; `closing` checks them together and makes the ontology. A
draft has a `key`: the name of the class where a file has nothing better, its IRI in OWL. Drafts of
one key, from whatever files, are one class, and so are drafts of keys that a `SameClass` joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from nomospace.terms.source import Source, Span


class SourcePlace(msgspec.Struct, frozen=True, gc=False):
    """Where something stands: a file, and the part of it where the format tells.

    There is one for every name in a file. They hold no references that could close a ring, and so
    are kept out of the garbage collector's rounds, which took half the time of a large file.

    >>> SourcePlace(Source("classes:\\n  Car: {}", "cars.yaml"), 11, 14).where
    'cars.yaml:2:3'
    """

    source: Source
    start: int = -1
    end: int = -1

    @property
    def span(self) -> Span | None:
        return None if self.start < 0 else Span(self.start, self.end)

    @property
    def where(self) -> str:
        if self.start < 0:
            return self.source.name
        line, column = self.source.place(self.start)
        return f"{self.source.name}:{line}:{column}"


class NamedPiece(msgspec.Struct, frozen=True, gc=False):
    """A piece of a file with its place: a name, or the text of a function."""

    text: str
    place: SourcePlace

    def part(self, span: Span) -> SourcePlace:
        """The place of a part of the text, as near as quoting and folding let it be told."""
        whole = self.place
        if whole.start < 0:
            return whole
        for start in (whole.start, whole.start + 1):  # bare, or in quotes
            if whole.source.text.startswith(self.text, start):
                return SourcePlace(whole.source, start + span.start, start + span.end)
        return whole


class FunctionDraft(NamedTuple):
    """One way to compute a property."""

    function: NamedPiece
    when: NamedPiece | None


class ClassDraft(msgspec.Struct):
    """A class as one file tells it. Parents and types name classes by key, name or synonym."""

    key: str
    name: NamedPiece
    synonyms: list[NamedPiece] = []
    labels: list[NamedPiece] = []
    """Names for people: synonyms where no other class has them, else left out with a warning."""
    parents: list[NamedPiece] = []
    properties: list[tuple[NamedPiece, NamedPiece]] = []
    depends: list[tuple[NamedPiece, list[FunctionDraft]]] = []
    is_owl: bool = False


def drafted(
    name: str,
    synonyms: Iterable[str],
    parents: Iterable[str],
    properties: Mapping[str, str],
    depends: Mapping[str, Iterable[tuple[str, str]]],
    place: SourcePlace,
) -> ClassDraft:
    """A class that no file tells, with all of it at one place; a function with its `when`."""

    def named(text: str) -> NamedPiece:
        return NamedPiece(text, place)

    return ClassDraft(
        name,
        named(name),
        list(map(named, synonyms)),
        parents=list(map(named, parents)),
        properties=[(named(key), named(kind)) for key, kind in properties.items()],
        depends=[
            (
                named(key),
                [FunctionDraft(named(f), named(when) if when else None) for f, when in ways],
            )
            for key, ways in depends.items()
        ],
    )


class SameClass(NamedTuple):
    """Two keys mean one class. With `keep`, that class is called as the right one is."""

    left: NamedPiece
    right: NamedPiece
    keep: bool = False


class OntologyDraft(msgspec.Struct):
    """All that the files of one ontology say."""

    name: str
    classes: list[ClassDraft] = []
    same: list[SameClass] = []
