"""Rounds in turn, best kept.

On a shared machine every figure is too high by whatever else was running. Taking turns spreads
that evenly over all contestants, and the smallest figure of each is the one least disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from nomospace.bench.peers.harness import stopwatch

__all__ = ["Sample", "interleave", "stopwatch"]

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
