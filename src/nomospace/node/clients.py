"""All connections of clients to a host: how many, how long idle, what each may use, how it stands.

`client_link` is one of them.

Whoever was let in is judged again when anything about its proof changes or ends (`Standings`). One
that no longer stands is told why, its connection is cut and its session ends, also if nobody is
connected just then: what it waits for is called off and its reactions go; mail and tuples stay.

Silence of `SILENT_S` costs a connection: clients give a sign of life every few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.problems import TooManyClients
from nomospace.calls.requests import LawText, OntologyText
from nomospace.node.principals import Principal, Standings, WatchedPrincipal
from nomospace.node.turns import LITTLE_S, Account, Rate
from nomospace.sessions.host_session import HostSession
from nomospace.wire.admin import Question
from nomospace.wire.calls import Laws

if TYPE_CHECKING:
    from nomospace.node.client_link import ClientLink
    from nomospace.node.local import Host

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


class Clients:
    """All connections of clients to one host, which has started.

    `laws` gives the laws that requests name, `answers` what operators ask for. `ready` raises
    `Unready` for an ontology that must be read first. `read` has a text read for which `laws` or
    `ready` was not ready. `note` is told of refusals.
    """

    def __init__(
        self,
        host: Host,
        *,
        token: int = 0,
        standings: Standings,
        laws: Laws,
        note: Note,
        ready: Callable[[OntologyText], None],
        read: Reads,
        answers: Answers | None = None,
    ) -> None:
        self.sessions = host.served
        self.host, self.domain, self.life = host.name, host.domain, host.life
        self.token = token
        self.door = standings.door
        self.laws = laws
        self.laws_of = host.core.memberships_of
        self.note = note
        self.ready = ready
        self.read = read
        self.answers = answers
        self.turns = host.turns
        self.strangers = Account(LITTLE_S)
        """The time that those use of whom it is not known who they are."""
        self._accounts: dict[str, Account] = {}
        """By agent, or by principal where there is none: of all who are linked, or were lately."""
        self._linked: dict[str, int] = {}
        self._left: dict[str, float] = {}
        """How many links they have, and since when they have none, the longest first."""
        self._shares = host.shares
        self._rates: dict[tuple[str, str], Rate] = {}
        self._links: dict[ClientLink, None] = {}
        self._standings = standings
        self._standing: dict[HostSession | ClientLink, WatchedPrincipal] = {}
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

    def add(self, link: ClientLink) -> None:
        """A connection is there; raises `TooManyClients`."""
        if self._stopped or len(self._links) >= CLIENTS_MAX:
            raise TooManyClients(limit=CLIENTS_MAX)
        self._links[link] = None
        self.start(link.loop)

    def remove(self, link: ClientLink) -> None:
        """A connection is gone."""
        self._links.pop(link, None)
        whose, link.whose = link.whose, ""
        if whose:
            self._unlink(whose, link.loop.time())

    def stand(self, link: ClientLink, session: HostSession | None, principal: Principal) -> None:
        """From now on a session, or a connection without one, stands by this principal."""
        whose = link if session is None else session
        self.stand_no_more(whose)
        told = partial(link.judged, session)
        self._standing[whose] = self._standings.watch(principal, told)

    def stand_no_more(self, whose: HostSession | ClientLink) -> None:
        """A session is over, or a connection without one."""
        standing = self._standing.pop(whose, None)
        if standing is not None:
            standing.end()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for link in list(self._links):
            if now - link.heard_at > SILENT_S and link.is_idle:
                link.refuse("silent", f"nothing came for {SILENT_S:g} s")
        self.sessions.expire(now=micros(now))
        if len(self._rates) > 2 * len(self._links):  # idle ones are as good as new
            rates = self._rates.items()
            self._rates = {key: rate for key, rate in rates if now - rate.at <= SILENT_S}
        while self._left:
            whose, since = next(iter(self._left.items()))
            if now - since < ACCOUNT_S and len(self._left) <= CLIENTS_MAX:
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
