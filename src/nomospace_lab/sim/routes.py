"""Bare routing cores in one process, on a courier that never fails: for very many agents.

No host, no law, no clock: each message and each move is carried through to its end before the
next begins. What remains is what the algorithms differ in, the frames they send: `Routes` counts
them, from which core to which, and on how many the application's own messages travelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import Frame, server_of
from nomospace.protocols.routing.interface import (
    AgentRefused,
    DeliverPost,
    Go,
    PersistChange,
    PostFailed,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.server import DomainServer
from nomospace_lab.sim.algorithms import Algorithm

LIMITS: Final = RoutingLimits(guesses_max=4_000, passed_max=64)
"""Nothing is ever under way for long here, so little has to be remembered of it."""


class Routes:
    """Daemons at sites and servers of domains, joined by a perfect courier.

    >>> from nomospace_lab.sim.algorithms import FQSC
    >>> sites = dict.fromkeys(("q", "s1", "s2", "s3"), "lab")
    >>> routes = Routes(FQSC, sites, {"lab": ("q",)})
    >>> routes.create("ann@lab", "s1"); routes.create("bob@lab", "s2")
    >>> routes.send("ann@lab", "bob@lab"); routes.send("ann@lab", "bob@lab")
    >>> routes.hops  # the first goes by the server, the next one straight
    {2: 1, 1: 1}
    >>> routes.move("bob@lab", "s3"); routes.send("ann@lab", "bob@lab")
    >>> routes.hops  # the guess was wrong: to the old site, by the server, to the new one
    {2: 1, 1: 1, 3: 1}
    """

    def __init__(
        self,
        algorithm: Algorithm,
        sites: Mapping[str, str],
        servers: Mapping[str, tuple[str, ...]],
        *,
        limits: RoutingLimits = LIMITS,
        eager: bool = False,
    ) -> None:
        places = algorithm.places(servers)
        self.daemons: dict[str, Daemon] = {
            site: algorithm.daemon(site, domain, places, limits=limits, eager=eager)
            for site, domain in sites.items()
        }
        self.servers: dict[str, DomainServer] = {
            domain: algorithm.server(servers[domain][0], domain, places, limits=limits)
            for domain in algorithm.domains(servers)
        }
        self.where: dict[str, str] = {}
        self.hops: dict[int, int] = {}
        """How many application messages took how many network messages."""
        self.frames = 0
        """Network messages of all kinds; those within one site are none."""
        self.loads: dict[str, int] = dict.fromkeys(self.servers, 0)
        """How many frames each server has heard."""
        self._queue: deque[tuple[str, str, Frame]] = deque()

    def create(self, agent: str, site: str) -> None:
        """An agent is born."""
        self.where[agent] = site
        self._do(site, self.daemons[site].create(agent, now=0))
        self._run()

    def send(self, sender: str, to: str, body: Any = None) -> None:
        """One agent sends to another, and it arrives."""
        site = self.where[sender]
        self._do(site, self.daemons[site].send(sender, to, body, now=0))
        if self._queue:
            self._run()

    def move(self, agent: str, to: str) -> None:
        """An agent moves, and its new place is known to whom it must be."""
        site = self.where[agent]
        if to == site:
            return
        self._do(site, self.daemons[site].depart(agent, to, now=0))
        self._run()

    def forget(self) -> None:
        """Begin to count anew."""
        self.hops.clear()
        self.frames = 0
        self.loads = dict.fromkeys(self.servers, 0)

    def _run(self) -> None:
        queue, do = self._queue, self._do
        while queue:
            src, site, frame = queue.popleft()
            domain = server_of(frame)
            if domain:
                self.loads[domain] += 1
                do(site, self.servers[domain].hear(src, frame, now=0))
            else:
                do(site, self.daemons[site].hear(src, frame, now=0))

    def _do(self, site: str, effects: list[Any]) -> None:
        for effect in effects:
            kind = effect.__class__
            if kind is PersistChange:
                continue
            if kind is TransmitFrame:
                self.frames += effect.site != site
                self._queue.append((site, effect.site, effect.frame))
            elif kind is DeliverPost:
                hops = effect.post.hops
                self.hops[hops] = self.hops.get(hops, 0) + 1
            elif kind is Go:
                self.where[effect.agent] = effect.site
                self._do(site, self.daemons[site].gone(effect.agent, effect.ticket, now=0))
                there = self.daemons[effect.site]
                came = there.arrive(effect.agent, effect.seat, effect.ticket, now=0)
                self._do(effect.site, came)
            else:
                assert kind is not PostFailed, effect
                assert kind is not AgentRefused, effect


def mean_hops(hops: Mapping[int, int]) -> float:
    """Network messages that an application message took in the mean, if it left its site.

    >>> mean_hops({0: 9, 1: 3, 2: 1})
    1.25
    """
    left = sum(times for count, times in hops.items() if count)
    return sum(count * times for count, times in hops.items()) / max(1, left)


def share_direct(hops: Mapping[int, int]) -> float:
    """The share of application messages that took one network message, of those that took any.

    >>> share_direct({0: 1, 1: 3, 3: 1})
    0.75
    """
    left = sum(times for count, times in hops.items() if count)
    return hops.get(1, 0) / max(1, left)
