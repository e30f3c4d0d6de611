"""What a caller of a host may do, without any HTTP: pages and language models stand on this too.

A caller shows a token and becomes a `Principal`; from then on every method asks it. An agent's
token acts for the agents that it names and sees nothing else. One with the scope `operator` sees
the whole host (`Service.views`). A host without certificates knows one token, which it makes at
every start (`Service.own_token`): neither another user of the machine nor a stranger's web page
that a browser happens to show must be let in.

An agent that acts by way of this service is a `AgentSeat`: a connection of its own, which shares
nothing with programs that run as the same agent. Its inbox is a numbered ring, so that a client
that lost an answer asks again (`inboxes`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal, Unpack

from nomospace.api.inboxes import WAIT_S_MAX as WAIT_S_MAX, NumberedInbox
from nomospace.api.logins import End, LoginListener, Logins
from nomospace.calls.addresses import address_of, key_at, key_of, split_key
from nomospace.calls.answers import Found
from nomospace.calls.problems import NotAnOperator, NotLetIn, NotYourAgent
from nomospace.calls.requests import CLIENT_PROGRAM, Quit, SendPlain, Settle, Show, Tell
from nomospace.calls.ways import Way
from nomospace.client import Agent, Departed, DisclosedRuling, Space, TimedOut, Tuple
from nomospace.client.space import seek_of
from nomospace.client.tuples import Correlation, agent_id, micros
from nomospace.errors import CallerError, NomospaceError, Unavailable
from nomospace.law import CompiledLaw
from nomospace.meaning.ontology import Ontology
from nomospace.node.law_keys import check_keys
from nomospace.node.local_connection import LocalConnection
from nomospace.node.principals import Door, OpenDoor, Principal
from nomospace.node.serve import Server
from nomospace.node.viewed import ObligationView
from nomospace.node.views import Views
from nomospace.node.working import Workers
from nomospace.terms import Term, freeze
from nomospace.wire.admin import WhereLine

SPACES_MAX: Final = 1_000
"""How many spaces of one agent are held; one that is let go is opened again."""
SEATS_MAX: Final = 1_000
"""How many agents act by way of the service at a time; the one idle longest makes room."""
SWEEP_S: Final = 1.0
"""How often it is looked who was not asked anything for long."""
LAW_CHARS_MAX: Final = 1_000_000


class NoSuchLaw(CallerError):
    """A law that is not at hand here was named by its hash or name."""

    code = "api.no-such-law"
    law: str

    def __str__(self) -> str:
        return f"law {self.law[:100]!r} is not known at this host; send its text"


class NoSuchHost(CallerError):
    """An agent was told to move to a host that is not in the group."""

    code = "api.no-such-host"
    host: str

    def __str__(self) -> str:
        return f"host {self.host[:100]!r} is not in the group now; look at the topology, then move"


class NotAMemberHere(CallerError):
    """An inbox was asked for under a law that the agent has not adopted."""

    code = "api.not-a-member"
    words = "{agent} is no member under law {law:.12} here; adopt the law first"
    agent: str
    law: str


class TooManySeats(Unavailable):
    """More agents act by way of the service than it bears."""

    code = "api.too-many-seats"
    words = "{limit:,} agents are at work here already; try again later"
    limit: int


@dataclass(frozen=True, slots=True)
class Membership:
    """An agent's place in a community. What its law does not disclose is `None`.

    `disclose` is how much the law discloses: `all`, `rules` or `none`. `address` is where other
    members write to it, and `key` how paths name it.
    """

    law: str
    name: str
    disclose: str
    state: tuple[str, ...] | None
    obligations: tuple[ObligationView, ...] | None
    address: str
    key: str


class AgentSeat:
    """One agent, as the service acts for it."""

    def __init__(self, service: Service, line: LocalConnection) -> None:
        self._service = service
        self._line = line
        self._agent = Agent(line)
        self._inboxes: dict[str, NumberedInbox] = {}
        """By law; the one of plain messages has none."""
        plain = self._inboxes[""] = NumberedInbox(self._inboxes)
        line.attend("", plain)
        self._spaces: dict[str, Space] = {}
        self.busy = 0
        """How many questions are under way."""
        self.used_at = 0.0
        """When it was asked for last."""
        self.halted = asyncio.Event()
        self.why: NomospaceError | None = None
        """Why its agent was suspended, once it is `halted`."""

    @property
    def id(self) -> str:
        """The agent's id."""
        return self._line.agent

    async def space(
        self,
        name: str,
        *,
        shared: bool = True,
        durable: bool = True,
        law: CompiledLaw | None = None,
        ontology: Ontology | str | None = None,
        engine: str = "",
        partition: str = "",
    ) -> Space:
        """The agent's interface space of a name: as it is, made and shared as asked for.

        What it was opened under counts from then on: law and ontology need not be named again.
        """
        found = self._spaces.get(name)
        if found is None or law is not None or ontology is not None or engine or partition:
            if law is None:
                law = self._service.law_over(name, self.id)
            found = await self._agent.space(
                name,
                shared=shared,
                durable=durable,
                law=law,
                ontology=ontology,
                engine=engine,
                partition=partition,
            )
            self._spaces[name] = found
            while len(self._spaces) > SPACES_MAX:
                del self._spaces[next(iter(self._spaces))]
        elif shared and not found.shared:
            await found.share()
        return found

    async def find(
        self,
        space: str,
        template: Sequence[object],
        *,
        take: bool,
        wait_s: float = 0.0,
        lease_s: float | None = None,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Tuple | None:
        """A tuple that matches, read or taken; `None` when there is none in time.

        Without a wait or a lease it looks at this host alone, as `take_nowait` does.
        """
        opened = await self.space(space)
        if wait_s <= 0 and lease_s is None:
            look = opened.take_nowait if take else opened.read_nowait
            return await look(*template, at=at, dest=dest, **sets)
        timeout = min(max(wait_s, 0.0), WAIT_S_MAX)
        try:
            if take:
                return await opened.take(
                    *template, timeout=timeout, lease=lease_s, at=at, dest=dest, **sets
                )
            return await opened.read(*template, timeout=timeout, at=at, dest=dest, **sets)
        except TimedOut:
            return None

    async def find_all(
        self,
        space: str,
        template: Sequence[object],
        *,
        take: bool,
        at: str | None = None,
        dest: str | None = None,
        **sets: Unpack[Correlation],
    ) -> Sequence[Found]:
        """All tuples of a host or agent that match, read or taken in one step.

        `client.tuples.as_tuples` shows them as programs see them, which takes its time.
        """
        how = Way.TAKE_ALL if take else Way.READ_ALL
        opened = await self.space(space)
        found: Sequence[Found] = await self._line.seek(
            seek_of(opened.name, how, template, at, dest, sets)
        )
        return found

    async def settle(
        self,
        space: str,
        lease: str,
        *,
        done: bool,
        renew_s: float | None = None,
        delay_s: float | None = None,
        why: str = "",
    ) -> None:
        """End a lease: the tuple is done with, or goes back; or let it end later."""
        renew_us, delay_us = micros("renew", renew_s), micros("delay", delay_s)
        await self._line.ask(Settle(space, lease, done and not renew_us, renew_us, delay_us, why))

    async def adopt(
        self, law: CompiledLaw, args: Sequence[Term] = (), *, another: bool = False
    ) -> DisclosedRuling:
        """Adopt a law, perhaps once more; what the agent may know of the ruling."""
        inbox = NumberedInbox(self._inboxes)
        frozen = tuple([freeze(arg) for arg in args])
        mine = self._service.members_of(self.id, law.hash) if another else []
        number = next(one for one in count(1) if address_of(self.id, one) not in mine)
        told = await self._line.adopt(law, frozen, inbox, number)
        self._inboxes[key_of(law.hash, number)] = inbox
        return told

    async def send(
        self, law: str, message: Term, to: str | Sequence[str], *, here: bool = False
    ) -> DisclosedRuling:
        """Send a message under a law; what the agent may know of the ruling."""
        receiver = to if isinstance(to, str) else tuple(to)
        self.inbox(law)
        told: DisclosedRuling = await self._line.ask(Tell(law, freeze(message), receiver, here))
        return told

    async def quit(self, law: str) -> DisclosedRuling:
        """Leave a community; what the agent may know of the ruling."""
        told: DisclosedRuling = await self._line.ask(Quit(law))
        self._inboxes.pop(law, None)
        return told

    async def send_plain(self, message: Term, to: str, *, here: bool = False) -> None:
        """Send a plain message to another agent; with `here` only if it is at this host."""
        await self._line.ask(SendPlain(freeze(message), to, here))

    async def present(self, law: str, certificate: bytes) -> DisclosedRuling:
        """Present a certificate (DER); what the agent may know of the ruling."""
        told: DisclosedRuling = await self._line.ask(Show(law, certificate))
        return told

    def inbox(self, law: str) -> NumberedInbox:
        """The inbox under a law, which an earlier life may have adopted."""
        inbox = self._inboxes.get(law)
        if inbox is None:
            hash, number = split_key(law)
            if address_of(self.id, number) not in self._service.members_of(self.id, hash):
                raise NotAMemberHere(agent=self.id, law=law)
            inbox = self._inboxes[law] = NumberedInbox(self._inboxes)
            self._line.attend(law, inbox)
        return inbox

    async def move(self, to: str) -> None:
        """Send the agent to another host of the group, with all that it has."""
        self._service.check_host(to)
        try:
            await self._line.move(to, CLIENT_PROGRAM, b"", None, ())
        except Departed:
            self._service.leave(self)

    @property
    def idle(self) -> bool:
        """Whether it was not used for so long that it speaks for its agent no more."""
        return self._line.idle

    @idle.setter
    def idle(self, idle: bool) -> None:
        self._line.idle = idle

    def end(self, *, gone: bool = False) -> None:
        """Act for the agent no more; it stays where it is."""
        self._line.shut(f"agent {self.id}", gone=gone)


class Service:
    """What callers of one host may do. `views` are for operators."""

    def __init__(self, server: Server, door: Door) -> None:
        self._server = server
        self._door = door
        self._sweeper: asyncio.TimerHandle | None = None
        self._seats: dict[str, AgentSeat] = {}
        """Those used least recently first."""
        self.views = Views(server)
        host = server.host
        self.logins = Logins(door, lambda: self.views.now, kept=host.small, keep=host.keep_small)
        self.own_token = door.token if isinstance(door, OpenDoor) else ""
        server.host.on_halted.append(self._halted)

    @property
    def url(self) -> str:
        """Where programs connect to the host."""
        return self._server.url

    # -- who calls -----------------------------------------------------------------------------

    def who(self, token: str) -> Principal:
        """Who shows a token; raises `NotLetIn`."""
        if not token:
            raise NotLetIn(why="no token was shown (Authorization: Bearer …)")
        return self._door.by_token(token)

    def watch(self, principal: Principal, session: str, told: LoginListener) -> End:
        """Tell once when somebody who was let in should be no longer, or is another now.

        `session` is the key of the one behind it, or empty. Gives what ends the watching.
        """

        def judged(now: Principal | NotLetIn) -> None:
            if isinstance(now, Principal):
                if (now.agents, now.operator) == (principal.agents, principal.operator):
                    return  # it counts for longer, or not as long
                now = NotLetIn(why=f"what {now.name} may do has changed; come again")
            told(now)

        standing = self._server.standings.watch(principal, judged)
        leave = self.logins.watch(session, told) if session else None

        def end() -> None:
            standing.end()
            if leave is not None:
                leave()

        return end

    def note(self, what: str, **facts: object) -> None:
        """Have the host note something."""
        self._server.note(what, **facts)

    def operator(self, principal: Principal) -> Views:
        """The views of the host, for an operator; raises `NotAnOperator`."""
        if not principal.operator:
            raise NotAnOperator(proved=principal.name)
        return self.views

    # -- agents ----------------------------------------------------------------------------------

    def seat(self, principal: Principal, agent: str) -> AgentSeat:
        """An agent to act as. Raises `NotYourAgent`, `AgentAway`, `TooManySeats`."""
        agent_id("agent", agent)
        if not principal.may_be(agent):
            raise NotYourAgent(agent=agent[:100], proved=principal.name)
        seat = self._seats.pop(agent, None)
        if seat is not None and not self._server.host.core.has(agent):
            seat.end(gone=True)  # it has moved on by itself
            seat = None
        if seat is None:
            self._make_room()
            seat = AgentSeat(self, self._server.host.line(agent))
        elif seat.idle:
            self._server.host.attend(agent)
        self._seats[agent] = seat
        seat.idle, seat.used_at = False, asyncio.get_running_loop().time()
        self._sweep_later()
        return seat

    def _sweep_later(self) -> None:
        if self._sweeper is None and self._seats:
            self._sweeper = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        """Agents that nobody has asked anything of within a session's time have departed.

        Their seats stay: letters come to their inboxes.
        """
        self._sweeper = None
        before = asyncio.get_running_loop().time() - self._server.config.limits.session_s
        for seat in self._seats.values():
            if not seat.idle and not seat.busy and seat.used_at <= before:
                seat.idle = True
                self._server.host.vacate(seat.id)
        self._sweep_later()

    async def end(self, agent: str) -> None:
        """End an agent of this host; raises `NoSuchAgent`."""
        await self._server.host.end(agent)

    def _make_room(self) -> None:
        if len(self._seats) < SEATS_MAX:
            return
        idle = next((one for one in self._seats.values() if not one.busy), None)
        if idle is None:
            raise TooManySeats(limit=SEATS_MAX)
        del self._seats[idle.id]
        idle.end()

    def _halted(self, agent: str, error: NomospaceError) -> None:
        """An agent was suspended: nobody acts as it any more, and its sockets end."""
        seat = self._seats.pop(agent, None)
        if seat is not None:
            seat.why = error
            seat.halted.set()

    def leave(self, seat: AgentSeat) -> None:
        """An agent has left the host."""
        self._seats.pop(seat.id, None)
        seat.end(gone=True)

    def check_host(self, host: str) -> None:
        """Raise `NoSuchHost` unless a host is in the group; else a move would wait for nobody."""
        if host not in self._server.host.view.members:
            raise NoSuchHost(host=host)

    def law_over(self, space: str, agent: str) -> CompiledLaw | None:
        """The law that an agent here has a space under; `None` for one that it does not have."""
        resident = self._server.host.core.spaces.residents.get(agent)
        found = None if resident is None else resident.spaces.get(space)
        return self._server.host.law(found.law) if found is not None and found.law else None

    def laws_of(self, agent: str) -> tuple[CompiledLaw, ...]:
        """The laws that an agent here is under."""
        return self._server.host.core.laws_of(agent)

    def memberships(self, principal: Principal, agent: str) -> tuple[Membership, ...]:
        """The communities of an agent, with as much of its control state as each law discloses.

        An operator sees all of it. Raises `NotYourAgent`.
        """
        if not principal.may_be(agent) and not principal.operator:
            raise NotYourAgent(agent=agent[:100], proved=principal.name)
        mine = self._server.host.core.governing.memberships(agent)
        return tuple([self._membership(principal, one.home, one.law) for one in mine])

    def members_of(self, agent: str, law: str) -> list[str]:
        """The addresses of an agent's memberships under a law."""
        mine = self._server.host.core.governing.memberships(agent)
        return [one.home for one in mine if one.law.hash == law]

    def _membership(self, principal: Principal, home: str, law: CompiledLaw) -> Membership:
        level = law.tree.disclose
        state: tuple[str, ...] | None = None
        owed: tuple[ObligationView, ...] | None = None
        if level == "all" or principal.operator:
            found = self.views.member(law.hash, home)
            state, owed = found.state, found.obligations
        return Membership(law.hash, law.name, level, state, owed, home, key_at(law.hash, home))

    def where(self, agent: str) -> WhereLine:
        """At which host an agent is, as far as is known."""
        core = self._server.host.core
        here = core.name if core.has(agent) else core.group.where.get(agent, "")
        return WhereLine(agent, here, bool(here))

    async def law(
        self,
        *,
        text: str = "",
        law: str = "",
        language: Literal["law", "python"] = "law",
        who: str = "",
    ) -> CompiledLaw:
        """A law by its text, or one that is at hand here by its hash or its community's name.

        `who` is whose work it is to read a text. Raises `Faulty` with all errors of it,
        `NoSuchLaw`, and `PlaceholderKey` for a law that nobody could be believed under.
        """
        if text:
            # Reading a large law takes a while, and the host has other things to do meanwhile.
            name = "<law>.py" if language == "python" else "<law>"
            found = await self.work.law(text, name, who)
        else:
            named = [one.law for one in self.views.communities() if law in (one.law, one.name)]
            known = self._server.host.law(named[0] if named else law)
            if known is None:
                raise NoSuchLaw(law=law)
            found = known
        if self._server.identity is not None:
            check_keys(found)
        return found

    @property
    def work(self) -> Workers:
        """Who reads texts beside the loop."""
        return self._server.work

    def ontologies(self) -> list[tuple[str, Ontology]]:
        """The spaces of the host by name, each with the ontology that it speaks; for operators."""
        return [
            (space.name, space.ontology) for space, *_ in self._server.host.core.spaces.census()
        ]

    def health(self) -> dict[str, Any]:
        """Whether the host takes steps; nothing else, for anyone may ask."""
        keeper = self._server.host.keeper
        well = keeper is None or keeper.trouble is None
        return {"host": self._server.config.host.name, "well": well}

    def figures(self) -> dict[str, float]:
        """The host in figures."""
        core, server = self._server.host.core, self._server
        spaces = self.views.spaces()
        counts: dict[str, float] = {
            **server.links.counts(),
            "agents": len(core.agents),
            "members": len(core.view.members),
            "spaces": len(spaces),
            "tuples": sum(one.tuples for one in spaces),
            "sessions": len(server.host.served.all),
            "connections": server.listener.connections,
            "records": self.views.last_record,
            "seats": len(self._seats),
        }
        return {name: float(count) for name, count in counts.items()}

    def close(self) -> None:
        """Act for nobody any more."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        seats, self._seats = self._seats, {}
        for seat in seats.values():
            seat.end()
