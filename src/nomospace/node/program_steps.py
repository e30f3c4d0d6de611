"""Steps of a host that wait for a program: its strong listeners, and functions of ontologies.

The core is in the middle of a step, so nothing else happens at the host: a socket is read that
nobody else reads, for as long as all programs together have left in this step.

What a host has for a program in another process, sent there: answers, firings and mail.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from nomospace.calls.answers import Found
from nomospace.calls.requests import Adjust, Out, Request, Seek
from nomospace.calls.ways import BULK, WAITING
from nomospace.client.connection import Firing
from nomospace.errors import NomospaceError
from nomospace.host.operations import Firing as StepFiring
from nomospace.node import program_talk as say
from nomospace.sessions.host_sessions import NotForClients
from nomospace.sessions.local_calls import LocalCall
from nomospace.terms import Term
from nomospace.wire import talk
from nomospace.wire.framing import LENGTH_BYTES, BadFrame

if TYPE_CHECKING:
    from nomospace.node.processes import Processes
    from nomospace.node.program_process import ProgramProcess


class ListenerCalls:
    """The host's end of a program's second socket."""

    def __init__(self, at: socket.socket, processes: Processes) -> None:
        self._at = at
        self._processes = processes

    def close(self) -> None:
        """The program is gone."""
        self._at.close()

    def exchange(
        self, said: say.FireListener | say.Apply, inside: Callable[[Request], object]
    ) -> say.Done:
        """Have a listener or a function run, and do with `inside` what it asks for.

        Raises `TimeoutError` when its time is up, `OSError` and `PeerError` when it breaks off.
        """
        self._send(said)
        while isinstance(heard := say.read(say.TO_STEP, self._receive()), say.InsideCall):
            try:
                _, _, request = talk.read_call(talk.unpack_frame(heard.body), self._processes.laws)
                body = talk.pack_reply(0, 1, inside(request))
            except NomospaceError as error:
                body = talk.pack_failure(0, 1, error)
            self._send(say.InsideAnswer(body))
        return heard

    def _send(self, said: say.ToListener) -> None:
        self._timed(self._at.sendall, say.framed(said))

    def _receive(self) -> bytes:
        length = int.from_bytes(self._exactly(LENGTH_BYTES))
        if length > say.FRAME_BYTES_MAX:
            raise BadFrame(why=f"{length:,} bytes are over the limit of {say.FRAME_BYTES_MAX:,}")
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            got = self._timed(self._at.recv, count - len(data))
            assert isinstance(got, bytes), got
            if not got:
                raise ConnectionResetError("it has ended")
            data += got
        return bytes(data)

    def _timed(self, do: Callable[..., object], given: object) -> object:
        """Wait for the process, as long as there is time left in this step."""
        left = self._processes.listener_s - self._processes.waited()
        if left <= 0:
            raise TimeoutError
        self._at.settimeout(left)
        since = time.monotonic()
        try:
            return do(given)
        finally:
            self._processes.wait_more(time.monotonic() - since)


def inside_step(firing: StepFiring, request: Request) -> object:
    """An operation of a listener, in the step; raises what is wrong with it."""
    if isinstance(request, Out):
        firing.out(request.fields, request.to, request.space)
        return None
    if isinstance(request, Seek) and request.how not in WAITING:
        found: object = getattr(firing, request.how)(request.template, request.space)
        return tuple(found) if request.how in BULK and isinstance(found, list) else found
    if isinstance(request, Adjust) and request.what == "remove":
        firing.remove_reaction()
        return True
    raise NotForClients(what=f"{type(request).__name__.lower()} inside a step")


def nothing_inside(request: Request) -> object:
    """What a function may do inside a step."""
    raise NotForClients(what=f"{type(request).__name__.lower()} in a function")


class PipeAsker:
    """Waits for an answer, and sends it to the program (`open_calls.Asker`)."""

    __slots__ = ("_agent", "_done", "_process", "_seq", "call")

    def __init__(self, process: ProgramProcess, agent: str, seq: int) -> None:
        self._process = process
        self._agent = agent
        self._seq = seq
        self._done = False
        self.call: LocalCall | None = None

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return False

    def set_result(self, result: object) -> None:
        self._end()
        self._process.reply(self._agent, self._seq, result)

    def set_exception(self, error: BaseException) -> None:
        self._end()
        self._process.fail(self._agent, self._seq, error)

    def result(self) -> None:
        """It has gone to the program, which gives back what it does not want."""

    def exception(self) -> None:
        """Likewise."""

    def _end(self) -> None:
        self._done = True
        self._process.answered(self._agent, self._seq, self.call)


class PipeEar:
    """Hears a reaction for the program."""

    __slots__ = ("_agent", "_process", "_reaction", "_seq")

    def __init__(self, process: ProgramProcess, agent: str, seq: int) -> None:
        self._process = process
        self._agent = agent
        self._seq = seq
        self._reaction = ""

    def on_registered(self, reaction: str) -> None:
        self._reaction = reaction
        self._process.reactions[reaction] = self._agent
        self._process.reply(self._agent, self._seq, reaction)

    def on_refused(self, error: BaseException) -> None:
        self._process.fail(self._agent, self._seq, error)

    def on_fired(self, found: Found) -> None:
        self._process.send(self._agent, talk.pack_fired(0, self._reaction, found))

    def on_strong(self, firing: Firing) -> None:
        step: object = firing
        assert isinstance(step, StepFiring), "the host's core fires it"
        self._process.fire(self._seq, step)


class PipeMailbox:
    """Gets mail for the program."""

    __slots__ = ("_agent", "_law", "_process")

    def __init__(self, process: ProgramProcess, agent: str, law: str) -> None:
        self._process = process
        self._agent = agent
        self._law = law

    def on_mail(self, sender: str, message: Term) -> None:
        self._process.mail(self._agent, self._law, sender, message)
