"""A small world of daemons and servers with a courier that keeps no order, for tests.

Disks are real: a site that crashes is made anew from the changes it persisted, at any step. The
courier is durable, so frames survive crashes of both ends. Handovers are done by this world.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from nomospace.protocols.routing import (
    Algorithm,
    Change,
    Created,
    Daemon,
    Deliver,
    Effect,
    Failed,
    Frame,
    Go,
    Limits,
    Noted,
    Persist,
    Refused,
    Server,
    Settled,
    Transmit,
    server_of,
)


@dataclass
class World:
    algorithm: Algorithm
    layout: dict[str, tuple[str, ...]]
    """Each domain's sites; the first runs the server."""
    limits: Limits = field(default_factory=Limits)
    eager: bool = False
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
        self.servers = {domain: sites[:1] for domain, sites in self.layout.items()}
        self.places = self.algorithm.places(self.servers)
        self.domain_of = {s: domain for domain, sites in self.layout.items() for s in sites}
        self.daemons: dict[str, Daemon] = {}
        self.server_cores: dict[str, Server] = {}
        self.disks: dict[tuple[str, str], list[Change]] = {}
        for site in self.domain_of:
            self.daemons[site] = self._daemon(site)
            self.disks["daemon", site] = []
        for domain in self.algorithm.domains(self.servers):
            self.server_cores[domain] = self._server(domain)
            self.disks["server", domain] = []

    def _daemon(self, site: str) -> Daemon:
        return self.algorithm.daemon(
            site, self.domain_of[site], self.places, limits=self.limits, eager=self.eager
        )

    def _server(self, domain: str) -> Server:
        site = self.servers[domain][0]
        return self.algorithm.server(site, domain, self.places, limits=self.limits)

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
            effects = self.server_cores[domain].hear(src, frame, now=self.now)
            self.carry_out(("server", domain), site, effects)
        else:
            self.at_daemon(site, self.daemons[site].hear(src, frame, now=self.now))

    def hand_over(self, index: int, *, refuse: bool = False) -> None:
        site, go = self.handovers.pop(index)
        if refuse:
            self.running[go.agent] = site
            self.at_daemon(site, self.daemons[site].stay(go.agent, now=self.now))
            return
        self.running[go.agent] = go.site
        there = self.daemons[go.site]
        self.at_daemon(go.site, there.arrive(go.agent, go.seat, go.ticket, now=self.now))
        self.at_daemon(site, self.daemons[site].gone(go.agent, now=self.now))

    def crash(self, key: tuple[str, str], *, compact: bool = False) -> None:
        """Make a core anew from its disk; sometimes the disk starts over first."""
        kind, name = key
        core = self.daemons[name] if kind == "daemon" else self.server_cores[name]
        if compact:
            self.disks[key] = core.changes()
        fresh = self._daemon(name) if kind == "daemon" else self._server(name)
        fresh.restore(self.disks[key], now=self.now)
        if isinstance(fresh, Daemon):
            self.daemons[name] = fresh
        else:
            self.server_cores[name] = fresh

    def tick(self) -> None:
        """Let the time pass until some daemon wants to hear of it."""
        dues = [due for d in self.daemons.values() if (due := d.next_deadline()) is not None]
        self.now = max(self.now, min(dues, default=self.now))
        for site, daemon in self.daemons.items():
            if (due := daemon.next_deadline()) is not None and due <= self.now:
                self.at_daemon(site, daemon.tick(now=self.now))

    def at_daemon(self, site: str, effects: list[Effect]) -> None:
        self.carry_out(("daemon", site), site, effects)

    def carry_out(self, key: tuple[str, str], site: str, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Persist):
                self.disks[key].append(effect.change)
            elif isinstance(effect, Transmit):
                self.network.append((site, effect.site, effect.frame))
            elif isinstance(effect, Deliver):
                assert self.running[effect.agent] == site, "an agent gets mail only where it runs"
                inbox = self.delivered.setdefault(effect.agent, [])
                inbox.append((effect.post.sender, effect.post.body, effect.post.hops))
            elif isinstance(effect, Failed):
                post = effect.post
                self.failed.append((post.sender, post.to, post.body, effect.why))
            elif isinstance(effect, Go):
                assert self.running.pop(effect.agent) == site
                self.handovers.append((site, effect))
            elif isinstance(effect, Created):
                self.created[effect.agent] = None
                self.running[effect.agent] = site
            elif isinstance(effect, Settled):
                del self.moving[effect.agent]
            elif isinstance(effect, Refused):
                self.refused.append((effect.agent, effect.why))
                self.moving.pop(effect.agent, None)
            else:
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
