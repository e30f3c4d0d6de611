"""`nomospace host run --workers N`: the process that starts a host's workers and starts them again.

It holds what must outlive a worker: the sockets that listen, the Unix sockets over which workers
pass connections to each other, and the token of a host without certificates. It serves nobody and
has neither a loop nor threads, so a worker is a fork of it: all modules are there, and one that was
killed is back in the time that its store takes.

The first worker begins alone: its store says over how many the host's agents are spread. The others
follow when it serves. A worker that ends is started again, after a pause that doubles when it did
not live long; one that has never served ends the host, as what it was told is wrong. A supervisor
that is killed takes its workers along: they notice the end of a pipe that it alone writes to.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from nomospace.client.own_tokens import OwnToken
from nomospace.errors import NomospaceError
from nomospace.node.addresses import Address
from nomospace.node.binding import bind_all
from nomospace.node.config import Config
from nomospace.node.listen import BACKLOG, PortUnavailable
from nomospace.node.workers import ENDED, WorkerPart, check_workers, names_of, worker_config

PAUSE_MIN_S: Final = 0.1
PAUSE_MAX_S: Final = 5.0
"""Before a worker that did not live long is started again."""
LONG_S: Final = 10.0
"""One that lived so long is started again at once."""
STOP_S: Final = 60.0
"""How long workers have to end in good order."""
BIND_S: Final = 3.0
"""How long the port is waited for: workers of a supervisor that was killed may still end."""
LINE_BYTES_MAX: Final = 1 << 16
"""The longest line that a worker tells."""
PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What the supervisor is told with these is for its workers."""

Serve = Callable[[Config, WorkerPart], None]
"""Serves as one worker until it is told to end."""
Ready = Callable[[dict[str, object]], None]
"""Told when all workers serve: what the first one said of itself, and their processes."""

_log = logging.getLogger("nomospace.host")


class WorkerFailed(NomospaceError):
    """A worker ended before it ever served."""

    code = "node.worker-failed"
    words = "worker {name} of the host cannot begin (exit status {status}); what it said is above"
    name: str
    status: int


class _Worker:
    """One worker, through all its lives."""

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.inbox, self.outbox = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inbox.setblocking(False)
        self.outbox.setblocking(False)
        self.pid = 0
        self.tells: int | None = None
        self.said = b""
        self.began = 0.0
        self.due = 0.0
        """When it is to be started."""
        self.pause_s = PAUSE_MIN_S
        self.served = False
        """Whether any of its lives has served."""
        self.ready: dict[str, object] = {}
        self.leaving = False
        """Whether it is not to be started again."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good."""
        return self.leaving and not self.pid

    def close(self) -> None:
        self.inbox.close()
        self.outbox.close()


class Supervisor:
    """Runs the workers of one host. `run` returns when it was told to end, or in a worker."""

    def __init__(self, config: Config, serve: Serve, ready: Ready) -> None:
        check_workers(config)
        self._config = config
        self._serve = serve
        self._on_ready = ready
        self._spread = config.host.workers or 1
        self._workers: list[_Worker] = []
        self._listening: list[socket.socket] = []
        self._own = OwnToken(secrets.token_urlsafe(32) if config.host.insecure else "")
        self._ending = 0.0
        self._announced = False
        self._respread = False
        self._failed: WorkerFailed | None = None

    def run(self) -> None:
        """Serve with all workers until SIGTERM or SIGINT; raises why that cannot be."""
        self._listen()
        self._plan(self._spread)
        gc.collect()
        gc.freeze()
        wake_in, wake_out = os.pipe()
        os.set_blocking(wake_in, False)
        os.set_blocking(wake_out, False)
        alive_in, alive_out = os.pipe()
        self._pipes = (wake_in, wake_out, alive_in, alive_out)
        signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end())
        signal.signal(signal.SIGHUP, lambda *_: self._send_all(signal.SIGHUP))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            self._look_after()
        finally:
            if self._workers:  # else this is a worker, and none of it is its own
                self._clear()
        if self._failed is not None:
            raise self._failed

    # -- what outlives workers ---------------------------------------------------------------

    def _listen(self) -> None:
        address = self._config.listen
        if self._config.host.insecure:
            address.check_loopback()
        until = time.monotonic() + BIND_S
        while True:
            try:
                found = socket.getaddrinfo(
                    *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
                )
                self._listening = bind_all(found, several=address.port != 0)
                for sock in self._listening:
                    sock.listen(BACKLOG)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                    why = error.strerror or str(error)
                    raise PortUnavailable(address=str(address), why=why) from error
                time.sleep(0.05)
        for sock in self._listening if self._own.token else ():
            try:
                self._own.keep(*sock.getsockname()[:2])
            except NomospaceError as error:
                _log.warning("%s", error)

    def _plan(self, count: int) -> None:
        """Have so many workers."""
        names = names_of(self._config.host.name, count)
        for number in range(len(self._workers) + 1, count + 1):
            self._workers.append(_Worker(number, names[number - 1]))

    def _clear(self) -> None:
        signal.set_wakeup_fd(-1)
        self._own.close()
        for sock in self._listening:
            sock.close()
        for worker in self._workers:
            worker.close()
        for number in self._pipes:
            os.close(number)

    # -- looking after them ------------------------------------------------------------------

    def _look_after(self) -> None:
        first = self._workers[0]
        while True:
            now = time.monotonic()
            self._reap(now)
            if self._ending and not any(worker.pid for worker in self._workers):
                return
            if self._ending and now > self._ending:
                self._send_all(signal.SIGKILL)
            for worker in self._workers:
                waits = worker is not first and not first.served
                if worker.pid or worker.leaving or waits or self._ending or now < worker.due:
                    continue
                if self._start(worker):
                    return
            self._wait(now)

    def _wait(self, now: float) -> None:
        """Wait for a signal, a word of a worker, or the next start."""
        wake = self._pipes[0]
        due = [w.due for w in self._workers if not w.pid and not w.leaving and w.due > now]
        timeout = min([*due, now + 1.0]) - now
        tells = {worker.tells: worker for worker in self._workers if worker.tells is not None}
        ended = {w.inbox.fileno(): w for w in self._workers if w.is_over}
        readable, _, _ = select.select([wake, *tells, *ended], [], [], timeout)
        for number in readable:
            if number in ended:  # for a worker that is no more: whoever calls is to notice
                _, found, _, _ = socket.recv_fds(ended[number].inbox, 1, 1)
                for sock in found:
                    os.close(sock)
                continue
            if number == wake:
                with suppress(BlockingIOError):
                    os.read(wake, 4096)
            else:
                self._hear(tells[number])

    def _start(self, worker: _Worker) -> bool:
        """Fork a worker; whether this is the worker, which has ended."""
        tells_in, tells_out = os.pipe()
        worker.began = time.monotonic()
        # A signal between the fork and the note of it would be told to all but this one.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        pid = os.fork()
        if pid:
            worker.pid = pid
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            os.close(tells_out)
            os.set_blocking(tells_in, False)
            worker.tells, worker.said = tells_in, b""
            return False
        os.close(tells_in)
        self._be(worker, tells_out)
        return True

    def _be(self, worker: _Worker, tells: int) -> None:
        """Serve as a worker, in a process of its own."""
        signal.set_wakeup_fd(-1)
        for number in (*PASSED_ON, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        wake_in, wake_out, alive_in, alive_out = self._pipes
        for pipe in (wake_in, wake_out, alive_out):
            os.close(pipe)
        workers, self._workers = self._workers, []
        for other in workers:
            if other.tells is not None:
                os.close(other.tells)
            if other is not worker:
                other.inbox.close()
        # One that has ended for good is none of them any more, and would be waited for.
        names = tuple([one.name for one in workers if one is worker or not one.is_over])
        place = self._listening[0].getsockname()[:2]
        here = Address(*place)
        if here.anywhere:
            here = Address("::1" if ":" in here.host else "127.0.0.1", here.port)
        before = tuple([f"{here}/{name}" for name in names[: worker.number - 1]])
        config = worker_config(self._config, worker.number, before)
        part = WorkerPart(
            number=worker.number,
            names=names,
            domain=config.host.domain,
            spread=self._spread,
            token=self._own.token,
            listening=self._listening,
            inbox=worker.inbox,
            outboxes={one.name: one.outbox for one in workers},
            respread=self._respread,
            alive=alive_in,
            tell=partial(_tell, tells),
        )
        self._serve(config, part)

    def _hear(self, worker: _Worker) -> None:
        assert worker.tells is not None
        data = os.read(worker.tells, LINE_BYTES_MAX)
        if not data:
            os.close(worker.tells)
            worker.tells = None
            return
        *lines, worker.said = (worker.said + data).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "ready" in told:
                worker.served, worker.ready = True, told["ready"]
            elif "workers" in told:
                self._plan(told["workers"])
            elif "respread" in told:
                self._respread = told["respread"]
            elif "spread" in told:
                self._respread = False
                for one in self._workers[told["spread"] :]:
                    one.leaving = True
                    if one.pid:
                        os.kill(one.pid, signal.SIGTERM)
        if not self._announced and all(one.ready for one in self._workers):
            self._announced = True
            processes = {one.name: one.pid for one in self._workers}
            self._on_ready({**self._workers[0].ready, "workers": processes})

    def _reap(self, now: float) -> None:
        for worker in self._workers:
            if not worker.pid:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if not pid:
                continue
            if worker.tells is not None:
                self._hear_all(worker)
            worker.pid = 0
            code = os.waitstatus_to_exitcode(status)
            if self._ending or worker.leaving:
                continue
            if not worker.served and code > 0 and code != ENDED:  # else it was killed
                self._failed = self._failed or WorkerFailed(name=worker.name, status=code)
                self._end()
                continue
            short = now - worker.began < LONG_S
            worker.pause_s = min(2 * worker.pause_s, PAUSE_MAX_S) if short else PAUSE_MIN_S
            worker.due = now + worker.pause_s / 2 if short else now
            _log.warning("worker %s ended (%s); it is started again", worker.name, code)

    def _hear_all(self, worker: _Worker) -> None:
        while worker.tells is not None:
            with suppress(BlockingIOError):
                self._hear(worker)
                continue
            os.close(worker.tells)
            worker.tells = None

    def _end(self) -> None:
        if not self._ending:
            self._ending = time.monotonic() + STOP_S
        self._send_all(signal.SIGTERM)

    def _send_all(self, number: int) -> None:
        for worker in self._workers:
            if worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, number)


def _tell(pipe: int, **facts: object) -> None:
    """Tell the supervisor something; one that is gone hears nothing."""
    with suppress(OSError):
        os.write(pipe, json.dumps(facts).encode() + b"\n")


def end_with(alive: int) -> None:
    """End this worker as soon as its supervisor has ended; for its loop."""
    asyncio.get_running_loop().add_reader(alive, os._exit, ENDED)
