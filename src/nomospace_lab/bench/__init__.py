"""Measurements: what each part costs, beside a floor and beside what a user would pick instead.

A figure alone says little: machines differ and are shared. So everything is measured in one run,
in turns (ours, floor, peers, ours, …), the best of several rounds counts, and ratios are what
goals are stated in.

- `report`: rows, goals, and the object that `--json` prints.
- `measure`: rounds in turn, best kept.
- `peers`: foreign engines, each installed on demand into a folder of its own and run as a child.
- `suites`: one module per bench. A new one needs no other change:

      @bench("law", "one decision, a whole handle, a thousand rules, a cold load")
      def law(run: Run) -> Iterator[Row]: ...

Modules in `suites` import what they measure inside the function, so that listing benches is quick.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from nomospace.errors import Bug, CallerError
from nomospace_lab.bench.machine import describe
from nomospace_lab.bench.report import BenchReport, BenchRow
from nomospace_lab.bench.run import BenchRun

__all__ = [
    "Bench",
    "BenchReport",
    "BenchRow",
    "BenchRun",
    "UnknownBench",
    "bench",
    "benches",
    "find",
]

Measure: TypeAlias = Callable[[BenchRun], Iterable[BenchRow]]


@dataclass(frozen=True, slots=True)
class Bench:
    """A named measurement; `measure` yields its rows as they are ready.

    One with `spark` cannot do without Spark, so Spark is looked for, or got, before it begins.
    """

    name: str
    about: str
    measure: Measure
    spark: bool = False

    def report(self, run: BenchRun) -> BenchReport:
        """Measure every row and gather them with the machine they were measured on."""
        machine = describe()
        return BenchReport(self.name, machine, tuple(self.measure(run)), tuple(run.notes))


class UnknownBench(CallerError):
    """A bench was asked for that does not exist."""

    code = "bench.unknown"
    name: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"there is no bench {self.name!r}; choose one of: {known}"


_registry: dict[str, Bench] = {}


def bench(name: str, about: str, *, spark: bool = False) -> Callable[[Measure], Measure]:
    """Register a function as the bench `name`; `about` says in one line what it measures."""

    def register(measure: Measure) -> Measure:
        if name in _registry and _registry[name].measure is not measure:
            raise Bug(story=(f"two benches are called {name!r}",))
        _registry[name] = Bench(name, about, measure, spark)
        return measure

    return register


def benches() -> Mapping[str, Bench]:
    """All benches by name, in alphabetical order.

    >>> list(benches()) == sorted(benches())
    True
    """
    from nomospace_lab.bench import suites

    for module in pkgutil.iter_modules(suites.__path__):
        import_module(f"{suites.__name__}.{module.name}")
    return dict(sorted(_registry.items()))


def find(name: str) -> Bench:
    """The bench of that name, or `UnknownBench` with the names there are."""
    known = benches()
    if name not in known:
        raise UnknownBench(name=name, known=tuple(known))
    return known[name]
