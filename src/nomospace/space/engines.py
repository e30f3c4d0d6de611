"""What a space asks of the engine that its tuples lie in.

There are two, as the paper's LIME has two tuple spaces below it (`002_…` 4.1): the memory engine
(`store`), in which everything is at hand, and the store engine (`stored`), whose tuples lie in the
tables of the host's store, with the recent ones in memory. Those who wait, reactions, leases and
the order of steps are the space's own, and the same above both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol

from nomospace.space.asking import Scope
from nomospace.space.composites import Composite
from nomospace.space.meant import Meant, Speech
from nomospace.space.records import Record, TupleId
from nomospace.space.store import Looker, NotInSpace, SpaceRecords
from nomospace.terms import Term
from nomospace.terms.templates import Template

if TYPE_CHECKING:
    from nomospace.space.correlating import Correlating


class Lookup(Protocol):
    """Where the tuples of one width are looked for (`shelves.Shelf` in memory)."""

    def candidates(
        self, template: Template, at: str | None, dest: str | None, after: int = 0
    ) -> Iterable[Record]:
        """Some records, oldest first, with all among them that match; the caller verifies."""

    def first(self, equal: tuple[tuple[int, Term], ...]) -> Record | None:
        """The record with these values at these places, if that is known at once."""

    def ask_for_composite(self, template: Template, at: str | None, dest: str | None) -> None:
        """A search has looked at many in vain."""


class ObjectLookup(Protocol):
    """Where tuples that hold objects are looked for."""

    def exact(self, meant: Meant, after: int = 0) -> Iterable[Record]:
        """Some records, all that fit exactly among them."""

    def fitting(self, meant: Meant, after: int = 0) -> Iterable[Record]:
        """The same for all that fit."""

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All of them."""


class EngineRecords(Protocol):
    """The records of one space that lie there."""

    name: str
    next_order: int
    sets: dict[Scope, Correlating]
    lookers: tuple[Looker, ...]

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def is_near(self) -> bool:
        """Whether all of them are in memory."""

    def at_once(self) -> AbstractContextManager[None]:
        """Whoever asks inside cannot be cut: what is not in memory is waited for."""

    @property
    def look_units(self) -> int:
        """What it costs to look at a tuple, above what one in memory costs."""

    @property
    def objects(self) -> ObjectLookup:
        """Those that hold objects."""

    def shelf(self, width: int) -> Lookup | None:
        """Where those of a width are looked for; `None` where there is none."""

    def get(self, id: TupleId) -> Record | None:
        """The record of an id."""

    def lies(self, record: Record) -> bool:
        """Whether this very tuple lies here."""

    def add(self, record: Record) -> None:
        """Take in a record whose order is set; `TupleTwice` if its id is here."""

    def remove(self, record: Record) -> None:
        """Let go of a record. `NotInSpace` when it does not lie here."""

    def move(self, record: Record, cur: str) -> None:
        """Let another agent hold a record that is here."""

    def missing(self, record: Record) -> NotInSpace:
        """That a record is not here, as an error."""

    def written_by(self, agent: str, some: int) -> tuple[int, list[Record]]:
        """How many records here an agent has written, and a few of them."""

    def held_by(self, agent: str) -> Iterator[Record]:
        """What an agent holds, oldest first."""

    def misplaced_for(self, dest: str) -> Iterator[Record]:
        """What is for an agent and held by another, oldest first."""

    def misplaced(self) -> list[str]:
        """Whom misplaced records are for."""

    def everything(self, after: int = 0) -> Iterator[Record]:
        """All that is here, in order; with `after`, from near that order on."""

    def due(self, now: int) -> Record | None:
        """A record that has expired; it stays until it is removed."""

    def soonest(self) -> int | None:
        """When to ask that again."""

    def composites(self) -> list[Composite]:
        """The composites that searches have asked for."""


class SpaceEngine(Protocol):
    """Makes the records of spaces."""

    def records(self, name: str, speech: Speech, is_busy: Callable[[], bool]) -> EngineRecords:
        """Those of one space; `is_busy` says whether it has searches under way."""

    @property
    def is_plain(self) -> bool:
        """Whether everything is in memory: sets of tuples are looked for there only."""


class MemorySpaceEngine:
    """Everything in memory: what is written down is for the next life of the host."""

    is_plain = True

    def records(self, name: str, speech: Speech, is_busy: Callable[[], bool]) -> SpaceRecords:
        """Records by id, on shelves, and by their objects."""
        return SpaceRecords(name, speech)


MEMORY: Final = MemorySpaceEngine()
