"""Rounds in turn, best kept.

On a shared machine every figure is too high by whatever else was running. Taking turns spreads
that evenly over all contestants, and the smallest figure of each is the one least disturbed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import TypeAlias, TypeVar

from nomospace_lab.bench.peers.harness import stopwatch

__all__ = ["Sample", "each_fresh", "interleave", "stopwatch"]

FRESH_BATCH = 200
T = TypeVar("T")

Sample: TypeAlias = Callable[[float], float]
"""Measure for about so many seconds; answer nanoseconds a call."""


def interleave(
    contestants: Mapping[str, Sample], *, rounds: int, batch_s: float
) -> dict[str, float]:
    """Let each contestant measure once a round, in order; the best figure of each.

    >>> figures = {"a": iter([5.0, 3.0]), "b": iter([2.0, 9.0])}
    >>> interleave(
    ...     {n: lambda _s, f=f: next(f) for n, f in figures.items()}, rounds=2, batch_s=0
    ... )
    {'a': 3.0, 'b': 2.0}
    """
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, sample in contestants.items():
            figure = sample(batch_s)
            best[name] = min(figure, best.get(name, figure))
    return best


def each_fresh(make: Callable[[], T], call: Callable[[T], object]) -> Sample:
    """Prepare to time a call that uses its argument up: each gets one made beforehand, unmeasured.

    >>> each_fresh(lambda: iter([1]), next)(0.001) > 0
    True
    """

    def batch() -> float:
        things = [make() for _ in range(FRESH_BATCH)]
        start = perf_counter_ns()
        for thing in things:
            call(thing)
        return (perf_counter_ns() - start) / FRESH_BATCH

    def sample(seconds: float) -> float:
        enabled = gc.isenabled()
        gc.disable()
        try:
            end = perf_counter_ns() + seconds * 1e9
            best = batch()
            while perf_counter_ns() < end:
                best = min(best, batch())
            return best
        finally:
            if enabled:
                gc.enable()

    return sample
