"""A host's part in its group: engagement, and all that passes between engaged hosts.

How a group changes (LIME 4.2). From `Freeze` on, calls of agents and messages of peers are held.
Each host's entry of the new directory names whom it has tuples for (`DirectoryEntry.owes`): so with
`Exchange`, when the view is certain, each knows from which of the peers that are new to it tuples
will come. These ship them and close with `Met`; all others say nothing. When `Met` has come from
all that were awaited, the view is installed: in that one step all that was shipped is placed,
`LimeSystem` shows the new group, and what was held goes on. So no agent ever sees half an
engagement, and a group of any size costs each host the peers that it has to do with.

Peers that come from one view go on in their session, the view in which they met; all others begin
a new one, of which nothing is made until one of them has something to say.

Between two views the directory changes line by line (`directory`): an agent that comes or goes at a
peer is looked at alone, with what waits for it or at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from nomospace.errors import NomospaceError
from nomospace.host.calls import TellPeer
from nomospace.host.changes import (
    Durable,
    FloorRaised,
    TransferGiven,
    TransferPlaced,
    TransferTaken,
)
from nomospace.host.directory import Directory
from nomospace.host.effects import PeerTold, Transmit
from nomospace.host.part import GroupFollower, HostPart
from nomospace.law import CompiledLaw
from nomospace.protocols import events as links, spaces as frames
from nomospace.protocols.births import DEAF, FITS
from nomospace.protocols.courier import Aside, Parcel, Receipt
from nomospace.protocols.engagement import Engagement
from nomospace.protocols.messages import Adverts, Relay, View
from nomospace.protocols.pace import Pace
from nomospace.protocols.policy import Policy, is_position
from nomospace.protocols.questions import PeerTalk
from nomospace.protocols.streams import Ack, Data, Streams
from nomospace.protocols.transfers import Taken, Transfer, Transfers
from nomospace.trust.seals import NotAuthentic

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

DRAIN_US: Final = 2_000_000
"""How long an announced departure waits for what is under way."""
CALL_US: Final = 5_000_000
"""How long a host that was called has for its link, before it is called again."""
OWES_MAX: Final = 1_000
"""How many names of agents and hosts an entry has that tuples are for; past it, all are met."""
SHARERS_MAX: Final = 1_000
"""Spaces of which it is remembered who shares them."""
HELD_MAX: Final = 250_000
"""How many messages of one peer are held while the group changes: more than a peer lets wait.

Past it frames are as good as lost on their way: they are not acknowledged, and come again."""


class Group(HostPart):
    """The hosts that are engaged with this one, and what is said among them."""

    def __init__(
        self, host: HostParts, policy: Policy | None, pace: Pace, durable: Durable
    ) -> None:
        super().__init__(host)
        self.entries: dict[str, Directory] = {}
        """What the peers of the installed view have told of themselves."""
        self.where: dict[str, str] = {}
        """The peer that each agent of the group is at: the last one that said so."""
        self.members: AbstractSet[str] = frozenset({self._step.name})
        """The hosts of the installed view."""
        self.frozen = False
        """Whether the group is changing."""
        self.hears: dict[type, Callable[[str, Any], None]] = {}
        """Who hears which kind of message of a peer, and """
        self.receives: dict[type, Callable[[str, Any], None]] = {}
        """who is handed what a transfer brings."""
        self.followers: Sequence[GroupFollower] = ()
        """Who is told what becomes of the group, in this order."""
        self._engagement = Engagement(
            self._step.name,
            life=self._step.life,
            policy=policy,
            pace=pace,
            now=self._step.now,
            floor=durable.floor,
        )
        self._streams = Streams()
        self.transfers = Transfers(durable.transfers)
        self._sharers: dict[tuple[str, str], dict[str, None]] = {}
        """The peers that share each space, by its ontology, where no law says who is believed."""
        self._joining: tuple[View, dict[str, Directory]] | None = None
        self._awaited: dict[str, None] = {}
        self._held: dict[str, list[tuple[Any, bool]]] = {}
        self._crowded: dict[str, None] = {}
        self._called: dict[str, int] = {}
        self._leaving_at: int | None = None
        self._edition = 0
        self._shown = b""
        """The certificate that peers were told of last."""
        self._passed: dict[str, None] = {}  # those whose stream came, in part, through others
        self._via = ""  # the neighbour whose frame is looked at
        self._straight = False  # whether the body that is looked at came from its sender itself

    @property
    def view(self) -> View:
        """The installed view."""
        return self._engagement.view

    # -- events ----------------------------------------------------------------------------

    def heard(self, neighbour: str, frame: Any) -> None:
        """A frame came from a neighbour."""
        if (
            self._host.proven
            and isinstance(frame, Relay)
            and frame.dst == self._step.name
            and isinstance(frame.body, Data | Ack | Parcel | Receipt | Aside | PeerTalk)
            and not self._engagement.believes(neighbour, frame.src)
        ):
            self._step.note("not-its-own", peer=neighbour, source=frame.src)
            return
        self._via = neighbour
        self._carry(self._engagement.handle(links.Heard(neighbour, frame), now=self._step.now))
        self._via = ""
        if self._called:
            self._greet_called()

    def engage(self) -> None:
        """Join whom the policy lets this host join."""
        self._leaving_at = None
        self._carry(self._engagement.handle(links.Engage(), now=self._step.now))

    def disengage(self) -> None:
        """Leave by announcement, as soon as what is under way has come."""
        self._leaving_at = self._step.now + DRAIN_US
        self._leave_when_drained()

    @property
    def willing(self) -> bool:
        """Whether the host engages at all, or stays alone until it is told to."""
        return self._leaving_at is None and self._engagement.willing

    @property
    def position(self) -> tuple[float, ...]:
        """Where the host is, in metres; empty when nobody has said."""
        info = self._engagement.info
        return tuple(info) if is_position(info) else ()

    def moved(self, position: tuple[float, ...]) -> None:
        """The host is at another place now."""
        self._carry(self._engagement.handle(links.Moved(position), now=self._step.now))

    def tick(self) -> None:
        """Time has passed."""
        now = self._step.now
        self._carry(self._engagement.handle(links.TICK, now=now))
        for peer, frame in self._streams.retries(now=now):
            self._carry(self._engagement.relay(peer, frame))
        for peer in list(self._called):
            self._call(peer)
        if not self.frozen and self._host.trust.certificate() != self._shown:
            self.announce()
        if self._leaving_at is not None:
            self._leave_when_drained()

    def next_deadline(self) -> int:
        """When the group next wants to hear the time."""
        due = self._engagement.due
        for at in (self._streams.next_deadline(), self._leaving_at):
            if at is not None and at < due:
                due = at
        return due

    def _leave_when_drained(self) -> None:
        """An announced departure waits a little for what is under way, then is told to all."""
        assert self._leaving_at is not None
        if self._streams.idle() or self._leaving_at <= self._step.now:
            self._leaving_at = None
            self._carry(self._engagement.handle(links.Disengage(), now=self._step.now))

    # -- saying and giving -----------------------------------------------------------------

    def tell(self, peer: str, body: object) -> None:
        """Say something to an engaged host, once and in order; nothing when contact is lost."""
        if peer in self._streams:
            self._carry(
                self._engagement.relay(peer, self._streams.send(peer, body, now=self._step.now))
            )

    def give(self, peer: str, what: object) -> None:
        """Hand tuples over to a host, exactly once, now or when it is back."""
        self._host.peers.acquaint(peer)
        number = self.transfers.give(peer, what)
        self._step.write_down(TransferGiven(peer, number, what))
        self.tell(peer, Transfer(number, what, *self._host.peers.stamp(peer)))

    def retell(self, peer: str) -> None:
        """Say all again that is under way to a peer, if there is contact."""
        if peer in self._streams:
            for number, what in self.transfers.pending(peer):
                self.tell(peer, Transfer(number, what, *self._host.peers.stamp(peer)))

    def renew(self, peer: str) -> None:
        """A peer was born again: what is under way to it gets other numbers."""
        for number, what in self.transfers.renew(peer):
            self._step.write_down(TransferGiven(peer, number, what))

    def under_way(self, peer: str) -> int:
        """How much of what was handed over to a peer has not come there, as far as is known."""
        return len(self.transfers.waiting.get(peer, ()))

    def reach(self, site: str, frame: object) -> None:
        """Send a frame to any host: along the links of the group, or straight. It may get lost."""
        way = self._engagement.way(site, frame)
        if way is not None:
            self._step.order(Transmit(way.to, way.frame))
        elif site == self._step.name:
            self._carry(self._engagement.relay(site, frame))
        else:
            self._step.order(Transmit(site, frame))

    def tell_driver(self, event: TellPeer) -> None:
        """Bring the driver of an engaged host what that of this one has to say; or lose it."""
        if event.peer in self.members:
            self._carry(self._engagement.relay(event.peer, event.talk))

    def too_much(self, body: object) -> str:
        """Why the wires cannot take something that would be told; empty when they can."""
        return self._host.carries(Data((0, ""), 0, 0, body))

    def has_room(self, peer: str) -> bool:
        """Whether a peer can be given more to do. If not, `_relieve` follows when it can again."""
        if self._streams.full(peer) or self.transfers.full(peer):
            self._crowded[peer] = None
            return False
        return True

    def _relieve(self, peer: str) -> None:
        """A peer has worked off half of what waits for it: let it have what found no room."""
        if self._streams.full(peer, 2) or self.transfers.full(peer, 2):
            return
        del self._crowded[peer]
        for one in self.followers:
            one.relieved(peer)

    def _carry(self, effects: list[links.Effect]) -> None:
        """Do what engagement orders."""
        for effect in effects:
            if isinstance(effect, links.Transmit):
                self._step.order(Transmit(effect.to, effect.frame))
            elif isinstance(effect, links.DeliverRelayed):
                if isinstance(effect.body, Data | Ack):
                    self._receive(effect.src, effect.body)
                elif isinstance(effect.body, Parcel | Receipt | Aside):
                    straight = effect.src == self._via
                    self._host.post(effect.src, effect.body, straight=straight)
                elif isinstance(effect.body, PeerTalk) and effect.src in self.members:
                    self._step.order(PeerTold(effect.src, effect.body))
            elif isinstance(effect, links.Floor):
                self._step.write_down(FloorRaised(effect.number))
            elif isinstance(effect, links.Freeze):
                if not self.frozen:
                    self.announce()  # the entry has no line that was not told
                self.frozen = True
                self._joining = None
                info = links.Info(self._entry())
                self._carry(self._engagement.handle(info, now=self._step.now))
            elif isinstance(effect, links.Thaw):
                self._joining = None
                self._go_on()
            elif isinstance(effect, links.Exchange):
                self._exchange(effect.view, effect.directories, effect.fresh)
            else:
                assert isinstance(effect, links.Installed), effect
                self._install(effect.view)

    def _receive(self, peer: str, frame: Data | Ack) -> None:
        if isinstance(frame, Data) and len(self._held.get(peer, ())) >= HELD_MAX:
            return
        bodies, reply = self._streams.receive(peer, frame, now=self._step.now)
        if reply is not None:
            self._carry(self._engagement.relay(peer, reply))
        direct = peer == self._via
        if not direct:
            self._passed[peer] = None
        for body in bodies:
            # Of what waited for this frame nobody knows how it came, if some came through others.
            own = isinstance(frame, Data) and body is frame.body
            straight = direct and (own or peer not in self._passed)
            if isinstance(body, frames.Met):
                self._hear_met(peer, body)
            elif self.frozen or peer not in self.entries:
                self._held.setdefault(peer, []).append((body, straight))
            else:
                self._hear(peer, body, straight=straight)
        if peer in self._crowded and not self.frozen and peer in self.entries:
            self._relieve(peer)
        self._finish_exchange()

    def _hear_met(self, peer: str, body: frames.Met) -> None:
        """A peer has said all for a view; if it is the one that the view's directory speaks of."""
        if self._joining is None or tuple(body.view) != self._joining[0].id:
            return
        if self._joining[1][peer].birth != body.birth:
            self._step.note("other-birth", peer=peer, view=body.view)
            return  # another view will follow
        self._awaited.pop(peer, None)

    def birth_of(self, peer: str) -> int | None:
        """The birth of a peer, as the directory of the view has it that is installed or certain."""
        joining = self._joining[1] if self._joining is not None else {}
        lines = joining.get(peer) or self.entries.get(peer)
        return None if lines is None else lines.birth

    # -- engagement ------------------------------------------------------------------------

    def _entry(self) -> frames.DirectoryEntry:
        agents, spaces = self._spaces.lines()
        certificate = self._host.trust.certificate()
        birth = self._host.peers.birth
        owes = tuple(dict.fromkeys((*self.transfers.peers(), *self._host.placing.owes())))
        few = owes if len(owes) <= OWES_MAX else None
        away = tuple([agent for agent in agents if self._spaces.is_away(agent)])
        shown = agents, spaces, few, self._edition, certificate, birth, away
        return frames.DirectoryEntry(*shown, *self._host.partitioning.entry())

    def _exchange(
        self, view: View, entries: dict[str, frames.DirectoryEntry], fresh: tuple[str, ...]
    ) -> None:
        """The view is certain: meet those who are new, and ship what is for their agents."""
        host, name = self._host, self._step.name
        directories = {
            peer: Directory(entry, partial(self._believed, peer))
            for peer, entry in entries.items()
            if peer != name
        }
        self._joining = (view, directories)
        self._awaited.clear()
        self._lose([peer for peer in fresh if peer in self._streams or peer in self.entries])
        mine = entries[name]
        for peer in fresh:
            self._streams.open(peer, view.id)
            if host.peers.remembers(peer):
                host.peers.introduce(peer, entries[peer].birth)
            if entries[peer].has_for(name, mine):
                self._awaited[peer] = None
            self.retell(peer)
            if mine.has_for(peer, entries[peer]):
                host.placing.ship(peer, directories[peer])
                self.tell(peer, frames.Met(view.id, mine.birth))
        self._finish_exchange()

    def _finish_exchange(self) -> None:
        if self._joining is not None and not self._awaited:
            view_id = self._joining[0].id
            self._carry(self._engagement.handle(links.Exchanged(view_id), now=self._step.now))

    def _install(self, view: View) -> None:
        """All is there: from here on agents see the new group."""
        assert self._joining is not None
        assert self._joining[0] == view
        directories = self._joining[1]
        self._joining = None
        self._lose([peer for peer in self._streams if peer not in directories])
        self.entries = directories
        self._sharers.clear()
        self.members = frozenset(view.members)
        self._map_agents()
        self._step.note("view", id=view.id, members=view.members)
        self._go_on()

    def _go_on(self) -> None:
        """The group stands still again: place what was shipped, then do what was held."""
        self.frozen = False
        # What others say who have a stream is of a view that is still to come.
        for peer in [peer for peer in self._held if peer in self.entries]:
            for body, straight in self._held.pop(peer):
                self._hear(peer, body, straight=straight)
        self._spread()
        self._host.go_on()

    def _spread(self) -> None:
        """Let every peer have what is for its agents, and hear what is wanted of it."""
        for one in self.followers:
            one.respread()

    def _lose(self, peers: list[str]) -> None:
        """Contact with peers is lost, or begins anew: forget what was under way with them."""
        if peers:
            self._sharers.clear()
            lost = [self.entries.pop(peer, None) for peer in peers]
            if any(lines is not None and lines.agents for lines in lost):
                self._map_agents()
            for peer in peers:
                self._forget(peer)

    def _forget(self, peer: str) -> None:
        self._streams.close(peer)
        self._held.pop(peer, None)
        self._crowded.pop(peer, None)
        self._called.pop(peer, None)
        self._passed.pop(peer, None)
        for one in self.followers:
            one.lost(peer)

    # -- whom to believe ---------------------------------------------------------------------

    def distrust(self, peer: str, law: CompiledLaw | None) -> NotAuthentic | None:
        """Why a host is not believed under a law, if it is not.

        Only a certificate that came over a link of its own is the host's: others could show it too.
        """
        if law is None:
            return None
        lines = self.entries.get(peer)
        return self._judge(peer, b"" if lines is None else lines.certificate, law)

    def _judge(self, peer: str, certificate: bytes, law: CompiledLaw) -> NotAuthentic | None:
        host = self._host
        if self._engagement.linked(peer):
            return host.trust.host_objection(law, peer, certificate)
        object_to = host.trust.host_objection
        doubt = object_to(law, peer, b"")
        if doubt is not None and certificate and object_to(law, peer, certificate) is None:
            self._call(peer)
        return doubt

    def want_link(self, peer: str) -> None:
        """Ask for a link with a host that others speak for."""
        if not self._engagement.linked(peer):
            self._call(peer)

    def _call(self, peer: str) -> None:
        """Ask for a link with a host that lacks nothing else to be believed.

        Frames take the links there are; one that goes straight makes a driver that knows where the
        host is dial it.
        """
        at, now = self._called.get(peer), self._step.now
        if at is not None and now - at < CALL_US:
            return
        if at is None:
            self._step.note("link-wanted", peer=peer)
        self._called[peer] = now
        self._step.order(Transmit(peer, Adverts(())))

    def _greet_called(self) -> None:
        """Some that were called are there: do with them what waited for it."""
        came = [peer for peer in self._called if self._engagement.direct(peer)]
        for peer in came:
            del self._called[peer]
        for peer in came:
            self.retell(peer)
            # One that was not believed to be born again says all again now.
            self.tell(peer, Taken(self.transfers.got(peer), *self._host.peers.stamp(peer)))
        if came and not self.frozen:
            self._spread()

    def _believed(self, peer: str, certificate: bytes, law: str) -> bool:
        known = self._host.laws.get(law)
        return known is None or self._judge(peer, certificate, known) is None

    def doubts(self, peer: str, law: str) -> bool:
        """Whether a host speaks under a law in which it is not believed; that is noted."""
        doubt = self.distrust(peer, self._host.laws.get(law)) if law else None
        if doubt is not None:
            code, why = doubt.reason, doubt.why
            self._step.note("not-authentic", peer=peer, law=law, code=code, why=why)
        return doubt is not None

    # -- the directory -----------------------------------------------------------------------

    def _map_agents(self) -> None:
        self.where = {agent: peer for peer, lines in self.entries.items() for agent in lines.agents}

    def sharers(self, space: str, law: str, ontology: str) -> Mapping[str, None]:
        """The peers that share a space under a law, with an ontology."""
        found = self._sharers.get((space, ontology)) if not law else None
        if found is None:
            lines = self.entries.items()
            found = {peer: None for peer, one in lines if one.shares(space, law, ontology=ontology)}
            if not law and len(self._sharers) < SHARERS_MAX:
                self._sharers[space, ontology] = found
        return found

    def sharer(self, space: str, agent: str) -> str | None:
        """The peer where an agent shares a space; first of all, the one that the agent is at."""
        at = self.where.get(agent)
        if at is not None and self.entries[at].has(space, agent):
            return at
        return next((peer for peer, one in self.entries.items() if one.has(space, agent)), None)

    def present(self, agent: str) -> str | None:
        """The peer that an agent is at, if a program speaks for it there."""
        peer = self.where.get(agent)
        return None if peer is None or agent in self.entries[peer].away else peer

    def announce(self) -> None:
        """Tell the peers how the agents here, or the spaces they share, have changed."""
        edition, certificate = self._edition + 1, self._host.trust.certificate()
        news = self._host.holding.news(edition)
        if certificate != self._shown:
            self._shown = certificate
            news = replace(news or frames.DirectoryChanged(edition), certificate=certificate)
        weight, settled = self._host.partitioning.news()
        if weight >= 0 or settled:
            news = news or frames.DirectoryChanged(edition)
            news = replace(news, capacity=weight, settled=settled)
        if news is None:
            return
        self._edition = news.edition
        for peer in self._streams:
            self.tell(peer, news)
        for one in self.followers:
            one.shift(self._step.name, news)

    # -- messages of peers -----------------------------------------------------------------

    def _hear(self, peer: str, body: object, *, straight: bool) -> None:
        hear = self.hears.get(body.__class__)
        self._straight = straight
        try:
            if hear is not None:
                hear(peer, body)
                return
            why = "it is of no known kind"
        except NomospaceError as error:  # a template that is none, say: the peer's slip
            why = str(error)
        self._step.note("bad-message", peer=peer, kind=type(body).__name__, why=why)

    def hear_announced(self, peer: str, news: frames.DirectoryChanged) -> None:
        """Lines of a peer have changed: only what they concern is looked at."""
        lines = self.entries[peer]
        if not news.edition:  # its lines are as they were
            for one in self.followers:
                one.followed(peer, news, ())
        if news.edition <= lines.edition:
            return  # its entry had that
        if news.edition != lines.edition + 1:
            self._step.note("directory-gap", peer=peer, known=lines.edition, told=news.edition)
            return  # its lines stay as they are until the next view
        spaces = lines.change(news)
        self._sharers.clear()
        for agent in news.went:
            if self.where.get(agent) == peer:
                self._find_again(agent)
        for agent in news.came:
            self.where[agent] = peer
        for one in self.followers:
            one.followed(peer, news, spaces)
            one.shift(peer, news)
        if news.certificate:  # it may be believed where it was not
            self._step.note("certificate-heard", peer=peer)
            self._spread()

    def _find_again(self, agent: str) -> None:
        """The host that an agent was at has it no more; another may have said that it came."""
        other = next((peer for peer, one in self.entries.items() if one.has_agent(agent)), None)
        if other is None:
            del self.where[agent]
        else:
            self.where[agent] = other

    def hear_transfer(self, peer: str, body: Transfer) -> None:
        """Place a transfer that is new, in the same step as the note that it was."""
        word = self._host.peers.hear(peer, body, straight=self._straight)
        if word is None:
            return
        if word is FITS and self.transfers.is_next(peer, body.number):
            self.transfers.place(peer, body.number)
            self._step.write_down(TransferPlaced(peer, body.number))
            what = body.what
            if self.doubts(peer, what.law):
                for row in what.rows if isinstance(what, frames.Given) else (what.row,):
                    self.give(peer, frames.Returned(what.space, what.law, row))
            else:
                self.receives[what.__class__](peer, what)
        self.tell(peer, Taken(self.transfers.got(peer), *self._host.peers.stamp(peer)))

    def hear_taken(self, peer: str, body: Taken) -> None:
        """A peer has what it was given; or it speaks to an earlier birth of this host."""
        before = self._host.peers.stamp(peer)
        word = self._host.peers.hear(peer, body, straight=self._straight)
        if word is FITS and self.transfers.taken(peer, body.number):
            self._step.write_down(TransferTaken(peer, body.number))
            if not self.frozen:
                self._host.partitioning.taken(peer)
        elif word is DEAF and self._host.peers.stamp(peer) == before:
            self.retell(peer)  # else all was said again already
