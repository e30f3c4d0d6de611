"""Mail between agents wherever they are: the host's daemon, the servers it runs, the courier.

An agent's id names its home domain, and that domain's server always knows a way to it. A domain
that nobody configured is served by the host of its name, so hosts find each other's agents without
any set-up. Frames of routing, and whatever else must arrive (`moving`), are parcels of the courier:
a step's changes and the parcels it hands over are one `PersistChange`.

A post's body is a `Letter`; what cannot be taken at its destination is answered with `Rejected`,
and becomes an `exception` at the controller that sent it.

A letter from elsewhere may have to prove which controller it comes from (`trust`). One for
an agent here that cannot is dropped before the daemon sees it: it must not take the number, and so
the place, of a true one. A letter without a seal never left this host: whatever comes in without
one is marked `UNSEALED`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Set as AbstractSet
from typing import TYPE_CHECKING, Final

import msgspec

from nomospace.calls.addresses import split_key
from nomospace.calls.problems import NotItsServer, NotOnRecord
from nomospace.errors import CallerError, NomospaceError
from nomospace.host.calls import Primary, Promote
from nomospace.host.changes import (
    Durable,
    ParcelGiven,
    ParcelPlaced,
    ParcelTaken,
    RoutingChanged,
    RoutingFolded,
)
from nomospace.host.part import GroupFollower
from nomospace.protocols.births import FITS
from nomospace.protocols.courier import Aside, Courier, Frame, Parcel, Receipt
from nomospace.protocols.routing import frames, interface
from nomospace.protocols.routing.changes import servers_min
from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.elected import ElectedServer
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.places import Everywhere
from nomospace.protocols.routing.records import Kind
from nomospace.protocols.routing.replicas import JOINING, PRIMARY, STANDBY, ReplicatedServer
from nomospace.protocols.routing.residents import AWAY, CREATING
from nomospace.protocols.routing.seats import Seat
from nomospace.protocols.routing.server import DomainServer
from nomospace.protocols.routing.standby import PairedServer
from nomospace.protocols.transfers import Transfers
from nomospace.terms import Term

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

FOLD_FROM: Final = 4_096
"""So many changes of a daemon or server are kept one by one before they are folded together; or
as many as its state took the last time, if that was more."""

RECEIPT_US: Final = 100_000
"""How long after a receipt the next one waits: far less than a parcel does to be sent again."""
RECEIPT_EVERY: Final = 64
"""So many parcels are not waited for."""

UNSEALED: Final = b"\0"
"""In the place of a seal, on a letter that came from elsewhere without one."""


class OtherStore(CallerError):
    """A host was given what another host, or this one in another domain, has written down."""

    code = "host.other-store"
    words = (
        "the store is not one of host {host!r} in domain {domain!r}: {found}; "
        "give each host a store of its own, and start it with the name, the domain and the "
        "[servers] that it had"
    )
    host: str
    domain: str
    found: str


_AWAY: Final = (None, AWAY)
_MUTE: Final = (None, AWAY, CREATING)

RELEASED: Final = "released by "
"""What stands before the law in a letter that a ruling has released from its community."""


class Letter(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="letter"):
    """A message of a community under way: its law, the sender that a ruling named, its seal.

    Outside of all communities `law` is empty, or says which law has released the message.

    The seal is put on by whoever drives the host of the sending controller, as the letter leaves.
    `law` says which of the receiver's memberships it is for, and `by` which of the sender's it is
    from (`calls.addresses`), of which `cause` is the number of the ruling that sent it.
    """

    law: str
    sender: str
    message: Term
    seal: bytes = b""
    by: int = 1
    cause: int = 0


class Rejected(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="rejected"):
    """A post was not taken at its destination: the message, whom it was for, and why."""

    law: str
    message: Term
    to: str
    why: str


RECORD_US: Final = 10_000_000
"""How long what an agent sends waits for the agent's record, in microseconds."""


class Posting(GroupFollower):
    """The post office of one host."""

    def __init__(
        self,
        host: HostParts,
        domain: str,
        servers: Mapping[str, tuple[str, ...]],
        durable: Durable,
        limits: RoutingLimits,
        eager: bool = False,
    ) -> None:
        super().__init__(host)
        self.domain = domain
        self._places = places = Everywhere(servers)
        self.daemon = Daemon(self._step.name, domain, places, limits=limits, eager=eager)
        self._servers: dict[str, DomainServer | PairedServer | ElectedServer] = {}
        for served in dict.fromkeys((self._step.name, *servers)):
            if places.serves(self._step.name, served):
                count = len(servers.get(served, ()))
                # What the agents of one that has forgotten them number begins above what they did.
                life = 0 if count > 1 else self._step.era
                server = DomainServer(self._step.name, served, places, limits=limits, life=life)
                if count > 2:
                    self._servers[served] = ElectedServer(server, now=self._step.now)
                else:
                    self._servers[served] = PairedServer(server) if count == 2 else server
        self._elected = [one for one in self._servers.values() if isinstance(one, ElectedServer)]
        self._chosen = [domain for domain, sites in servers.items() if len(sites) > 2]
        """The domains whose servers choose their primary; who that is, is asked now and then."""
        self._ask_every = limits.silence
        self._ask_at = self._step.now + limits.silence
        self.courier = Courier(
            Transfers(durable.parcels),
            births=host.peers.births,
            now=self._step.now,
        )
        self.timed = True
        self._told: dict[str, tuple[int, int]] = {}
        """When peers were last told what has come, and up to which number that was."""
        self._owed: dict[str, int] = {}
        """Peers that are to be told of more, and when."""
        self._own: deque[tuple[str, frames.Frame]] = deque()
        self._introduced: set[tuple[str, str, int]] = set()
        """Who was told that this host serves a domain, since which term."""
        self._met: AbstractSet[str] = frozenset()
        """Who was in the group when it last stood still."""
        self.creating: dict[str, list[tuple[int, int, Callable[[], None]]]] = {}
        """New agents that the server of their domain has not put on record, and what each of them
        has asked for meanwhile that needs it: until when it waits, the call, and how it goes on."""
        self._running = False
        self._written: dict[str, int] = {}
        self._fold_at: dict[str, int] = {}
        for core, changes in durable.routing.items():
            self._written[core] = len(changes)
            known = self._servers.get(core) if core else self.daemon
            if known is None:
                raise self._not_ours(
                    f"it has the agents of {core!r}, which this host does not serve"
                )
            if (had := servers_min(changes)) > max(1, len(servers.get(core, ()))):
                raise self._not_ours(f"{core!r} had {had} servers or more")
            known.restore(changes, now=self._step.now)
            if isinstance(known, ReplicatedServer) and known.is_misplaced:
                raise self._not_ours(f"it has served {core!r} alone, so is named first there")
        self.creating.update((agent, []) for agent in self.daemon.unborn())
        if (seat := self.daemon.foreign()) is not None:
            raise self._not_ours("{} is registered in domain {!r}".format(*seat))

    def _not_ours(self, found: str) -> OtherStore:
        return OtherStore(host=self._step.name, domain=self.domain, found=found)

    def server(self, domain: str) -> DomainServer | PairedServer | ElectedServer | None:
        """The server of a domain that runs here, to be looked at."""
        return self._servers.get(domain)

    # -- agents ----------------------------------------------------------------------------

    def knows(self, agent: str) -> bool:
        """Whether a server here has an agent on record that has not ended."""
        return bool(self.place_of(agent))

    def place_of(self, agent: str) -> str:
        """The site, or the other domain, that a server here has on record for an agent."""
        for server in self._servers.values():
            inner = server.server if isinstance(server, ReplicatedServer) else server
            record = inner.record(agent)
            if record is not None and record.kind is not Kind.ENDED:
                return record.where
        return ""

    def guess(self, agent: str) -> str:
        """Where the daemon believes an agent to be; empty when it has no idea."""
        return self.daemon.guess(agent) or ""

    def create(self, agent: str) -> None:
        """A new agent of this host gets a seat."""
        self.creating[agent] = []
        self._carry("", self.daemon.create(agent, now=self._step.now))

    def waits(self, op: int, agent: str, then: Callable[[], None]) -> bool:
        """Whether an agent is not on record yet and cannot send; what it asked goes on when it is.

        Nothing was promised until then: the call has no answer. After a while that is an error.
        """
        waiting = self.creating.get(agent)
        if waiting is None:
            return False
        waiting.append((self._step.now + RECORD_US, op, then))
        return True

    def _give_up(self) -> None:
        """Tell who has waited long for its record that the server of its domain is silent."""
        for agent, waiting in self.creating.items():
            while waiting and waiting[0][0] <= self._step.now:
                _, op, _ = waiting.pop(0)
                site = self.daemon.server_site(self.domain)
                error = NotOnRecord(agent=agent, domain=self.domain, site=site)
                self._step.fail(op, error)

    def _created(self, agent: str) -> None:
        for _, op, then in self.creating.pop(agent, ()):
            try:
                then()
            except NomospaceError as error:
                self._step.fail(op, error)

    def seats(self, sender: str, to: str) -> bool:
        """Whether mail from one to the other goes from seat to seat at this host."""
        return self.daemon.phase(to) not in _AWAY and self.daemon.phase(sender) not in _MUTE

    def send(self, sender: str, to: str, body: object) -> None:
        """A message of an agent here to another, wherever that is."""
        self._carry("", self.daemon.send(sender, to, body, now=self._step.now))

    def end(self, agent: str) -> None:
        """An agent here is no more; whoever writes to it is told."""
        self._created(agent)
        self._carry("", self.daemon.end(agent, now=self._step.now))

    def depart(self, agent: str, to: str) -> None:
        """An agent here would move; `moving.go` follows, or `moving.refused`."""
        self._carry("", self.daemon.depart(agent, to, now=self._step.now))

    def arrive(self, agent: str, seat: Seat, ticket: str) -> None:
        """An agent has come with its seat."""
        self._carry("", self.daemon.arrive(agent, seat, ticket, now=self._step.now))

    def stay(self, agent: str) -> None:
        """An agent that was about to move goes on here."""
        self._carry("", self.daemon.stay(agent, now=self._step.now))

    def left_for(self, agent: str, site: str, ticket: str) -> bool:
        """Whether an agent of this host has left for a site, with this ticket."""
        return self.daemon.left(agent) == (site, ticket)

    def gone(self, agent: str, ticket: str) -> None:
        """An agent that moved with a ticket is at its new host."""
        self._carry("", self.daemon.gone(agent, ticket, now=self._step.now))

    def primary(self, event: Primary) -> None:
        """A site is the primary of a domain from now on: this one, perhaps, which takes over."""
        domain, site, term = event.domain, event.site, event.term
        server = self._servers.get(domain)
        if site == self._step.name and isinstance(server, PairedServer):
            self._carry(domain, server.take_over(term))
        for served, core in self._servers.items():
            self._carry(served, core.primary(domain, site, term))
        news = self.daemon.primary(domain, site, term)
        self._carry("", news)
        if news:
            self._move_on(domain, site, term)

    def _move_on(self, domain: str, site: str, term: int) -> None:
        """Give what waits for another server of a domain to the one that is primary now.

        The other may be gone for good. When it is back it hears who is primary instead: what it is
        told twice, and long after, might bring an agent back that has ended. What the daemon has
        asked it asks again by itself.
        """
        for other in self._places.servers.get(domain, ()):
            if other in (site, self._step.name):
                continue
            waiting = self.courier.book.waiting.get(other, {})
            for number, what in tuple(waiting.items()):
                if (
                    isinstance(what, (*frames.WANTED, frames.Relayed))
                    and frames.server_of(what) == domain
                ):
                    waiting[number] = instead = frames.NotPrimary(domain, site, term)
                    self._step.write_down(ParcelGiven(other, number, instead))
                    if not isinstance(what, frames.ASKED):
                        self._carry("", [interface.TransmitFrame(site, what)])
            if waiting:  # the number that was given last is the one that is written down last
                last = max(waiting)
                self._step.write_down(ParcelGiven(other, last, waiting[last]))

    def promote(self, event: Promote) -> None:
        """Serve a domain without its other server: as the primary, or, if it is that, alone."""
        domain, server, why = event.domain, self._servers.get(event.domain), ""
        if not isinstance(server, PairedServer):
            why = f"it is served by {' and '.join(self._places.servers.get(domain, (domain,)))}"
            if isinstance(server, ElectedServer):
                why = f"{why}, which choose among themselves"
            elif server is not None:
                why = f"{why} already"
        elif server.role is JOINING:
            why = f"it is behind {server.peer}, which is the primary; promote that"
        elif server.role is PRIMARY:
            self._carry(domain, server.standby_away())
        else:
            self.primary(Primary(domain, self._step.name, server.term + 1))
            self.respread()
        if why or not isinstance(server, PairedServer):
            error = NotItsServer(host=self._step.name, domain=domain, why=why)
            self._step.fail(event.op, error)
        else:
            self._step.note("promoted", domain=domain, term=server.term)
            self._step.answer(event.op, server.peer)

    def respread(self) -> None:
        """Tell the group which domains this host has taken over; follow a primary that is back."""
        members = self._host.group.members
        come, self._met = members - self._met, members
        for domain, server in self._servers.items():
            if isinstance(server, PairedServer) and server.role is STANDBY and server.peer in come:
                self.parcel(server.peer, frames.Rejoin(domain, server.term))
            if not isinstance(server, ReplicatedServer) or server.role is not PRIMARY:
                continue
            for peer in sorted(members - set(server.sites)) if server.term else ():
                if (known := (peer, domain, server.term)) not in self._introduced:
                    self._introduced.add(known)
                    self.parcel(peer, frames.NotPrimary(domain, self._step.name, server.term))

    # -- parcels ---------------------------------------------------------------------------

    def parcel(self, peer: str, what: object) -> None:
        """Hand something to the courier: it arrives exactly once, some day."""
        host = self._host
        host.peers.acquaint(peer)
        number, frame = self.courier.send(peer, what, now=self._step.now)
        self._step.write_down(ParcelGiven(peer, number, what))
        host.group.reach(peer, frame)

    def owes(self, peer: str) -> bool:
        """Whether the courier has something for a peer."""
        return bool(self.courier.book.waiting.get(peer))

    def renew(self, peer: str, *, anew: bool) -> None:
        """The births of a pair are others: what waits goes out now, what came early is void.

        For a peer that was born again what waits gets other numbers.
        """
        for number, what in self.courier.book.renew(peer) if anew else ():
            self._step.write_down(ParcelGiven(peer, number, what))
        self.courier.renewed(peer, now=self._step.now)

    def heard(self, peer: str, frame: Frame | Aside, *, straight: bool) -> None:
        """A frame of the courier came from a host, straight or through others; or past it."""
        host = self._host
        if isinstance(frame, Aside):
            self._own.append((peer, frame.what))
            self._work_off()
            return
        word = host.peers.hear(peer, frame, straight=straight)
        if word is not FITS:
            if word is not None and isinstance(frame, Parcel):
                host.group.reach(peer, self.courier.receipt(peer))
            return
        if isinstance(frame, Receipt) and self.courier.book.taken(peer, frame.number):
            self._step.write_down(ParcelTaken(peer, frame.number))
        came, reply = self.courier.receive(peer, frame, now=self._step.now)
        self._running = True  # what routing has for an agent that comes waits until it is here
        try:
            for number, what in came:
                self._step.write_down(ParcelPlaced(peer, number))
                if host.moving.hear(peer, what):
                    continue
                if what.__class__ in frames.KINDS:
                    self._own.append((peer, _from_elsewhere(what)))
                else:
                    self._step.note(
                        "bad-parcel", peer=peer, number=number, kind=type(what).__name__
                    )
        finally:
            self._running = False
        if self._own:
            self._work_off()
        if reply is not None:
            self._confirm(peer, reply, news=bool(came))

    def _confirm(self, peer: str, reply: Frame, *, news: bool) -> None:
        """Let a peer know what has come: now, or soon if it was told just now.

        A receipt costs its receiver a step on disk, and one says what many would. A host that keeps
        nothing says it at once: what it has not said would come again to its next birth.
        """
        now = self._step.now
        told, number = self._told.get(peer, (-RECEIPT_US, 0))
        if (
            news
            and not self._step.era
            and now < told + RECEIPT_US
            and reply.number < number + RECEIPT_EVERY
        ):
            self._owed[peer] = told + RECEIPT_US
        else:
            self._owed.pop(peer, None)
            self._told[peer] = (now, reply.number)
            self._host.group.reach(peer, reply)

    def _forged(self, peer: str, post: frames.Post) -> bool:
        """Whether a letter for an agent here does not come from whom it says."""
        host, letter = self._host, post.body
        if not isinstance(letter, Letter) or not letter.seal or post.why:
            return False
        if post.to not in self._spaces.residents:  # it is for someone else to judge
            return False
        law = host.laws.get(split_key(letter.law)[0])
        doubt = None if law is None else host.trust.letter_objection(law, post)
        if doubt is not None:
            code, why = doubt.reason, doubt.why
            self._step.note(
                "not-authentic", peer=peer, law=letter.law, post=post.id, code=code, why=why
            )
        return doubt is not None

    def tick(self) -> None:
        """Send again what may be lost; try again what found a full queue."""
        host = self._host
        for peer, frame in self.courier.tick(now=self._step.now):
            host.group.reach(peer, frame)
        for peer in [peer for peer, due in self._owed.items() if due <= self._step.now]:
            self._confirm(peer, self.courier.receipt(peer), news=False)
        self._carry("", self.daemon.tick(now=self._step.now))
        for server in self._elected:
            self._carry(server.domain, server.tick(now=self._step.now))
        if self._chosen and self._ask_at <= self._step.now:
            self._ask_who_serves()
        if self.creating:
            self._give_up()

    def _ask_who_serves(self) -> None:
        """Ask the other servers of a domain whether one of them has taken over unheard."""
        self._ask_at = self._step.now + self._ask_every
        for domain in self._chosen:
            known, term = self.daemon.server_site(domain), self.daemon.term(domain)
            for site in self._places.servers[domain]:
                if site not in (known, self._step.name):
                    self._host.group.reach(site, Aside(frames.WhoServes(domain, term)))

    def next_deadline(self) -> int | None:
        """When the post office next wants to hear the time."""
        times = [self.courier.next_deadline(), self.daemon.waits.deadline, *self._owed.values()]
        if self._chosen:
            times += [self._ask_at, *(server.next_deadline() for server in self._elected)]
        if self.creating:
            times += [waiting[0][0] for waiting in self.creating.values() if waiting]
        due: int | None = None
        for at in times:  # asked for after each step: a comprehension is a call more
            if at is not None and (due is None or at < due):
                due = at
        return due

    # -- what routing orders ---------------------------------------------------------------

    def _work_off(self) -> None:
        """Let the cores here hear what has come for them, from others and from each other."""
        if self._running:
            return
        self._running = True
        try:
            while self._own:
                src, frame = self._own.popleft()
                # What follows from a frame comes before the frames behind it: else posts that a
                # server here passes on are overtaken by those that need no server.
                self._own, behind = deque(), self._own
                self._hear(src, frame)
                behind.extendleft(reversed(self._own))
                self._own = behind
        finally:
            self._running = False

    def _hear(self, src: str, frame: frames.Frame) -> None:
        """Let the core that a frame is for hear it."""
        if isinstance(frame, frames.Post):
            if not self._forged(src, frame):
                self._carry("", self.daemon.hear(src, frame, now=self._step.now))
            return
        if isinstance(frame, frames.NotPrimary):
            self._other_primary(src, frame)
            return
        domain = frames.server_of(frame)
        core = self._servers.get(domain) if domain else self.daemon
        if core is None:
            self._step.note("not-a-server", domain=domain, frame=frame, sender=src)
        else:
            self._carry(domain, core.hear(src, frame, now=self._step.now))

    def _other_primary(self, src: str, frame: frames.NotPrimary) -> None:
        """Believe of a domain's own servers which of them is the primary, and of nobody else."""
        if self._places.serves(src, frame.domain):
            self.primary(Primary(frame.domain, frame.site, frame.term))
            if frame.site == self._step.name:
                self.respread()
        else:
            self._step.note("routing", news="not from a server", facts=(src, frame))

    def _carry(self, core: str, effects: list[interface.Effect]) -> None:
        host = self._host
        for effect in effects:
            if isinstance(effect, interface.TransmitFrame):
                if effect.site == self._step.name:
                    self._own.append((self._step.name, effect.frame))
                else:
                    self.parcel(effect.site, effect.frame)
            elif isinstance(effect, interface.SayFrame):
                host.group.reach(effect.site, Aside(effect.frame))
            elif isinstance(effect, interface.PersistChange):
                self._step.write_down(RoutingChanged(core, effect.change))
                self._written[core] = self._written.get(core, 0) + 1
            elif isinstance(effect, interface.DeliverPost):
                host.mailing.mail(effect.agent, effect.post)
            elif isinstance(effect, interface.PostFailed):
                post = effect.post
                host.mailing.undelivered(post.sender, post.body, post.to, effect.why)
            elif isinstance(effect, interface.Go):
                host.moving.go(effect)
            elif isinstance(effect, interface.AgentRefused):
                host.moving.refused(effect.agent, effect.why)
                if self.daemon.phase(effect.agent) is not CREATING:
                    self._created(effect.agent)
            elif isinstance(effect, interface.MoveSettled | interface.Created):
                host.moving.settled(effect.agent)
                self._created(effect.agent)
            else:
                assert isinstance(effect, interface.Noted), effect
                self._step.note("routing", news=effect.what, facts=effect.facts)
        if self._written.get(core, 0) >= self._fold_at.get(core, FOLD_FROM):
            self._fold(core)
        if self._own:
            self._work_off()

    def _fold(self, core: str) -> None:
        """Write down the state of a core whose changes have become many."""
        changes = tuple((self._servers[core] if core else self.daemon).changes())
        self._step.write_down(RoutingFolded(core, changes))
        self._written[core] = len(changes)
        self._fold_at[core] = max(FOLD_FROM, 2 * len(changes))  # else much would be folded often


def _from_elsewhere(frame: frames.Frame) -> frames.Frame:
    """A frame of another host, in which no letter passes for one that never left this host."""
    post = frame if isinstance(frame, frames.Post) else frames.post_in(frame)
    if post is None or not isinstance(post.body, Letter) or post.body.seal:
        return frame
    sealed = msgspec.structs.replace(post.body, seal=UNSEALED)
    marked = msgspec.structs.replace(post, body=sealed)
    return marked if post is frame else frames.with_post(frame, marked)
