"""`nomospace bench scale`: what each operation costs in a world of 10, 100 and 1,000 hosts.

The real cores of all hosts in one process and in virtual time, with 100 agents at each host and 100
tuples of each agent: 10,000,000 tuples in the largest world. Figures are processor time of all
hosts together, less what they use when nobody asks for anything. Frames go over the four links that
a host has on average, so one to any other host passes through more hands in a larger world. What
kinds of tuples a host may have is known to the others after the first of them, and the operations
are done once before they are measured; a row of its own has what a new kind costs.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Iterator
from time import process_time
from typing import TYPE_CHECKING, Final

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.plots import lines
from nomospace_lab.bench.report import Goal, information, times_floor

if TYPE_CHECKING:
    from nomospace_lab.bench.suites.scale_world import ScaleWorld

SIZES: Final = (10, 100, 1_000)
QUICK: Final = (10, 30, 100)
AGENTS: Final = 100
TUPLES: Final = 100
"""Of each agent."""
BATCH: Final = 200
"""How many operations of a kind are under way at once."""
IDLE_S: Final = 4
PER_US: Final = 1e6

FLAT: Final = 1.5
OPERATIONS: Final[dict[str, Goal]] = {
    "a tuple out and taken at one host": times_floor(FLAT),
    "a tuple out, then taken at another host": times_floor(FLAT),
    "a take that waits, then its tuple out at another host": times_floor(FLAT),
    "the same by key in a partitioned space": times_floor(FLAT),
    "a tuple of a new kind out, then taken at another host": information(),
    "a message to an agent of another host": information(),
    "a move to another host": information(),
}
CHANGES: Final = (
    "a host comes with its agents and tuples",
    "a host goes without a word",
    "a tenth of the hosts parts",
    "a tenth of the hosts is back",
)


@bench("scale", "what each operation costs in a simulated world of 10, 100 and 1,000 hosts")
def scale(run: BenchRun) -> Iterator[BenchRow]:
    """One world after the other; then a row for each operation, the smallest world its floor."""
    sizes = QUICK if run.quick else SIZES
    took: dict[str, list[float]] = {what: [] for what in OPERATIONS}
    changed: dict[str, list[tuple[float, float]]] = {what: [] for what in CHANGES}
    memory: list[float] = []
    for size in sizes:
        run.say(f"{size:,} hosts, {size * AGENTS:,} agents, {size * AGENTS * TUPLES:,} tuples")
        before = _resident_mb()
        world = _made(size)
        for what, figure in zip(OPERATIONS, _operations(world), strict=True):
            took[what].append(figure)
        for what, (work, time) in zip(CHANGES, _changes(world), strict=True):
            changed[what].append((work / size, time))
        memory.append((_resident_mb() - before) / size)
        del world
        gc.unfreeze()
        gc.collect()
    largest = f"{sizes[-1]:,} hosts"
    for what, goal in OPERATIONS.items():
        yield BenchRow(
            what=f"{what}, {largest}",
            unit="µs",
            ours=took[what][-1],
            floor=took[what][0],
            goal=goal,
            how=f"of all hosts; the floor is a world of {sizes[0]}; {_by_size(sizes, took[what])}",
        )
    for what in CHANGES:
        each = [work for work, _ in changed[what]]
        yield BenchRow(
            what=f"{what}, {largest}: work of each host",
            unit="ms",
            ours=each[-1] * 1e3,
            goal=information(),
            how=f"until all are one group; {_by_size(sizes, [one * 1e3 for one in each])} ms; "
            f"{changed[what][-1][1]:.1f} s of the world",
        )
    yield BenchRow(
        what=f"memory of a host, {largest}",
        unit="MB",
        ours=memory[-1],
        goal=information(),
        how=f"{AGENTS} agents, {AGENTS * TUPLES:,} tuples, and what it knows of the others; "
        f"{_by_size(sizes, memory)} MB",
    )
    if run.plot is not None:
        run.plot.mkdir(parents=True, exist_ok=True)
        file = run.plot / "scale.svg"
        times = {what: [one / its[0] for one in its] for what, its in took.items()}
        title = "What an operation costs, beside the smallest world"
        file.write_text(lines(title, "hosts", "times", sizes, times), encoding="utf-8")
        run.notes.append(f"the plot of operations by size is in {file}")


def _by_size(sizes: tuple[int, ...], figures: list[float]) -> str:
    pairs = zip(sizes, figures, strict=True)
    return "by hosts: " + ", ".join(f"{size:,} {figure:,.3g}" for size, figure in pairs)


def _resident_mb() -> float:
    """What this process has in memory, in megabytes; of worlds that grow the most there was."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _made(size: int) -> ScaleWorld:
    """A world in one group, that has come to rest."""
    from nomospace_lab.bench.suites.scale_world import SECOND, ScaleWorld

    gc.disable()
    world = ScaleWorld(size, AGENTS, TUPLES)
    world.run_until(lambda: world.grouped(world.hosts), step=100_000)
    world.run(world.now + 10 * SECOND)
    gc.enable()
    gc.freeze()
    return world


class Meter:
    """Processor time, less what hosts use in the same time of the world when nobody asks."""

    def __init__(self, world: ScaleWorld) -> None:
        from nomospace_lab.bench.suites.scale_world import SECOND

        self._world = world
        began = process_time()
        world.run(world.now + IDLE_S * SECOND)
        self._idle = (process_time() - began) / (IDLE_S * SECOND)

    def measure(self, work: Callable[[], None]) -> tuple[float, float]:
        """The seconds that some work takes all hosts, and those that pass in the world."""
        from nomospace_lab.bench.suites.scale_world import SECOND

        at, began = self._world.now, process_time()
        work()
        passed = self._world.now - at
        return max(process_time() - began - passed * self._idle, 0.0), passed / SECOND


def _operations(world: ScaleWorld) -> Iterator[float]:
    """What one operation of each kind takes, in microseconds, in their order."""
    from nomospace.calls.requests import TAKE, Move, Out, Request, Seek, SendPlain
    from nomospace.host.effects import Answer
    from nomospace.terms.templates import Template
    from nomospace_lab.bench.suites.scale_world import KEYED, SPACE

    meter = Meter(world)
    answers: list[Answer] = []

    def take(*fields: object) -> Request:
        return Seek(SPACE, TAKE, Template.of(fields))

    def batch(begin: Callable[[str, str, int], None], ended: Callable[[], int]) -> float:
        before = ended()

        def work() -> None:
            for number, (one, other) in enumerate(pairs):
                begin(one, other, number)
            world.run_until(lambda: ended() - before == len(pairs))

        return meter.measure(work)[0] / len(pairs) * PER_US

    pairs = world.draw(BATCH)

    def here(one: str, other: str, number: int) -> None:
        world.call(one, Out(SPACE, ("here", number)))
        world.call(one, take("here", number), answers.append)

    def out_first(one: str, other: str, number: int) -> None:
        world.call(one, Out(SPACE, (f"for {other}", number)))
        world.call(other, take(f"for {other}", number), answers.append)

    def take_first(one: str, other: str, number: int) -> None:
        world.call(other, take(f"for {other}", number), answers.append)
        world.call(one, Out(SPACE, (f"for {other}", number)))

    def keyed(one: str, other: str, number: int) -> None:
        writer, taker = (f"a0@{agent.partition('@')[2]}" for agent in (one, other))
        world.call(writer, Out(KEYED, ("keyed", number)))
        world.call(taker, Seek(KEYED, TAKE, Template.of(("keyed", number))), answers.append)

    def new_kind(one: str, other: str, number: int) -> None:
        kind = f"new {len(answers)} {number}"
        world.call(one, Out(SPACE, (kind,)))
        world.call(other, take(kind), answers.append)

    for begin in (here, out_first, take_first, keyed, new_kind):
        batch(begin, lambda: len(answers))  # what is only paid for once was paid for
        yield batch(begin, lambda: len(answers))
    batch(lambda one, other, n: world.call(one, SendPlain(n, other)), lambda: world.mailed)
    yield batch(lambda one, other, n: world.call(one, SendPlain(n, other)), lambda: world.mailed)

    def move(one: str, other: str, number: int) -> None:
        world.call(one, Move(other.partition("@")[2]))

    yield batch(move, lambda: len(world.at))


def _changes(world: ScaleWorld) -> Iterator[tuple[float, float]]:
    """The work of all hosts in each change of the group, and how long that takes, in seconds."""
    names = list(world.hosts)

    def until_grouped(*groups: list[str]) -> Callable[[], None]:
        def work() -> None:
            world.run_until(lambda: all(map(world.grouped, groups)), step=100_000)

        return work

    world.add("new")
    meter = Meter(world)
    for name in names[:4]:
        world.link("new", name)
    yield meter.measure(until_grouped([*names, "new"]))
    world.part(["new"])
    yield meter.measure(until_grouped(names))
    some, rest = names[: len(names) // 10], names[len(names) // 10 :]
    cut = world.part(some)
    world.connect(some)
    world.connect(rest)
    yield meter.measure(until_grouped(some, rest))
    for a, b in cut:
        world.link(a, b)
    yield meter.measure(until_grouped(names))
