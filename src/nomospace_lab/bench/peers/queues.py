"""Work queues that one would use in the place of leases: a table of PostgreSQL, a stream of Redis.

A job is lent to a worker, and acknowledged; each is on disk before it is answered, as with ours.
The table is taken from with `FOR UPDATE SKIP LOCKED`, and what is lent says until when; a partial
index has those that are free. The stream has a consumer group, and `appendfsync always`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.peers.install import PeerMissing
from nomospace_lab.bench.peers.lists import redis_client, redis_server
from nomospace_lab.bench.peers.servers import postgres

if TYPE_CHECKING:
    from nomospace_lab.bench.suites.host import Bed

TABLE: Final = "PostgreSQL, SKIP LOCKED"
STREAM: Final = "Redis, stream group"
WORKERS: Final = 32
LEND: Final = (
    "UPDATE jobs SET until = now() + interval '600 s' WHERE id = (SELECT id FROM jobs "
    "WHERE until IS NULL ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id, key"
)
FILL: Final = "INSERT INTO jobs (key) SELECT 'job ' || n FROM generate_series(1, %s) AS n"


class LeasedTable:
    """A table of jobs, and as many connections as there are workers."""

    def __init__(self, bed: Bed, many: int) -> None:
        self._bed = bed
        self._done = 0
        self.why_null: dict[str, str] = {}
        try:
            url = postgres(bed, "synchronous_commit=on", "max_connections=100")
        except LookupError as error:
            self.why_null[TABLE] = str(error)
            return
        self._free: asyncio.Queue[Any] = bed.run(self._connect(url, many))

    async def _connect(self, url: str, many: int) -> asyncio.Queue[Any]:
        import psycopg

        free: asyncio.Queue[Any] = asyncio.Queue()
        for _ in range(WORKERS):
            free.put_nowait(
                await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=1)
            )
        base = await free.get()
        await base.execute(
            "CREATE TABLE jobs (id bigserial PRIMARY KEY, key text, until timestamptz)"
        )
        await base.execute("CREATE INDEX ON jobs (id) WHERE until IS NULL")
        await base.execute(FILL, (many,))
        free.put_nowait(base)
        return free

    def samples(self) -> dict[str, Sample]:
        """A job lent and acknowledged, by all workers at once."""
        return {} if self.why_null else {TABLE: self._bed.in_flight(self._job, self._refill)}

    async def _job(self) -> None:
        base = await self._free.get()
        found = await (await base.execute(LEND)).fetchone()
        assert found is not None
        await base.execute("DELETE FROM jobs WHERE id = %s", (found[0],))
        self._done += 1
        self._free.put_nowait(base)

    async def _refill(self) -> None:
        base = await self._free.get()
        await base.execute(FILL, (self._done,))
        self._done = 0
        self._free.put_nowait(base)


class LeasedStream:
    """A stream of jobs, its group, and as many consumers as there are workers."""

    def __init__(self, bed: Bed, many: int, say: Callable[[str], None]) -> None:
        self._bed = bed
        self._done = many
        self.why_null: dict[str, str] = {}
        try:
            socket = redis_server(bed, say, "--appendonly", "yes", "--appendfsync", "always")
        except PeerMissing as error:
            self.why_null[STREAM] = str(error)
            return
        self._free: asyncio.Queue[str] = bed.run(self._connect(socket, say))

    async def _connect(self, socket: str, say: Callable[[str], None]) -> asyncio.Queue[str]:
        self._base = redis_client(self._bed, socket, say)
        await self._base.xgroup_create("jobs", "workers", id="0", mkstream=True)
        await self._refill()
        free: asyncio.Queue[str] = asyncio.Queue()
        for number in range(WORKERS):
            free.put_nowait(f"worker-{number}")
        return free

    def samples(self) -> dict[str, Sample]:
        """A job lent and acknowledged, by all consumers at once."""
        return {} if self.why_null else {STREAM: self._bed.in_flight(self._job, self._refill)}

    async def _job(self) -> None:
        worker = await self._free.get()
        ((_, ((id, _),)),) = await self._base.xreadgroup("workers", worker, {"jobs": ">"}, count=1)
        assert await self._base.xack("jobs", "workers", id) == 1
        self._done += 1
        self._free.put_nowait(worker)

    async def _refill(self) -> None:
        pipe = self._base.pipeline(transaction=False)
        for _ in range(self._done):
            pipe.xadd("jobs", {"key": "job"})
        self._done = 0
        await pipe.execute()
