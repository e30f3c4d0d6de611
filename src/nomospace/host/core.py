"""A whole host without its wires: told events, it answers with effects.

`Host.handle` takes one event and says what must follow. All that the event changed durably stands
in one `Persist` before everything that others may see, so a crash finds each step done or not
done. The parts of a host each have a file, and know each other by what `ports` says of them; they
share the step under way:

- `holding`: agents, their interface spaces, the host-level spaces, where a tuple belongs;
- `seeking`: reads and takes of its agents, here and across the group; `claiming`: what other hosts
  give for them; `serving`: the same for the agents of other hosts; `looking`: searches that take
  more than one step;
- `lending`: leases;
- `reacting`: reactions, strong and weak;
- `speaking`: the ontologies that its spaces speak;
- `governing`: controllers; `governed`: operations on governed spaces as events of their law;
- `posting`: mail that finds its agent; `moving`: agents that come and go;
- `suspending`: agents and laws that an operator has suspended; `deciding`: rulings that take more
  than one step;
- `system`: the space `LimeSystem`;
- `group`: engagement, and all that passes between engaged hosts; `peers`: which birth of a host it
  passes to;
- `plain`: plain writes, reads and takes, which concern nobody else;
- `directory`: who is at which host of the group, and who shares what, line by line;
- this file: the step, and the calls of agents, which are held while the group changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from nomospace.calls.problems import Busy
from nomospace.calls.requests import (
    Adjust,
    Adopt,
    Cancel,
    Launch,
    Move,
    Open,
    Out,
    OutMany,
    React,
    Reactions,
    Save,
    Seek,
    Settle,
    Share,
    Show,
    Stand,
    Tell,
)
from nomospace.control import Ruling
from nomospace.control.told import standing
from nomospace.errors import NomospaceError
from nomospace.host.calls import (
    Absent,
    Arrive,
    Call,
    Certified,
    Depart,
    Disengage,
    Engage,
    Event,
    Heard,
    Loaded,
    Moved,
    Present,
    Primary,
    PutBack,
    Resume,
    RevocationsLearnt,
    Revoked,
    Speak,
    Suspend,
    Tick,
    Uncertified,
)
from nomospace.host.certifying import Certifying
from nomospace.host.changes import Change, Durable, MemberRuled, ProgramKept
from nomospace.host.claiming import Claiming
from nomospace.host.collecting import Collecting
from nomospace.host.deciding import Deciding
from nomospace.host.effects import Answer, Effect, Note, Persist, Ruled, Traced
from nomospace.host.governed import Governed
from nomospace.host.governing import Governing
from nomospace.host.group import Group
from nomospace.host.holding import Holding
from nomospace.host.lending import Lending
from nomospace.host.looking import Looking
from nomospace.host.mirroring import Mirroring
from nomospace.host.moving import Moving
from nomospace.host.peers import Peers
from nomospace.host.plain import PLAIN, PlainCalls
from nomospace.host.posting import Posting
from nomospace.host.reacting import Reacting
from nomospace.host.residents import Resident
from nomospace.host.seeking import Seeking
from nomospace.host.serving import Serving
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.host.speaking import Speaking
from nomospace.host.suspending import Suspending
from nomospace.host.system import System
from nomospace.host.trust import Trust, Trusting
from nomospace.law import CompiledLaw
from nomospace.protocols.births import BEFORE
from nomospace.protocols.courier import Parcel, Receipt
from nomospace.protocols.messages import View
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Policy
from nomospace.protocols.routing.limits import DEFAULT_LIMITS, RoutingLimits
from nomospace.protocols.spaces import (
    Ask,
    Claim,
    Denied,
    DirectoryChanged,
    Fetch,
    LeaseClosed,
    LeaseSettled,
    Lent,
    Mailed,
    Mirror,
    Mirrored,
    Reacted,
    ReactWatch,
    Shown,
    TupleOffer,
    Unmirror,
    UnreactWatch,
    Unwatch,
    Watch,
)
from nomospace.protocols.transfers import Taken, Transfer
from nomospace.space import (
    DeadLetter,
    Dear,
    Expired,
    Fired,
    Gathered,
    Lapsed,
    ListenerFailed,
    Outcome,
    Overran,
    Ranaway,
    Record,
    Space,
    Woken,
)
from nomospace.terms import Term
from nomospace.trust.revocation import Revocations

HELD_MAX: Final = 100_000
"""How many calls may be held while the group changes."""


class Passed(NamedTuple):
    """A frame of the courier that came through other hosts, and is held."""

    peer: str
    frame: Parcel | Receipt


class Host:
    """One host: its agents, its spaces, its part in the group.

    `life` grows with each start of the host. `birth` is kept with `durable`, and another one stands
    for a host that has forgotten all (`protocols.births`). What its agents number begins with `era`
    (`births.era_of`), if nothing it writes down is kept. `policy` says with whom it engages, and
    `pace` how soon it notices who came or went. `durable` is what earlier lives wrote down; `laws`
    are the laws that it names. `domain` is where new agents are at home (the host's own name, if
    nothing is said), and `servers` says which hosts serve which domains. `admits` is asked for an
    agent that would come, with its program and code: why it may not, or an empty string. `reads`
    is asked once it is at the door, with program, code and state. `trust` says whom it believes
    under laws that want certified controllers; without it, everybody. `enrols` is asked for an
    agent that adopts a law (its hash), and gives the terms that a secretary's roll has for it, or
    raises why it is not admitted. `carries` is asked for a frame that may be large: why
    the wires cannot take it, or an empty string. `lap` is a stopwatch in nanoseconds, for how
    long rulings take. `limits` bound the mail that waits, `shares` what each agent may have. With
    `traces` the host tells what becomes of every tuple (`effects.Traced`). `revocations` are the
    certificates known to be revoked when the host begins. A host that is `loading` is told the
    tuples of earlier lives in `Loaded` events; until the last of them it is alone, and all that it
    is asked waits.

    >>> host = Host("ward", life=1, now=0)
    >>> host.handle(Arrive("ann@ward"), now=0)[0].changes[0]
    AgentCame(agent='ann@ward', count=0)
    >>> host.view.members
    ('ward',)
    """

    def __init__(
        self,
        name: str,
        *,
        life: int,
        now: int,
        birth: int = BEFORE,
        era: int = 0,
        policy: Policy | None = None,
        pace: Pace = USUAL,
        durable: Durable | None = None,
        laws: Mapping[str, CompiledLaw] | None = None,
        domain: str | None = None,
        servers: Mapping[str, tuple[str, ...]] | None = None,
        admits: Callable[[str, str, Any], str] | None = None,
        reads: Callable[[str, Any, Any], str] | None = None,
        trust: Trust | None = None,
        enrols: Callable[[str, str], tuple[Term, ...]] | None = None,
        carries: Callable[[Any], str] | None = None,
        lap: Callable[[], int] | None = None,
        limits: RoutingLimits = DEFAULT_LIMITS,
        shares: Shares = USUAL_SHARES,
        traces: bool = False,
        revocations: Revocations | None = None,
        loading: bool = False,
    ) -> None:
        durable = durable or Durable()
        self.name = name
        self.life = life
        self.era = era
        self.now = now
        self.traces = traces
        self.loading = loading
        self.stirred = True
        """Whether anything but plain calls came since it was asked for its next deadline."""
        self._changes: list[Change] = []
        self._orders: list[Effect] = []
        self.admits = admits or _admit_all
        self.reads = reads or _admit_all
        self.trust: Trust = trust or Trusting()
        self.proven = trust is not None
        """Whether neighbours have proved who they are, so that others cannot speak for them."""
        self.enrols = enrols or _no_roll
        self.carries = carries or _admit_all
        self.shares = shares
        self.lap = lap or _no_time
        self._held: deque[Event | Passed] = deque()
        self.peers = Peers(self, birth, durable)
        self.group = Group(self, policy, pace, durable)
        self.speaking = Speaking(self)
        self.holding = Holding(self)
        self.looking = Looking(self)
        self.seeking = Seeking(self)
        self.claiming = Claiming(self)
        self.serving = Serving(self)
        self.collecting = Collecting(self)
        self.mirroring = Mirroring(self)
        self.lending = Lending(self)
        self.reacting = Reacting(self)
        self.governing = Governing(self, laws or {})
        self.governed = Governed(self)
        self.certifying = Certifying(self, revocations or Revocations())
        self.posting = Posting(self, domain or name, servers or {}, durable, limits)
        self.moving = Moving(self, durable)
        self.suspending = Suspending(self, durable)
        self.deciding = Deciding(self)
        self.system = System(self)
        self.plain = PlainCalls(self)
        self._timed = (
            self.holding,
            self.looking,
            self.collecting,
            self.governing,
            self.suspending,
            self.deciding,
            self.certifying,
            self.posting,
            self.moving,
        )
        """Parts that may want to hear the time: none does that has nothing `timed`."""
        self.group.hears.update(self._hears())
        self.governing.restore(durable)
        self.speaking.restore(durable)
        self.holding.restore(durable)
        self.system.refresh()
        self._changes.clear()
        self._orders.clear()

    def _hears(self) -> dict[type, Callable[[str, Any], None]]:
        """Whom each kind of message of a peer is for."""
        return {
            DirectoryChanged: self.group.hear_announced,
            Transfer: self.group.hear_transfer,
            Taken: self.group.hear_taken,
            Watch: self.serving.hear_watch,
            Unwatch: self.serving.hear_unwatch,
            Ask: self.serving.hear_ask,
            Shown: self.claiming.hear_shown,
            TupleOffer: self.claiming.hear_offer,
            Claim: self.serving.hear_claim,
            Denied: self.claiming.hear_denied,
            Lent: self.claiming.hear_lent,
            LeaseSettled: self.lending.hear_settled,
            LeaseClosed: self.lending.hear_closed,
            Mirror: self.mirroring.hear_mirror,
            Mirrored: self.collecting.hear_mirrored,
            Unmirror: self.mirroring.hear_unmirror,
            Fetch: self.mirroring.hear_fetch,
            ReactWatch: self.reacting.hear_react,
            UnreactWatch: self.reacting.hear_unreact,
            Reacted: self.reacting.hear_reacted,
            Mailed: self.governing.hear_mailed,
        }

    # -- what others ask -------------------------------------------------------------------

    @property
    def view(self) -> View:
        """The group as this host sees it."""
        return self.group.view

    @property
    def frozen(self) -> bool:
        """Whether the group is changing: until it stands still, calls and obligations wait."""
        return self.group.frozen

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of this host."""
        return tuple(self.holding.residents)

    def has(self, agent: str) -> bool:
        """Whether an agent is at this host."""
        return agent in self.holding.residents

    @property
    def programs(self) -> tuple[ProgramKept, ...]:
        """What agents of this host run, as far as it was told."""
        return tuple(self.moving.programs.values())

    def laws_of(self, agent: str) -> tuple[CompiledLaw, ...]:
        """The laws under which an agent of this host is a member."""
        return self.governing.laws_over(agent)

    def away(self, agent: str) -> bool:
        """Whether an agent that this host knows the way to is not here: gone, or under way."""
        return agent not in self.holding.residents and self.posting.knows(agent)

    def connected(self, agent: str) -> bool:
        """Whether an agent is here or at an engaged host."""
        return agent in self.holding.residents or agent in self.group.where

    def next_deadline(self) -> int | None:
        """When this host next wants to hear the time; another only if it has `stirred`."""
        self.stirred = False
        if self.loading:
            return None
        due = self.group.next_deadline()
        if not self.group.frozen:
            for part in self._timed:
                if part.timed:
                    at = part.next_deadline()
                    if at is not None and at < due:
                        due = at
        return due

    # -- a step ----------------------------------------------------------------------------

    def handle(self, event: Event, *, now: int) -> list[Effect]:
        """Take one fact in and say what must follow, in order."""
        return self.handle_many((event,), now=now)[1]

    def handle_many(self, events: Sequence[Event], *, now: int) -> tuple[int, list[Effect]]:
        """Take in as many facts as make one step, and say how many, and what must follow in order.

        These are the plain calls (`plain`) that the facts begin with: they concern nobody else, so
        nobody is told and no deadline is another after them. Of all others the first is a step.
        """
        self.now = now
        first = events[0]
        is_plain = first.__class__ is Call and first.request.__class__ in PLAIN
        if is_plain and not self.loading and not self.group.frozen:
            done = self.plain.serve(events, self._changes, self._orders)
            if done:
                return done, self._hand_over()
        self.stirred = True
        return 1, self._handle(events[0], now)

    def _handle(self, event: Event, now: int) -> list[Effect]:
        self.deciding.left = self.deciding.step
        kind = event.__class__
        if self.loading:
            self._load(event)
        elif kind is Call or kind in _ACTS:
            if not self.group.frozen:
                if event.__class__ is Call:
                    self.call(event)
                else:
                    self._act(event)
            elif len(self._held) < HELD_MAX:
                self._held.append(event)
            elif isinstance(event, Call):
                self.fail(event.op, Busy(what="calls held while the group changes", limit=HELD_MAX))
        elif isinstance(event, Heard):
            if isinstance(event.frame, Parcel | Receipt):
                self.post(event.neighbour, event.frame, straight=True)
            else:
                self.posting.courier.heard(event.neighbour, now=now)
                self.group.heard(event.neighbour, event.frame)
        elif isinstance(event, Tick):
            self.group.tick()
            if not self.group.frozen:
                self.certifying.tick()
                self.governing.tick()
                self.suspending.tick()
                self.deciding.tick()
                self.holding.tick()
                self.looking.tick()
                self.collecting.tick()
                self.posting.tick()
                self.moving.tick()
        else:
            assert isinstance(event, Engage | Disengage | Moved), event
            self._group_act(event)
        return self._end()

    def _group_act(self, event: Engage | Disengage | Moved) -> None:
        if isinstance(event, Engage):
            self.group.engage()
        elif isinstance(event, Disengage):
            self.group.disengage()
        else:
            self.group.moved(event.position)

    def _load(self, event: Event) -> None:
        """An event while tuples of earlier lives are still to come."""
        if isinstance(event, Loaded):
            self.holding.load(event.rows)
            if event.last:
                self.loading = False
                self.go_on()
        elif isinstance(event, Tick) or (
            isinstance(event, Heard) and not isinstance(event.frame, Parcel | Receipt)
        ):
            pass  # they come again
        elif len(self._held) < HELD_MAX:
            self._held.append(event)
        elif isinstance(event, Call):
            self.fail(event.op, Busy(what="calls held while the host loads", limit=HELD_MAX))

    def _end(self) -> list[Effect]:
        """Tell the group what changed, and say what this step asks for."""
        if not self.group.frozen and not self.loading:
            if self.collecting.timed:
                self.collecting.settle()
            if self.mirroring.shown:
                self.mirroring.tell()
            if self.holding.unannounced:
                self.group.announce()
        return self._hand_over()

    def _hand_over(self) -> list[Effect]:
        """What a step asks for, with what must be on disk before."""
        orders, self._orders = self._orders, []
        if self._changes:
            orders.insert(0, Persist(tuple(self._changes)))
            self._changes.clear()
        return orders

    def go_on(self) -> None:
        """The group stands still again: do what was held meanwhile."""
        while self._held and not self.group.frozen:
            held = self._held.popleft()
            if isinstance(held, Engage | Disengage | Moved):
                self._group_act(held)
            elif isinstance(held, Passed):
                self.post(held.peer, held.frame, straight=False)
            else:
                self._act(held)

    def post(self, peer: str, frame: Parcel | Receipt, *, straight: bool) -> None:
        """A frame of the courier came, from its sender or through others.

        What it brings waits while the group changes.
        """
        if not self.group.frozen:
            self.posting.heard(peer, frame, straight=straight)
        elif len(self._held) < HELD_MAX:  # else it is as good as lost, and comes again
            self._held.append(Heard(peer, frame) if straight else Passed(peer, frame))

    # -- calls -----------------------------------------------------------------------------

    def _act(self, event: Event) -> None:
        if event.__class__ is Call:
            self.call(event)
        elif isinstance(event, Arrive):
            self.holding.arrive(event)
        elif isinstance(event, Depart):
            self.holding.depart(event.agent)
        elif isinstance(event, Heard):
            self.posting.heard(event.neighbour, event.frame, straight=True)
        elif isinstance(event, Primary):
            self.posting.primary(event.domain, event.site, event.term)
        elif isinstance(event, Speak):
            self.governing.speak(event)
        elif isinstance(event, Suspend):
            self.suspending.suspend(event)
        elif isinstance(event, Resume):
            self.suspending.resume(event)
        elif isinstance(event, Absent | Present):
            self.governing.present(event)
        elif isinstance(event, RevocationsLearnt):
            self.certifying.learn(event)
        else:
            assert isinstance(event, Certified | Uncertified | Revoked), event
            self.governing.certify(event)

    def call(self, call: Call) -> None:
        """Do what an agent asks; whatever it asked wrongly is its answer."""
        request = call.request
        try:
            resident = self.holding.resident(call.agent)
            if self.suspending.concerned and request.__class__ not in _ALWAYS:
                refused = self.suspending.refusal(call.agent)
                if refused is not None:
                    raise refused
            _CALLS[request.__class__](self, call.op, resident, request)
        except NomospaceError as error:
            self.fail(call.op, error)

    def _call_cancel(self, op: int, resident: Resident, request: Cancel) -> None:
        def then(called_off: bool) -> None:
            self.answer(op, called_off or self.moving.cancel(resident.id, request.op))

        self.seeking.cancel(resident.id, request.op, op, then)

    def _call_adjust(self, op: int, resident: Resident, request: Adjust) -> None:
        self.reacting.adjust(op, resident.id, request)

    def _call_reactions(self, op: int, resident: Resident, request: Reactions) -> None:
        self.answer(op, self.reacting.of(resident.id))

    def _call_open(self, op: int, resident: Resident, request: Open) -> None:
        self.holding.open(resident, request)
        self.answer(op)

    def _call_share(self, op: int, resident: Resident, request: Share) -> None:
        self.holding.share_for(op, resident, request.spaces, request.shared)

    def _call_adopt(self, op: int, resident: Resident, request: Adopt) -> None:
        self.governing.adopt(op, resident.id, request)

    def _call_show(self, op: int, resident: Resident, request: Show) -> None:
        self.certifying.show(op, resident.id, request)

    def _call_stand(self, op: int, resident: Resident, request: Stand) -> None:
        self.answer(op, standing(self.governing.member(resident.id, request.law)))

    def _call_tell(self, op: int, resident: Resident, request: Tell) -> None:
        self.governing.send(op, resident.id, request)

    # -- what the parts order --------------------------------------------------------------

    def write_down(self, change: Change) -> None:
        """This step is not done before a change is on disk."""
        self._changes.append(change)

    def order(self, effect: Effect) -> None:
        """Something must follow this step."""
        self._orders.append(effect)

    def ruled(self, ruling: Ruling, hops: int, took_ns: int) -> None:
        """A controller has ruled: that is kept, and told to the journal."""
        self._changes.append(MemberRuled(ruling))
        self._orders.append(Ruled(ruling, hops, took_ns))

    def answer(self, op: int, value: object = None) -> None:
        """Answer a call. Operations that a law or a listener made have no number to answer."""
        if op > 0:
            self._orders.append(Answer(op, value))

    def fail(self, op: int, error: NomospaceError) -> None:
        """Answer a call with an error; without the frames it was raised in, which hold the host."""
        if op > 0:
            self._orders.append(Answer(op, None, error.with_traceback(None)))

    def trace(self, op: str, space: str, record: Record, agent: str) -> None:
        """Let the journal know what became of a tuple, if there is one."""
        if self.traces:
            traced = Traced(op, space, record.fields, record.writer, record.count, agent)
            self._orders.append(traced)

    def note(self, what: str, **facts: object) -> None:
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

    # -- what spaces tell ------------------------------------------------------------------

    def happened(self, name: str, space: Space, outcomes: list[Outcome]) -> None:
        """Carry on with what a step of a space brought about."""
        governed = bool(outcomes) and self.holding.is_governed(name, space)
        for outcome in outcomes:
            if isinstance(outcome, _REACHED):
                if not governed or not self.looking.postpones(space, outcome):
                    self.reached(name, space, outcome)
            elif isinstance(outcome, Overran):
                self.seeking.overran(outcome.ticket, outcome.error)
            elif isinstance(outcome, Expired):
                self.holding.expired(name, outcome.record)
            elif isinstance(outcome, Lapsed):
                self.lending.lapsed(outcome.taker)
                if space.get(outcome.record.id) is outcome.record:  # else it is taken already
                    self.holding.came_back(name, space, outcome.record)
            elif isinstance(outcome, Dear):
                self.reacting.ran_away(outcome.reaction)
                self.note(
                    "reaction-too-dear",
                    reaction=outcome.reaction.id,
                    space=name,
                    why=str(outcome.error),
                )
            elif isinstance(outcome, DeadLetter):
                self.holding.died(name, outcome.record)
            elif isinstance(outcome, ListenerFailed):
                self.note(
                    "listener-failed",
                    reaction=outcome.reaction.id,
                    space=name,
                    tuple=outcome.record.fields,
                    error=outcome.error,
                )
            else:
                assert isinstance(outcome, Ranaway), outcome
                self.reacting.ran_away(outcome.reaction)
                self.note(
                    "reaction-ran-away",
                    reaction=outcome.reaction.id,
                    space=name,
                    firings=outcome.firings,
                )
        if self.looking.is_busy(space):
            self.looking.serve(name, space)

    def reached(self, name: str, space: Space, outcome: Woken | Gathered | Fired) -> None:
        """A tuple, or several together, are there for one who waits or reacts."""
        if isinstance(outcome, Woken):
            self.seeking.woken(name, space, outcome.ticket, outcome.record)
        elif isinstance(outcome, Gathered):
            self.seeking.gathered(name, space, outcome)
        else:
            self.reacting.fired(name, outcome.reaction, outcome.record)


def _admit_all(*asked: Any) -> str:
    return ""


def _no_time() -> int:
    return 0


def _no_roll(agent: str, law: str) -> tuple[Term, ...]:
    return ()


_REACHED: Final = (Woken, Gathered, Fired)
"""What a space has for those who wait and react."""

_ACTS: Final = (
    Arrive,
    Depart,
    Speak,
    Certified,
    Uncertified,
    Revoked,
    RevocationsLearnt,
    Absent,
    Present,
    Primary,
    Suspend,
    Resume,
)
"""What waits, besides calls, while the group changes."""

_ALWAYS: Final = frozenset({PutBack, Cancel, Adjust})
"""What is done for suspended agents too: drivers ask it when a client is gone."""

_CALLS: Final[dict[type, Any]] = {
    Out: lambda host, op, resident, request: host.holding.out(op, resident, request),
    OutMany: lambda host, op, resident, request: host.holding.out(op, resident, request),
    PutBack: lambda host, op, resident, request: host.holding.put_back(op, resident, request),
    Seek: lambda host, op, resident, request: host.seeking.seek(op, resident, request),
    Settle: lambda host, op, resident, request: host.lending.settle(op, resident, request),
    React: lambda host, op, resident, request: host.reacting.react(op, resident, request),
    Cancel: Host._call_cancel,
    Adjust: Host._call_adjust,
    Reactions: Host._call_reactions,
    Open: Host._call_open,
    Share: Host._call_share,
    Adopt: Host._call_adopt,
    Show: Host._call_show,
    Stand: Host._call_stand,
    Tell: Host._call_tell,
    Move: lambda host, op, resident, request: host.moving.move(op, resident, request),
    Launch: lambda host, op, resident, request: host.moving.launch(op, resident, request),
    Save: lambda host, op, resident, request: host.moving.save(op, resident, request),
}
