"""Class tables that are kept beside a store, so that a question costs what has changed since.

A set of tables is of one space, in the words of one ontology, laid out in one way (`set_name`). It
is derived from the store and never the other way round: it can be thrown away at any time, what is
damaged or strange is made anew, and whoever cannot keep tables makes temporary ones. The host's own
tables are only read.

| table | a row is |
| --- | --- |
| `kept_about` | the set: of what it is, the store's state that it shows, what is in it (`Tally`) |
| `kept_origin` | a tuple of the store that is in the set: its `n` there, the checksum of its body |
| the others | see `meaning.sql.layout` |

A question brings its set up to date first (`kept`, `kept_changes`), in one transaction together
with the state that the set then shows: who asks meanwhile, or after a crash, sees the set before
or after, and whole. It then reads one moment of its set, whatever others write to it. It does not
hold on to the store, whose host would otherwise keep old pages for it.

Here is what all that needs of a database; each that keeps tables has a file beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

import msgspec

from nomospace.errors import Unavailable
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.layout import VERSION, Row
from nomospace.store.matching import Database, DatabaseFailed

SETS_MAX: Final = 8
"""The most sets that are kept of one store; when there is another, the one asked longest ago
goes."""
WAIT_S: Final = 5.0
"""How long a question waits for another that changes the set, and how long throwing away waits for
questions."""


class KeptUnusable(Unavailable):
    """Tables cannot be kept, or those that are kept cannot be used just now."""

    code = "match.kept-unusable"
    words = (
        "the kept tables {where} cannot be used ({why:.500}); ask again later, or "
        "match with --no-keep"
    )
    where: str
    why: str


class KeptDamaged(DatabaseFailed):
    """A set of kept tables is not what nomospace has left there; it has to be made anew."""

    code = "match.kept-damaged"
    where: str

    def __str__(self) -> str:
        return (
            f"the kept tables {self.where} are damaged ({self.why[:500]}); throw them away with "
            "`nomospace match --drop-kept STORE`: they are made anew from the store"
        )


class KeptSet(NamedTuple):
    """A set of tables that is kept, as an operator sees it."""

    where: str
    space: str
    ontology: str
    """The hash of the ontology."""
    tuples: int
    bytes: int
    asked: float
    """When a question was last asked of it, in seconds since 1970."""
    trouble: str = ""
    """Why it cannot be read; then nothing else but its place and size is known."""


class KeptDatabase(Database, Protocol):
    """A connection to a set of tables and to the store that they are of."""

    where: str
    """The set as an operator knows it."""
    host: str
    """What stands before the names of the store's tables."""
    whole_scan: str
    """Said of the store's tuples where most of them are asked for."""
    words: Mapping[str, str]
    """What it calls things in the statements that make tables: `key`, `blob`, `text`."""

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        """The rows of a query; `?` is a value."""

    def do(self, sql: str, params: Sequence[object] = ()) -> None:
        """One statement that gives nothing back."""

    def do_many(self, sql: str, params: Sequence[Sequence[object]]) -> None:
        """One statement for many rows of values."""

    def snapshot(self) -> None:
        """From here on one moment is seen, which begins at the first look; one before ends."""

    def end_snapshot(self) -> None:
        """Let go of the moment that is seen."""

    def alone(self) -> AbstractContextManager[None]:
        """A transaction that nobody else changes the set in; waits at most `WAIT_S`."""

    def standing(self) -> list[str]:
        """The names of the tables that the set has."""

    def found(self) -> None:
        """Mark an empty place as a set of ours, in the transaction that fills it."""

    def filled(self) -> None:
        """A set that was made is in place: prepare it for many questions."""

    def identity(self) -> str:
        """What tells the store from another of the same name, as far as that is cheap to tell."""


class KeptPlace(Protocol):
    """Where the sets of one store are."""

    store: str
    """The store as an operator knows it."""

    def open(self, space: str, ontology: Ontology) -> KeptDatabase:
        """A connection to a set, which may be empty yet; raises `KeptUnusable`, `KeptDamaged`."""

    def discard(self, space: str, ontology: Ontology) -> None:
        """Throw one set away, whatever is in its place; raises `KeptUnusable`."""

    def sets(self) -> list[KeptSet]:
        """The sets that are kept, the one asked last first."""

    def drop(self, space: str | None = None) -> int:
        """Throw sets away, all or those of a space; how many. Raises `KeptUnusable`."""


def set_name(store: str, space: str, ontology: Ontology) -> str:
    """A name for a set of tables: another space, ontology or layout has another.

    >>> from nomospace.meaning.ontology import PLAIN
    >>> set_name("", "jobs", PLAIN) == set_name("", "cars", PLAIN)
    False
    """
    # What is renamed in classes that the ontology does not declare is not in its hash.
    renames = sorted((name, sorted(pairs.items())) for name, pairs in ontology.renames.items())
    told = msgspec.json.encode([store, space, ontology.hash, renames, VERSION])
    return blake2b(told, digest_size=16, person=b"kept tables").hexdigest()
