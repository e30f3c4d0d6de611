"""Controllers of a host: memberships of its agents and of its spaces' managers.

An operation on a governed space is a message (design: "space operations are messages"). At the
agent's controller it is `sent(Agent, Op, Space)`; what that ruling forwards is
`arrived(Agent, Op, Space)` at the manager of the space on this host, and only what that ruling
delivers touches a tuple. When other hosts are asked, each one's own manager rules on the arrival
there. The answer is `sent(Space, found(Op, T), Agent)` at the manager that holds the tuple, ruled
on before the tuple is removed, and `arrived(Space, found(Op, T), Agent)` at the agent's.

A law may hold an operation back and forward it later, or forward another one. So an answer ends
an outstanding operation of the agent on that space with the same term (the one that the space has
answered, else the oldest), and one that fits none is delivered as mail.

Rulings cause others: a forward an arrival, a delivery an operation. These stand on an agenda that
is worked off in the same step, at most `CAUSED_MAX` of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.control import (
    TICK,
    Deliver,
    Event,
    Forward,
    Leave,
    Membership,
    Record,
    Ruling,
    Snapshot,
    adopt,
    arrived,
    certificate,
    explain,
    sent,
)
from nomospace.control import Effect as ControlEffect
from nomospace.errors import NomospaceError
from nomospace.host.calls import (
    BULK,
    Adopt,
    Certified,
    LawText,
    Out,
    OutMany,
    React,
    Revoked,
    Seek,
    Speak,
    Tell,
    Waiting,
)
from nomospace.host.changes import Durable, MemberJoined, MemberRuled
from nomospace.host.effects import Found, Mail, Ruled
from nomospace.host.holding import Interface, Resident
from nomospace.host.linda import read, show
from nomospace.host.posting import Rejected
from nomospace.host.problems import AgentLeft, AlreadyMember, Busy, NotAMember, Refused
from nomospace.law import CompiledLaw
from nomospace.protocols.spaces import Mailed
from nomospace.terms import Compound, Term
from nomospace.terms.values import same

if TYPE_CHECKING:
    from nomospace.host.core import Host
    from nomospace.host.holding import Level
    from nomospace.host.reacting import Registered
    from nomospace.host.seeking import Op

CAUSED_MAX: Final = 10_000
"""How many rulings and deliveries one step of a host may cause."""
OUTSTANDING_MAX: Final = 100_000
"""How many operations of one agent on one governed space may be without an answer."""

Home = tuple[str, str]
"""A membership: whose (an agent or a space), and under which law (its hash)."""


class Released(msgspec.Struct, frozen=True):
    """What a manager's law makes of an answer: the message that may go, or `None`."""

    message: Term
    ruling: Ruling


class Outstanding:
    """An operation on a governed space that has not been answered."""

    __slots__ = ("founds", "message", "op", "request", "started", "under_way")

    def __init__(self, op: int, message: Term, request: Out | Seek | React) -> None:
        self.op = op
        self.message = message
        self.request = request
        self.started = False  # whether it has reached the space
        self.under_way = False  # whether the space has answered it
        self.founds: tuple[Found, ...] = ()  # what the space found, with all that is hidden


class Governing:
    """The controllers of one host."""

    def __init__(self, host: Host, laws: Mapping[str, CompiledLaw]) -> None:
        self._host = host
        self._laws = dict(laws)
        self._members: dict[Home, Membership] = {}
        self._managers: dict[Home, None] = {}
        self._outstanding: dict[tuple[str, str], list[Outstanding]] = {}
        self._due: dict[Home, int] = {}
        self._agenda: deque[tuple[Membership, ControlEffect]] = deque()
        self._draining = False
        self._caused = 0
        self._firings: list[tuple[Registered, Found]] = []  # of this step, not resolved yet

    # -- memberships -----------------------------------------------------------------------

    def restore(self, durable: Durable) -> None:
        """Bring memberships back as an earlier life wrote them down."""
        for (home, law), stored in durable.members.items():
            member = stored.restore(self._laws[law])
            self._members[home, law] = member
            if "@" not in home:
                self._managers[home, law] = None
            self._note_due(member)

    def adopt(self, agent: str, request: Adopt) -> Ruling:
        """Bind an agent to a law; the ruling on its adoption."""
        law = request.law
        if (agent, law.hash) in self._members:
            raise AlreadyMember(agent=agent, law=law.hash)
        return self._adopt(agent, law, request.args, manager=False)

    def _adopt(
        self, home: str, law: CompiledLaw, args: tuple[Term, ...], *, manager: bool
    ) -> Ruling:
        self._laws[law.hash] = law
        member, effects = adopt(law, home, args, now=self._host.now, manager=manager)
        self._members[home, law.hash] = member
        if manager:
            self._managers[home, law.hash] = None
        initial = (*law.initial, "tupleSpace") if manager else law.initial
        born = Membership(law, home, state=initial).snapshot()
        self._host.write_down(MemberJoined(born))
        ruling = self._post(member, effects)
        self.drain()
        return ruling

    def member(self, home: str, law: str) -> Membership:
        """A membership at this host; raises `NotAMember`."""
        found = self._members.get((home, law))
        if found is None or found.ended:
            raise NotAMember(agent=home, law=law)
        return found

    def admit(self, agent: str, space: str, law: CompiledLaw) -> None:
        """An agent opens a governed space: it is a member, and the space has a manager."""
        self.member(agent, law.hash)
        if (space, law.hash) not in self._members:
            self._adopt(space, law, (), manager=True)

    def pack(self, agent: str) -> tuple[Snapshot, ...]:
        """Take an agent's memberships out."""
        homes = [home for home in self._members if home[0] == agent]
        for home in homes:
            self._due.pop(home, None)
        now = self._host.now
        return tuple([_shifted(self._members.pop(home).snapshot(), -now) for home in homes])

    def unpack(self, agent: str, snapshots: tuple[Any, ...], origin: str) -> None:
        """Let an agent's memberships go on here; its laws must be known, and rule on the move."""
        for carried in snapshots:
            snapshot = _shifted(carried, self._host.now)
            member = Membership.restore(self._laws[snapshot.law], snapshot)
            self._members[agent, snapshot.law] = member
            self._host.write_down(MemberJoined(snapshot))
            self._rule(member, Event("moved", (origin, self._host.name)))
        self.drain()

    def end(self, agent: str) -> None:
        """The agent leaves without its operations."""
        for key in [key for key in self._outstanding if key[0] == agent]:
            for one in self._outstanding.pop(key):
                self._host.fail(one.op, AgentLeft(agent=agent))

    def pack_waiting(self, agent: str) -> tuple[Waiting, ...]:
        """Take the unanswered operations of an agent that moves out, with how far they got."""
        packed: list[Waiting] = []
        for key in [key for key in self._outstanding if key[0] == agent]:
            law = self._host.holding.residents[agent].spaces[key[1]].law
            packed += [
                Waiting(one.op, one.request, law, one.message, one.started, one.under_way)
                for one in self._outstanding.pop(key)
            ]
        return tuple(packed)

    def resume(self, resident: Resident, waiting: Waiting) -> None:
        """Let an operation of an agent that came go on; the manager here rules on its arrival."""
        space = waiting.request.space
        one = Outstanding(waiting.op, waiting.message, waiting.request)
        one.under_way = waiting.under_way
        one.started = waiting.under_way
        self._outstanding.setdefault((resident.id, space), []).append(one)
        if waiting.started and not waiting.under_way:
            manager = self.manager(space, waiting.law)
            self._rule(manager, arrived(resident.id, waiting.message, space))
            self.drain()

    def laws_of(self, agent: str) -> tuple[LawText, ...]:
        """The laws that an agent is under, as texts that another host can check."""
        found = [member.law for home, member in self._members.items() if home[0] == agent]
        return tuple(
            [LawText(law.hash, law.tree.source.name, law.tree.source.text) for law in found]
        )

    def know(self, law: CompiledLaw) -> None:
        """Have a law at hand for members that come."""
        self._laws[law.hash] = law

    def manager(self, space: str, law: str) -> Membership:
        """The manager of a governed space here, made when agents bring the space along."""
        if (space, law) not in self._members:
            self._adopt(space, self._laws[law], (), manager=True)
        return self._members[space, law]

    # -- rulings ---------------------------------------------------------------------------

    def _rule(self, member: Membership, event: Event) -> Ruling:
        """Let a controller rule; what follows stands on the agenda."""
        return self._post(member, member.handle(event, now=self._host.now), event)

    def _post(
        self, member: Membership, effects: list[ControlEffect], event: Event | None = None
    ) -> Ruling:
        """Write rulings down and put their orders on the agenda; the ruling on `event`."""
        ruling, orders = self._write_down(member, effects, event)
        self._agenda.extend([(member, order) for order in orders])
        return ruling

    def _write_down(
        self, member: Membership, effects: list[ControlEffect], event: Event | None
    ) -> tuple[Ruling, list[ControlEffect]]:
        """Write rulings down; the one on `event` (else the last), and what all of them order."""
        host = self._host
        mine: Ruling | None = None
        orders: list[ControlEffect] = []
        for effect in effects:
            if not isinstance(effect, Record):
                orders.append(effect)
                continue
            host.write_down(MemberRuled(effect.ruling))
            host.order(Ruled(effect.ruling))
            if mine is None or effect.ruling.event is event:
                mine = effect.ruling
        self._note_due(member)
        assert mine is not None, "a controller rules on what it is told"
        return mine, orders

    def _note_due(self, member: Membership) -> None:
        due = member.next_deadline()
        home = (member.home, member.law.hash)
        if due is None:
            self._due.pop(home, None)
        else:
            self._due[home] = due

    def next_deadline(self) -> int | None:
        """When the next obligation of any member is due."""
        return min(self._due.values()) if self._due else None

    def tick(self) -> None:
        """Let obligations fall due."""
        now = self._host.now
        for home in [home for home, due in self._due.items() if due <= now]:
            member = self._members[home]
            self._post(member, member.handle(TICK, now=now))
        self.drain()

    def drain(self, *, force: bool = False) -> None:
        """Work off what rulings have ordered, and what that causes."""
        if self._draining and not force:
            return
        outer = self._draining
        if not outer:
            self._caused = 0
        self._draining = True
        try:
            while self._agenda:
                member, effect = self._agenda.popleft()
                self._caused += 1
                if self._caused > CAUSED_MAX:
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
                self._firings.clear()  # what is left the law has kept

    def _forward(self, origin: Membership, forward: Forward) -> None:
        host, law = self._host, origin.law.hash
        there = self._members.get((forward.to, law))
        if there is not None and not there.ended:
            self._rule(there, arrived(forward.sender, forward.message, forward.to))
            return
        if "@" in forward.to and origin.home in host.holding.residents:
            body = (law, forward.sender, forward.message)
            host.posting.send(origin.home, forward.to, body)
            return
        peer = host.group.where.get(forward.to)
        if peer is not None:  # what a space says to a member at an engaged host
            host.group.tell(peer, Mailed(law, forward.sender, forward.message, forward.to))
            return
        self._except(origin, forward.sender, forward.message, forward.to, "unknownDestination")

    def _except(self, origin: Membership, sender: str, message: Term, to: str, why: str) -> None:
        operation = Compound("forward", (sender, message, to))
        self._rule(origin, Event("exception", (operation, why)))

    def mail(self, agent: str, origin: str, body: Any) -> None:
        """Routing brings a message to an agent here, or the news that one was not taken."""
        if isinstance(body, Rejected):
            self.undelivered(agent, (body.law, agent, body.message), body.to, body.why)
            return
        law, sender, message = body
        there = self._members.get((agent, law))
        if there is None or there.ended:
            known = any(home[0] == agent for home in self._members)
            why = "lawMismatch" if known else "unknownDestination"
            self._host.posting.send(agent, origin, Rejected(law, message, agent, why))
            return
        self._rule(there, arrived(sender, message, agent))
        self.drain()

    def undelivered(self, agent: str, body: Any, to: str, why: str) -> None:
        """A message of an agent here will never arrive: an exception at its controller."""
        if isinstance(body, Rejected):
            return
        law, sender, message = body
        member = self._members.get((agent, law))
        if member is not None and not member.ended:
            self._except(member, sender, message, to, why)
            self.drain()

    def hear_mailed(self, peer: str, body: Mailed) -> None:
        """A message of a community came from another host."""
        there = self._members.get((body.to, body.law))
        if there is not None and not there.ended:
            self._rule(there, arrived(body.sender, body.message, body.to))
            self.drain()

    def _deliver(self, member: Membership, sender: str, message: Term) -> None:
        """What a controller delivers: an operation to a space, an answer or mail to an agent."""
        home = (member.home, member.law.hash)
        if home in self._managers:
            self._perform(member, sender, message)
        elif not self._resolve(member, sender, message):
            self._host.order(Mail(member.home, member.law.hash, sender, message))

    # -- what operators say ----------------------------------------------------------------

    def speak(self, event: Speak) -> None:
        """A governed space says something, in its own name and under its own law."""
        home = (event.space, event.law)
        if home not in self._managers:
            self._host.note("no-such-space", space=event.space, law=event.law)
            return
        self._rule(self._members[home], sent(event.space, event.message, event.to))
        self.drain()

    def certify(self, event: Certified | Revoked) -> None:
        """A certificate of an agent checks out, or counts no longer: its controller is told."""
        member = self._members.get((event.agent, event.law))
        if member is None or member.ended:
            self._host.note("no-such-member", agent=event.agent, law=event.law)
            return
        kind = "certified" if isinstance(event, Certified) else "revoked"
        shown = certificate(event.issuer, event.agent, event.attributes)
        self._rule(member, Event(kind, (shown,)))
        self.drain()

    # -- the agents' operations ------------------------------------------------------------

    def send(self, agent: str, request: Tell) -> Ruling:
        """A message of an agent to another, or to a space."""
        member = self.member(agent, request.law)
        ruling = self._rule(member, sent(agent, request.message, request.to))
        self.drain()
        return ruling

    def out(
        self, op: int, resident: Resident, interface: Interface, request: Out | OutMany
    ) -> None:
        """Write under a law; several tuples are ruled on one by one."""
        if isinstance(request, Out):
            self._submit(op, resident, interface, request)
            return
        if not request.rows:
            self._host.answer(op)
        for place, fields in enumerate(request.rows, 1):
            last = op if place == len(request.rows) else 0
            one = Out(request.space, fields, request.to, request.ttl_us)
            self._submit(last, resident, interface, one)

    def seek(self, op: int, resident: Resident, interface: Interface, request: Seek) -> None:
        """Read or take under a law."""
        self._submit(op, resident, interface, request)

    def react(self, op: int, resident: Resident, interface: Interface, request: React) -> None:
        """Register a reaction under a law."""
        self._submit(op, resident, interface, request)

    def _submit(
        self, op: int, resident: Resident, interface: Interface, request: Out | Seek | React
    ) -> None:
        member = self.member(resident.id, interface.law)
        message = show(request)
        waiting = self._outstanding.setdefault((resident.id, interface.name), [])
        if len(waiting) >= OUTSTANDING_MAX:
            raise Busy(what=f"what {resident.id} asks of {interface.name}", limit=OUTSTANDING_MAX)
        one = Outstanding(op, message, request)
        waiting.append(one)
        ruling = self._rule(member, sent(resident.id, message, interface.name))
        if ruling.refused:
            waiting.remove(one)
            self.drain()
            raise self.refusal(member, ruling)
        self.drain()

    def refusal(self, member: Membership, ruling: Ruling) -> Refused:
        """The error that a refused operation is answered with."""
        return Refused(ruling=ruling, why=explain(member, ruling).text)

    def cancel(self, agent: str, op: int) -> bool:
        """Call an operation off before it has reached its space (a law may hold it for long)."""
        for (who, _), waiting in self._outstanding.items():
            for one in waiting if who == agent else ():
                if one.op == op and not one.started:
                    waiting.remove(one)
                    return True
        return False

    def cancelling(self, op: Op) -> bool:
        """May an agent call off what waits at a space? If not, what comes is delivered as mail."""
        member = self._members.get((op.agent, op.law))
        if member is None or member.ended:
            return True
        event = sent(op.agent, Compound("cancel", (op.message,)), op.seek.space)
        ruling = self._rule(member, event)
        self.drain()
        return not ruling.refused

    def unreact(self, agent: str, law: str, space: str, message: Term) -> None:
        """An agent ends a reaction: ruled on like all else."""
        member = self.member(agent, law)
        ruling = self._rule(member, sent(agent, Compound("unreact", (message.args[0],)), space))
        self.drain()
        if ruling.refused:
            raise self.refusal(member, ruling)

    def giving_back(
        self, resident: Resident, interface: Interface, fields: tuple[Term, ...]
    ) -> None:
        """An agent gives a lease back: ruled on like all else."""
        member = self.member(resident.id, interface.law)
        message = Compound("returned", (fields,))
        ruling = self._rule(member, sent(resident.id, message, interface.name))
        self.drain()
        if ruling.refused:
            raise self.refusal(member, ruling)

    # -- at the space ----------------------------------------------------------------------

    def _perform(self, manager: Membership, agent: str, message: Term) -> None:
        """Carry out an operation that has passed both ends of the law."""
        host, space = self._host, manager.home
        request = read(message, space)
        resident = host.holding.residents.get(agent)
        if request is None or resident is None:
            self._perform_other(agent, space, message)
            return
        one = self._started(agent, space, message)
        op = one.op if one is not None else 0
        try:
            interface = resident.interface(space)
            if isinstance(request, Out):
                host.holding.write(resident, interface, request.fields, request.to, request.ttl_us)
                self._drop(agent, space, one)
                host.answer(op)
            elif isinstance(request, Seek):
                host.seeking.begin(op, resident, interface, request, message)
            else:
                self._drop(agent, space, one)
                if one is not None and isinstance(one.request, React):
                    request = msgspec.structs.replace(request, listener=one.request.listener)
                host.reacting.register(op, resident, interface.law, request, message)
        except NomospaceError as error:
            self._drop(agent, space, one)
            host.fail(op, error)

    def _perform_other(self, agent: str, space: str, message: Term) -> None:
        """`unreact`, which a law may send in an agent's name; all else is no operation."""
        host = self._host
        if message.__class__ is Compound and message.name == "unreact" and len(message.args) == 1:
            for one in host.reacting.find(agent, space, message.args[0]):
                host.reacting.drop(one)
        elif message.__class__ is not Compound or message.name not in ("returned", "cancel"):
            host.note("no-operation", space=space, sender=agent, message=message)

    def _started(self, agent: str, space: str, message: Term) -> Outstanding | None:
        """The agent's oldest operation with this term that has not reached the space."""
        for one in self._outstanding.get((agent, space), ()):
            if not one.started and same(one.message, message):
                one.started = True
                return one
        return None

    def _drop(self, agent: str, space: str, one: Outstanding | None) -> None:
        waiting = self._outstanding.get((agent, space), [])
        if one is not None and one in waiting:
            waiting.remove(one)

    def forget(self, op: Op) -> None:
        """An operation ended without an answer."""
        for one in list(self._outstanding.get((op.agent, op.seek.space), ())):
            if one.op == op.op and one.started:
                self._drop(op.agent, op.seek.space, one)
                return

    # -- answers ---------------------------------------------------------------------------

    def _answer_term(self, message: Term, founds: tuple[Found, ...], *, all_: bool) -> Term:
        if not founds and not all_:
            return Compound("none", (message,))
        shown = tuple([found.fields for found in founds]) if all_ else founds[0].fields
        return Compound("found", (message, shown))

    def _release(self, space: str, law: str, agent: str, answer: Term) -> Released:
        """Ask the manager's law whether an answer may go. Its other orders are carried out."""
        manager = self.manager(space, law)
        event = sent(space, answer, agent)
        effects = manager.handle(event, now=self._host.now)
        ruling, orders = self._write_down(manager, effects, event)
        message: Term = None
        for order in orders:
            if isinstance(order, Forward) and order.to == agent and message is None:
                message = order.message
            else:
                self._agenda.append((manager, order))
        return Released(message, ruling)

    def release(self, op: Op, founds: tuple[Found, ...]) -> Released:
        """May an answer go to an agent of this host?"""
        answer = self._answer_term(op.message, founds, all_=op.seek.how in BULK)
        return self._release(op.seek.space, op.law, op.agent, answer)

    def release_for(
        self,
        level: Level,
        agent: str,
        message: Term,
        founds: tuple[Found, ...],
        *,
        all_: bool,
    ) -> Term:
        """May an answer go to an agent of another host? The message, or `None`."""
        answer = self._answer_term(message, founds, all_=all_)
        released = self._release(level.name, level.law, agent, answer)
        self.drain()
        return released.message

    def release_reacted(
        self, space: str, law: str, agent: str, message: Term, found: Found
    ) -> Term:
        """May a firing be told to an agent? The message, or `None`."""
        answer = Compound("reacted", (message.args[0], found.fields))
        released = self._release(space, law, agent, answer)
        self.drain()
        return released.message

    def admits(self, space: str, law: str, agent: str, message: Term) -> bool:
        """Does the manager here let an operation arrive that was sent at another host?"""
        manager = self.manager(space, law)
        event = arrived(agent, message, space)
        effects = manager.handle(event, now=self._host.now)
        _, orders = self._write_down(manager, effects, event)
        admitted = False
        for order in orders:
            if isinstance(order, Deliver):
                admitted = admitted or same(order.message, message)
            else:
                self._agenda.append((manager, order))
        self.drain()
        return admitted

    def keep(self, op: Op, released: Released) -> None:
        """The manager's law lets an answer not go."""
        self.forget(op)
        manager = self.manager(op.seek.space, op.law)
        self._host.fail(op.op, self.refusal(manager, released.ruling))

    def nothing(self, op: Op) -> None:
        """There is no match for an operation that does not wait."""
        answer = self._answer_term(op.message, (), all_=op.seek.how in BULK)
        released = self._release(op.seek.space, op.law, op.agent, answer)
        if released.message is None:
            self.keep(op, released)
        else:
            self.deliver(op, released.message, ())

    def deliver(self, op: Op, message: Term, founds: tuple[Found, ...]) -> None:
        """An answer reaches the agent's controller."""
        if message is None:  # a peer's manager kept it
            message = self._answer_term(op.message, (), all_=op.seek.how in BULK)
        for one in self._outstanding.get((op.agent, op.seek.space), ()):
            if one.op == op.op and one.started:
                one.founds, one.under_way = founds, True
        member = self._members.get((op.agent, op.law))
        if member is None or member.ended:
            return
        self._rule(member, arrived(op.seek.space, message, op.agent))
        self.drain()

    def _resolve(self, member: Membership, sender: str, message: Term) -> bool:
        """End the operation that a delivered answer is for; false when it is none."""
        if message.__class__ is not Compound or message.name not in ("found", "none", "reacted"):
            return False
        if (sender, member.law.hash) not in self._managers:
            return False
        if message.name == "reacted":
            return self._resolve_reacted(member, sender, message)
        waiting = self._outstanding.get((member.home, sender), [])
        fits = [one for one in waiting if one.started and same(one.message, message.args[0])]
        if not fits:
            return False
        # Of several with the same term, the one that the space has answered.
        one = next((one for one in fits if one.under_way), fits[0])
        waiting.remove(one)
        self._host.answer(one.op, _value(one, message))
        return True

    # -- reactions -------------------------------------------------------------------------

    def react_arrived(self, one: Registered, message: Term, found: Found) -> None:
        """A firing reaches the agent's controller."""
        member = self._members.get((one.agent, one.law))
        if member is None or member.ended or message is None:
            return
        self._firings.append((one, found))
        self._rule(member, arrived(one.request.space, message, one.agent))
        self.drain()

    def _resolve_reacted(self, member: Membership, space: str, message: Compound) -> bool:
        pattern, fields = message.args
        reacting = self._host.reacting
        for firing in self._firings:
            one, found = firing
            if (
                one.agent == member.home
                and one.request.space == space
                and same(found.fields, fields)
                and same(one.request.template.term, pattern)
            ):
                self._firings.remove(firing)
                reacting.fire(one, found)
                return True
        for one in reacting.find(member.home, space, pattern):  # a tuple that the law has made
            reacting.fire(one, Found(fields, "", 0, space))
            return True
        return False

    def shown(self, one: Registered, found: Found) -> Found | None:
        """Both rulings on a strong firing, inside the step; what the listener may see."""
        space = one.request.space
        message = self.release_reacted(space, one.law, one.agent, one.message, found)
        member = self._members.get((one.agent, one.law))
        if message is None or member is None or member.ended:
            return None
        event = arrived(space, message, one.agent)
        effects = member.handle(event, now=self._host.now)
        _, orders = self._write_down(member, effects, event)
        seen: Found | None = None
        for order in orders:
            shown = order.message if isinstance(order, Deliver) else None
            if seen is None and shown.__class__ is Compound and shown.name == "reacted":
                fields = shown.args[1]
                seen = found if same(fields, found.fields) else Found(fields, "", 0, space)
            else:
                self._agenda.append((member, order))
        self.drain()
        return seen


def _shifted(snapshot: Snapshot, by_us: int) -> Snapshot:
    """A membership with its obligations moved in time: on the way they are kept as time left."""
    obligations = tuple([(place, term, due + by_us) for place, term, due in snapshot.obligations])
    return msgspec.structs.replace(snapshot, obligations=obligations)


def _value(one: Outstanding, message: Compound) -> Any:
    """What the caller gets for an answer, with what is hidden where the law left it alone."""
    if message.name == "none":
        return () if isinstance(one.request, Seek) and one.request.how in BULK else None
    shown = message.args[1]
    known = list(one.founds)
    rows = shown if isinstance(one.request, Seek) and one.request.how in BULK else (shown,)
    founds = []
    for fields in rows:
        match = next((found for found in known if same(found.fields, fields)), None)
        if match is not None:
            known.remove(match)
        founds.append(match or Found(fields, "", 0, ""))
    if isinstance(one.request, Seek) and one.request.how in BULK:
        return tuple(founds)
    return founds[0]
