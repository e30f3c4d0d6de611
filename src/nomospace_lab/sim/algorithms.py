"""The three algorithms, to be run on one workload.

*Central* (the paper's 3.1): one server for the world; every post goes through it. *QSC* (3.1): one
server for the world and daemons that guess. *FQSC* (3.2): a server for each domain, and chains of
pointers between them that collapse; hosts use this one.

All three keep the same promises: exactly once, in order for each pair, nothing lost in silence. An
agent's record is what waits, never a server. They differ in the way posts take, and in who is told.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import Post, Update
from nomospace.protocols.routing.interface import Effect, TransmitFrame
from nomospace.protocols.routing.limits import DEFAULT_LIMITS, RoutingLimits
from nomospace.protocols.routing.places import Places, Servers
from nomospace.protocols.routing.server import DomainServer
from nomospace.protocols.routing.server_memory import Tickets, plain_ticket


class CentralDaemon(Daemon):
    """A daemon that always asks the server, for agents at its own site too."""

    SHORTCUT = False


class CentralServer(DomainServer):
    """A server that passes posts on and tells nobody."""

    def _pass_to_site(self, post: Post, site: str, epoch: int, out: list[Effect]) -> None:
        out.append(TransmitFrame(site, self._passed_on(post, site)))

    def _passed_on(self, post: Post, site: str) -> Post:
        hops = post.hops + (site != self.site)
        return msgspec.structs.replace(post, hops=hops, passes=post.passes + 1)


class QscServer(CentralServer):
    """A server that passes posts on and tells their origin at once where the agent is."""

    def _pass_to_site(self, post: Post, site: str, epoch: int, out: list[Effect]) -> None:
        super()._pass_to_site(post, site, epoch, out)
        if not post.why:
            update = Update(post.id, post.to, site, epoch, post.origin, ())
            out.append(TransmitFrame(post.origin, update))


class Algorithm(msgspec.Struct, frozen=True):
    """How to make the cores of a world.

    `servers` gives every domain its sites. Without federation the first domain's server serves the
    world, and daemons belong to that domain, whatever they are told.

    >>> servers = {"lab": ("q1",), "ward": ("q2",)}
    >>> [(a.name, a.domains(servers)) for a in ALGORITHMS.values()]
    [('central', ('lab',)), ('qsc', ('lab',)), ('fqsc', ('lab', 'ward'))]
    """

    name: str
    federated: bool
    daemons: type[Daemon]
    servers: type[DomainServer]

    def domains(self, servers: Servers) -> tuple[str, ...]:
        """The domains that need a server; its sites are in `servers`."""
        return tuple(servers) if self.federated else tuple(servers)[:1]

    def places(self, servers: Servers) -> Places:
        """What the cores of one process may share."""
        return Places(servers, world=None if self.federated else next(iter(servers)))

    def daemon(
        self,
        site: str,
        domain: str,
        places: Places,
        *,
        limits: RoutingLimits = DEFAULT_LIMITS,
        eager: bool = False,
    ) -> Daemon:
        """The daemon of a site in a domain."""
        return self.daemons(site, places.world or domain, places, limits=limits, eager=eager)

    def server(
        self,
        site: str,
        domain: str,
        places: Places,
        *,
        limits: RoutingLimits = DEFAULT_LIMITS,
        tickets: Tickets = plain_ticket,
        life: int = 0,
    ) -> DomainServer:
        """The server of a domain, without a standby."""
        return self.servers(site, domain, places, limits=limits, tickets=tickets, life=life)


CENTRAL: Final = Algorithm("central", False, CentralDaemon, CentralServer)
QSC: Final = Algorithm("qsc", False, Daemon, QscServer)
FQSC: Final = Algorithm("fqsc", True, Daemon, DomainServer)
ALGORITHMS: Final = {each.name: each for each in (CENTRAL, QSC, FQSC)}
