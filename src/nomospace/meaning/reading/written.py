"""Our own format of ontologies, in YAML: classes, and the dependence functions OWL has no word for.

    name: cars                       # optional: else the file's name
    imports: [vehicles.ttl]          # optional: files beside this one, of any format
    classes:
      Car:
        synonyms: [Automobile]
        parents: [Vehicle]
        properties: {price: Price, maker: string}
        depends:
          price: times(Offer.net, 1.19)            # or with ties, or a list of alternatives:
          tax:   {function: times(Offer.net, 0.19), when: Car.id = Offer.car}

A single name may stand for a list of one. A property without a type is of any type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nomospace.meaning.reading.drafts import ClassDraft, FunctionDraft, NamedPiece, OntologyDraft
from nomospace.meaning.reading.faults import Faults
from nomospace.meaning.reading.nodes import Fields, Items, Node, Text, compose
from nomospace.terms.source import Source

_TOP: Final = ("name", "imports", "classes")
_CLASS: Final = ("synonyms", "parents", "properties", "depends")
_FUNCTION: Final = ("function", "when")


def read_yaml(source: Source, stem: str, faults: Faults) -> tuple[OntologyDraft, list[NamedPiece]]:
    """What a file says, and which files it imports."""
    root = compose(source, faults)
    draft = OntologyDraft(stem)
    if root is None:
        return draft, []
    top = Form(faults)
    fields = top.fields(root, _TOP, "a file has `classes:`")
    if "name" in fields:
        draft.name = top.name(fields["name"], "the ontology's name").text or stem
    if "classes" in fields:
        for key, value in top.open_fields(fields["classes"], "classes by their names"):
            draft.classes.append(_class(top, key, value))
    return draft, top.names(fields.get("imports"), "a file")


def _class(form: Form, key: NamedPiece, value: Node) -> ClassDraft:
    made = ClassDraft(key.text, key)
    fields = form.fields(value, _CLASS, "a class has properties, parents, ...")
    made.synonyms = form.names(fields.get("synonyms"), "a synonym")
    made.parents = form.names(fields.get("parents"), "a class")
    for name, kind in form.open_fields(fields.get("properties"), "properties with their types"):
        is_any = isinstance(kind, Text) and kind.empty
        made.properties.append((name, NamedPiece("any", name.place) if is_any else form.name(kind)))
    for name, ways in form.open_fields(fields.get("depends"), "properties with functions"):
        made.depends.append((name, _functions(form, ways)))
    return made


def _functions(form: Form, node: Node) -> list[FunctionDraft]:
    """One function, or several to be tried in order."""
    found = []
    for way in node.items if isinstance(node, Items) else [node]:
        if isinstance(way, Text):
            found.append(FunctionDraft(way.named, None))
            continue
        fields = form.fields(way, _FUNCTION, "a function is function: f(Class.property, ...)")
        if "function" not in fields:
            form.faults.add("form", "no `function:` here", way.place, "write function: f(A.x, B.y)")
            continue
        when = form.name(fields["when"], "a comparison") if "when" in fields else None
        found.append(FunctionDraft(form.name(fields["function"], "a function"), when))
    return found


class Form:
    """Looks into nodes, and reports what has not the form that it should have."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    def fields(self, node: Node, known: tuple[str, ...], help: str) -> dict[str, Node]:
        """The fields of a mapping whose keys are known; those of an empty text are none."""
        found: dict[str, Node] = {}
        for key, value in self.open_fields(node, help):
            if key.text in known:
                found[key.text] = value
            else:
                words = f"{key.text[:60]} has no meaning here"
                self.faults.unknown("form", words, key, known, f"there are {', '.join(known)}")
        return found

    def open_fields(self, node: Node | None, help: str) -> Iterable[tuple[NamedPiece, Node]]:
        """The fields of a mapping whose keys are the author's own."""
        if node is None or (isinstance(node, Text) and node.empty):
            return []
        if not isinstance(node, Fields):
            self.faults.add("form", "here should stand a mapping", node.place, help)
            return []
        return [(key.named, value) for key, value in node.fields.values()]

    def names(self, node: Node | None, what: str) -> list[NamedPiece]:
        """A list of names; a single one stands for a list of one."""
        if node is None or (isinstance(node, Text) and node.empty):
            return []
        return [
            self.name(item, what) for item in (node.items if isinstance(node, Items) else [node])
        ]

    def name(self, node: Node, what: str = "a name") -> NamedPiece:
        if not isinstance(node, Text) or node.empty:
            help = "a text is wanted, in quotes where it has colons or brackets"
            self.faults.add("form", f"here should stand {what}", node.place, help)
            return NamedPiece("", node.place)
        return node.named
