"""Many worlds, one after the other or in several processes, and one world with its story."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from signal import SIG_IGN, SIGINT, signal
from time import perf_counter
from traceback import format_exception
from typing import Any

from nomospace_lab.sim.checkers import Verdict
from nomospace_lab.sim.simulation import Simulation
from nomospace_lab.sim.workloads import Workload, find


@dataclass(frozen=True)
class Outcome:
    """What became of one seed."""

    seed: int
    verdicts: tuple[Verdict, ...]
    messages: int
    took_s: float

    @property
    def failed(self) -> bool:
        """Whether a checker said no."""
        return any(verdict.answer == "no" for verdict in self.verdicts)


@dataclass
class SeedReport:
    """What became of many seeds."""

    workload: str
    seeds: int = 0
    failed: list[int] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    took_s: float = 0.0
    interrupted: bool = False

    def add(self, outcome: Outcome) -> None:
        """Count one more world."""
        self.seeds += 1
        self.messages += outcome.messages
        if outcome.failed:
            self.failed.append(outcome.seed)
        for verdict in outcome.verdicts:
            self.checked[verdict.property] = self.checked.get(verdict.property, 0) + verdict.cases
            if verdict.answer == "unknown":
                self.unknown[verdict.property] = self.unknown.get(verdict.property, 0) + 1

    def as_json(self) -> dict[str, Any]:
        """The report as `nomospace sim --json` prints it. `checked` counts cases looked at."""
        return {
            "workload": self.workload,
            "seeds": self.seeds,
            "failed": sorted(self.failed),
            "checked": self.checked,
            "took_s": round(self.took_s, 3),
        }


def play(workload: Workload, seed: int) -> tuple[Simulation | None, Outcome]:
    """Run one world to its end and ask every checker.

    An error of ours in the middle of a world is a no, with its last lines: the other seeds go on.
    """
    began = perf_counter()
    world: Simulation | None = None
    try:
        world = workload.build(seed)
        world.run()
        verdicts = tuple([check(world) for check in workload.checkers])
    except Exception as error:
        last = tuple(list(world.history)[-5:]) if world is not None else ()
        says = "".join(format_exception(error)).strip()
        verdicts = (Verdict("the world runs without an error", "no", 1, says, last),)
    messages = world.messages if world is not None else 0
    return world, Outcome(seed, verdicts, messages, perf_counter() - began)


def run(
    workload: Workload,
    seeds: Sequence[int],
    *,
    processes: int = 1,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> SeedReport:
    """Run many worlds and count. Ctrl-C ends it with what has been counted so far."""
    report = SeedReport(workload.name)
    began = perf_counter()
    try:
        for outcome in _outcomes(workload, seeds, processes):
            report.add(outcome)
            if on_outcome is not None:
                on_outcome(outcome)
    except KeyboardInterrupt:
        report.interrupted = True
    report.took_s = perf_counter() - began
    return report


def _outcomes(workload: Workload, seeds: Sequence[int], processes: int) -> Iterator[Outcome]:
    if processes <= 1:
        yield from (play(workload, seed)[1] for seed in seeds)
        return
    jobs = [(workload.module, workload.name, seed) for seed in seeds]
    # Ctrl-C goes to all processes of a terminal; only this one shall heed it.
    pool = ProcessPoolExecutor(processes, initializer=signal, initargs=(SIGINT, SIG_IGN))
    try:
        yield from pool.map(_elsewhere, jobs, chunksize=4)
    finally:
        pool.shutdown(cancel_futures=True)


def _elsewhere(job: tuple[str, str, int]) -> Outcome:
    """One seed in a process of its own, which may know nothing yet."""
    module, name, seed = job
    import_module(module)
    return play(find(name), seed)[1]
