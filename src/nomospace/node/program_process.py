"""One program in a process of its own, as its host has it: its life, its calls, its listeners.

The process is a child with limits, an empty environment and a folder of its own
(`program_main`). It speaks for its agent and the helpers that it was given, and for nobody else.
Its calls have their turns among the clients' (`turns`), and what it waits for, its reactions and
its mail end with it.

A strong listener is called inside a step of the core, which waits for it: for all firings of one
step together the program has `listener_s`. Past that the process is killed, and the step goes on
without it. What the core itself does meanwhile, for the listener, is not counted.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from nomospace.calls import requests
from nomospace.calls.addresses import key_of
from nomospace.calls.ways import STRONG
from nomospace.client import Departed, ListenerOverran, Report
from nomospace.errors import (
    CallerError,
    LawError,
    LimitReached,
    NomospaceError,
    PeerError,
    Unavailable,
)
from nomospace.host.operations import Firing as StepFiring
from nomospace.node import program_talk as say
from nomospace.node.local_connection import LocalConnection
from nomospace.node.loops import held
from nomospace.node.program_steps import (
    ListenerCalls,
    PipeAsker,
    PipeEar,
    PipeMailbox,
    inside_step,
    nothing_inside,
)
from nomospace.node.programs import helper_id
from nomospace.node.turns import LOT_FRAMES, Account, Queue
from nomospace.sessions.host_sessions import NotForClients
from nomospace.sessions.local_calls import LocalCall
from nomospace.terms import Term, encode
from nomospace.terms.templates import Template
from nomospace.wire import talk
from nomospace.wire.calls import CallTooWide, Unready
from nomospace.wire.errors import encode_error
from nomospace.wire.framing import BadFrame, Framer
from nomospace.wire.packing import Unfit
from nomospace.wire.values import unpack_fields, unpack_term

if TYPE_CHECKING:
    from nomospace.node.processes import Processes

OUTPUT_BYTES: Final = 2_000
"""How much of what a program has printed last is told when it has died."""
MAIL_WAIT_S, MAIL_WAITS_MAX = 0.005, 2_000
"""How often, and how many times, it is looked whether mail of one who moves waits for the disk."""
EARLY_MAX: Final = 10_000
"""How many letters under a law may wait for a program that has not begun yet."""
CALLS_MAX: Final = 10_000
"""How many calls of a program may wait for their answers."""


class ProgramFailed(CallerError):
    """A program could not begin, or ended otherwise than by returning."""

    code = "node.program-failed"
    words = "program {program!r} of {agent} failed: {why}"
    agent: str
    program: str
    why: str


class ProgramMayNot(CallerError):
    """A program asks for what its publisher may not have here."""

    code = "node.program-may-not"
    words = "programs of {publisher} may not {what} here; its operator may allow it in [publishers]"
    publisher: str
    what: str


class TooManyHelpers(LimitReached):
    """A program has as many helpers as its publisher may have."""

    code = "limits.helpers"


class ProgramRights(NamedTuple):
    """What a program may do here, and who answers for it."""

    publisher: str
    helpers: int
    strong: bool
    network: bool


class ProgramProcess(asyncio.Protocol):
    """A program's process. `start` has it born, `begin` has it run."""

    def __init__(self, processes: Processes, birth: say.Birth, rights: ProgramRights) -> None:
        self.birth = birth
        self.rights = rights
        self.reactions: dict[str, str] = {}
        """Its reactions, with the agents that have them."""
        self.why = ""
        """Why it ends, once it does."""
        self.left = False
        """Whether its agent has gone on elsewhere."""
        self._processes = processes
        self._host = processes.host
        self._loop = asyncio.get_running_loop()
        self._lines: dict[str, LocalConnection] = {}
        self._attended: dict[tuple[str, str], None] = {}
        self._early: dict[tuple[str, str], list[tuple[str, Term]]] = {}
        """Mail by agent and law that came before the process has asked for it."""
        self._calls: dict[tuple[str, int], PipeAsker | asyncio.Task[None]] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._framer = Framer(say.FRAME_BYTES_MAX)
        self._queue = Queue(self._host.turns, self._handle, Account(), self._more)
        self._transport: asyncio.Transport
        self._steps: ListenerCalls
        self._process: asyncio.subprocess.Process | None = None
        self._born: asyncio.Future[say.Born] = self._loop.create_future()
        self._heard_at = self._loop.time()
        self._output: deque[bytes] = deque(maxlen=16)
        self._folder = TemporaryDirectory(prefix="nomospace-program-", ignore_cleanup_errors=True)
        self._over = False
        self._watch: asyncio.Task[None]
        self.gone: asyncio.Future[None] = self._loop.create_future()
        """Done when the process is no more."""

    @property
    def agent(self) -> str:
        """The agent that it is."""
        return self.birth.agent

    @property
    def program(self) -> str:
        """The program that it runs."""
        return self.birth.program

    # -- its life ------------------------------------------------------------------------------

    async def start(self) -> say.Born:
        """Start the process and have it import its code; raises `ProgramFailed`."""
        here, there = socket.socketpair()
        strong, strong_there = socket.socketpair()
        self._steps = ListenerCalls(strong, self._processes)
        try:
            with there, strong_there:
                fds = (there.fileno(), strong_there.fileno())
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",  # the folder that it is in is no place to import from
                    "-m",
                    "nomospace.node.program_main",
                    *map(str, fds),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT,
                    env=_environment(self._folder.name),
                    pass_fds=fds,
                    cwd=self._folder.name,
                    start_new_session=True,
                )
        except OSError as error:
            here.close()
            strong.close()
            self._folder.cleanup()
            self.gone.set_result(None)
            raise self._failed(f"no process could be started ({error})") from None
        self._watch = self._loop.create_task(self._look_on(self._process))
        await self._loop.create_unix_connection(lambda: self, sock=here)
        self._write(say.word(self.birth))
        try:
            async with asyncio.timeout(say.BIRTH_S):
                return await asyncio.shield(self._born)
        except TimeoutError:
            self.kill(f"it was not born within {say.BIRTH_S:g} s")
            await asyncio.wait([self.gone], timeout=say.STOP_S)
            raise self._failed(self.why) from None
        except ProgramFailed:
            await asyncio.wait([self.gone], timeout=say.STOP_S)
            raise

    def begin(self) -> None:
        """Let it run: its launch is on disk."""
        self.expect()
        self._write(say.word(say.Begin()))

    def expect(self) -> None:
        """Its agent is here: what comes for it from now on waits until the process asks for it."""
        if self.agent not in self._lines:
            self._line(self.agent)
            for law in ("", *[law for law, _ in self.birth.laws]):
                self._early[self.agent, law] = []
                self._attend(self.agent, law)

    async def stop(self) -> None:
        """Tell it to end, and see that it does."""
        if not self._over:
            self._write(say.word(say.StopProgram()))
        await asyncio.wait([self.gone], timeout=say.STOP_S)
        self.kill("it did not end when it was told to")
        await asyncio.wait([self.gone], timeout=say.STOP_S)

    def part(self, agent: str) -> None:
        """An agent of it has left the host; when it is the program's own, this is its end here."""
        if agent != self.agent and agent not in self._lines:
            return
        self._write(say.word(say.Gone(agent)))
        self._lines.pop(agent, None)
        if agent == self.agent:
            self.left = True
            self.end()
            self._loop.call_later(say.STOP_S, self.kill, "its agent has left")

    def kill(self, why: str) -> None:
        """End the process at once."""
        self.why = self.why or why
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def end(self) -> None:
        """What is the program's ends: what it waits for, its reactions, its mail."""
        if self._over:
            return
        self._over = True
        self._queue.close()
        reactions, self.reactions = self.reactions, {}
        for id, agent in reactions.items():
            line = self._lines.get(agent)
            if line is not None:
                line.adjust(id, "remove")
        lines, self._lines = self._lines, {}
        for agent, line in lines.items():
            line.shut(f"agent {agent}")
        if not self.left:
            early, self._early = self._early, {}
            for (agent, law), mail in early.items():
                self._host.served.leave_mail(agent, [(law, *one) for one in mail])
        for task in list(self._tasks):
            task.cancel()

    async def _look_on(self, process: asyncio.subprocess.Process) -> None:
        """Keep the last it prints, see that it is there, and tell when it is not."""
        pinging = self._loop.create_task(self._ping())
        assert process.stdout is not None, "it was asked for"
        while data := await process.stdout.read(OUTPUT_BYTES):
            self._output.append(data)
        await process.wait()
        pinging.cancel()
        self._transport.close()
        await asyncio.sleep(0)  # so that it is
        self._folder.cleanup()
        self._steps.close()
        if not self.why:
            said = b"".join(self._output)[-OUTPUT_BYTES:].decode(errors="replace").strip()
            ended = f"its process ended with code {process.returncode}"
            self.why = f"{ended}; it said last: {said}" if said else ended
        if not self._born.done():
            self._born.set_exception(self._failed(self.why))
            self._born.exception()  # who waits has it, if anybody does
        self.end()
        self.gone.set_result(None)
        self._processes.over(self, "" if self.left else self.why)

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(say.SILENT_S / 3)
            if self._loop.time() - self._heard_at > say.SILENT_S:
                self.kill(f"it held its event loop for {say.SILENT_S:g} s")
            elif self._born.done():
                self._write(say.word(say.PingProgram()))

    def _failed(self, why: str) -> ProgramFailed:
        return ProgramFailed(agent=self.agent, program=self.program, why=why)

    # -- what goes to it -----------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def send(self, agent: str, body: bytes) -> None:
        """Send what the host has for an agent of it."""
        if not self._over:
            self._write(say.envelope(agent, body))

    def mail(self, agent: str, law: str, sender: str, message: Term) -> None:
        """Send an agent's mail; what the process has not asked for yet waits."""
        early = self._early.get((agent, law))
        if early is None:
            self.send(agent, talk.pack_mail(0, law, sender, message))
        elif len(early) < EARLY_MAX:
            early.append((sender, message))
        else:
            facts = {"agent": agent, "law": law, "limit": EARLY_MAX}
            self._processes.report(Report("mail-lost", facts))

    def reply(self, agent: str, seq: int, value: object) -> None:
        """Answer a call."""
        self.send(agent, talk.pack_reply(0, seq, value))

    def fail(self, agent: str, seq: int, error: BaseException) -> None:
        """Answer a call with an error."""
        if isinstance(error, NomospaceError):
            self.send(agent, talk.pack_failure(0, seq, error))

    def answered(self, agent: str, seq: int, call: LocalCall | None) -> None:
        """A call waits no longer."""
        self._calls.pop((agent, seq), None)
        line = self._lines.get(agent)
        if line is not None and call is not None:
            line.settled(call)

    # -- what comes from it --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from the class of that name.
        self._transport = cast("asyncio.Transport", transport)
        self._queue.transport = self._transport

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        try:
            self._queue.put(self._framer.feed(data, LOT_FRAMES))
        except BadFrame as error:
            self.kill(str(error))

    def _more(self) -> list[bytes]:
        try:
            return self._framer.feed(b"", LOT_FRAMES)
        except BadFrame as error:
            self.kill(str(error))
            return []

    def _handle(self, frames: list[bytes], until: float) -> None:
        """Do what some frames ask for, as long as there is time."""
        clock = self._host.turns.clock
        for at, frame in enumerate(frames):
            if self._queue.held or (at and clock() >= until):
                self._queue.put_back(frames[at:])
                return
            try:
                self._hear(frame)
            except Unready as early:
                self._queue.hold(frames[at:])
                self._spawn(self._read(early.text))
                return
            except PeerError as error:
                self.kill(f"what it says makes no sense: {error}")
                return

    async def _read(self, text: requests.LawText | requests.OntologyText) -> None:
        await self._processes.read(text, self.agent)
        self._queue.go_on()

    def _spawn(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        return held(self._loop.create_task(work), self._tasks)

    def _hear(self, frame: bytes) -> None:
        agent, body = say.opened(frame)
        if not agent:
            self._told(say.read(say.TO_HOST, body))
            return
        line = self._lines.get(agent)
        if line is None or self._over:
            return  # it has just left
        try:
            call = talk.unpack_call(body)
        except CallTooWide as error:
            self.fail(agent, talk.call_number(body), error)
            return
        try:
            seq, _, request = talk.read_call(call, self._processes.laws)
            if isinstance(request, requests.Open) and request.ontology is not None:
                self._processes.ready(request.ontology)
            self._ask(agent, line, seq, request)
        except (CallerError, LawError, Unavailable) as error:
            self.fail(agent, call[1], error)

    def _ask(self, agent: str, line: LocalConnection, seq: int, request: requests.Request) -> None:
        if len(self._calls) >= CALLS_MAX:
            raise BadFrame(why=f"more than {CALLS_MAX:,} calls wait")
        if isinstance(request, requests.Cancel):
            self._call_off(agent, line, request.op)
            self.reply(agent, seq, True)
        elif isinstance(request, requests.Move):
            if agent != self.agent:
                raise NotForClients(what="move of a helper")
            self._calls[agent, seq] = self._spawn(self._move(line, agent, seq, request))
        elif isinstance(request, requests.Launch):
            raise NotForClients(what="launch")
        elif isinstance(request, requests.React):
            line.react(request, PipeEar(self, agent, seq))
        else:
            if isinstance(request, requests.Adopt):
                self._attend(agent, key_of(request.law.hash, request.number))
            asker = PipeAsker(self, agent, seq)
            self._calls[agent, seq] = asker
            asker.call = line.begin(request, asker)

    def _call_off(self, agent: str, line: LocalConnection, seq: int) -> None:
        waiting = self._calls.get((agent, seq))
        if isinstance(waiting, asyncio.Task):
            waiting.cancel()
        elif waiting is not None and waiting.call is not None:
            line.call_off(waiting.call)

    async def _move(
        self, line: LocalConnection, agent: str, seq: int, request: requests.Move
    ) -> None:
        for _ in range(MAIL_WAITS_MAX):  # what has been ruled on and waits for the disk goes along
            if not self._processes.mail_waits(agent):
                break
            await asyncio.sleep(MAIL_WAIT_S)
        unread = [(one.law, one.sender, one.message) for one in request.mail]
        held = [key for key in self._early if key[0] == agent]
        for key in held:
            unread += [(key[1], *one) for one in self._early[key]]
        code = self.birth.code
        try:
            await line.move(request.to, self.program, request.state, code, tuple(unread))
            self.reply(agent, seq, None)
        except Departed:
            pass  # it is told so
        except NomospaceError as error:
            self.fail(agent, seq, error)
            for key in held:
                self._bring_early(key)
        finally:
            self._calls.pop((agent, seq), None)

    def _bring_early(self, key: tuple[str, str]) -> None:
        for sender, message in self._early.pop(key, ()):
            self.mail(*key, sender, message)

    def _told(self, said: say.ToHost) -> None:
        if isinstance(said, say.Born):
            if not self._born.done():
                self._born.set_result(said)
        elif isinstance(said, say.Unborn):
            self.why = f"{said.module}: {said.why}" if said.module else said.why
        elif isinstance(said, say.Strong):
            self._told_strong(said)
        elif isinstance(said, say.Attend):
            self._attend(said.agent, said.law)
            self._bring_early((said.agent, said.law))
        elif isinstance(said, say.HoldMail):
            for key in self._attended:
                if key[0] == said.agent:
                    self._early.setdefault(key, [])
            self._write(say.word(say.MailHeld(said.agent)))
        elif isinstance(said, say.CreateHelper):
            self._spawn(self._create(said))
        elif isinstance(said, say.Said):
            error = ProgramFailed(agent=self.agent, program=self.program, why=said.error)
            self._processes.report(Report(said.what, said.facts, error if said.error else None))
        elif isinstance(said, say.Raised | say.Over):
            self.why = OVER if isinstance(said, say.Over) else f"it raised {said.error}"
            self.end()
            if not self.left:
                unread = [(law, sender, unpack_term(body)) for law, sender, body in said.mail]
                self._host.served.leave_mail(self.agent, unread)
            self._processes.over(self, self.why)

    def _told_strong(self, said: say.Strong) -> None:
        agent, number = said.agent, said.number
        line = self._lines.get(agent)
        if line is None or self._over:
            return
        try:
            if not self.rights.strong:
                raise ProgramMayNot(publisher=self.rights.publisher, what="react strongly")
            template = Template.of_terms(unpack_fields(said.pattern))
            request = requests.React(said.space, template, said.mode, STRONG, said.at, said.dest)
            line.react(request, PipeEar(self, agent, number))
        except Unfit as error:
            raise BadFrame(why=str(error)) from None
        except CallerError as error:
            self.fail(agent, number, error)

    def _attend(self, agent: str, law: str) -> None:
        line = self._lines.get(agent)
        if line is not None and (agent, law) not in self._attended:
            self._attended[agent, law] = None
            line.attend(law, PipeMailbox(self, agent, law))

    def _line(self, agent: str) -> LocalConnection:
        line = self._lines[agent] = self._host.line(agent)
        return line

    async def _create(self, said: say.CreateHelper) -> None:
        try:
            id = helper_id(self.agent, said.name, self._host.domain)
            if id not in self._lines and len(self._lines) > self.rights.helpers:
                raise TooManyHelpers(
                    what=f"the number of helpers of {self.agent}",
                    limit=self.rights.helpers,
                    advice="let one of them do the work of many, or ask its operator for more",
                )
            if said.program:
                await self._processes.launch_helper(self, id, said.program, said.state)
            elif id not in self._lines:
                self._line(id)
            self._write(say.word(say.HelperCreated(said.number, id)))
        except NomospaceError as error:
            self._write(say.word(say.HelperCreated(said.number, error=encode_error(error))))

    # -- inside a step -------------------------------------------------------------------------

    def fire(self, number: int, firing: StepFiring) -> None:
        """A strong reaction fires: have its listener run, and do inside the step what it asks for.

        Raises what the listener raised, in words; the step goes on.
        """
        if self._over or self.why:
            return
        found = talk.pack_fired(0, firing.reaction, firing.tuple)
        self._exchange(say.FireListener(number, found), partial(inside_step, firing))

    def apply(self, name: str, inputs: tuple[Term, ...]) -> Term:
        """The value of a dependence function in this process; raises when it has none."""
        if self._over or self.why:
            raise self._failed(self.why or "it has ended")
        done = self._exchange(say.Apply(name, encode(inputs)), nothing_inside)
        (value,) = unpack_fields(done.value) or (None,)
        return value

    def _exchange(
        self, said: say.FireListener | say.Apply, inside: Callable[[requests.Request], object]
    ) -> say.Done:
        try:
            done = self._steps.exchange(said, inside)
        except TimeoutError:
            limit_s = self._processes.listener_s
            self.kill(f"a listener of it took longer than {limit_s * 1000:g} ms inside a step")
            raise ListenerOverran(limit_s=limit_s) from None
        except (OSError, PeerError, Unready) as error:
            self.kill(f"it broke off inside a step: {error}")
            raise self._failed(self.why) from None
        if done.error:
            raise self._failed(f"a listener of it raised {done.error}")
        return done


OVER: Final = "over"
"""Why a program ends that has returned."""


def _environment(folder: str) -> dict[str, str]:
    """What a program finds in its environment: nothing of its host's."""
    kept = {name: os.environ[name] for name in ("TZ", "LD_LIBRARY_PATH") if name in os.environ}
    return {
        **kept,
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": folder,
        "TMPDIR": folder,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
