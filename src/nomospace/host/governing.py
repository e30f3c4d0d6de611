"""Controllers of a host: the memberships of its agents, and of its spaces' managers.

Rulings cause others: a forward an arrival, a delivery an operation on a space (`governed`). These
stand on an agenda that is worked off in the same step, at most `CAUSED_MAX` of them. What is for
an agent that is not here goes to the post office (`posting`), which finds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.addresses import (
    ADDRESS_CHARS_MAX,
    home_of,
    key_at,
    new_address,
    owner_of,
    split_address,
)
from nomospace.calls.problems import AlreadyMember, NotAMember
from nomospace.calls.requests import Adopt, LawText
from nomospace.control import (
    TICK,
    Deliver,
    Effect as ControlEffect,
    Event,
    Forward,
    Leave,
    Membership,
    RecordRuling,
    Release,
    Ruling,
    Snapshot,
    SpaceRoll,
    Undecided,
    adoption,
    arrived,
    tell,
)
from nomospace.host.alarms import FIRED_IN_STEP, Alarms
from nomospace.host.changes import KEPT_EVERY, Durable, MemberJoined, MemberKept
from nomospace.host.deciding import RULING_UNITS, no_ruling
from nomospace.host.effects import HERE, Journey, Mail
from nomospace.host.index import Index
from nomospace.host.known_laws import KnownLaws, text_of
from nomospace.host.outstanding import Pending
from nomospace.host.part import HostPart
from nomospace.host.posting import Letter
from nomospace.host.residents import Resident
from nomospace.host.shares import TooManyLaws, check_memberships
from nomospace.law import CompiledLaw
from nomospace.law.parts import text_bytes
from nomospace.protocols.spaces import Mailed
from nomospace.terms import Compound, Term

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostParts, Order

CAUSED_MAX: Final = 10_000
"""How many rulings and deliveries one event may cause, in its step and in those after it."""
ORDERS_FREE: Final = 8
"""Rulings with no more orders than these count for themselves alone."""
ORDER_UNITS: Final = 40
"""What each order of another one counts: to let a message wait takes about as long."""
OWED: Final = ("due", "undue")
"""Changes after which a member owes something else."""
FIRED_BEFORE: Final = 1
"""How many obligations of a space fall due before an event that it rules on at once."""
STEP_US: Final = 5_000
"""The least time between two such steps when more obligations are due than one of them takes."""


class Governing(HostPart):
    """The controllers of one host."""

    def __init__(self, host: HostParts, laws: KnownLaws) -> None:
        super().__init__(host)
        self._laws = laws
        self._members: dict[Home, Membership] = {}
        self._of: Index[Membership] = Index()
        self._under: dict[str, int] = {}
        """How many memberships there are under each law."""
        self._managers: dict[Home, None] = {}
        self._next_step = 0
        """Before this moment no further step of obligations is begun."""
        self._alarms = Alarms()
        self.timed = self._alarms.timed
        self._agenda: deque[Order] = deque()
        self.post = self._agenda.append
        """Put an order of a ruling on the agenda."""
        self._draining = False
        self._may_cause = CAUSED_MAX

    # -- memberships -----------------------------------------------------------------------

    def restore(self, durable: Durable) -> None:
        """Bring memberships back as an earlier life wrote them down."""
        for (home, law), stored in durable.members.items():
            member = stored.restore(self._laws[law])
            self._enter(member)
            if "@" not in home:
                self._managers[home, law] = None
            self.note_due(member)
            self._host.certifying.take_up(member)

    def adopt(self, op: int, resident: Resident, request: Adopt) -> None:
        """Bind an agent to a law; told what it may know of the ruling on its adoption."""
        law, agent = request.law, resident.id
        home = new_address(agent, request.number)
        if self.find(home, law.hash) is not None:
            raise AlreadyMember(agent=home, law=law.hash)
        refused = self._host.suspending.refusal(agent, law.hash)
        if refused is not None:
            raise refused
        self._check_shares(agent, law)
        roll = self._host.enrols(home, law.hash)
        member, event = self._adopt(home, law, request.args, roll=roll)

        def ruled(ruling: Ruling) -> None:
            self.drain()
            self._step.answer(op, tell(member, ruling))

        self.ask(member, event, op, ruled, durable=True)

    def _check_shares(self, agent: str, law: CompiledLaw) -> None:
        """Raise `TooManyMemberships` for an agent, or a community, that has its share.

        Raises `TooManyLaws` when the law would be one too many, or too long, here.
        """
        shares = self._step.shares
        self._laws.check_room(law)
        size = text_bytes(law.tree.source.text)
        others = sum([text_bytes(one.law.tree.source.text) for one in self._of.of(agent)])
        if others + size > shares.agent_law_bytes:
            raise TooManyLaws(
                what=f"the number of bytes of the laws of {agent}",
                limit=shares.agent_law_bytes,
                advice="let another agent be a member",
            )
        check_memberships(shares, agent, self._of.count(agent), law, self._under.get(law.hash, 0))

    def _adopt(
        self,
        home: str,
        law: CompiledLaw,
        args: tuple[Term, ...] = (),
        *,
        manager: bool = False,
        roll: tuple[Term, ...] = (),
    ) -> tuple[Membership, Event]:
        """A new membership, and the event that its law has to rule on first of all."""
        role = manager or isinstance(roll, SpaceRoll)
        member, event = adoption(law, home, args, manager=role, roll=roll)
        before = self._members.get((home, law.hash))
        if before is not None:  # it has quit, and its rulings are numbered on
            member.seq = before.seq
        self._laws.add(law)
        self._enter(member)
        if manager:
            self._managers[home, law.hash] = None
        self._step.write_down(MemberJoined(member.snapshot()))
        return member, event

    def _manage(self, space: str, law: CompiledLaw) -> None:
        """Give a governed space its manager."""
        self.rule(*self._adopt(space, law, manager=True))
        self.drain()

    def member(self, agent: str, key: str) -> Membership:
        """A membership of an agent here, as calls name it; raises `NotAMember`."""
        if len(key) > ADDRESS_CHARS_MAX:
            raise NotAMember(agent=agent, law=key[:ADDRESS_CHARS_MAX])
        home, law = home_of(agent, key)
        found = self._members.get((home, law))
        if found is None or found.ended:
            raise NotAMember(agent=home, law=law)
        suspending = self._host.suspending
        refused = suspending.refusal(home, law) if suspending.concerned else None
        if refused is not None:
            raise refused
        return found

    def admit(self, agent: str, space: str, law: CompiledLaw) -> None:
        """An agent opens a governed space: it is a member, and the space has a manager."""
        self.member(agent, law.hash)
        if (space, law.hash) not in self._members:
            self._manage(space, law)

    def _enter(self, member: Membership) -> None:
        law = member.law.hash
        if (member.home, law) not in self._members:
            self._under[law] = self._under.get(law, 0) + 1
        self._members[member.home, law] = member
        self._of.add(owner_of(member.home), (member.home, law), member)

    def leave(self, member: Membership, op: int, then: Callable[[Ruling], None]) -> None:
        """Let a member quit for a call: its law has a last word, and rules no more; told `then`."""

        def ruled(ruling: Ruling) -> None:
            home = (member.home, member.law.hash)
            if not member.ended:
                member.ended = True
                self._step.write_down(MemberJoined(member.snapshot()))
            self._alarms.forget(home)
            self._host.certifying.forget(*home)
            self.drain()
            then(ruling)

        self.ask(member, Event("quit", ()), op, ruled)

    def pack(self, agent: str) -> tuple[Snapshot, ...]:
        """Take an agent's memberships out."""
        mine = self._of.of(agent)
        for member in mine:
            home = (member.home, member.law.hash)
            self._host.certifying.forget(*home)
            del self._members[home]
            self._under[home[1]] -= 1
            self._of.drop(agent, home)
            self._alarms.forget(home)
        now = self._step.now
        return tuple([member.snapshot().shifted(-now) for member in mine])

    def unpack(self, agent: str, snapshots: tuple[Any, ...], origin: str) -> None:
        """Let an agent's memberships go on here; its laws must be known, and rule on the move."""
        for carried in snapshots:
            snapshot: Snapshot = carried.shifted(self._step.now)
            member = Membership.restore(self._laws[snapshot.law], snapshot)
            self._enter(member)
            self._step.write_down(MemberJoined(snapshot))
            self.note_due(member)
            self._host.certifying.take_up(member)
            if origin != self._step.name:  # else it was sent back, and has not moved
                self.rule(member, Event("moved", (origin, self._step.name)))
        self.drain()

    def laws_of(self, agent: str) -> tuple[LawText, ...]:
        """The laws that an agent is under, as texts that another host can check."""
        laws = {member.law.hash: member.law for member in self._of.of(agent)}
        return tuple([text_of(law) for law in laws.values()])

    def memberships(self, agent: str) -> list[Membership]:
        """The memberships of an agent that it has not quit."""
        return [member for member in self._of.of(agent) if not member.ended]

    def laws_over(self, agent: str) -> tuple[CompiledLaw, ...]:
        """The laws under which an agent is a member and has not quit."""
        return tuple({member.law.hash: member.law for member in self.memberships(agent)}.values())

    def manager(self, space: str, law: str) -> Membership:
        """The manager of a governed space here, made when agents bring the space along."""
        if (space, law) not in self._members:
            self._manage(space, self._laws[law])
        return self._members[space, law]

    # -- rulings ---------------------------------------------------------------------------

    def rule(
        self,
        member: Membership,
        event: Event,
        came: Journey = HERE,
        then: Callable[[Ruling], None] | None = None,
    ) -> None:
        """Let a controller rule, here and now or when it can; what follows is on the agenda.

        One that is suspended rules on nothing: what may wait is held, all else is as refused.
        """
        home = (member.home, member.law.hash)
        suspending = self._host.suspending
        if suspending.concerned and suspending.holds(home):
            suspending.hold(member, event)
        elif home in self._host.deciding.cases and self._host.deciding.slice:
            self._wait(member, event, came, then)
        else:
            found = self.attempt(member, event, came)
            if found.__class__ is Undecided:
                self._wait(member, event, came, then, found)
            elif then is not None:
                then(found)

    def ask(
        self,
        member: Membership,
        event: Event,
        op: int,
        then: Callable[[Ruling], None],
        *,
        durable: bool = False,
    ) -> bool:
        """Let a controller rule for a call, and tell `then`; whether that was at once.

        If it is later, what `then` raises is the call's answer. It is, too, where this step has
        ruled on much already: on other tuples of the same call.
        """
        home = (member.home, member.law.hash)
        deciding = self._host.deciding
        if (deciding.left < 0 and deciding.late) or (home in deciding.cases and deciding.slice):
            deciding.wait(member, Pending(event, HERE, op, then, durable=durable))
            return False
        found = self.attempt(member, event, HERE)
        if found.__class__ is Undecided:
            deciding.begin(member, found, Pending(event, HERE, op, then, durable=durable))
            return False
        then(found)
        return True

    def attempt(self, member: Membership, event: Event, came: Journey) -> Any:
        """Let a controller rule if that is done in a slice: its ruling, or `Undecided`."""
        host = self._host
        slice = host.deciding.slice
        if not slice:
            ruling, orders = self._rule_now(member, event, came)
            self._agenda.extend(orders)
            return ruling
        began = self._step.stopwatch()
        home = (member.home, member.law.hash)
        alarms, now = self._alarms, self._step.now
        most = alarms.allowed(home, now) if home in alarms.paid else FIRED_IN_STEP
        effects = member.handle(event, now=now, most=most, slice=slice)
        host.deciding.left -= max(member.spent, RULING_UNITS)
        if effects and effects[-1].__class__ is Undecided:
            undecided = effects.pop()
            host.deciding.left -= slice
            if effects:  # obligations that fell due before
                self.decided(member, effects, None, HERE, 0)
            self._alarms.drop(home)
            return undecided
        ruling, orders = self._write_down(
            member, effects, event, came, self._step.stopwatch() - began
        )
        self._agenda.extend(orders)
        return ruling

    def decided(
        self,
        member: Membership,
        effects: list[ControlEffect],
        event: Event | None,
        came: Journey,
        took_ns: int,
    ) -> Ruling:
        """Write rulings down and put their orders on the agenda; the one on `event`."""
        ruling, orders = self._write_down(member, effects, event, came, took_ns)
        self._agenda.extend(orders)
        return ruling

    def rule_apart(self, member: Membership, event: Event) -> tuple[Ruling, list[Order]]:
        """Let a controller rule at once, and leave it to the caller which orders to `post`."""
        suspending = self._host.suspending
        if suspending.concerned and suspending.holds((member.home, member.law.hash)):
            suspending.hold(member, event)
            return no_ruling(member, event, self._step.now), []
        return self._rule_now(member, event, HERE)

    def rule_held(self, member: Membership, event: Event, number: int) -> None:
        """Rule on an event that was held under a number."""
        found = self.attempt(member, event, HERE)
        if found.__class__ is Undecided:
            self._host.deciding.begin(member, found, Pending(event, number=number, durable=True))
        else:
            self._host.suspending.served((member.home, member.law.hash), number)
            self.drain()

    def _rule_now(
        self, member: Membership, event: Event, came: Journey
    ) -> tuple[Ruling, list[Order]]:
        host = self._host
        began = self._step.stopwatch()
        home = (member.home, member.law.hash)
        host.deciding.overtake(home)
        alarms, now = self._alarms, self._step.now
        most = alarms.allowed(home, now) if home in alarms.paid else FIRED_IN_STEP
        if "@" not in member.home:
            most = min(most, FIRED_BEFORE)
        effects = member.handle(event, now=now, most=most)
        host.deciding.left -= max(member.spent, RULING_UNITS)
        return self._write_down(member, effects, event, came, self._step.stopwatch() - began)

    def find(self, home: str, law: str) -> Membership | None:
        """A membership at this host that has not ended."""
        found = self._members.get((home, law))
        return None if found is None or found.ended else found

    def members(self) -> list[Membership]:
        """All memberships here that have not ended, those of spaces too: for those who look on."""
        return [member for member in self._members.values() if not member.ended]

    def managed(self) -> AbstractSet[Home]:
        """The governed spaces here, each with its law."""
        return self._managers.keys()

    def _write_down(
        self,
        member: Membership,
        effects: list[ControlEffect],
        event: Event | None,
        came: Journey,
        took_ns: int,
    ) -> tuple[Ruling, list[Order]]:
        """Write rulings down; the one on `event` (else the last), and what all of them order."""
        host = self._host
        mine: Ruling | None = None
        orders: list[Order] = []
        fired = number = 0
        often = False
        changed = event is None or member.ended
        for effect in effects:
            if effect.__class__ is not RecordRuling:
                orders.append((member, effect, number))
                continue
            ruling = effect.ruling
            number = ruling.seq
            self._step.ruled(ruling, came, took_ns)
            came, took_ns = HERE, 0
            if ruling.due_at is not None:
                fired += 1
            if not number % KEPT_EVERY:
                often = True
            for change in ruling.delta:
                if change[0] in OWED:
                    changed = True
            if mine is None or ruling.event is event:
                mine = ruling
        if often and not member.ended:
            self._step.write_down(MemberKept(member.snapshot()))
        if len(orders) > ORDERS_FREE:
            host.deciding.left -= ORDER_UNITS * len(orders)
        if fired:
            self._alarms.charge((member.home, member.law.hash), fired, self._step.now)
        if changed:  # else what it owes is as it was
            self.note_due(member)
        if mine is None:  # it has quit, or what was due is repealed
            mine = no_ruling(member, event or Event("quit", ()), self._step.now)
        return mine, orders

    def wait_for_resume(self, members: Iterable[Membership]) -> None:
        """Let no obligation of suspended members fall due."""
        for member in members:
            self._alarms.drop((member.home, member.law.hash))

    def note_due(self, member: Membership) -> None:
        """What a member owes falls due when it should, unless it is suspended or decides."""
        due = member.next_deadline()
        home = (member.home, member.law.hash)
        waits = due is None or home in self._host.deciding.cases
        if due is None or waits or self._host.suspending.refusal(*home) is not None:
            self._alarms.drop(home)
        else:
            self._alarms.set(home, due)

    def next_deadline(self) -> int | None:
        """When the next obligation of any member falls due."""
        due = self._alarms.next()
        return None if due is None else max(due, self._next_step)

    def tick(self) -> None:
        """Let obligations fall due, the earliest first, as many as one step takes."""
        host = self._host
        now = self._step.now
        if now < self._next_step:
            return
        homes = self._alarms.ring(now)  # all: an obligation may lay another that is due at once
        left = FIRED_IN_STEP
        for home in homes:
            member = self._members[home]
            most = min(left, self._alarms.allowed(home, now))
            if most <= 0 or host.deciding.left <= 0:
                self.note_due(member)
                continue
            began = self._step.stopwatch()
            effects = member.handle(TICK, now=now, most=most, slice=host.deciding.slice)
            left -= sum(
                [isinstance(one, RecordRuling) and one.ruling.due_at is not None for one in effects]
            )
            host.deciding.left -= max(member.spent, RULING_UNITS * len(effects))
            if effects and isinstance(about := effects[-1], Undecided):
                host.deciding.left -= host.deciding.slice
                host.deciding.begin(member, about, None)
                effects.pop()
            self.decided(member, effects, None, HERE, self._step.stopwatch() - began)
        if left <= 0 or len(homes) == FIRED_IN_STEP:
            self._next_step = now + STEP_US
        self.drain()

    def drain(self, *, force: bool = False, share: int | None = None) -> None:
        """Work off what rulings have ordered, and what that causes: so much, or a `share` of it."""
        if self._draining and not force:
            return
        outer = self._draining
        if not outer:
            self._may_cause = CAUSED_MAX if share is None else share
        self._draining = True
        try:
            while self._agenda:
                member, effect, number = self._agenda.popleft()
                self._may_cause -= 1
                if self._may_cause < 0:
                    self._agenda.clear()
                    self._step.note("law-ran-away", law=member.law.hash, home=member.home)
                    return
                if isinstance(effect, Forward):
                    self._forward(member, effect, number)
                elif isinstance(effect, Deliver):
                    self._deliver(member, effect.sender, effect.message, number)
                elif isinstance(effect, Release):
                    self._host.mailing.release(member, effect)
                elif not isinstance(effect, Leave):
                    self._step.note("law-says", home=member.home, says=effect)
        finally:
            self._draining = outer
            if not outer:
                self._host.governed.forget_firings()

    def _forward(self, origin: Membership, forward: Forward, number: int) -> None:
        host, law = self._host, origin.law.hash
        if len(forward.to) > ADDRESS_CHARS_MAX or not forward.to.isprintable():
            self._except(origin, forward, "unknownDestination")
            return
        there = self._members.get((forward.to, law))
        agent, by = split_address(origin.home)
        to = owner_of(forward.to)
        # Between two agents here routing keeps the order: earlier mail may still be on its way.
        seated = "@" in to and host.posting.seats(agent, to)
        if there is not None and not there.ended and not seated:
            if host.deciding.cases and host.deciding.full((forward.to, law)):
                self._except(origin, forward, "mailboxFull")
                return
            came = Journey(0, (), number, "" if forward.sender == origin.home else origin.home)
            self.arrive(there, arrived(forward.sender, forward.message, forward.to), came)
            return
        if "@" in to and agent in self._spaces.residents:
            if host.trust.own_objection(origin.law):  # nobody elsewhere would believe it
                self._except(origin, forward, "notAuthentic")
                return
            key = key_at(law, forward.to)
            letter = Letter(key, forward.sender, forward.message, by=by, cause=number)
            host.posting.send(agent, to, letter)
            return
        peer = host.group.where.get(to)
        if peer is not None:  # what a space says to a member at an engaged host
            what = Mailed(law, forward.sender, forward.message, forward.to, number, origin.home)
            host.group.tell(peer, what)
            return
        self._except(origin, forward, "unknownDestination")

    def arrive(self, there: Membership, event: Event, came: Journey) -> None:
        """An event comes to a controller, or waits if this step has taken far too long."""
        host = self._host
        home = (there.home, there.law.hash)
        late = host.deciding.left < 0 and host.deciding.late
        if late and "@" in there.home and not host.suspending.holds(home):
            self._wait(there, event, came, None)
        else:
            self.rule(there, event, came)

    def _wait(
        self,
        member: Membership,
        event: Event,
        came: Journey,
        then: Callable[[Ruling], None] | None,
        about: Undecided | None = None,
    ) -> None:
        """Let an event wait, with a share of what may be caused by the one that it follows from."""
        share = CAUSED_MAX
        if self._draining:
            left = len(self._agenda)
            share = (self._may_cause - left) // (left + 1)
            self._may_cause -= max(share, 0)
        pending = Pending(event, came, 0, then, durable=True, share=share)
        if share <= 0:
            self._step.note("law-ran-away", law=member.law.hash, home=member.home)
        elif about is not None:
            self._host.deciding.begin(member, about, pending)
        else:
            self._host.deciding.wait(member, pending)

    def _except(self, origin: Membership, forward: Forward, why: str) -> None:
        operation = Compound("forward", (forward.sender, forward.message, forward.to))
        self.complain(origin, operation, why)

    def complain(self, origin: Membership, operation: Term, why: str) -> None:
        """An operation of a ruling could not be carried out: an exception at its controller."""
        self.arrive(origin, Event("exception", (operation, why)), HERE)

    def _deliver(self, member: Membership, sender: str, message: Term, number: int) -> None:
        """What a controller delivers: an operation to a space, an answer or mail to an agent."""
        home = (member.home, member.law.hash)
        if home in self._managers:
            outer, self._step.cause = self._step.cause, number
            self._host.governed.perform(member, sender, message)
            self._step.cause = outer
        elif not self._host.governed.resolve(member, sender, message):
            key = key_at(home[1], member.home)
            self._host.moving.deliver(Mail(owner_of(member.home), key, sender, message))
