"""Programs in the process of their host: their calls, and what the host has for them.

A `LocalConnection` is one agent's `client.Connection`. A call that the core answers at once returns
at once, without a future and without the event loop; only what has to wait gets a future. Numbers,
and what becomes of a call that is cancelled, are those of `sessions.local_calls`. Who drives the
core does not matter: `node.driver` does in real time, a simulated world in virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec

from nomospace.calls.addresses import key_of
from nomospace.calls.problems import BadReaction, Cancelled
from nomospace.calls.requests import (
    Adjust,
    Adopt,
    Launch,
    Move,
    Out,
    React,
    Request,
    Seek,
    Unread,
)
from nomospace.calls.ways import STRONG
from nomospace.client import Closed, Departed, DisclosedRuling, Ear, Mailbox, Report, TimedOut
from nomospace.client.tuples import agent_id
from nomospace.host.calls import Call, Event, MonitorSpace, PaceLimits, Promote, Speak
from nomospace.host.effects import Answer, Effect, Fire, Mail, Note
from nomospace.host.monitoring import check_limits
from nomospace.law import CompiledLaw
from nomospace.sessions.local_calls import LocalCall, LocalCalls
from nomospace.sessions.open_calls import Asker
from nomospace.terms import Term, term
from nomospace.wire.admin import (
    A,
    DomainLine,
    MonitorLine,
    OperatorQuestion,
    PromoteHost,
    SpaceMonitor,
    SpaceTell,
    pack_answer,
    read_answer,
)
from nomospace.wire.calls import encode_value
from nomospace.wire.packing import pack


def _speak(asked: SpaceTell, op: int) -> Speak:
    return Speak(asked.space, asked.law, term(asked.message), agent_id("agent", asked.agent), op)


def _monitor(asked: SpaceMonitor, op: int) -> MonitorSpace:
    if asked.most is None:
        return MonitorSpace(asked.space, None, op)
    limits = PaceLimits(asked.most, asked.rest, asked.longest)
    return MonitorSpace(asked.space, check_limits(asked.space, limits), op)


QUIET_NOTES: Final = frozenset({"expired", "listener-failed", "view"})
"""Notes that are no trouble, or that the handle of the reaction has reported already."""


class LocalClients(LocalCalls):
    """Brings answers, firings and mail of one host's core to the programs that they are for."""

    def __init__(
        self,
        give: Callable[[Event], None],
        *,
        connected: Callable[[str, str], bool],
        report: Callable[[Report], None],
        closed: Callable[[str], None] = lambda agent: None,
        first: int = 0,
    ) -> None:
        super().__init__(give, first=first)
        self.closed = closed
        """Is told the agent of a connection that its program has closed."""
        self.connected = connected
        """Whether an agent here (the first) is connected with another, or with a host."""
        self.report = report
        self.ears: dict[tuple[str, str], Ear] = {}
        self.mailboxes: dict[tuple[str, str], list[Mailbox]] = {}

    def not_put_back(self, agent: str, space: str, error: BaseException) -> None:
        facts = {"agent": agent, "space": space}
        self.report(Report("a tuple of a cancelled take could not be put back", facts, error))

    def take_in(self, effect: Effect) -> None:
        """Bring an answer, a firing, mail or a note to whom it is for; leave anything else."""
        if isinstance(effect, Answer):
            self.answer(effect)
        elif isinstance(effect, Fire):
            ear = self.ears.get((effect.agent, effect.reaction))
            if ear is not None:  # else removed while the firing was on its way
                ear.on_fired(effect.tuple)
        elif isinstance(effect, Mail):
            for mailbox in self.mailboxes.get((effect.agent, effect.law), ()):
                mailbox.on_mail(effect.sender, effect.message)
        elif isinstance(effect, Note) and effect.what not in QUIET_NOTES:
            self.report(Report(effect.what, effect.facts))


class LocalConnection:
    """One agent's connection to the host of its process."""

    __slots__ = (
        "_agent",
        "_clients",
        "_laws",
        "_moving",
        "_pending",
        "_reactions",
        "closed",
        "idle",
    )

    def __init__(self, clients: LocalClients, agent: str) -> None:
        self._clients = clients
        self._agent = agent
        self.closed = False
        self.idle = False
        """Whether nobody has used it for so long that it speaks for nobody."""
        self._pending: dict[LocalCall, None] = {}
        self._moving: tuple[int, asyncio.Future[Answer]] | None = None
        # Its own ears and mailboxes: to end costs no look at those of all others.
        self._reactions: dict[str, None] = {}
        self._laws: dict[str, list[Mailbox]] = {}

    @property
    def agent(self) -> str:
        return self._agent

    # -- calls -----------------------------------------------------------------------------

    def out(
        self, space: str, fields: tuple[Term, ...], to: str, ttl_us: int
    ) -> Coroutine[object, None, None]:
        return self.ask(Out(space, fields, to, ttl_us))

    def seek(self, seek: Seek, timeout_s: float | None = None) -> Coroutine[object, None, Any]:
        return self.ask(seek, timeout_s)

    async def adopt(
        self, law: CompiledLaw, args: tuple[Term, ...], mailbox: Mailbox, number: int = 1
    ) -> DisclosedRuling:
        # Mail may come in the very step of the adoption, so the mailbox is there before.
        key = key_of(law.hash, number)
        boxes = self._clients.mailboxes.setdefault((self._agent, key), [])
        boxes.append(mailbox)
        mine = self._laws.setdefault(key, [])
        mine.append(mailbox)
        try:
            told: DisclosedRuling = await self.ask(Adopt(law, args, number))
        except BaseException:
            boxes.remove(mailbox)
            mine.remove(mailbox)
            raise
        return told

    def react(self, request: React, ear: Ear) -> None:
        def registered(answer: Answer) -> None:
            if answer.error is not None:
                ear.on_refused(answer.error)
            else:
                self._clients.ears[self._agent, answer.value] = ear
                self._reactions[answer.value] = None
                ear.on_registered(answer.value)

        self._check_open()
        if request.strength == STRONG:
            request = msgspec.structs.replace(request, listener=ear.on_strong)
        self._clients.post(self._agent, request, registered)

    def adjust(self, reaction: str, what: str) -> None:
        def adjusted(answer: Answer) -> None:
            # A `once` reaction that has fired is gone by itself: then there is nothing to adjust.
            if answer.error is not None and not isinstance(answer.error, BadReaction):
                facts = {"agent": self._agent, "reaction": reaction, "to": what}
                self._clients.report(Report("a reaction was not adjusted", facts, answer.error))

        if self.closed:
            return
        if what == "remove":
            self._clients.ears.pop((self._agent, reaction), None)
            self._reactions.pop(reaction, None)
        self._clients.post(self._agent, Adjust(reaction, what), adjusted)

    def attend(self, key: str, mailbox: Mailbox) -> None:
        self._check_open()
        self._clients.mailboxes.setdefault((self._agent, key), []).append(mailbox)
        self._laws.setdefault(key, []).append(mailbox)

    def launch(
        self, program: str, state: bytes, code: bytes | None
    ) -> Coroutine[object, None, None]:
        """Note what this agent runs; an empty name says that it runs nothing any more."""
        return self.ask(Launch(program, state, code))

    async def move(
        self,
        to: str,
        program: str,
        state: bytes,
        code: bytes | None,
        unread: tuple[tuple[str, str, Term], ...],
    ) -> None:
        self._check_open()
        request = Move(to, program, state, code, tuple(Unread(*each) for each in unread))
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def stayed(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer)

        number = self._clients.number + 1
        self._moving = (number, future)
        cancelled = False
        self._clients.post(self._agent, request, stayed)
        try:
            # It is answered, or the agent is gone: giving up before would leave both possible.
            while not future.done():
                try:
                    await asyncio.wait([future])
                except asyncio.CancelledError:
                    cancelled = True
                    self._clients.time_up(number)
        finally:
            self._moving = None
        error = future.exception() or future.result().error
        if isinstance(error, Departed):
            raise error
        if cancelled:
            raise asyncio.CancelledError
        if error is not None:
            raise error

    def leave(self) -> None:
        """The agent has left the host: its program here ends, and whoever waits for the move."""
        if self._moving is not None and not self._moving[1].done():
            self._moving[1].set_exception(Departed())
        self.shut(f"agent {self._agent}", gone=True)

    def connected(self, agent: str) -> bool:
        return self._clients.connected(self._agent, agent)

    def report(self, report: Report) -> None:
        self._clients.report(report)

    async def close(self) -> None:
        self.shut(f"agent {self._agent}")

    def shut(self, what: str, *, gone: bool = False) -> None:
        """End all that waits, with `Closed`; when the host is `gone`, it need not be told."""
        if self.closed:
            return
        clients = self._clients
        pending, self._pending = self._pending, {}
        for call in pending:
            asker = call.asker
            if gone:
                clients.calls.pop(call.number, None)
            else:
                clients.give_up(call)
            if asker is not None and not asker.done():
                asker.set_exception(Closed(what=what))
        if self._moving is not None:  # if the host is there, it runs its course
            number, future = self._moving
            if gone:
                clients.calls.pop(number, None)
            if not future.done():
                future.set_exception(Closed(what=what))
        self.closed = True
        for reaction in self._reactions:
            clients.ears.pop((self._agent, reaction), None)
        for law, mine in self._laws.items():  # another connection may read its mail too
            boxes = clients.mailboxes.get((self._agent, law), [])
            boxes[:] = [box for box in boxes if box not in mine]
            if not boxes:
                clients.mailboxes.pop((self._agent, law), None)
        if not gone:
            clients.closed(self._agent)

    # -- inside ----------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            raise Closed(what=f"agent {self._agent}")

    def begin(self, request: Request, asker: Asker) -> LocalCall | None:
        """Make a call whose answer an asker gets: at once, or else from the call that is given.

        Whoever gets the answer says that the call is `settled`; `call_off` waits no longer for it.
        """
        self._check_open()
        clients = self._clients
        clients.number = number = clients.number + 1
        clients.give(Call(number, self._agent, request))
        answer = clients.early.pop(number, None)
        if answer is None:
            call = clients.wait(number, self._agent, request, asker)
            self._pending[call] = None
            return call
        if answer.error is None:
            asker.set_result(answer.value)
        else:
            asker.set_exception(answer.error)
        return None

    def settled(self, call: LocalCall) -> None:
        """A call that was begun has its answer."""
        self._pending.pop(call, None)

    def call_off(self, call: LocalCall) -> None:
        """Wait no longer: it is answered with `Cancelled`, unless it is too late for that."""
        self._clients.time_up(call.number)

    async def ask(self, request: Request, timeout_s: float | None = None) -> Any:
        if self.closed:
            self._check_open()
        clients = self._clients
        clients.number = number = clients.number + 1
        clients.give(Call(number, self._agent, request))
        answer = clients.early.pop(number, None)
        if answer is None:
            return await self._wait(number, request, timeout_s)
        error = answer.error
        if error is None:
            return answer.value
        # The error will hold this frame. An answer is not seen by the collector, so a frame that
        # held on to it would never be freed.
        del answer
        raise error

    async def operate(self, question: OperatorQuestion[A]) -> A:
        """Carry out what the operator of this process's host asks: whoever runs it is that."""
        asked: object = question
        answer: object
        if isinstance(asked, SpaceTell):
            answer = pack(encode_value(await self._order(partial(_speak, asked))))
        elif isinstance(asked, SpaceMonitor):
            await self._order(partial(_monitor, asked))
            limits = (asked.most or 0.0, asked.rest, asked.longest)
            answer = MonitorLine(asked.space, *limits, asked.rest, 0)
        elif isinstance(asked, PromoteHost):
            standby = await self._order(partial(Promote, asked.domain))
            answer = DomainLine(asked.domain, str(standby))
        else:
            raise TypeError(f"{type(asked).__name__} is asked of a host that serves clients")
        return read_answer(question, pack_answer(answer))

    async def _order(self, fact: Callable[[int], Event]) -> object:
        """Tell the core a fact of its operator's that has an answer, and wait for that."""
        self._check_open()
        clients = self._clients
        clients.number = number = clients.number + 1
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        call = clients.calls[number] = LocalCall(number, future, late=True, agent=self._agent)
        self._pending[call] = None
        try:
            clients.give(fact(number))
            return await future
        except asyncio.CancelledError:
            clients.give_up(call)
            raise
        finally:
            self._pending.pop(call, None)

    async def _wait(self, number: int, request: Request, timeout_s: float | None) -> Any:
        loop, clients = asyncio.get_running_loop(), self._clients
        future: asyncio.Future[Any] = loop.create_future()
        call = clients.wait(number, self._agent, request, future)
        self._pending[call] = None
        timer = None
        if timeout_s is not None:
            timer = loop.call_later(timeout_s, clients.time_up, number)
        try:
            return await future
        except (asyncio.CancelledError, GeneratorExit):
            clients.give_up(call)
            raise
        except Cancelled:
            if timeout_s is None:
                raise
            assert isinstance(request, Seek)
            space, template = request.space, repr(request.template)
        finally:
            self._pending.pop(call, None)
            if timer is not None:
                timer.cancel()
        raise TimedOut(space=space, template=template, timeout_s=timeout_s)
