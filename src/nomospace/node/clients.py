"""All connections of clients to a host: how many, how long idle, what each may use, how it stands.

`client_link` is one of them.

Whoever was let in is judged again when anything about its proof changes or ends (`Standings`). One
that no longer stands is told why, its connection is cut and its session ends, also if nobody is
connected just then: what it waits for is called off and its reactions go; mail and tuples stay.

Silence of `SILENT_S` costs a connection: clients give a sign of life every few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final, Protocol

from nomospace.calls.problems import NotLetIn, TooManyClients
from nomospace.calls.requests import LawText, OntologyText
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.law import CompiledLaw
from nomospace.node.principals import Principal, Standings, WatchedPrincipal
from nomospace.node.turns import LITTLE_S, Account, Rate, Turns
from nomospace.sessions.host_session import HostSession
from nomospace.sessions.host_sessions import HostSessions
from nomospace.wire.admin import Question
from nomospace.wire.calls import Laws

CLIENTS_MAX: Final = 10_000
"""How many connections of clients a host has."""
SILENT_S: Final = 30.0
"""A connection that nothing came from for so long is dead."""
SWEEP_S: Final = 1.0
"""How often connections and sessions are looked after."""
ACCOUNT_S: Final = 60.0
"""How long an agent's account is kept when it has gone: one that comes back is known."""


Note = Callable[[str, dict[str, Any]], None]
Answers = Callable[[Question], Any | Awaitable[Any]]
"""Answers an operator's question."""
Reads = Callable[[LawText | OntologyText, str], Coroutine[object, None, None]]
"""Has a text of an agent read, and returns when it is known what becomes of it."""


def check_nothing(text: OntologyText) -> None:
    """Where ontologies are read as they come."""


async def unread(text: LawText | OntologyText, agent: str) -> None:
    """Where laws are compiled as they come, nothing is left to be read."""
    raise AssertionError(f"a text of {agent} was not ready: {text.hash}")


class LinkedClient(Protocol):
    """One connection of a client, as it is looked after."""

    loop: asyncio.AbstractEventLoop
    heard_at: float
    whose: str
    """The agent it speaks for, or the principal where there is none; empty for a stranger."""

    @property
    def is_idle(self) -> bool: ...
    def drop(self) -> None: ...
    def refuse(self, what: str, why: str) -> None: ...
    def judged(self, session: HostSession | None, now: Principal | NotLetIn) -> None: ...


class Clients:
    """All connections of clients to one host.

    `laws` gives the laws that requests name, `laws_of` those of an agent's memberships, `answers`
    what operators ask for. `ready` raises `Unready` for an ontology that must be read first. `read`
    has a text read for which `laws` or `ready` was not ready. `note` is told of refusals.
    """

    def __init__(
        self,
        sessions: HostSessions,
        *,
        host: str,
        life: int,
        token: int = 0,
        standings: Standings,
        laws: Laws,
        laws_of: Callable[[str], Iterable[tuple[str, CompiledLaw]]],
        note: Note,
        turns: Turns | None = None,
        shares: Shares = USUAL_SHARES,
        ready: Callable[[OntologyText], None] = check_nothing,
        read: Reads = unread,
        answers: Answers | None = None,
        domain: str | None = None,
        clients_max: int = CLIENTS_MAX,
        silent_s: float = SILENT_S,
    ) -> None:
        self.sessions = sessions
        self.host = host
        self.life = life
        self.token = token
        self.door = standings.door
        self.laws = laws
        self.laws_of = laws_of
        self.note = note
        self.ready = ready
        self.read = read
        self.answers = answers
        self.turns = turns or Turns()
        self.strangers = Account(LITTLE_S)
        """The time that those use of whom it is not known who they are."""
        self._accounts: dict[str, Account] = {}
        """By agent, or by principal where there is none: of all who are linked, or were lately."""
        self._linked: dict[str, int] = {}
        self._left: dict[str, float] = {}
        """How many links they have, and since when they have none, the longest first."""
        self._shares = shares
        self._rates: dict[tuple[str, str], Rate] = {}
        self.domain = domain or host
        self.silent_s = silent_s
        self._max = clients_max
        self._links: dict[LinkedClient, None] = {}
        self._standings = standings
        self._standing: dict[HostSession | LinkedClient, WatchedPrincipal] = {}
        """How sessions stand, connected or not, and connections without one."""
        self._sweeper: asyncio.TimerHandle | None = None
        self._stopped = False

    @property
    def count(self) -> int:
        """How many clients are connected."""
        return len(self._links)

    def rates(self, agent: str, principal: str) -> tuple[Rate, ...]:
        """How fast an agent may make calls, and who speaks for it: the same for all its links."""
        shares, known = self._shares, self._rates
        return (
            known.setdefault(("agent", agent), Rate(shares.agent_calls)),
            known.setdefault(("token", principal), Rate(shares.token_calls)),
        )

    def link(self, whose: str) -> Account:
        """One more link of an agent: its account is the same for all, and if it was here lately."""
        self._linked[whose] = self._linked.get(whose, 0) + 1
        self._left.pop(whose, None)
        return self._accounts.setdefault(whose, Account())

    def _unlink(self, whose: str, now: float) -> None:
        """A link of an agent is gone."""
        left = self._linked.pop(whose) - 1
        if left:
            self._linked[whose] = left
        else:
            self._left[whose] = now

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look after connections and sessions from now on; those of earlier lives too."""
        if self._sweeper is None and not self._stopped:
            self._sweeper = loop.call_later(SWEEP_S, self._sweep, loop)

    def stop(self) -> None:
        """End all connections, with the host; the sessions stay."""
        self._stopped = True
        self.sessions.stop()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for link in list(self._links):
            link.drop()

    def add(self, link: LinkedClient) -> None:
        """A connection is there; raises `TooManyClients`."""
        if self._stopped or len(self._links) >= self._max:
            raise TooManyClients(limit=self._max)
        self._links[link] = None
        self.start(link.loop)

    def remove(self, link: LinkedClient) -> None:
        """A connection is gone."""
        self._links.pop(link, None)
        whose, link.whose = link.whose, ""
        if whose:
            self._unlink(whose, link.loop.time())

    def stand(self, link: LinkedClient, session: HostSession | None, principal: Principal) -> None:
        """From now on a session, or a connection without one, stands by this principal."""
        whose = link if session is None else session
        self.stand_no_more(whose)
        told = partial(link.judged, session)
        self._standing[whose] = self._standings.watch(principal, told)

    def stand_no_more(self, whose: HostSession | LinkedClient) -> None:
        """A session is over, or a connection without one."""
        standing = self._standing.pop(whose, None)
        if standing is not None:
            standing.end()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for link in list(self._links):
            if now - link.heard_at > self.silent_s and link.is_idle:
                link.refuse("silent", f"nothing came for {self.silent_s:g} s")
        self.sessions.expire(now=micros(now))
        if len(self._rates) > 2 * len(self._links):
            idle = [key for key, rate in self._rates.items() if now - rate.at > SILENT_S]
            for key in idle:  # as good as new
                del self._rates[key]
        while self._left:
            whose, since = next(iter(self._left.items()))
            if now - since < ACCOUNT_S and len(self._left) <= self._max:
                break
            del self._left[whose], self._accounts[whose]
        over = [one for one in self._standing if isinstance(one, HostSession) and one.ended]
        for session in over:
            self.stand_no_more(session)
        self._sweeper = None
        self.start(loop)


def micros(seconds: float) -> int:
    """The loop's time as sessions have it."""
    return round(seconds * 1e6)
