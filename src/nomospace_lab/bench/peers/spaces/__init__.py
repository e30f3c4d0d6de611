"""Who else could hold tuples and give them out by content: servers, each through its own client.

A driver's `prepare()` gives an empty `Engine` of `loop`; a server is started for it and ends with
it. SQLite is part of Python and runs in our own process, as the space does.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from nomospace_lab.bench.peers.install import PeerPackage
from nomospace_lab.bench.peers.spaces.postgresql import programs


def _postgresql() -> tuple[str, str] | None:
    if programs() is None:
        return "there is no PostgreSQL server on this machine", "run: apt-get install postgresql"
    return None


def _redis() -> tuple[str, str] | None:
    if shutil.which("redis-server") is None:
        return "there is no Redis server on this machine", "run: apt-get install redis-server"
    return None


def _driver(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.py")


PEERS: tuple[PeerPackage, ...] = (
    PeerPackage(
        name="psycopg",
        version="3.2.9",
        driver=_driver("postgresql"),
        besides=("psycopg-binary==3.2.9", "typing-extensions==4.15.0"),
        needs=_postgresql,
    ),
    PeerPackage(name="redis", version="6.4.0", driver=_driver("redis"), needs=_redis),
)
"""The servers' clients, by the names that they are installed under."""
