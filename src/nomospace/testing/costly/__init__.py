"""A search for work that costs more than its price.

    python -m nomospace.testing.costly law --minutes 5 --picture costs.svg

Whatever a stranger or a tenant can cause has a price, which is charged before the work. A `Case` is
one kind of such work: it makes an input, changes one a little, and does the work for its price. The
search climbs: it keeps the inputs whose time, or memory, is largest beside their price, and changes
those. What it ends with is the worst it found. More kinds are registered with `case`, from modules
named in `KINDS`.
"""

from __future__ import annotations

import importlib
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

KINDS: Final = ("nomospace.testing.costly.laws",)
"""Modules that register cases."""
KEPT: Final = 12
"""How many of the worst are kept and changed further."""
SHOTS: Final = 2
"""How often each is timed; the quickest counts."""
POINTS_MAX: Final = 5_000
"""How many measurements a picture shows."""


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of work. `run` does it and gives its price in units.

    `unit_ns` and `unit_bytes` are what a unit stands for; `free_ns` and `free_bytes` what any of
    this work may take, however little it costs.
    """

    name: str
    make: Callable[[Random], Any]
    mutate: Callable[[Random, Any], Any]
    run: Callable[[Any], int]
    show: Callable[[Any], str]
    unit_ns: float = 300.0
    unit_bytes: float = 200.0
    free_ns: float = 200_000.0
    free_bytes: float = 200_000.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one input cost, beside its price."""

    price: int
    ns: int
    bytes: int
    times: float
    """How many times its price it took, in time or in memory, whichever is more."""


@dataclass(slots=True)
class Search:
    """What a search has found so far: the worst, and a point for each input."""

    case: Case
    worst: list[tuple[Measured, Any]] = field(default_factory=list)
    points: list[Measured] = field(default_factory=list)
    tried: int = 0

    def add(self, measured: Measured, made: Any) -> None:
        """Take an input in."""
        self.tried += 1
        if len(self.points) < POINTS_MAX:
            self.points.append(measured)
        self.worst.append((measured, made))
        self.worst.sort(key=lambda found: -found[0].times)
        del self.worst[KEPT:]


_cases: dict[str, Case] = {}


def case(made: Case) -> Case:
    """Register a kind of work."""
    _cases[made.name] = made
    return made


def cases() -> dict[str, Case]:
    """All kinds of work, by name."""
    for module in KINDS:
        importlib.import_module(module)
    return dict(sorted(_cases.items()))


def measure(kind: Case, made: Any) -> Measured:
    """Do the work of an input: its price, the least processor time, and the most memory at once."""
    price, ns = 0, 1 << 62
    for _ in range(SHOTS):
        began = time.thread_time_ns()
        price = kind.run(made)
        ns = min(ns, time.thread_time_ns() - began)
    tracemalloc.start()
    try:
        kind.run(made)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    times = max(
        (ns - kind.free_ns) / (kind.unit_ns * max(price, 1)),
        (held - kind.free_bytes) / (kind.unit_bytes * max(price, 1)),
        0.0,
    )
    return Measured(price, ns, held, round(times, 3))


def climb(kind: Case, seed: int, enough: Callable[[Search], bool]) -> Search:
    """Search until it is enough. Which inputs are tried depends on the seed and on the clock."""
    rng = Random(seed)
    search = Search(kind)
    while not enough(search):
        if len(search.worst) < KEPT or rng.random() < 0.1:
            made = kind.make(rng)
        else:
            # The worst are changed most often.
            at = min(rng.randrange(KEPT), rng.randrange(KEPT))
            made = kind.mutate(rng, search.worst[at][1])
        search.add(measure(kind, made), made)
    return search


__all__ = ["KINDS", "Case", "Measured", "Search", "case", "cases", "climb", "measure"]
