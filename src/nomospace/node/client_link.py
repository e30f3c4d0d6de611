"""One connection of a client: frames in, calls to its session, frames out.

A connection begins with a proof of who it is (`entrance`). From then on it speaks for one agent,
the one it proved to be, and all that it says goes to the agent's session (`sessions`). One without
an agent may ask an operator's questions only.

Limits: more than `STRANGER_BYTES_MAX` before a proof, a frame past `CALL_BYTES_MAX`, garbage, or
more calls than the window cost the connection and nothing else. What one read brings is told a few
calls at a time, and answered in as many writes; what is more than a turn's work, or comes after a
text that is still being read, waits in a queue (see `turns`). When a client does not take what it
is sent, its session keeps it, and calls it no longer begins (see `sessions`); the transport holds
little.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from typing import Final, cast

from nomospace.calls.problems import (
    AgentAway,
    AgentUnborn,
    NotAnOperator,
    NotLetIn,
    TooManyClients,
)
from nomospace.calls.requests import LawText, OntologyText, Open, Request
from nomospace.errors import CallerError, LawError, NomospaceError, PeerError, Unavailable
from nomospace.node.clients import Answers, Clients, micros
from nomospace.node.entrance import Entrance, IncomingConnection
from nomospace.node.keeper import HEAVY_BYTES
from nomospace.node.principals import Principal
from nomospace.node.turns import LOT_FRAMES, QUANTUM_BYTES, QUANTUM_FRAMES, TURN_S, Queue, Rate
from nomospace.sessions.host_session import SOME, HostSession
from nomospace.wire import talk
from nomospace.wire.admin import Question, pack_answer
from nomospace.wire.calls import CALL_PARTS_MAX, DEEP_MAX, BadCall, CallTooWide, Unready
from nomospace.wire.common_calls import goes_along, read_common
from nomospace.wire.framing import STRANGER_BYTES_MAX, BadFrame, Framer, join
from nomospace.wire.talk import ASK, SEEK_PLAIN

WRITE_HIGH: Final = 1 << 20
"""From this many unsent bytes on, a connection is clogged."""
QUESTIONS_MAX: Final = 16
"""How many questions of one operator may wait for their answers."""
COUNTED_LOT: Final = 64
"""Calls are counted in lots: of so many at most, and of a thousandth of what a second allows."""
UNBORN_S: Final = 4.0
"""How long a client waits for its new agent to be on record, and how often that is looked at."""
UNBORN_LOOK_S: Final = 0.002
CUT_S: Final = 1.0
"""How long a connection that is cut has to take its last frame."""


class TooManyQuestions(Unavailable):
    """An operator asks more at once than a host answers."""

    code = "node.too-many-questions"
    words = "this host answers {limit} questions of a client at once; ask again later"
    limit: int


class ClientLink(asyncio.Protocol):
    """One connection of a client."""

    __slots__ = ("_arrival", "_asked", "_busy", "_clients", "_clogged", "_entrance",
                 "_flushing", "_framer", "_lot", "_open", "_out", "_principal", "_questions",
                 "_queue", "_rates", "_session", "_sessions", "_transport", "_turns",
                 "_uncounted", "heard_at", "loop", "whose")  # fmt: skip

    _transport: asyncio.Transport

    def __init__(self, clients: Clients, arrival: IncomingConnection | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.heard_at = self.loop.time()
        self.whose = ""
        """The agent it speaks for, or the principal where there is none; empty for a stranger."""
        self._clients = clients
        self._sessions = clients.sessions
        self._arrival = arrival
        self._framer = Framer(STRANGER_BYTES_MAX)
        self._turns = clients.turns
        self._queue = Queue(clients.turns, self._turn, clients.strangers, self._more)
        self._rates: tuple[Rate, ...] = ()
        self._lot = COUNTED_LOT
        self._uncounted = 0
        self._out: list[bytes] = []
        self._busy = False  # in the middle of a read: what is sent waits for its end
        self._flushing = False
        self._clogged = False
        self._open = False
        shown = None if arrival is None else arrival.certificate
        self._entrance = Entrance(clients.door, clients.host, shown)
        self._principal: Principal | None = None
        self._session: HostSession | None = None
        self._questions: dict[asyncio.Task[None], None] = {}

    # -- what sessions do with it (`host_session.SessionLink`) ----------------------------------

    def send(self, body: bytes) -> bool:
        """Send a frame, with others of this turn; false when the connection is clogged."""
        if self._clogged or not self._open:
            return False
        self._out.append(body)
        if len(self._out) >= SOME:  # the client has work, while the next are made
            self._flush()
        elif not self._busy and not self._flushing:
            self._flushing = True
            self._turns.send_soon(self._flush)
        return True

    @property
    def is_idle(self) -> bool:
        """Whether all that came is done: nothing of it waits here."""
        return self._queue.idle

    @property
    def ready(self) -> bool:
        """Whether the connection takes what is sent."""
        return self._open and not self._clogged

    def send_now(self, bodies: list[bytes]) -> None:
        """Send frames at once, after all that were sent before; only while it is ready."""
        self._out += bodies
        self._flush()

    def drop(self) -> None:
        """End the connection when what was sent has gone out."""
        if self._open:
            self._flush()
            self._open = False
            self._transport.close()

    def refuse(self, what: str, why: str) -> None:
        """End the connection at once, and note why."""
        if not self._open:
            return
        session = self._session
        self._note(what, "" if session is None else session.agent, why=why)
        self._open = False
        self._transport.abort()

    def _note(self, what: str, agent: str, **facts: str) -> None:
        ip = "" if self._arrival is None else self._arrival.ip
        self._clients.note(what, {"ip": ip, "agent": agent, **facts})

    def judged(self, session: HostSession | None, now: Principal | NotLetIn) -> None:
        """Its principal was judged again: it is another now, or none, and then this is the end.

        The session may have no connection any more: it ends all the same.
        """
        before, agent = self._principal, "" if session is None else session.agent
        assert before is not None, "it was let in"
        if isinstance(now, Principal):
            if now.may_be(agent) if agent else now.operator:
                self._principal = now
                return
            what = f"speaks for {agent} no longer" if agent else "is no operator any longer"
            now = NotLetIn(why=f"{now.name} {what}")
        self._note("client-cut", agent, who=before.name, code=now.code, why=str(now))
        self._clients.stand_no_more(self if session is None else session)
        if self._open:
            self._out.append(talk.pack_refusal(now))  # past all that is clogged: it is the last
            self.loop.call_later(CUT_S, self._transport.abort)
        if session is not None:
            self._sessions.end(session)
        self.drop()

    def _flush(self) -> None:
        self._flushing = False
        out = self._out
        if out and self._open:
            self._out = []
            self._transport.write(join(out))

    # -- what the transport tells ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from the class of that name.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH)
        self._queue.transport = self._transport
        self._open = True
        try:
            self._clients.add(self)
        except TooManyClients as error:
            self.send(talk.pack_refusal(error))
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open = False
        self._clients.remove(self)
        last = self._queue.close()
        self._count_calls()
        for task in list(self._questions):
            task.cancel()
        if self._session is None:
            self._clients.stand_no_more(self)
        else:
            if last == talk.BYE_FRAME:  # it has not had its turn
                self._sessions.end(self._session)
            self._sessions.lost(self._session, self, now=micros(self.loop.time()))
            self._session = None
        if self._arrival is not None:
            self._arrival.ended()

    def pause_writing(self) -> None:
        self._clogged = True

    def resume_writing(self) -> None:
        self._clogged = False
        if self._session is not None:
            self._sessions.go_on(self._session)

    def data_received(self, data: bytes) -> None:
        if not self._open:
            return  # TLS hands on what it has read, also of a connection that is being closed
        self.heard_at = self.loop.time()
        queue, turns = self._queue, self._turns
        account, now = queue.account, turns.clock()
        since = turns.used() if account.watched else 0.0
        try:
            if self._principal is None:
                known = self._hear_stranger(data)
                turns.spent(account, now, since)
                if known:
                    self.data_received(b"")  # what came after its proof
                return
            frames = self._framer.feed(data, LOT_FRAMES)
        except PeerError as error:
            self.refuse("bad-frame", str(error))
            return
        idle = queue.idle
        if (
            idle
            and len(data) <= QUANTUM_BYTES
            and len(frames) <= QUANTUM_FRAMES
            and turns.admits(account, now)
        ):
            self._handle(frames, now + TURN_S)
            turns.spent(account, now, since, cut=not queue.idle and queue.has_work)
        else:
            queue.put(frames)

    def _more(self) -> list[bytes]:
        """The next frames of a read that brought very many."""
        try:
            return self._framer.feed(b"", LOT_FRAMES) if self._open else []
        except PeerError as error:
            self.refuse("bad-frame", str(error))
            return []

    def _turn(self, frames: list[bytes], until: float) -> None:
        self.heard_at = self.loop.time()
        self._handle(frames, until)

    def _handle(self, frames: list[bytes], until: float) -> None:
        """Do what some frames ask for, as long as there is time; the rest goes to the queue."""
        self._busy = True
        at, end = 0, len(frames)
        try:
            while at < end and self._open:
                session = self._session
                if session is not None:
                    at += self._heard(session, frames, at, until)
                else:
                    self._asks(talk.unpack_frame(frames[at]))
                    at += 1
                if at < end and (self._queue.held or self._turns.clock() >= until):
                    self._queue.put_back(frames[at:])  # a batch is read, and what follows it waits
                    break
        except PeerError as error:
            self._flush()  # what those before it have been answered
            self.refuse("bad-frame", str(error))
        except Unready as early:
            self._queue.hold(frames[at:])
            self._read(early.text)
        finally:
            self._busy = False
        if self._out:
            self._flush()
        self._uncounted += at
        if self._uncounted >= self._lot:
            self._count_calls()

    def _count_calls(self) -> None:
        """Take the calls that were made off what the agent and its principal may make."""
        made, self._uncounted = self._uncounted, 0
        queue = self._queue
        for rate in self._rates:
            late_s = rate.spend(made, self.heard_at)
            if late_s and self._open and not queue.held:
                queue.hold([])
                self.loop.call_later(late_s, queue.go_on)

    def _read(self, text: LawText | OntologyText) -> None:
        """Have a text read that a call holds; this call and those after it wait."""
        session = self._session
        assert session is not None, "only calls hold texts"
        task = self.loop.create_task(self._clients.read(text, session.agent))
        self._questions[task] = None
        task.add_done_callback(self._was_read)

    def _was_read(self, task: asyncio.Task[None]) -> None:
        self._questions.pop(task, None)
        if self._open:
            self._queue.go_on()

    # -- coming in -----------------------------------------------------------------------------

    def _hear_stranger(self, data: bytes) -> bool:
        """Frames one by one, until it is known who sends them; whether it is."""
        entrance = self._entrance
        try:
            while self._principal is None and self._open:
                heard = entrance.hear(self._framer, data)
                data = b""
                if heard is None:
                    return False
                if isinstance(heard, talk.Challenge):
                    self.send(talk.pack_frame(heard))
                else:
                    self._let_in_when_born(heard)
                    return self._principal is not None
        except NomospaceError as error:
            if isinstance(error, BadFrame):
                raise
            self._turn_away(error)
        return self._principal is not None

    def _turn_away(self, error: NomospaceError) -> None:
        hello = self._entrance.hello
        agent = "" if hello is None else hello.agent
        led = isinstance(error, AgentAway) and error.address.startswith("/")
        if not led:  # to a sibling at the same address: that is the way of clients over TLS
            self._note("client-refused", agent, code=error.code, why=str(error))
        self.send(talk.pack_refusal(error))
        self.drop()

    def _let_in_when_born(self, principal: Principal) -> None:
        """Let a client in; with a new agent that is not on record yet, soon."""
        try:
            self._let_in(principal)
        except AgentUnborn:
            waited_s = self.loop.time() - self.heard_at
            if waited_s > UNBORN_S:
                raise
            self.loop.call_later(max(UNBORN_LOOK_S, waited_s / 8), self._let_in_later, principal)

    def _let_in_later(self, principal: Principal) -> None:
        if not self._open:
            return
        try:
            self._let_in_when_born(principal)
        except NomospaceError as error:
            self._turn_away(error)
        if self._principal is not None:
            self.data_received(b"")  # what came after its proof

    def _let_in(self, principal: Principal) -> None:
        clients, hello = self._clients, self._entrance.hello
        assert hello is not None, "it has said hello"
        agent = self._entrance.agent_for(principal, clients.domain)
        session, known = None, False
        if agent:
            session, known = self._sessions.open(
                f"{agent} {hello.session}",  # nobody can name the session of another agent
                agent,
                self,
                seen=hello.seen if hello.seen_of in ("", clients.host) else 0,
                alongside=hello.alongside,
                follows=hello.left if hello.follows else None,
                now=micros(self.loop.time()),
            )
        self._principal = principal
        self._session = session
        self._rates = clients.rates(agent, principal.name)
        self._lot = min(COUNTED_LOT, *[1 + int(rate.rate / 1_000) for rate in self._rates])
        self.whose = agent or principal.name
        self._queue.account = clients.link(self.whose)
        clients.stand(self, session, principal)
        self._framer.widen(talk.CALL_BYTES_MAX)
        if self._arrival is not None:
            self._arrival.proven()
        grace_s = self._sessions.grace_us / 1e6
        mine = clients.laws_of(agent) if agent else ()
        laws = tuple([(key, law.name) for key, law in mine])
        version = talk.VERSIONS.common(hello.versions)
        welcome = talk.HostWelcome(
            version,
            clients.host,
            clients.life,
            agent,
            known,
            grace_s,
            talk.WINDOW,
            laws,
            clients.token,
        )
        self.send(talk.pack_frame(welcome))
        if session is not None:
            self._sessions.resend(session)

    # -- frames --------------------------------------------------------------------------------

    def _heard(self, session: HostSession, frames: list[bytes], at: int, until: float) -> int:
        """Do what a frame asks for, and those after it that can be told at once; how many."""
        call = read_common(frames[at]) or self._uncommon(session, frames[at])
        if call is None:
            return 1
        asked = [call]
        if at + 1 < len(frames):
            self._read_more(frames[at + 1 : at + session.together], asked)
        ask_many, clock = self._sessions.ask_many, self._turns.clock
        done = ask_many(session, asked)
        while done < len(asked) and clock() < until and self._open and not session.ended:
            done += ask_many(session, asked[done:])
        return done

    def _uncommon(self, session: HostSession, data: bytes) -> tuple[int, int, Request] | None:
        """The call in a frame, if it can be told with others; else it is done, or refused."""
        frame = talk.unpack_frame(data) if len(data) <= DEEP_MAX else self._large(session, data)
        if frame is None:
            return None
        kind = frame[0]
        if not SEEK_PLAIN <= kind <= ASK:
            self._asks(frame)
            return None
        try:
            call = talk.read_call(frame, self._clients.laws)
            if kind == ASK and isinstance(call[2], Open) and call[2].ontology is not None:
                self._clients.ready(call[2].ontology)
        except (CallerError, LawError) as error:
            self._sessions.refuse(session, frame[1], error)
            return None
        if kind == ASK and not goes_along(frame):
            self._ask(session, *call)
            return None
        return call

    def _read_more(self, frames: list[bytes], asked: list[tuple[int, int, Request]]) -> None:
        """Read calls that can be done together with those asked; others end it."""
        for data in frames:
            call = read_common(data)
            if call is None:
                if len(data) > DEEP_MAX:
                    return
                try:
                    frame = talk.unpack_frame(data)
                    if frame[0] > talk.OUT and not goes_along(frame):
                        return
                    call = talk.read_call(frame, self._clients.laws)
                except NomospaceError:  # it is told when it is the first
                    return
            asked.append(call)

    def _large(self, session: HostSession, data: bytes) -> talk.Frame | None:
        """A large frame, if it can be read at once; a batch is read in slices instead."""
        try:
            frame = talk.unpack_call(data)
        except CallTooWide as error:
            if not SEEK_PLAIN <= data[1] <= ASK:
                raise BadFrame(why="what is as wide as that is no call") from None
            self._sessions.refuse(session, talk.call_number(data), error)
            return None
        if frame[0] == talk.OUT and len(data) >= HEAVY_BYTES:
            self._queue.go_through(self._write(session, frame), len(data))
            return None
        if len(data) <= CALL_PARTS_MAX or not talk.is_batch(data):
            return frame
        self._queue.go_through(self._batch(session, frame))
        return None

    def _write(self, session: HostSession, frame: talk.Frame) -> Iterator[None]:
        """Write one large tuple: its fields are read in a turn of their own."""
        yield
        try:
            call = talk.read_call(frame, self._clients.laws)
        except (CallerError, LawError) as error:
            self._sessions.refuse(session, frame[1], error)
            return
        except PeerError as error:
            self.refuse("bad-frame", str(error))
            return
        del frame  # which may be many parts
        yield
        if not session.ended:
            self._sessions.ask_many(session, [call])

    def _batch(self, session: HostSession, frame: talk.Frame) -> Iterator[None]:
        try:
            for call in talk.read_batch(frame, self._clients.laws):
                yield
                if call is not None and not session.ended:
                    self._ask(session, *call)
        except (CallerError, LawError) as error:
            self._sessions.refuse(session, frame[1], error)
        except PeerError as error:
            self.refuse("bad-frame", str(error))

    def _ask(self, session: HostSession, seq: int, seen: int, request: Request) -> None:
        outbox = session.outbox
        if outbox and outbox[0][0] <= seen:
            self._sessions.seen(session, seen)
        self._sessions.ask(session, seq, request)

    def _asks(self, frame: talk.Frame) -> None:
        kind, session = frame[0], self._session
        if kind == talk.SEEN and len(frame) == 2 and frame[1].__class__ is int:
            if session is not None:
                self._sessions.seen(session, frame[1])
            self.send(talk.ALIVE_FRAME)
        elif kind == talk.QUESTION:
            self._question(*talk.read_asked(frame))
        elif kind == talk.BYE:
            if session is not None:
                self._sessions.end(session)
            self.drop()
        else:
            raise BadFrame(why=f"{kind} is no kind of frame that a client sends now")

    def _question(self, seq: int, question: Question) -> None:
        principal, answers = self._principal, self._clients.answers
        assert principal is not None
        if not principal.operator:
            error = NotAnOperator(proved=principal.name)
            facts = {"who": principal.name, "question": type(question).__name__, "code": error.code}
            self._clients.note("client-refused", facts)
            self.send(talk.pack_failure(0, seq, error))
        elif answers is None or len(self._questions) >= QUESTIONS_MAX:
            limit = 0 if answers is None else QUESTIONS_MAX
            self.send(talk.pack_failure(0, seq, TooManyQuestions(limit=limit)))
        else:
            task = self.loop.create_task(self._answer(seq, answers, question))
            self._questions[task] = None
            task.add_done_callback(lambda task: self._questions.pop(task, None))

    async def _answer(self, seq: int, answers: Answers, question: Question) -> None:
        try:
            answer = answers(question)
            if isinstance(answer, Awaitable):
                answer = await answer
            self.send(talk.pack_told(seq, pack_answer(answer)))
        except NomospaceError as error:
            self.send(talk.pack_failure(0, seq, error))
        except OverflowError:
            why = "a number in it is too large"
            self.send(talk.pack_failure(0, seq, BadCall(what="a question", why=why)))
