"""The directory of a group, line by line: who is at which host, and who shares which space.

A host tells its lines whole when it engages (`Entry`), and from then on only what changes in them
(`Announced`); so an agent that comes or goes costs its own lines, however many others there are.
`News` gathers what changes at this host during a step, `Directory` is what a peer has told.

Editions count a host's changes. The entry of a host that stands still has the edition of the last
change it announced, and every later one goes to all with whom it has a session, whether they have
installed the view or not. Of two that go on in a session each therefore hears all editions that
its entry of the other does not contain, in order, and skips those it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nomospace.protocols.spaces import Announced, Entry, Sharing


class Directory:
    """The lines of one peer. `believed` is asked for a law whether its controllers may take part.

    >>> lines = Directory(Entry(("bob@b",), edition=4))
    >>> lines.change(Announced(5, came=("cat@b",), shared=(Sharing("jobs", "", "cat@b"),)))
    ['jobs']
    >>> list(lines.agents), lines.shares("jobs", ""), lines.edition
    (['bob@b', 'cat@b'], True, 5)
    """

    __slots__ = ("_believed", "_spaces", "agents", "edition", "papers")

    def __init__(self, entry: Entry, believed: Callable[[str], bool] | None = None) -> None:
        self.edition = entry.edition
        self.papers = entry.papers
        self._believed = believed
        self.agents = dict.fromkeys(entry.agents)
        self._spaces = {one.name: (one.law, dict.fromkeys(one.agents)) for one in entry.spaces}

    def shares(self, space: str, law: str, agent: str | None = None) -> bool:
        """Whether an agent there, or anyone, shares a space under a law.

        A host whose controllers the law does not believe shares nothing under it.
        """
        known = self._spaces.get(space)
        if known is None or known[0] != law or (agent is not None and agent not in known[1]):
            return False
        return not law or self._believed is None or self._believed(law)

    def has(self, space: str, agent: str) -> bool:
        """Whether an agent there shares a space, under any law."""
        known = self._spaces.get(space)
        return known is not None and agent in known[1]

    def sharings(self) -> Iterator[Sharing]:
        """All that is shared there."""
        for space, (law, agents) in self._spaces.items():
            for agent in agents:
                yield Sharing(space, law, agent)

    def change(self, news: Announced) -> list[str]:
        """Take a change in; the spaces that are shared there from now on, or no more."""
        self.edition = news.edition
        for agent in news.went:
            self.agents.pop(agent, None)
        for agent in news.came:
            self.agents[agent] = None
        touched = dict.fromkeys(one.space for one in (*news.parted, *news.shared))
        before = {space: self._law(space) for space in touched}
        for one in news.parted:
            self._part(one)
        for one in news.shared:
            self._share(one)
        return [space for space in touched if self._law(space) != before[space]]

    def _law(self, space: str) -> str | None:
        known = self._spaces.get(space)
        return None if known is None else known[0]

    def _share(self, one: Sharing) -> None:
        law, agents = self._spaces.get(one.space, (one.law, {}))
        if law != one.law:  # one name has one law at a host
            agents = {}
        agents[one.agent] = None
        self._spaces[one.space] = (one.law, agents)

    def _part(self, one: Sharing) -> None:
        law, agents = self._spaces.get(one.space, ("", {}))
        if law == one.law:
            agents.pop(one.agent, None)
            if not agents:
                self._spaces.pop(one.space, None)


class News:
    """What has been touched in this host's own lines, and how it was before.

    Whatever happens in between, only the difference is told in the end: it is looked up then.

    >>> news = News()
    >>> news.agent("ann@a", was=False)
    >>> news.space("jobs", "ann@a", was=None)
    >>> here = {"jobs": ""}
    >>> told = news.tell(1, is_here=lambda agent: True, law_of=lambda space, agent: here.get(space))
    >>> told.came, told.shared
    (('ann@a',), (Sharing(space='jobs', law='', agent='ann@a'),))
    >>> news.tell(2, is_here=lambda agent: True, law_of=lambda space, agent: None)
    """

    __slots__ = ("_agents", "_spaces")

    def __init__(self) -> None:
        self._agents: dict[str, bool] = {}
        self._spaces: dict[tuple[str, str], str | None] = {}

    def agent(self, agent: str, *, was: bool) -> None:
        """An agent comes or goes, and was here before or was not."""
        self._agents.setdefault(agent, was)

    def space(self, space: str, agent: str, *, was: str | None) -> None:
        """An agent shares or parts a space, which it shared under a law before, or (`None`) not."""
        self._spaces.setdefault((space, agent), was)

    def tell(
        self,
        edition: int,
        *,
        is_here: Callable[[str], bool],
        law_of: Callable[[str, str], str | None],
    ) -> Announced | None:
        """The difference that all of it makes, as an edition, and begin anew; `None` if none."""
        if not self._agents and not self._spaces:
            return None
        came = tuple([agent for agent, was in self._agents.items() if not was and is_here(agent)])
        went = tuple([agent for agent, was in self._agents.items() if was and not is_here(agent)])
        shared: list[Sharing] = []
        parted: list[Sharing] = []
        for (space, agent), was in self._spaces.items():
            law = law_of(space, agent)
            if law != was:
                if was is not None:
                    parted.append(Sharing(space, was, agent))
                if law is not None:
                    shared.append(Sharing(space, law, agent))
        self._agents.clear()
        self._spaces.clear()
        if not (came or went or shared or parted):
            return None
        return Announced(edition, came, went, tuple(shared), tuple(parted))
