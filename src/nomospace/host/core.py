"""A whole host without its wires: told events, it answers with effects.

`Host.handle` takes one event and says what must follow. All that the event changed durably stands
in one `Persist` before everything that others may see, so a crash finds each step done or not
done. The parts of a host each have a file; they share the step under way through `Step`:

- `holding`: agents, their interface spaces, the host-level spaces, where a tuple belongs;
- `seeking`: reads and takes of its agents, here and across the group;
- `serving`: the same for the agents of other hosts;
- `lending`: leases;
- `reacting`: reactions, strong and weak;
- `governing`: controllers, and operations on governed spaces as events of a law;
- `system`: the space `LimeSystem`;
- this file: engagement, streams and transfers, and what is held while the group changes.

How a group changes (LIME 4.2). From `Freeze` on, calls of agents and messages of peers are held.
With `Exchange` the view is certain: peers that are new to each other open a session, ship the
tuples that are for each other's agents, and close with `Met`. When `Met` has come from all, the
view is installed: in that one step all that was shipped is placed, `LimeSystem` shows the new
group, and what was held goes on. So no agent ever sees half an engagement.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from nomospace.errors import NomospaceError
from nomospace.host.calls import (
    Adjust,
    Adopt,
    Arrive,
    Call,
    Cancel,
    Certified,
    Depart,
    Disengage,
    Engage,
    Event,
    Heard,
    Moved,
    Open,
    Out,
    OutMany,
    React,
    Reactions,
    Revoked,
    Seek,
    Settle,
    Share,
    Speak,
    Tell,
    Tick,
)
from nomospace.host.changes import (
    Change,
    Durable,
    FloorRaised,
    TransferGiven,
    TransferPlaced,
    TransferTaken,
)
from nomospace.host.effects import Answer, Effect, Note, Persist, Transmit
from nomospace.host.governing import Governing
from nomospace.host.holding import Holding, Resident
from nomospace.host.lending import Lending
from nomospace.host.problems import Busy
from nomospace.host.reacting import Reacting
from nomospace.host.seeking import Seeking
from nomospace.host.serving import Serving
from nomospace.host.system import System
from nomospace.law import CompiledLaw
from nomospace.protocols import events as links
from nomospace.protocols.engagement import Engagement
from nomospace.protocols.messages import View
from nomospace.protocols.policy import Policy
from nomospace.protocols.spaces import (
    Announced,
    Ask,
    Claim,
    Closed,
    Denied,
    Entry,
    Given,
    Handed,
    Lent,
    Mailed,
    Met,
    Migrated,
    Offer,
    Reacted,
    ReactWatch,
    Returned,
    Settled,
    Shown,
    UnreactWatch,
    Unwatch,
    Watch,
)
from nomospace.protocols.streams import Ack, Data, Streams
from nomospace.protocols.transfers import Taken, Transfer, Transfers
from nomospace.space import Dead, Expired, Failed, Fired, Lapsed, Outcome, Ranaway, Space, Woken

HELD_MAX: Final = 100_000
"""How many calls may be held while the group changes."""
DRAIN_US: Final = 2_000_000
"""How long an announced departure waits for what is under way."""


class Host:
    """One host: its agents, its spaces, its part in the group.

    `life` grows with each start of the host. `durable` is what earlier lives wrote down; `laws`
    are the laws that it names.

    >>> host = Host("ward", life=1, now=0)
    >>> host.handle(Arrive("ann@ward"), now=0)[0].changes
    (AgentCame(agent='ann@ward', count=0),)
    >>> host.view.members
    ('ward',)
    """

    def __init__(
        self,
        name: str,
        *,
        life: int,
        now: int,
        policy: Policy | None = None,
        durable: Durable | None = None,
        laws: Mapping[str, CompiledLaw] | None = None,
    ) -> None:
        durable = durable or Durable()
        self.name = name
        self.life = life
        self.now = now
        self.entries: dict[str, Entry] = {}
        """What the peers of the installed view have told of themselves."""
        self.where: dict[str, str] = {}
        """The peer that each agent of the group is at."""
        self._changes: list[Change] = []
        self._orders: list[Effect] = []
        self._engagement = Engagement(name, life=life, policy=policy, now=now, floor=durable.floor)
        self._streams = Streams()
        self._transfers = Transfers(
            numbers=durable.numbers, pending=durable.pending, got=durable.got
        )
        self._frozen = False
        self._joining: tuple[View, dict[str, Entry]] | None = None
        self._met: dict[str, None] = {}
        self._held_calls: deque[Event] = deque()
        self._held_bodies: list[tuple[str, Any]] = []
        self._leaving_at: int | None = None
        self.holding = Holding(self)
        self.seeking = Seeking(self)
        self.serving = Serving(self)
        self.lending = Lending(self)
        self.reacting = Reacting(self)
        self.governing = Governing(self, laws or {})
        self.system = System(self)
        self.governing.restore(durable)
        self.holding.restore(durable)
        self._told = self.holding.lines()
        self.system.refresh()
        self._changes.clear()
        self._orders.clear()

    # -- what others ask -------------------------------------------------------------------

    @property
    def view(self) -> View:
        """The group as this host sees it."""
        return self._engagement.view

    @property
    def frozen(self) -> bool:
        """Whether the group is changing: until it stands still, calls and obligations wait."""
        return self._frozen

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of this host."""
        return tuple(self.holding.residents)

    def connected(self, agent: str) -> bool:
        """Whether an agent is here or at an engaged host."""
        return agent in self.holding.residents or agent in self.where

    def next_deadline(self) -> int | None:
        """When this host next wants to hear the time."""
        due = [
            self._engagement.next_deadline(),
            self._streams.next_deadline(),
            self._leaving_at,
        ]
        if not self._frozen:
            due += [self.holding.next_deadline(), self.governing.next_deadline()]
        known = [at for at in due if at is not None]
        return min(known) if known else None

    # -- a step ----------------------------------------------------------------------------

    def handle(self, event: Event, *, now: int) -> list[Effect]:
        """Take one fact in and say what must follow, in order."""
        self.now = now
        kind = event.__class__
        if kind is Call or kind in _ACTS:
            if not self._frozen:
                self._act(event)
            elif len(self._held_calls) < HELD_MAX:
                self._held_calls.append(event)
            elif isinstance(event, Call):
                self.fail(event.op, Busy(what="calls held while the group changes", limit=HELD_MAX))
        elif isinstance(event, Heard):
            self._carry(self._engagement.handle(links.Heard(event.neighbour, event.frame), now=now))
        elif isinstance(event, Tick):
            self._tick()
        elif isinstance(event, Engage):
            self._leaving_at = None
            self._carry(self._engagement.handle(links.Engage(), now=now))
        elif isinstance(event, Disengage):
            self._leaving_at = now + DRAIN_US
            self._leave_when_drained()
        else:
            assert isinstance(event, Moved), event
            self._carry(self._engagement.handle(links.Moved(event.position), now=now))
        return self._end()

    def _end(self) -> list[Effect]:
        """Tell the group what changed, and hand over what this step asks for."""
        if not self._frozen:
            self._announce()
        orders, self._orders = self._orders, []
        if self._changes:
            orders.insert(0, Persist(tuple(self._changes)))
            self._changes.clear()
        return orders

    def _tick(self) -> None:
        now = self.now
        self._carry(self._engagement.handle(links.TICK, now=now))
        for peer, frame in self._streams.retries(now=now):
            self._carry(self._engagement.relay(peer, frame))
        if self._leaving_at is not None:
            self._leave_when_drained()
        if not self._frozen:
            self.governing.tick()
            self.holding.tick()

    def _leave_when_drained(self) -> None:
        """An announced departure waits a little for what is under way, then is told to all."""
        assert self._leaving_at is not None
        if self._streams.idle() or self._leaving_at <= self.now:
            self._leaving_at = None
            self._carry(self._engagement.handle(links.Disengage(), now=self.now))

    # -- calls -----------------------------------------------------------------------------

    def _act(self, event: Event) -> None:
        if event.__class__ is Call:
            self.call(event)
        elif isinstance(event, Arrive):
            self.holding.arrive(event)
        elif isinstance(event, Depart):
            self.holding.depart(event.agent)
        elif isinstance(event, Speak):
            self.governing.speak(event)
        else:
            assert isinstance(event, Certified | Revoked), event
            self.governing.certify(event)

    def call(self, call: Call) -> None:
        """Do what an agent asks; whatever it asked wrongly is its answer."""
        request = call.request
        try:
            resident = self.holding.resident(call.agent)
            _CALLS[request.__class__](self, call.op, resident, request)
        except NomospaceError as error:
            self.fail(call.op, error)

    def _call_cancel(self, op: int, resident: Resident, request: Cancel) -> None:
        self.answer(op, self.seeking.cancel(resident.id, request.op))

    def _call_adjust(self, op: int, resident: Resident, request: Adjust) -> None:
        self.answer(op, self.reacting.adjust(resident.id, request))

    def _call_reactions(self, op: int, resident: Resident, request: Reactions) -> None:
        self.answer(op, self.reacting.of(resident.id))

    def _call_open(self, op: int, resident: Resident, request: Open) -> None:
        self.holding.open(resident, request)
        self.answer(op)

    def _call_share(self, op: int, resident: Resident, request: Share) -> None:
        self.holding.share(resident, request.spaces, shared=request.shared)
        self.answer(op)

    def _call_adopt(self, op: int, resident: Resident, request: Adopt) -> None:
        self.answer(op, self.governing.adopt(resident.id, request))

    def _call_tell(self, op: int, resident: Resident, request: Tell) -> None:
        self.answer(op, self.governing.send(resident.id, request))

    # -- what the parts order --------------------------------------------------------------

    def write_down(self, change: Change) -> None:
        """This step is not done before a change is on disk."""
        self._changes.append(change)

    def order(self, effect: Effect) -> None:
        """Something must follow this step."""
        self._orders.append(effect)

    def answer(self, op: int, value: Any = None) -> None:
        """Answer a call. Operations that a law or a listener made have no number to answer."""
        if op > 0:
            self._orders.append(Answer(op, value))

    def fail(self, op: int, error: NomospaceError) -> None:
        """Answer a call with an error; without the frames it was raised in, which hold the host."""
        if op > 0:
            self._orders.append(Answer(op, None, error.with_traceback(None)))

    def note(self, what: str, **facts: Any) -> None:
        """Let an operator know."""
        self._orders.append(Note(what, facts))

    def answered(self, op: int) -> Answer | None:
        """The answer that this very step gave to a call, taken back for whoever made it inside."""
        for place in range(len(self._orders) - 1, -1, -1):
            order = self._orders[place]
            if order.__class__ is Answer and order.op == op:
                del self._orders[place]
                return order
        return None

    # -- peers -----------------------------------------------------------------------------

    def tell(self, peer: str, body: Any) -> None:
        """Say something to an engaged host, once and in order; nothing when contact is lost."""
        if peer in self._streams:
            self._carry(self._engagement.relay(peer, self._streams.send(peer, body, now=self.now)))

    def give(self, peer: str, what: Any) -> None:
        """Hand tuples over to a host, exactly once, now or when it is back."""
        number = self._transfers.give(peer, what)
        self.write_down(TransferGiven(peer, number, what))
        self.tell(peer, Transfer(number, what))

    def has_room(self, peer: str) -> bool:
        """Whether a peer can be given more to do."""
        return not (self._streams.full(peer) or self._transfers.full(peer))

    def _carry(self, effects: list[links.Effect]) -> None:
        """Do what engagement orders."""
        for effect in effects:
            if isinstance(effect, links.Transmit):
                self._orders.append(Transmit(effect.to, effect.frame))
            elif isinstance(effect, links.Deliver):
                if isinstance(effect.body, Data | Ack):
                    self._receive(effect.src, effect.body)
            elif isinstance(effect, links.Floor):
                self.write_down(FloorRaised(effect.number))
            elif isinstance(effect, links.Freeze):
                self._frozen = True
                self._joining = None
                info = links.Info(self._entry())
                self._carry(self._engagement.handle(info, now=self.now))
            elif isinstance(effect, links.Thaw):
                self._joining = None
                self._go_on()
            elif isinstance(effect, links.Exchange):
                self._exchange(effect.view, effect.directories)
            else:
                assert isinstance(effect, links.Installed), effect
                self._install(effect.view)

    def _receive(self, peer: str, frame: Data | Ack) -> None:
        bodies, reply = self._streams.receive(peer, frame, now=self.now)
        if reply is not None:
            self._carry(self._engagement.relay(peer, reply))
        for body in bodies:
            if isinstance(body, Met):
                self._met[peer] = None
            elif self._frozen or not self._is_peer(peer):
                self._held_bodies.append((peer, body))
            else:
                self._hear(peer, body)
        self._finish_exchange()

    def _is_peer(self, peer: str) -> bool:
        return peer in self.entries and peer in self._met

    # -- engagement ------------------------------------------------------------------------

    def _entry(self) -> Entry:
        return Entry(*self.holding.lines(), self._streams.sessions())

    def _exchange(self, view: View, directories: dict[str, Entry]) -> None:
        """The view is certain: meet those who are new, and ship what is for their agents."""
        self._joining = (view, directories)
        mine = directories[self.name].sessions
        for peer in view.members:
            if peer == self.name:
                continue
            session = mine.get(peer)
            if session is None or directories[peer].sessions.get(self.name) != session:
                self._lose(peer)
                self._streams.open(peer, view.id)
                for number, what in self._transfers.pending(peer):
                    self.tell(peer, Transfer(number, what))
                self.holding.ship(peer, directories[peer])
                self.tell(peer, Met())
        self._finish_exchange()

    def _finish_exchange(self) -> None:
        if self._joining is None:
            return
        view = self._joining[0]
        if all(peer in self._met for peer in view.members if peer != self.name):
            self._carry(self._engagement.handle(links.Exchanged(view.id), now=self.now))

    def _install(self, view: View) -> None:
        """All is there: from here on agents see the new group."""
        assert self._joining is not None
        assert self._joining[0] == view
        directories = self._joining[1]
        self._joining = None
        for peer in list(self._streams.sessions()):
            if peer not in view.members:
                self._lose(peer)
        self.entries = {peer: entry for peer, entry in directories.items() if peer != self.name}
        self._map_agents()
        self.note("view", id=view.id, members=view.members)
        self._go_on()

    def _go_on(self) -> None:
        """The group stands still again: place what was shipped, then do what was held."""
        self._frozen = False
        held, self._held_bodies = self._held_bodies, []
        for peer, body in held:
            if self._is_peer(peer):
                self._hear(peer, body)
            elif peer in self._streams:  # met in a view that is still to come
                self._held_bodies.append((peer, body))
        for peer, entry in list(self.entries.items()):
            self.holding.ship(peer, entry)
        self.seeking.respread()
        self.reacting.respread()
        self.system.refresh()
        while self._held_calls and not self._frozen:
            self._act(self._held_calls.popleft())

    def _lose(self, peer: str) -> None:
        """Contact with a peer is lost, or begins anew: forget what was under way with it."""
        self._streams.close(peer)
        self._met.pop(peer, None)
        self._held_bodies = [(one, body) for one, body in self._held_bodies if one != peer]
        if self.entries.pop(peer, None) is not None:
            self._map_agents()
        self.seeking.lost(peer)
        self.serving.lost(peer)
        self.lending.lost(peer)
        self.reacting.lost(peer)

    def _map_agents(self) -> None:
        self.where = {agent: peer for peer, entry in self.entries.items() for agent in entry.agents}

    def _announce(self) -> None:
        """Tell the peers when the agents here, or the spaces they share, have changed."""
        lines = self.holding.lines()
        if lines is self._told:
            return
        self._told = lines
        for peer in self.entries:
            self.tell(peer, Announced(Entry(*lines)))
        self.system.refresh()

    # -- messages of peers -----------------------------------------------------------------

    def _hear(self, peer: str, body: Any) -> None:
        _HEAR[body.__class__](self, peer, body)

    def _hear_announced(self, peer: str, body: Announced) -> None:
        self.entries[peer] = body.entry
        self._map_agents()
        self.holding.ship(peer, body.entry)
        self.seeking.respread()
        self.reacting.respread()
        self.system.refresh()

    def _hear_transfer(self, peer: str, body: Transfer) -> None:
        """Place a transfer that is new, in the same step as the note that it was."""
        if self._transfers.is_next(peer, body.number):
            self._transfers.place(peer, body.number)
            self.write_down(TransferPlaced(peer, body.number))
            what = body.what
            if isinstance(what, Given):
                self.seeking.given(peer, what)
            elif isinstance(what, Migrated):
                self.holding.migrated(peer, what)
            elif isinstance(what, Returned):
                self.holding.returned(what)
            else:
                assert isinstance(what, Handed), what
                self.holding.handed(what)
        self.tell(peer, Taken(self._transfers.got(peer)))

    def _hear_taken(self, peer: str, body: Taken) -> None:
        if self._transfers.taken(peer, body.number):
            self.write_down(TransferTaken(peer, body.number))

    # -- what spaces tell ------------------------------------------------------------------

    def happened(self, name: str, space: Space, outcomes: list[Outcome]) -> None:
        """Carry on with what a step of a space brought about."""
        for outcome in outcomes:
            kind = outcome.__class__
            if kind is Woken:
                self.seeking.woken(name, space, outcome.ticket, outcome.record)  # type: ignore[union-attr]
            elif isinstance(outcome, Fired):
                self.reacting.fired(name, outcome.reaction, outcome.record)
            elif isinstance(outcome, Expired):
                self.holding.expired(name, outcome.record)
            elif isinstance(outcome, Lapsed):
                self.lending.lapsed(outcome.taker)
                if outcome.record.order > 0:  # else it has found another taker already
                    self.holding.came_back(name, space, outcome.record)
            elif isinstance(outcome, Dead):
                self.holding.died(name, outcome.record)
            elif isinstance(outcome, Failed):
                self.note(
                    "listener-failed",
                    reaction=outcome.reaction.id,
                    space=name,
                    tuple=outcome.record.fields,
                    error=outcome.error,
                )
            else:
                assert isinstance(outcome, Ranaway), outcome
                self.note(
                    "reaction-ran-away",
                    reaction=outcome.reaction.id,
                    space=name,
                    firings=outcome.firings,
                )


_ACTS: Final = (Arrive, Depart, Speak, Certified, Revoked)
"""What waits, besides calls, while the group changes."""

_CALLS: Final[dict[type, Any]] = {
    Out: lambda host, op, resident, request: host.holding.out(op, resident, request),
    OutMany: lambda host, op, resident, request: host.holding.out(op, resident, request),
    Seek: lambda host, op, resident, request: host.seeking.seek(op, resident, request),
    Settle: lambda host, op, resident, request: host.lending.settle(op, resident, request),
    React: lambda host, op, resident, request: host.reacting.react(op, resident, request),
    Cancel: Host._call_cancel,
    Adjust: Host._call_adjust,
    Reactions: Host._call_reactions,
    Open: Host._call_open,
    Share: Host._call_share,
    Adopt: Host._call_adopt,
    Tell: Host._call_tell,
}

_HEAR: Final[dict[type, Any]] = {
    Announced: Host._hear_announced,
    Transfer: Host._hear_transfer,
    Taken: Host._hear_taken,
    Watch: lambda host, peer, body: host.serving.hear_watch(peer, body),
    Unwatch: lambda host, peer, body: host.serving.hear_unwatch(peer, body),
    Ask: lambda host, peer, body: host.serving.hear_ask(peer, body),
    Shown: lambda host, peer, body: host.seeking.hear_shown(peer, body),
    Offer: lambda host, peer, body: host.seeking.hear_offer(peer, body),
    Claim: lambda host, peer, body: host.serving.hear_claim(peer, body),
    Denied: lambda host, peer, body: host.seeking.hear_denied(peer, body),
    Lent: lambda host, peer, body: host.seeking.hear_lent(peer, body),
    Settled: lambda host, peer, body: host.lending.hear_settled(peer, body),
    Closed: lambda host, peer, body: host.lending.hear_closed(body),
    ReactWatch: lambda host, peer, body: host.reacting.hear_react(peer, body),
    UnreactWatch: lambda host, peer, body: host.reacting.hear_unreact(peer, body),
    Reacted: lambda host, peer, body: host.reacting.hear_reacted(peer, body),
    Mailed: lambda host, peer, body: host.governing.hear_mailed(peer, body),
}
