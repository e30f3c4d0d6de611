"""Operations on governed spaces: each is a message, and passes the law at both ends.

At the agent's controller an operation is `sent(Agent, Op, Space)`; what that ruling forwards is
`arrived(Agent, Op, Space)` at the manager of the space on this host, and only what that ruling
delivers touches a tuple. When other hosts are asked, each one's own manager rules on the arrival
there. The answer is `sent(Space, found(Op, T), Agent)` at the manager that holds the tuple, ruled
on before the tuple is removed, and `arrived(Space, found(Op, T), Agent)` at the agent's.

A law may hold an operation back and forward it later, or forward another one. `outstanding` says
which call of the agent an answer ends; one that fits none is delivered as mail.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.answers import Found
from nomospace.calls.problems import AgentLeft, Busy
from nomospace.calls.requests import BULK, Out, OutMany, React, Seek
from nomospace.control import Deliver, Event, Forward, Membership, Ruling, arrived, sent
from nomospace.errors import NomospaceError
from nomospace.host.calls import Waiting
from nomospace.host.deciding import no_ruling
from nomospace.host.effects import HERE, Journey
from nomospace.host.linda import answer_of, firing_of, read, show
from nomospace.host.monitoring import Monitoring
from nomospace.host.outstanding import (
    ANSWERED,
    BEGUN,
    HELD,
    Outstanding,
    OutstandingCalls,
    Released,
)
from nomospace.host.part import HostPart
from nomospace.host.residents import Interface, Resident
from nomospace.host.shares import TooManyRowsAtOnce
from nomospace.terms import Compound, Term
from nomospace.terms.encoding import encode
from nomospace.terms.values import parts_of, same

if TYPE_CHECKING:
    from nomospace.host.operations import Op, Registered
    from nomospace.host.ports import HostParts

OUTSTANDING_MAX: Final = 100_000
"""How many operations of one agent on one governed space may be without an answer."""


class Governed(HostPart):
    """The operations of one host's agents on governed spaces."""

    def __init__(self, host: HostParts) -> None:
        super().__init__(host)
        self.monitoring = Monitoring(host)
        self._outstanding: defaultdict[tuple[str, str], OutstandingCalls] = defaultdict(
            OutstandingCalls
        )
        """By agent and space."""
        self._firings: dict[tuple[str, str, bytes], deque[tuple[Registered, Found]]] = {}
        """Those that are being ruled on, by agent, space, and the bytes of pattern and tuple."""
        self.forget_firings = self._firings.clear
        """All is ruled on: what is left the law has kept."""

    # -- the agents' operations ------------------------------------------------------------

    def out(
        self, op: int, resident: Resident, interface: Interface, request: Out | OutMany
    ) -> None:
        """Write under a law; several tuples are ruled on one by one.

        What was written before under the same key is done: a law that counts must not count it
        twice, and one that would refuse it by now must not make its writer think it is not there.
        """
        if isinstance(request, Out):
            self._write(op, resident, interface, request)
            return
        share = self._step.shares.batch_rows
        if len(request.rows) > share:
            raise TooManyRowsAtOnce(
                what=f"the number of tuples in one call to {request.space!r}, which has a law,",
                limit=share,
                advice="write them in several calls: a law rules on each tuple alone anyway",
            )
        if not request.rows:
            self._step.answer(op)
        self._write_rows(op, resident, interface, request, 0)

    def _write_rows(
        self, op: int, resident: Resident, interface: Interface, request: OutMany, place: int
    ) -> None:
        """Write the tuples of a call from a place on, each when the one before it is ruled on."""
        rows = request.rows
        while place < len(rows):
            fields = rows[place]
            place += 1
            key = f"{request.once}/{place}" if request.once and len(rows) > 1 else request.once
            how = (request.to, request.ttl_us, key, request.priority, request.once_lasts)
            one = Out(request.space, fields, *how)
            if place == len(rows):
                self._write(op, resident, interface, one)
                return
            go_on = partial(self._write_rows, op, resident, interface, request, place)
            if not self._write(0, resident, interface, one, op, go_on):
                return

    def _write(
        self,
        op: int,
        resident: Resident,
        interface: Interface,
        request: Out,
        call: int = 0,
        then: Callable[[], None] | None = None,
    ) -> bool:
        if request.once and self._host.writing.has_written(resident, interface, request.once):
            self._step.answer(op)
            return True
        return self.submit(op, resident, interface, request, call, then)

    def submit(
        self,
        op: int,
        resident: Resident,
        interface: Interface,
        request: Out | Seek | React,
        call: int = 0,
        then: Callable[[], None] | None = None,
    ) -> bool:
        """Let the agent's controller rule on an operation; whether that was at once.

        If it is later, `then` is called after it, and a refusal is the answer of the operation or
        of the `call` that it is a part of.
        """
        member = self._host.governing.member(resident.id, interface.law)
        message = show(request)
        calls = self._outstanding[resident.id, interface.name]
        if len(calls) >= OUTSTANDING_MAX:
            raise Busy(what=f"what {resident.id} asks of {interface.name}", limit=OUTSTANDING_MAX)
        one = Outstanding(op, message, request)
        calls.add(one)
        at_once = True

        def ruled(ruling: Ruling) -> None:
            if ruling.refused and one in calls:
                calls.remove(one)
                self._host.governing.drain()
                error = self._host.telling.refusal(member, ruling)
                if at_once:
                    raise error
                self._step.fail(op or call, error)
                return
            self._host.governing.drain()
            if then is not None and not at_once:
                try:
                    then()
                except NomospaceError as error:
                    self._step.fail(call, error)

        event = sent(resident.id, message, interface.name)
        try:
            at_once = self._host.governing.ask(member, event, call, ruled)
        except Busy:
            calls.remove(one)
            raise
        return at_once

    def cancel(self, agent: str, op: int) -> bool:
        """Call an operation off before it has reached its space (a law may hold it for long)."""
        for key in self._keys(agent):
            one = self._outstanding[key].called(op)
            if one is not None and one.stage == HELD:
                self._outstanding[key].remove(one)
                return True
        return False

    def _keys(self, agent: str) -> list[tuple[str, str]]:
        """Where an agent here has had operations outstanding: spaces that it has open."""
        resident = self._spaces.residents.get(agent)
        if resident is None:
            return []
        return [(agent, name) for name in resident.spaces if (agent, name) in self._outstanding]

    def cancelling(self, op: Op, call: int, then: Callable[[bool], None]) -> None:
        """May an agent call off what waits at a space? If not, what comes is delivered as mail.

        It may not where too much waits for its law to be asked.
        """
        governing = self._host.governing
        member = governing.find(op.agent, op.law)
        if member is None:
            then(True)
            return

        def ruled(ruling: Ruling) -> None:
            governing.drain()
            then(not ruling.refused)

        event = sent(op.agent, Compound("cancel", (op.message,)), op.seek.space)
        if self._host.deciding.full((op.agent, op.law)):
            then(False)
        else:
            self._ask_always(member, event, call, ruled)

    def unreact(self, call: int, one: Registered, then: Callable[[], None]) -> None:
        """An agent ends a reaction: ruled on like all else."""
        message = Compound("unreact", (parts_of(one.message)[0],))
        self._permit(call, one.agent, one.law, one.request.space, message, then)

    def settling(
        self,
        call: int,
        resident: Resident,
        interface: Interface,
        message: Term,
        then: Callable[[], None],
        refused: Callable[[], None] | None = None,
    ) -> None:
        """An agent gives a lease back, or renews it: ruled on like all else.

        With `refused`, a tuple goes back that nobody has got, and must not be lost. Where too much
        waits for its law to be asked, nobody rules on that.
        """
        agent, law = resident.id, interface.law
        if refused is not None and self._host.deciding.full((agent, law)):
            then()
        else:
            self._permit(call, agent, law, interface.name, message, then, refused)

    def _permit(
        self,
        call: int,
        agent: str,
        law: str,
        space: str,
        message: Term,
        then: Callable[[], None],
        refused: Callable[[], None] | None = None,
    ) -> None:
        """Do something for a call once the agent's law has let it pass; raises its refusal."""
        governing = self._host.governing
        member = governing.member(agent, law)

        def ruled(ruling: Ruling) -> None:
            governing.drain()
            if ruling.refused:
                if refused is not None:
                    refused()
                raise self._host.telling.refusal(member, ruling)
            then()

        event = sent(agent, message, space)
        self._ask_always(member, event, call, ruled, durable=refused is not None)

    def _ask_always(
        self,
        member: Membership,
        event: Event,
        call: int,
        then: Callable[[Ruling], None],
        *,
        durable: bool = False,
    ) -> None:
        """Let a controller rule for a call that suspended agents make too: nobody rules then."""
        suspending = self._host.suspending
        if suspending.holds((member.home, member.law.hash)):
            suspending.hold(member, event)
            then(no_ruling(member, event, self._step.now))
        else:
            self._host.governing.ask(member, event, call, then, durable=durable)

    # -- at the space ----------------------------------------------------------------------

    def perform(self, manager: Membership, agent: str, message: Term) -> None:
        """Carry out an operation that has passed both ends of the law."""
        host, space = self._host, manager.home
        self.monitoring.count(space, manager.law.hash, agent)
        resident = self._spaces.residents.get(agent)
        calls = self._outstanding[agent, space]
        one = calls.sent(message) if resident is not None else None
        request = read(message, space) if one is None else one.request
        if request is None or resident is None:
            self._perform_other(agent, space, message)
            return
        if one is None:  # the law has made it: nobody waits for an answer
            one = Outstanding(0, message, request)
        else:
            calls.reached(one, BEGUN)
        op = one.op
        try:
            interface = resident.interface(space)
            if isinstance(request, Out):
                if not request.once or host.writing.is_new(resident, interface, request):
                    host.writing.write(resident, interface, request)
                calls.remove(one)
                self._step.answer(op)
            elif isinstance(request, Seek):
                host.seeking.begin(op, resident, interface, request, one)
            else:
                calls.remove(one)
                host.reacting.register(op, resident, interface.law, request, message)
        except NomospaceError as error:
            calls.remove(one)
            self._step.fail(op, error)

    def _perform_other(self, agent: str, space: str, message: Term) -> None:
        """`unreact`, which a law may send in an agent's name; all else is no operation."""
        host = self._host
        if message.__class__ is Compound and message.name == "unreact" and len(message.args) == 1:
            for one in host.reacting.find(agent, space, message.args[0]):
                host.reacting.drop(one)
        elif message.__class__ is not Compound or message.name not in ("returned", "cancel"):
            self._step.note("no-operation", space=space, sender=agent, message=message)

    def forget(self, op: Op) -> None:
        """An operation ended without an answer."""
        self._outstanding[op.agent, op.seek.space].remove(op.call)

    # -- answers ---------------------------------------------------------------------------

    def _release(self, space: str, law: str, agent: str, answer: Term) -> Released:
        """Ask the manager's law whether an answer may go. Its other orders are carried out."""
        manager = self._host.governing.manager(space, law)
        event = sent(space, answer, agent)
        ruling, orders = self._host.governing.rule_apart(manager, event)
        message: Term = None
        for order in orders:
            said = order[1]
            if isinstance(said, Forward) and said.to == agent and message is None:
                message = said.message
            else:
                self._host.governing.post(order)
        return Released(message, ruling)

    def release(self, op: Op, founds: tuple[Found, ...]) -> Released:
        """May an answer go to an agent of this host?"""
        answer = answer_of(op.message, founds, all_=op.seek.how in BULK)
        return self._release(op.seek.space, op.law, op.agent, answer)

    def let_go(self, space: str, law: str, agent: str, answer: Term) -> Term:
        """What the manager here lets go of an answer or a firing; `None` when the law keeps it."""
        released = self._release(space, law, agent, answer)
        self._host.governing.drain()
        return released.message

    def admits(self, space: str, law: str, agent: str, message: Term) -> bool:
        """Does the manager here let an operation arrive that was sent at another host?"""
        self.monitoring.count(space, law, agent)
        manager = self._host.governing.manager(space, law)
        event = arrived(agent, message, space)
        _, orders = self._host.governing.rule_apart(manager, event)
        admitted = False
        for order in orders:
            said = order[1]
            if isinstance(said, Deliver):
                admitted = admitted or same(said.message, message)
            else:
                self._host.governing.post(order)
        self._host.governing.drain()
        return admitted

    def keep(self, op: Op, released: Released) -> None:
        """The manager's law lets an answer not go."""
        self.forget(op)
        manager = self._host.governing.manager(op.seek.space, op.law)
        self._step.fail(op.op, self._host.telling.refusal(manager, released.ruling))

    def nothing(self, op: Op) -> None:
        """There is no match for an operation that does not wait."""
        answer = answer_of(op.message, (), all_=op.seek.how in BULK)
        released = self._release(op.seek.space, op.law, op.agent, answer)
        if released.message is None:
            self.keep(op, released)
        else:
            self.deliver(op, released.message, (), released.ruling.seq)

    def deliver(self, op: Op, message: Term, founds: tuple[Found, ...], cause: int = 0) -> None:
        """An answer reaches the agent's controller; `cause` is the ruling here that let it go."""
        call, calls = op.call, self._outstanding[op.agent, op.seek.space]
        assert call is not None, "every operation under a law has a term"
        if message is None:  # a peer's manager kept it
            message = answer_of(call.message, (), all_=op.seek.how in BULK)
        elif message.__class__ is Compound:
            asked = message.args[0]
            if asked is not call.message and same(asked, call.message):
                # It comes from a peer. From here on it holds the very operation again.
                message = Compound(message.name, (call.message, *message.args[1:]))
        call.founds = founds
        if call in calls:
            calls.reached(call, ANSWERED)
        member = self._host.governing.find(op.agent, op.law)
        if member is None:
            return
        came = Journey(0, (), cause) if cause else HERE
        self._host.governing.rule(member, arrived(op.seek.space, message, op.agent), came)
        self._host.governing.drain()

    def resolve(self, member: Membership, sender: str, message: Term) -> bool:
        """End the operation that a delivered answer is for; false when it is none."""
        if message.__class__ is not Compound or len(message.args) != _ANSWERS.get(message.name):
            return False
        if (sender, member.law.hash) not in self._host.governing.managed():
            return False
        if message.name == "reacted":
            return self._resolve_reacted(member, sender, message)
        calls = self._outstanding.get((member.home, sender))
        one = calls.asked(message.args[0]) if calls is not None else None
        if calls is None or one is None or not _fits(one, message):
            return False
        calls.remove(one)
        self._step.answer(one.op, _value(one, message))
        return True

    # -- reactions -------------------------------------------------------------------------

    def react_arrived(self, one: Registered, message: Term, found: Found) -> None:
        """A firing reaches the agent's controller."""
        member = self._host.governing.find(one.agent, one.law)
        if member is None or message is None:
            return

        def ruled(ruling: Ruling) -> None:
            key = _firing_key(one.agent, one.request.space, one.request.template.term, found.fields)
            self._firings.setdefault(key, deque()).append((one, found))
            self._host.governing.drain()

        event = arrived(one.request.space, message, one.agent)
        self._host.governing.rule(member, event, then=ruled)

    def _resolve_reacted(self, member: Membership, space: str, message: Compound) -> bool:
        pattern, fields = message.args
        reacting = self._host.reacting
        firings = self._firings.get(_firing_key(member.home, space, pattern, fields))
        if firings:
            reacting.fire(*firings.popleft())
            return True
        if type(fields) is not tuple:  # no listener could read it: it is mail
            return False
        for one in reacting.find(member.home, space, pattern):  # a tuple that the law has made
            reacting.fire(one, Found(fields, "", 0, space))
            return True
        return False

    def shown(self, one: Registered, found: Found) -> Found | None:
        """Both rulings on a strong firing, inside the step; what the listener may see."""
        space = one.request.space
        message = self.let_go(space, one.law, one.agent, firing_of(one.message, found))
        member = self._host.governing.find(one.agent, one.law)
        if message is None or member is None:
            return None
        event = arrived(space, message, one.agent)
        _, orders = self._host.governing.rule_apart(member, event)
        seen: Found | None = None
        for order in orders:
            said = order[1]
            fields = _reacted(said.message) if isinstance(said, Deliver) else None
            if seen is None and fields is not None:
                seen = found if same(fields, found.fields) else Found(fields, "", 0, space)
            else:
                self._host.governing.post(order)
        self._host.governing.drain()
        return seen

    # -- moving ----------------------------------------------------------------------------

    def end(self, agent: str, error: NomospaceError | None = None) -> None:
        """The agent leaves without its operations."""
        for key in self._keys(agent):
            for one in self._outstanding.pop(key).all():
                self._step.fail(one.op, error or AgentLeft(agent=agent))

    def pack_waiting(self, agent: str) -> tuple[Waiting, ...]:
        """Take the unanswered operations of an agent that moves out, with how far they got."""
        packed: list[Waiting] = []
        for key in self._keys(agent):
            law = self._spaces.residents[agent].spaces[key[1]].law
            packed += [
                Waiting(
                    one.op, one.request, law, one.message, one.stage != HELD, one.stage == ANSWERED
                )
                for one in self._outstanding.pop(key).all()
            ]
        return tuple(packed)

    def resume(self, resident: Resident, waiting: Waiting) -> None:
        """Let an operation of an agent that came go on; the manager here rules on its arrival."""
        space = waiting.request.space
        one = Outstanding(waiting.op, waiting.message, waiting.request)
        one.stage = ANSWERED if waiting.under_way else HELD
        self._outstanding[resident.id, space].add(one)
        if waiting.started and not waiting.under_way:
            manager = self._host.governing.manager(space, waiting.law)
            self._host.governing.rule(manager, arrived(resident.id, waiting.message, space))
            self._host.governing.drain()


_ANSWERS: Final = {"found": 2, "none": 1, "reacted": 2}
"""What spaces answer, with how many arguments."""


def _firing_key(agent: str, space: str, pattern: Term, fields: Term) -> tuple[str, str, bytes]:
    return agent, space, encode((pattern, fields))


def _reacted(message: Term) -> tuple[Term, ...] | None:
    """The tuple that a firing shows, if a message has the form of one; a law may make any."""
    if type(message) is not Compound or message.name != "reacted" or len(message.args) != 2:
        return None
    fields = message.args[1]
    return fields if type(fields) is tuple else None


def _in_bulk(one: Outstanding) -> bool:
    return one.request.__class__ is Seek and one.request.how in BULK


def _fits(one: Outstanding, message: Compound) -> bool:
    """Whether an answer has the form that its caller waits for; a law may make any."""
    if message.name == "none":
        return True
    shown = message.args[1]
    if shown.__class__ is not tuple:
        return False
    return not _in_bulk(one) or all(fields.__class__ is tuple for fields in shown)


def _value(one: Outstanding, message: Compound) -> Any:
    """What the caller gets for an answer, with what is hidden where the law left it alone."""
    in_bulk = _in_bulk(one)
    if message.name == "none":
        return () if in_bulk else None
    rows = parts_of(message.args[1]) if in_bulk else message.args[1:]
    founds = one.founds
    if len(rows) != len(founds):
        founds = _known(one, rows)
    for fields, found in zip(rows, founds, strict=True):
        if fields is not found.fields:
            founds = _known(one, rows)
            break
    return founds if in_bulk else founds[0]


def _known(one: Outstanding, rows: tuple[Any, ...]) -> tuple[Found, ...]:
    """The tuples of an answer that a law has changed; what is hidden, of those that it left."""
    known: dict[bytes, deque[Found]] = {}
    for found in one.founds:
        known.setdefault(encode(found.fields), deque()).append(found)
    founds: list[Found] = []
    for fields in rows:
        alike = known.get(encode(fields))
        founds.append(alike.popleft() if alike else Found(fields, "", 0, ""))
    return tuple(founds)
