"""Controllers of a host: the memberships of its agents, and of its spaces' managers.

Rulings cause others: a forward an arrival, a delivery an operation on a space (`governed`). These
stand on an agenda that is worked off in the same step, at most `CAUSED_MAX` of them. What is for
an agent that is not here goes to the post office (`posting`), which finds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.problems import AlreadyMember, NotAMember, Refused
from nomospace.calls.requests import Adopt, LawText, Tell
from nomospace.control import (
    TICK,
    Deliver,
    Effect as ControlEffect,
    Event,
    Forward,
    Leave,
    Membership,
    RecordRuling,
    Ruling,
    Snapshot,
    Undecided,
    adoption,
    arrived,
    certificate,
    sent,
    tell,
)
from nomospace.errors import NomospaceError
from nomospace.host.alarms import FIRED_IN_STEP, Alarms
from nomospace.host.calls import Absent, Certified, Present, Revoked, Speak, Uncertified
from nomospace.host.changes import Durable, LawLearnt, MemberJoined
from nomospace.host.deciding import RULING_UNITS, no_ruling
from nomospace.host.effects import Mail
from nomospace.host.index import Index
from nomospace.host.outstanding import Pending
from nomospace.host.posting import Letter, Rejected
from nomospace.host.shares import TooManyLaws, TooManyMemberships, check_receivers
from nomospace.law import CompiledLaw, load
from nomospace.law.parts import text_bytes
from nomospace.protocols.spaces import Mailed
from nomospace.terms import Compound, Term
from nomospace.terms.measure import weight

if TYPE_CHECKING:
    from nomospace.host.ports import Home, HostPorts

LEARNT_MAX: Final = 10_000
"""How many laws a host learns from agents that come."""
REASONS_MAX: Final = 20
"""Of how many refusals a second a member is told the reasons; of the others, only that they are."""
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


class Governing:
    """The controllers of one host."""

    def __init__(self, host: HostPorts, laws: Mapping[str, CompiledLaw]) -> None:
        self._host = host
        self._laws = dict(laws)
        self._learnt = 0
        self._law_bytes = 0
        """Of all texts that agents brought."""
        self._members: dict[Home, Membership] = {}
        self._of: Index[Membership] = Index()
        self._under: dict[str, int] = {}
        """How many memberships there are under each law."""
        self._managers: dict[Home, None] = {}
        self._next_step = 0
        """Before this moment no further step of obligations is begun."""
        self._alarms = Alarms()
        self.timed = self._alarms.timed
        self._second = 0
        self._reasons: dict[Home, int] = {}
        """How many refusals each member was told the reasons of in this second."""
        self._agenda: deque[tuple[Membership, ControlEffect]] = deque()
        self._draining = False
        self._may_cause = CAUSED_MAX

    # -- memberships -----------------------------------------------------------------------

    def restore(self, durable: Durable) -> None:
        """Bring memberships back as an earlier life wrote them down."""
        for text in durable.laws.values():
            self._laws.setdefault(text.hash, load(text.text, text.name))
            self._learnt += 1
            self._law_bytes += text_bytes(text.text)
        for (home, law), stored in durable.members.items():
            member = stored.restore(self._laws[law])
            self._enter(member)
            if "@" not in home:
                self._managers[home, law] = None
            self._note_due(member)
            self._host.certifying.take_up(member)

    def law(self, law: str) -> CompiledLaw | None:
        """A law that is at hand here."""
        return self._laws.get(law)

    def laws(self) -> tuple[CompiledLaw, ...]:
        """All laws that are at hand here."""
        return tuple(self._laws.values())

    def adopt(self, op: int, agent: str, request: Adopt) -> None:
        """Bind an agent to a law; told what it may know of the ruling on its adoption."""
        law = request.law
        if (agent, law.hash) in self._members:
            raise AlreadyMember(agent=agent, law=law.hash)
        refused = self._host.suspending.refusal(agent, law.hash)
        if refused is not None:
            raise refused
        self._check_shares(agent, law)
        roll = self._host.enrols(agent, law.hash)
        member, event = self._adopt(agent, law, request.args, roll=roll)

        def ruled(ruling: Ruling) -> None:
            self.drain()
            self._host.answer(op, tell(member, ruling))

        self.ask(member, event, op, ruled, durable=True)

    def _check_shares(self, agent: str, law: CompiledLaw) -> None:
        """Raise `TooManyMemberships` for an agent, or a community, that has its share.

        Raises `TooManyLaws` when the law would be one too many, or too long, here.
        """
        shares = self._host.shares
        size = text_bytes(law.tree.source.text)
        if law.hash not in self._laws:
            advice = "adopt one that it has, or join at another host"
            if len(self._laws) >= shares.laws:
                what = "the number of laws at this host"
                raise TooManyLaws(what=what, limit=shares.laws, advice=advice)
            if self._law_bytes + size > shares.law_bytes:
                what = "the number of bytes of all laws at this host"
                raise TooManyLaws(what=what, limit=shares.law_bytes, advice=advice)
        others = sum([text_bytes(one.law.tree.source.text) for one in self._of.of(agent)])
        if others + size > shares.agent_law_bytes:
            raise TooManyLaws(
                what=f"the number of bytes of the laws of {agent}",
                limit=shares.agent_law_bytes,
                advice="let another agent be a member",
            )
        if self._of.count(agent) >= shares.agent_memberships:
            raise TooManyMemberships(
                what=f"the number of communities of {agent}",
                limit=shares.agent_memberships,
                advice="let another agent be a member",
            )
        if self._under.get(law.hash, 0) >= shares.law_members:
            raise TooManyMemberships(
                what=f"the number of members of {law.name} at this host",
                limit=shares.law_members,
                advice="join at another host",
            )

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
        member, event = adoption(law, home, args, manager=manager, roll=roll)
        if law.hash not in self._laws:
            self._laws[law.hash] = law
            self._law_bytes += text_bytes(law.tree.source.text)
            self._host.write_down(LawLearnt(_text(law)))
        self._enter(member)
        if manager:
            self._managers[home, law.hash] = None
        self._host.write_down(MemberJoined(member.snapshot()))
        return member, event

    def _manage(self, space: str, law: CompiledLaw) -> None:
        """Give a governed space its manager."""
        self.rule(*self._adopt(space, law, manager=True))
        self.drain()

    def member(self, home: str, law: str) -> Membership:
        """A membership at this host; raises `NotAMember`."""
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
        self._members[member.home, law] = member
        self._under[law] = self._under.get(law, 0) + 1
        self._of.add(member.home, member.law.hash, member)

    def pack(self, agent: str) -> tuple[Snapshot, ...]:
        """Take an agent's memberships out."""
        mine = self._of.of(agent)
        for member in mine:
            home = (agent, member.law.hash)
            self._host.certifying.forget(*home)
            del self._members[home]
            self._under[home[1]] -= 1
            self._of.drop(*home)
            self._alarms.forget(home)
        now = self._host.now
        return tuple([member.snapshot().shifted(-now) for member in mine])

    def unpack(self, agent: str, snapshots: tuple[Any, ...], origin: str) -> None:
        """Let an agent's memberships go on here; its laws must be known, and rule on the move."""
        for carried in snapshots:
            snapshot: Snapshot = carried.shifted(self._host.now)
            member = Membership.restore(self._laws[snapshot.law], snapshot)
            self._enter(member)
            self._host.write_down(MemberJoined(snapshot))
            self._note_due(member)
            self._host.certifying.take_up(member)
            if origin != self._host.name:  # else it was sent back, and has not moved
                self.rule(member, Event("moved", (origin, self._host.name)))
        self.drain()

    def laws_of(self, agent: str) -> tuple[LawText, ...]:
        """The laws that an agent is under, as texts that another host can check."""
        return tuple([_text(member.law) for member in self._of.of(agent)])

    def laws_over(self, agent: str) -> tuple[CompiledLaw, ...]:
        """The laws under which an agent is a member and has not quit."""
        return tuple([member.law for member in self._of.of(agent) if not member.ended])

    def knows(self, text: LawText) -> bool:
        """Whether a law is at hand, word for word."""
        law = self._laws.get(text.hash)
        return law is not None and law.tree.source.text == text.text

    def learn(self, texts: tuple[LawText, ...]) -> None:
        """Have laws at hand that an agent brings along, and have them after a crash."""
        for text in texts:
            if not self.knows(text):
                self._laws[text.hash] = load(text.text, text.name)
                self._learnt += 1
                self._law_bytes += text_bytes(text.text)
                self._host.write_down(LawLearnt(text))

    def objection(self, texts: tuple[LawText, ...]) -> str:
        """What speaks against laws that an agent would bring along; empty when nothing does."""
        shares, size = self._host.shares, 0
        if sum([text_bytes(text.text) for text in texts]) > shares.agent_law_bytes:
            return "the texts of its laws are longer than an agent's may be here"
        for text in texts:
            if self.knows(text):
                continue
            size += text_bytes(text.text)
            try:
                law = load(text.text, text.name)
            except NomospaceError:
                return f"law {text.hash[:12]} cannot be read"
            if law.hash != text.hash:
                return f"the text of law {text.hash[:12]} is of another law"
            if self._learnt >= LEARNT_MAX or self._law_bytes + size > shares.law_bytes:
                return "no more laws can be learnt here"
        return ""

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
        hops: int = 0,
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
            self._wait(member, event, hops, then)
        else:
            found = self.attempt(member, event, hops)
            if found.__class__ is Undecided:
                self._wait(member, event, hops, then, found)
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
            deciding.wait(member, Pending(event, 0, op, then, durable=durable))
            return False
        found = self.attempt(member, event, 0)
        if found.__class__ is Undecided:
            deciding.begin(member, found, Pending(event, 0, op, then, durable=durable))
            return False
        then(found)
        return True

    def ask_always(
        self, member: Membership, event: Event, op: int, then: Callable[[Ruling], None]
    ) -> None:
        """The same for what suspended agents may ask too: nobody rules on it then."""
        if self._host.suspending.holds((member.home, member.law.hash)):
            self._host.suspending.hold(member, event)
            then(no_ruling(member, event, self._host.now))
        else:
            self.ask(member, event, op, then)

    def attempt(self, member: Membership, event: Event, hops: int) -> Any:
        """Let a controller rule if that is done in a slice: its ruling, or `Undecided`."""
        host = self._host
        slice = host.deciding.slice
        if not slice:
            ruling, orders = self._rule_now(member, event, hops)
            self._agenda.extend([(member, order) for order in orders])
            return ruling
        began = host.lap()
        home = (member.home, member.law.hash)
        most = self._most(home) if home in self._alarms.paid else FIRED_IN_STEP
        effects = member.handle(event, now=host.now, most=most, slice=slice)
        host.deciding.left -= max(member.spent, RULING_UNITS)
        if effects and effects[-1].__class__ is Undecided:
            undecided = effects.pop()
            host.deciding.left -= slice
            if effects:  # obligations that fell due before
                self.decided(member, effects, None, 0, 0)
            self._alarms.drop(home)
            return undecided
        ruling, orders = self._write_down(member, effects, event, hops, host.lap() - began)
        for order in orders:
            self._agenda.append((member, order))
        return ruling

    def decided(
        self,
        member: Membership,
        effects: list[ControlEffect],
        event: Event | None,
        hops: int,
        took_ns: int,
    ) -> Ruling:
        """Write rulings down and put their orders on the agenda; the one on `event`."""
        ruling, orders = self._write_down(member, effects, event, hops, took_ns)
        self._agenda.extend([(member, order) for order in orders])
        return ruling

    def rule_apart(self, member: Membership, event: Event) -> tuple[Ruling, list[ControlEffect]]:
        """Let a controller rule at once, and leave it to the caller which orders to `post`."""
        suspending = self._host.suspending
        if suspending.concerned and suspending.holds((member.home, member.law.hash)):
            suspending.hold(member, event)
            return no_ruling(member, event, self._host.now), []
        return self._rule_now(member, event, 0)

    def rule_held(self, member: Membership, event: Event, number: int) -> None:
        """Rule on an event that was held under a number."""
        found = self.attempt(member, event, 0)
        if found.__class__ is Undecided:
            self._host.deciding.begin(member, found, Pending(event, number=number, durable=True))
        else:
            self._host.suspending.served((member.home, member.law.hash), number)
            self.drain()

    def _rule_now(
        self, member: Membership, event: Event, hops: int
    ) -> tuple[Ruling, list[ControlEffect]]:
        host = self._host
        began = host.lap()
        home = (member.home, member.law.hash)
        host.deciding.overtake(home)
        most = self._most(home) if home in self._alarms.paid else FIRED_IN_STEP
        if "@" not in member.home:
            most = min(most, FIRED_BEFORE)
        effects = member.handle(event, now=host.now, most=most)
        host.deciding.left -= max(member.spent, RULING_UNITS)
        return self._write_down(member, effects, event, hops, host.lap() - began)

    def post(self, member: Membership, order: ControlEffect) -> None:
        """Put an order of a ruling on the agenda."""
        self._agenda.append((member, order))

    def find(self, home: str, law: str) -> Membership | None:
        """A membership at this host that has not ended."""
        found = self._members.get((home, law))
        return None if found is None or found.ended else found

    def members(self) -> list[Membership]:
        """All memberships here that have not ended, those of spaces too: for those who look on."""
        return [member for member in self._members.values() if not member.ended]

    def manages(self, space: str, law: str) -> bool:
        """Whether a name is that of a governed space here."""
        return (space, law) in self._managers

    def _write_down(
        self,
        member: Membership,
        effects: list[ControlEffect],
        event: Event | None,
        hops: int,
        took_ns: int,
    ) -> tuple[Ruling, list[ControlEffect]]:
        """Write rulings down; the one on `event` (else the last), and what all of them order."""
        host = self._host
        mine: Ruling | None = None
        orders: list[ControlEffect] = []
        fired = 0
        changed = event is None or member.ended
        for effect in effects:
            if effect.__class__ is not RecordRuling:
                orders.append(effect)
                continue
            ruling = effect.ruling
            host.ruled(ruling, hops, took_ns)
            hops = took_ns = 0
            if ruling.due_at is not None:
                fired += 1
            for change in ruling.delta:
                if change[0] in OWED:
                    changed = True
            if mine is None or ruling.event is event:
                mine = ruling
        if len(orders) > ORDERS_FREE:
            host.deciding.left -= ORDER_UNITS * len(orders)
        if fired:
            self._alarms.charge((member.home, member.law.hash), fired, host.now)
        if changed:  # else what it owes is as it was
            self._note_due(member)
        if mine is None:  # it has quit, or what was due is repealed
            mine = no_ruling(member, event or Event("quit", ()), host.now)
        return mine, orders

    def wait_for_resume(self, members: Iterable[Membership]) -> None:
        """Let no obligation of suspended members fall due."""
        for member in members:
            self._alarms.drop((member.home, member.law.hash))

    def go_on(self, member: Membership) -> None:
        """A member is suspended no more: what it owes falls due again."""
        self._note_due(member)

    def _most(self, home: Home) -> int:
        """How many obligations of a member may fall due now."""
        alarms = self._alarms
        return alarms.allowed(home, self._host.now) if home in alarms.paid else FIRED_IN_STEP

    def _note_due(self, member: Membership) -> None:
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
        now = host.now
        if now < self._next_step:
            return
        homes = self._alarms.ring(now)  # all: an obligation may lay another that is due at once
        left = FIRED_IN_STEP
        for home in homes:
            member = self._members[home]
            most = min(left, self._most(home))
            if most <= 0 or host.deciding.left <= 0:
                self._note_due(member)
                continue
            began = host.lap()
            effects = member.handle(TICK, now=now, most=most, slice=host.deciding.slice)
            left -= sum(
                [isinstance(one, RecordRuling) and one.ruling.due_at is not None for one in effects]
            )
            host.deciding.left -= max(member.spent, RULING_UNITS * len(effects))
            if effects and isinstance(about := effects[-1], Undecided):
                host.deciding.left -= host.deciding.slice
                host.deciding.begin(member, about, None)
                effects.pop()
            self.decided(member, effects, None, 0, host.lap() - began)
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
                member, effect = self._agenda.popleft()
                self._may_cause -= 1
                if self._may_cause < 0:
                    self._agenda.clear()
                    self._host.note("law-ran-away", law=member.law.hash, home=member.home)
                    return
                if isinstance(effect, Forward):
                    self._forward(member, effect)
                elif isinstance(effect, Deliver):
                    self._deliver(member, effect.sender, effect.message)
                elif not isinstance(effect, Leave):
                    self._host.note("law-says", home=member.home, says=effect)
        finally:
            self._draining = outer
            if not outer:
                self._host.governed.forget_firings()

    def _forward(self, origin: Membership, forward: Forward) -> None:
        host, law = self._host, origin.law.hash
        there = self._members.get((forward.to, law))
        # Between two agents here routing keeps the order: earlier mail may still be on its way.
        seated = "@" in forward.to and host.posting.seats(origin.home, forward.to)
        if there is not None and not there.ended and not seated:
            if host.deciding.cases and host.deciding.full((forward.to, law)):
                self._except(origin, forward.sender, forward.message, forward.to, "mailboxFull")
                return
            self._arrive(there, arrived(forward.sender, forward.message, forward.to), 0)
            return
        if "@" in forward.to and origin.home in host.holding.residents:
            if host.trust.silent(
                origin.law
            ):  # nobody elsewhere would believe this host's controllers
                self._except(origin, forward.sender, forward.message, forward.to, "notAuthentic")
                return
            letter = Letter(law, forward.sender, forward.message)
            host.posting.send(origin.home, forward.to, letter)
            return
        peer = host.group.where.get(forward.to)
        if peer is not None:  # what a space says to a member at an engaged host
            host.group.tell(peer, Mailed(law, forward.sender, forward.message, forward.to))
            return
        self._except(origin, forward.sender, forward.message, forward.to, "unknownDestination")

    def _arrive(self, there: Membership, event: Event, hops: int) -> None:
        """An event comes to a controller, or waits if this step has taken far too long."""
        host = self._host
        home = (there.home, there.law.hash)
        late = host.deciding.left < 0 and host.deciding.late
        if late and "@" in there.home and not host.suspending.holds(home):
            self._wait(there, event, hops, None)
        else:
            self.rule(there, event, hops)

    def _wait(
        self,
        member: Membership,
        event: Event,
        hops: int,
        then: Callable[[Ruling], None] | None,
        about: Undecided | None = None,
    ) -> None:
        """Let an event wait, with a share of what may be caused by the one that it follows from."""
        share = CAUSED_MAX
        if self._draining:
            left = len(self._agenda)
            share = (self._may_cause - left) // (left + 1)
            self._may_cause -= max(share, 0)
        pending = Pending(event, hops, 0, then, durable=True, share=share)
        if share <= 0:
            self._host.note("law-ran-away", law=member.law.hash, home=member.home)
        elif about is not None:
            self._host.deciding.begin(member, about, pending)
        else:
            self._host.deciding.wait(member, pending)

    def _except(self, origin: Membership, sender: str, message: Term, to: str, why: str) -> None:
        operation = Compound("forward", (sender, message, to))
        self._arrive(origin, Event("exception", (operation, why)), 0)

    def mail(self, agent: str, origin: str, body: object, hops: int) -> None:
        """Routing brings a message to an agent here, or the news that one was not taken."""
        if isinstance(body, Rejected):
            self.undelivered(agent, Letter(body.law, agent, body.message), body.to, body.why)
            return
        assert isinstance(body, Letter), body
        law, sender, message = body.law, body.sender, body.message
        there = self._members.get((agent, law))
        if there is None or there.ended:
            why = "lawMismatch" if self._of.of(agent) else "unknownDestination"
            self._host.posting.send(agent, origin, Rejected(law, message, agent, why))
            return
        home, suspending, deciding = (agent, law), self._host.suspending, self._host.deciding
        if (suspending.concerned and suspending.full(home)) or (
            deciding.cases and deciding.full(home)
        ):
            self._host.posting.send(agent, origin, Rejected(law, message, agent, "mailboxFull"))
            return
        self._arrive(there, arrived(sender, message, agent), hops)
        self.drain()

    def undelivered(self, agent: str, body: object, to: str, why: str) -> None:
        """A message of an agent here will never arrive: an exception at its controller."""
        if not isinstance(body, Letter):
            return
        member = self._members.get((agent, body.law))
        if member is not None and not member.ended:
            self._except(member, body.sender, body.message, to, why)
            self.drain()

    def hear_mailed(self, peer: str, body: Mailed) -> None:
        """A message of a community came from another host."""
        if self._host.group.doubts(peer, body.law):
            return
        there = self._members.get((body.to, body.law))
        if there is not None and not there.ended:
            self.rule(there, arrived(body.sender, body.message, body.to))
            self.drain()

    def _deliver(self, member: Membership, sender: str, message: Term) -> None:
        """What a controller delivers: an operation to a space, an answer or mail to an agent."""
        home = (member.home, member.law.hash)
        if home in self._managers:
            self._host.governed.perform(member, sender, message)
        elif not self._host.governed.resolve(member, sender, message):
            self._host.moving.deliver(Mail(member.home, member.law.hash, sender, message))

    # -- what operators say ----------------------------------------------------------------

    def speak(self, event: Speak) -> None:
        """A governed space says something, in its own name and under its own law."""
        home = (event.space, event.law)
        if home not in self._managers:
            self._host.note("no-such-space", space=event.space, law=event.law)
            return
        self.rule(self._members[home], sent(event.space, event.message, event.to))
        self.drain()

    def present(self, event: Absent | Present) -> None:
        """The program of an agent went away, or is back: its controllers are told."""
        kind = "disconnected" if isinstance(event, Absent) else "reconnected"
        for member in self._of.of(event.agent):
            if not member.ended:
                self.rule(member, Event(kind, ()))
        self.drain()

    def certify(self, event: Certified | Revoked | Uncertified) -> None:
        """A certificate checks out, does not, or counts no longer: a controller is told."""
        member = self._members.get((event.agent, event.law))
        if member is None or member.ended:
            self._host.note("no-such-member", agent=event.agent, law=event.law)
            return
        shown = certificate(event.issuer, event.subject or event.agent, event.attributes)
        if isinstance(event, Uncertified):
            operation = Compound("certify", (shown,))
            self.rule(member, Event("exception", (operation, "invalidCertificate")))
        else:
            kind = "certified" if isinstance(event, Certified) else "revoked"
            self.rule(member, Event(kind, (shown,)))
        self.drain()

    # -- the agents' operations ------------------------------------------------------------

    def send(self, op: int, agent: str, request: Tell) -> None:
        """A message of an agent to another, or to a space; told what it may know of the ruling."""
        member = self.member(agent, request.law)
        if request.to.__class__ is tuple:
            check_receivers(self._host.shares, len(request.to), weight(request.message))

        def ruled(ruling: Ruling) -> None:
            told = tell(member, ruling, brief=ruling.refused and self._hurried(member))
            self.drain()
            self._host.answer(op, told)

        self.ask(member, sent(agent, request.message, request.to), op, ruled)

    def _hurried(self, member: Membership) -> bool:
        """Whether a member has had its share of reasons in this second.

        An agent that sends what is refused as fast as it can must not keep its host busy.
        """
        second = self._host.now // 1_000_000
        if second != self._second:
            self._second = second
            self._reasons.clear()
        home = (member.home, member.law.hash)
        count = self._reasons[home] = self._reasons.get(home, 0) + 1
        return count > REASONS_MAX

    def refusal(self, member: Membership, ruling: Ruling) -> Refused:
        """The error that a refused operation is answered with."""
        told = tell(member, ruling, brief=self._hurried(member))
        return Refused(ruling=told, why=told.explain())


def _text(law: CompiledLaw) -> LawText:
    """A law as it travels and is kept."""
    return LawText(law.hash, law.tree.source.name, law.tree.source.text)
