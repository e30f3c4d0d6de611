"""PostgreSQL through psycopg: a server of its own in a scratch folder, over a local socket.

It does not wait for its disk, as nothing else here does.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

START_S_MAX = 30

Row = tuple[str, str, int]


class Postgresql:
    """A table with an index for each field; a pair is two statements, each its own transaction."""

    def __init__(self, folder: str) -> None:
        import psycopg

        where = f"host={folder} user=bench dbname=postgres"
        self._base = psycopg.connect(where, autocommit=True, prepare_threshold=1)
        self._base.execute("CREATE TABLE tuples (kind TEXT, key TEXT, place INTEGER)")

    def load(self, rows: Iterator[Row]) -> None:
        """Copy all, then build the indexes."""
        with self._base.cursor().copy("COPY tuples FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        for field in ("kind", "key", "place"):
            self._base.execute(f"CREATE INDEX by_{field} ON tuples ({field})")
        self._base.execute("ANALYZE")

    def ready(self, row: Row, key: str) -> tuple[Any, ...]:
        """Nothing is to be prepared: the client prepares its statements on the way."""
        return row, key

    def pair(self, row: Row, key: str) -> Row | None:
        """Insert one, delete another and get it."""
        self._base.execute("INSERT INTO tuples VALUES (%s, %s, %s)", row)
        taken: Row | None = self._base.execute(
            "DELETE FROM tuples WHERE ctid = "
            "(SELECT ctid FROM tuples WHERE kind = 'job' AND key = %s LIMIT 1) "
            "RETURNING kind, key, place",
            (key,),
        ).fetchone()
        return taken


def programs() -> Path | None:
    """The folder with the server's programs, the newest where there are several."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda path: int(path.parent.name), default=None)


def prepare() -> Postgresql:
    """Start a server that ends with this process."""
    folder = tempfile.mkdtemp(prefix="nomospace-bench-")
    bin_folder = programs()
    assert bin_folder is not None, "there is no initdb"
    # The server refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)
    data = f"{folder}/data"
    initdb = [str(bin_folder / "initdb"), "-D", data, "-U", "bench", "-A", "trust", "--no-sync"]
    subprocess.run(initdb, check=True, user=user, capture_output=True, cwd=folder)
    options = [f"unix_socket_directories={folder}", "listen_addresses=", "fsync=off"]
    options += ["synchronous_commit=off", "shared_buffers=512MB"]
    server = subprocess.Popen(
        [str(bin_folder / "postgres"), "-D", data, *(f"--{option}" for option in options)],
        user=user,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )

    def end() -> None:
        server.send_signal(signal.SIGQUIT)
        server.wait(START_S_MAX)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    deadline = time.monotonic() + START_S_MAX
    while not Path(folder, ".s.PGSQL.5432").exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the server did not start")
        time.sleep(0.05)
    for _ in range(100):
        try:
            return Postgresql(folder)
        except Exception as error:
            if "starting up" not in str(error):
                raise
            time.sleep(0.05)
    raise RuntimeError("the server did not get ready")
