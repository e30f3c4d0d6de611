"""`nomospace bench space`: what a tuple space costs with a million tuples in it.

The floor is a plain dictionary of lists, by the one field that a take names: whatever finds tuples
by any field, keeps order and wakes those who wait costs more. SQLite does the same work in the
same process; PostgreSQL and Redis do it as servers, where they are on the machine.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.measure import Sample, each_fresh
from nomospace_lab.bench.peers.entrants import Entrants, entrants
from nomospace_lab.bench.peers.spaces import PEERS, loop
from nomospace_lab.bench.peers.spaces.loop import Contest, Row as Fields
from nomospace_lab.bench.peers.spaces.sqlite import Sqlite
from nomospace_lab.bench.report import ahead_of_peers, at_most, times_floor
from nomospace_lab.bench.suites.space_hosts import engaging, through_the_api
from nomospace_lab.bench.suites.space_partition import partitioned
from nomospace_lab.bench.suites.space_stored import stored

if TYPE_CHECKING:
    from nomospace.space import Record

PER_US = 1e3
PER_MS = 1e6
MANY, MANY_QUICK = 1_000_000, 100_000
AGENTS = tuple(f"agent{number}@ward" for number in range(100))


@bench("space", "a pair of out and take among a million, pauses, waiters, memory")
def space(run: BenchRun) -> Iterator[BenchRow]:
    """Rows through the core, through the public API, and of a space that lies in the store."""
    if run.stored:
        yield from stored(run)
        return
    many = MANY_QUICK if run.quick else MANY
    yield from _pairs(run, many)
    run.say("templates that are selective only together")
    yield from _together(run, many)
    run.say("waiters and reactions")
    yield from _watchers(run)
    run.say("memory")
    yield _memory(many)
    run.say("the public API")
    yield through_the_api(run, many)
    run.say("two hosts that engage")
    yield from engaging(run, many)
    run.say("a partitioned space on 1 to 16 hosts")
    yield from partitioned(run)
    yield from stored(run)


# -- the engines -----------------------------------------------------------------------------


class Ours:
    """A space, used as a host uses it: records and templates come ready-made."""

    def __init__(self) -> None:
        from nomospace.space import Space

        self.space = Space("jobs")
        self._counts = [0] * len(AGENTS)
        self._next = 0

    def record(self, fields: tuple[Any, ...]) -> Record:
        """A tuple of the agents' in turn."""
        from nomospace.space import Record

        at = self._next = (self._next + 1) % len(AGENTS)
        self._counts[at] += 1
        return Record(fields, AGENTS[at], self._counts[at], AGENTS[at], AGENTS[at])

    def load(self, rows: Iterator[tuple[Any, ...]]) -> None:
        """One after the other, as they would come."""
        for row in rows:
            self.space.put(self.record(row), now=0)

    def ready(self, row: Fields, key: str) -> tuple[Any, ...]:
        """The record to put and the template to take by."""
        from nomospace.terms.templates import ANY, Template

        return self.record(row), Template.of(("job", key, ANY))

    def pair(self, record: Record, template: Any) -> Fields | None:
        """Put one, find another and remove it."""
        space = self.space
        space.put(record, now=0)
        found = space.find(template)
        if found is None:
            return None
        space.remove(found)
        fields: Any = found.fields
        return fields  # type: ignore[no-any-return]


class DictFloor:
    """A dictionary of lists, by key."""

    def __init__(self) -> None:
        self._lists: dict[str, list[Fields]] = {}

    def load(self, rows: Iterator[Fields]) -> None:
        """Each into its list."""
        for row in rows:
            self._lists.setdefault(row[1], []).append(row)

    def ready(self, row: Fields, key: str) -> tuple[Any, ...]:
        """Nothing is to be prepared."""
        return row, key

    def pair(self, row: Fields, key: str) -> Fields | None:
        """Into one list, out of another."""
        lists = self._lists
        found = lists.get(row[1])
        if found is None:
            lists[row[1]] = [row]
        else:
            found.append(row)
        found = lists.get(key)
        if not found:
            return None
        taken = found.pop()
        if not found:
            del lists[key]
        return taken


# -- a pair, and the longest pause -----------------------------------------------------------


def _pairs(run: BenchRun, many: int) -> Iterator[BenchRow]:
    run.say(f"loading {many:,} tuples")
    ours = Contest(Ours(), many)
    best, field = _pair(run, many, ours)
    yield BenchRow(
        what=f"an out and a matching take by content, {many:,} tuples resident",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["floor"] / PER_US,
        peers={"sqlite3": best["sqlite3"] / PER_US, **field.figures(best, per_ns=PER_US)},
        why_null=field.why_null,
        goal=at_most(10, "µs") & ahead_of_peers(),
        how="random keys; each pair takes a tuple from anywhere among the resident; records and "
        "templates made before; the best batch of 100",
    )
    yield BenchRow(
        what=f"the same, beside the same with 1,000 resident: {many:,}",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["few"] / PER_US,
        goal=times_floor(2.5),
        how="the floor is our own with 1,000 tuples",
    )
    run.say("the longest pause")
    yield _pause(run, ours, many)


def _pair(run: BenchRun, many: int, ours: Contest) -> tuple[dict[str, float], Entrants]:
    """Time a pair of all who are there; what they hold is let go of with the end of this."""
    contests = {
        "ours": ours,
        "few": Contest(Ours(), 1_000),
        "floor": Contest(DictFloor(), many),
        "sqlite3": Contest(Sqlite(), many),
    }
    for name, contest in contests.items():
        if not contest.is_right():
            raise Bug(story=(f"{name} of `bench space` takes wrongly",))
    run.say("a pair of out and take")
    samples = {name: _quiet(contest.sample) for name, contest in contests.items()}
    with entrants(run, PEERS, [(many, True)], loop.__file__) as field:
        return run.interleave({**samples, **field.samples}), field


def _quiet(sample: Sample) -> Sample:
    """The same with the collector off, as `timeit` has it; pauses are a row of their own."""

    def quiet(seconds: float) -> float:
        gc.disable()
        try:
            return sample(seconds)
        finally:
            gc.enable()

    return quiet


def _pause(run: BenchRun, contest: Contest, many: int) -> BenchRow:
    """The longest pair of a steady load, with the collector at work; the best of the rounds."""
    pair = contest.engine.pair
    pairs = 20_000 if run.quick else 100_000
    longest, by_clock = [], []
    for _ in range(min(run.rounds, 3)):
        worst = worst_clock = 0
        for _ in range(pairs):
            ready = contest.engine.ready(*contest.next())
            clock, start = perf_counter_ns(), thread_time_ns()
            pair(*ready)
            took, took_clock = thread_time_ns() - start, perf_counter_ns() - clock
            worst, worst_clock = max(worst, took), max(worst_clock, took_clock)
        longest.append(worst)
        by_clock.append(worst_clock)
    return BenchRow(
        what=f"the longest pause under steady load, {many:,} tuples resident",
        unit="ms",
        ours=min(longest) / PER_MS,
        goal=at_most(20, "ms"),
        how=f"the longest of {pairs:,} pairs, collector on, in processor time: a shared machine "
        f"stops whom it likes (by the clock {min(by_clock) / PER_MS:.1f} ms)",
    )


# -- selective only together -----------------------------------------------------------------


def _together(run: BenchRun, many: int) -> Iterator[BenchRow]:
    """Five fields of fifty values: each narrows to a fiftieth, all together to one or none."""
    from random import Random

    from nomospace.terms.templates import Template, between

    rng, values = Random(5), 50

    def draw() -> tuple[int, ...]:
        return tuple([rng.randrange(values) for _ in range(5)])

    def fields() -> Template:
        return Template.of(draw())

    def ranged() -> Template:
        low = rng.randrange(values)
        return Template.of((*draw()[:4], between(low, low + 1)))

    ours = Ours()
    ours.load(iter([draw() for _ in range(many)]))
    find, stats = ours.space.find, ours.space.stats
    makers = {"five fields": fields, "four fields and a range": ranged}
    for whole, (what, make) in enumerate(makers.items(), start=1):
        # The first searches walk, and build the index that the later ones use.
        while stats()["composites"] < whole:
            find(make())
        best = run.interleave({"ours": each_fresh(make, find)})
        yield BenchRow(
            what=f"a template whose fields are selective only together: {what}",
            unit="µs",
            ours=best["ours"] / PER_US,
            goal=at_most(200, "µs"),
            how=f"{many:,} tuples, each field alone narrows to {many // values:,}; "
            "after the searches that built the index",
        )


# -- waiters and reactions -------------------------------------------------------------------


class Crowd:
    """A space where half as many wait, and half as many reactions are registered, as is said."""

    def __init__(self, count: int) -> None:
        from nomospace.calls.ways import ONCE_PER_TUPLE
        from nomospace.space import TAKE, Reaction
        from nomospace.terms.templates import ANY, Template

        self.ours = Ours()
        self.count = count // 2
        self._take = TAKE
        self._templates = [Template.of(("job", f"w{i}", ANY)) for i in range(self.count)]
        space = self.ours.space
        for i, template in enumerate(self._templates):
            space.wait(i, template, TAKE)
            watch = Template.of(("job", f"r{i}", int))
            space.react(Reaction(f"r{i}", watch, ONCE_PER_TUPLE), now=0)

    def sample(self, seconds: float) -> float:
        """Nanoseconds an out that wakes one waiter; it waits anew afterwards, unmeasured."""
        space, best, at = self.ours.space, float("inf"), 0
        end = perf_counter_ns() + seconds * 1e9
        while perf_counter_ns() < end:
            woken = [(at + 37 * i) % self.count for i in range(50)]
            at += 50 * 37
            records = [self.ours.record(("job", f"w{i}", i)) for i in woken]
            start = perf_counter_ns()
            told = [space.put(record, now=0) for record in records]
            best = min(best, (perf_counter_ns() - start) / len(records))
            if any(len(one) != 1 for one in told):
                raise Bug(story=("an out of `bench space` did not wake one waiter",))
            for i in woken:
                space.wait(i, self._templates[i], self._take)
        return best


def _watchers(run: BenchRun) -> Iterator[BenchRow]:
    many = 10_000 if run.quick else 100_000
    crowds = {str(count): Crowd(count) for count in (many, 100)}
    best = run.interleave({name: _quiet(crowd.sample) for name, crowd in crowds.items()})
    yield BenchRow(
        what=f"an out that wakes one of {many:,} waiters and reactions",
        unit="µs",
        ours=best[str(many)] / PER_US,
        floor=best["100"] / PER_US,
        goal=times_floor(3),
        how="half are takes that wait, half are reactions; the floor is our own with 100",
    )


# -- memory ----------------------------------------------------------------------------------

MEMORY = """
import gc, sys
from random import Random
from nomospace_lab.bench.suites.space import Ours, resident_bytes
ours, rng, count = Ours(), Random(1), int(sys.argv[1])
def put(serial):
    key = f"k{rng.randrange(1_000_000) * 10_000_000 + serial:x}"
    ours.space.put(ours.record(("job", key, rng.randrange(1_000))), now=0)
def grown():
    gc.collect()
    return resident_bytes()
put(0)
before = grown()
for serial in range(count):
    put(serial)
print((grown() - before) / count)
"""
"""A process that does nothing but fill a space, so that all it grows by is the space."""


def resident_bytes() -> int:
    """How much memory this process has, or has had at most where the system tells only that."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text("ascii").split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _memory(many: int) -> BenchRow:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(many)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return BenchRow(
        what="memory of a resident tuple of three short fields, indexes included",
        unit="bytes",
        ours=float(done.stdout),
        goal=at_most(550, "bytes"),
        how=f"{many:,} tuples of 100 agents in a fresh process: its growth, fields and all",
    )
