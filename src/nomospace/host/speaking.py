"""The ontologies that the spaces of a host speak.

A space is opened with an ontology, by its hash; whoever opens one that this host has not yet met
sends its text along (`meaning.canon`). It is checked as any file is, written down, and had from
then on. Spaces that name none speak `PLAIN`, whose hash is written as the empty string.

One name speaks one ontology on a host, as it has one law: two that would mean different things by
one template must not share it. For the same reason hosts share a space only where it speaks the
same ontology on both; where it does not, each host has its own space of that name, as with laws.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from nomospace.calls.partition import BadPartition, PartitionKey, untied
from nomospace.calls.problems import OntologyUnknown
from nomospace.calls.requests import OntologyText
from nomospace.errors import CallerError, LimitReached, NomospaceError, Unavailable
from nomospace.host.calls import Bundle
from nomospace.host.changes import Durable, OntologyLearnt
from nomospace.meaning.canon import is_read, read, written
from nomospace.meaning.functions import FUNCTIONS, Functions
from nomospace.meaning.ontology import PLAIN, Ontology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nomospace.host.step import HostStep
    from nomospace.terms import Term

TOLD_BYTES_MAX: Final = 1_000_000
"""The longest text of an ontology that a host takes from a client."""
TOLD_LEVELS_MAX: Final = 100
"""How many classes of it may stand one above the other: what a class has above it is looked through
when the first tuple names it."""
ONTOLOGIES_MAX: Final = 1_000
"""How many ontologies a host has at hand."""


class OntologyTooLong(LimitReached):
    """An ontology is longer, or deeper, than a host takes from others."""

    code = "limits.ontology-text"


def read_told(text: OntologyText) -> None:
    """Read what a client sent as an ontology, so that the host finds it read.

    Raises as `read`, and `OntologyTooLong` where a tuple would have to be kept under too many.
    """
    if (levels := read(text.text, text.hash, text.name).levels()) > TOLD_LEVELS_MAX:
        raise OntologyTooLong(
            what=f"an ontology with {levels:,} classes one above the other",
            limit=TOLD_LEVELS_MAX,
            advice="leave out classes between others, or let its operator load it",
        )


def written_of(text: str, name: str) -> tuple[str, str, str]:
    """The ontology of a file as hosts have it: its hash, its name and its text."""
    from nomospace.meaning.reading import read_ontology  # a host that reads no file does without

    found = read_ontology(text, name)
    return found.hash, found.name, written(found)


def own_functions() -> list[tuple[str, int, int]]:
    """The functions that this program has registered: each with how many inputs it may have."""
    built_in = Functions()
    own = [FUNCTIONS[name] for name in FUNCTIONS if name not in built_in]
    return [(one.name, one.arity_min, one.arity_max) for one in own]


def know_functions(functions: list[tuple[str, int, int]]) -> None:
    """Know the functions of another program by name, to read what it could; none is called."""
    for name, low, high in functions:
        FUNCTIONS.register(name, arity=(low, high))(lambda *inputs: None)


def lend_functions(functions: Iterable[tuple[str, int, int]], call: Callable[..., object]) -> None:
    """Have functions of another process here: `call` is given a name and the inputs."""
    for name, low, high in functions:
        FUNCTIONS.register(name, arity=(low, high))(partial(call, name))


def call_function(name: str, inputs: tuple[Term, ...]) -> object:
    """What a function of this process gives for some inputs; raises what it raises."""
    return FUNCTIONS[name].call(*inputs)


def is_told(text: OntologyText) -> bool:
    """Whether that was done; raises `OntologyTooLong` for what is not even read."""
    if len(text.text) > TOLD_BYTES_MAX:
        raise OntologyTooLong(
            what=f"an ontology of {len(text.text):,} characters",
            limit=TOLD_BYTES_MAX,
            advice="give the space the part that it needs, or let its operator load the whole",
        )
    return is_read(text.text, text.hash, text.name)


class TooManyOntologies(Unavailable):
    """A host has as many ontologies as it may."""

    code = "ontology.too-many"
    words = "this host speaks {limit:,} ontologies, which is its limit; use one of them"
    limit: int


class OtherOntology(CallerError):
    """A space is opened or shared with another ontology than it speaks here."""

    code = "space.other-ontology"
    space: str
    ontology: str
    given: str

    def __str__(self) -> str:
        here = f"ontology {self.ontology[:12]}" if self.ontology else "no ontology"
        given = f"ontology {self.given[:12]}" if self.given else "none"
        return f"space {self.space!r} speaks {here} on this host, not {given}; use another name"


class Speaking:
    """The ontologies of one host, by hash."""

    def __init__(self, step: HostStep) -> None:
        self._step = step
        self._known: dict[str, Ontology] = {"": PLAIN, PLAIN.hash: PLAIN}

    def restore(self, durable: Durable) -> None:
        """Have the ontologies that an earlier life wrote down."""
        for text in durable.ontologies.values():
            self._known[text.hash] = read(text.text, text.hash, text.name)

    def knows(self, hash: str) -> bool:
        """Whether an ontology is at hand here."""
        return hash in self._known

    def get(self, word: str) -> Ontology:
        """The ontology that a tie names, which is at hand here."""
        return self._known[untied(word)[0]]

    def admit(self, text: OntologyText) -> str:
        """Have an ontology at hand; its hash, empty for `PLAIN`.

        Raises `OntologyUnknown` when only a hash came that this host does not know,
        `NotAnOntology` and `FaultyOntology` for a text that is not right.
        """
        if text.hash == PLAIN.hash or not text.hash:
            return ""
        if text.hash in self._known:
            return text.hash
        if not text.text:
            raise OntologyUnknown(hash=text.hash)
        if len(self._known) > ONTOLOGIES_MAX:
            raise TooManyOntologies(limit=ONTOLOGIES_MAX)
        self._known[text.hash] = read(text.text, text.hash, text.name)
        self._step.write_down(OntologyLearnt(text))
        return text.hash

    def texts(self, words: Iterable[str]) -> tuple[OntologyText, ...]:
        """The ontologies that ties name, as another host can learn them, each once."""
        found = {hash: self._known[hash] for hash, _ in map(untied, words) if hash}
        return tuple([OntologyText(key, one.name, written(one)) for key, one in found.items()])

    def objection(self, bundle: Bundle) -> str:
        """What speaks against the ontologies that an agent brings along; empty if nothing does."""
        fresh = [text for text in bundle.ontologies if text.hash not in self._known]
        brought = {text.hash: None for text in bundle.ontologies}
        for its in bundle.spaces:
            hash, partition = untied(its.ontology)
            if hash not in self._known and hash not in brought:
                return f"nobody knows ontology {hash[:12]} of its space {its.name!r}"
            try:
                PartitionKey.read(partition or "0")
            except BadPartition as error:
                return str(error)
        if len(self._known) + len(fresh) > ONTOLOGIES_MAX:
            return "this host speaks too many ontologies already"
        for text in fresh:
            try:
                read(text.text, text.hash, text.name)
            except NomospaceError as error:
                return f"ontology {text.hash[:12]} cannot be read: {error}"
        return ""
