"""Agents and spaces of a host, as data; `holding` says what becomes of them."""

from __future__ import annotations

from typing import Final

from nomospace.calls.problems import NotOpen
from nomospace.host.directory import Tie
from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.protocols.spaces import Row
from nomospace.space import Record, Space
from nomospace.space.engines import MEMORY, SpaceEngine

SYSTEM: Final = "LimeSystem"
"""The space in which a host shows its agents who is there (`system`)."""

STORE: Final = "store"
"""The engine whose tuples lie in the store of their host."""
ENGINES: Final = ("memory", STORE)


class Interface:
    """An agent's interface space."""

    __slots__ = ("durable", "engine", "law", "name", "ontology", "private", "shared")

    def __init__(
        self, name: str, tie: Tie, durable: bool, ontology: Ontology = PLAIN, engine: str = ""
    ) -> None:
        self.name = name
        self.law, self.ontology = tie
        self.durable = durable
        self.engine = engine
        """`store` where its tuples lie there: then it is shared as long as it is here."""
        self.shared = False
        self.private = Space(name, ontology)

    @property
    def tie(self) -> Tie:
        """What the host-level space must have too, for this one to be shared."""
        return self.law, self.ontology


class Resident:
    """An agent of this host. `count` numbers the tuples it writes."""

    __slots__ = ("away", "born", "count", "ending", "full", "id", "spaces")

    def __init__(self, id: str, count: int = 0) -> None:
        self.id = id
        self.count = count
        self.away = False
        """Whether no program speaks for it: it is not shown as connected then."""
        self.born = False
        """Whether it began here in this life of the host: all that it has it got here since."""
        self.ending = False
        """Whether it ends, which takes several steps where it has much."""
        self.full = False
        """Whether it had its share of tuples when they were counted last."""
        self.spaces: dict[str, Interface] = {}

    def interface(self, name: str) -> Interface:
        """Its interface space of a name; raises `NotOpen`."""
        found = self.spaces.get(name)
        if found is None:
            raise NotOpen(space=name, agent=self.id)
        return found


class Level:
    """The host-level space of one name: the tuples of all agents here that share it."""

    __slots__ = ("law", "name", "ontology", "sharers", "space")

    def __init__(
        self, name: str, tie: Tie, ontology: Ontology = PLAIN, engine: SpaceEngine = MEMORY
    ) -> None:
        self.name = name
        self.law, self.ontology = tie
        self.space = Space(name, ontology, engine=engine)
        self.sharers: dict[str, None] = {}

    @property
    def engine(self) -> str:
        """`store` where its tuples lie there, else empty."""
        return "" if self.space.in_memory else STORE

    @property
    def tie(self) -> Tie:
        """Whatever is shared here has these: the hashes of its law and of its ontology."""
        return self.law, self.ontology


def row_of(record: Record, lent: tuple[str, str, int] | None = None) -> Row:
    """A tuple as it travels and as it is stored."""
    return Row(
        record.fields,
        record.writer,
        record.count,
        record.cur,
        record.dest,
        record.expires,
        record.deliveries,
        lent,
        *record.rare,
    )


def record_of(row: Row) -> Record:
    """A tuple as it lies in a space."""
    record = Record(
        row.fields, row.writer, row.count, row.cur, row.dest, row.expires, row.deliveries
    )
    if row.history or row.priority:
        record.rare = (row.history, row.priority)
    return record
