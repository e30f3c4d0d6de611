"""A PostgreSQL primary with a synchronous replica, and failover from one to the other.

    with replicated_postgres() as pair:         # two servers from the binaries that tests have
        store = pair.url                        # names both: `postgresql://…@a,b/…`
        pair.kill_primary(); pair.promote()     # or `pair.fail_over()`, which is both
        pair.rejoin()                           # what was killed follows the new primary

A primary acknowledges a commit when its replica has it on disk. After a failover the new primary
is alone, and waits for nobody, until the other has rejoined it. So only a server that has all that
was acknowledged is ever promoted.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from tests.servers import PostgresServer

STEP_S: Final = 60.0
"""How long a promotion, a copy or a replica that catches up may take: machines are shared."""


class ReplicaServer(PostgresServer):
    """One of two; it is the primary, or follows the other."""

    def command(self) -> list[str]:
        """As other servers of tests, with what replication needs."""
        settings = ["wal_level=replica", "max_wal_senders=4", "hot_standby=on"]
        settings += ["wal_receiver_timeout=5s", "wal_retrieve_retry_interval=100ms"]
        return super().command() + [part for one in settings for part in ("-c", one)]

    def copy(self, primary: PostgresServer) -> None:
        """Begin anew as a copy of a primary, which it follows when it is started."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.data, ignore_errors=True)
        source = f"{primary.url}?application_name=replica"
        how = ["-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        subprocess.run(
            [self.bin / "pg_basebackup", "-D", self.data, "-d", source, *how],
            check=True,
            capture_output=True,
            user=self.user,
            cwd=self.folder,
            timeout=STEP_S,
        )

    def ask(self, statement: str) -> object:
        """The first field of the first row of a query, in a session of its own."""
        with psycopg.connect(self.url, autocommit=True, connect_timeout=5) as session:
            found = session.execute(statement.encode())
            row = None if found.description is None else found.fetchone()
        return None if row is None else row[0]


class ReplicatedPostgres:
    """A primary and a replica; which is which changes with every failover."""

    def __init__(self) -> None:
        self.servers = (ReplicaServer(), ReplicaServer())
        self.primary, self.replica = self.servers
        self.failovers = 0

    @property
    def url(self) -> str:
        """Where clients find whichever is the primary: the two keep their places in it."""
        places = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)
        return f"postgresql://postgres@{places}/postgres?target_session_attrs=read-write"

    def start(self) -> None:
        """Start both; every commit is acknowledged by both from here on."""
        self.primary.start()
        self.rejoin()

    def rejoin(self) -> None:
        """Let the other server follow the primary, and the primary wait for it."""
        self.replica.copy(self.primary)
        self.replica.start()
        self.wait_joined()

    def wait_joined(self) -> None:
        """Wait until the replica has all, and every commit waits for it."""
        self._wait_for_replica("replica")
        until = time.monotonic() + STEP_S
        while self.primary.ask("SELECT sync_state FROM pg_stat_replication") != "sync":
            assert time.monotonic() < until, "the replica does not follow"
            time.sleep(0.02)

    def kill_primary(self, how: int = signal.SIGKILL) -> None:
        """End the primary by its process id, as a power cut would."""
        self.primary.stop(how)

    def promote(self) -> None:
        """Make the replica the primary. The other one may still be there: then two say so."""
        self.primary, self.replica = self.replica, self.primary
        assert self.primary.ask("SELECT pg_promote(true, 60)"), "it was not promoted"
        self._wait_for_replica("")
        self.failovers += 1

    def fail_over(self) -> None:
        """Kill the primary and promote its replica."""
        self.kill_primary()
        self.promote()

    def close(self) -> None:
        """End both for good."""
        for server in self.servers:
            server.close()

    def _wait_for_replica(self, name: str) -> None:
        """What a commit waits for, besides the primary's own disk."""
        self.primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.primary.ask("SELECT pg_reload_conf()")


@contextmanager
def replicated_postgres() -> Iterator[ReplicatedPostgres]:
    """A primary with its synchronous replica, for one test or one run."""
    pair = ReplicatedPostgres()
    try:
        pair.start()
        yield pair
    finally:
        pair.close()
