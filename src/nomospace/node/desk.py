"""The desk of a host: gives agents' calls to its core and brings each answer to who asked.

A `Line` is one agent's `client.Connection`. A call that the core answers at once returns at once,
without a future and without the event loop; only what has to wait gets a future. The desk does
not care who drives the core: `node.driver` does in real time, a simulated world in virtual time.

A take that is cancelled must not swallow a tuple. Its call is called off; if the tuple was given
in the same instant all the same, it goes back: a leased one by giving up the lease, another by
writing it again, under a new id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from nomospace.client import Closed, Connection, Departed, Ear, Mailbox, Report, TimedOut
from nomospace.host.calls import (
    TAKING,
    Adjust,
    Adopt,
    Asked,
    Call,
    Cancel,
    Event,
    Launch,
    Move,
    OntologyText,
    Open,
    Out,
    OutMany,
    PutBack,
    React,
    Request,
    Save,
    Seek,
    Sets,
    Settle,
    Share,
    Show,
    Stand,
    Tell,
    Unread,
)
from nomospace.host.effects import Answer, Effect, Fire, Found, Mail, Note
from nomospace.host.problems import BadReaction, Cancelled, LeaseLapsed
from nomospace.terms import Term
from nomospace.terms.templates import Template

QUIET_NOTES: Final = frozenset({"expired", "listener-failed", "view"})
"""Notes that are no trouble, or that the handle of the reaction has reported already."""


class Desk:
    """Matches answers, firings and mail of one host's core to the programs they are for."""

    __slots__ = ("connected", "early", "ears", "give", "mailboxes", "op", "report", "waiting")

    def __init__(
        self,
        give: Callable[[Event], None],
        *,
        connected: Callable[[str, str], bool],
        report: Callable[[Report], None],
        first: int = 0,
    ) -> None:
        self.give = give
        self.connected = connected
        """Whether an agent of the desk (the first) is connected with another, or with a host."""
        self.report = report
        self.op = first
        """The number of the last call. Agents take calls along when they move, so no two desks may
        give one number: each begins far from all others."""
        self.early: dict[int, Answer] = {}
        """Answers that came before anyone could wait for them: for the call under way."""
        self.waiting: dict[int, Callable[[Answer], None]] = {}
        """Who wants the answer of a call. The core bounds how many calls can wait."""
        self.ears: dict[tuple[str, str], Ear] = {}
        self.mailboxes: dict[tuple[str, str], list[Mailbox]] = {}

    def line(self, agent: str) -> Connection:
        """A connection for one agent."""
        return Line(self, agent)

    def post(self, agent: str, request: Asked, then: Callable[[Answer], None]) -> None:
        """Make a call whose answer nobody awaits."""
        self.op = op = self.op + 1
        self.waiting[op] = then
        self.give(Call(op, agent, request))

    def answer(self, answer: Answer) -> None:
        """A call is answered."""
        then = self.waiting.pop(answer.op, None)
        if then is None:
            self.early[answer.op] = answer
        else:
            then(answer)

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


class Line:
    """One agent's connection to the host of a desk."""

    __slots__ = ("_agent", "_desk", "_laws", "_pending", "_reactions", "closed")

    def __init__(self, desk: Desk, agent: str) -> None:
        self._desk = desk
        self._agent = agent
        self.closed = False
        self._pending: dict[int, tuple[asyncio.Future[Answer], Request]] = {}
        # Its ears and mailboxes at the desk: to end costs no look at those of all others.
        self._reactions: dict[str, None] = {}
        self._laws: dict[str, list[Mailbox]] = {}

    @property
    def agent(self) -> str:
        return self._agent

    # -- calls -----------------------------------------------------------------------------

    def out(
        self, space: str, fields: tuple[Term, ...], to: str, ttl_us: int
    ) -> Coroutine[Any, Any, None]:
        return self._ask(Out(space, fields, to, ttl_us))

    def out_many(
        self, space: str, rows: tuple[tuple[Term, ...], ...], to: str, ttl_us: int, once: str
    ) -> Coroutine[Any, Any, None]:
        return self._ask(OutMany(space, rows, to, ttl_us, once))

    def seek(
        self,
        space: str,
        how: str,
        template: Template,
        at: str,
        dest: str,
        lease_us: int,
        timeout_s: float | None,
        sets: Sets | None = None,
    ) -> Coroutine[Any, Any, Any]:
        return self._ask(Seek(space, how, template, at, dest, lease_us, sets), timeout_s)

    def open(
        self, space: str, law: Any, durable: bool, ontology: OntologyText | None = None
    ) -> Coroutine[Any, Any, None]:
        return self._ask(Open(space, law, durable, ontology))

    def share(self, spaces: tuple[str, ...], shared: bool) -> Coroutine[Any, Any, None]:
        return self._ask(Share(spaces, shared))

    def settle(self, space: str, lease: str, done: bool) -> Coroutine[Any, Any, None]:
        return self._ask(Settle(space, lease, done))

    def tell(self, law: str, message: Term, to: str | tuple[str, ...]) -> Coroutine[Any, Any, Any]:
        return self._ask(Tell(law, message, to))

    def show(self, law: str, certificate: bytes) -> Coroutine[Any, Any, Any]:
        return self._ask(Show(law, certificate))

    def stand(self, law: str) -> Coroutine[Any, Any, Any]:
        return self._ask(Stand(law))

    async def adopt(self, law: Any, args: tuple[Term, ...], mailbox: Mailbox) -> Any:
        # Mail may come in the very step of the adoption, so the mailbox is there before.
        boxes = self._desk.mailboxes.setdefault((self._agent, law.hash), [])
        boxes.append(mailbox)
        mine = self._laws.setdefault(law.hash, [])
        mine.append(mailbox)
        try:
            return await self._ask(Adopt(law, args))
        except BaseException:
            boxes.remove(mailbox)
            mine.remove(mailbox)
            raise

    def react(
        self, space: str, template: Template, mode: str, strength: str, at: str, dest: str, ear: Ear
    ) -> None:
        def registered(answer: Answer) -> None:
            if answer.error is not None:
                ear.on_refused(answer.error)
            else:
                self._desk.ears[self._agent, answer.value] = ear
                self._reactions[answer.value] = None
                ear.on_registered(answer.value)

        self._check_open()
        listener = ear.on_strong if strength == "strong" else None
        request = React(space, template, mode, strength, at, dest, listener)
        self._desk.post(self._agent, request, registered)

    def adjust(self, reaction: str, what: str) -> None:
        def adjusted(answer: Answer) -> None:
            # A `once` reaction that has fired is gone by itself: then there is nothing to adjust.
            if answer.error is not None and not isinstance(answer.error, BadReaction):
                facts = {"agent": self._agent, "reaction": reaction, "to": what}
                self._desk.report(Report("a reaction was not adjusted", facts, answer.error))

        if self.closed:
            return
        if what == "remove":
            self._desk.ears.pop((self._agent, reaction), None)
            self._reactions.pop(reaction, None)
        self._desk.post(self._agent, Adjust(reaction, what), adjusted)

    def attend(self, law: str, mailbox: Mailbox) -> None:
        self._check_open()
        self._desk.mailboxes.setdefault((self._agent, law), []).append(mailbox)
        self._laws.setdefault(law, []).append(mailbox)

    def launch(self, program: str, state: bytes, code: bytes | None) -> Coroutine[Any, Any, None]:
        """Note what this agent runs; an empty name says that it runs nothing any more."""
        return self._ask(Launch(program, state, code))

    def save(self, state: bytes) -> Coroutine[Any, Any, None]:
        return self._ask(Save(state))

    async def move(
        self,
        to: str,
        program: str,
        state: bytes,
        code: bytes | None,
        unread: tuple[tuple[str, str, Term], ...],
    ) -> None:
        self._check_open()
        desk = self._desk
        desk.op = op = desk.op + 1
        request = Move(to, program, state, code, tuple(Unread(*each) for each in unread))
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def stayed(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer)

        desk.waiting[op] = stayed
        self._pending[op] = (future, request)
        cancelled = False
        desk.give(Call(op, self._agent, request))
        try:
            # It is answered, or the agent is gone: giving up before would leave both possible.
            while not future.done():
                try:
                    await asyncio.wait([future])
                except asyncio.CancelledError:
                    cancelled = True
                    if op in desk.waiting:
                        self._call_off(op)
        finally:
            self._pending.pop(op, None)
            if op in desk.waiting:
                desk.waiting[op] = _nobody
        error = future.exception() or future.result().error
        if isinstance(error, Departed):
            raise error
        if cancelled:
            raise asyncio.CancelledError
        if error is not None:
            raise error

    def leave(self) -> None:
        """The agent has left the host: its program here ends, and whoever waits for the move."""
        for future, request in self._pending.values():
            if isinstance(request, Move) and not future.done():
                future.set_exception(Departed())
        self.shut(f"agent {self._agent}", gone=True)

    def connected(self, agent: str) -> bool:
        return self._desk.connected(self._agent, agent)

    def report(self, report: Report) -> None:
        self._desk.report(report)

    async def close(self) -> None:
        self.shut(f"agent {self._agent}")

    def shut(self, what: str, *, gone: bool = False) -> None:
        """End all that waits, with `Closed`; when the host is `gone`, it need not be told."""
        if self.closed:
            return
        pending, self._pending = self._pending, {}
        for op, (future, request) in pending.items():
            if gone:
                self._desk.waiting.pop(op, None)
            elif isinstance(request, Move):
                pass  # it runs its course
            else:
                self._disown(op, request)
            if not future.done():
                future.set_exception(Closed(what=what))
        self.closed = True
        desk = self._desk
        for reaction in self._reactions:
            desk.ears.pop((self._agent, reaction), None)
        for law, mine in self._laws.items():  # another line of the agent may read its mail too
            boxes = desk.mailboxes.get((self._agent, law), [])
            boxes[:] = [box for box in boxes if box not in mine]
            if not boxes:
                desk.mailboxes.pop((self._agent, law), None)

    # -- inside ----------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            raise Closed(what=f"agent {self._agent}")

    async def _ask(self, request: Request, timeout_s: float | None = None) -> Any:
        if self.closed:
            self._check_open()
        desk = self._desk
        desk.op = op = desk.op + 1
        desk.give(Call(op, self._agent, request))
        answer = desk.early.pop(op, None)
        if answer is None:
            answer = await self._wait(op, request, timeout_s)
        error = answer.error
        if error is None:
            return answer.value
        # The error will hold this frame. An answer is not seen by the collector, so a frame that
        # held on to it would never be freed.
        del answer
        if timeout_s is not None and error.__class__ is Cancelled:
            assert isinstance(request, Seek)
            raise TimedOut(
                space=request.space, template=repr(request.template), timeout_s=timeout_s
            )
        raise error

    async def _wait(self, op: int, request: Request, timeout_s: float | None) -> Answer:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        early = self._desk.early

        def arrived(answer: Answer) -> None:
            if future.done():  # cancelled, and its task has not run yet
                early[op] = answer
            else:
                future.set_result(answer)

        self._desk.waiting[op] = arrived
        self._pending[op] = (future, request)
        timer = None
        if timeout_s is not None:
            timer = loop.call_later(timeout_s, self._call_off, op)
        try:
            return await future
        except (asyncio.CancelledError, GeneratorExit):
            answer = early.pop(op, None)
            if future.done() and not future.cancelled() and future.exception() is None:
                answer = future.result()
            if answer is None:
                self._disown(op, request)
            else:
                self._undo(request, answer)
            raise
        finally:
            self._pending.pop(op, None)
            if timer is not None:
                timer.cancel()

    def _call_off(self, op: int) -> None:
        self._desk.post(self._agent, Cancel(op), _nobody)

    def _disown(self, op: int, request: Request) -> None:
        """Nobody waits for this call any more; what it may still bring goes back."""
        waiting = self._desk.waiting
        if op in waiting:
            waiting[op] = lambda answer: self._undo(request, answer)
            if isinstance(request, Seek):
                self._call_off(op)

    def _undo(self, request: Request, answer: Answer) -> None:
        if not isinstance(request, Seek) or request.how not in TAKING or not answer.value:
            return
        value = answer.value
        taken: tuple[Found, ...] = value if isinstance(value, tuple) else (value,)
        if request.lease_us:
            backs: list[Asked] = [Settle(request.space, taken[0].lease, False)]
        else:
            backs = [PutBack(request.space, row) for found in taken for row in found.rows]

        def put_back(answer: Answer) -> None:
            if answer.error is not None and answer.error.__class__ is not LeaseLapsed:
                facts = {"agent": self._agent, "space": request.space}
                what = "a tuple of a cancelled take could not be put back"
                self._desk.report(Report(what, facts, answer.error))

        for back in backs:
            self._desk.post(self._agent, back, put_back)


def _nobody(answer: Answer) -> None:
    """An answer that tells nothing new."""
