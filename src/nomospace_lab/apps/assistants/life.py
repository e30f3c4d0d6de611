"""What assistants do, as a plan from a seed: the paper's assumptions, as parameters.

The paper (`003_…`, section 2) supposes large departments, as many assistants as people, groups of
2 to 10 people, moves that are rare and uncorrelated, mostly within a department, and much talk
between assistants. It gives no numbers; ours are the defaults of `Assumptions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeAlias

from nomospace.errors import CallerError

BUSY_SHARE: Final = 10
"""Of so many assistants one is talking, and one has a stream under way."""
SITE_KINDS: Final = ("office", "lab", "meeting")


class ImpossibleLife(CallerError):
    """The assumptions contradict each other."""

    code = "assistants.impossible-life"
    words = "{what}; give other assumptions"
    what: str


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """How people live. `peers` is how many others an assistant talks to, over all its groups."""

    departments: int = 4
    sites: int = 8
    """Sites of a department; the first runs its query server."""
    people: int = 40
    """People of a department."""
    messages_a_move: float = 100
    across: float = 0.1
    """The share of moves that lead to another department, or home from there."""
    peers: int = 20
    group: tuple[int, int] = (2, 10)
    group_across: float = 0.2
    """The share of a group's people that are of another department."""
    talk: int = 25
    """Messages that one sends to another before it turns to somebody else."""
    streams: float = 0.3
    """The share of messages that belong to a long stream instead of a talk."""
    stream: int = 300
    """Messages of a stream, which goes on whoever moves."""

    def __post_init__(self) -> None:
        if self.departments < 1 or self.sites < 2 or self.people < 2:
            raise ImpossibleLife(what="a department needs two sites and two people at least")
        reach = self.people * (self.departments if self.group_across else 1)
        if self.peers >= reach:
            raise ImpossibleLife(what=f"there are no {self.peers} others to talk to")
        if not 2 <= self.group[0] <= self.group[1] <= reach:
            raise ImpossibleLife(
                what=f"no group has from {self.group[0]} to {self.group[1]} people"
            )
        if self.across and self.departments < 2:
            raise ImpossibleLife(what="there is no other department to move to")


@dataclass(frozen=True, slots=True)
class Talk:
    """An assistant sends a message to another."""

    sender: str
    to: str


@dataclass(frozen=True, slots=True)
class GoToSite:
    """An assistant goes to a site: its person summons it there, or it is delegated."""

    agent: str
    site: str


Deed: TypeAlias = Talk | GoToSite


@dataclass
class Life:
    """The departments, their people, and an endless plan of what their assistants do.

    >>> life = Life(Assumptions(departments=2, people=20, peers=4), Random(1))
    >>> len(life.home), sorted(life.servers), len(life.sites)
    (40, ['d0', 'd1'], 16)
    >>> deeds = life.deeds(); next(deeds) != next(deeds)
    True
    """

    assumptions: Assumptions
    rng: Random
    sites: dict[str, str] = field(init=False, default_factory=dict)
    """The department of every site."""
    servers: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    home: dict[str, str] = field(init=False, default_factory=dict)
    """The office of every assistant's person."""
    peers: dict[str, list[str]] = field(init=False, default_factory=dict)
    where: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        given = self.assumptions
        self._rooms: dict[str, list[str]] = {}
        self._staff: dict[str, list[str]] = {}
        for number in range(given.departments):
            department = f"d{number}"
            rooms = [
                f"{department}{SITE_KINDS[place % len(SITE_KINDS)]}{place}"
                for place in range(given.sites)
            ]
            self._rooms[department] = rooms
            self.servers[department] = (rooms[0],)
            self.sites.update(dict.fromkeys(rooms, department))
            people = [f"p{person}@{department}" for person in range(given.people)]
            self._staff[department] = people
            for person, agent in enumerate(people):
                self.home[agent] = rooms[person % given.sites]
        self.where.update(self.home)
        self._make_groups()

    def _make_groups(self) -> None:
        """Put people into groups until each has about as many peers as it should."""
        given, rng = self.assumptions, self.rng
        peers: dict[str, dict[str, None]] = {agent: {} for agent in self.home}
        departments = list(self._staff)
        for department, staff in self._staff.items():
            for leader in staff:
                while len(peers[leader]) < given.peers:
                    size = rng.randint(*given.group)
                    group = {leader: None}
                    while len(group) < size:
                        away = rng.random() < given.group_across
                        other = rng.choice(departments) if away else department
                        group[rng.choice(self._staff[other])] = None
                    for one in group:
                        peers[one].update({two: None for two in group if two != one})
        self.peers = {agent: list(known)[: given.peers] for agent, known in peers.items()}

    # -- the plan --------------------------------------------------------------------------

    def deeds(self) -> Iterator[Deed]:
        """What happens next, without end. `where` follows the moves."""
        given, rng = self.assumptions, self.rng
        agents = list(self.home)
        talks: list[tuple[Talk, int]] = []
        streams: list[tuple[Talk, int]] = []
        chance = 1 / given.messages_a_move
        while True:
            if rng.random() < chance:
                yield self._next_move(rng.choice(agents))
            if rng.random() < given.streams:
                yield self._go_on(streams, given.stream, agents)
            else:
                yield self._go_on(talks, given.talk, agents)

    def _go_on(self, under_way: list[tuple[Talk, int]], length: int, agents: list[str]) -> Talk:
        """The next message of one that is under way; where one has ended another begins."""
        rng = self.rng
        if len(under_way) < max(1, len(agents) // BUSY_SHARE):
            sender = rng.choice(agents)
            talk = Talk(sender, rng.choice(self.peers[sender]))
            under_way.append((talk, rng.randint(1, 2 * length - 1)))
        place = int(rng.random() * len(under_way))
        talk, left = under_way[place]
        if left > 1:
            under_way[place] = (talk, left - 1)
        else:
            under_way[place] = under_way[-1]
            under_way.pop()
        return talk

    def _next_move(self, agent: str) -> GoToSite:
        """Mostly to another room of the department it is in; else elsewhere, or home from there."""
        rng, here = self.rng, self.where[agent]
        department = self.sites[here]
        if rng.random() < self.assumptions.across:
            own = self.sites[self.home[agent]]
            if department != own:
                to = self.home[agent]
            else:
                others = [other for other in self._rooms if other != department]
                to = rng.choice(self._rooms[rng.choice(others)])
        else:
            rooms = self._rooms[department]
            to = rooms[(rooms.index(here) + rng.randrange(1, len(rooms))) % len(rooms)]
        self.where[agent] = to
        return GoToSite(agent, to)
