"""Worlds of one host and its clients, over connections that break: sessions as hosts ship them.

`Server` runs the host's core, its sessions and a disk; `Client` runs the client's end of a session
and stands for a program: it asks, notices its answers a moment after they came, gives up, loses its
connection, and dies. Every call is a `Deed`, from which checkers tell what became of each tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.requests import READ_ALL, TAKING, Out, OutMany, Request, Seek, Settle
from nomospace.host.calls import Call
from nomospace.host.effects import Answer
from nomospace.sessions.client_session import (
    ClientOrder,
    ClientSession,
    NotPutBack,
    ReactionFired,
    SendFrame,
    nobody,
)
from nomospace.sessions.open_calls import OpenCall
from nomospace.terms import Term
from nomospace.terms.templates import Template
from nomospace.wire.talk import HostWelcome, pack_ask, pack_out, pack_seek, read_found
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.history import CRASHED, CUT, Happening, tell_as
from nomospace_lab.sim.serving import Server, Wire
from nomospace_lab.sim.simulation import START_US, Simulation

CAME: Final = "client came"
DIED: Final = "client died"
MADE: Final = "asked"
GOT: Final = "got"
GAVE_UP: Final = "gave up"

OPEN: Final = "open"
DONE: Final = "done"
FAILED: Final = "failed"
GIVEN_UP: Final = "given up"

TICK_US: Final = SECOND_US // 2
REDIAL_US: Final = (20_000, 800_000)
NOTICED_US: Final = 2_000
"""A program notices its answer within so long; until then it may give up."""


class Deed(msgspec.Struct, eq=False):
    """One call of a program, and what it knows of it."""

    who: str
    request: Request
    state: str = OPEN
    value: Any = None
    error: BaseException | None = None

    def __str__(self) -> str:
        return f"{self.who} {self.request} is {self.state}: {self.error or self.value}"


class Promise:
    """Stands for a future (`sessions.open_calls.Asker`): its program notices a moment later."""

    def __init__(self, client: Client, deed: Deed) -> None:
        self._client = client
        self.deed = deed
        self._done = self._cancelled = False
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return self._cancelled

    def set_result(self, result: Any) -> None:
        assert not self._done, f"answered twice: {self.deed}"
        self._done, self._value = True, result
        self._client.noticing(self)

    def set_exception(self, error: BaseException) -> None:
        assert not self._done, f"answered twice: {self.deed}"
        self._done, self._error = True, error
        self._client.noticing(self)

    def result(self) -> Any:
        return self._value

    def exception(self) -> BaseException | None:
        return self._error

    def cancel(self) -> None:
        """Its program gives up; nobody else knows yet."""
        if not self._done:
            self._done = self._cancelled = True


class Client:
    """A program that speaks for an agent from another process."""

    def __init__(self, world: ClientWorld, agent: str, key: str) -> None:
        self.world = world
        self.agent = agent
        self.key = key
        self.rng = world.rng(f"client/{key}")
        self.session = ClientSession(agent)
        self.wire: Wire | None = None
        self.alive = True
        self.deeds: list[Deed] = []
        self.wires: list[Wire] = []
        self.reports: list[NotPutBack] = []
        self.fired: list[Found] = []
        self._calls: dict[Deed, OpenCall] = {}
        self._dialled = 0
        self._dial()
        world.clock.after(TICK_US, self._tick)

    # -- its program -----------------------------------------------------------------------------

    def ask(self, request: Request) -> Deed:
        """Make a call."""
        deed = Deed(self.key, request)
        self.deeds.append(deed)
        session = self.session
        number, seen = session.number + 1, session.seen
        if isinstance(request, Seek):
            body = pack_seek(number, seen, request)
        elif isinstance(request, Out):
            body = pack_out(number, seen, request.space, request.fields, request.to, request.ttl_us)
        else:
            body = pack_ask(number, seen, request)
        taking = request if isinstance(request, Seek) and request.how in TAKING else None
        call = OpenCall(number, Promise(self, deed), taking, body)
        self._calls[deed] = call
        self.world.note(MADE, self.key, f"#{number} {request}")
        if session.begin(call):
            self._send(body)
        return deed

    def watch(self, request: Request) -> None:
        """Register a reaction; what it fires on is in `fired`."""
        self._do(self.session.post(request, nobody))

    def give_up(self, deed: Deed) -> None:
        """Wait no longer for a call. The session hears of it a moment later."""
        if deed.state != OPEN or not self.alive:
            return
        deed.state = GIVEN_UP
        call = self._calls[deed]
        self.world.note(GAVE_UP, self.key, f"#{call.number}")
        if isinstance(call.asker, Promise):
            call.asker.cancel()
        self.world.clock.after(self.rng.randrange(NOTICED_US), self._gave_up, call)

    def _gave_up(self, call: OpenCall) -> None:
        if self.alive:
            self._do(self.session.give_up(call))

    def time_up(self, deed: Deed) -> None:
        """The time of a call is up."""
        if self.alive and deed.state == OPEN:
            self._do(self.session.time_up(self._calls[deed].number))

    def noticing(self, promise: Promise) -> None:
        """An answer is there, and the program will see it in a moment, unless it gives up."""
        self.world.clock.after(self.rng.randrange(NOTICED_US), self._noticed, promise)

    def _noticed(self, promise: Promise) -> None:
        deed = promise.deed
        if not self.alive or deed.state != OPEN:
            return
        deed.error = promise.exception()
        deed.state = DONE if deed.error is None else FAILED
        deed.value = promise.result()
        self.world.note(GOT, self.key, f"#{self._calls[deed].number} {deed.error or deed.value}")

    def die(self) -> None:
        """The process is killed: nobody knows what was under way."""
        self.alive = False
        self.world.note(DIED, self.key)
        if self.wire is not None:
            self.wire.cut()

    # -- its connection --------------------------------------------------------------------------

    def _dial(self) -> None:
        if not self.alive or self.wire is not None:
            return
        servers = self.world.servers
        server = servers[self._dialled % len(servers)]
        self._dialled += 1
        wire = Wire(server, self._hear, self._lost)
        if server.let_in(wire, self.agent, self.key, self.session.seen):
            self.wire = wire
            self.wires.append(wire)
        else:
            self._redial()

    def _redial(self) -> None:
        self.world.clock.after(self.rng.randrange(*REDIAL_US), self._dial)

    def _lost(self) -> None:
        self.wire = None
        if self.alive:
            if self.session.connected:
                self._do(self.session.lost(now=self.world.clock.now))
            self._redial()

    def _hear(self, frames: list[Any]) -> None:
        if not self.alive:
            return
        session, first = self.session, frames[0]
        if not isinstance(first, HostWelcome):
            self._do(session.hear(frames))
            return
        self._do(session.welcomed(first, now=self.world.clock.now))
        session.attached()
        self._do(session.hear(frames[1:]))
        self._do(session.resend())

    def _tick(self) -> None:
        if self.alive:
            if self.session.connected:
                self._do(self.session.acknowledge(idle=self.rng.random() < 0.1))
            self.world.clock.after(TICK_US, self._tick)

    def _send(self, body: bytes) -> None:
        if self.wire is not None:
            self.wire.put_up(body)

    def _do(self, orders: list[ClientOrder]) -> None:
        for order in orders:
            if isinstance(order, SendFrame):
                self._send(order.body)
            elif isinstance(order, ReactionFired):
                self.fired.append(read_found(order.frame))
            elif isinstance(order, NotPutBack):
                self.reports.append(order)


class ClientWorld(Simulation):
    """One host, its clients, and what happens to the connections between them."""

    def __init__(self, seed: int, *, end_us: int) -> None:
        super().__init__(seed)
        self.servers = self._make_servers()
        self.clients: list[Client] = []
        self.end_us = end_us
        self.held: tuple[tuple[Term, ...], ...] = ()
        """What lies in the space when all is over, as the host says."""
        for server in self.servers:
            server.start()

    def _make_servers(self) -> Sequence[Server]:
        """The processes that stand for the host."""
        server = Server("ward", self.clock, self.rng("server"))
        server.on_crash = lambda: self.note(CRASHED, "ward")
        return (server,)

    @property
    def server(self) -> Server:
        """The process that serves, or would."""
        return next((one for one in self.servers if one.core is not None), self.servers[0])

    def note(self, kind: str, who: str, what: Any = None) -> None:
        """Write down that something happened."""
        self.history.add(self.clock.now, kind, who, what)

    def come(self, agent: str) -> Client:
        """A program begins that speaks for an agent."""
        client = Client(self, agent, f"{agent.partition('@')[0]}-{len(self.clients) + 1}")
        self.clients.append(client)
        self.note(CAME, client.key)
        return client

    def run(self, *, until_us: int | None = None) -> None:
        """Go on to the world's end, then look what is there."""
        clock, end = self.clock, START_US + self.end_us
        while (due := clock.next_at()) is not None and due <= end:
            clock.step()
        self.quiet = True
        clock.now = end
        core = self.server.core
        assert core is not None, "it is healed"
        everything = Seek("jobs", READ_ALL, Template.of(("job", int, int)))
        for effect in core.handle(Call(1, self.clients[0].agent, everything), now=end):
            if isinstance(effect, Answer):
                self.held = tuple([found.fields for found in effect.value or ()])

    # -- faults ----------------------------------------------------------------------------------

    def crash(self, fault: Crash) -> None:
        """The host crashes: at once, or when its next steps are on disk."""
        if fault.steps:
            self.server.trap = True
        else:
            self.server.crash(fault.down_us)

    def cut(self, rng: Random) -> None:
        """Cut the connection of one client."""
        wired = [one for one in self.clients if one.wire is not None and one.wire.open]
        if self.healed_at is None and wired:
            client = rng.choice(wired)
            self.note(CUT, client.key)
            assert client.wire is not None, "it is wired"
            client.wire.cut()

    def bring_back(self) -> None:
        """No trap is left; a host that is down comes back by itself."""
        self.server.trap = False


def written(deed: Deed) -> tuple[tuple[Term, ...], ...]:
    """The tuples that a call writes."""
    request = deed.request
    if isinstance(request, Out):
        return (request.fields,)
    return request.rows if isinstance(request, OutMany) else ()


def found(deed: Deed) -> tuple[Found, ...]:
    """The tuples that the program of a call has got."""
    if deed.state != DONE or not isinstance(deed.request, Seek) or not deed.value:
        return ()
    return deed.value if isinstance(deed.value, tuple) else (deed.value,)


def settles(deed: Deed) -> bool:
    """Whether a call acknowledges a tuple that was taken under a lease, and counted."""
    return isinstance(deed.request, Settle) and deed.request.done and deed.state == DONE


def _tell(happening: Happening) -> str:
    return f"{happening.who} {happening.kind} {happening.what or ''}"


for _kind in (CAME, DIED, MADE, GOT, GAVE_UP):
    tell_as(_kind, _tell)
