"""YAML as a tree of nodes with places: mappings, sequences and texts, and nothing else.

Values are never guessed: `no`, `1e3` and `2024-01-01` are the texts that they are written as, for
here they are names. Anchors and aliases are refused, so no small file can stand for a large one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from nomospace.extras import need
from nomospace.meaning.reading.drafts import NamedPiece, SourcePlace
from nomospace.meaning.reading.faults import Faults
from nomospace.terms.source import Source

DEPTH_MAX: Final = 12
"""How deep a file may nest; an ontology needs half of it."""


class Text(msgspec.Struct, frozen=True, gc=False):
    """A scalar."""

    named: NamedPiece
    empty: bool

    @property
    def text(self) -> str:
        return self.named.text

    @property
    def place(self) -> SourcePlace:
        return self.named.place


class Items(NamedTuple):
    """A sequence."""

    items: list[Node]
    place: SourcePlace


class Fields(NamedTuple):
    """A mapping; each key once."""

    fields: dict[str, tuple[Text, Node]]
    place: SourcePlace


Node: TypeAlias = Text | Items | Fields


def compose(source: Source, faults: Faults) -> Node | None:
    """The one document of a YAML text, or none for an empty one."""
    need("meaning", "reading an ontology in YAML", "yaml")
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Composer(source, faults, yaml.parse(source.text, Loader=loader)).document()
    except yaml.reader.ReaderError as error:
        place = SourcePlace(source, error.position, error.position + 1)
        message = f"the character {error.character:#x} may not stand in YAML"
        raise faults.stop("syntax", message, place, "take it out") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (
            SourcePlace(source) if mark is None else SourcePlace(source, mark.index, mark.index + 1)
        )
        words = ", ".join(str(part) for part in (error.context, error.problem) if part)
        help = "quote names with colons, commas or brackets, and indent with spaces"
        raise faults.stop("syntax", f"this is no YAML: {words}", place, help) from None


class _Composer:
    def __init__(self, source: Source, faults: Faults, events: Iterator[object]) -> None:
        self.source = source
        self.faults = faults
        self.events = events

    def document(self) -> Node | None:
        next(self.events)  # the stream
        event = next(self.events)
        if type(event).__name__ == "StreamEndEvent":
            return None
        found = self.node(next(self.events), 1)
        next(self.events)  # the document's end
        event = next(self.events)
        if type(event).__name__ != "StreamEndEvent":
            raise self.faults.stop(
                "form", "a second document begins here", self.place(event), "one file, one document"
            )
        return found

    def place(self, event: Any) -> SourcePlace:
        start = event.start_mark.index
        return SourcePlace(self.source, start, max(event.end_mark.index, start + 1))

    def node(self, event: Any, depth: int) -> Node:
        kind = type(event).__name__
        place = self.place(event)
        if kind == "AliasEvent" or event.anchor is not None:
            raise self.faults.stop(
                "form", "anchors and aliases are not taken", place, "write it out"
            )
        if depth > DEPTH_MAX:
            raise self.faults.stop("limit", f"nested over {DEPTH_MAX} deep", place, "see the docs")
        if kind == "ScalarEvent":
            empty = event.implicit[0] and event.value in ("", "~", "null")
            return Text(NamedPiece(event.value, place), empty)
        if kind == "SequenceStartEvent":
            items: list[Node] = []
            while type(event := next(self.events)).__name__ != "SequenceEndEvent":
                items.append(self.node(event, depth + 1))
            return Items(items, place)
        fields: dict[str, tuple[Text, Node]] = {}
        while type(event := next(self.events)).__name__ != "MappingEndEvent":
            key = self.node(event, depth + 1)
            value = self.node(next(self.events), depth + 1)
            if not isinstance(key, Text):
                help = "write name: value"
                raise self.faults.stop("form", "a key must be a name", key.place, help)
            if key.text in fields:
                first = fields[key.text][0].place.where
                self.faults.add(
                    "duplicate",
                    f"{key.text[:60]} stands here a second time",
                    key.place,
                    f"the first is at {first}; make one of the two",
                )
            else:
                fields[key.text] = (key, value)
        return Fields(fields, place)
