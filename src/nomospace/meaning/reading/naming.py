"""Names: which drafts are one class, what it is called, who its parents are and what its types.

A name or a synonym means one class. Labels are for people: one that two classes share, or that is
another's name, is nobody's, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nomospace.meaning.joining import JoinedSets
from nomospace.meaning.ontology import BASIC_TYPES, CLASSES_MAX, OntologyClass
from nomospace.meaning.reading.drafts import ClassDraft, NamedPiece, OntologyDraft, SameClass
from nomospace.meaning.reading.faults import Faults

NAME_CHARS_MAX: Final = 200
"""The longest name of a class or property, in characters."""
NAMES_MAX: Final = 1_000
"""The most synonyms of one class."""
PARENTS_MAX: Final = 100
"""The most parents of one class."""
PROPERTIES_MAX: Final = 2_000
"""The most properties that one class declares."""

ALIASES: Final = {
    "bool": "boolean",
    "float": "number",
    "int": "integer",
    "str": "string",
}
"""Other names of the basic types."""
_RESERVED: Final = frozenset((*BASIC_TYPES, *ALIASES))


class ClassDrafts:
    """The drafts that are one class."""

    def __init__(self, name: NamedPiece, drafts: list[ClassDraft]) -> None:
        self.name = name.text
        self.place = name.place
        self.drafts = drafts
        self.synonyms: dict[str, NamedPiece] = {}
        self.parents: dict[str, NamedPiece] = {}
        self.types: dict[str, tuple[str, NamedPiece]] = {}

    def plain(self) -> OntologyClass:
        """The class without its functions."""
        return OntologyClass(
            self.name,
            tuple(sorted(self.synonyms)),
            tuple(sorted(self.parents)),
            {name: self.types[name][0] for name in sorted(self.types)},
            place=self.place.where,
        )


class Groups:
    """All classes of a draft by name; knows what every name means."""

    def __init__(self, draft: OntologyDraft, faults: Faults) -> None:
        self.faults = faults
        self.by_key: dict[str, ClassDrafts] = {}
        self.by_name: dict[str, ClassDrafts] = {}
        self.all: list[ClassDrafts] = []
        self._gather(draft)
        self._call()
        for group in self.all:
            self._read(group)

    def find(self, name: str) -> ClassDrafts | None:
        return self.by_key.get(name) or self.by_name.get(name)

    def _gather(self, draft: OntologyDraft) -> None:
        """Drafts of one key, and keys that a `SameClass` joins, are one group."""
        together = JoinedSets[str]()
        known = dict.fromkeys(one.key for one in draft.classes)
        iris: dict[str, None] = {}
        by_name: dict[str, str] = {}
        for one in draft.classes:
            # A bare name joins the class that has an IRI and is called so.
            first = by_name.setdefault(one.name.text, one.key)
            if not (one.is_owl and first in iris):
                together.join(first, one.key)
            if one.is_owl:
                iris[one.key] = None
                by_name[one.name.text] = one.key
        for pair in draft.same:
            for side in (pair.left, pair.right):
                if side.text not in known and side.text in by_name:
                    together.join(side.text, by_name[side.text])
                elif side.text not in known:
                    words = f"{side.text[:60]} is no class here"
                    help = "name a class of one of the files"
                    self.faults.unknown("unknown-class", words, side, by_name, help)
                    break
            else:
                together.join(pair.left.text, pair.right.text)
        gathered: dict[str, list[ClassDraft]] = {}
        for one in draft.classes:
            gathered.setdefault(together.find(one.key), []).append(one)
        kept = _kept_names(draft.same)
        for drafts in gathered.values():
            names = {one.name.text: one.name for one in drafts}
            chosen = min(names, key=lambda name: (name not in kept, name))
            group = ClassDrafts(names[chosen], drafts)
            self.all.append(group)
            for one in drafts:
                self.by_key[one.key] = group
        if len(self.all) > CLASSES_MAX:
            place = self.all[CLASSES_MAX].place
            words = f"{len(self.all):,} classes are over {CLASSES_MAX:,}"
            raise self.faults.stop("limit", words, place, "split the ontology")

    def _call(self) -> None:
        """Give every name to the one class that it means."""
        for group in self.all:
            for one in group.drafts:
                self._claim(one.name, group, what="class")
        for group in self.all:
            for one in group.drafts:
                for name in one.synonyms:
                    self._claim(name, group, what="synonym")
        shared: dict[str, None] = {}
        owners: dict[str, ClassDrafts] = {}
        for group in self.all:  # labels last: what is ambiguous among them is nobody's
            for one in group.drafts:
                for name in one.labels:
                    other = self.by_name.get(name.text) or owners.setdefault(name.text, group)
                    if other is not group:
                        shared[name.text] = None
                        self.faults.warn(
                            "ambiguous-label",
                            f"{name.text[:60]} is a label of {group.name} and names {other.name}",
                            name.place,
                            "it is left out; classes keep their names",
                        )
        for group in self.all:
            for one in group.drafts:
                for name in one.labels:
                    if name.text not in shared and self.by_name.get(name.text) is not group:
                        self._claim(name, group, what="label")
            if len(group.synonyms) > NAMES_MAX:
                words = f"{group.name} has over {NAMES_MAX:,} synonyms"
                self.faults.add("limit", words, group.place, "leave some out")

    def _claim(self, name: NamedPiece, group: ClassDrafts, *, what: str) -> None:
        text = name.text
        problem = _bad_name(text)
        if problem:
            words = f"{text[:60]!r} cannot name a class: {problem}"
            self.faults.add("name", words, name.place, "rename it")
            return
        owner = self.by_name.setdefault(text, group)
        if owner is not group:
            before = owner.synonyms.get(text)
            where = owner.place.where if before is None else before.place.where
            this, that = group.drafts[0], owner.drafts[0]
            if this.is_owl and that.is_owl:  # their names do not tell them apart, their IRIs do
                words = f"{what} {text} of <{this.key[:200]}> already means <{that.key[:200]}>"
            else:
                words = f"{what} {text} already means {owner.name} ({where})"
            self.faults.add(
                "duplicate",
                words,
                name.place,
                "a name means one class: rename one; if they are one, make them synonyms or "
                "equivalent",
            )
        elif text != group.name:
            group.synonyms[text] = name

    def _read(self, group: ClassDrafts) -> None:
        """The parents and the types of a class, by canonical names."""
        for one in group.drafts:
            for name in one.parents:
                above = self.find(name.text)
                if above is None:
                    words = f"parent {name.text[:60]} is no class here"
                    help = "declare it under `classes:`, or import its file"
                    self.faults.unknown("unknown-class", words, name, self.by_name, help)
                elif above is not group or not one.is_owl:  # in OWL every class is under itself
                    group.parents.setdefault(above.name, name)
            for name, kind in one.properties:
                if problem := _bad_name(name.text, property=True):
                    words = f"{name.text[:60]!r} cannot name a property: {problem}"
                    self.faults.add("name", words, name.place, "rename it")
                else:
                    self._type(group, name, kind)
        if len(group.parents) > PARENTS_MAX:
            words = f"{group.name} has over {PARENTS_MAX} parents"
            self.faults.add("limit", words, group.place, "put classes between")
        if len(group.types) > PROPERTIES_MAX:
            words = f"{group.name} declares over {PROPERTIES_MAX:,} properties"
            self.faults.add("limit", words, group.place, "make objects of some of them")

    def _type(self, group: ClassDrafts, name: NamedPiece, kind: NamedPiece) -> None:
        text = ALIASES.get(kind.text, kind.text)
        if text not in BASIC_TYPES:
            found = self.find(kind.text)
            if found is None:
                words = f"type {kind.text[:60]} is neither a class here nor a basic type"
                help = f"basic types are {', '.join(BASIC_TYPES)}"
                known = [*BASIC_TYPES, *self.by_name]
                self.faults.unknown("unknown-class", words, kind, known, help)
                return
            text = found.name
        before = group.types.setdefault(name.text, (text, kind))
        if before[0] != text:
            narrow = {before[0], text}
            if "any" in narrow or narrow == {"integer", "number"}:
                chosen = text if before[0] in ("any", "number") else before[0]
                group.types[name.text] = (chosen, kind)
            else:
                self.faults.add(
                    "type-conflict",
                    f"{group.name}.{name.text} is {text} here and {before[0]} "
                    f"at {before[1].place.where}",
                    kind.place,
                    "give it one type",
                )


def _kept_names(same: Iterable[SameClass]) -> frozenset[str]:
    """The names that a mapping wants kept: those it maps others to, and maps to nothing."""
    pairs = [(pair.left.text, pair.right.text) for pair in same if pair.keep]
    lefts = {left for left, _ in pairs}
    return frozenset(right for _, right in pairs if right not in lefts)


def _bad_name(text: str, *, property: bool = False) -> str:
    if not text or text != text.strip():
        return "it is empty, or begins or ends with a space"
    if len(text) > NAME_CHARS_MAX:
        return f"it is over {NAME_CHARS_MAX} characters"
    if not text.isprintable():
        return "it holds a character that cannot be printed"
    if property and "." in text:
        return "a dot leads from a property to one of its own"
    if not property and text in _RESERVED:
        return "it is the name of a basic type"
    return ""
