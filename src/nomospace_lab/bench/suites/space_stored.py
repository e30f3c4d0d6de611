"""Rows of `bench space` about a space that lies in its host's store (`space.stored`).

The file is filled as a host would have filled it, only quicker: rows first, then their indexes.
Beside it is a file of somebody who needs no tuple space: one table, with an index on what is asked
for.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter_ns
from typing import Any, Final, TypeAlias

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.processes import ChildProcess, ended
from nomospace_lab.bench.report import ahead_of_peers, at_most, times_floor

STORED, STORED_FULL, STORED_QUICK = 200_000, 5_000_000, 20_000
AGENT: Final = "worker@ward"
SPACE: Final = "archive"
GROUP: Final = 100
"""Pairs of one commit."""
GROUPS: Final = 60
"""Commits that are timed together: the tables catch up with several among them."""
READS: Final = 20
"""How often each of some tuples is read."""
FILL_ROWS: Final = 50_000
CALLS: Final = 1_000
"""Calls that the host is asked before its memory is read."""
MEMORY_MB: Final = 400
PER_US: Final = 1e3
Pairs: TypeAlias = list[tuple[str, str]]
"""Keys to write, and keys to take; where one of these is empty, nothing is taken."""

CONFIG: Final = """
[host]
name = "ward"
listen = "127.0.0.1:0"
insecure = true
store = "{store}"
[limits]
agent_tuples = 100000000
agent_bytes = 100000000000
"""


def stored(run: BenchRun) -> Iterator[BenchRow]:
    """Fill a store, have a host serve it, and time pairs beside SQL written by hand."""
    usual = STORED_FULL if run.full else STORED_QUICK if run.quick else STORED
    many = run.stored or usual
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "ward.db"
        run.say(f"filling a store with {many:,} tuples")
        fill(file, many)
        run.say("a host that serves them")
        yield _memory(file, many)
        run.say("out and take by content in the store")
        yield from _pairs(run, file, many)


def key_of(number: int) -> str:
    """The second field of a tuple, by which it is taken: no two are alike."""
    return f"k{number:x}"


def by_hand(file: Path) -> Path:
    """The file beside a store: in the store's own, writes of others are taken for damage."""
    return file.with_name("jobs.db")


def fill(file: Path, many: int) -> None:
    """A store with a space of so many tuples, and a file with a table of as many rows."""
    from nomospace.host.changes import AgentCame, Opened
    from nomospace.host.residents import STORE
    from nomospace.protocols.spaces import Row
    from nomospace.space.records import FIRST_ORDER
    from nomospace.store.blocks import COUNT_ALL, stored_params
    from nomospace.store.interface import Step
    from nomospace.store.schema import INDEXES, STATEMENTS
    from nomospace.store.sqlite import SqliteStore
    from nomospace.store.sums import END
    from nomospace.wire.changes import encode_row

    store = SqliteStore(file)
    store.begin()
    opened = Opened(AGENT, SPACE, "", True, True, "", STORE)
    store.commit([Step((AgentCame(AGENT, many), opened))], at=1)
    store.close()
    file.with_name(file.name + END).unlink()  # it is made of what is there
    base = sqlite3.connect(file, isolation_level=None)
    base.execute("ATTACH ? AS hand", (str(by_hand(file)),))
    base.execute("PRAGMA hand.journal_mode = WAL")
    for name in ("main", "hand"):
        base.execute(f"PRAGMA {name}.synchronous = OFF")
    indexes = INDEXES.split(";")
    for words in indexes:
        base.execute(f"DROP INDEX {words.split()[5]}")
    columns = "id INTEGER PRIMARY KEY, kind TEXT, key TEXT, place INTEGER"
    base.execute(f"CREATE TABLE hand.jobs ({columns})")

    def rows(start: int) -> Iterator[Any]:
        for number in range(start, min(many, start + FILL_ROWS)):
            fields = ("job", key_of(number), number % 997)
            row = Row(fields, AGENT, number + 1, AGENT, AGENT)
            yield stored_params((SPACE, FIRST_ORDER + 1 + number), row, encode_row(row))

    for start in range(0, many, FILL_ROWS):
        base.execute("BEGIN")
        base.executemany(STATEMENTS["tuple stored"], rows(start))
        base.execute(
            "INSERT INTO jobs SELECT n, 'job', 'k' || printf('%x', count - 1), (count - 1) % 997"
            " FROM stored WHERE space = ? AND n > ?",
            (SPACE, FIRST_ORDER + start),
        )
        base.execute("COMMIT")
    for words in (*indexes, "CREATE INDEX hand.jobs_key ON jobs (key)"):
        base.execute(words)
    base.execute(f"INSERT INTO blocks (space, agent, block, written, held, low, high) {COUNT_ALL}")
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.close()


# -- memory ----------------------------------------------------------------------------------


def _memory(file: Path, many: int) -> BenchRow:
    config = file.with_name("ward.toml")
    config.write_text(CONFIG.format(store=file), "utf-8")
    flags = ("host", "run", "--config", str(config), "--json")
    with ended(ChildProcess("host", "nomospace.cli", *flags)) as host:
        asyncio.run(_use(host.hear()["url"], many))
        peak = int(Path(f"/proc/{host.pid}/status").read_text().split("VmHWM:")[1].split()[0])
    return BenchRow(
        what=f"memory of a host that serves a space of {many:,} tuples in its store",
        unit="MB",
        ours=peak / 1024,
        goal=at_most(MEMORY_MB, "MB"),
        how=f"the most it ever had, from its start to the end of {4 * CALLS:,} calls of a client: "
        "outs, reads and takes by content, takes of the oldest",
    )


async def _use(url: str, many: int) -> None:
    import nomospace as ns

    rng = Random(2)
    async with ns.connect(url) as host:
        archive = await (await host.agent("worker")).space(SPACE)
        for number in range(CALLS):
            await archive.out("new", number, "x")
            wanted = key_of(rng.randrange(many // 2, many))
            if await archive.read_nowait("job", wanted, ns.ANY) != await archive.take_nowait(
                "job", wanted, ns.ANY
            ):
                raise Bug(story=("`bench space` took another tuple than it read",))
            await archive.take("job", ns.ANY, ns.ANY, timeout=60)


# -- pairs -----------------------------------------------------------------------------------


class StoredPairs:
    """A space as a host uses it, with the host's store; a group of pairs is one commit."""

    def __init__(self, file: Path) -> None:
        from nomospace.space import Space
        from nomospace.space.stored import StoreEngine
        from nomospace.store.sqlite import SqliteStore

        self._store = SqliteStore(file)
        self._store.begin(tuples=False)
        self._engine = StoreEngine(self._store.tables)
        self._space = Space(SPACE, engine=self._engine)
        _, self._count = self._store.tables.writers(SPACE)[AGENT]

    def ready(self, pairs: Pairs) -> list[Any]:
        """The records to put, and the templates to take by."""
        from nomospace.space import Record
        from nomospace.terms.templates import ANY, Template

        made = []
        for new, old in pairs:
            self._count += 1
            record = Record(("job", new, 7), AGENT, self._count, AGENT, AGENT)
            made.append((record, Template.of(("job", old, ANY)) if old else None))
        return made

    def group(self, ready: list[Any]) -> None:
        """Put records and take others by content; all on disk."""
        from nomospace.host.changes import TupleGone, TuplePut
        from nomospace.host.residents import row_of
        from nomospace.space import Slice
        from nomospace.store.interface import Step

        space, engine, slice = self._space, self._engine, Slice()
        changes: list[Any] = []
        for record, template in ready:
            space.put(record, now=0)
            record.kept = True
            order = engine.spaces[SPACE].put_down(record.id)
            changes.append(TuplePut(SPACE, row_of(record), order))
            if template is None:
                continue
            found = space.first(template, now=0) or space.find(template, slice=slice)
            if found is None:
                raise Bug(story=("a take of `bench space` found nothing in the store",))
            space.remove(found)
            changes.append(TupleGone(SPACE, found.id, engine.spaces[SPACE].gone(found.id)))
        engine.end_step()
        self._store.commit([Step(tuple(changes))], at=2)

    def read(self, ready: list[Any]) -> None:
        """Read tuples by content."""
        space = self._space
        for _, template in ready:
            if (space.first(template, now=0) or space.find(template)) is None:
                raise Bug(story=("a read of `bench space` found nothing in the store",))
        self._engine.end_step()

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()


class HandWritten:
    """The same with two statements and nothing around them."""

    def __init__(self, file: Path) -> None:
        from nomospace.store.sqlite import STORED_CACHE_KB

        self._base = sqlite3.connect(by_hand(file), isolation_level=None)
        self._base.execute("PRAGMA synchronous = FULL")
        self._base.execute(f"PRAGMA cache_size = -{STORED_CACHE_KB}")

    def ready(self, pairs: Pairs) -> list[Any]:
        """Nothing is to be prepared: the module keeps its statements."""
        return pairs

    def group(self, pairs: Pairs) -> None:
        """Insert rows, and delete others and get them; one transaction."""
        execute = self._base.execute
        execute("BEGIN IMMEDIATE")
        for new, old in pairs:
            execute("INSERT INTO jobs (kind, key, place) VALUES ('job', ?, 7)", (new,))
            if not old:
                continue
            taken = execute(
                "DELETE FROM jobs WHERE id = (SELECT id FROM jobs WHERE key = ? AND kind = 'job'"
                " ORDER BY id LIMIT 1) RETURNING kind, key, place",
                (old,),
            ).fetchone()
            if taken is None:
                raise Bug(story=("a `DELETE` of `bench space` found nothing",))
        execute("COMMIT")

    def read(self, pairs: Pairs) -> None:
        """Select rows; one transaction."""
        execute = self._base.execute
        execute("BEGIN")
        for _, old in pairs:
            found = execute(
                "SELECT kind, key, place FROM jobs WHERE key = ? AND kind = 'job'"
                " ORDER BY id LIMIT 1",
                (old,),
            ).fetchone()
            if found is None:
                raise Bug(story=("a `SELECT` of `bench space` found nothing",))
        execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()


def _groups(rng: Random, many: int, count: int, *, recent: bool) -> Iterator[list[Pairs]]:
    """Rounds of groups; a pair writes a key, and takes one of the residents or of the group before.

    The first round only writes.
    """
    serial = many * (2 + recent)
    left = list(range(many // 4, many // 2))  # the first were taken by the host's client
    rng.shuffle(left)
    before = [""] * GROUP
    while True:
        groups: list[Pairs] = []
        for _ in range(count if before[0] else 1):
            new = [key_of(serial + at) for at in range(GROUP)]
            serial += GROUP
            old = before
            if before[0] and not recent:
                old = [key_of(left.pop()) for _ in range(GROUP)]
            groups.append(list(zip(new, old, strict=True)))
            before = new
        yield groups


def _pairs(run: BenchRun, file: Path, many: int) -> Iterator[BenchRow]:
    count = GROUPS // 6 if run.quick else GROUPS
    count = max(1, min(count, many // 4 // GROUP // run.rounds))  # as many as there are to take
    how = f"{GROUP} pairs a commit, full sync; the best mean of {GROUP * count:,} pairs"
    reads = {"ours": float("inf"), "hand": float("inf")}
    for recent, what in ((False, "anywhere among them"), (True, "one written just before")):
        ours, hand = StoredPairs(file), HandWritten(file)
        best = {"ours": float("inf"), "hand": float("inf")}
        rounds = _groups(Random(3 + recent), many, count, recent=recent)
        try:
            for groups in islice(rounds, run.rounds + 1):
                for name, one in (("ours", ours), ("hand", hand)):
                    ready = [one.ready(group) for group in groups]
                    began = perf_counter_ns()
                    for group in ready:
                        one.group(group)
                    if len(groups) == count:
                        took = (perf_counter_ns() - began) / count / GROUP
                        best[name] = min(best[name], took)
                if recent and len(groups) == count:
                    _time_reads(ours, hand, groups[-1], reads)
        finally:
            ours.close()
            hand.close()
        yield BenchRow(
            what=f"out and take by content in the store, {many:,} resident: {what}",
            unit="µs",
            ours=best["ours"] / PER_US,
            floor=best["hand"] / PER_US,
            peers={"DELETE … RETURNING": best["hand"] / PER_US},
            goal=times_floor(3),
            how=f"{how}; records and templates made before",
        )
    yield BenchRow(
        what=f"read by content in the store, {many:,} resident: one that the cache has",
        unit="µs",
        ours=reads["ours"] / PER_US,
        peers={"SELECT": reads["hand"] / PER_US},
        goal=ahead_of_peers(),
        how=f"{GROUP} tuples written just before and read once, read {READS} times again,"
        f" {GROUP} reads a transaction; the best round; templates made before",
    )


def _time_reads(ours: StoredPairs, hand: HandWritten, group: Pairs, best: dict[str, float]) -> None:
    """What was written last is read again and again, by both in turns."""
    again = [("", new) for new, _ in group]
    for name, one in (("ours", ours), ("hand", hand)):
        ready = one.ready(again)
        one.read(ready)  # now either has it at hand
        began = perf_counter_ns()
        for _ in range(READS):
            one.read(ready)
        best[name] = min(best[name], (perf_counter_ns() - began) / READS / GROUP)
