"""Rows of `bench host` about workers: what an operation costs a host of two, beside one of one.

`bench workers` has them alone.
Thirty-two clients, each with one operation under way: it writes a tuple and takes it again. Hosts
take turns. What counts is the processor time of all processes of a host for an operation: on a few
cores that serve the clients too, the clock would tell how the machine shares them out.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.processes import ChildProcess, ended
from nomospace_lab.bench.report import Goal, times_floor
from nomospace_lab.bench.suites.host import IN_FLIGHT, Bed

ROUNDS: Final = 6
PAIRS: Final = 200
"""Pairs of each client in a round."""
LIMIT: Final = 1.15
"""What two workers may cost an operation, as a multiple of what one does."""
UNEVEN: Final = 0.05
"""How far the share of each of two workers may lie from a half."""
PER_US: Final = 1e6
LAW: Final = """\
law(owned).
R1. sent(X, out([job, X, _]), _) :- do(forward).
R2. sent(X, in([job, X, _]), _) :- do(forward).
R3. sent(_, _, _) :- tupleSpace@CS, do(forward).
R4. arrived(_, _, _) :- do(deliver).
"""
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


class Host:
    """A host with its clients, and the processor time that its processes have used."""

    def __init__(self, bed: Bed, kind: str, name: str, *flags: str) -> None:
        given = ["--insecure", "--listen", "127.0.0.1:0", "--log", "json", *flags]
        store = str(bed.folder / f"{name}.db") if kind == "durable" else "memory"
        given += ["--store", store]
        part = ChildProcess(f"host {name}", "nomospace.cli", "host", "run", name, "--json", *given)
        bed.stack.enter_context(ended(part))
        said = part.hear()
        self.processes = [*said.get("workers", {}).values()] or [part.pid]
        self.took_us: list[float] = []
        self._used_s = [0.0] * len(self.processes)
        self._bed = bed
        self._host = bed.connect(str(said["url"]))
        self._agents = bed.run(self._enter(kind))

    async def _enter(self, kind: str) -> list[tuple[str, Any]]:
        from nomospace.law import load

        law = load(LAW) if kind == "governed" else None
        found = []
        for number in range(IN_FLIGHT):
            agent = await self._host.agent(f"client-{number}")
            if law is not None:
                await agent.adopt(law)
            under = {} if law is None else {"law": law}
            space = await agent.space("jobs", shared=True, durable=kind == "durable", **under)
            found.append((agent.id, space))
        return found

    async def _pairs(self, me: str, space: Any) -> None:
        for number in range(PAIRS):
            await space.out("job", me, number)
            await space.take("job", me, number)

    async def _all(self) -> None:
        await asyncio.gather(*[self._pairs(*each) for each in self._agents])

    def round(self, *, counts: bool) -> None:
        """Let all clients do their pairs."""
        before = [used_s(process) for process in self.processes]
        self._bed.run(self._all())
        used = [used_s(p) - b for p, b in zip(self.processes, before, strict=True)]
        if counts:
            self.took_us.append(sum(used) * PER_US / (2 * PAIRS * IN_FLIGHT))
            self._used_s = [a + b for a, b in zip(self._used_s, used, strict=True)]

    @property
    def share(self) -> float:
        """The share of the busiest process in all that was used."""
        return max(self._used_s) / sum(self._used_s)


def used_s(process: int) -> float:
    """The processor time that a process has used, all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


@bench("workers", "a host of two workers beside one of one: plain, durable and governed")
def spread(run: BenchRun) -> Iterator[BenchRow]:
    """A row for each kind of operation."""
    for kind in ("plain", "durable", "governed"):
        with Bed() as bed:
            yield _spread(run, bed, kind)


def _spread(run: BenchRun, bed: Bed, kind: str) -> BenchRow:
    run.say(f"one worker and two, {kind}")
    one = Host(bed, kind, "one")
    two = Host(bed, kind, "two", "--workers", "2")
    for number in range(1 + (2 if run.quick else ROUNDS)):
        for host in (one, two) if number % 2 else (two, one):
            host.round(counts=number > 0)
    share = two.share
    even = Goal(
        f"the busier of two has at most {0.5 + UNEVEN:.0%}", lambda _: share <= 0.5 + UNEVEN
    )
    return BenchRow(
        what=f"an operation of a host of two workers, {kind}, {IN_FLIGHT} clients",
        unit="µs",
        ours=statistics.median(two.took_us),
        floor=statistics.median(one.took_us),
        goal=times_floor(LIMIT) & even,
        how=f"processor time of all its processes, rounds in turns; floor: a host of one process; "
        f"the busier worker used {share:.1%}",
    )
