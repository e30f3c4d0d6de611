"""The port that the workers of a host share: whoever takes a connection in passes it on.

All workers listen on the same sockets, which their supervisor holds. Who takes a connection in
looks at its first bytes, without reading them (`wire.opening`), and sends the descriptor of one
that is another's over a Unix socket. That socket is the supervisor's too: what was passed to a
worker that is killed waits there for its next life. A client that names no worker comes to the one
that its agent's id falls to; over TLS, which hides the agent, to the first, which leads it on.

Bounds: those of a port (`listen`), of each worker; `PASSING_MAX` connections wait for a sibling
that does not take them, for `PASSING_S` each, and more are dropped: their clients call again.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from nomospace.node.listen import ACCEPTS_MAX, TLS_FIRST_BYTE, Arrival, Listener
from nomospace.node.workers import WorkerPart
from nomospace.wire.framing import CLIENT, STRANGER_BYTES_MAX, BadFrame
from nomospace.wire.opening import Opening, read_plain, read_tls
from nomospace.wire.talk import SELF

PASSING_MAX: Final = 1_024
"""How many connections wait for one sibling."""
PASSING_S: Final = 10.0
"""How long each of them waits at most."""
_FOR_US: Final = -1


class WorkerListener(Listener):
    """The port of one worker."""

    def share(self, part: WorkerPart) -> None:
        """Be the port of one worker; before `start`."""
        self._part = part
        self._seen: dict[Arrival, int] = {}
        """How many bytes of a stranger were looked at; `_FOR_US` when a sibling has done so."""
        self._passing: dict[str, deque[tuple[float, socket.socket]]] = {}
        """Connections that a sibling has not taken, by its name, and until when they wait."""

    @property
    def advertised(self) -> str:
        """What to tell others: the address, and which of the workers this one is."""
        return f"{super().advertised}/{self._part.name}"

    async def start(self, on_bound: Callable[..., None] | None = None) -> None:
        """Begin to listen, and to take what siblings pass on."""
        await super().start(on_bound)
        self._loop.add_reader(self._part.inbox.fileno(), self._take_passed)

    async def stop(self) -> None:
        """Take nobody in any more; what siblings pass on waits for the next life."""
        self._loop.remove_reader(self._part.inbox.fileno())
        for name, held in self._passing.items():
            self._loop.remove_writer(self._part.outboxes[name].fileno())
            for _, sock in held:
                sock.close()
        self._passing.clear()
        await super().stop()

    async def _bind(self) -> list[socket.socket]:
        return [sock.dup() for sock in self._part.listening]

    # -- whose it is -------------------------------------------------------------------------

    def _first(self, arrival: Arrival, sock: socket.socket) -> None:
        seen = self._seen.get(arrival, 0)
        if seen != _FOR_US:
            try:
                data = sock.recv(STRANGER_BYTES_MAX, socket.MSG_PEEK)
            except OSError:
                data = b""
            opening = self._opening(data)
            if opening is None and len(data) > seen:
                # Else the loop would come round for the same bytes again.
                self._seen[arrival] = len(data)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(data) + 1)
                return
            self._seen.pop(arrival, None)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
            whose = self._part.name if opening is None else self._worker(opening)
            if whose != self._part.name:
                self._loop.remove_reader(sock.fileno())
                self._forget(arrival)
                self._pass_on(whose, sock)
                return
        super()._first(arrival, sock)

    def _forget(self, arrival: Arrival) -> None:
        self._seen.pop(arrival, None)
        super()._forget(arrival)

    def _opening(self, data: bytes) -> Opening | None:
        """What a connection begins with; nothing is looked for in what will be refused anyhow."""
        if not data or (data[0] == TLS_FIRST_BYTE) != (self._tls is not None):
            return Opening("", self._part.name)
        try:
            return read_plain(data) if self._tls is None else read_tls(data)
        except BadFrame:
            return Opening("", self._part.name)

    def _worker(self, opening: Opening) -> str:
        part = self._part
        if opening.worker:
            return opening.worker if opening.worker in part.names else part.names[0]
        if opening.protocol == CLIENT and opening.agent not in ("", SELF):
            agent = opening.agent if "@" in opening.agent else f"{opening.agent}@{part.domain}"
            return part.home_of(agent)
        return part.names[0]

    # -- passing on --------------------------------------------------------------------------

    def _pass_on(self, worker: str, sock: socket.socket) -> None:
        held = self._passing.get(worker)
        if held is None:
            if self._sent(worker, sock):
                return
            held = self._passing[worker] = deque()
            self._loop.add_writer(self._part.outboxes[worker].fileno(), self._pass_more, worker)
        if len(held) >= PASSING_MAX:
            self._not_passed(worker, sock)
        else:
            held.append((self._loop.time() + PASSING_S, sock))

    def _not_passed(self, worker: str, sock: socket.socket) -> None:
        self.notes("not-passed", worker=worker, why="it takes no connections")
        sock.close()

    def _pass_more(self, worker: str) -> None:
        held = self._passing[worker]
        while held and self._sent(worker, held[0][1]):
            held.popleft()
        self._settle_passing(worker)

    def _settle_passing(self, worker: str) -> None:
        """Nobody is waited for where nothing is to be passed."""
        if not self._passing[worker]:
            del self._passing[worker]
            self._loop.remove_writer(self._part.outboxes[worker].fileno())

    def _sweep(self) -> None:
        now = self._loop.time()
        for worker, held in list(self._passing.items()):
            while held and held[0][0] <= now:
                self._not_passed(worker, held.popleft()[1])
            self._settle_passing(worker)
        super()._sweep()

    def _sent(self, worker: str, sock: socket.socket) -> bool:
        """Whether a connection is on its way to a sibling, or is no more."""
        try:
            socket.send_fds(self._part.outboxes[worker], [b"\0"], [sock.fileno()])
        except BlockingIOError:
            return False
        except OSError as error:
            self.notes("not-passed", worker=worker, why=error.strerror or str(error))
        sock.close()
        return True

    def _take_passed(self) -> None:
        for _ in range(ACCEPTS_MAX):
            try:
                _, found, _, _ = socket.recv_fds(self._part.inbox, 1, 1)
            except (BlockingIOError, InterruptedError):
                return
            for number in found:
                sock = socket.socket(fileno=number)
                with suppress(OSError):
                    sock.setblocking(False)
                    arrival = self._admit(sock, str(sock.getpeername()[0]))
                    if arrival is not None:
                        self._seen[arrival] = _FOR_US
                    continue
                sock.close()  # its client has gone meanwhile
