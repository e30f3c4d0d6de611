"""A small world of daemons and servers with a courier that keeps no order, for tests.

Disks are real: a site that crashes is made anew from the changes it persisted, at any step. The
courier is durable, so frames survive crashes of both ends. Handovers are done by this world.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import Frame, NotPrimary, server_of
from nomospace.protocols.routing.interface import (
    AgentRefused,
    Created,
    DeliverPost,
    Effect,
    Go,
    MoveSettled,
    Noted,
    PersistChange,
    PostFailed,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.replicas import ServerRole
from nomospace.protocols.routing.server import DomainServer
from nomospace.protocols.routing.standby import PairedServer
from nomospace_lab.sim.algorithms import Algorithm


@dataclass
class World:
    algorithm: Algorithm
    layout: dict[str, tuple[str, ...]]
    """Each domain's sites; the first runs the server, and the second its standby if asked for."""
    limits: RoutingLimits = field(default_factory=RoutingLimits)
    eager: bool = False
    standby: bool = False
    watch: Callable[[str, Effect], None] | None = None
    """Told every effect and the site that it comes from."""
    now: int = 0
    network: list[tuple[str, str, Frame]] = field(default_factory=list)
    handovers: list[tuple[str, Go]] = field(default_factory=list)
    delivered: dict[str, list[tuple[str, object, int]]] = field(default_factory=dict)
    failed: list[tuple[str, str, object, str]] = field(default_factory=list)
    notes: list[Noted] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    running: dict[str, str] = field(default_factory=dict)
    created: dict[str, None] = field(default_factory=dict)
    moving: dict[str, str] = field(default_factory=dict)
    """Agents that asked to move, or whose last move is not settled."""

    def __post_init__(self) -> None:
        count = 2 if self.standby else 1
        self.servers = {domain: sites[:count] for domain, sites in self.layout.items()}
        self.places = self.algorithm.places(self.servers)
        self.domain_of = {s: domain for domain, sites in self.layout.items() for s in sites}
        self.daemons: dict[str, Daemon] = {}
        self.server_cores: dict[tuple[str, str], DomainServer | PairedServer] = {}
        self.disks: dict[tuple[str, ...], list[Change]] = {}
        self.down: dict[str, None] = {}
        for site in self.domain_of:
            self.daemons[site] = self._daemon(site)
            self.disks["daemon", site] = []
        for domain in self.algorithm.domains(self.servers):
            for site in self.servers[domain]:
                self.server_cores[domain, site] = self._server(domain, site)
                self.disks["server", domain, site] = []

    def _daemon(self, site: str) -> Daemon:
        return self.algorithm.daemon(
            site, self.domain_of[site], self.places, limits=self.limits, eager=self.eager
        )

    def _server(self, domain: str, site: str) -> DomainServer | PairedServer:
        server = self.algorithm.server(site, domain, self.places, limits=self.limits)
        return PairedServer(server) if self.standby else server

    # -- what agents do ------------------------------------------------------------------------

    def create(self, agent: str, site: str) -> None:
        self.at_daemon(site, self.daemons[site].create(agent, now=self.now))

    def end(self, agent: str) -> None:
        site = self.running.pop(agent)
        self.at_daemon(site, self.daemons[site].end(agent, now=self.now))

    def send(self, sender: str, to: str, body: object) -> None:
        site = self.running[sender]
        self.at_daemon(site, self.daemons[site].send(sender, to, body, now=self.now))

    def depart(self, agent: str, to: str) -> None:
        site = self.running[agent]
        self.moving[agent] = to
        self.at_daemon(site, self.daemons[site].depart(agent, to, now=self.now))

    def cancel(self, agent: str) -> None:
        site = self.running[agent]
        self.at_daemon(site, self.daemons[site].stay(agent, now=self.now))

    # -- what the world does -------------------------------------------------------------------

    def bring(self, index: int) -> None:
        """Let the courier bring one of the frames under way."""
        src, site, frame = self.network.pop(index)
        domain = server_of(frame)
        if domain:
            effects = self.server_cores[domain, site].hear(src, frame, now=self.now)
            self.carry_out(("server", domain, site), site, effects)
            return
        self.at_daemon(site, self.daemons[site].hear(src, frame, now=self.now))
        if isinstance(frame, NotPrimary):
            for (domain, where), server in self.server_cores.items():
                if where == site:
                    effects = server.hear(src, frame, now=self.now)
                    self.carry_out(("server", domain, site), site, effects)

    def deliverable(self) -> list[int]:
        """The frames under way whose receiver is up."""
        return [i for i, (_, site, _) in enumerate(self.network) if site not in self.down]

    def take_over(self, domain: str) -> None:
        """Let a standby that is up to date become the primary."""
        pair = [s for (d, _), s in self.server_cores.items() if d == domain]
        assert all(isinstance(server, PairedServer) for server in pair)
        term = max(server.term for server in pair if isinstance(server, PairedServer)) + 1
        for server in pair:
            if isinstance(server, PairedServer) and server.role is ServerRole.STANDBY:
                key = ("server", domain, server.site)
                self.carry_out(key, server.site, server.take_over(term))
                return

    def hand_over(self, index: int, *, refuse: bool = False) -> None:
        site, go = self.handovers.pop(index)
        if refuse:
            self.running[go.agent] = site
            self.at_daemon(site, self.daemons[site].stay(go.agent, now=self.now))
            return
        self.running[go.agent] = go.site
        there = self.daemons[go.site]
        self.at_daemon(go.site, there.arrive(go.agent, go.seat, go.ticket, now=self.now))
        self.at_daemon(site, self.daemons[site].gone(go.agent, go.ticket, now=self.now))

    def crash(self, key: tuple[str, ...], *, compact: bool = False) -> None:
        """Make a core anew from its disk; sometimes the disk starts over first."""
        if key[0] == "daemon":
            daemon, site = self._daemon(key[1]), key[1]
            if compact:
                self.disks[key] = self.daemons[site].changes()
            daemon.restore(self.disks[key], now=self.now)
            assert durable(daemon) == durable(self.daemons[site])
            self.daemons[site] = daemon
        else:
            _, domain, site = key
            server = self._server(domain, site)
            if compact:
                self.disks[key] = self.server_cores[domain, site].changes()
            server.restore(self.disks[key], now=self.now)
            assert durable(server) == durable(self.server_cores[domain, site])
            self.server_cores[domain, site] = server

    def clone(self, key: tuple[str, ...]) -> None:
        """Go on with a copy of a core."""
        if key[0] == "daemon":
            self.daemons[key[1]] = self.daemons[key[1]].copy()
        else:
            self.server_cores[key[1], key[2]] = self.server_cores[key[1], key[2]].copy()

    def tick(self) -> None:
        """Let the time pass until some daemon wants to hear of it."""
        dues = [due for d in self.daemons.values() if (due := d.next_deadline()) is not None]
        self.now = max(self.now, min(dues, default=self.now))
        for site, daemon in self.daemons.items():
            if (due := daemon.next_deadline()) is not None and due <= self.now:
                self.at_daemon(site, daemon.tick(now=self.now))

    def at_daemon(self, site: str, effects: list[Effect]) -> None:
        self.carry_out(("daemon", site), site, effects)

    def carry_out(self, key: tuple[str, ...], site: str, effects: list[Effect]) -> None:
        for effect in effects:
            if self.watch is not None:
                self.watch(site, effect)
            if isinstance(effect, PersistChange):
                self.disks[key].append(effect.change)
            elif isinstance(effect, TransmitFrame):
                self.network.append((site, effect.site, effect.frame))
            elif isinstance(effect, DeliverPost):
                assert self.running[effect.agent] == site, "an agent gets mail only where it runs"
                inbox = self.delivered.setdefault(effect.agent, [])
                inbox.append((effect.post.sender, effect.post.body, effect.post.hops))
            elif isinstance(effect, PostFailed):
                post = effect.post
                self.failed.append((post.sender, post.to, post.body, effect.why))
            elif isinstance(effect, Go):
                assert self.running.pop(effect.agent) == site
                self.handovers.append((site, effect))
            elif isinstance(effect, Created):
                self.created[effect.agent] = None
                self.running[effect.agent] = site
            elif isinstance(effect, MoveSettled):
                del self.moving[effect.agent]
            elif isinstance(effect, AgentRefused):
                self.refused.append((effect.agent, effect.why))
                self.moving.pop(effect.agent, None)
            elif isinstance(effect, Noted):
                self.notes.append(effect)

    def busy(self) -> bool:
        return bool(self.network or self.handovers)

    def settle(self, rng: random.Random | None = None) -> None:
        """Go on until nothing is under way, in the order of sending or in any."""
        for _ in self.steps(rng):
            pass

    def steps(self, rng: random.Random | None) -> Iterator[None]:
        for _ in range(1_000_000):
            if self.handovers and (not self.network or rng is None or rng.random() < 0.2):
                self.hand_over(rng.randrange(len(self.handovers)) if rng else 0)
            elif self.network:
                self.bring(rng.randrange(len(self.network)) if rng else 0)
            elif any(d.next_deadline() is not None for d in self.daemons.values()):
                self.tick()
            else:
                return
            yield
        raise AssertionError("the world never comes to rest")


def durable(core: Daemon | DomainServer | PairedServer) -> list[str]:
    """What of a core must survive a crash; in which order it came, or who wrote, need not."""
    return sorted(re.sub(r"writers=\([^)]*\)", "", repr(change)) for change in core.changes())
