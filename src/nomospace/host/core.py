"""A whole host without its wires: told events, it answers with effects.

`Host.handle` takes one event and says what must follow. All that the event changed durably stands
in one `Persist` before everything that others may see, so a crash finds each step done or not
done. The parts of a host each have a file, and know each other by what `ports` says of them; they
share the step under way:

- `holding`: agents, their interface spaces, the host-level spaces; `writing`: new tuples;
  `placing`: where a tuple belongs;
- `opening`: spaces that agents ask for; `partitioning`: where tuples of partitioned ones belong;
- `seeking`: reads and takes of its agents, here and across the group; `claiming`: what other hosts
  give for them; `answering`: what this host gives; `serving`: the same for the agents of other
  hosts; `looking`: searches that take more than one step;
- `digests`: what peers may hold; `lending`: leases; `reacting`: reactions, strong and weak;
- `speaking`: the ontologies that its spaces speak;
- `governing`: controllers; `known_laws`: laws at hand; `telling`: what controllers are told, and
  agents of their rulings; `governed`: operations on governed spaces as events of their law;
- `posting`: mail that finds its agent; `mailing`: what it brings to agents and controllers;
  `moving`: agents that come and go;
- `suspending`: agents and laws that an operator has suspended; `deciding`: rulings that take more
  than one step;
- `system`: the space `LimeSystem`;
- `group`: engagement, and all that passes between engaged hosts; `peers`: which birth of a host it
  passes to;
- `plain`: plain writes, reads and takes, which concern nobody else;
- `directory`: who is at which host of the group, and who shares what, line by line;
- this file: the step, and the calls of agents, which are held while the group changes; each kind
  goes to the part that carries it out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from nomospace.calls import requests
from nomospace.calls.addresses import key_at
from nomospace.calls.problems import Busy
from nomospace.calls.requests import Tell
from nomospace.host import calls as facts
from nomospace.host.call_table import CallTable, Handler
from nomospace.host.certifying import Certifying
from nomospace.host.changes import Durable, ProgramKept
from nomospace.host.claiming import Claiming, LocalAnswers
from nomospace.host.collecting import Collecting
from nomospace.host.deciding import Deciding
from nomospace.host.digests import Digests
from nomospace.host.effects import Effect
from nomospace.host.governed import Governed
from nomospace.host.governing import Governing
from nomospace.host.group import Group
from nomospace.host.holding import Holding
from nomospace.host.known_laws import KnownLaws
from nomospace.host.lending import Lending
from nomospace.host.looking import ParkedSearches
from nomospace.host.mailing import Mailing, Telling
from nomospace.host.mirroring import Mirroring
from nomospace.host.moving import Moving
from nomospace.host.opening import SpaceOpening
from nomospace.host.outcomes import Outcomes
from nomospace.host.partitioning import Partitioning
from nomospace.host.peers import Peers
from nomospace.host.placing import Placing
from nomospace.host.plain import PLAIN, PlainCalls
from nomospace.host.posting import Posting
from nomospace.host.reacting import Reacting
from nomospace.host.residents import LocalSpaces, Resident, is_keeper
from nomospace.host.seeking import Seeking
from nomospace.host.serving import Serving
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.host.speaking import Speaking
from nomospace.host.step import HostStep
from nomospace.host.suspending import Suspending
from nomospace.host.system import System
from nomospace.host.trust import Trust, Trusting
from nomospace.host.writing import TupleWriting
from nomospace.law import CompiledLaw
from nomospace.protocols import spaces as frames
from nomospace.protocols.births import BEFORE
from nomospace.protocols.courier import Aside, Parcel, Receipt
from nomospace.protocols.messages import View
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Policy
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.transfers import Taken, Transfer
from nomospace.space.stored import StoreEngine
from nomospace.space.tables import TupleTables
from nomospace.terms import Term
from nomospace.trust.revocation import Revocations

SENT_UNITS: Final = 1_000
"""The units after which no further message is sent in a step: ten or so."""
HELD_MAX: Final = 100_000
"""How many calls may be held while the group changes."""


class Passed(NamedTuple):
    """A frame of the courier that came through other hosts, and is held."""

    peer: str
    frame: Parcel | Receipt | Aside


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
    the wires cannot take it, or an empty string. `stopwatch` counts nanoseconds, for how
    long rulings take. `limits` bound the mail that waits, `shares` what each agent may have. With
    `traces` the host tells what becomes of every tuple (`effects.Traced`). `revocations` are the
    certificates known to be revoked when the host begins. A host that is `loading` is told the
    tuples of earlier lives in `Loaded` events; until the last of them it is alone, and all that it
    is asked waits. `tables` have the tuples of spaces that lie in its store, which it is not told;
    those of the names `stored` do whoever opens them. `capacity` is the host's weight among the
    homes of partitioned spaces.

    >>> host = Host("ward", life=1, now=0)
    >>> host.handle(facts.Arrive("ann@ward"), now=0)[0].changes[0]
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
        stopwatch: Callable[[], int] | None = None,
        limits: RoutingLimits | None = None,
        eager: bool = False,
        shares: Shares = USUAL_SHARES,
        traces: bool = False,
        revocations: Revocations | None = None,
        loading: bool = False,
        stored: Sequence[str] = (),
        tables: TupleTables | None = None,
        capacity: float = 1.0,
    ) -> None:
        durable = durable or Durable()
        self.name = name
        self.step = HostStep(
            name,
            life=life,
            era=era,
            now=now,
            shares=shares,
            traces=traces,
            stopwatch=stopwatch or _no_time,
            engine=StoreEngine(durable.tables if tables is None else tables, stored),
        )
        self.spaces = LocalSpaces(name)
        self.loading = loading
        self.stirred = True
        """Whether anything but plain calls came since it was asked for its next deadline."""
        self.admits = admits or _admit_all
        self.reads = reads or _admit_all
        self.trust: Trust = trust or Trusting()
        self.proven = trust is not None
        """Whether neighbours have proved who they are, so that others cannot speak for them."""
        self.enrols = enrols or _no_roll
        self.carries = carries or _admit_all
        self._held: deque[facts.Event | Passed] = deque()
        self.peers = Peers(self, birth, durable)
        self.group = Group(self, policy, pace, durable)
        self.speaking = Speaking(self.step)
        self.holding = Holding(self)
        self.opening = SpaceOpening(self)
        self.partitioning = Partitioning(self, capacity, durable)
        self.placing = Placing(self)
        self.writing = TupleWriting(self)
        self.looking = ParkedSearches(self)
        self.digests = Digests(self)
        self.answering = LocalAnswers(self)
        self.seeking = Seeking(self)
        self.claiming = Claiming(self)
        self.serving = Serving(self)
        self.collecting = Collecting(self)
        self.mirroring = Mirroring(self)
        self.lending = Lending(self)
        self.reacting = Reacting(self)
        self.laws = KnownLaws(self.step, laws or {}, durable)
        self.governing = Governing(self, self.laws)
        self.mailing = Mailing(self)
        self.telling = Telling(self)
        self.governed = Governed(self)
        self.certifying = Certifying(self, revocations or Revocations())
        self.posting = Posting(
            self,
            domain or name,
            servers or {},
            durable,
            limits or RoutingLimits(silence=pace.missed),
            eager,
        )
        self.moving = Moving(self, durable)
        self.suspending = Suspending(self, durable)
        self.deciding = Deciding(self)
        self.system = System(self)
        self.plain = PlainCalls(self)
        self.group.hears.update(self._hears())
        self.group.receives.update(
            {
                frames.Given: self.claiming.given,
                frames.Migrated: self.placing.migrated,
                frames.Returned: self.placing.returned,
                frames.Handed: self.placing.handed,
            }
        )
        self.group.followers = (
            self.partitioning,
            self.placing,
            self.digests,
            self.seeking,
            self.serving,
            self.collecting,
            self.mirroring,
            self.lending,
            self.reacting,
            self.system,
            self.posting,
        )
        self.outcomes = Outcomes(self)
        self.calls = CallTable(self, self._handlers())
        self._receivers = self._acts()
        self._timed = (
            self.certifying,
            self.governing,
            self.governed.monitoring,
            self.suspending,
            self.deciding,
            self.holding,
            self.lending,
            self.looking,
            self.collecting,
            self.digests,
            self.posting,
            self.moving,
        )
        """Parts that may want to hear the time, in their order; none does that has nothing
        `timed`."""
        self.governing.restore(durable)
        self.speaking.restore(durable)
        self.holding.restore(durable)
        self.partitioning.restore()
        self.system.respread()
        self.step.end()  # what comes back from the disk is there already

    def _hears(self) -> dict[type, Callable[[str, Any], None]]:
        """Whom each kind of message of a peer is for."""
        return {
            frames.DirectoryChanged: self.group.hear_announced,
            Transfer: self.group.hear_transfer,
            Taken: self.group.hear_taken,
            frames.Watch: self.serving.hear_watch,
            frames.Unwatch: self.serving.hear_unwatch,
            frames.Ask: self.serving.hear_ask,
            frames.Shown: self.claiming.hear_shown,
            frames.TupleOffer: self.claiming.hear_offer,
            frames.Claim: self.serving.hear_claim,
            frames.Denied: self.claiming.hear_denied,
            frames.Lent: self.claiming.hear_lent,
            frames.LeaseSettled: self.lending.hear_settled,
            frames.LeaseClosed: self.lending.hear_closed,
            frames.Mirror: self.mirroring.hear_mirror,
            frames.Mirrored: self.collecting.hear_mirrored,
            frames.Unmirror: self.mirroring.hear_unmirror,
            frames.Fetch: self.mirroring.hear_fetch,
            frames.ReactWatch: self.reacting.hear_react,
            frames.UnreactWatch: self.reacting.hear_unreact,
            frames.Reacted: self.reacting.hear_reacted,
            frames.Mailed: self.mailing.hear_mailed,
        }

    def _handlers(self) -> dict[type, Handler]:
        """Who carries out which request of an agent."""
        return {
            requests.Out: self.writing.out,
            requests.OutMany: self.writing.out,
            facts.PutBack: self.writing.put_back,
            requests.Open: self.opening.open_for,
            requests.Share: self.holding.share_for,
            requests.Seek: self.seeking.seek,
            requests.Cancel: self._cancel,
            requests.Settle: self.lending.settle,
            requests.React: self.reacting.react,
            requests.Adjust: self.reacting.adjust,
            requests.Reactions: self.reacting.list_for,
            requests.Adopt: self.governing.adopt,
            requests.Tell: self.telling.send,
            requests.Stand: self.telling.stand,
            requests.Quit: self.telling.quit,
            requests.Show: self.certifying.show,
            requests.Move: self.moving.move,
            requests.Launch: self.moving.launch,
            requests.Save: self.moving.save,
            requests.End: self.holding.end,
            requests.SendPlain: self.mailing.send,
        }

    def _acts(self) -> dict[type, Callable[[Any], None]]:
        """Who is told which fact, besides those that the group may hear at any time."""
        return {
            facts.Call: self.calls.call,
            facts.Abandoned: self.calls.abandon,
            facts.Arrive: self.holding.arrive,
            facts.Depart: self.holding.depart,
            facts.Primary: self.posting.primary,
            facts.Promote: self.posting.promote,
            facts.Speak: self.telling.speak,
            facts.MonitorSpace: self.governed.monitoring.switch,
            facts.Suspend: self.suspending.suspend,
            facts.Resume: self.suspending.resume,
            facts.Absent: self.telling.present,
            facts.Present: self.telling.present,
            facts.Unattended: self.holding.unattend,
            facts.Attended: self.holding.attend,
            facts.RevocationsLearnt: self.certifying.learn,
            facts.TablesAnswered: self.looking.answered,
            facts.TellPeer: self.group.tell_driver,
            facts.Drain: self.partitioning.drain,
            facts.Certified: self.telling.certify,
            facts.Uncertified: self.telling.certify,
            facts.Revoked: self.telling.certify,
        }

    def _cancel(self, op: int, resident: Resident, request: requests.Cancel) -> None:
        """Call off what an agent waits for, or a move of its that has not begun."""

        def then(called_off: bool) -> None:
            self.step.answer(op, called_off or self.moving.cancel(resident.id, request.op))

        self.seeking.cancel(resident.id, request.op, op, then)

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
        return tuple([agent for agent in self.spaces.residents if not is_keeper(agent)])

    def has(self, agent: str) -> bool:
        """Whether an agent is at this host."""
        return agent in self.spaces.residents

    @property
    def programs(self) -> tuple[ProgramKept, ...]:
        """What agents of this host run, as far as it was told."""
        return tuple(self.moving.programs.values())

    def laws_of(self, agent: str) -> tuple[CompiledLaw, ...]:
        """The laws under which an agent of this host is a member."""
        return self.governing.laws_over(agent)

    def memberships_of(self, agent: str) -> list[tuple[str, CompiledLaw]]:
        """The memberships of an agent here, as calls name them, and their laws."""
        mine = self.governing.memberships(agent)
        return [(key_at(one.law.hash, one.home), one.law) for one in mine]

    def away(self, agent: str) -> bool:
        """Whether an agent that this host knows the way to is not here: gone, or under way."""
        return agent not in self.spaces.residents and self.posting.knows(agent)

    def host_of(self, agent: str) -> str:
        """The engaged host that an agent is at, or whose domain it is of; empty if unknown."""
        home = agent.partition("@")[2]
        return self.group.where.get(agent) or (home if home in self.group.view.members else "")

    def connected(self, agent: str) -> bool:
        """Whether an agent is here or at an engaged host, and a program speaks for it."""
        if agent in self.spaces.residents:
            return not self.spaces.is_away(agent)
        return self.group.present(agent) is not None

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

    def handle(self, event: facts.Event, *, now: int) -> list[Effect]:
        """Take one fact in and say what must follow, in order."""
        return self.handle_many((event,), now=now)[1]

    def handle_many(self, events: Sequence[facts.Event], *, now: int) -> tuple[int, list[Effect]]:
        """Take in as many facts as make one step, and say how many, and what must follow in order.

        These are the plain calls (`plain`) that the facts begin with: they concern nobody else, so
        nobody is told, and no deadline but those of leases is another after them. Or the messages
        that they begin with, as long as ruling on them takes little. Of all others the first is a
        step.
        """
        self.step.now = now
        first = events[0]
        is_plain = type(first) is facts.Call and type(first.request) in PLAIN
        if is_plain and not self.loading and not self.group.frozen:
            done = self.plain.serve(events)
            if done:
                self.stirred = self.stirred or self.plain.lent or bool(self.digests.fresh)
                if self.digests.fresh:
                    self.digests.tell()
                return done, self.step.end()
        self.stirred = True
        self.deciding.left = self.deciding.step
        kind, done = first.__class__, 1
        if self.loading:
            self._load(first)
        elif kind in self._receivers:
            if not self.group.frozen:
                self._receivers[kind](first)
                if first.__class__ is facts.Call and first.request.__class__ is Tell:
                    done = self._send_more(events)
            elif len(self._held) < HELD_MAX:
                self._held.append(first)
            elif isinstance(first, facts.Call):
                self.step.fail(
                    first.op, Busy(what="calls held while the group changes", limit=HELD_MAX)
                )
        elif isinstance(first, facts.Heard):
            if isinstance(first.frame, Parcel | Receipt | Aside):
                self.post(first.neighbour, first.frame, straight=True)
            else:
                self.posting.courier.heard(first.neighbour, now=self.step.now)
                self.group.heard(first.neighbour, first.frame)
        elif isinstance(first, facts.Tick):
            self.group.tick()
            if not self.group.frozen:
                for part in self._timed:
                    part.tick()
        else:
            assert isinstance(first, facts.Engage | facts.Disengage | facts.Moved), first
            self._group_act(first)
        if not self.group.frozen and not self.loading:  # tell the group what changed
            if self.collecting.timed:
                self.collecting.settle()
            if self.mirroring.shown:
                self.mirroring.tell()
            if self.holding.unannounced or self.partitioning.unannounced:
                self.group.announce()
            if self.digests.fresh:
                self.digests.tell()
        return done, self.step.end()

    def _send_more(self, events: Sequence[facts.Event]) -> int:
        """After the first of some facts, which sends a message, those that do so too; how many."""
        done, enough = 1, self.deciding.step - SENT_UNITS
        for event in events[1:]:
            if event.__class__ is not facts.Call or event.request.__class__ is not Tell:
                break
            if self.deciding.left < enough:
                break
            self._receivers[facts.Call](event)
            done += 1
        return done

    def _group_act(self, event: facts.Engage | facts.Disengage | facts.Moved) -> None:
        if isinstance(event, facts.Engage):
            self.group.engage()
        elif isinstance(event, facts.Disengage):
            self.group.disengage()
        else:
            self.group.moved(event.position)

    def _load(self, event: facts.Event) -> None:
        """An event while tuples of earlier lives are still to come."""
        if isinstance(event, facts.Loaded):
            self.holding.load(event.rows)
            if event.last:
                self.loading = False
                self.partitioning.restore()
                self.go_on()
        elif isinstance(event, facts.Tick) or (
            isinstance(event, facts.Heard) and not isinstance(event.frame, Parcel | Receipt)
        ):
            pass  # they come again
        elif len(self._held) < HELD_MAX:
            self._held.append(event)
        elif isinstance(event, facts.Call):
            self.step.fail(event.op, Busy(what="calls held while the host loads", limit=HELD_MAX))

    def go_on(self) -> None:
        """The group stands still again: do what was held meanwhile."""
        while self._held and not self.group.frozen:
            held = self._held.popleft()
            if isinstance(held, facts.Engage | facts.Disengage | facts.Moved):
                self._group_act(held)
            elif isinstance(held, Passed):
                self.post(held.peer, held.frame, straight=False)
            elif isinstance(held, facts.Heard):
                self.posting.heard(held.neighbour, held.frame, straight=True)
            else:
                self._receivers[held.__class__](held)

    def post(self, peer: str, frame: Parcel | Receipt | Aside, *, straight: bool) -> None:
        """A frame of the courier came, from its sender or through others.

        What it brings waits while the group changes.
        """
        if not self.group.frozen:
            self.posting.heard(peer, frame, straight=straight)
        elif len(self._held) < HELD_MAX:  # else it is as good as lost, and comes again
            self._held.append(facts.Heard(peer, frame) if straight else Passed(peer, frame))


def _admit_all(*asked: Any) -> str:
    return ""


def _no_time() -> int:
    return 0


def _no_roll(agent: str, law: str) -> tuple[Term, ...]:
    return ()
