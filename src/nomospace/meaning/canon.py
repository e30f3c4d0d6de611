"""An ontology as one text, for hosts that learn it and for disks: the same for the same content.

Files stay what people write (`reading`). Between hosts goes this text, which holds everything that
the hash is over and nothing else, whatever the files were called and whichever format they had.
Whoever reads one checks it as a file is checked: a hash says what was sent, not that it is sound.

    [["Car", ["Automobile"], [], {"price": "number"}, {}, {}], …]

that is, for each class its name, synonyms, parents, properties, functions with their conditions,
and the properties that a mapping has renamed.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from nomospace.errors import CallerError
from nomospace.meaning.functions import FUNCTIONS, Functions
from nomospace.meaning.ontology import CLASSES_MAX, PLAIN, Ontology
from nomospace.terms.source import Source

TEXT_BYTES_MAX: Final = 32 * 1024 * 1024
"""The longest text that is read."""


KEPT_MAX: Final = 64
"""How many ontologies are kept that were read."""


class _Class(msgspec.Struct, frozen=True, array_like=True):
    name: str
    synonyms: list[str]
    parents: list[str]
    properties: dict[str, str]
    depends: dict[str, list[tuple[str, str]]]
    renames: dict[str, str]


_READER: Final = msgspec.json.Decoder(list[_Class])


class NotAnOntology(CallerError):
    """A text came for an ontology that is none, or that is another one."""

    code = "ontology.not-one"
    hash: str
    why: str

    def __str__(self) -> str:
        return f"what came for ontology {self.hash[:12]!r} is not it: {self.why}; send it again"


def written(ontology: Ontology) -> str:
    """The text of an ontology.

    >>> from nomospace.meaning.ontology import OntologyClass
    >>> written(Ontology("cars", [OntologyClass("Car", ("Automobile",))]))
    '[["Car",["Automobile"],[],{},{},{}]]'
    """
    listed = [
        _Class(
            one.name,
            sorted(one.synonyms),
            sorted(one.parents),
            dict(sorted(one.properties.items())),
            {
                name: [(each.text, each.condition) for each in ways]
                for name, ways in sorted(one.depends.items())
            },
            dict(sorted(ontology.renames.get(one.name, {}).items())),
        )
        for one in ontology.classes.values()
    ]
    return msgspec.json.encode(listed).decode()


def read(text: str, hash: str, name: str = "", functions: Functions = FUNCTIONS) -> Ontology:
    """The ontology of a text, if it is the one of that hash; `FaultyOntology` if it is not sound.

    >>> from nomospace.meaning.ontology import OntologyClass
    >>> cars = Ontology("cars", [OntologyClass("Car", ("Automobile",))])
    >>> read(written(cars), cars.hash, "cars") == cars
    True
    >>> read("[]", cars.hash)
    Traceback (most recent call last):
    nomospace.meaning.canon.NotAnOntology: what came for ontology ... is not it: its hash is ...
    """
    key = (hash, name, sha256(text.encode(errors="surrogatepass")).digest())
    if functions is FUNCTIONS and key in _kept:
        return _kept[key]
    # Loaded on use: a host that learns no ontology does without.
    from nomospace.meaning.reading.closing import close
    from nomospace.meaning.reading.drafts import OntologyDraft, SourcePlace, drafted
    from nomospace.meaning.reading.faults import Faults

    if len(text) > TEXT_BYTES_MAX:
        raise NotAnOntology(hash=hash, why=f"it is longer than {TEXT_BYTES_MAX:,} bytes")
    try:
        listed = _READER.decode(text)
    except msgspec.MsgspecError as error:
        raise NotAnOntology(hash=hash, why=str(error)) from None
    if len(listed) > CLASSES_MAX:
        raise NotAnOntology(hash=hash, why=f"it has over {CLASSES_MAX:,} classes")
    place = SourcePlace(Source("", name or f"ontology {hash[:12]}"))
    draft = OntologyDraft(name or hash[:12])
    for one in listed:
        told = one.name, one.synonyms, one.parents, one.properties, one.depends
        draft.classes.append(drafted(*told, place))
    renames = {one.name: one.renames for one in listed if one.renames}
    made_of = close(draft, functions, Faults(), renames) if listed else PLAIN
    if made_of.hash != hash:
        raise NotAnOntology(hash=hash, why=f"its hash is {made_of.hash[:12]!r}")
    if functions is FUNCTIONS:
        if len(_kept) >= KEPT_MAX:
            del _kept[next(iter(_kept))]
        _kept[key] = made_of
    return made_of


def is_read(text: str, hash: str, name: str) -> bool:
    """Whether `read` gives an ontology for a text without reading it again."""
    return (hash, name, sha256(text.encode(errors="surrogatepass")).digest()) in _kept


_kept: dict[tuple[str, str, bytes], Ontology] = {}
