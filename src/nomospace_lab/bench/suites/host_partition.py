"""Rows of `bench host` for a partitioned space: processor time of all host processes, by hosts.

Clients are at the hosts over TCP, with as many operations under way for each. Only the hosts are
measured, less what they use in the same time when nobody asks for anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.processes import ChildProcess, ended
from nomospace_lab.bench.report import information, times_floor

if TYPE_CHECKING:
    from nomospace_lab.bench.suites.host import Bed

SIZES: Final = (1, 2, 4, 8, 16)
QUICK: Final = (1, 2, 4)
PAIRS: Final = 1_000
IN_FLIGHT: Final = 32
"""Both for each host: what comes together is read and written together, so alone it costs more."""
SETTLED_S: Final = 120.0
PER_US: Final = 1e3
FLAT: Final = 1.3


def partitioned(run: BenchRun, bed: Callable[[], Bed]) -> Iterator[BenchRow]:
    """A pair of out and take by key, at the key's home and from anywhere."""
    sizes = QUICK if run.quick else SIZES
    took: dict[bool, list[float]] = {True: [], False: []}
    for size in sizes:
        run.say(f"a partitioned space on {size} hosts")
        with bed() as one:
            group = HostGroup(one, size)
            for near, costs in took.items():
                costs.append(min([group.pair_us(near=near) for _ in range(min(3, run.rounds))]))
    for near, costs in took.items():
        floor = 0 if near else 1  # alone, nobody is anywhere else
        where = "at the key's home" if near else "from any host"
        by_size = ", ".join(f"{n} {cost:.3g}" for n, cost in zip(sizes, costs, strict=True))
        yield BenchRow(
            what=f"out and take by key in a partitioned space, {where}, {sizes[-1]} processes",
            unit="µs",
            ours=costs[-1],
            floor=costs[floor],
            goal=times_floor(FLAT) if near else information(),
            how=f"processor time of all hosts; {IN_FLIGHT} pairs for each under way over TCP; the "
            f"floor is {sizes[floor]} of them; by hosts: {by_size} µs",
        )


class HostGroup:
    """Host processes that share a space, and a client at each."""

    def __init__(self, bed: Bed, size: int) -> None:
        from nomospace.protocols.homes import Homes

        self._bed, self._rng = bed, Random(size)
        self.names = [f"h{number:02}" for number in range(size)]
        self.homes = Homes(dict.fromkeys(self.names, 1.0))
        self._pids: list[int] = []
        self._spaces: dict[str, Any] = {}
        first = ""
        for name in self.names:
            flags = ["--insecure", "--listen", "127.0.0.1:0", "--store", "memory", "--no-journal"]
            joins = ["--join", first] if first else []
            words = ["host", "run", name, "--json", "--log", "json", *flags, *joins]
            part = ChildProcess(f"host {name}", "nomospace.cli", *words)
            bed.stack.enter_context(ended(part))
            said = part.hear()
            first = first or str(said["address"])
            self._pids.append(part.pid)
            self._spaces[name] = bed.connect(str(said["url"]))
        bed.run(self._settle())

    async def _settle(self) -> None:
        """Open the space everywhere, and wait until all hosts know that all is in its place."""
        from nomospace.calls.partition import field
        from nomospace.wire.admin import Spaces

        hosts = dict(self._spaces)
        async with asyncio.timeout(SETTLED_S):
            for name, host in hosts.items():
                agent = await host.agent("worker")
                how = {"shared": True, "durable": False, "partition": field(1)}
                self._spaces[name] = await agent.space("jobs", **how)
            waiting = list(hosts.values())
            while waiting:
                [line] = [one for one in await waiting[-1].ask(Spaces()) if one.name == "jobs"]
                if line.settled and not line.unsettled and list(line.homes) == self.names:
                    waiting.pop()
                else:
                    await asyncio.sleep(0.05)

    def pair_us(self, *, near: bool) -> float:
        """Microseconds of processor time of all hosts that a pair takes."""
        return float(self._bed.run(self._measure(near))) / PER_US

    async def _measure(self, near: bool) -> float:
        loop = asyncio.get_running_loop()
        began, used = loop.time(), self._used_ns()
        await asyncio.sleep(1)
        idle = (self._used_ns() - used) / (loop.time() - began)
        pairs = PAIRS * len(self.names)
        keys = iter([self._rng.getrandbits(48) for _ in range(pairs)])

        async def some() -> None:
            for key in keys:
                home, names = self.homes.home(key), self.names
                at, to = (home, home) if near else self._rng.choices(names, k=2)
                await self._spaces[at].out("job", key)
                await self._spaces[to].take("job", key)

        began, used = loop.time(), self._used_ns()
        await asyncio.gather(*[some() for _ in range(IN_FLIGHT * len(self.names))])
        return (self._used_ns() - used - idle * (loop.time() - began)) / pairs

    def _used_ns(self) -> int:
        """The processor time that all hosts have used."""
        return sum(
            [int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in self._pids]
        )
