"""`nomospace bench informer`: a quiet informer while a rogue publishes as fast as it can.

Figure 7 of `001_…` (5.2), with its 5.1 and 5.3. A policy allows ten publications a second to each
agent. Case (a): the mediator keeps it, for whatever comes in through its one queue. Case (b): the
law keeps it, at each agent's own controller. The mediator is the same program in both.

Three processes talk over TCP: the mediator's host and people's host on one core, the rogue with its
controller on the other. After 28 s the rogue begins and after 88 s it ends; at 120 s all ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Final

import msgspec

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.plots import timeline
from nomospace_lab.bench.processes import ChildProcess, cores
from nomospace_lab.bench.report import Goal, information, times_floor
from nomospace_lab.bench.suites.informer_parts import EDGE, FREE, InformerOptions, MediatorTasks

BEGIN_S: Final = 28.0
ROGUE_S: Final = 60.0
END_S: Final = 120.0
PER_MS: Final = 1e3
PARTS: Final = "nomospace_lab.bench.suites.informer_parts"
CALM: Final = 2.0
"""Recovered is who needs at most this many times the median of before."""
WINDOW: Final = 16
EDGE_CASE, MEDIATOR_CASE = "at the edge", "in the mediator"


class InformerCase(msgspec.Struct, frozen=True):
    """What one configuration showed. Trips are (when, how long), in seconds."""

    trips: list[tuple[float, float]]
    lost: int
    phases: dict[str, MediatorTasks]
    tried: int
    passed: int

    def between(self, first: float, last: float) -> list[float]:
        """The trips that began in a part of the experiment, in order of length."""
        return sorted([took for began, took in self.trips if first <= began < last])


@bench(
    "informer", "a quiet informer beside a rogue: the limit kept by the mediator, or at the edge"
)
def informer(run: BenchRun) -> Iterator[BenchRow]:
    """Both cases, one after the other; then what Figure 7 shows, and 5.1 and 5.3."""
    times = (BEGIN_S * run.scale, (BEGIN_S + ROGUE_S) * run.scale, END_S * run.scale)
    cases: dict[str, InformerCase] = {}
    for name, law, checks in ((MEDIATOR_CASE, FREE, True), (EDGE_CASE, EDGE, False)):
        run.say(f"the limit is kept {name}: {times[2]:.0f} s")
        cases[name] = _case(InformerOptions(law, checks, rogue_s=times[:2], end_s=times[2]))
    yield from _trips(cases, times)
    yield from _load(cases)
    if cores() < 2:
        run.notes.append("this machine has one core: the rogue takes time from all others")
    else:
        run.notes.append("the rogue and its controller ran on one core, all others on another")
    if run.plot is not None:
        run.plot.mkdir(parents=True, exist_ok=True)
        file = run.plot / "informer.svg"
        lines = {
            f"limit kept {name}": [(began, took * PER_MS) for began, took in case.trips]
            for name, case in cases.items()
        }
        title = "Round trips of quiet informers while a rogue publishes"
        plot = timeline(title, "seconds", "ms", lines, shaded=times[:2])
        file.write_text(plot, encoding="utf-8")
        run.notes.append(f"Figure 7 is in {file}")


def _trips(cases: dict[str, InformerCase], times: tuple[float, float, float]) -> Iterator[BenchRow]:
    begin, end, _ = times
    warm = begin / 4  # the first moments are those of connections, not of queues
    calm = {name: case.between(warm, begin) for name, case in cases.items()}
    rage = {name: case.between(begin, end) for name, case in cases.items()}
    for name, goal in (
        (EDGE_CASE, times_floor(1.5)),
        (MEDIATOR_CASE, _grows(10)),
    ):
        yield BenchRow(
            what=f"p99 of a quiet informer's round trip beside a rogue, limit kept {name}",
            unit="ms",
            ours=_share(rage[name], 0.99) * PER_MS,
            floor=_share(calm[name], 0.99) * PER_MS,
            goal=goal,
            how=(
                f"the floor: before the rogue began; medians {_share(rage[name], 0.5) * PER_MS:.2f}"
                f" and {_share(calm[name], 0.5) * PER_MS:.2f} ms, longest "
                f"{max(rage[name], default=0.0) * PER_MS:,.0f} ms; {len(rage[name])} round trips, "
                f"{cases[name].lost} never answered"
            ),
        )
    recovery = {
        name: _recovery(case, CALM * _share(calm[name], 0.5) + 0.001, end)
        for name, case in cases.items()
    }
    yield BenchRow(
        what="time after the rogue's end until round trips are as before",
        unit="s",
        ours=recovery[EDGE_CASE],
        peers={MEDIATOR_CASE: recovery[MEDIATOR_CASE]},
        goal=information(),
        how=f"the median of {WINDOW} is within {CALM:g} times that of before, and a millisecond",
        why_null={
            name: "it took longer than was waited"
            for name, value in recovery.items()
            if value is None
        },
    )


def _load(cases: dict[str, InformerCase]) -> Iterator[BenchRow]:
    edge, mediator = cases[EDGE_CASE], cases[MEDIATOR_CASE]
    yield BenchRow(
        what="messages that the mediator receives while the rogue is on (5.1)",
        unit="messages",
        ours=edge.phases["rogue"].received,
        peers={MEDIATOR_CASE: mediator.phases["rogue"].received},
        goal=information(),
        how=(
            f"the rogue tried {edge.tried:,} times and {edge.passed:,} passed its controller; "
            f"without a law there {mediator.tried:,}, of which {mediator.passed:,} went out"
        ),
    )
    cost = {
        name: case.phases["rogue"].cpu_s / max(1, case.phases["rogue"].accepted) * PER_MS
        for name, case in cases.items()
    }
    yield BenchRow(
        what="the mediator's CPU time for each publication it mediates beside a rogue (5.3)",
        unit="ms",
        ours=cost[EDGE_CASE],
        peers={MEDIATOR_CASE: cost[MEDIATOR_CASE]},
        goal=information(),
        how="its whole host's, controller and links included; publications it refuses do not count",
    )


def _grows(times: float) -> Goal:
    def holds(row: BenchRow) -> bool:
        ratio = row.over_floor
        return ratio is not None and ratio >= times

    return Goal(f"grows at least {times:g} times, which is what the edge spares", holds)


def _share(trips: Sequence[float], share: float) -> float:
    """A quantile of sorted figures.

    >>> _share([1.0, 2.0, 3.0, 4.0], 0.5), _share([1.0], 0.99), _share([], 0.5)
    (3.0, 1.0, 0.0)
    """
    return trips[min(len(trips) - 1, int(len(trips) * share))] if trips else 0.0


def _recovery(case: InformerCase, calm_s: float, end: float) -> float | None:
    """When, after the rogue's end, most of `WINDOW` trips in a row were calm; `None` for never.

    >>> trips = [(float(second), 9.0 if second < 40 else 0.1) for second in range(100)]
    >>> _recovery(InformerCase(trips, 0, {}, 0, 0), 1.0, 30.0)
    3.0
    """
    after = [(began - end, took) for began, took in case.trips if began >= end]
    for place in range(len(after) - WINDOW + 1):
        if _share(sorted([took for _, took in after[place : place + WINDOW]]), 0.5) <= calm_s:
            return after[place][0]
    return None


# -- the parts -------------------------------------------------------------------------------


def _case(options: InformerOptions) -> InformerCase:
    replace = msgspec.structs.replace
    near, far = (1, 0) if cores() > 1 else (-1, -1)
    with ExitStack() as stack:

        def start(name: str, options: InformerOptions) -> ChildProcess:
            part = ChildProcess(name, PARTS, name, msgspec.json.encode(options).decode())
            stack.callback(part.end)
            return part

        mediator = start("mediator", replace(options, core=near))
        at = mediator.hear()["at"]
        people = start("people", replace(options, core=near, join=at))
        rogue = start("rogue", replace(options, core=far, join=at))
        for part in (people, rogue):
            part.hear()
        for part in (mediator, people, rogue):
            part.hear()
        begin = time.monotonic() + 0.5
        for part in (mediator, people, rogue):
            part.say(f"go {begin}")
        raged = rogue.hear()
        told = mediator.hear()
        informed = people.hear()
        mediator.say("end")
        return msgspec.convert({**raged, **told, **informed}, InformerCase)
