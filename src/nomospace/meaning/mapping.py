"""Mapping files: how two ontologies meet, so that agents of both can speak in one space.

    same:       {Automobile: Car}          # one class, called Car; Automobile becomes a synonym
    under:      {Van: Vehicle}             # Van gets one more parent; a list gives several
    properties: {Auto.preis: Car.price}    # what Auto calls preis is Car's price

A name means one class in a space, so classes that share a name or a synonym are joined without
being told. Everything that a mapping names must exist, the joined classes are checked like those of
any ontology, and a property may only take the name of one that its class has or inherits.

Objects are not rewritten where they are kept. `Ontology.translated` shows an object with its
properties called as the mapping says, and matching looks at objects through it. The paper leaves
the making of a common ontology open ("Semantic Tuplespace", 2.3); this is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from nomospace.meaning.ontology import Dependence, Input, Ontology, OntologyClass, Operand, Tie
from nomospace.meaning.reading import decode
from nomospace.meaning.reading.closing import close
from nomospace.meaning.reading.drafts import (
    ClassDraft,
    NamedPiece,
    OntologyDraft,
    SameClass,
    SourcePlace,
    drafted,
)
from nomospace.meaning.reading.faults import Faults
from nomospace.meaning.reading.nodes import compose
from nomospace.meaning.reading.written import Form
from nomospace.terms.source import Source

_KEYS: Final = ("same", "under", "properties")


class _Pair(NamedTuple):
    left: NamedPiece
    right: NamedPiece


class OntologyMapping(msgspec.Struct, frozen=True):
    """What a mapping file says; `read_mapping` makes it, `Ontology.joined` uses it."""

    name: str
    same: tuple[_Pair, ...] = ()
    under: tuple[_Pair, ...] = ()
    properties: tuple[_Pair, ...] = ()


def read_mapping(data: bytes | str, name: str = "<mapping>") -> OntologyMapping:
    """Read a mapping file; what its names mean is asked when ontologies are joined by it.

    >>> from nomospace.meaning.reading import read_ontology
    >>> ours = read_ontology("classes: {Car: {properties: {price: number}}}", "ours.yaml")
    >>> theirs = read_ontology("classes: {Auto: {properties: {preis: number}}}", "theirs.yaml")
    >>> both = ours.joined(theirs, read_mapping('''
    ... same: {Auto: Car}
    ... properties: {Auto.preis: Car.price}
    ... ''', "meet.yaml"))
    >>> both.accepts("Car", "Auto"), both.properties("Auto")
    (True, mappingproxy({'price': 'number'}))
    """
    faults = Faults()
    root = compose(decode(data, name, faults), faults)
    form = Form(faults)
    found: dict[str, list[_Pair]] = {key: [] for key in _KEYS}
    if root is not None:
        for key, node in form.fields(root, _KEYS, "a mapping has same, under, properties").items():
            for left, value in form.open_fields(node, "pairs of names"):
                rights = form.names(value, "a name")
                if key != "under" and len(rights) != 1:
                    words = f"{left.text[:60]} must be given one name"
                    faults.add("form", words, left.place, "a class or property can be one other")
                found[key] += [_Pair(left, right) for right in rights]
    faults.check()
    return OntologyMapping(name, *(tuple(found[key]) for key in _KEYS))


def join(one: Ontology, other: Ontology, mapping: OntologyMapping) -> Ontology:
    """Two ontologies as one; `FaultyOntology` with the places of whatever does not fit."""
    faults = Faults()
    draft = OntologyDraft(f"{one.name}+{other.name}")
    renames = _Renames(one, other, mapping, faults)
    _check_same(one, other, mapping, faults)
    for ontology in (one, other):
        for declared in ontology.classes.values():
            draft.classes.append(_drafted(ontology, declared, renames))
    draft.same = [*_same_by_name(one, other)]
    for pair in mapping.same:
        left, right = (_canonical(name, one, other, faults) for name in pair)
        if left is not None and right is not None:
            draft.same.append(SameClass(left, right, keep=True))
    by_key = {made.key: made for made in draft.classes}
    for left, right in mapping.under:
        below = _canonical(left, one, other, faults)
        if below is not None:
            by_key[below.text].parents.append(right)
    faults.check()
    joined = close(draft, one.functions.joined(other.functions), faults, renames.kept)
    renames.check(joined)
    faults.check()
    return joined


def _canonical(
    name: NamedPiece, one: Ontology, other: Ontology, faults: Faults
) -> NamedPiece | None:
    """A name or synonym as the name of its class; a fault where neither ontology knows it."""
    found = one.canonical(name.text) or other.canonical(name.text)
    if found is None:
        known = [name for side in (one, other) for c in side.classes.values() for name in c.names]
        words = f"{name.text[:60]} is no class of {one.name} or {other.name}"
        faults.unknown("unknown-class", words, name, known, "name a class of one of them")
        return None
    return NamedPiece(found, name.place)


def _same_by_name(one: Ontology, other: Ontology) -> Iterator[SameClass]:
    """Classes that share a name or a synonym."""
    for theirs in other.classes.values():
        place = SourcePlace(Source("", theirs.place))
        for name in theirs.names:
            ours = one.canonical(name)
            if ours is not None and ours != theirs.name:
                yield SameClass(NamedPiece(theirs.name, place), NamedPiece(ours, place), keep=True)


def _check_same(one: Ontology, other: Ontology, mapping: OntologyMapping, faults: Faults) -> None:
    """Two classes of which one is under the other cannot be one."""
    for left, right in mapping.same:
        for side in (one, other):
            a, b = side.canonical(left.text), side.canonical(right.text)
            if a is not None and b is not None and a != b:
                low, high = (a, b) if b in side.ancestors(a) else (b, a)
                if high in side.ancestors(low):
                    faults.add(
                        "mapping",
                        f"{left.text} and {right.text} cannot be one class: "
                        f"{low} is under {high} in {side.name}",
                        left.place,
                        "leave it out: what accepts the upper accepts the lower",
                    )


def _drafted(ontology: Ontology, declared: OntologyClass, renames: _Renames) -> ClassDraft:
    """A closed class as a draft again, with its properties called as the mapping says."""
    called = renames.of(ontology, declared.name)
    depends: dict[str, list[tuple[str, str]]] = {}
    for name, listed in declared.depends.items():
        ways = [renames.renamed(ontology, one) for one in listed]
        depends[called.get(name, name)] = [(one.text, one.condition) for one in ways]
    return drafted(
        declared.name,
        declared.synonyms,
        declared.parents,
        {called.get(name, name): kind for name, kind in declared.properties.items()},
        depends,
        SourcePlace(Source("", declared.place or ontology.name)),
    )


class _Renames:
    """The properties that a mapping renames, by the class that has them."""

    def __init__(
        self, one: Ontology, other: Ontology, mapping: OntologyMapping, faults: Faults
    ) -> None:
        self.faults = faults
        self.pairs: list[tuple[_Pair, str, str]] = []  # the pair, its two classes
        self.by_class: dict[str, dict[str, str]] = {}
        self.kept: dict[str, dict[str, str]] = {}
        for side in (one, other):
            for name, pairs in side.renames.items():
                self.kept.setdefault(name, {}).update(pairs)
        for pair in mapping.properties:
            left = self._split(pair.left, one, other)
            right = self._split(pair.right, one, other)
            if left is not None and right is not None:
                self.pairs.append((pair, left[0], right[0]))
                self.by_class.setdefault(left[0], {})[left[1]] = right[1]
                self.kept.setdefault(left[0], {})[left[1]] = right[1]

    def _split(self, name: NamedPiece, one: Ontology, other: Ontology) -> tuple[str, str] | None:
        """The class and the property that `Class.property` names."""
        class_text, dot, property_name = name.text.rpartition(".")
        if not dot:
            words = f"{name.text[:60]} names no property"
            self.faults.add("form", words, name.place, "write Class.property")
            return None
        found = NamedPiece(class_text, name.place)
        for side in (one, other):
            canonical = side.canonical(class_text)
            if canonical is not None and property_name in side.properties(canonical):
                return canonical, property_name
        if _canonical(found, one, other, self.faults) is not None:
            known = [*one.properties(class_text), *other.properties(class_text)]
            words = f"{class_text} has no property {property_name[:60]}"
            wanted = NamedPiece(property_name, name.place)
            self.faults.unknown("unknown-property", words, wanted, known, "see its class")
        return None

    def of(self, ontology: Ontology, class_name: str) -> Mapping[str, str]:
        """New names of a class's properties, inherited ones too."""
        found: dict[str, str] = {}
        for name in (class_name, *ontology.ancestors(class_name)):
            for before, after in self.by_class.get(name, {}).items():
                found.setdefault(before, after)
        return found

    def renamed(self, ontology: Ontology, one: Dependence) -> Dependence:
        """A function with the properties that it reads called by their new names."""

        def path(operand: Operand) -> Operand:
            if not isinstance(operand, Input):
                return operand
            kind, names = operand.class_name, []
            for name in operand.path:
                names.append(self.of(ontology, kind).get(name, name))
                kind = ontology.properties(kind).get(name, "any")
            return operand._replace(path=tuple(names))

        return one._replace(
            arguments=tuple([path(operand) for operand in one.arguments]),
            when=tuple([Tie(path(tie.left), tie.sign, path(tie.right)) for tie in one.when]),
        )

    def check(self, joined: Ontology) -> None:
        """A property takes the name of one that its class, now joined, has or inherits."""
        for pair, left, right in self.pairs:
            if not joined.accepts(right, left):
                self.faults.add(
                    "mapping",
                    f"{left} is neither {right} nor under it, so "
                    f"{pair.left.text} cannot be {pair.right.text}",
                    pair.left.place,
                    f"join the classes first: same: {{{left}: {right}}}, or under",
                )
