"""A host in another process, as an agent's author sees it: `nomospace.connect`.

It has the face of a host as far as agents go: `agent` gives agents, and all that they can do on a
host in the same process they can do here, but for two things. A strong reaction runs inside the
host's step, so its listener cannot be elsewhere; and a program runs where it is launched. In
return, a plain agent can `move`: its client follows it.

Every agent has a connection of its own, which is made again when it breaks
(`remote_connection`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from nomospace.calls.addresses import check_name, split_key
from nomospace.client.agent import Agent
from nomospace.client.connection import Closed, Report
from nomospace.client.dialling import (
    AgentIdentity,
    Dialler,
    OperatorConnection,
    Unreachable,
    Url,
    read_urls,
)
from nomospace.client.reactions import LISTENER_TIMEOUT_S
from nomospace.client.remote_connection import RemoteConnection
from nomospace.client.session_driver import RECONNECT_S
from nomospace.client.tuples import seconds
from nomospace.errors import NomospaceError
from nomospace.wire.admin import (
    A,
    Contact,
    ContactLine,
    Disengage,
    DrainHost,
    DrainLine,
    Engage,
    OperatorQuestion,
    SetPosition,
)
from nomospace.wire.talk import SELF, WINDOW

_log = logging.getLogger("nomospace.client")


class LawName(msgspec.Struct, frozen=True):
    """A law that an agent is under, as far as its client knows it."""

    hash: str
    name: str


class RemoteAgent(Agent):
    """An agent on a host in another process. Made by `RemoteHost.agent`."""

    __slots__ = ("_over", "_session")

    def __init__(self, session: RemoteConnection, *, listener_timeout: float) -> None:
        super().__init__(session, listener_timeout=listener_timeout)
        self._session = session
        self._over = asyncio.Event()
        for key, name in session.laws:
            law, number = split_key(key)
            self.resume(LawName(law, name), number)

    @property
    def host(self) -> str:
        """The name of the host that it is at."""
        return self._session.host

    def stop(self) -> None:
        """Run no listener any more and end the inboxes: its host is gone, or it is closed."""
        super().stop()
        self._over.set()

    async def wait_ended(self) -> NomospaceError | None:
        """Wait until there will be no connection to its host any more; why."""
        await self._over.wait()
        return self._session.error

    async def move(self, to: str) -> None:
        """Go to another host of the group, with spaces, tuples and memberships; this code follows.

        Its reactions are registered anew there, and what waits goes on waiting there. Raises
        `MoveRefused` when it stays, and `MovedOn` when it is there but nobody knows the address.
        """
        await self._session.move(check_name("a host", to))


class RemoteHost:
    """A host in another process: `async with` ends the agents' connections. Made by `connect`."""

    def __init__(
        self,
        urls: tuple[Url, ...],
        dialler: Dialler,
        session: Callable[..., RemoteConnection],
        *,
        connect_s: float,
        listener_timeout: float,
        on_report: Callable[[Report], None] | None,
    ) -> None:
        self.url = urls[0]
        self._urls = urls
        self.on_report = on_report
        self._dialler = dialler
        self._session = session
        """Makes the session of an agent, with all that was said of sessions."""
        self._connect_s = connect_s
        self._listener_timeout = listener_timeout
        self._agents: dict[str, RemoteAgent] = {}
        self._making: dict[str, asyncio.Lock] = {}
        self._asking: OperatorConnection | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<host at {self.url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def agent(self, name: str | None = None) -> Agent:
        """An agent of the host: the one of this client's identity or token, or the one named.

        A name is one at the host's own domain; an id (`nurse@ward-3`) may be of an agent that has
        come to the host. Raises `Unreachable`, `NotItsHost`, and what the host refuses it with.
        Asking again gives the same agent.
        """
        if self._closed:
            raise Closed(what=f"the connection to {self.url}")
        asked = SELF if name is None else name
        if "@" not in asked:
            check_name("an agent", asked)
        async with self._making.setdefault(asked, asyncio.Lock()):
            agent = self._agents.get(asked)
            if agent is None or agent._session.error is not None:
                agent = self._agents[asked] = await self._make(asked)
        return agent

    async def _make(self, asked: str) -> RemoteAgent:
        session = self._session(self._dialler, self._urls, asked, on_report=self._report)
        await session.start(timeout_s=self._connect_s)
        agent = RemoteAgent(session, listener_timeout=self._listener_timeout)
        session.on_end = agent.stop
        return agent

    async def ask(self, question: OperatorQuestion[A]) -> A:
        """Ask an operator's question (`nomospace.wire.admin`); needs a token of that scope."""
        if self._closed:
            raise Closed(what=f"the connection to {self.url}")
        async with self._making.setdefault("", asyncio.Lock()):
            if self._asking is None or not self._asking.open:
                self._asking = await self._begin_asking()
        return await self._asking.ask(question)

    async def contact(self) -> ContactLine:
        """With whom the host is one group, whether it engages at all, and where it is.

        This and the next three are for operators, as `ask` is.
        """
        return await self.ask(Contact())

    async def engage(self) -> ContactLine:
        """Let the host join whom its policy lets it join; engagement follows."""
        return await self.ask(Engage())

    async def disengage(self) -> ContactLine:
        """Let the host leave its group, and stay alone until `engage`; returns when it has left."""
        return await self.ask(Disengage())

    async def drain(self, *, drained: bool | None = True) -> DrainLine:
        """Let what lies at the host of partitioned spaces move to others, before it is stopped.

        Answered at once, with how much is left; `drained=None` asks for that alone.
        """
        return await self.ask(DrainHost(drained))

    async def moved(self, x_m: float, y_m: float, z_m: float | None = None) -> ContactLine:
        """Tell the host where it is, in metres; raises `NotAPosition`."""
        return await self.ask(SetPosition((x_m, y_m) if z_m is None else (x_m, y_m, z_m)))

    async def _begin_asking(self) -> OperatorConnection:
        """Ask the first host that answers."""
        for url in self._urls[:-1]:
            with suppress(Unreachable):
                return await OperatorConnection.begin(self._dialler, url)
        return await OperatorConnection.begin(self._dialler, self._urls[-1])

    async def close(self) -> None:
        """End all connections; the agents and what is theirs stay on the host."""
        self._closed = True
        agents, self._agents = self._agents, {}
        for agent in agents.values():
            await agent.close()
        if self._asking is not None:
            await self._asking.close()
            self._asking = None

    def _report(self, report: Report) -> None:
        if self.on_report is None:
            _log.warning("%s: %s", self.url, report, exc_info=report.error)
            return
        try:
            self.on_report(report)
        except Exception:
            _log.exception("%s: on_report failed on %s", self.url, report)


def connect(
    url: str,
    *,
    identity: AgentIdentity | str | Path | None = None,
    token: str = "",
    trust: str | Path | None = None,
    hosts: Mapping[str, str] | None = None,
    reconnect_s: float = RECONNECT_S,
    connect_s: float | None = None,
    window: int = WINDOW,
    alongside: bool = False,
    listener_timeout: float = LISTENER_TIMEOUT_S,
    on_report: Callable[[Report], None] | None = None,
) -> RemoteHost:
    """A host in another process, at `nomos://machine:port`, for `async with`.

    `identity` is the folder with an agent's certificate and key, or `token` a token, as `nomospace
    trust issue` makes them; `trust` is the authority that the host must be certified by (its file,
    or the trust folder; by default the one that the identity's folder lies in). A host on the same
    machine that the same user has started without certificates is `nomos+plain://127.0.0.1:port`;
    its own token is found (`own_tokens`).

    Several addresses, `nomos://a:7420,b:7420`, are tried in their order. An agent whose home is
    another host of the group than the one that answers is led there. They may be those of several
    processes that stand for one host: one that is silent for 4 seconds is left for another.

    A connection that breaks is made again, and nothing is lost or done twice by that; what waits
    goes on waiting. After `reconnect_s` without the host, what is under way raises `HostLost`. The
    first connection may take `connect_s` (as long, if it is not given); then `Unreachable` is
    raised.
    `window` calls of an agent may be under way; more wait for their turn. `hosts` says where other
    hosts are, for agents that move, if the host itself does not know; of one that several processes
    stand for, all their addresses.

    An agent may be held by several clients. A new one ends those that have lost their connections,
    as a program that is started again should not compete with what is left of it; `alongside` lets
    them be.

    >>> connect("nomos+plain://127.0.0.1:7411")
    <host at nomos+plain://127.0.0.1:7411>
    """
    urls = read_urls(url)
    who = identity
    place = None if trust is None else Path(trust)
    if who is not None and not isinstance(who, AgentIdentity):
        folder = Path(who)
        who = AgentIdentity.load(folder)
        if place is None and (folder.parent.parent / "authority.pem").is_file():
            place = folder.parent.parent / "authority.pem"
    session = partial(
        RemoteConnection,
        hosts={name: read_urls(at) for name, at in (hosts or {}).items()},
        reconnect_s=seconds("reconnect_s", reconnect_s, zero=True),
        window=max(1, min(window, WINDOW)),
        alongside=alongside,
    )
    return RemoteHost(
        urls,
        Dialler(identity=who, token=token, trust=place if urls[0].secure else None),
        session,
        connect_s=reconnect_s if connect_s is None else seconds("connect_s", connect_s, zero=True),
        listener_timeout=listener_timeout,
        on_report=on_report,
    )
