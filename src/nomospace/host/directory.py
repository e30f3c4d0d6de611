"""The directory of a group, line by line: who is at which host, and who shares which space.

A host tells its lines whole when it engages (`DirectoryEntry`), and from then on only what changes
in them (`DirectoryChanged`); so an agent that comes or goes costs its own lines, however many
others there are. `News` gathers what changes at this host during a step, `Directory` is what a peer
has told.

Editions count a host's changes. The entry of a host that stands still has the edition of the last
change it announced, and every later one goes to all with whom it has a session, whether they have
installed the view or not. Of two that go on in a session each therefore hears all editions that
its entry of the other does not contain, in order, and skips those it does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from nomospace.protocols.spaces import DirectoryChanged, DirectoryEntry, Sharing

Tie: TypeAlias = tuple[str, str]
"""What must be the same for a space to be shared: the hashes of its law and of its ontology, and
behind the latter how it is partitioned (`calls.partition`)."""


class Directory:
    """The lines of one peer. `believed` is asked whether its controllers may take part in a law.

    >>> lines = Directory(DirectoryEntry(("bob@b",), edition=4))
    >>> lines.change(DirectoryChanged(5, came=("cat@b",), shared=(Sharing("jobs", "", "cat@b"),)))
    ['jobs']
    >>> list(lines.agents), lines.shares("jobs", ""), lines.edition
    (['bob@b', 'cat@b'], True, 5)
    """

    def __init__(
        self, entry: DirectoryEntry, believed: Callable[[bytes, str], bool] | None = None
    ) -> None:
        self.edition = entry.edition
        self.certificate = entry.certificate
        self.birth = entry.birth
        self._believed = believed
        self._listed = entry.agents
        self._agents: dict[str, None] | None = None
        self.away = dict.fromkeys(entry.away)
        """Those of its agents that no program speaks for."""
        self.capacity = entry.capacity
        """Its weight among the homes of partitioned spaces."""
        self.settled = dict(entry.settled)
        """Of each partitioned space, for which homes it holds nothing that is for another."""
        # Who shares a space is looked up in few of them: a list becomes a dictionary when it is.
        self._spaces: dict[str, tuple[Tie, Iterable[str]]] = {
            one.name: ((one.law, one.ontology), one.agents) for one in entry.spaces
        }

    @property
    def agents(self) -> Collection[str]:
        """Who is there, in order; to look somebody up, see `has_agent`."""
        return self._listed if self._agents is None else self._agents

    def has_agent(self, agent: str) -> bool:
        """Whether an agent is there."""
        return agent in self._indexed()

    def _indexed(self) -> dict[str, None]:
        if self._agents is None:  # of most peers nobody ever asks
            self._agents, self._listed = dict.fromkeys(self._listed), ()
        return self._agents

    def _sharers(self, space: str) -> dict[str, None]:
        tie, agents = self._spaces[space]
        if not isinstance(agents, dict):
            agents = dict.fromkeys(agents)
            self._spaces[space] = tie, agents
        return agents

    def shares(self, space: str, law: str, agent: str | None = None, *, ontology: str = "") -> bool:
        """Whether an agent there, or anyone, shares a space under a law, with an ontology.

        A host whose controllers the law does not believe shares nothing under it.
        """
        known = self._spaces.get(space)
        if known is None or known[0] != (law, ontology):
            return False
        if agent is not None and agent not in self._sharers(space):
            return False
        return not law or self._believed is None or self._believed(self.certificate, law)

    def has(self, space: str, agent: str) -> bool:
        """Whether an agent there shares a space, under any law."""
        return space in self._spaces and agent in self._sharers(space)

    def sharings(self, beyond: Directory | None = None) -> Iterator[Sharing]:
        """All that is shared there, `beyond` what another directory has."""
        for space, ((law, ontology), agents) in self._spaces.items():
            known = None if beyond is None else beyond._spaces.get(space)
            if known is not None and known[1] == agents:
                continue
            for agent in agents:
                if beyond is None or not beyond.has(space, agent):
                    yield Sharing(space, law, agent, ontology)

    def change(self, news: DirectoryChanged) -> list[str]:
        """Take a change in; the spaces that are shared there from now on, or no more."""
        self.edition = news.edition
        self.certificate = news.certificate or self.certificate
        for agent in news.went:
            self._indexed().pop(agent, None)
        for agent in (*news.went, *news.back):
            self.away.pop(agent, None)
        for agent in news.came:
            self._indexed()[agent] = None
        for agent in news.away:
            self.away[agent] = None
        touched = dict.fromkeys(one.space for one in (*news.parted, *news.shared))
        before = {space: self.tie(space) for space in touched}
        for one in news.parted:
            self._part(one)
        for one in news.shared:
            self._share(one)
        again = dict(news.settled)
        self.settled.update(again)
        if news.capacity >= 0:
            self.capacity = news.capacity
            again = self.settled
        changed = [space for space in touched if self.tie(space) != before[space]]
        return [*changed, *[space for space in again if space not in changed]]

    def tie(self, space: str) -> Tie | None:
        """Under what a space is shared there; `None` where it is not."""
        known = self._spaces.get(space)
        return None if known is None else known[0]

    def _share(self, one: Sharing) -> None:
        tie = (one.law, one.ontology)
        if self.tie(one.space) != tie:  # one name has one law at a host, and speaks one ontology
            self._spaces[one.space] = tie, {}
        self._sharers(one.space)[one.agent] = None

    def _part(self, one: Sharing) -> None:
        if self.tie(one.space) == (one.law, one.ontology):
            agents = self._sharers(one.space)
            agents.pop(one.agent, None)
            if not agents:
                del self._spaces[one.space]


class News:
    """What has been touched in this host's own lines, and how it was before.

    Whatever happens in between, only the difference is told in the end: it is looked up then.

    >>> news = News()
    >>> news.agent("ann@a", was=False)
    >>> news.space("jobs", "ann@a", was=None)
    >>> here = {"jobs": ("", "")}
    >>> told = news.tell(1, is_here=lambda agent: True, tie_of=lambda space, agent: here.get(space))
    >>> told.came, told.shared
    (('ann@a',), (Sharing(space='jobs', law='', agent='ann@a', ontology=''),))
    >>> news.tell(2, is_here=lambda agent: True, tie_of=lambda space, agent: None)
    """

    __slots__ = ("_agents", "_away", "_spaces", "touched")

    def __init__(self) -> None:
        self.touched: dict[str, None] = {}
        """The agents that all of it is about; empty, when there is nothing to tell."""
        self._agents: dict[str, bool] = {}
        self._away: dict[str, bool] = {}
        self._spaces: dict[tuple[str, str], Tie | None] = {}

    def agent(self, agent: str, *, was: bool) -> None:
        """An agent comes or goes, and was here before or was not."""
        self._agents.setdefault(agent, was)
        self.touched[agent] = None

    def presence(self, agent: str, *, was: bool) -> None:
        """No program speaks for an agent any more, or one does again; and whether it `was` away."""
        self._away.setdefault(agent, was)
        self.touched[agent] = None

    def space(self, space: str, agent: str, *, was: Tie | None) -> None:
        """An agent shares or parts a space, which it shared so before, or (`None`) not at all."""
        self._spaces.setdefault((space, agent), was)
        self.touched[agent] = None

    def tell(
        self,
        edition: int,
        *,
        is_here: Callable[[str], bool],
        tie_of: Callable[[str, str], Tie | None],
        is_away: Callable[[str], bool] = lambda agent: False,
    ) -> DirectoryChanged | None:
        """The difference that all of it makes, as an edition, and begin anew; `None` if none."""
        if not self.touched:
            return None
        self.touched.clear()
        came = tuple([agent for agent, was in self._agents.items() if not was and is_here(agent)])
        went = tuple([agent for agent, was in self._agents.items() if was and not is_here(agent)])
        shared: list[Sharing] = []
        parted: list[Sharing] = []
        for (space, agent), was in self._spaces.items():
            tie = tie_of(space, agent)
            if tie != was:
                if was is not None:
                    parted.append(Sharing(space, was[0], agent, was[1]))
                if tie is not None:
                    shared.append(Sharing(space, tie[0], agent, tie[1]))
        # One who comes is there for all who hear of it, and one who went is away for nobody.
        was_away = {**dict.fromkeys(came, False), **self._away}
        away = tuple([one for one, was in was_away.items() if is_away(one) and not was])
        back = tuple([one for one, was in was_away.items() if was and not is_away(one)])
        self._agents.clear()
        self._spaces.clear()
        self._away.clear()
        if not (came or went or shared or parted or away or back):
            return None
        return DirectoryChanged(edition, came, went, tuple(shared), tuple(parted), away, back)
