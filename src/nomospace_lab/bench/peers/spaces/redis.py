"""Redis through redis-py: a server of its own, over a local socket, with nothing kept on disk.

A tuple is a hash; a set for each value of a field is its index, as Redis itself has none.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

START_S_MAX = 30
LOAD_BATCH = 10_000

Row = tuple[str, str, int]

OUT = """
local id = redis.call('INCR', 'id')
redis.call('HSET', 't:' .. id, 'kind', ARGV[1], 'key', ARGV[2], 'place', ARGV[3])
redis.call('SADD', 'kind:' .. ARGV[1], id)
redis.call('SADD', 'key:' .. ARGV[2], id)
redis.call('SADD', 'place:' .. ARGV[3], id)
"""
TAKE = """
local found = redis.call('SINTER', 'key:' .. ARGV[1], 'kind:job')
local id = found[1]
if not id then return nil end
local taken = redis.call('HMGET', 't:' .. id, 'kind', 'key', 'place')
redis.call('DEL', 't:' .. id)
redis.call('SREM', 'kind:' .. taken[1], id)
redis.call('SREM', 'key:' .. taken[2], id)
redis.call('SREM', 'place:' .. taken[3], id)
return taken
"""


class Redis:
    """Two scripts, each atomic: as many round trips as any other client of a server makes."""

    def __init__(self, socket: str) -> None:
        import redis  # type: ignore[import-not-found]

        self._base = redis.Redis(unix_socket_path=socket, decode_responses=True)
        self._out = self._base.register_script(OUT)
        self._take = self._base.register_script(TAKE)

    def load(self, rows: Iterator[Row]) -> None:
        """Many scripts in one round trip."""
        while batch := list(islice(rows, LOAD_BATCH)):
            pipe = self._base.pipeline(transaction=False)
            for row in batch:
                self._out(args=row, client=pipe)
            pipe.execute()

    def ready(self, row: Row, key: str) -> tuple[Any, ...]:
        """Nothing is to be prepared: the scripts are on the server."""
        return row, key

    def pair(self, row: Row, key: str) -> Row | None:
        """Write one, take another."""
        self._out(args=row)
        taken = self._take(args=(key,))
        return None if taken is None else (taken[0], taken[1], int(taken[2]))


def prepare() -> Redis:
    """Start a server that ends with this process."""
    folder = tempfile.mkdtemp(prefix="nomospace-bench-")
    socket = f"{folder}/redis.sock"
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end() -> None:
        server.terminate()
        server.wait(START_S_MAX)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    deadline = time.monotonic() + START_S_MAX
    while not Path(socket).exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the server did not start")
        time.sleep(0.05)
    return Redis(socket)
