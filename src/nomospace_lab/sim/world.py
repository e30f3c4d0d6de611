"""A simulated world: hosts, agents behind their controllers, a network, and chance from a seed.

The world carries effects out as a host would, in order, a step at a time, and a crash may come
between any two steps: before a ruling is on disk, after that and before its orders, after an order
and before the note that it was done. Orders not noted as done are carried out again after the
restart; packets have ids and disks remember them, so none is ruled on twice. The network may lose
packets for good: nothing sends again what it lost.

Programs of agents are told deliveries and timers and answer through `ProgramContext`. What they
keep outside `ProgramContext.memory` is lost in a crash, like the process it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nomospace.control import (
    TICK,
    Deliver,
    Effect,
    Event,
    Forward,
    Leave,
    Membership,
    RecordRuling,
    Release,
    Ruling,
    Signal,
    Tick,
    adopt,
    arrived,
    certificate,
    certified,
    sent,
)
from nomospace.errors import CallerError
from nomospace.law import CompiledLaw
from nomospace.terms import Compound, Term
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.disk import Disk, PacketId
from nomospace_lab.sim.faults import TRAP_US, Crash, schedule
from nomospace_lab.sim.history import (
    BARRED,
    CRASHED,
    DELIVERED,
    LOST,
    RELEASED,
    REPEATED,
    RESTARTED,
    RULED,
    SENT,
    SIGNALLED,
    Delivery,
    MemberState,
    Packet,
)
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.simulation import START_US, Simulation

ACTS_MAX: Final = 100_000
"""The most acts of a world's clock in one run; a world that needs more is not going to be quiet."""


class AgentNeverJoined(CallerError):
    """A world was asked for an agent that never joined."""

    code = "sim.no-such-agent"
    words = "no agent {agent!r} in this world; join it before it acts"
    agent: str


@dataclass(frozen=True)
class WorldCertificate:
    """What an issuer says of a subject. One that was not issued in its world is a forgery."""

    issuer: str
    subject: str
    attributes: tuple[Term, ...]

    @property
    def term(self) -> Term:
        """The certificate as laws see it."""
        return certificate(self.issuer, self.subject, self.attributes)


class WorldAgent:
    """A program behind a controller. Made anew when its host starts again."""

    def __init__(self, me: ProgramContext) -> None:
        self.me = me

    def start(self, *, again: bool) -> None:
        """The host has started; `again` after a crash."""

    def receive(self, sender: str, message: Term) -> None:
        """The controller delivered a message."""


Program: TypeAlias = Callable[["ProgramContext"], WorldAgent]


class ProgramContext:
    """What a program may do: send, present certificates, wait, draw, and remember."""

    def __init__(self, world: World, host: WorldHost, id: str, memory: dict[str, Any]) -> None:
        self._world = world
        self._host = host
        self._life = host.life
        self.id = id
        self.memory = memory
        self.rng = world.rng(f"agent/{id}/{host.life}")

    @property
    def now(self) -> int:
        """The home clock, in microseconds."""
        return self._host.now

    def send(self, message: Term, to: str | Sequence[str]) -> None:
        """Hand a message to the controller, for an agent or for several."""
        whom = to if isinstance(to, str) else tuple(to)
        self._soon(sent(self.id, message, whom))

    def present(self, certificate: WorldCertificate) -> None:
        """Present a certificate; a forgery, or one by an unknown issuer, is an exception."""
        self._soon(self._world.judge(self.id, certificate))

    def after(self, delay_s: float, act: Callable[[], None]) -> None:
        """Do something after a while, unless the host crashes before."""
        self._world.clock.after(int(delay_s * SECOND_US), self._act, act)

    def _soon(self, event: Event) -> None:
        self._world.clock.after(0, self._event, event)

    def _act(self, act: Callable[[], None]) -> None:
        if self._host.life == self._life:
            act()

    def _event(self, event: Event) -> None:
        if self._host.life == self._life:
            self._world.tell(self._host, self.id, event)


class WorldHost:
    """A host: its clock, its disk, and (while it is up) its members and their agents."""

    def __init__(self, world: World, name: str, skew_us: int) -> None:
        self._world = world
        self.name = name
        self.skew_us = skew_us
        self.disk = Disk()
        self.members: dict[str, Membership] = {}
        self.agents: dict[str, WorldAgent] = {}
        self.life = 1  # grows with each crash; 0 stands for no life at all
        self.up = True
        self.steps_left: int | None = None  # until a crash in the middle of work
        self.down_us = 0
        self.woken_at: dict[str, int] = {}

    @property
    def now(self) -> int:
        """The host's own clock."""
        return self._world.clock.now + self.skew_us


class World(Simulation):
    """Hosts, agents, a network and a history, all from one seed."""

    def __init__(self, seed: int, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        self.hosts: dict[str, WorldHost] = {}
        self.laws: dict[str, CompiledLaw] = {}
        self.where: dict[str, WorldHost] = {}
        self._programs: dict[str, Program] = {}
        self._issued: set[WorldCertificate] = set()

    # -- setting up ------------------------------------------------------------------------

    def host(self, name: str, *, skew_us: int = 0) -> WorldHost:
        """The host of that name; its clock may be off by a little."""
        if name not in self.hosts:
            self.hosts[name] = WorldHost(self, name, skew_us)
        return self.hosts[name]

    def join(
        self,
        id: str,
        law: CompiledLaw,
        program: Program = WorldAgent,
        *,
        args: tuple[Term, ...] = (),
        manager: bool = False,
    ) -> None:
        """An agent comes to the host that its id names, and adopts a law there."""
        assert id not in self.where, f"{id} is already here"
        host = self.host(id.partition("@")[2] or id)
        self.laws[law.hash] = law
        self.where[id] = host
        self._programs[id] = program
        member, effects = adopt(law, id, args, now=host.now, manager=manager)
        # The disk holds what came before the first ruling; the adoption's own ruling follows.
        initial = (*law.initial, "tupleSpace") if manager else law.initial
        host.disk.adopt(Membership(law, id, state=initial))
        host.members[id] = member
        host.agents[id] = agent = program(
            ProgramContext(self, host, id, host.disk.members[id].memory)
        )
        self._carry_out(host, id, effects)
        self._arm(host, member)
        agent.start(again=False)

    def issue(self, issuer: str, subject: str, *attributes: Term) -> WorldCertificate:
        """A certificate that will check out."""
        found = WorldCertificate(issuer, subject, attributes)
        self._issued.add(found)
        return found

    def judge(self, home: str, shown: WorldCertificate) -> Event:
        """The event that presenting a certificate brings at its home."""
        law = self._member(home).law
        known = any(authority.name == shown.issuer for authority in law.tree.authorities)
        if known and shown in self._issued:
            return certified(shown.issuer, shown.subject, shown.attributes)
        return Event("exception", (Compound("certify", (shown.term,)), "invalidCertificate"))

    def act(self, at_s: float, id: str, act: Callable[..., None], *args: Any) -> None:
        """Somebody makes an agent do something, if its host is up then.

        `at_s` counts seconds from the start; `act` is a method of the agent's program.
        """
        self.clock.at(START_US + int(at_s * SECOND_US), self._act, id, act, args)

    def _act(self, id: str, act: Callable[..., None], args: tuple[Any, ...]) -> None:
        host = self.where.get(id)
        if host is None:
            raise AgentNeverJoined(agent=id)
        if host.up:
            act(host.agents[id], *args)

    # -- running ---------------------------------------------------------------------------

    def run(self, *, until_us: int | None = None) -> None:
        """Go on until all is quiet, or up to a moment. Sets `quiet`."""
        clock = self.clock
        for _ in range(ACTS_MAX):
            due = clock.next_at()
            if due is None:
                self.quiet = True
                return
            if until_us is not None and due > until_us:
                clock.now = max(clock.now, until_us)
                return
            clock.step()

    def _member(self, id: str) -> Membership:
        return self.where[id].members[id]

    # -- one member ------------------------------------------------------------------------

    def tell(
        self, host: WorldHost, home: str, event: Event | Tick, cause: PacketId | None = None
    ) -> None:
        """Tell a controller an event, and carry out what it orders."""
        member = host.members[home]
        effects = member.handle(event, now=host.now)
        self._carry_out(host, home, effects, event, cause)
        if host.up:
            self._arm(host, member)

    def _arm(self, host: WorldHost, member: Membership) -> None:
        """See to it that the member hears the time when its next obligation is due."""
        due = member.next_deadline()
        if due is not None and host.woken_at.get(member.home) != due:
            host.woken_at[member.home] = due
            self.clock.at(due - host.skew_us, self._wake, host, host.life, member.home, due)

    def _wake(self, host: WorldHost, life: int, home: str, due: int) -> None:
        if host.life != life or host.woken_at.get(home) != due:
            return
        del host.woken_at[home]
        self.tell(host, home, TICK)

    def _carry_out(
        self,
        host: WorldHost,
        home: str,
        effects: Sequence[Effect],
        event: Event | Tick | None = None,
        cause: PacketId | None = None,
    ) -> None:
        """Write each ruling to disk, then carry out its orders; stop where a crash comes."""
        start = 0
        while start < len(effects):
            record = effects[start]
            assert isinstance(record, RecordRuling), "a ruling stands before its orders"
            end = start + 1
            while end < len(effects) and type(effects[end]) is not RecordRuling:
                end += 1
            if self._step(host):
                return
            ruling = record.ruling
            because = cause if ruling.event is event else None
            orders = effects[start + 1 : end]
            host.disk.write(home, ruling, orders, because)
            self.history.add(self.clock.now, RULED, home, ruling)
            self._orders(host, home, ruling, orders, 0)
            if not host.up:
                return
            start = end

    def _orders(
        self, host: WorldHost, home: str, ruling: Ruling, orders: Sequence[Effect], done: int
    ) -> None:
        for place in range(done, len(orders)):
            if self._step(host):
                return
            order = orders[place]
            if isinstance(order, Forward):
                id = (home, ruling.seq, place)
                self._send(host, Packet(id, ruling.law, order.sender, order.message, order.to))
                if self._step(host):  # sent, but not noted: it will be sent again
                    return
            elif isinstance(order, Deliver):
                # The agent and the note are in one process: a crash takes both or neither.
                given = Delivery(ruling.seq, order.sender, order.message)
                self.history.add(self.clock.now, DELIVERED, home, given)
                host.agents[home].receive(order.sender, order.message)
            elif isinstance(order, Release):
                self.history.add(self.clock.now, RELEASED, home, order)
            elif isinstance(order, Signal):
                self.history.add(self.clock.now, SIGNALLED, home, order.what)
            else:
                assert isinstance(order, Leave), order
            host.disk.carried_out(home, place + 1)

    def _step(self, host: WorldHost) -> bool:
        """Count a step of a host's work; true when it crashes here."""
        if host.steps_left is None:
            return False
        host.steps_left -= 1
        if host.steps_left > 0:
            return False
        self._crash(host)
        return True

    # -- messages --------------------------------------------------------------------------

    def _send(self, host: WorldHost, packet: Packet) -> None:
        now = self.clock.now
        self.history.add(now, SENT, packet.id[0], packet)
        target = self.where.get(packet.to)
        if target is None:
            self._bar(host, packet, "unknownDestination")
            return
        arrivals = self.network.arrivals(host.name, target.name, now=now)
        if not arrivals:
            self.history.add(now, LOST, packet.to, (packet, "on the way"))
        for when in arrivals:
            self.clock.at(when, self._arrive, host, target, packet)

    def _arrive(self, source: WorldHost, target: WorldHost, packet: Packet) -> None:
        if not target.up:
            self.history.add(self.clock.now, LOST, packet.to, (packet, f"{target.name} is down"))
        elif self.network.parted(source.name, target.name):
            self.history.add(self.clock.now, LOST, packet.to, (packet, "the network is parted"))
        elif packet.law != target.members[packet.to].law.hash:
            self._bar(source, packet, "lawMismatch")
        elif packet.id in target.disk.members[packet.to].received:
            self.history.add(self.clock.now, REPEATED, packet.to, packet)
        else:
            event = arrived(packet.sender, packet.message, packet.to)
            self.tell(target, packet.to, event, packet.id)

    def _bar(self, source: WorldHost, packet: Packet, why: str) -> None:
        """A packet is not taken; the controller that sent it learns why, if the news gets back."""
        now = self.clock.now
        self.history.add(now, BARRED, packet.to, (packet, why))
        target = self.where.get(packet.to, source)
        home, seq, place = packet.id
        operation = Compound("forward", (packet.sender, packet.message, packet.to))
        event = Event("exception", (operation, why))
        for when in self.network.arrivals(target.name, source.name, now=now):
            self.clock.at(when, self._news, source, home, event, (f"barred {home}", seq, place))

    def _news(self, host: WorldHost, home: str, event: Event, id: PacketId) -> None:
        if host.up and id not in host.disk.members[home].received:
            self.tell(host, home, event, id)

    # -- faults ----------------------------------------------------------------------------

    def trouble(self, *, from_s: float, heal_s: float) -> None:
        """Draw faults for all hosts from the seed, between two moments; then all is healed."""
        start_us, end_us = (START_US + int(at_s * SECOND_US) for at_s in (from_s, heal_s))
        faults = schedule(self.rng("faults"), tuple(self.hosts), start_us=start_us, end_us=end_us)
        self.plan(faults, heal_at_us=end_us)

    def crash(self, fault: Crash) -> None:
        """Crash a host, at once or in the middle of its next work."""
        host = self.hosts[fault.host]
        if not host.up or host.steps_left is not None:
            return
        host.down_us = fault.down_us
        if fault.steps:
            host.steps_left = fault.steps
            # A host with nothing to do crashes all the same, a little later.
            self.clock.after(TRAP_US, self._crash_at_last, host, host.life)
        else:
            self._crash(host)

    def _crash_at_last(self, host: WorldHost, life: int) -> None:
        if host.life == life and host.steps_left is not None:
            self._crash(host)

    def _crash(self, host: WorldHost) -> None:
        must = tuple(
            [_as_on_disk(m, host.disk.members[home].seq) for home, m in host.members.items()]
        )
        self.history.add(self.clock.now, CRASHED, host.name, must)
        host.up = False
        host.steps_left = None
        host.life += 1
        host.members.clear()
        host.agents.clear()
        host.woken_at.clear()
        self.clock.after(host.down_us, self._restart, host, host.life)

    def _restart(self, host: WorldHost, life: int) -> None:
        if host.up or host.life != life:
            return
        host.up = True
        for home, stored in host.disk.members.items():
            host.members[home] = stored.restore()
            host.agents[home] = self._programs[home](
                ProgramContext(self, host, home, stored.memory)
            )
        came_back = tuple([_as_it_is(member) for member in host.members.values()])
        self.history.add(self.clock.now, RESTARTED, host.name, came_back)
        for home, stored in host.disk.members.items():
            host.agents[home].start(again=True)
            if stored.unfinished is not None:
                self._orders(host, home, *stored.unfinished)
            if host.up:
                # What came due meanwhile fires now, once.
                self.tell(host, home, TICK)
            if not host.up:
                return

    def bring_back(self) -> None:
        """Start every host that is down; traps that were not sprung are gone."""
        for host in self.hosts.values():
            host.steps_left = None
            self._restart(host, host.life)


def _as_it_is(member: Membership) -> MemberState:
    return MemberState(member.home, member.seq, tuple(member.state), tuple(member.obligations))


def _as_on_disk(member: Membership, seq: int) -> MemberState:
    """The member after its last ruling on disk: memory may be ahead of the disk."""
    if member.seq == seq:
        return _as_it_is(member)
    state, obligations = member.before(seq + 1)
    # `before` gives the state that ruling saw; an obligation that it fired was still pending.
    fired = [r for r in member.history() if r.seq == seq + 1 and r.due_at is not None]
    if fired:
        obligations = obligations.copy()
    for ruling in fired:
        _, place, term, _ = ruling.delta[0]
        obligations.put(place, term)
    return MemberState(member.home, seq, tuple(state), tuple(obligations))
