"""A numbered line to a host in another process, which is made again when it breaks.

A call is numbered, sent, and kept until its answer is there. When the connection breaks, a new one
is made and the calls without an answer are sent again: the host knows those that it has seen
(`nomospace.sessions`), so none is lost and none done twice. What waits goes on waiting
meanwhile. Only after `reconnect_s` without a host it ends, with `HostLost`.

Pushes of the host carry growing numbers; the last one seen goes along with the next call, or alone
every `TICK_S`, which is also the sign of life. A host that is silent for `DEAD_S` is taken for
gone, and the connection is made anew.

A host that was killed comes back with what it had written down. Reactions are not, so they are
registered again, and may fire once more for tuples that are still there. When the agent moves, its
client follows: the same session goes on at the host where the agent is, as after such a crash.

A take that is cancelled must not swallow a tuple: it is called off, and a tuple that was given all
the same goes back, also after a new connection.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

from nomospace.client.connection import Found, Mailbox, Report
from nomospace.client.dialling import Dialler, Talk, Url
from nomospace.client.watching import Presence, Watching
from nomospace.errors import NomospaceError, Unavailable
from nomospace.terms import Term
from nomospace.terms.templates import Template
from nomospace.wire.framing import BadFrame
from nomospace.wire.talk import (
    BACK,
    BULK,
    BYE_FRAME,
    FAILURE,
    FIRED,
    FOUND,
    GONE,
    LEFT,
    LIFE_BITS,
    MAILED,
    REFUSAL,
    REPLY,
    VERSION,
    WINDOW,
    Cancel,
    Frame,
    Hello,
    OutMany,
    Request,
    Settle,
    Welcome,
    pack_ask,
    pack_seen,
    read_error,
    read_found,
    read_message,
    read_reply,
    unpack_frame,
    unseen,
)

RECONNECT_S: Final = 60.0
"""How long a client looks for a host that is gone, by default."""
TICK_S: Final = 0.5
"""How often a client looks whether something is to be said."""
ALIVE_S: Final = 5.0
"""A sign of life after so long without a frame."""
DEAD_S: Final = 16.0
"""A host that nothing came from for so long is gone."""
PAUSES_S: Final = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
"""Pauses between attempts to reach a host; the last one is repeated. Chance shortens them all."""

UNCLAIMED_MAX: Final = 10_000
"""How many letters wait for their mailbox: those that were there when the session began."""
UNRETURNED_MAX: Final = 1_000
"""How many tuples of takes that were called off too late, and that their laws let nobody put back,
are kept for the next take."""

_AWAY: Final = "node.agent-away"
_NOT_LET_IN: Final = "node.not-let-in"
"""A host without certificates that starts again has another token, and says so in a moment."""
LAPSED: Final = "space.lease-lapsed"
_REFUSED: Final = "law.refused"


@dataclass(eq=False, kw_only=True)
class HostLost(Unavailable):
    """A host was not reached again in time; what was under way there is in doubt."""

    code: ClassVar[str] = "client.host-lost"
    agent: str
    url: str
    after_s: float
    why: str

    def __str__(self) -> str:
        return (
            f"{self.agent} lost its host {self.url} and did not reach it for {self.after_s:g} s "
            f"({self.why}); this may have been done or not: connect again, and look"
        )


@dataclass(eq=False, kw_only=True)
class SessionLost(Unavailable):
    """A host does not know a session any more; what was under way in it is in doubt."""

    code: ClassVar[str] = "client.session-lost"
    agent: str
    host: str

    def __str__(self) -> str:
        return (
            f"host {self.host} has given up the session of {self.agent}, which was away for too "
            "long; this may have been done or not: look, then ask again"
        )


@dataclass(eq=False, kw_only=True)
class MovedOn(Unavailable):
    """An agent is at a host whose address its client does not know."""

    code: ClassVar[str] = "client.moved-on"
    agent: str
    to: str

    def __str__(self) -> str:
        return (
            f"{self.agent} is at host {self.to} now, and where that is to be reached is not known; "
            f"connect there, or name it: connect(…, hosts={{{self.to!r}: 'nomos://…'}})"
        )


Taking: TypeAlias = tuple[str, str, Template, str, str, int, Any]
"""What a take asks for: space, way, template, place, addressee, lease in microseconds."""


class Pending:
    """A call that has no answer yet."""

    __slots__ = ("again", "body", "future", "late", "sent", "taking", "then")

    def __init__(
        self,
        body: bytes,
        future: asyncio.Future[Any] | None,
        taking: Taking | None = None,
        then: Callable[[Any, NomospaceError | None], None] | None = None,
    ) -> None:
        self.body = body
        self.future = future  # none when nobody waits
        self.taking = taking  # what a take has asked for: it may have to be undone
        self.then = then
        self.sent = False
        self.again = False  # sent before, to an earlier life of the host: it may have been done
        self.late = False  # its time is up, and the host has been told


class Line:
    """Brings the calls of one agent to its host and what the host says to whom it is for."""

    def __init__(
        self,
        dialler: Dialler,
        url: Url,
        agent: str,
        *,
        alongside: bool = False,
        reconnect_s: float = RECONNECT_S,
        window: int = WINDOW,
        hosts: dict[str, Url] | None = None,
        on_report: Callable[[Report], None],
    ) -> None:
        self._dialler = dialler
        self._url = url
        self._agent = agent
        self._alongside = alongside
        self._reconnect_s = reconnect_s
        self._window = window
        self._hosts = hosts or {}
        self._on_report = on_report
        self._key = secrets.token_hex(16)
        self._loop = asyncio.get_running_loop()
        self._talk: Talk | None = None
        self._welcome: Welcome | None = None
        self._seq = 0
        self._seen = 0
        """The last push of the host that was seen."""
        self._acked = 0
        self._crowd = False
        """Whether the host answered several calls at once: those who asked will ask again."""
        self._seen_at: dict[str, int] = {}
        """The last pushes of hosts that the agent was at before."""
        self._calls: dict[int, Pending] = {}
        self._queue: deque[asyncio.Future[None]] = deque()
        self._watching = Watching(self._post, on_report)
        self._presence = Presence(self._watching, self._loop)
        self._mailboxes: dict[str, list[Mailbox]] = {}
        self._unclaimed: deque[tuple[str, str, Term]] = deque(maxlen=UNCLAIMED_MAX)
        """Letters that came before anybody here asked for those of their law."""
        self._unreturned: list[tuple[Taking, Any]] = []
        """What takes have brought too late, and a law lets nobody put back."""
        self._ticker: asyncio.TimerHandle | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._lost_at = 0.0
        self._bound_for: tuple[str, Url] | None = None
        """Where the agent has gone, while it has not been found there."""
        self._left_as = 0
        """The push that said so."""
        self._moving = 0
        """The call that made it go."""
        self._error: NomospaceError | None = None
        """Why there will be no connection any more."""
        self.on_end: Callable[[], None] | None = None
        """Told when the session ends by itself."""
        self.reconnected = 0
        """How often a connection was made after the first."""

    @property
    def agent(self) -> str:
        return self._agent

    @property
    def host(self) -> str:
        """The name of the host that the agent is at."""
        return "" if self._welcome is None else self._welcome.host

    @property
    def ended(self) -> bool:
        """Whether there will be no connection any more."""
        return self._error is not None

    @property
    def error(self) -> NomospaceError | None:
        """Why there will be no connection any more; `None` as long as there may be one."""
        return self._error

    @property
    def laws(self) -> tuple[tuple[str, str], ...]:
        """The laws that the agent was under when the session began: hashes and names."""
        return () if self._welcome is None else self._welcome.laws

    # -- connecting ----------------------------------------------------------------------------

    async def start(self, *, timeout_s: float) -> None:
        """Connect for the first time; raises why it cannot be."""
        talk, welcome = await self._dial(self._url, timeout_s)
        self._agent = welcome.agent
        self._welcome = welcome
        self._attach(talk)

    def _dial(self, url: Url, timeout_s: float) -> Coroutine[Any, Any, tuple[Talk, Welcome]]:
        seen = self._seen
        if self._bound_for is not None and url is self._bound_for[1]:
            seen = self._seen_at.get(self._bound_for[0], 0)
        hello = Hello(VERSION, self._key, self._agent, seen, self._alongside)
        return self._dialler.dial(url, self._dialler.hello(hello), timeout_s=timeout_s)

    def _attach(self, talk: Talk) -> None:
        self._talk = talk
        if self._bound_for is None:
            self._lost_at = 0.0
        if self._ticker is None:
            self._ticker = self._loop.call_later(TICK_S, self._tick)
        talk.attach(self._heard, self._lost)

    def _lost(self, talk: Talk) -> None:
        """The connection is gone: make another."""
        if talk is not self._talk:
            return
        self._talk = None
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        for call in list(self._calls.values()):
            if call.late and call.future is not None and not call.future.done():
                call.future.set_exception(OutOfTime())
        self._redial()

    def _redial(self) -> None:
        if self._error is None and self._dialling is None:
            if not self._lost_at:
                self._lost_at = self._loop.time()
            self._dialling = self._loop.create_task(self._reach(), name=f"{self._agent} reconnects")

    async def _reach(self) -> None:
        """Reach the host again, or the host that the agent has gone to."""
        attempt, why = 0, "it has just gone"
        while (left := self._lost_at + self._reconnect_s - self._loop.time()) > 0:
            url = self._url
            # The host that the agent has left may have it back; but first it is where it went.
            if self._bound_for is not None and (attempt % 2 == 0 or self._talk is not None):
                url = self._bound_for[1]
            try:
                talk, welcome = await self._dial(url, left)
            except NomospaceError as error:
                why = str(error)
                if not (_may_pass(error) or (error.code == _NOT_LET_IN and not url.secure)):
                    self._end(error)
                    return
            else:
                if self._arrived(talk, welcome, url):
                    return
            pause = PAUSES_S[min(attempt, len(PAUSES_S) - 1)]
            attempt += 1
            await asyncio.sleep(pause * (0.5 + secrets.randbelow(1000) / 2000))
        at = str(self._url)
        self._end(HostLost(agent=self._agent, url=at, after_s=self._reconnect_s, why=why))

    def _arrived(self, talk: Talk, welcome: Welcome, url: Url) -> bool:
        """A connection is there again: go on where the last one ended.

        False when it is to the host that the agent has left: the agent has yet to be found.
        """
        before = self._welcome
        assert before is not None
        self.reconnected += 1
        if self._bound_for is not None and welcome.host == before.host:
            self._attach(talk)
            return self._bound_for is None
        same = before.host == welcome.host and before.life == welcome.life
        if before.host != welcome.host:
            self._settle_move(url, before.host, welcome.host)
        elif not welcome.known:
            # Without a trace of the session, a host that has begun anew has done nothing that
            # lasts; the same host, or one that had long given it up, may have.
            away_s = self._loop.time() - self._lost_at
            if same or away_s > before.grace_s:
                self._forsake(SessionLost(agent=self._agent, host=welcome.host))
        self._welcome = welcome
        self._dialling = None
        if not same or not welcome.known:
            self._watching.register_anew()
        if not same:
            for call in self._calls.values():
                call.again = call.sent
        self._attach(talk)
        self._resend()
        return True

    def _resend(self) -> None:
        """Ask again whatever has no answer: the host knows what it has heard before."""
        talk = self._talk
        if talk is not None:
            for call in self._calls.values():
                call.sent = True
                talk.send(call.body)

    def _settle_move(self, url: Url, before: str, now: str) -> None:
        """The agent is where it would be, and nothing of it is where it was."""
        self._url, self._bound_for = url, None
        self._seen_at[before] = max(self._seen, self._left_as)
        self._seen = self._acked = self._seen_at.pop(now, 0)
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.send(BYE_FRAME)
            talk.close()
        call = self._calls.pop(self._moving, None)
        self._moving = 0
        if call is not None:
            self._answer(call, None)
        for call in self._calls.values():
            call.body = unseen(call.body)

    def _forsake(self, error: NomospaceError) -> None:
        """Nobody can say any more what became of the calls that were sent."""
        for seq, call in list(self._calls.items()):
            if call.sent:
                del self._calls[seq]
                self._fail(call, error)

    def _tick(self) -> None:
        self._ticker = None
        talk = self._talk
        if talk is None:
            return
        now = self._loop.time()
        if now - talk.heard_at > DEAD_S:
            talk.abort()
            return
        if self._seen > self._acked or now - talk.sent_at > ALIVE_S:
            self._acked = self._seen
            talk.send(pack_seen(self._seen))
        self._ticker = self._loop.call_later(TICK_S, self._tick)

    # -- what the host says ----------------------------------------------------------------------

    def _heard(self, frames: list[bytes]) -> None:
        calls = self._calls
        self._crowd = len(frames) > 1
        for data in frames:
            frame = unpack_frame(data)
            kind = frame[0]
            if FOUND <= kind <= FAILURE:
                if len(frame) < 3:
                    raise BadFrame(why="an answer without its numbers")
                number, seq = frame[1], frame[2]
                if number:
                    if number <= self._seen:
                        continue
                    self._seen = number
                call = calls.pop(seq, None)
                if call is None:
                    continue
                try:
                    if kind == FOUND:
                        self._answer(call, read_found(frame))
                    elif kind == REPLY:
                        self._answer(call, read_reply(frame))
                        if call.then is not None:
                            self._check_life(number)
                    else:
                        self._fail(call, read_error(frame[3]))
                except (ValueError, IndexError) as error:
                    self._fail(call, BadFrame(why=f"an answer of {self.host}: {error}"))
                if self._queue:
                    self._let_on()
            else:
                self._pushed(kind, frame)

    def _check_life(self, number: int) -> None:
        """A reaction may have been registered just before its host was killed: it is gone."""
        assert self._welcome is not None
        if number and number >> LIFE_BITS < self._welcome.life:
            self._watching.register_anew()

    def _answer(self, call: Pending, value: Any) -> None:
        future = call.future
        if future is not None:
            if not future.done():
                future.set_result(value)
                return
        elif call.then is not None:
            call.then(value, None)
            return
        if call.taking is not None and value:
            self._undo(call.taking, value)

    def _fail(self, call: Pending, error: NomospaceError) -> None:
        if call.then is not None:
            call.then(None, error)
        elif call.future is not None and not call.future.done():
            call.future.set_exception(error)

    def _pushed(self, kind: int, frame: Frame) -> None:
        if kind == REFUSAL and len(frame) == 2:
            self._end(read_error(frame[1]))  # whom this client proved to be counts no longer
            return
        if kind not in _PUSHES:
            return  # a sign of life
        if len(frame) < _PUSHES[kind] or frame[1].__class__ is not int:
            raise BadFrame(why="a push without its number or its parts")
        number = frame[1]
        if number <= self._seen or (kind == LEFT and self._bound_for is not None):
            return
        if kind == LEFT:
            # It stays unseen until the agent is found there, so that nothing that the host it left
            # has to say about it gets lost.
            self._left_as = number
            self._follow(frame[2], frame[3])
            return
        self._seen = number
        if kind == FIRED:
            self._watching.fired(frame[2], lambda: read_found(frame))
        elif kind == MAILED:
            message = read_message(frame[4])
            mailboxes = self._mailboxes.get(frame[2])
            if not mailboxes:
                self._unclaimed.append((frame[2], frame[3], message))
            for mailbox in mailboxes or ():
                mailbox.on_mail(frame[3], message)
        elif kind == GONE:
            self._watching.gone(frame[2], read_error(frame[3]))
        else:
            self._stays(read_error(frame[2]))

    # -- sending ---------------------------------------------------------------------------------

    def _post(
        self, request: Request, then: Callable[[Any, NomospaceError | None], None] | None = None
    ) -> None:
        """Make a call that nobody awaits, without waiting for room."""
        if self._error is None:
            seq = self._seq + 1
            self._send(seq, Pending(pack_ask(seq, self._seen, request), None, None, then))

    def _send(self, seq: int, call: Pending) -> None:
        self._seq = seq
        calls = self._calls
        talk = self._talk
        if talk is None or self._bound_for is not None:
            calls[seq] = call
            return
        self._acked = self._seen
        call.sent = True
        if calls or self._crowd:  # others follow in this turn: one write is enough for all
            calls[seq] = call
            talk.send(call.body)
        else:  # alone: waiting for the end of the turn would only cost time
            calls[seq] = call
            talk.send_now(call.body)

    def _let_on(self) -> None:
        while self._queue:
            future = self._queue.popleft()
            if not future.done():
                future.set_result(None)
                return

    def _claim(self, law: str, mailbox: Mailbox) -> None:
        """A mailbox gets the letters of its law that were here before it."""
        if self._unclaimed:
            letters, kept = list(self._unclaimed), [one for one in self._unclaimed if one[0] != law]
            self._unclaimed.clear()
            self._unclaimed.extend(kept)
            for of, sender, message in letters:
                if of == law:
                    mailbox.on_mail(sender, message)

    def _undo(self, taking: Taking, value: Any) -> None:
        """Give back what a take has brought that nobody waits for any more."""
        space, lease_us = taking[0], taking[5]
        taken: tuple[Found, ...] = value if isinstance(value, tuple) else (value,)
        if lease_us:
            self._post(
                Settle(space, taken[0].lease, False), partial(self._undone, taking, taken[0])
            )
            return
        for found in taken:  # one by one: a law may let some of them pass and others not
            self._post(OutMany(space, found.rows), partial(self._undone, taking, found))

    def _undone(self, taking: Taking, found: Found, _: Any, error: NomospaceError | None) -> None:
        """A tuple is back, or not.

        Under a law that lets its taker not write it (only its author may, say) it stays with this
        agent, and is the answer to a take that asks for the same, now or later.
        """
        if error is None or error.code == LAPSED:
            return  # a lease that is over has given it back already
        if error.code == _REFUSED and self._keep_late(taking, found):
            return
        facts = {"agent": self._agent, "space": taking[0], "tuple": found.fields}
        what = "a tuple of a cancelled take could not be put back"
        self.report(Report(what, facts, error))

    def _keep_late(self, taking: Taking, found: Found) -> bool:
        """Let a tuple that came too late be the answer to another take; false if it cannot be."""
        for seq, call in self._calls.items():
            future = call.future
            if call.taking == taking and future is not None and not future.done():
                future.set_result((found,) if taking[1] in BULK else found)
                self._call_off(seq, call)
                return True
        if len(self._unreturned) >= UNRETURNED_MAX:
            return False
        self._unreturned.append((taking, found))
        return True

    def _call_off(self, seq: int, call: Pending) -> None:
        """Nobody waits for a call any more; what it may still bring goes back."""
        call.future = None
        if not call.sent:
            del self._calls[seq]
            self._let_on()
        elif not call.late:
            self._post(Cancel(seq), _nobody)

    def _kept_for(self, taking: Taking) -> Any:
        """What an earlier take that asked for the same has brought too late; `None` if nothing."""
        fits = [one for one in self._unreturned if one[0] == taking]
        if taking[1] not in BULK:
            del fits[1:]
        for one in fits:
            self._unreturned.remove(one)
        founds = tuple([found for _, found in fits])
        return founds if taking[1] in BULK else next(iter(founds), None)

    # -- moving ----------------------------------------------------------------------------------

    def _follow(self, to: str, address: str) -> None:
        """The agent is on its way to another host."""
        url = self._hosts.get(to)
        if url is None and address:
            url = self._url.at(address)
        if url is None:
            self._end(MovedOn(agent=self._agent, to=to))
            return
        for call in self._calls.values():
            if call.late and call.future is not None and not call.future.done():
                call.future.set_exception(OutOfTime())
        self._bound_for = (to, url)
        self._redial()

    def _stays(self, error: NomospaceError) -> None:
        """The agent was sent back, and is where it was."""
        self._bound_for = None
        if self._dialling is not None:
            self._dialling.cancel()
            self._dialling = None
        self._lost_at = 0.0
        call = self._calls.pop(self._moving, None)
        self._moving = 0
        if call is not None:
            self._fail(call, error)
        self._watching.register_anew()
        self._resend()

    # -- the end ---------------------------------------------------------------------------------

    def report(self, report: Report) -> None:
        self._on_report(report)

    def _check_open(self) -> None:
        if self._error is not None:
            raise self._error.with_traceback(None)

    def _end(self, error: NomospaceError, *, quiet: bool = False) -> None:
        """There will be no connection any more."""
        if self._error is not None:
            return
        self._error = error
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.close()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if call.then is None or not quiet:
                self._fail(call, error)
        queue, self._queue = self._queue, deque()
        for future in queue:
            if not future.done():
                future.set_result(None)
        if not quiet:
            self.report(Report("a session ended", {"agent": self._agent}, error))
            if self.on_end is not None:
                self.on_end()


_PUSHES: Final = {FIRED: 9, MAILED: 5, GONE: 4, LEFT: 4, BACK: 3}
"""The pushes that answer no call, and how many parts they have."""


class OutOfTime(Exception):
    """The time of a call is up while there is no host to call it off."""


def _nobody(value: Any, error: NomospaceError | None) -> None:
    """An answer that tells nothing new."""


def _may_pass(error: NomospaceError) -> bool:
    """Whether trying again later may do. An agent on its way is not at its host yet."""
    return isinstance(error, Unavailable) or error.code == _AWAY
