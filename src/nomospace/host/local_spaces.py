"""Who is at a host, with which spaces: the one list of them, which all its parts look at.

`holding` changes it, `writing` and `placing` put tuples into its spaces.
"""

from __future__ import annotations

from typing import Final

from nomospace.calls.problems import NoSuchAgent
from nomospace.host.directory import Tie
from nomospace.host.residents import Interface, Level, Resident
from nomospace.protocols.spaces import SharedSpace
from nomospace.space import Space
from nomospace.space.waits import SpaceWaits, WaitTimes

WAITED_MAX: Final = 100
"""So many shared spaces have their own figures of how long tuples waited; the rest are one."""
OTHER: Final = "other"


class LocalSpaces:
    """The agents of one host, their interface spaces, and the host-level spaces."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.residents: dict[str, Resident] = {}
        self.levels: dict[str, Level] = {}
        self.timed: dict[Space, str] = {}
        """Spaces that have a lease or a tuple that expires, with their names."""
        self.waited: dict[str, WaitTimes] = {}
        """How long the tuples that were taken had waited, by shared space."""

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
            (level.space, level.law, True, tuple(level.sharers))
            for level in self.levels.values()
            if level.sharers
        ]
        for agent, resident in self.residents.items():
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
