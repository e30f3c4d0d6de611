"""Three hosts that are processes of their own, each to be killed and started again at any moment.

They speak plain TCP on the loopback, TCP with TLS, or through a NATS server: what is tried here is
crashes, and links that break otherwise are tried elsewhere. With `seal` their journals go into
segments all the time, so that kills meet that too.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from nomospace.node.workers import names_of, store_of
from tests.parity.processes import Files, Process, Stores
from tests.ports import free_port
from tests.real.trust import Trust
from tests.servers import shared_nats

NAMES: Final = ("ward", "icu", "lab")
TRANSPORTS: Final = ("tcp", "tls", "nats")
SEALED_ROWS: Final = 2_000
WORKER_SHARE: Final = 0.85
"""How often a kill of a host with workers is of one of them, and not of their supervisor."""
SEALED_S: Final = 2.0
"""A segment is sealed after so many records, or so long: far more often than anyone would."""


class Nowhere:
    """Stores that keep nothing: hosts that every check must find out."""

    def url(self, name: str) -> str:
        return "memory"


class Hosts:
    """The three hosts. `stores` says where they keep what must survive: SQLite by default."""

    def __init__(
        self,
        stores: Stores | None = None,
        *,
        transport: str = "tcp",
        seal: bool = False,
        names: tuple[str, ...] = NAMES,
        workers: int = 0,
        rng: random.Random | None = None,
    ) -> None:
        self.names = names
        self._workers = workers
        self._rng = rng or random.Random(1)
        self.folder = Path(tempfile.mkdtemp(prefix="nomospace-crash-"))
        self._stores = stores or Files(self.folder)
        self._ports = {name: free_port() for name in names}
        self._processes: dict[str, Process] = {}
        self._transport = transport
        self._seal = seal
        self._trust: Trust | None = None
        if transport == "tls":
            self._trust = Trust(self.folder / "trust")
            for name in names:
                for worker in names_of(name, max(1, workers)):
                    self._trust.member(worker)
        self._served: dict[str, dict[str, Any]] = {}
        """What hosts said when they served first."""
        self.keep = False
        """Whether stores and logs stay when all is over."""

    def url(self, name: str) -> str:
        """Where clients find a host, also after it was started again."""
        scheme = "nomos+plain" if self._trust is None else "nomos"
        return f"{scheme}://127.0.0.1:{self._ports[name]}"

    def access(self, *agents: str) -> dict[str, Any]:
        """What clients show, besides, to speak for agents."""
        if self._trust is None:
            return {}
        return {"trust": self._trust.folder, "token": self._trust.token(*agents)}

    def store(self, name: str) -> str:
        """Where a host keeps what must survive."""
        return self._stores.url(name)

    def kept(self) -> list[tuple[str, str, Path | None]]:
        """The names, stores and segments of all hosts, or of their workers."""
        found = []
        for name in self.names:
            folder = self.segments(name)
            for number, worker in enumerate(names_of(name, max(1, self._workers)), 1):
                beside = folder if number == 1 or folder is None else Path(f"{folder}.{number}")
                found.append((worker, store_of(self.store(name), number), beside))
        return found

    def segments(self, name: str) -> Path | None:
        """Where a host's journal is sealed, if it is."""
        return self.folder / f"{name}.journal" if self._seal else None

    @property
    def running(self) -> tuple[str, ...]:
        """The hosts that have a process now."""
        return tuple(self._processes)

    def begin(self, name: str) -> None:
        """Start a host, and do not wait for it; one that has lost a worker starts that itself."""
        if self._workers and name in self._processes:
            return
        assert name not in self._processes, f"{name} is running already"
        given = ["--listen", f"127.0.0.1:{self._ports[name]}", "--store", self.store(name)]
        given += ["--insecure"] if self._trust is None else ["--trust", str(self._trust.folder)]
        if self._transport == "nats":
            given += ["--transport", shared_nats().url]
        else:
            for other, port in self._ports.items():
                if other != name:
                    given += ["--join", f"127.0.0.1:{port}"]
        given += ["--workers", str(self._workers)] if self._workers else []
        segments = self.segments(name)
        if segments is not None:
            settings = self.folder / f"{name}.toml"
            settings.write_text(
                f'[journal]\nfolder = "{segments}"\nrows = {SEALED_ROWS}\nseconds = {SEALED_S}\n'
            )
            given += ["--config", str(settings)]
        self._processes[name] = Process(name, self.folder, given)

    async def ready(self, name: str) -> None:
        """Wait until a host serves."""
        if name not in self._served:
            self._served[name] = await self._processes[name].ready()

    def kill(self, name: str) -> None:
        """End a host by its process id, as a power cut would; of workers mostly one."""
        workers = _children(self._processes[name].child.pid) if self._workers else []
        if workers and self._rng.random() < WORKER_SHARE:
            with suppress(ProcessLookupError):
                os.kill(self._rng.choice(workers), signal.SIGKILL)
        else:
            self._served.pop(name, None)
            self._processes.pop(name).end(signal.SIGKILL)

    def check_alive(self) -> None:
        """Raise when a host has ended that nobody has killed."""
        for name, process in self._processes.items():
            code = process.child.poll()
            assert code is None, f"host {name} ended by itself with {code}:\n{self.log(name)}"

    def log(self, name: str) -> str:
        """The end of what a host has logged."""
        path = self.folder / f"{name}.log"
        return path.read_text()[-3_000:] if path.exists() else ""

    def end(self) -> dict[str, int]:
        """End all hosts gracefully; their exit codes."""
        processes, self._processes = self._processes, {}
        for one in processes.values():
            one.child.send_signal(signal.SIGTERM)
        return {name: one.wait() for name, one in processes.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever runs, and remove the files unless they are to be kept."""
        self.end()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _children(process: int) -> list[int]:
    """The processes that one has started."""
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in found.split()]
