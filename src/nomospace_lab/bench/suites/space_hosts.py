"""Rows of `bench space` above the core: through the public API, and two hosts that engage."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from random import Random
from time import perf_counter_ns
from typing import Any, Final

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.report import at_most, times_floor

PER_US = 1e3
PER_MS = 1e6
BATCH: Final = 100
LOAD_ROWS: Final = 2_000
MISPLACED: Final = 100
FEW: Final = 1_000


# -- through the public API ------------------------------------------------------------------


def through_the_api(run: BenchRun, many: int) -> BenchRow:
    """A pair of `out` and `take` as an agent's author writes it, in the event loop."""
    best = asyncio.run(_pairs(run, many))
    return BenchRow(
        what=f"the same through the public API, {many:,} tuples resident",
        unit="µs",
        ours=best / PER_US,
        goal=at_most(30, "µs"),
        how=f"await out, then await take of a random resident key; the best batch of {BATCH}",
    )


async def _pairs(run: BenchRun, many: int) -> float:
    import nomospace as ns

    rng = Random(1)
    async with ns.Host("bench") as host:
        jobs = await (await host.agent("worker")).space("jobs", shared=True)
        keys = [f"{rng.getrandbits(48):x}" for _ in range(many)]
        for start in range(0, many, LOAD_ROWS):
            rows = [("job", key, start % 97) for key in keys[start : start + LOAD_ROWS]]
            await jobs.out_many(rows)
        best = float("inf")
        end = perf_counter_ns() + run.rounds * run.batch_s * 1e9
        while perf_counter_ns() < end:
            places = [rng.randrange(many) for _ in range(BATCH)]
            fresh = [f"{rng.getrandbits(48):x}" for _ in range(BATCH)]
            gc.disable()
            began = perf_counter_ns()
            for place, key in zip(places, fresh, strict=True):
                await jobs.out("job", key, 5)
                taken = await jobs.take("job", keys[place], ns.ANY)
                if taken[1] != keys[place]:
                    raise Bug(story=("`bench space` took something else",))
                keys[place] = key
            best = min(best, (perf_counter_ns() - began) / BATCH)
            gc.enable()
        return best


# -- two hosts that engage -------------------------------------------------------------------


class LinkedHosts:
    """Two hosts with a link that has no delay, and what passed over it."""

    def __init__(self, resident: int) -> None:
        from nomospace.calls.requests import Open, OutMany, Share
        from nomospace.host.calls import Arrive, Call
        from nomospace.host.core import Host

        self.now = 0
        self.frames = self.transfers = 0
        self._order = count()
        self._air: list[tuple[int, int, str, str, Any]] = []
        self.hosts = {name: Host(name, life=1, now=0) for name in ("a", "b")}
        self.linked = False
        for name, other in (("a", "b"), ("b", "a")):
            agent = f"worker@{name}"
            self.tell(name, Arrive(agent))
            self.tell(name, Call(1, agent, Open("jobs")))
            self.tell(name, Call(2, agent, Share(("jobs",))))
            for start in range(0, resident, LOAD_ROWS):
                rows = [("job", start + n, name) for n in range(min(LOAD_ROWS, resident - start))]
                self.tell(name, Call(9, agent, OutMany("jobs", tuple(rows))))
            misplaced = [("for you", n, name) for n in range(MISPLACED)]
            to = f"worker@{other}"
            self.tell(name, Call(10, agent, OutMany("jobs", tuple(misplaced), to)))

    def tell(self, name: str, event: Any) -> None:
        """Tell a host something, and put on the link what it transmits."""
        from nomospace.host.effects import Transmit
        from nomospace.protocols.messages import Relay
        from nomospace.protocols.streams import Data
        from nomospace.protocols.transfers import Transfer

        for effect in self.hosts[name].handle(event, now=self.now):
            if isinstance(effect, Transmit) and self.linked:
                self.frames += 1
                body = effect.frame.body if isinstance(effect.frame, Relay) else None
                self.transfers += isinstance(body, Data) and isinstance(body.body, Transfer)
                other = "b" if name == "a" else "a"
                heappush(self._air, (self.now, next(self._order), name, other, effect.frame))

    def engage(self) -> float:
        """Have a link, and run until both are in one view: nanoseconds of work."""
        from nomospace.host.calls import Heard, Tick

        self.linked = True
        began = perf_counter_ns()
        while any(len(host.view.members) < 2 for host in self.hosts.values()):
            if self._air:
                _, _, source, target, frame = heappop(self._air)
                self.tell(target, Heard(source, frame))
            else:
                due = [(host.next_deadline() or 0, name) for name, host in self.hosts.items()]
                self.now, name = max(min(due), (self.now, min(due)[1]))
                self.tell(name, Tick())
        return perf_counter_ns() - began


def engaging(run: BenchRun, many: int) -> Iterator[BenchRow]:
    """Two hosts with many tuples meet: what is moved, and what it costs beside few tuples."""
    resident = many // 10
    took: dict[int, list[float]] = {FEW: [], resident: []}
    moved = 0
    for _ in range(min(run.rounds, 3)):
        for size, times in took.items():
            pair = LinkedHosts(size)
            gc.collect()
            gc.disable()
            times.append(pair.engage())
            gc.enable()
            moved = pair.transfers
    yield BenchRow(
        what=f"two hosts with {resident:,} tuples each engage, {MISPLACED} misplaced each way",
        unit="ms",
        ours=min(took[resident]) / PER_MS,
        floor=min(took[FEW]) / PER_MS,
        goal=times_floor(1.5),
        how=f"work of both hosts, without delays of links; the floor is the same with {FEW:,} "
        f"tuples each; {moved} tuples passed over the link",
    )
