"""Hosts that are processes, and what can be seen of them from outside: log, memory, descriptors."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from nomospace.client.remote import RemoteHost, connect
from tests.parity.processes import Process
from tests.ports import free_port
from tests.real.trust import Trust
from tests.sites import run_real

T = TypeVar("T")

SEEN_S = 60.0
"""How long a note may take to come to the log: these machines are shared."""

FAREWELL_S = 0.1
"""TLS connections that were closed say goodbye; the loop stays for that long."""


class RealHost:
    """A host run by `nomospace host run`, with its log as JSON lines."""

    def __init__(self, name: str, folder: Path, *arguments: str, port: int = 0) -> None:
        self.name = name
        self.port = port or free_port()
        self.at = "127.0.0.1"
        self.said: dict[str, Any] = {}
        """What it said when it was ready."""
        if "--listen" not in arguments:
            arguments = (*arguments, "--listen", f"{self.at}:{self.port}")
        self._process = Process(name, folder, [*arguments, "--log", "json"])

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.child.pid

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{self.at}:{self.port}"

    async def ready(self) -> None:
        """Wait until it serves."""
        self.said = said = await self._process.ready()
        self.at, _, port = said["address"].rpartition(":")
        self.port = int(port)

    def end(self, how: int = signal.SIGTERM) -> int:
        """End it by its process id; its exit code."""
        return self._process.end(how)

    # -- what an operator sees ---------------------------------------------------------------

    def story(self) -> str:
        """The end of its log."""
        return self._process.log.read_text()[-4_000:]

    def notes(self, what: str) -> list[dict[str, Any]]:
        """All notes of a kind."""
        lines = self._process.log.read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["what"] == what]

    async def noted(self, what: str, *words: str, more_than: int = 0) -> dict[str, Any]:
        """Wait for a note of a kind in whose facts all these words stand; the last one."""
        found: list[dict[str, Any]] = []

        def is_there() -> bool:
            found[:] = [
                note
                for note in self.notes(what)
                if all(word in json.dumps(note, ensure_ascii=False) for word in words)
            ]
            return len(found) > more_than

        await seen(is_there, lambda: f"no note {what!r} with {words} in the log:\n{self.story()}")
        return found[-1]

    @property
    def rss(self) -> int:
        """Its memory, in bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    @property
    def processor_s(self) -> float:
        """The processor time that it has taken so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def descriptors(self) -> int:
        """How many files and sockets it holds."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def start(*hosts: RealHost) -> None:
    """Wait until hosts serve."""

    async def all_ready() -> None:
        await asyncio.gather(*[host.ready() for host in hosts])

    asyncio.run(all_ready())


def end(*hosts: RealHost) -> None:
    """End hosts gracefully; all must have been well until then."""
    codes = {host: host.end() for host in hosts}
    for host, code in codes.items():
        assert code == 0, f"host {host.name} ended with {code}:\n{host.story()}"


def caller(host: RealHost, trust: Trust | None, **how: Any) -> RemoteHost:
    """A client of a host, over TLS if there is trust."""
    if trust is None:
        return connect(f"nomos+plain://{host.address}", **how)
    return connect(f"nomos://{host.address}", trust=trust.folder, **how)


def play(story: Coroutine[Any, Any, T], *, seconds_max: float = 240) -> T:
    """Run the test's own side in real time, on the loop that Python has anyhow."""

    async def whole() -> T:
        try:
            return await story
        finally:
            await asyncio.sleep(FAREWELL_S)

    return run_real(whole(), loop="asyncio", seconds_max=seconds_max)


async def seen(
    holds: Callable[[], bool], otherwise: Callable[[], str], *, seconds_max: float = SEEN_S
) -> None:
    """Wait for something that is soon so."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds_max
    while not holds():
        assert loop.time() < ends, otherwise()
        await asyncio.sleep(0.02)
