"""Hosts that start in a moment: forks of a process that has read all modules already.

A host reads some 300 modules, which takes a core half a second, and these tests start a hundred
hosts. So each test process has a nursery: a child that has read what hosts need, and has no threads
and no event loop. Asked for a host, it forks. From then on that is a process as any other, with
memory, descriptors and signals of its own, and `kill -9` ends it as it ends any.

Hosts end with the nursery, and the nursery with the test process, however that ends (on Linux the
kernel sees to it). That a host starts from nothing too is tried in `tests/unit/cli`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final, Self

REQUEST_BYTES_MAX: Final = 1 << 16
"""The longest command line."""
BORN_S: Final = 60.0
"""How long the nursery may take to fork; the first time it has to read all modules."""
READ_FIRST: Final = """
    nomospace.cli.host nomospace.node.serve nomospace.node.loops nomospace.node.logs uvloop
    nomospace.node.identity nomospace.node.door nomospace.node.vouching nomospace.node.tcp
    nomospace.node.nats nomospace.node.services.mediators nomospace.store.sqlite
    nomospace.store.postgres nomospace.space.alike nomospace.space.correlating nats.aio.client
    typer._adapters typer.main rich.console
""".split()
READ_FOR: Final = {
    "--api": """
        nomospace.node.services.web_port nomospace.node.services.web nomospace.api.http nicegui
    """.split(),
}
"""What is read besides, before the first host that has such an option."""
_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """Asked of the kernel by a child: a test that is killed leaves nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


class Child:
    """A process that the nursery has made; used as `subprocess.Popen` is.

    At the end of a `with` block it is killed if it has not ended.
    """

    def __init__(self, status: IO[bytes], stdout: IO[bytes]) -> None:
        self._status = status
        self.stdout = stdout
        self.pid = int(self._told(BORN_S))
        self.returncode: int | None = None

    def _told(self, timeout_s: float) -> bytes:
        """The next line from the nursery: the process id, and in the end the exit code."""
        ready, _, _ = select.select([self._status], [], [], timeout_s)
        if not ready:
            raise subprocess.TimeoutExpired("nomospace", timeout_s)
        line = self._status.readline()
        assert line, "the nursery has ended"
        return line

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout_s: float) -> int:
        """Wait until it has ended; its exit code, or minus the signal that ended it."""
        if self.returncode is None:
            self.returncode = int(self._told(timeout_s))
            self._status.close()
        return self.returncode

    def communicate(self, timeout: float = BORN_S) -> tuple[bytes, None]:
        """Wait until it has ended; what it has said and nobody has read."""
        said = self.stdout.read()
        self.wait(timeout)
        self.stdout.close()
        return said, None

    def send_signal(self, how: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, how)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait(BORN_S)
        self.stdout.close()


def start(
    arguments: list[str],
    *,
    folder: Path,
    log: IO[bytes],
    program: Path | None = None,
    tree: Path | None = None,
) -> Child:
    """Run `nomospace ARGUMENTS` in a folder, with its standard error in a file.

    Instead of the command line it may be a `program`: a file of Python that imports no tests. It is
    the nomospace of this tree, or that of another.
    """
    out, its_out = os.pipe()
    status, its_status = os.pipe()
    asked = {"arguments": arguments, "folder": str(folder), "program": str(program or "")}
    request = json.dumps(asked).encode()
    assert len(request) <= REQUEST_BYTES_MAX
    try:
        socket.send_fds(_nursery(tree), [request], [its_out, log.fileno(), its_status])
    finally:
        os.close(its_out)
        os.close(its_status)
    return Child(os.fdopen(status, "rb", buffering=0), os.fdopen(out, "rb"))


@cache
def _nursery(tree: Path | None) -> socket.socket:
    """The way to the nursery of this process, which begins on first use; each tree has its own."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = Path(__file__) if tree is None else tree / "tests" / "nursery.py"
    with there:
        process = subprocess.Popen(
            [sys.executable, "-P", script, str(there.fileno())],
            env=None if tree is None else {**os.environ, "PYTHONPATH": str(tree / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[there.fileno()],
            preexec_fn=end_with_parent,  # noqa: PLW1509 (it calls the kernel and no more)
        )

    def close() -> None:
        here.close()
        process.wait(BORN_S)

    atexit.register(close)
    return here


# -- inside the nursery ------------------------------------------------------------------------


class _Nursery:
    """Forks when asked, and tells how its children end."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._ended, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._children: dict[int, int] = {}
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno())

    def serve(self) -> dict[str, Any]:
        """Until the test process is gone; in a child, what it was asked for."""
        while True:
            ready, _, _ = select.select([self._asked, self._ended], [], [])
            if self._ended in ready:
                self._ended.recv(REQUEST_BYTES_MAX)
                self._tell_ended()
            if self._asked in ready:
                data, fds, _, _ = socket.recv_fds(self._asked, REQUEST_BYTES_MAX, 3)
                if not data:
                    return {}
                out, log, status = fds
                request = json.loads(data)
                _read_for(request["arguments"])
                pid = os.fork()
                if pid == 0:
                    return self._be_born(request, out, log, status)
                os.close(out)
                os.close(log)
                self._children[pid] = status
                os.write(status, b"%d\n" % pid)

    def _tell_ended(self) -> None:
        for pid, status in list(self._children.items()):
            found, how = os.waitpid(pid, os.WNOHANG)
            if found:
                del self._children[pid]
                with suppress(BrokenPipeError):  # nobody may be waiting for it any more
                    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(how))
                os.close(status)

    def _be_born(self, request: dict[str, Any], out: int, log: int, status: int) -> dict[str, Any]:
        """Let go of all that is the nursery's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for mine in (self._asked, self._ended, self._wake):
            mine.close()
        os.dup2(out, 1)
        os.dup2(log, 2)
        for fd in (out, log, status, *self._children.values()):
            os.close(fd)
        end_with_parent()
        os.chdir(request["folder"])
        return request


def _read_for(arguments: list[str]) -> None:
    for option, names in READ_FOR.items():
        if option in arguments and names[0] not in sys.modules:
            for name in names:
                import_module(name)
            gc.freeze()


def main() -> int:
    """The nursery's whole life, and the whole life of each of its children."""
    for name in READ_FIRST:
        import_module(name)
    gc.collect()
    gc.freeze()  # what is there already is shared, and stays so
    request = _Nursery(socket.socket(fileno=int(sys.argv[1]))).serve()
    if not request:
        return 0
    if request["program"]:
        sys.argv = [request["program"], *request["arguments"]]
        runpy.run_path(request["program"], run_name="__main__")
        return 0
    from nomospace.cli import main as run

    sys.argv = ["nomospace", *request["arguments"]]  # one that stands by starts itself anew
    return run(request["arguments"])


if __name__ == "__main__":
    code = main()
    # Gone at once: to take all modules apart is half of what the life of such a host costs.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
