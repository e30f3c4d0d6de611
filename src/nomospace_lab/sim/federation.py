"""A world of hosts whose spaces join and part: `Sites`.

Each site runs the very core that a real host runs. The world carries its effects out one by one,
in order, and a crash may come between any two: what a `Persist` says is on disk whole or not at
all, and what stands behind it is then never seen by anyone. After a crash a new core starts from
the disk, one life later. A host that `forgets` has no disk: it starts with nothing, under its old
name, and its agents are in the world no more until the script brings others of their names.

Frames go over the links that there are just then (`topology`), and through the weather of the
network: late, twice, out of order or not at all. Agents are known by their calls alone: a script
says who asks for what and when, and what to do with the answer. A call of an agent whose host is
down, or that is on its way between hosts, is not made.

Agents move in two ways. One that asks its host to (`Move`) is handed over by the hosts themselves;
what the disks say is where it is. Or the script carries it (`move`): packing and unpacking is then
one step that no crash splits, and until its new host has an agent on disk, the script holds on to
what it carries.

Heartbeats never end, so a world runs up to a moment (`end_us`) instead of to silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from nomospace.calls.requests import READ_ALL, STRONG, React, Request, Seek
from nomospace.control import Ruling
from nomospace.host.calls import (
    Arrive,
    Bundle,
    Call,
    Certified,
    Depart,
    Disengage,
    Engage,
    Event,
    Heard,
    Moved,
    PutBack,
    Revoked,
    Speak,
    Tick,
)
from nomospace.host.changes import AgentCame, AgentWent, MemberRuled
from nomospace.host.effects import (
    Answer,
    Came,
    Effect,
    Fire,
    Halted,
    Left,
    Mail,
    Note,
    Packed,
    Persist,
    Ruled,
    Transmit,
)
from nomospace.host.system import SYSTEM
from nomospace.law import CompiledLaw
from nomospace.protocols.births import BEFORE
from nomospace.protocols.policy import Policy
from nomospace.protocols.routing.limits import DEFAULT_LIMITS, RoutingLimits
from nomospace.terms import Term
from nomospace.terms.templates import ANY, Template
from nomospace.wire.changes import decode_change, encode_change
from nomospace.wire.frames import decode_frame, encode_frame
from nomospace_lab.sim import observed
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash, Pause
from nomospace_lab.sim.firings import Inside, StrongFirings
from nomospace_lab.sim.history import CRASHED, PAUSED, RESTARTED, RESUMED, RULED
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.simulation import Simulation
from nomospace_lab.sim.site import Admits, Site
from nomospace_lab.sim.topology import Place, Topology

ACTS_MAX: Final = 5_000_000
"""The most acts of a world's clock in one run; more in a few minutes is a storm of frames."""
TRAP_US: Final = 3 * SECOND_US
"""A host that was to crash in the middle of work, and has had none for so long, crashes now."""
KNOCK_US: Final = SECOND_US
"""How often a traveller tries a host that is down."""
GLIMPSE: Final = -1
LOOK: Final = Seek(SYSTEM, READ_ALL, Template.of(("host", ANY, ANY)))
TICK: Final = Tick()

Then: TypeAlias = Callable[[Answer], None]


class Sites(Simulation):
    """Hosts, their links, their agents' calls, and chance from one seed.

    >>> world = Sites(1)
    >>> for name in ("x", "y"):
    ...     _ = world.site(name)
    >>> world.arrive("ann@x", "x"); world.arrive("bob@y", "y")
    >>> from nomospace.calls.requests import TAKE, Open, Out, Seek, Share
    >>> for agent in ("ann@x", "bob@y"):
    ...     _ = world.call(agent, Open("jobs")), world.call(agent, Share(("jobs",)))
    >>> world.connect("x", "y")
    >>> world.pass_s(10)
    >>> _ = world.call("ann@x", Out("jobs", ("job", 17)))
    >>> world.ask("bob@y", Seek("jobs", TAKE, Template.of(("job", int)))).value.fields
    ('job', 17)
    """

    def __init__(
        self,
        seed: int,
        *,
        link: Link | None = None,
        laws: Iterable[CompiledLaw] = (),
        observe: bool = True,
        encode: bool = False,
        servers: Mapping[str, tuple[str, ...]] | None = None,
        limits: RoutingLimits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(seed, link=link)
        self.sites: dict[str, Site] = {}
        self.topology = Topology()
        self.where: dict[str, str | None] = {}
        self.end_us = self.clock.now
        self.frames = 0
        self.observe = observe
        """Whether an agent of each host looks at `LimeSystem` when a view is installed."""
        self.encode = encode
        """Whether frames travel as bytes, and hosts write down bytes, as real ones do."""
        self.on_restart: Callable[[str, Sequence[str]], None] | None = None
        """Told the host and its agents when a host has started again."""
        self.laws = {law.hash: law for law in laws}
        """What every host knows from its start, by hash; an agent that moves is at home there."""
        self.servers = servers or {}
        """Which hosts serve which domains."""
        self.limits = limits
        """How much mail may wait at a host."""
        self.glimpsed: Mapping[str, Sequence[str]] = {}
        """The spaces of each agent that it looks into when a view is installed."""
        self.glimpse = Template.of((ANY, ANY, ANY))
        """What it looks for there."""
        self._ops = 0
        # By the number of a call: who made it, at which host it waits (`None`: on its way with its
        # agent), and what the script does with the answer.
        self._asked: dict[int, tuple[str, str | None, Then | None]] = {}
        self._leaving: dict[str, tuple[str, int]] = {}
        self._firings = StrongFirings()

    @property
    def messages(self) -> int:
        """How many frames were handed to the network, each receiver counted."""
        return self.frames

    # -- hosts and links -------------------------------------------------------------------

    def site(
        self,
        name: str,
        *,
        skew_us: int = 0,
        policy: Policy | None = None,
        domain: str | None = None,
        admits: Admits | None = None,
        birth: int = BEFORE,
        forgets: bool = False,
    ) -> Site:
        """A new host, up from now on; its clock may be off by a little.

        Its `birth` is on its disk; one that `forgets` has no disk, and draws another at each start.
        """
        assert name not in self.sites, f"there is a host {name} already"
        site = Site(name, skew_us, policy, domain, admits, birth, forgets=forgets)
        self.sites[name] = site
        self._start(site)
        return site

    def connect(self, a: str, b: str, link: Link | None = None) -> None:
        """Let two hosts hear each other from now on; `link` gives the link a nature of its own."""
        for source, target in ((a, b), (b, a)):
            self.network.set_link(source, target, link)
        if self.topology.connect(a, b):
            self.history.add(
                self.clock.now, observed.LINKED, f"{a} {b}", None if link is None else str(link)
            )

    def part(self, a: str, b: str) -> None:
        """Let two hosts hear each other no more; what is under way between them is lost."""
        if self.topology.part(a, b):
            self.history.add(self.clock.now, observed.UNLINKED, f"{a} {b}")

    def place(self, host: str, at: Place, *, range_m: float) -> None:
        """Put a host somewhere: links follow from the range, and the host is told."""
        made, broken = self.topology.place(host, at, range_m=range_m)
        for kind, pairs in ((observed.LINKED, made), (observed.UNLINKED, broken)):
            for a, b in pairs:
                self.history.add(self.clock.now, kind, f"{a} {b}")
        self._tell(self.sites[host], Moved(at))

    def engage(self, host: str) -> None:
        """A host announces that it would engage."""
        self.history.add(self.clock.now, observed.ENGAGED, host)
        self.tell(host, Engage())

    def disengage(self, host: str) -> None:
        """A host announces that it leaves."""
        self.history.add(self.clock.now, observed.DISENGAGED, host)
        self.tell(host, Disengage())

    # -- agents ----------------------------------------------------------------------------

    def arrive(self, agent: str, host: str) -> None:
        """A new agent comes to a host."""
        assert agent not in self.where, f"{agent} is in the world already"
        self._come(agent, host, None)

    def move(self, agent: str, to: str, *, travel_us: int = 0) -> bool:
        """Send an agent to another host; false when it cannot leave now."""
        site = self._home(agent)
        if site is None:
            return False
        self._leaving[agent] = (to, travel_us)
        self._tell(site, Depart(agent))
        return True

    def _home(self, agent: str) -> Site | None:
        """Where an agent is that can act now: its host is up, and it is not about to leave."""
        host = self.where.get(agent)
        if host is None or agent in self._leaving or not self.sites[host].up:
            return None
        return self.sites[host]

    def _here(self, site: Site) -> list[str]:
        return [agent for agent, host in self.where.items() if host == site.name]

    def _packed(self, bundle: Bundle) -> None:
        to, travel_us = self._leaving.pop(agent := bundle.agent)
        self.history.add(self.clock.now, observed.LEFT, agent, self.where[agent])
        self.where[agent] = None
        self.clock.after(travel_us, self._come, agent, to, bundle)

    def _come(self, agent: str, host: str, bundle: Bundle | None) -> None:
        site = self.sites[host]
        self.where[agent] = None
        if not site.up:
            self.clock.after(KNOCK_US, self._come, agent, host, bundle)
            return
        site.coming[agent] = bundle
        self._tell(site, Arrive(agent, bundle))

    def _settle_in(self, site: Site) -> None:
        """Agents that are on the disk now are here."""
        for agent in [agent for agent in site.coming if agent in site.disk.agents]:
            del site.coming[agent]
            self.where[agent] = site.name
            self.history.add(self.clock.now, observed.CAME, agent, site.name)

    def agents(self) -> list[str]:
        """Who can be asked to act now: agents on hosts that are up."""
        return [a for a, host in self.where.items() if host is not None and self.sites[host].up]

    # -- laws ------------------------------------------------------------------------------

    def speak(self, host: str, space: str, law: CompiledLaw, message: Term, to: str) -> None:
        """The operator of a host lets a governed space say something."""
        self.tell(host, Speak(space, law.hash, message, to))

    def certify(
        self, agent: str, law: CompiledLaw, issuer: str, *attributes: Term, held: bool = True
    ) -> bool:
        """Tell an agent's host of a certificate that checks out, or (not `held`) of one revoked.

        False when the agent's host cannot be told now.
        """
        site = self._home(agent)
        if site is None:
            return False
        self._tell(site, (Certified if held else Revoked)(agent, law.hash, issuer, attributes))
        return True

    # -- calls -----------------------------------------------------------------------------

    def call(
        self, agent: str, request: Request | PutBack, then: Then | None = None, *, round: int = 0
    ) -> int | None:
        """An agent asks its host for something; `then` is told the answer, if one comes.

        Gives the number of the call, or `None` when the agent cannot act now.
        """
        site = self._home(agent)
        if site is None:
            return None
        self._ops = op = self._ops + 1
        self._asked[op] = (agent, site.name, then)
        known = request
        if isinstance(request, React) and request.listener is not None:
            # A history must not hold on to the world: happenings are not known to the collector.
            known = msgspec.structs.replace(request, listener=None)
        called = observed.ObservedCall(op, site.name, known, round)
        self.history.add(self.clock.now, observed.ASKED, agent, called)
        if isinstance(request, React) and request.strength == STRONG:
            request = self._firings.watched(agent, request, self._act)
        self._tell(site, Call(op, agent, request))
        return op

    def ask(self, agent: str, request: Request, *, within_s: float = 10) -> Answer:
        """Call, let time pass until the answer is there, and give it."""
        found: list[Answer] = []
        assert self.call(agent, request, found.append) is not None, f"{agent} cannot act now"
        until_us = self.clock.now + int(within_s * SECOND_US)
        while not found:
            due = self.clock.next_at()
            assert due is not None, "hosts have deadlines for ever"
            assert due <= until_us, f"{agent} had no answer within {within_s:g} s: {request}"
            self.clock.step()
        return found[0]

    def waiting(self) -> dict[int, str]:
        """The calls that have no answer yet and may still get one, and who made each."""
        return {op: agent for op, (agent, _, _) in self._asked.items()}

    def _act(self, listener: Callable[[Any], None], _: Any, inside: Inside, space: str) -> None:
        """Let the listener of a strong reaction act in its step."""
        listener(inside)

    # -- running ---------------------------------------------------------------------------

    def run(self, *, until_us: int | None = None) -> None:
        """Go on to `end_us`, or up to a moment before."""
        until_us = self.end_us if until_us is None else until_us
        clock = self.clock
        for _ in range(ACTS_MAX):
            due = clock.next_at()
            if due is None or due > until_us:
                clock.now = max(clock.now, until_us)
                self.quiet = until_us >= self.end_us
                return
            clock.step()

    def pass_s(self, seconds: float) -> None:
        """Let some time pass."""
        self.run(until_us=self.clock.now + int(seconds * SECOND_US))

    def at(self, at_us: int, act: Callable[..., None], *args: Any) -> None:
        """Arrange for the script to do something."""
        self.clock.at(at_us, act, *args)

    def tell(self, host: str, event: Event) -> None:
        """Tell a host what its operator does."""
        self._tell(self.sites[host], event)

    def _tell(self, site: Site, event: Event) -> None:
        """Tell a host an event and carry out what it orders; one that is down hears nothing."""
        core = site.core
        if core is None:
            return
        if site.waits is not None:
            site.waits.append(event)
            return
        effects = core.handle(event, now=self.clock.now + site.skew_us)
        if core.frozen is not site.frozen:
            site.frozen = core.frozen
            kind = observed.FROZE if site.frozen else observed.THAWED
            self.history.add(self.clock.now, kind, site.name)
        if effects:
            self._carry_out(site, effects)
            if site.coming:
                self._settle_in(site)
        if site.core is core:
            due = core.next_deadline()
            if due is not None:
                due -= site.skew_us
                if site.wake_at is None or due < site.wake_at:
                    site.wake_at = due = max(due, self.clock.now)
                    self.clock.at(due, self._wake, site, site.life, due)

    def _wake(self, site: Site, life: int, due: int) -> None:
        if site.life == life and site.wake_at == due:
            site.wake_at = None
            self._tell(site, TICK)

    def _carry_out(self, site: Site, effects: Sequence[Effect]) -> None:
        """Do what a host orders, in order; stop where a crash comes."""
        # What a step did is seen once the step is on disk: with its last `Persist`.
        last = -1
        for place, effect in enumerate(effects):
            if type(effect) is Persist:
                last = place
            elif type(effect) is Packed:
                return self._pack(site, effects)
        if last < 0:
            self._show(site)
        for place, effect in enumerate(effects):
            if site.steps_left is not None and self._trapped(site, effects, place):
                return None
            self._do(site, effect)
            if place == last:
                self._show(site)
        return None

    def _pack(self, site: Site, effects: Sequence[Effect]) -> None:
        """An agent leaves: no crash splits this."""
        for effect in effects:
            self._do(site, effect)
            if type(effect) is Persist:
                self._show(site)

    def _do(self, site: Site, effect: Effect) -> None:
        kind = effect.__class__
        if kind is Transmit:
            self._transmit(site.name, effect)  # type: ignore[arg-type]
        elif kind is Persist:
            apply = site.disk.apply
            for change in effect.changes:  # type: ignore[attr-defined]
                apply(decode_change(encode_change(change)) if self.encode else change)
                if type(change) is MemberRuled:
                    self._ruled(site, change.ruling)
                elif type(change) is AgentWent and change.agent not in self._leaving:
                    self._moved(change.agent, None)
                elif type(change) is AgentCame:
                    who = change.agent  # one who is here already has only counted on
                    if who not in site.coming and self.where[who] != site.name:
                        self._moved(who, site.name)
        else:
            self._observe(site, effect)

    def _observe(self, site: Site, effect: Effect) -> None:
        """Orders that somebody outside can see."""
        now = self.clock.now
        if isinstance(effect, Answer):
            then = self._answered(site, effect, observed.ANSWERED)
            if then is not None:
                self.clock.after(0, self._then, site, site.life, then, effect)
        elif isinstance(effect, Packed):
            self._packed(effect.bundle)
        elif isinstance(effect, Fire | Note | Mail):
            kind, who, what = observed.seen(effect, site.name)
            self.history.add(now, kind, who, what)
            if kind == observed.VIEW and self.observe:
                self.clock.after(0, self._look, site)
        elif isinstance(effect, Ruled):  # the ruling itself the disk has told already
            if effect.ruling.event.kind == "arrived":
                hops = effect.came.hops
                self.hops[hops] = self.hops.get(hops, 0) + 1
        else:
            assert isinstance(effect, Left | Came | Halted), effect  # told by the disk, too

    def _answered(self, site: Site, answer: Answer, kind: str) -> Then | None:
        """A call has its answer; what the script does with it."""
        agent, _, then = self._asked.pop(answer.op, ("", site.name, None))
        answered = observed.Answered(answer.op, site.name, answer.value, answer.error)
        self.history.add(self.clock.now, kind, agent, answered)
        return then

    def _moved(self, agent: str, host: str | None) -> None:
        """A disk says that an agent left by itself, or came; what it waits for goes with it."""
        kind, where = (observed.LEFT, self.where[agent]) if host is None else (observed.CAME, host)
        self.history.add(self.clock.now, kind, agent, where)
        self.where[agent] = host
        for op, (who, _, then) in self._asked.items():
            if who == agent:
                self._asked[op] = (who, host, then)

    def _ruled(self, site: Site, ruling: Ruling) -> None:
        """A ruling is on disk. Each host has a manager of its own for a governed space."""
        who = ruling.home if "@" in ruling.home else f"{ruling.home} at {site.name}"
        self.history.add(self.clock.now, RULED, who, ruling)

    def _then(self, site: Site, life: int, then: Then, answer: Answer) -> None:
        if site.life == life:  # a program dies with its host
            then(answer)

    def _show(self, site: Site) -> None:
        """Strong firings are facts now."""
        for agent, fired in self._firings.drain(site.name):
            self.history.add(self.clock.now, observed.FIRED, agent, fired)

    def _look(self, site: Site) -> None:
        """The agents of a host look at the group, and at what they hold, as a view is installed."""
        here = self._here(site)
        if here:
            self.call(here[0], LOOK, round=GLIMPSE)
        for agent in here:
            for space in self.glimpsed.get(agent, ()):
                self.call(agent, Seek(space, READ_ALL, self.glimpse, at=agent), round=GLIMPSE)

    # -- frames ----------------------------------------------------------------------------

    def _transmit(self, source: str, order: Transmit) -> None:
        to, frame = order.to, order.frame
        if self.encode:
            frame = decode_frame(encode_frame(frame))
        now, clock, arrivals = self.clock.now, self.clock, self.network.arrivals
        for target in self.topology.neighbours(source) if to is None else (to,):
            if to is not None and not self.topology.linked(source, to):
                continue
            self.frames += 1
            for when in arrivals(source, target, now=now):
                clock.at(when, self._frame, source, target, frame)

    def _frame(self, source: str, target: str, frame: Any) -> None:
        site = self.sites[target]
        if (
            site.up
            and self.topology.linked(source, target)
            and not self.network.parted(source, target)
        ):
            self._tell(site, Heard(source, frame))

    # -- crashes ---------------------------------------------------------------------------

    def crash(self, fault: Crash) -> None:
        """Crash a host, at once or so many orders into its next work."""
        site = self.sites[fault.host]
        if not site.up or site.steps_left is not None:
            return
        site.down_us = fault.down_us
        if fault.steps:
            site.steps_left = fault.steps
            self.clock.after(TRAP_US, self._crash_at_last, site, site.life)
        else:
            self._crash(site)

    def stand_still(self, fault: Pause) -> None:
        """Let a host stand still, if it is up and does not yet."""
        if (site := self.sites[fault.host]).up and site.waits is None:
            site.waits = []
            self.history.add(self.clock.now, PAUSED, site.name)
            self.clock.after(fault.for_us, self._resume, site, site.life)

    def _resume(self, site: Site, life: int) -> None:
        if site.life == life and site.waits is not None:
            self.history.add(self.clock.now, RESUMED, site.name)
            waits, site.waits = site.waits, None
            for event in waits:
                self._tell(site, event)

    def _trapped(self, site: Site, effects: Sequence[Effect], place: int) -> bool:
        """Count a step; true when the host crashes before this order."""
        assert site.steps_left is not None
        site.steps_left -= 1
        if site.steps_left > 0:
            return False
        # Up to the next write everything is as good as done, only nobody is told.
        for effect in effects[place:]:
            if isinstance(effect, Persist):
                break
            if isinstance(effect, Answer):
                self._answered(site, effect, observed.UNTOLD)
        self._crash(site)
        return True

    def _crash_at_last(self, site: Site, life: int) -> None:
        if site.life == life and site.steps_left is not None:
            self._crash(site)

    def _crash(self, site: Site) -> None:
        self._settle_in(site)  # who came in this very step, and is on disk, is here
        self.history.add(self.clock.now, CRASHED, site.name)
        site.stop()
        self._firings.drain(site.name)
        for op in [op for op, (_, host, _) in self._asked.items() if host == site.name]:
            del self._asked[op]
        for agent in [a for a in self._leaving if self.where[a] == site.name]:
            del self._leaving[agent]
        if site.forgets:
            for agent in (*self._here(site), *site.coming):
                del self.where[agent]
        else:
            for agent, bundle in site.coming.items():
                self.clock.after(KNOCK_US, self._come, agent, site.name, bundle)
        site.coming.clear()
        self.clock.after(site.down_us, self._restart, site, site.life)

    def _restart(self, site: Site, life: int) -> None:
        if site.up or site.life != life:
            return
        self.history.add(self.clock.now, RESTARTED, site.name)
        self._start(site)
        if self.on_restart is not None:
            self.on_restart(site.name, self._here(site))

    def _start(self, site: Site) -> None:
        site.start(self.clock.now, self.laws, self.servers, self.limits)
        self._tell(site, TICK)

    def bring_back(self) -> None:
        """Start every host that is down; traps that were not sprung are gone."""
        for site in self.sites.values():
            site.steps_left = None
            self._resume(site, site.life)
            self._restart(site, site.life)

    def power_cycle(self) -> None:
        """All hosts lose their memory at one instant and start again from their disks."""
        for site in self.sites.values():
            if site.up:
                self._crash(site)
        self.bring_back()
