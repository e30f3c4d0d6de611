"""A process that runs one program: started by `node.processes` only, with two sockets.

Nothing of its host is here but what comes over them: no key, no store, no environment. Memory and
open files are limited, and where the system can, so are files and connections (`confining`), before
any code of the program is imported. The program is what it would be inside its host: an `Agent`
over a `LocalConnection`, whose calls go to the host as frames. A strong listener runs in the event
loop, as all of the program does, while its host waits for it inside a step.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec

from nomospace.calls.addresses import split_key
from nomospace.calls.problems import MoveRefused, NotAnOperator
from nomospace.calls.requests import Out, React, Request
from nomospace.calls.ways import STRONG
from nomospace.client import Agent, Departed, Mailbox, Report
from nomospace.client.connection import Ear
from nomospace.client.membership import LetterQueue
from nomospace.client.program import (
    AnyProgram,
    Registry,
    decode_state,
    encode_state,
    first_state,
    registered,
    registering,
)
from nomospace.client.remote import LawName
from nomospace.client.watching import Presence, Watching
from nomospace.errors import NomospaceError
from nomospace.host.calls import Call, Event, PutBack
from nomospace.host.effects import Answer, Fire, Mail
from nomospace.host.operations import Firing
from nomospace.host.speaking import call_function, own_functions
from nomospace.node import confining, program_talk as say
from nomospace.node.local_connection import LocalClients, LocalConnection
from nomospace.terms import Term, encode, freeze
from nomospace.terms.objects import MISSING
from nomospace.wire import talk
from nomospace.wire.admin import A, OperatorQuestion
from nomospace.wire.errors import decode_error
from nomospace.wire.framing import LENGTH_BYTES, Framer
from nomospace.wire.values import unpack_fields, unpack_term

ERROR_MAX: Final = 2_000
"""How much of an error is told."""


@contextmanager
def _importing(name: str) -> Iterator[None]:
    """Say in words what is wrong with code that does not import."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise NotBorn(f"it does not import: {told(error)}", name) from error


def load_programs(birth: say.Birth) -> Registry:
    """What the code of a program defines: all of it is imported. Raises `NotBorn`."""
    sys.path[:0] = birth.path
    for name in birth.modules:
        with _importing(name):
            import_module(name)
    programs = dict(registered())
    if birth.archive:
        place = Path("bundle.zip").resolve()
        place.write_bytes(birth.archive)
        sys.path.insert(0, str(place))  # `zipimport` unpacks nothing
        with registering(programs), _importing(birth.module):
            import_module(birth.module)
    elif birth.source:
        name = f"nomospace_bundle_{birth.program}"
        module = sys.modules[name] = ModuleType(name)  # classes look up their annotations there
        with registering(programs), _importing(f"bundle of {birth.program}"):
            exec(compile(birth.source, f"<bundle {birth.program}>", "exec"), module.__dict__)
    return programs


class NotBorn(Exception):
    """The code cannot be run."""

    def __init__(self, why: str, module: str = "") -> None:
        super().__init__(why)
        self.module = module


def told(error: BaseException) -> str:
    """An error in words."""
    return f"{type(error).__name__}: {error}"[:ERROR_MAX]


class StrongSocket:
    """The second socket: firings come, and what listeners ask for goes, one word at a time."""

    def __init__(self, at: socket.socket) -> None:
        self._at = at
        self.listeners: dict[int, React] = {}
        """Strong reactions by the number of the call that registered them."""

    def serve(self) -> None:
        """The host waits: run a listener, or a function, and say when it is done."""
        heard = say.read(say.TO_LISTENER, self._receive())
        assert not isinstance(heard, say.InsideAnswer), "nobody asked"
        self._at.sendall(say.framed(self._do(heard)))

    def _do(self, heard: say.FireListener | say.Apply) -> say.Done:
        try:
            if isinstance(heard, say.Apply):
                value = call_function(heard.name, unpack_fields(heard.inputs))
                return say.Done("", b"" if value is MISSING else encode((freeze(value),)))
            react = self.listeners.get(heard.number)
            if react is not None and react.listener is not None:
                frame = talk.unpack_frame(heard.found)
                react.listener(Firing(self.ask, react.space, frame[2], talk.read_found(frame)))
        except Exception as error:
            return say.Done(told(error))
        return say.Done()

    def ask(self, request: Request) -> object:
        """Have an operation done inside the step; raises what is wrong with it."""
        self._at.sendall(say.framed(say.InsideCall(talk.pack_ask(1, 0, request))))
        while True:
            heard = say.read(say.TO_LISTENER, self._receive())
            if isinstance(heard, say.InsideAnswer):
                break
            self._at.sendall(say.framed(self._do(heard)))  # what it brought fires another
        return read_answer(talk.unpack_frame(heard.body))

    def _receive(self) -> bytes:
        length = int.from_bytes(self._exactly(LENGTH_BYTES))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        data = self._at.recv(count, socket.MSG_WAITALL)
        if len(data) < count:
            raise SystemExit  # the host is gone
        return data


def read_answer(frame: talk.Frame) -> object:
    """The value in an answer; raises the error in it."""
    if frame[0] == talk.FOUND:
        return talk.read_found(frame)
    if frame[0] == talk.FAILURE:
        raise talk.read_error(frame[3])
    return talk.read_reply(frame)


def _mail_of(agent: Agent) -> tuple[tuple[str, str, bytes], ...]:
    return tuple([(law, sender, encode(message)) for law, sender, message in agent.unread()])


class ProgramConnection(LocalConnection):
    """An agent's connection in a program's process: mail is asked for where it is."""

    __slots__ = ("_life",)

    def __init__(self, life: ProgramLife, agent: str) -> None:
        super().__init__(life.clients, agent)
        self._life = life

    def attend(self, law: str, mailbox: Mailbox) -> None:
        super().attend(law, mailbox)
        self._life.tell(say.Attend(self.agent, law))

    async def move(
        self,
        to: str,
        program: str,
        state: bytes,
        code: bytes | None,
        unread: tuple[tuple[str, str, Term], ...],
    ) -> None:
        # What the host has sent meanwhile goes along, too.
        await self._life.hold_mail(self.agent)
        late = [
            (law, box, box.drain())
            for law, boxes in self._laws.items()
            for box in boxes
            if isinstance(box, LetterQueue)
        ]
        more = [(law, one.sender, one.message) for law, _, letters in late for one in letters]
        try:
            await super().move(to, program, state, code, (*unread, *more))
        except (Exception, asyncio.CancelledError):
            for _, box, letters in late:
                box.put_back(letters)
            raise

    async def operate(self, question: OperatorQuestion[A]) -> A:
        raise NotAnOperator(proved=f"the program of {self.agent}")


class LineWatching(Watching):
    """Lets `Presence` register its reactions over an agent's connection."""

    def __init__(self, line: LocalConnection) -> None:
        super().__init__(lambda request, then: None, line.report)
        self._line = line

    def add(self, request: React, ear: Ear) -> None:
        """Register a reaction."""
        self._line.react(request, ear)


class ProgramLife(asyncio.Protocol):
    """The program of this process, from its birth to its end."""

    def __init__(self, strong: StrongSocket) -> None:
        self._loop = asyncio.get_running_loop()
        self._strong = strong
        self._framer = Framer(say.FRAME_BYTES_MAX)
        self._transport: asyncio.WriteTransport
        self.birth: asyncio.Future[say.Birth] = self._loop.create_future()
        self._begin: asyncio.Future[None] = self._loop.create_future()
        self.over: asyncio.Future[None] = self._loop.create_future()
        """The host wants no more of it."""
        self.clients = LocalClients(
            self._give,
            connected=lambda _, who: self._presence.connected(who),
            report=self._report,
            first=secrets.randbits(30) << 32,
        )
        self._lines: dict[str, LocalConnection] = {}
        self._presence: Presence
        self._making: dict[int, asyncio.Future[str]] = {}
        self._holding: dict[str, asyncio.Future[None]] = {}
        self._kind: type[AnyProgram]

    # -- its course ----------------------------------------------------------------------------

    async def live(self) -> None:
        """Be born, run, end."""
        birth = await self.birth
        try:
            self._confine(birth)
            programs = load_programs(birth)
            state = b"" if not birth.program else self._made(birth, programs)
        except NotBorn as error:
            self.tell(say.Unborn(str(error), error.module))
            return
        except NomospaceError as error:
            self.tell(say.Unborn(str(error)))
            return
        self._loop.add_reader(self._strong._at, self._strong.serve)
        self.tell(say.Born(state, tuple(programs), tuple(own_functions())))
        if not birth.program:  # it is here for its functions
            await self.over
            return
        await self._begin
        await self._run(birth, state)

    @staticmethod
    def _confine(birth: say.Birth) -> None:
        if birth.memory:
            confining.limit(birth.memory)
        readable = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *birth.path}
        readable |= {str(Path(__file__).parents[2]), *sys.path}
        readable |= {"/usr/lib", "/usr/share/zoneinfo", "/lib", "/lib64", "/etc/localtime"}
        confining.confine(Path.cwd(), sorted(filter(None, readable)), network=birth.network)

    def _made(self, birth: say.Birth, programs: Registry) -> bytes:
        kind = programs.get(birth.program)
        if kind is None:
            raise NotBorn(f"its code has no program {birth.program!r}")
        self._kind = kind
        if birth.state is None:
            return encode_state(kind, first_state(kind, None))
        return encode_state(kind, decode_state(kind, birth.state))

    async def _run(self, birth: say.Birth, state: bytes) -> None:
        agent = Agent(self._line(birth.agent))
        self._presence = Presence(LineWatching(self._lines[birth.agent]), self._loop)
        for law, name in birth.laws:
            hash, number = split_key(law)
            agent.resume(LawName(hash, name), number)
        agent.put_back([(law, sender, unpack_term(body)) for law, sender, body in birth.mail])
        try:
            program = self._kind()
            program.agent, program.state = agent, decode_state(self._kind, state)
            program.host, program.origin, program.code = birth.host, birth.origin, birth.code
            program.maker = self
            if birth.why:
                program.refused = MoveRefused(agent=birth.agent, to=birth.origin, why=birth.why)
            running = self._loop.create_task(program.run())
            await asyncio.wait([running, self.over], return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                running.cancel()
            await running
        except (Departed, asyncio.CancelledError):
            return
        except BaseException as error:
            self.tell(say.Raised(told(error), _mail_of(agent)))
            return
        self.tell(say.Over(_mail_of(agent)))

    async def hold_mail(self, agent: str) -> None:
        """Have the host send an agent no more mail, and wait until all has come."""
        held = self._holding.setdefault(agent, self._loop.create_future())
        self.tell(say.HoldMail(agent))
        await asyncio.wait([held, self.over], return_when=asyncio.FIRST_COMPLETED)

    def _line(self, agent: str) -> LocalConnection:
        line = self._lines[agent] = ProgramConnection(self, agent)
        return line

    # -- helpers (`client.program.Maker`) ------------------------------------------------------

    async def helper(self, name: str) -> Agent:
        """Another agent of this program."""
        id = await self._create(name, "", None)
        line = self._lines.get(id)
        return Agent(self._line(id) if line is None or line.closed else line)

    async def launch(self, program: str, name: str, state: object) -> str:
        """Another program of the same code."""
        data = None if state is None else msgspec.msgpack.encode(state)
        return await self._create(name, program, data)

    async def _create(self, name: str, program: str, state: bytes | None) -> str:
        number = len(self._making) + 1
        while number in self._making:
            number += 1
        future: asyncio.Future[str] = self._loop.create_future()
        self._making[number] = future
        self.tell(say.CreateHelper(number, name, program, state))
        try:
            return await future
        finally:
            del self._making[number]

    # -- what goes to the host -----------------------------------------------------------------

    def tell(self, said: say.ToHost) -> None:
        """Tell the host something that is no call."""
        self._transport.write(say.word(said))

    def _give(self, event: Event) -> None:
        assert isinstance(event, Call), event
        request = event.request
        if isinstance(request, PutBack):  # only its host could say that nobody had it
            request = Out(request.space, request.fields)
        if isinstance(request, React) and request.strength == STRONG:
            self._strong.listeners[event.op] = request
            pattern = encode(request.template.term)
            at, dest = request.at, request.dest
            self.tell(
                say.Strong(event.agent, event.op, request.space, pattern, request.mode, at, dest)
            )
            return
        body = talk.pack_ask(event.op, 0, request, texts=True)
        self._transport.write(say.envelope(event.agent, body))

    def _report(self, report: Report) -> None:
        facts = {name: str(value)[:ERROR_MAX] for name, value in report.facts.items()}
        self.tell(say.Said(report.what, facts, "" if report.error is None else told(report.error)))

    # -- what comes from it --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def data_received(self, data: bytes) -> None:
        for frame in self._framer.feed(data):
            agent, body = say.opened(frame)
            if agent:
                self._hear(agent, talk.unpack_frame(body))
            else:
                self._told(say.read(say.TO_PROGRAM, body))

    def _told(self, said: say.ToProgram) -> None:
        if isinstance(said, say.Birth):
            self.birth.set_result(said)
        elif isinstance(said, say.Begin):
            self._begin.set_result(None)
        elif isinstance(said, say.HelperCreated):
            future = self._making.get(said.number)
            if future is not None and not future.done():
                if said.error is None:
                    future.set_result(said.agent)
                else:
                    future.set_exception(decode_error(said.error))
        elif isinstance(said, say.MailHeld):
            held = self._holding.pop(said.agent, None)
            if held is not None and not held.done():
                held.set_result(None)
        elif isinstance(said, say.Gone):
            line = self._lines.get(said.agent)
            if line is not None:
                line.leave()
        elif isinstance(said, say.PingProgram):
            self.tell(say.ProgramAlive())
        elif not self.over.done():
            self.over.set_result(None)

    def _hear(self, agent: str, frame: talk.Frame) -> None:
        kind = frame[0]
        if kind == talk.FIRED:
            self.clients.take_in(Fire(agent, frame[2], talk.read_found(frame)))
        elif kind == talk.MAILED:
            message: Term = talk.read_message(frame[4])
            self.clients.take_in(Mail(agent, frame[2], frame[3], message))
        else:
            value, error = None, None
            try:
                value = read_answer(frame)
            except NomospaceError as raised:
                error = raised
            self.clients.answer(Answer(frame[2], value, error))


async def serve(pipe: int, strong: int) -> None:
    """Live, over these sockets."""
    loop = asyncio.get_running_loop()
    channel = StrongSocket(socket.socket(fileno=strong))
    at = socket.socket(fileno=pipe)
    transport, life = await loop.create_unix_connection(lambda: ProgramLife(channel), sock=at)
    try:
        await life.live()
    finally:
        transport.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(say.STOP_S):
                await life.over  # what was said has gone out when the host has closed


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host, which ends this one
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
