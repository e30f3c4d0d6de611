"""Operations on governed spaces: each is a message, and passes the law at both ends.

At the agent's controller an operation is `sent(Agent, Op, Space)`; what that ruling forwards is
`arrived(Agent, Op, Space)` at the manager of the space on this host, and only what that ruling
delivers touches a tuple. When other hosts are asked, each one's own manager rules on the arrival
there. The answer is `sent(Space, found(Op, T), Agent)` at the manager that holds the tuple, ruled
on before the tuple is removed, and `arrived(Space, found(Op, T), Agent)` at the agent's.

A law may hold an operation back and forward it later, or forward another one. So an answer ends
the agent's oldest outstanding operation on that space with the same term, and one that fits none
is delivered as mail.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.control import Deliver, Forward, Membership, Ruling, arrived, sent
from nomospace.errors import NomospaceError
from nomospace.host.calls import BULK, Out, OutMany, React, Seek, Waiting
from nomospace.host.effects import Found
from nomospace.host.holding import Interface, Resident
from nomospace.host.linda import read, show
from nomospace.host.problems import AgentLeft, Busy
from nomospace.host.shares import TooManyRulings
from nomospace.terms import Compound, Term
from nomospace.terms.values import same

if TYPE_CHECKING:
    from nomospace.host.core import Host
    from nomospace.host.holding import Level
    from nomospace.host.operations import Op
    from nomospace.host.reacting import Registered

OUTSTANDING_MAX: Final = 100_000
"""How many operations of one agent on one governed space may be without an answer."""


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


class Governed:
    """The operations of one host's agents on governed spaces."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._outstanding: dict[tuple[str, str], list[Outstanding]] = {}
        self._firings: list[tuple[Registered, Found]] = []  # those that are being ruled on

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
        share = self._host.shares.batch_rows
        if len(request.rows) > share:
            raise TooManyRulings(
                what=f"the number of tuples in one call to {request.space!r}, which has a law,",
                limit=share,
                advice="write them in several calls: a law rules on each tuple alone anyway",
            )
        if not request.rows:
            self._host.answer(op)
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
            one = Out(request.space, fields, request.to, request.ttl_us, key)
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
        if request.once and self._host.holding.has_written(resident, interface, request.once):
            self._host.answer(op)
            return True
        return self._submit(op, resident, interface, request, call, then)

    def seek(self, op: int, resident: Resident, interface: Interface, request: Seek) -> None:
        """Read or take under a law."""
        self._submit(op, resident, interface, request)

    def react(self, op: int, resident: Resident, interface: Interface, request: React) -> None:
        """Register a reaction under a law."""
        self._submit(op, resident, interface, request)

    def _submit(
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
        waiting = self._outstanding.setdefault((resident.id, interface.name), [])
        if len(waiting) >= OUTSTANDING_MAX:
            raise Busy(what=f"what {resident.id} asks of {interface.name}", limit=OUTSTANDING_MAX)
        one = Outstanding(op, message, request)
        waiting.append(one)
        at_once = True

        def ruled(ruling: Ruling) -> None:
            if ruling.refused and one in waiting:
                waiting.remove(one)
                self._host.governing.drain()
                error = self._host.governing.refusal(member, ruling)
                if at_once:
                    raise error
                self._host.fail(op or call, error)
                return
            self._host.governing.drain()
            if then is not None and not at_once:
                try:
                    then()
                except NomospaceError as error:
                    self._host.fail(call, error)

        event = sent(resident.id, message, interface.name)
        try:
            at_once = self._host.governing.ask(member, event, call, ruled)
        except Busy:
            waiting.remove(one)
            raise
        return at_once

    def cancel(self, agent: str, op: int) -> bool:
        """Call an operation off before it has reached its space (a law may hold it for long)."""
        for key in self._keys(agent):
            waiting = self._outstanding[key]
            for one in waiting:
                if one.op == op and not one.started:
                    waiting.remove(one)
                    return True
        return False

    def _keys(self, agent: str) -> list[tuple[str, str]]:
        """Where an agent here has had operations outstanding: spaces that it has open."""
        resident = self._host.holding.residents.get(agent)
        if resident is None:
            return []
        return [(agent, name) for name in resident.spaces if (agent, name) in self._outstanding]

    def cancelling(self, op: Op) -> bool:
        """May an agent call off what waits at a space? If not, what comes is delivered as mail."""
        member = self._host.governing.find(op.agent, op.law)
        if member is None:
            return True
        event = sent(op.agent, Compound("cancel", (op.message,)), op.seek.space)
        ruling = self._host.governing.rule_now(member, event)
        self._host.governing.drain()
        return not ruling.refused

    def unreact(self, agent: str, law: str, space: str, message: Term) -> None:
        """An agent ends a reaction: ruled on like all else."""
        member = self._host.governing.member(agent, law)
        ruling = self._host.governing.rule_now(
            member, sent(agent, Compound("unreact", (message.args[0],)), space)
        )
        self._host.governing.drain()
        if ruling.refused:
            raise self._host.governing.refusal(member, ruling)

    def giving_back(
        self, resident: Resident, interface: Interface, fields: tuple[Term, ...]
    ) -> None:
        """An agent gives a lease back: ruled on like all else."""
        member = self._host.governing.member(resident.id, interface.law)
        message = Compound("returned", (fields,))
        ruling = self._host.governing.rule_now(member, sent(resident.id, message, interface.name))
        self._host.governing.drain()
        if ruling.refused:
            raise self._host.governing.refusal(member, ruling)

    # -- at the space ----------------------------------------------------------------------

    def perform(self, manager: Membership, agent: str, message: Term) -> None:
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
                once = request.once
                if not once or host.holding.is_new(resident, interface, once):
                    host.holding.write(
                        resident, interface, request.fields, request.to, request.ttl_us
                    )
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
        manager = self._host.governing.manager(space, law)
        event = sent(space, answer, agent)
        ruling, orders = self._host.governing.rule_apart(manager, event)
        message: Term = None
        for order in orders:
            if isinstance(order, Forward) and order.to == agent and message is None:
                message = order.message
            else:
                self._host.governing.post(manager, order)
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
        self._host.governing.drain()
        return released.message

    def release_reacted(
        self, space: str, law: str, agent: str, message: Term, found: Found
    ) -> Term:
        """May a firing be told to an agent? The message, or `None`."""
        answer = Compound("reacted", (message.args[0], found.fields))
        released = self._release(space, law, agent, answer)
        self._host.governing.drain()
        return released.message

    def admits(self, space: str, law: str, agent: str, message: Term) -> bool:
        """Does the manager here let an operation arrive that was sent at another host?"""
        manager = self._host.governing.manager(space, law)
        event = arrived(agent, message, space)
        _, orders = self._host.governing.rule_apart(manager, event)
        admitted = False
        for order in orders:
            if isinstance(order, Deliver):
                admitted = admitted or same(order.message, message)
            else:
                self._host.governing.post(manager, order)
        self._host.governing.drain()
        return admitted

    def keep(self, op: Op, released: Released) -> None:
        """The manager's law lets an answer not go."""
        self.forget(op)
        manager = self._host.governing.manager(op.seek.space, op.law)
        self._host.fail(op.op, self._host.governing.refusal(manager, released.ruling))

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
        member = self._host.governing.find(op.agent, op.law)
        if member is None:
            return
        self._host.governing.rule(member, arrived(op.seek.space, message, op.agent))
        self._host.governing.drain()

    def resolve(self, member: Membership, sender: str, message: Term) -> bool:
        """End the operation that a delivered answer is for; false when it is none."""
        if message.__class__ is not Compound or message.name not in ("found", "none", "reacted"):
            return False
        if not self._host.governing.manages(sender, member.law.hash):
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
        member = self._host.governing.find(one.agent, one.law)
        if member is None or message is None:
            return

        def ruled(ruling: Ruling) -> None:
            self._firings.append((one, found))
            self._host.governing.drain()

        event = arrived(one.request.space, message, one.agent)
        self._host.governing.rule(member, event, then=ruled)

    def forget_firings(self) -> None:
        """All is ruled on: what is left the law has kept."""
        self._firings.clear()

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
        member = self._host.governing.find(one.agent, one.law)
        if message is None or member is None:
            return None
        event = arrived(space, message, one.agent)
        _, orders = self._host.governing.rule_apart(member, event)
        seen: Found | None = None
        for order in orders:
            shown = order.message if isinstance(order, Deliver) else None
            if seen is None and shown.__class__ is Compound and shown.name == "reacted":
                fields = shown.args[1]
                seen = found if same(fields, found.fields) else Found(fields, "", 0, space)
            else:
                self._host.governing.post(member, order)
        self._host.governing.drain()
        return seen

    # -- moving ----------------------------------------------------------------------------

    def end(self, agent: str, error: NomospaceError | None = None) -> None:
        """The agent leaves without its operations."""
        for key in self._keys(agent):
            for one in self._outstanding.pop(key):
                self._host.fail(one.op, error or AgentLeft(agent=agent))

    def pack_waiting(self, agent: str) -> tuple[Waiting, ...]:
        """Take the unanswered operations of an agent that moves out, with how far they got."""
        packed: list[Waiting] = []
        for key in self._keys(agent):
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
            manager = self._host.governing.manager(space, waiting.law)
            self._host.governing.rule(manager, arrived(resident.id, waiting.message, space))
            self._host.governing.drain()


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
