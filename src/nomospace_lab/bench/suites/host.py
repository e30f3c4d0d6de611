"""`bench host`: a host in a process of its own, through the public API, beside a bare echo.

Client and server are two processes, as they are for a user; everything crosses the loopback. The
floor is an echo of the same framing over the same transport. Peers are what one would put in the
place of a host, each through its usual Python client. Journals are on unless a row says otherwise.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter_ns
from typing import Any, Final, Self

from nomospace.errors import Bug
from nomospace.terms.templates import ANY
from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.processes import ChildProcess, ended
from nomospace_lab.bench.report import Goal, times_floor

PER_US = 1e3
IN_FLIGHT: Final = 32
LOAD_ROWS: Final = 2_000
BATCH: Final = 320
"""Operations between two looks at the clock."""
PAYLOAD: Final = b"x" * 48
"""About the size of a frame that asks for a tuple."""

Op = Callable[[], Awaitable[Any]]


def floor_share(share: float) -> Goal:
    """Ours reaches a share of the floor's rate."""

    def holds(row: BenchRow) -> bool:
        return row.over_floor is not None and row.over_floor <= 1 / share

    return Goal(f"at least {share:.0%} of the floor's rate", holds)


def times_faster(factor: float, peer: str) -> Goal:
    """Ours takes at most a part of a peer's time."""

    def holds(row: BenchRow) -> bool:
        theirs = row.peers.get(peer)
        return row.ours is not None and (theirs is None or theirs >= factor * row.ours)

    return Goal(f"at least {factor:g} times as fast as {peer}", holds)


class Bed:
    """An event loop that goes on between samples, and the processes that it speaks to."""

    def __init__(self) -> None:
        import uvloop

        self.stack = ExitStack()
        self.runner = self.stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def run(self, work: Any) -> Any:
        """Run something in the loop."""
        return self.runner.run(work)

    def host(self, name: str, *flags: str) -> str:
        """A host in a process of its own; its address for clients."""
        given = ["--insecure", "--listen", "127.0.0.1:0", "--log", "json", *flags]
        part = ChildProcess(f"host {name}", "nomospace.cli", "host", "run", name, "--json", *given)
        self.stack.enter_context(ended(part))
        return str(part.hear()["url"])

    def trusted(self, name: str, *flags: str) -> tuple[str, str]:
        """A host with certificates; where clients find it, and where peers do."""
        given = ["--listen", "127.0.0.1:0", "--log", "json", *flags]
        part = ChildProcess(f"host {name}", "nomospace.cli", "host", "run", name, "--json", *given)
        self.stack.enter_context(ended(part))
        said = part.hear()
        return str(said["url"]), str(said["address"])

    def connect(self, url: str) -> Any:
        """A client of a host."""
        from nomospace.client.remote import connect

        async def begin() -> Any:
            return connect(url)

        host = self.run(begin())
        self.close_at_end(host)
        return host

    def close_at_end(self, host: Any) -> None:
        """Close a client before its host ends."""
        self.stack.callback(lambda: self.run(host.close()))

    def echo(self) -> Any:
        """A client of a bare echo."""
        from nomospace_lab.bench.echo import EchoClient

        part = ChildProcess("echo", "nomospace_lab.bench.echo")
        self.stack.enter_context(ended(part))
        port = part.hear()["port"]

        async def begin() -> Any:
            loop = asyncio.get_running_loop()
            _, client = await loop.create_connection(EchoClient, "127.0.0.1", port)
            return client

        client = self.run(begin())
        self.stack.callback(client.close)
        return client

    # -- samples -----------------------------------------------------------------------------

    def one_by_one(self, op: Op, again: Op | None = None) -> Sample:
        """Nanoseconds an operation takes, one after the other; `again` mends between batches."""

        async def batch() -> float:
            began = perf_counter_ns()
            for _ in range(BATCH):
                await op()
            return (perf_counter_ns() - began) / BATCH

        return self._sample(batch, again)

    def in_flight(self, op: Op, again: Op | None = None, count: int = IN_FLIGHT) -> Sample:
        """Nanoseconds between two answers with so many operations under way."""

        async def some(times: int) -> None:
            for _ in range(times):
                await op()

        async def batch() -> float:
            began = perf_counter_ns()
            each = max(1, 4 * BATCH // count)
            await asyncio.gather(*[some(each) for _ in range(count)])
            return (perf_counter_ns() - began) / (each * count)

        return self._sample(batch, again)

    def _sample(self, batch: Callable[[], Awaitable[float]], again: Op | None) -> Sample:
        def sample(seconds: float) -> float:
            async def measure() -> float:
                best = float("inf")
                end = perf_counter_ns() + seconds * 1e9
                while perf_counter_ns() < end:
                    best = min(best, await batch())
                    if again is not None:
                        await again()
                return best

            return float(self.run(measure()))

        return sample


class Jobs:
    """A space full of tuples, of which one after the other is taken by its key and replaced.

    Which ones is drawn by lot between batches: what an echo does not need is not measured.
    """

    def __init__(self, bed: Bed, url: str, many: int, *, durable: bool, name: str = "jobs") -> None:
        self._rng = Random(1)
        self._many = many
        self._keys = [f"{self._rng.getrandbits(48):x}" for _ in range(many)]
        self._drawn: list[str] = []
        self._missing = 0
        self._space = bed.run(self._fill(bed.connect(url), name, durable))

    async def _fill(self, host: Any, name: str, durable: bool) -> Any:
        space = await (await host.agent("worker")).space(name, shared=True, durable=durable)
        for start in range(0, self._many, LOAD_ROWS):
            await space.out_many([self._row(key) for key in self._keys[start : start + LOAD_ROWS]])
        self._draw(4 * BATCH)
        return space

    def _draw(self, count: int) -> None:
        """Choose the next to be taken."""
        keys, rng = self._keys, self._rng
        for _ in range(count - len(self._drawn)):
            place = rng.randrange(len(keys))
            keys[place], keys[-1] = keys[-1], keys[place]
            self._drawn.append(keys.pop())

    def _row(self, key: str) -> tuple[str, str, int]:
        return "job", key, len(key)

    async def take(self, last: object = ANY) -> None:
        """Take one by its content, whatever it ends in, or of that kind."""
        if not self._drawn:
            self._draw(1)
        key = self._drawn.pop()
        self._missing += 1
        found = await self._space.take("job", key, last)
        if found[1] != key:
            raise Bug(story=(f"`bench host` asked for {key} and got {found}",))

    async def job(self) -> None:
        """Take any under a lease, and acknowledge it."""
        found = await self._space.take("job", ANY, ANY, lease=600)
        await self._space.acknowledge(found)
        self._missing += 1

    async def refill(self) -> None:
        """Write as many again as were taken."""
        fresh = [f"{self._rng.getrandbits(48):x}" for _ in range(self._missing)]
        self._missing = 0
        await self._space.out_many([self._row(key) for key in fresh])
        self._keys += fresh
        self._draw(4 * BATCH)

    async def pair(self) -> None:
        """Write one and take another."""
        key = f"{self._rng.getrandbits(48):x}"
        await self._space.out("job", key, 5)
        self._keys.append(key)
        await self.take()
        self._missing = 0


@bench("host", "a host over a connection: takes, in flight, durable, governed and signed messages")
def host(run: BenchRun) -> Iterator[BenchRow]:
    """All rows of the bench."""
    many = 20_000 if run.quick else 300_000
    with Bed() as bed:
        yield from _takes(run, bed, many)
    with Bed() as bed:
        yield _durable(run, bed)
    with Bed() as bed:
        yield _followed(run, bed)
    with Bed() as bed:
        yield _leased(run, bed)
    with Bed() as bed:
        from nomospace_lab.bench.suites.host_lease import leased

        yield leased(run, bed)
    from nomospace_lab.bench.suites.host_workers import spread

    yield from spread(run)
    with Bed() as bed:
        yield from _messages(run, bed)
    from nomospace_lab.bench.suites.host_partition import partitioned

    yield from partitioned(run, Bed)
    yield from _grouped(run)
    yield from _start(run, many if run.quick else 1_000_000)


def _takes(run: BenchRun, bed: Bed, many: int) -> Iterator[BenchRow]:
    from nomospace_lab.bench.peers.lists import RedisLists
    from nomospace_lab.bench.peers.servers import Contents, NatsReplies

    run.say("filling spaces and tables")
    echo = bed.echo()
    ours = Jobs(bed, bed.host("ward", "--store", str(bed.folder / "a.db")), many, durable=False)
    mute = bed.host("mute", "--store", str(bed.folder / "b.db"), "--no-journal")
    unrecorded = Jobs(bed, mute, many, durable=False)
    tables, replies = Contents(bed, many), NatsReplies(bed)
    lists = RedisLists(bed, run.say)

    async def back() -> None:
        await echo.ask(PAYLOAD)

    async def back_now() -> None:
        await echo.ask_now(PAYLOAD)

    samples: dict[str, Sample] = {
        "echo": bed.one_by_one(back_now),
        "ours": bed.one_by_one(ours.take, ours.refill),
        "echo 32": bed.in_flight(back),
        "ours 32": bed.in_flight(ours.take, ours.refill),
        "kind 32": bed.in_flight(partial(ours.take, int), ours.refill),
        "unrecorded 32": bed.in_flight(unrecorded.take, unrecorded.refill),
        **tables.samples(),
        **replies.samples(),
        **lists.samples(),
    }
    run.say("takes")
    best = run.interleave(samples)
    peers = {name: best[name] / PER_US for name in (*tables.names, *replies.names, *lists.names)}
    by_content = Goal(
        "ahead of every peer that matches by content",
        lambda row: (
            row.ours is not None
            and all(row.ours < (row.peers.get(name) or row.ours + 1) for name in tables.names)
        ),
    )
    yield BenchRow(
        what=f"a take by content from {many:,} tuples, one at a time",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["echo"] / PER_US,
        peers=peers,
        why_null={**tables.why_null, **replies.why_null, **lists.why_null},
        goal=times_floor(3) & by_content,
        how=f"durable=False; floor: a bare echo; the best batch of {BATCH}",
    )
    yield BenchRow(
        what=f"the same with {IN_FLIGHT} in flight",
        unit="µs",
        ours=best["ours 32"] / PER_US,
        floor=best["echo 32"] / PER_US,
        goal=floor_share(0.35),
        how="time between two answers; the floor has as many in flight",
    )
    yield BenchRow(
        what="the same where a field is of any value of a kind",
        unit="µs",
        ours=best["kind 32"] / PER_US,
        floor=best["ours 32"] / PER_US,
        goal=times_floor(1.5),
        how='take("job", key, int), each with a key of its own; the floor is take("job", key, ANY)',
    )
    yield BenchRow(
        what="what the journal costs of that",
        unit="µs",
        ours=best["ours 32"] / PER_US,
        floor=best["unrecorded 32"] / PER_US,
        goal=times_floor(1.5),
        how="floor: the same host without a journal; a third of the rate is half as much time more",
    )


def _durable(run: BenchRun, bed: Bed) -> BenchRow:
    from nomospace_lab.bench.commits import Commits
    from nomospace_lab.bench.peers.servers import DurableTable

    url = bed.host("ward", "--store", str(bed.folder / "ward.db"))
    jobs = Jobs(bed, url, 10_000, durable=True)
    table = DurableTable(bed, 10_000)
    commits = Commits(bed.folder / "commits.db", IN_FLIGHT)
    bed.stack.callback(commits.close)
    run.say("durable pairs")
    best = run.interleave(
        {"ours": bed.in_flight(jobs.pair), "commits": commits.sample(), **table.samples()}
    )
    return BenchRow(
        what=f"a durable out and take, {IN_FLIGHT} at a time",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["commits"] / PER_US,
        peers={name: best[name] / PER_US for name in table.names},
        why_null=table.why_null,
        goal=times_faster(3, "PostgreSQL"),
        how="every one is on disk before it is answered (PostgreSQL: synchronous_commit=on); "
        f"floor: bare SQLite that commits {IN_FLIGHT} rows at a time",
    )


def _followed(run: BenchRun, bed: Bed) -> BenchRow:
    from nomospace_lab.bench.suites.host_standby import followed

    return followed(run, bed)


def _leased(run: BenchRun, bed: Bed) -> BenchRow:
    from nomospace_lab.bench.commits import Commits
    from nomospace_lab.bench.peers.queues import STREAM, TABLE, LeasedStream, LeasedTable

    url = bed.host("ward", "--store", str(bed.folder / "ward.db"))
    jobs = Jobs(bed, url, 10_000, durable=True)
    rivals = (LeasedTable(bed, 10_000), LeasedStream(bed, 10_000, run.say))
    commits = Commits(bed.folder / "commits.db", IN_FLIGHT)
    bed.stack.callback(commits.close)
    run.say("leases")
    samples = {"ours": bed.in_flight(jobs.job, jobs.refill), "commits": commits.sample()}
    peers = {name: one for rival in rivals for name, one in rival.samples().items()}
    best = run.interleave(samples | peers)
    return BenchRow(
        what=f"a durable leased take and its acknowledgement, {IN_FLIGHT} at a time",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["commits"] / PER_US,
        peers={name: best[name] / PER_US for name in peers},
        why_null={name: why for rival in rivals for name, why in rival.why_null.items()},
        goal=times_faster(1, TABLE) & times_faster(1, STREAM),
        how="lease and acknowledgement are on disk before they are answered (PostgreSQL: "
        "synchronous_commit=on; Redis: appendfsync always); the floor is that of the row before",
    )


def _messages(run: BenchRun, bed: Bed) -> Iterator[BenchRow]:
    from nomospace_lab.bench.suites.host_messages import governed, signed

    yield governed(run, bed)
    yield signed(run, bed)


def _grouped(run: BenchRun) -> Sequence[BenchRow]:
    from nomospace_lab.bench.suites.host_group import grouped

    return grouped(run)


def _start(run: BenchRun, many: int) -> Sequence[BenchRow]:
    from nomospace_lab.bench.suites.host_start import empty, filled

    run.say("starts")
    return [filled(run, many), empty(run)]
