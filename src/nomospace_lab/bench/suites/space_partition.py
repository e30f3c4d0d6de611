"""Rows of `bench space` for a partitioned space: what a pair of out and take costs by hosts.

The real cores of all hosts in one process, in virtual time, every host linked with every other one.
Figures are processor time of all hosts, less what they use when nobody asks for anything; sockets
and clients are left out, which cost the same whatever the number of hosts.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Final

from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.report import information, times_floor

if TYPE_CHECKING:
    from nomospace.host.effects import Answer
    from nomospace_lab.bench.suites.scale_world import ScaleWorld

SIZES: Final = (1, 2, 4, 8, 16)
PAIRS: Final = 400
PER_US: Final = 1e6
FLAT: Final = 1.3
WORDS: Final = {
    "at the key's home": "who works on a key is at its home",
    "at any hosts": "writer and taker are at hosts drawn by chance, and the key's home is a third",
}


def partitioned(run: BenchRun) -> Iterator[BenchRow]:
    """A pair of out and take by key, where its home is and from anywhere."""
    took: dict[str, list[float]] = {where: [] for where in WORDS}
    frames: dict[str, list[float]] = {where: [] for where in WORDS}
    for size in SIZES:
        for where in WORDS:
            cost, passed = _pair(run, size, near=where == next(iter(WORDS)))
            took[where].append(cost)
            frames[where].append(passed)
    for where, words in WORDS.items():
        near = where == next(iter(WORDS))
        floor = 0 if near else 1  # alone, nobody is anywhere else
        by_size = ", ".join(
            f"{size} {cost:.3g} µs and {passed:.2g} frames"
            for size, cost, passed in zip(SIZES, took[where], frames[where], strict=True)
        )
        yield BenchRow(
            what=f"out and take by key in a partitioned space, {where}, {SIZES[-1]} hosts",
            unit="µs",
            ours=took[where][-1],
            floor=took[where][floor],
            goal=times_floor(FLAT) if near else information(),
            how=f"{words}; cores of all hosts in one process, no sockets; the floor is "
            f"{SIZES[floor]} of them; by hosts: {by_size}",
        )


def _pair(run: BenchRun, size: int, *, near: bool) -> tuple[float, float]:
    """Microseconds of all hosts for a pair, and the frames that passed for it."""
    from nomospace.calls.requests import TAKE, Out, Seek
    from nomospace.terms.templates import Template
    from nomospace_lab.bench.suites.scale import Meter
    from nomospace_lab.bench.suites.scale_world import SPACE

    world, rng = _made(size), Random(size)
    names = list(world.hosts)
    answers: list[Answer] = []
    part = world.hosts[names[0]].spaces.levels[SPACE].partition
    assert part is not None, "it was opened so"
    meter, best = Meter(world), (float("inf"), 0.0)

    def work() -> None:
        base, before = rng.getrandbits(40), len(answers)
        for key in range(base, base + PAIRS):
            home = part.homes.home(key)
            at, to = (home, home) if near else (rng.choice(names), rng.choice(names))
            world.call(f"a0@{at}", Out(SPACE, ("item", key)))
            world.call(f"a1@{to}", Seek(SPACE, TAKE, Template.of(("item", key))), answers.append)
        world.run_until(lambda: len(answers) - before == PAIRS)

    for _ in range(max(4, run.rounds)):
        frames = world.frames
        gc.disable()
        cost = meter.measure(work)[0] / PAIRS * PER_US
        gc.enable()
        best = min(best, (cost, (world.frames - frames) / PAIRS))
    return best


def _made(size: int) -> ScaleWorld:
    """Hosts in one group that have come to rest, and know who is at home where."""
    from nomospace_lab.bench.suites.scale_world import SECOND, SPACE, ScaleWorld

    world = ScaleWorld(size, 2, 0, partition="1")
    for a in world.hosts:
        for b in world.hosts:
            world.link(a, b)
    world.run_until(lambda: world.grouped(world.hosts), step=100_000)
    world.run(world.now + 5 * SECOND)
    for host in world.hosts.values():
        part = host.spaces.levels[SPACE].partition
        assert part is not None, "it was opened so"
        part.homes.shares()  # fills its table, as keys would one by one
    return world
