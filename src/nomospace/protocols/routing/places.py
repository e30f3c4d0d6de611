"""Where servers are, and whose name an agent has.

An agent's id is `name@domain`. The domain is its home: that domain's server always knows the agent
or a way to it. Which sites run the server of a domain is given at the start; which of them is the
primary just now is learnt, under a term that only grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec.structs import replace

from nomospace.errors import CallerError
from nomospace.protocols.routing.changes import Change, PrimaryLearnt
from nomospace.protocols.routing.frames import Post

Servers: TypeAlias = Mapping[str, tuple[str, ...]]
"""For every domain the sites that run its server: the first primary, then perhaps standbys."""


class NoServer(CallerError):
    """A domain was given no site that runs its server."""

    code = "routing.no-server"
    words = "domain {domain!r} has no server; name at least one site for it"
    domain: str


class Places:
    """The domains of a world and the sites of their servers; shared by all cores of a site.

    With `world` set there is one server for all, as Central and QSC have it: every agent's home is
    that domain, whatever its id says.

    >>> places = Places({"lab": ("q1", "q2"), "ward": ("q3",)})
    >>> places.home("ann@lab"), places.home("ann@moon"), places.home("ann")
    ('lab', None, None)
    >>> places.first("lab"), places.serves("q2", "lab"), places.serves("q2", "ward")
    ('q1', True, False)
    """

    __slots__ = ("_first", "_sites", "servers", "world")

    def __init__(self, servers: Servers, *, world: str | None = None) -> None:
        self.servers = dict(servers)
        self.world = world
        for domain, sites in self.servers.items():
            if not sites:
                raise NoServer(domain=domain)
        self._first = {domain: sites[0] for domain, sites in self.servers.items()}
        self._sites = {site: None for sites in self.servers.values() for site in sites}

    def home(self, agent: str) -> str | None:
        """The domain whose server knows an agent from birth; `None` if there is no such domain."""
        name, _, domain = agent.rpartition("@")
        if not name or domain not in self._first:
            return None
        return domain if self.world is None else self.world

    def first(self, domain: str) -> str:
        """The site of a domain's server before anybody took over."""
        return self._first[domain]

    def knows(self, domain: str) -> bool:
        """Whether there is such a domain."""
        return domain in self._first

    def is_way(self, way: tuple[str, ...], passes_max: int) -> bool:
        """Whether a post can have gone this way; a peer may write anything.

        Every pass adds a domain at most, and so does whoever gives the post back.
        """
        return len(way) <= passes_max + 1 and all(self.knows(domain) for domain in way)

    def sound(self, post: Post, passes_max: int) -> Post:
        """A post from a peer, without a way that leads nowhere."""
        if not post.way or self.is_way(post.way, passes_max):
            return post
        return replace(post, way=())

    def serves(self, site: str, domain: str) -> bool:
        """Whether a site runs the server of a domain, or its standby."""
        return site in self.servers.get(domain, ())

    def is_server(self, site: str) -> bool:
        """Whether a site is named as a server of any domain."""
        return site in self._sites

    def may_serve(self, site: str) -> bool:
        """Whether a site may run the server of some domain, named or not."""
        return site in self._sites

    def holds(self, site: str, domain: str) -> bool:
        """Whether a site may belong to a domain, and so have agents that are registered there."""
        return domain in self._first


class Everywhere(Places):
    """Places in a world without a list of domains: the host of a domain's name serves it.

    >>> places = Everywhere({"lab": ("q1", "q2")})
    >>> places.first("lab"), places.first("ward"), places.home("ann@ward")
    ('q1', 'ward', 'ward')
    """

    __slots__ = ()

    def home(self, agent: str) -> str | None:
        """The domain in an agent's id."""
        name, _, domain = agent.rpartition("@")
        return domain if name and domain else None

    def first(self, domain: str) -> str:
        """The site of a domain's server before anybody took over."""
        sites = self.servers.get(domain)
        return sites[0] if sites else domain

    def knows(self, domain: str) -> bool:
        """Every domain may be."""
        return True

    def serves(self, site: str, domain: str) -> bool:
        """Whether a site runs the server of a domain, or its standby."""
        return site in self.servers.get(domain, (domain,))

    def may_serve(self, site: str) -> bool:
        """Every host serves at least the domain of its name."""
        return True

    def holds(self, site: str, domain: str) -> bool:
        """A domain that nobody configured has no site but the host of its name."""
        return domain in self.servers or site == domain


class Primaries:
    """Which site is a domain's primary now, as one core knows it.

    >>> primaries = Primaries(Places({"lab": ("q1", "q2")}))
    >>> primaries.site("lab")
    'q1'
    >>> primaries.learn("lab", "q2", 1), primaries.learn("lab", "q1", 0), primaries.site("lab")
    (True, False, 'q2')
    """

    __slots__ = ("_learnt", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._learnt: dict[str, tuple[int, str]] = {}

    def site(self, domain: str) -> str:
        """Where frames for a domain's server go."""
        learnt = self._learnt.get(domain)
        return self._places.first(domain) if learnt is None else learnt[1]

    def term(self, domain: str) -> int:
        """The term of the primary of a domain."""
        return self._learnt.get(domain, (0, ""))[0]

    def learn(self, domain: str, site: str, term: int) -> bool:
        """Take a newer primary in; whether it was news. Only a site of the domain can be one."""
        known = self._learnt.get(domain, (0, ""))
        if term <= known[0] or not self._places.serves(site, domain):
            return False
        self._learnt[domain] = (term, site)
        return True

    def puts(self) -> list[Change]:
        """What was learnt, to be written down anew."""
        return [PrimaryLearnt(domain, site, term) for domain, (term, site) in self.learnt()]

    def learnt(self) -> tuple[tuple[str, tuple[int, str]], ...]:
        """All that was learnt, sorted."""
        return tuple(sorted(self._learnt.items()))

    def copy(self) -> Primaries:
        """The same knowledge, apart."""
        twin = Primaries(self._places)
        twin._learnt = dict(self._learnt)
        return twin
