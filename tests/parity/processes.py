"""A world of real hosts: processes of their own, real sockets, real stores, ended by `kill -9`.

Hosts reach each other only through proxies of the test, one for each pair and direction over TCP,
one for each host before the NATS server; cutting a host off stops all that pass it. Clients speak
to their hosts directly.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from nomospace.client import Agent
from nomospace.client.remote import connect
from tests import nursery
from tests.ports import free_port
from tests.proxy import Proxy
from tests.sites import QUICK

READY_S: Final = 60.0
"""How long a host may take to be ready: these machines are shared."""
NOWHERE: Final = "127.0.0.1:1"
"""What hosts are told to advertise: only the proxies lead to them."""
PACE: Final = (
    f"--heartbeat-ms={QUICK.heartbeat // 1000}",
    f"--loss-ms={QUICK.loss // 1000}",
)
HOSTS: Final = ("ward", "icu", "lab")
"""All hosts that a story may start."""


class Stores(Protocol):
    """Where hosts keep what must survive them."""

    def url(self, name: str) -> str: ...


class Files:
    """A SQLite file for each host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, name: str) -> str:
        return str(self._folder / f"{name}.db")


class Schemas:
    """A schema of one PostgreSQL for each host."""

    def __init__(self, server: str, world: str) -> None:
        self._server = server
        self._world = world

    def url(self, name: str) -> str:
        mark = "&" if "?" in self._server else "?"
        return f"{self._server}{mark}schema={self._world}_{name}"


class Process:
    """A host that runs `nomospace host run`; `program` runs that, given what to do `first`.

    It is the nomospace of this tree, or that of another. With another `how`, another command.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        arguments: list[str],
        *,
        program: Path | None = None,
        first: Sequence[str] = (),
        tree: Path | None = None,
        how: str = "run",
    ) -> None:
        self.log = folder / f"{name}.log"
        command = [*first, "host", how, name, *PACE, *arguments, "--json"]
        with self.log.open("ab") as log:
            self.child = nursery.start(command, folder=folder, log=log, program=program, tree=tree)

    async def ready(self) -> dict[str, Any]:
        """Wait until it says that it serves; what it says."""
        try:
            async with asyncio.timeout(READY_S):
                line = await asyncio.to_thread(self.child.stdout.readline)
        except TimeoutError:
            line = b""
        if not line:
            raise AssertionError(f"a host did not start:\n{self.log.read_text()[-3_000:]}")
        said: dict[str, Any] = json.loads(line)
        return said

    def end(self, how: int) -> int:
        """End it by its process id; its exit code."""
        self.child.send_signal(how)
        return self.wait()

    def wait(self) -> int:
        """Wait until it has ended; its exit code."""
        code = self.child.wait(60)
        self.child.stdout.close()
        return code


class Real:
    """Hosts as processes; see `worlds.World`."""

    def __init__(self, stores: Stores | None = None, *, nats_port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nomospace-world-"))
        self._stores = stores or Files(self.folder)
        self._nats_port = nats_port
        self._ports = {name: free_port() for name in HOSTS}
        self._proxies: dict[tuple[str, str], Proxy] = {}
        self._processes: dict[str, Process] = {}
        self._clients: dict[str, Any] = {}
        self.keep = bool(os.environ.get("NOMOSPACE_KEEP_WORLDS"))
        """Whether stores and logs stay when all is over."""

    # -- hosts -------------------------------------------------------------------------------

    async def start(self, *names: str, keeps: bool = True) -> None:
        begun = []
        for name in names:
            if not keeps and (client := self._clients.pop(name, None)) is not None:
                await client.close()  # its agents are forgotten, and so is what they have open
            store = self._stores.url(name) if keeps else "memory"
            process = self._process(name, await self._arguments(name, store))
            self._processes[name] = process
            begun.append(process.ready())
        await asyncio.gather(*begun)

    def _process(self, name: str, arguments: list[str]) -> Process:
        return Process(name, self.folder, arguments)

    async def _arguments(self, name: str, store: str) -> list[str]:
        given = ["--insecure", "--listen", f"127.0.0.1:{self._ports[name]}"]
        given += ["--advertise", NOWHERE, "--store", store]
        if self._nats_port:
            proxy = await self._proxy(name, "nats", self._nats_port)
            return [*given, "--transport", f"nats://{proxy.address}"]
        for other in HOSTS:
            if other != name:
                proxy = await self._proxy(name, other, self._ports[other])
                given += ["--join", proxy.address]
        return given

    async def _proxy(self, name: str, to: str, port: int) -> Proxy:
        found = self._proxies.get((name, to))
        if found is None:
            found = self._proxies[name, to] = Proxy("127.0.0.1", port)
            await found.__aenter__()
        return found

    async def kill(self, name: str) -> None:
        self._processes.pop(name).end(signal.SIGKILL)

    async def cut_off(self, name: str) -> None:
        for ends, proxy in self._proxies.items():
            if name in ends:
                proxy.cut()

    async def join(self, name: str) -> None:
        for ends, proxy in self._proxies.items():
            if name in ends:
                proxy.heal()

    # -- agents ------------------------------------------------------------------------------

    async def agent(self, name: str, host: str) -> Agent:
        client = self._clients.get(host)
        if client is None:
            url = f"nomos+plain://127.0.0.1:{self._ports[host]}"
            client = self._clients[host] = connect(url)
        agent: Agent = await client.agent(name)
        return agent

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
        codes = {name: one.end(signal.SIGTERM) for name, one in self._processes.items()}
        for proxy in self._proxies.values():
            await proxy.__aexit__()
        logs = {name: (self.folder / f"{name}.log").read_text() for name in codes}
        if not self.keep and not any(codes.values()):
            shutil.rmtree(self.folder, ignore_errors=True)
        for name, code in codes.items():
            said = f"host {name} ended with {code} ({self.folder})"
            assert code == 0, f"{said}:\n{logs[name][-3_000:]}"
