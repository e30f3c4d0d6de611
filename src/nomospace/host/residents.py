"""Agents and spaces of a host, as data; `holding` says what becomes of them.

Who is at a host, with which spaces: the one list of them, which all its parts look at.

`holding` changes it, `writing` and `placing` put tuples into its spaces.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, TypeAlias

from nomospace.calls.partition import NoKey, PartitionKey, untied
from nomospace.calls.problems import NoSuchAgent, NotOpen
from nomospace.host.directory import Tie
from nomospace.meaning.ontology import PLAIN, Ontology
from nomospace.protocols.homes import Homes
from nomospace.protocols.spaces import Row, SharedSpace
from nomospace.space import Record, Space
from nomospace.space.stored import StoreEngine
from nomospace.space.waits import SpaceWaits, WaitTimes
from nomospace.terms import Template

SYSTEM: Final = "LimeSystem"
"""The space in which a host shows its agents who is there (`system`)."""

STORE: Final = "store"
"""The engine whose tuples lie in the store of their host."""
ENGINES: Final = ("memory", STORE)


def keeper_of(host: str) -> str:
    """The resident of a host that holds its share of partitioned spaces; no agent has such an id.

    >>> keeper_of("ward")
    '@ward'
    """
    return f"@{host}"


def check_template(interface: Interface, template: Template) -> None:
    """Raise `NoKey` for a template that no tuple with its space's key can match."""
    key = interface.partition
    if key is not None and key.excludes(template):
        raise NoKey(space=interface.name, partition=key.text, what="template")


def is_keeper(agent: str) -> bool:
    """Whether an id is that of a host's keeper."""
    return agent[:1] == "@"


ShareLines: TypeAlias = tuple[float, tuple[tuple[str, int], ...]]
"""What a host tells of its shares: its weight, and for which homes each space is settled."""


def _key_in(word: str) -> PartitionKey | None:
    text = untied(word)[1]
    return PartitionKey.read(text) if text else None


class Partition:
    """How a host-level space is partitioned, and how far its tuples are where they belong."""

    __slots__ = ("after", "apart", "homes", "keeper", "key", "sweeping", "swept", "unsettled")

    def __init__(self, key: PartitionKey, host: str) -> None:
        self.key = key
        self.keeper = keeper_of(host)
        self.homes = Homes({host: 1.0})
        """The hosts that have a share, as this host knows them."""
        self.swept = False
        """Whether every tuple here is known to be for its home among these."""
        self.after = 0
        """The order up to which tuples were looked at."""
        self.sweeping = False
        self.unsettled: tuple[str, ...] = ()
        """Peers that have not said that they hold nothing which is at home elsewhere."""
        self.apart: tuple[str, ...] = ()
        """Peers whose space of that name is partitioned otherwise."""


class Interface:
    """An agent's interface space."""

    __slots__ = ("durable", "engine", "law", "name", "ontology", "partition", "private", "shared")

    def __init__(
        self, name: str, tie: Tie, durable: bool, ontology: Ontology = PLAIN, engine: str = ""
    ) -> None:
        self.name = name
        self.law, self.ontology = tie
        self.partition = _key_in(self.ontology)
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

    __slots__ = ("law", "name", "ontology", "partition", "sharers", "space")

    def __init__(
        self,
        name: str,
        tie: Tie,
        ontology: Ontology = PLAIN,
        engine: StoreEngine | None = None,
        *,
        host: str = "",
    ) -> None:
        self.name = name
        self.law, self.ontology = tie
        key = _key_in(self.ontology)
        self.partition = None if key is None else Partition(key, host)
        self.space = Space(name, ontology, engine=engine)
        self.sharers: dict[str, None] = {}

    @property
    def engine(self) -> str:
        """`store` where its tuples lie there, else empty."""
        return "" if self.space.in_memory else STORE

    @property
    def tie(self) -> Tie:
        """Whatever is shared here has these: its law, and its ontology with its partition."""
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


WAITED_MAX: Final = 100
"""So many shared spaces have their own figures of how long tuples waited; the rest are one."""
OTHER: Final = "other"
DROPPED_IN_STEP: Final = 8
"""How many spaces that nobody shares are looked at when there is a new one."""


class LocalSpaces:
    """The agents of one host, their interface spaces, and the host-level spaces."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.residents: dict[str, Resident] = {}
        self.levels: dict[str, Level] = {}
        self.unshared: dict[str, Level] = {}
        """Host-level spaces that nobody shared when that was noted."""
        self.timed: dict[Space, str] = {}
        """Spaces that have a lease or a tuple that expires, with their names."""
        self.waited: dict[str, WaitTimes] = {}
        """How long the tuples that were taken had waited, by shared space."""

    def drop_idle(self) -> None:
        """End some host-level spaces that nobody shares and nothing is in: of names is no end.

        Those under a law stay, as their managers do.
        """
        for name, level in list(islice(self.unshared.items(), DROPPED_IN_STEP)):
            del self.unshared[name]
            if self.levels.get(name) is not level or level.sharers or level.law or level.engine:
                continue
            if level.space.idle:
                del self.levels[name]
                self.timed.pop(level.space, None)
            else:
                self.unshared[name] = level

    def resident(self, agent: str) -> Resident:
        """An agent of this host; raises `NoSuchAgent`."""
        found = self.residents.get(agent)
        if found is None:
            raise NoSuchAgent(agent=agent, host=self._host)
        return found

    def interface(self, agent: str, name: str) -> Interface | None:
        """The interface space of an agent, if it is here and has one of that name."""
        resident = self.residents.get(agent)
        return None if resident is None else resident.spaces.get(name)

    def shared(self, name: str) -> Space:
        """The host-level space of a name."""
        return self.levels[name].space

    def watch(self, level: Level, now: int) -> None:
        """Have it known how long tuples wait in a new host-level space."""
        label = level.name
        if label not in self.waited and len(self.waited) >= WAITED_MAX:
            label = OTHER
        times = self.waited.setdefault(label, WaitTimes())
        level.space.waits = SpaceWaits(times, began=now)

    def tie_of(self, name: str, agent: str) -> Tie | None:
        """Under what an agent here shares a space; `None` when it does not."""
        level = self.levels.get(name)
        return level.tie if level is not None and agent in level.sharers else None

    def space_of(self, interface: Interface) -> Space:
        """Where the tuples of an interface space lie: in a shared space, or in a private one."""
        return self.levels[interface.name].space if interface.shared else interface.private

    def is_governed(self, name: str, space: Space) -> bool:
        """Whether a space is a host-level one that has a law."""
        level = self.levels.get(name)
        return level is not None and bool(level.law) and level.space is space

    def is_partitioned(self, name: str) -> bool:
        """Whether a host-level space is partitioned."""
        level = self.levels.get(name)
        return level is not None and level.partition is not None

    def shares(self, name: str, agent: str) -> bool:
        """Whether an agent here shares a space."""
        return self.tie_of(name, agent) is not None

    def keeps(self, name: str, holder: str) -> bool:
        """Whether what an agent here holds in a space is written down."""
        interface = self.interface(holder, name)
        return interface is None or interface.durable

    def census(self) -> list[tuple[Space, str, bool, tuple[str, ...]]]:
        """The spaces here: each with its law, whether it is shared, and the agents it is of."""
        lines = [
            (level.space, level.law, True, tuple([one for one in level.sharers if one[0] != "@"]))
            for level in self.levels.values()
            if level.sharers
        ]
        for agent, resident in self.residents.items():
            if is_keeper(agent):
                continue
            lines += [
                (one.private, one.law, False, (agent,))
                for one in resident.spaces.values()
                if not one.shared
            ]
        return lines

    def is_away(self, agent: str) -> bool:
        """Whether an agent is here and no program speaks for it."""
        resident = self.residents.get(agent)
        return resident is not None and resident.away

    def lines(self) -> tuple[tuple[str, ...], tuple[SharedSpace, ...]]:
        """The agents here and the spaces they share."""
        spaces = [
            SharedSpace(level.name, level.law, tuple(level.sharers), level.ontology)
            for level in self.levels.values()
            if level.sharers
        ]
        return tuple(self.residents), tuple(spaces)
