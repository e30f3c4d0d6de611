"""A search for work that costs more than its price.

    python -m nomospace_lab.testing.costly --minutes 30 --picture costs.svg

Whatever a stranger or a tenant can cause has a price, which is charged before the work, and is cut
into slices, between which others have their turn. A `CostlyCase` is one kind of such work: it makes
an input, changes one a little, and does the work for its price. The search climbs: it keeps the
inputs whose time, memory or longest slice is largest beside what it may be, changes those and
crosses them with each other. What it ends with is the worst it found. More kinds are registered
with `case`, from modules named in `KINDS`.

Time is processor time of this thread, the least of several: what else the machine does is not
counted. Memory is the most that was held at once.
"""

from __future__ import annotations

import gc
import importlib
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, Final, NamedTuple

KINDS: Final = (
    "nomospace_lab.testing.costly.laws",
    "nomospace_lab.testing.costly.matching",
    "nomospace_lab.testing.costly.speech",
    "nomospace_lab.testing.costly.proofs",
    "nomospace_lab.testing.costly.frames",
    "nomospace_lab.testing.costly.bodies",
)
"""Modules that register cases."""
TIMES_MAX: Final = 5.0
"""Nothing may cost more times its price than this."""
SLICE_MS_MAX: Final = 20.0
"""No slice may take longer than this."""
KEPT: Final = 12
"""How many of the worst are kept and changed further."""
SHOTS: Final = 2
"""How often each is timed; the quickest counts."""
SHOTS_MORE: Final = 5
"""How often it is timed again before it counts as one of the worst: one shot may be bad luck."""
SHOTS_LAST: Final = 20
"""How often one is timed that is near what it may cost: a machine may be busy for a while, and what
shares its caches takes longer then."""
WEIGHED: Final = 4
"""Of how many inputs one is looked at for its memory, which takes several times as long."""
POINTS_MAX: Final = 1_200
"""How many measurements of one kind a picture shows."""


class Spent(NamedTuple):
    """What a piece of work has cost, and its longest slice; none when it was not cut."""

    price: int
    slice_ns: int = 0


@dataclass(frozen=True, slots=True)
class CostlyCase:
    """One kind of work. `ready` makes all that is there before it, `run` does it.

    `unit_ns` and `unit_bytes` are what a unit of its price stands for; `free_ns` and `free_bytes`
    what any of this work may take, however little it costs. `unit` says in a few words what a unit
    is paid for.
    """

    name: str
    make: Callable[[Random], Any]
    mutate: Callable[[Random, Any], Any]
    run: Callable[[Any], Spent]
    show: Callable[[Any], str]
    ready: Callable[[Any], Any] = lambda made: made
    unit: str = "a step"
    unit_ns: float = 300.0
    unit_bytes: float = 200.0
    free_ns: float = 200_000.0
    free_bytes: float = 200_000.0
    cold: bool = False
    """Whether all is made ready anew each time: what is done once, and kept, counts as well."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one input cost, beside its price."""

    price: int
    ns: int
    bytes: int
    slice_ns: int
    times: float
    """How many times its price it took, in time or in memory, whichever is more."""

    @property
    def share(self) -> float:
        """How much of what it may cost it did cost: over 1 is too much."""
        return max(self.times / TIMES_MAX, self.slice_ns / 1e6 / SLICE_MS_MAX)


@dataclass(slots=True)
class CostSearch:
    """What a search has found so far: the worst, and a point for each input."""

    case: CostlyCase
    worst: list[tuple[Measured, Any]] = field(default_factory=list)
    points: list[Measured] = field(default_factory=list)
    tried: int = 0

    def add(self, measured: Measured, made: Any) -> None:
        """Take an input in."""
        self.tried += 1
        if len(self.points) < POINTS_MAX:
            self.points.append(measured)
        elif self.tried % (1 + self.tried // POINTS_MAX) == 0:
            self.points[self.tried % POINTS_MAX] = measured  # later ones are as many as early ones
        if any(made == other for _, other in self.worst):
            return
        self.worst.append((measured, made))
        self.worst.sort(key=lambda found: -found[0].share)
        del self.worst[KEPT:]

    def counts(self, measured: Measured) -> bool:
        """Whether one would be among the worst."""
        return len(self.worst) < KEPT or measured.share > self.worst[-1][0].share


_cases: dict[str, CostlyCase] = {}


def case(made: CostlyCase) -> CostlyCase:
    """Register a kind of work."""
    _cases[made.name] = made
    return made


def cases() -> dict[str, CostlyCase]:
    """All kinds of work, by name."""
    for module in KINDS:
        importlib.import_module(module)
    return dict(sorted(_cases.items()))


def measure(kind: CostlyCase, made: Any, shots: int = SHOTS, *, memory: bool = True) -> Measured:
    """Do the work of an input: its price, the least processor time, and the most memory at once.

    Without `memory` that is not looked at: it takes several times as long as the work.
    """
    ready = kind.ready(made)
    spent, ns, slice_ns = Spent(0), 1 << 62, 1 << 62
    for shot in range(shots):
        if kind.cold and shot:
            ready = kind.ready(made)
        began = time.thread_time_ns()
        spent = kind.run(ready)
        took = time.thread_time_ns() - began
        ns, slice_ns = min(ns, took), min(slice_ns, spent.slice_ns or took)
    held = _held(kind, kind.ready(made) if kind.cold else ready) if memory else 0
    price = max(spent.price, 1)
    times = max(
        (ns - kind.free_ns) / (kind.unit_ns * price),
        (held - kind.free_bytes) / (kind.unit_bytes * price),
        0.0,
    )
    return Measured(spent.price, ns, held, slice_ns, round(times, 3))


def _held(kind: CostlyCase, ready: Any) -> int:
    tracemalloc.start()
    try:
        kind.run(ready)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def cross(rng: Random, one: Any, other: Any) -> Any:
    """A child of two inputs: each part is of either."""
    parts = {
        part.name: getattr(one if rng.random() < 0.5 else other, part.name) for part in fields(one)
    }
    return type(one)(**parts)


def offspring(kind: CostlyCase, rng: Random, worst: list[Any]) -> Any:
    """The next input: of the worst so far, those first, or a new one."""
    if len(worst) < 2 or rng.random() < 0.1:
        return kind.make(rng)
    one, other = [worst[min(rng.randrange(len(worst)), rng.randrange(len(worst)))] for _ in "ab"]
    if rng.random() < 0.2 and hasattr(one, "__dataclass_fields__"):
        return cross(rng, one, other)
    made = kind.mutate(rng, one)
    return kind.mutate(rng, made) if rng.random() < 0.3 else made


def climb(
    kind: CostlyCase, seed: int, enough: Callable[[CostSearch], bool], *, weighed: int = WEIGHED
) -> CostSearch:
    """Search until it is enough. Which inputs are tried depends on the seed and on the clock.

    One of so many as `weighed` says is looked at for its memory, and all that may be the worst.
    """
    rng = Random(seed)
    search = CostSearch(kind)
    gc.collect()
    gc.freeze()  # what is there already is not looked through while something is measured
    try:
        while not enough(search):
            made = offspring(kind, rng, [each for _, each in search.worst])
            measured = measure(kind, made, memory=search.tried % weighed == 0)
            if search.counts(measured) and measured.share > 0.4:
                measured = measure(kind, made, SHOTS_MORE)
                if measured.share > 0.8:
                    measured = measure(kind, made, SHOTS_LAST)
            search.add(measured, made)
    finally:
        gc.unfreeze()
    return search


__all__ = [
    "KINDS",
    "SLICE_MS_MAX",
    "TIMES_MAX",
    "CostSearch",
    "CostlyCase",
    "Measured",
    "Spent",
    "case",
    "cases",
    "climb",
    "cross",
    "measure",
    "offspring",
]
