"""Drives a client's session at a host: connections, and whatever the session orders.

It makes a new connection when one breaks. What waits goes on waiting meanwhile; only after
`reconnect_s` without a host it ends, with `HostLost`. What was seen of the host is told to it with
the next call, or every `TICK_S`, which is also the sign of life. A host that is silent for `DEAD_S`
is taken for gone, and the connection is made anew. When the agent moves, its client follows.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from nomospace.calls.problems import AgentAway, HasEnded
from nomospace.calls.requests import Request
from nomospace.client.connection import Mailbox, Report
from nomospace.client.dialling import Dialler, HostConnection, Unreachable, Url
from nomospace.client.watching import Presence, Watching
from nomospace.errors import NomospaceError, Unavailable
from nomospace.sessions.client_session import (
    ClientOrder,
    ClientSession,
    DropConnection,
    EndSession,
    FollowAgent,
    LeaveHost,
    LetterCame,
    NotPutBack,
    ReactionEnded,
    ReactionFired,
    RegisterAnew,
    SendFrame,
    StayHere,
    Then,
)
from nomospace.sessions.open_calls import OpenCall
from nomospace.wire.framing import served_with
from nomospace.wire.talk import BYE_FRAME, VERSION, ClientHello, HostWelcome, read_found

RECONNECT_S: Final = 60.0
"""How long a client looks for a host that is gone, by default."""
TICK_S: Final = 0.5
"""How often a client looks whether something is to be said."""
ALIVE_S: Final = 5.0
"""A sign of life after so long without a frame."""
DEAD_S: Final = 16.0
"""A host that nothing came from for so long is gone."""
SEVERAL: Final = 4
"""Where others may serve in its place, a client waits for its host a part of these times only."""
PAUSES_S: Final = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
"""Pauses between attempts to reach a host; the last one is repeated. Chance shortens them all."""
LED_MAX: Final = 4
"""How many times in a row one host may name another for an agent."""
DIAL_MIN_S: Final = 1.0
"""How long an attempt to reach a host may take, however little time is left."""
UNCLAIMED_MAX: Final = 10_000
"""How many letters wait for their mailbox: those that were there when the session began."""

_NOT_LET_IN: Final = "node.not-let-in"
"""A host without certificates that starts again has another token, and says so in a moment."""
_CANCELLED: Final = "host.cancelled"


class HostLost(Unavailable):
    """A host was not reached again in time; what was under way there is in doubt."""

    code = "client.host-lost"
    words = (
        "{agent} lost its host {url} and did not reach it for {after_s:g} s "
        "({why}); this may have been done or not: connect again, and look"
    )
    agent: str
    url: str
    after_s: float
    why: str


class MovedOn(Unavailable):
    """An agent is at a host whose address its client does not know."""

    code = "client.moved-on"
    words = (
        "{agent} is at host {to} now, and where that is to be reached is not known; "
        "connect there, or name it: connect(…, hosts={{{to!r}: 'nomos://…'}})"
    )
    agent: str
    to: str


class SessionDriver:
    """One agent's session at a host in another process: all but the calls that are made in it."""

    def __init__(
        self,
        dialler: Dialler,
        urls: tuple[Url, ...],
        agent: str,
        *,
        alongside: bool,
        reconnect_s: float,
        window: int,
        hosts: dict[str, tuple[Url, ...]],
        on_report: Callable[[Report], None],
    ) -> None:
        self._dialler = dialler
        self._urls = urls
        """Where its host may be; first where it was last."""
        self._alongside = alongside
        self._reconnect_s = reconnect_s
        self._window = window
        self._hosts = hosts
        self._on_report = on_report
        self._key = secrets.token_hex(16)
        self._loop = asyncio.get_running_loop()
        self._session = ClientSession(agent)
        self._talk: HostConnection | None = None
        self._crowd = False
        """Whether the host answered several calls at once: those who asked will ask again."""
        self._queue: deque[asyncio.Future[None]] = deque()
        """Who waits for room for another call."""
        self._let_in = 0
        """How many of them were told that there is room, and have not made their calls yet."""
        self._watching = Watching(self._post, on_report)
        self._presence = Presence(self._watching, self._loop)
        self._mailboxes: dict[str, list[Mailbox]] = {}
        self._unclaimed: deque[LetterCame] = deque(maxlen=UNCLAIMED_MAX)
        """Letters that came before anybody here asked for those of their law."""
        self._ticker: asyncio.TimerHandle | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._lost_at = 0.0
        self._tokens: dict[str, int] = {}
        """The highest token heard of each host that the agent was at."""
        self._going_to: tuple[Url, ...] = ()
        """Where the agent has gone, while it has not been found there."""
        self.error: NomospaceError | None = None
        """Why there will be no connection any more; `None` as long as there may be one."""
        self.on_end: Callable[[], None] | None = None
        """Told when the session ends by itself."""

    @property
    def agent(self) -> str:
        return self._session.agent

    @property
    def host(self) -> str:
        """The name of the host that the agent is at."""
        return self._session.host

    @property
    def laws(self) -> tuple[tuple[str, str], ...]:
        """The laws that the agent was under when the session began: hashes and names."""
        welcome = self._session.welcome
        return () if welcome is None else welcome.laws

    # -- connecting ------------------------------------------------------------------------------

    async def start(self, *, timeout_s: float) -> None:
        """Connect for the first time, as soon as one of the addresses answers.

        An agent that is at home at another host is looked for there. Without a time each address
        is tried once. Raises why it cannot be.
        """
        until = self._loop.time() + timeout_s
        attempt = led = 0
        silent = False
        while True:
            url = self._urls[attempt % len(self._urls)]
            try:
                left = max(until - self._loop.time(), DIAL_MIN_S)
                talk, welcome = await self._dial(url, left if timeout_s else self._reconnect_s)
            except NomospaceError as error:
                if not _may_pass(error):
                    raise
                if isinstance(error, AgentAway) and led < LED_MAX and self._leads(error):
                    led, attempt = led + 1, 0
                    continue
                attempt += 1
                all_tried = attempt % len(self._urls) == 0
                silent = silent or not isinstance(error, AgentAway)
                gone = not silent or self._loop.time() >= until
                if all_tried and gone and isinstance(error, Unreachable):
                    raise Unreachable(url=", ".join(map(str, self._urls)), why=error.why) from None
                if all_tried and gone:
                    raise
            else:
                self._put_first(url)
                self._tokens[welcome.host] = welcome.token
                self._do(self._session.welcomed(welcome, now=self._now()))
                self._attach(talk)
                return
            if all_tried:
                silent = False  # who did not answer may be the agent's home, and come yet
                await self._pause(attempt // len(self._urls) - 1)

    def _leads(self, error: AgentAway) -> bool:
        """Whether a host names another one for the agent, at an address that was not tried yet."""
        home = self._places(error.at, error.address)
        known = {str(one) for one in self._urls}
        if all(str(one) in known for one in home):
            return False
        for one in reversed(home):
            self._put_first(one)
        return True

    def _places(self, host: str, address: str) -> tuple[Url, ...]:
        """Where another host is: as this client was told, or as its own host says; perhaps none."""
        if address[:1] == "/":  # another process of the host that says so
            return (self._urls[0].at(address),)
        return self._hosts.get(host) or ((self._urls[0].at(address),) if address else ())

    def _put_first(self, url: Url) -> None:
        self._urls = (url, *[one for one in self._urls if str(one) != str(url)])

    async def _pause(self, attempt: int) -> None:
        pause = PAUSES_S[min(attempt, len(PAUSES_S) - 1)]
        await asyncio.sleep(pause * (0.5 + secrets.randbelow(1000) / 2000))

    def _now(self) -> int:
        return round(self._loop.time() * 1e6)

    async def _dial(self, url: Url, timeout_s: float) -> tuple[HostConnection, HostWelcome]:
        session, until = self._session, self._loop.time() + timeout_s
        host = session.going_to if url in self._going_to else session.host
        while True:
            seen = session.seen_at(host)
            hello = ClientHello(
                VERSION,
                self._key,
                session.agent,
                seen,
                self._alongside,
                seen_of=host,
                follows=bool(session.going_to),
                left=session.host if session.going_to else "",
            )
            left = max(until - self._loop.time(), 0.0)
            talk, welcome = await self._dialler.dial(
                url, self._dialler.hello(hello), timeout_s=left
            )
            if welcome.host == host or not session.seen_at(welcome.host):
                return talk, welcome
            # Another host that the agent was at before is to be told what was seen of it: else it
            # would say once more that the agent has left, and that would be old news here.
            host = welcome.host
            talk.close()

    def _attach(self, talk: HostConnection) -> None:
        self._talk = talk
        self._session.attached()
        if not self._going_to:
            self._lost_at = 0.0
        if self._ticker is None:
            self._ticker = self._loop.call_later(TICK_S, self._tick)
        talk.attach(self._heard, self._lost)

    def _lost(self, talk: HostConnection) -> None:
        """The connection is gone: make another."""
        if talk is not self._talk:
            return
        self._talk = None
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        self._do(self._session.lost(now=self._now()))
        self._redial()

    def _redial(self) -> None:
        if self.error is None and self._dialling is None:
            if not self._lost_at:
                self._lost_at = self._loop.time()
            self._dialling = self._loop.create_task(self._reach(), name=f"{self.agent} reconnects")

    async def _reach(self) -> None:
        """Reach the host again, or the host that the agent has gone to."""
        attempt, why = 0, "it has just gone"
        led: Url | None = None
        while (left := self._lost_at + self._reconnect_s - self._loop.time()) > 0:
            url = self._urls[attempt % len(self._urls)]
            if to := self._going_to:
                # The host that the agent has left may have it back; but first it is where it went.
                from_it = attempt % 2 and self._talk is None
                urls = self._urls if from_it else to
                url = urls[attempt // 2 % len(urls)]
            url, was_led, led = led or url, led is not None, None
            wanted = self._session.going_to or self._session.host
            try:
                if len(self._going_to or self._urls) > 1:
                    left = min(left, DEAD_S / SEVERAL)
                talk, welcome = await self._dial(url, left)
            except NomospaceError as error:
                why = str(error)
                if not (_may_pass(error) or (error.code == _NOT_LET_IN and not url.secure)):
                    self._end(error)
                    return
                if isinstance(error, AgentAway) and error.address[:1] == "/":
                    led = url.at(error.address)  # another process of that host has the agent
            else:
                if self._arrived(talk, welcome, url):
                    return
                why = f"{url} has no host that the agent is at"
                if welcome.host != wanted and not url.worker and served_with(welcome.host, wanted):
                    led = url.at(f"/{wanted}")
            await self._pause(attempt // len(self._urls))
            attempt += not was_led
        at = str(self._urls[0])
        self._end(HostLost(agent=self.agent, url=at, after_s=self._reconnect_s, why=why))

    def _arrived(self, talk: HostConnection, welcome: HostWelcome, url: Url) -> bool:
        """A connection is there again.

        False when it is to the host that the agent has left: the agent has yet to be found. And
        when it is to another one than the agent was at, which has not said that it left: it may
        still have answers and letters for this client, and what it did must not be done twice.
        """
        session, before = self._session, self._session.host
        if welcome.token < self._tokens.get(welcome.host, 0):  # another has taken it over
            talk.close()
            return False
        self._tokens[welcome.host] = welcome.token
        if welcome.host != before and not session.going_to:
            talk.close()
            return False
        self._do(session.welcomed(welcome, now=self._now()))
        if session.going_to:
            self._attach(talk)
            return not session.going_to
        if session.host != before:
            self._urls, self._going_to = self._going_to or (url,), ()
            self._put_first(url)
        else:
            self._put_first(url)
        self._dialling = None
        self._attach(talk)
        self._do(session.resend())
        self._let_on()
        return True

    def _tick(self) -> None:
        self._ticker = None
        talk = self._talk
        if talk is None:
            return
        now = self._loop.time()
        share = SEVERAL if len(self._urls) > 1 else 1
        if now - talk.heard_at > DEAD_S / share:
            self._urls = (*self._urls[1:], self._urls[0])  # another is tried before this one
            talk.abort()
            return
        self._do(self._session.acknowledge(idle=now - talk.sent_at > ALIVE_S / share))
        self._ticker = self._loop.call_later(TICK_S, self._tick)

    def _heard(self, frames: list[bytes]) -> None:
        self._crowd = len(frames) > 1
        orders = self._session.hear(frames)
        if orders:
            self._do(orders)
        if self._queue:
            self._let_on()

    # -- what the session orders -----------------------------------------------------------------

    def _do(self, orders: list[ClientOrder]) -> None:
        for order in orders:
            if isinstance(order, SendFrame):
                if self._talk is not None:
                    self._talk.send(order.body)
            elif isinstance(order, ReactionFired):
                self._watching.fired(order.reaction, partial(read_found, order.frame))
            elif isinstance(order, LetterCame):
                mailboxes = self._mailboxes.get(order.law)
                if not mailboxes:
                    self._unclaimed.append(order)
                for mailbox in mailboxes or ():
                    mailbox.on_mail(order.sender, order.message)
            elif isinstance(order, RegisterAnew):
                self._watching.register_anew()
            elif isinstance(order, ReactionEnded):
                self._watching.gone(order.reaction, order.error)
            elif isinstance(order, NotPutBack):
                facts = {
                    "agent": self.agent,
                    "space": order.taking.space,
                    "tuple": order.found.fields,
                }
                what = "a tuple of a cancelled take could not be put back"
                self.report(Report(what, facts, order.error))
            elif isinstance(order, DropConnection):
                if self._talk is not None:
                    self._talk.abort()
            elif isinstance(order, EndSession):
                self._end(order.error)
            else:
                self._move(order)

    def _move(self, order: FollowAgent | StayHere | LeaveHost) -> None:
        """The agent is on its way to another host, has come there, or is back."""
        if isinstance(order, FollowAgent):
            self._going_to = self._places(order.to, order.address)
            if not self._going_to:
                self._end(MovedOn(agent=self.agent, to=order.to))
                return
            self._redial()
        elif isinstance(order, StayHere):
            self._going_to = ()
            if self._dialling is not None:
                self._dialling.cancel()
                self._dialling = None
            self._lost_at = 0.0
        else:
            talk, self._talk = self._talk, None
            if talk is not None:
                talk.send(BYE_FRAME)
                talk.close()

    def _post(self, request: Request, then: Then) -> None:
        """Make a call that nobody awaits, without waiting for room."""
        if self.error is None:
            self._do(self._session.post(request, then))

    def _send(self, call: OpenCall) -> None:
        session = self._session
        alone = not (session.calls or self._crowd)
        if session.begin(call):
            talk = self._talk
            assert talk is not None, "the session is connected"
            if alone:  # waiting for the end of the turn would only cost time
                talk.send_now(call.body)
            else:  # others follow in this turn: one write is enough for all
                talk.send(call.body)

    def _let_on(self) -> None:
        """Let as many go on as there is room for, those that have waited longest first."""
        room = self._window - len(self._session.calls) - self._let_in
        while self._queue and room > 0:
            future = self._queue.popleft()
            if not future.done():
                future.set_result(None)
                self._let_in += 1
                room -= 1

    # -- the end ---------------------------------------------------------------------------------

    def report(self, report: Report) -> None:
        self._on_report(report)

    def _check_open(self) -> None:
        if self.error is not None:
            raise self.error.with_traceback(None)

    def _end(self, error: NomospaceError, *, quiet: bool = False) -> None:
        """There will be no connection any more."""
        if self.error is not None:
            return
        self.error = error
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.close()
        self._do(self._session.end(error, quiet=quiet))
        queue, self._queue = self._queue, deque()
        for future in queue:
            if not future.done():
                future.set_result(None)
        if not quiet:
            self.report(Report("a session ended", {"agent": self.agent}, error))
            if self.on_end is not None:
                self.on_end()


def _may_pass(error: NomospaceError) -> bool:
    """Whether trying again later may do, as for an agent that is on its way."""
    return isinstance(error, Unavailable) and not isinstance(error, HasEnded)
