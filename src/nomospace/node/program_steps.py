"""Steps of a host that wait for a program: its strong listeners, and functions of ontologies.

The core is in the middle of a step, so nothing else happens at the host: a socket is read that
nobody else reads, for as long as all programs together have left in this step.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Protocol

from nomospace.calls.requests import Adjust, Out, Request, Seek
from nomospace.calls.ways import BULK, WAITING
from nomospace.errors import NomospaceError
from nomospace.host.firing import Firing as StepFiring
from nomospace.node import program_talk as say
from nomospace.sessions.host_sessions import NotForClients
from nomospace.wire import talk
from nomospace.wire.calls import Laws
from nomospace.wire.framing import LENGTH_BYTES, BadFrame


class StepTime(Protocol):
    """How long a step may wait for programs, and has waited."""

    @property
    def listener_s(self) -> float: ...
    @property
    def laws(self) -> Laws: ...
    def waited(self) -> float: ...
    def wait_more(self, seconds: float) -> None: ...


class ListenerCalls:
    """The host's end of a program's second socket."""

    def __init__(self, at: socket.socket, time: StepTime) -> None:
        self._at = at
        self._time = time

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
                _, _, request = talk.read_call(talk.unpack_frame(heard.body), self._time.laws)
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
        left = self._time.listener_s - self._time.waited()
        if left <= 0:
            raise TimeoutError
        self._at.settimeout(left)
        since = time.monotonic()
        try:
            return do(given)
        finally:
            self._time.wait_more(time.monotonic() - since)


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
