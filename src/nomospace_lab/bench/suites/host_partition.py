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
PAIRS: Final = {True: 4_000, False: 1_000}
"""For each host: at the key's home, so many that its table of homes is filled; and anywhere."""
IN_FLIGHT: Final = 32
"""For each host too: what comes together is read and written together, so alone it costs more."""
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
                costs.append(group.pair_us(run.rounds, near=near))
    run.say(f"{sizes[-1]} hosts that never met")
    with bed() as one:
        apart = HostGroup(one, sizes[-1], joined=False).pair_us(run.rounds, near=True)
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
            f"floor is {sizes[floor]} of them; by hosts: {by_size} µs; at the home with "
            f"{sizes[-1]} that never met: {apart:.3g} µs",
        )


class HostGroup:
    """Host processes that share a space, and a client at each; or that each have it for itself."""

    def __init__(self, bed: Bed, size: int, *, joined: bool = True) -> None:
        from nomospace.protocols.homes import Homes

        self._bed, self._rng = bed, Random(size)
        self.names = [f"h{number:02}" for number in range(size)]
        self.homes = Homes(dict.fromkeys(self.names, 1.0))
        self._pids: list[int] = []
        self._spaces: dict[str, Any] = {}
        first = ""
        for name in self.names:
            flags = ["--insecure", "--listen", "127.0.0.1:0", "--store", "memory", "--no-journal"]
            joins = ["--join", first] if first and joined else []
            words = ["host", "run", name, "--json", "--log", "json", *flags, *joins]
            part = ChildProcess(f"host {name}", "nomospace.cli", *words)
            bed.stack.enter_context(ended(part))
            said = part.hear()
            first = first or str(said["address"])
            self._pids.append(part.pid)
            self._spaces[name] = bed.connect(str(said["url"]))
        bed.run(self._settle(joined=joined))

    async def _settle(self, *, joined: bool) -> None:
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
                group = self.names if joined else [line.homes[0]]
                if line.settled and not line.unsettled and list(line.homes) == group:
                    waiting.pop()
                else:
                    await asyncio.sleep(0.05)

    def pair_us(self, rounds: int, *, near: bool) -> float:
        """Microseconds of processor time of all hosts that a pair takes, at best."""
        some = [self._bed.run(self._measure(near)) for _ in range(min(3, rounds))]
        return float(min(some)) / PER_US

    async def _measure(self, near: bool) -> float:
        loop = asyncio.get_running_loop()
        began, used = loop.time(), self._used_ns()
        await asyncio.sleep(1)
        idle = (self._used_ns() - used) / (loop.time() - began)
        names, pairs = self.names, PAIRS[near] * len(self.names)
        keys: dict[str, list[int]] = {name: [] for name in names}
        for key in [self._rng.getrandbits(48) for _ in range(pairs)]:
            keys[self.homes.home(key) if near else self._rng.choice(names)].append(key)

        async def some(at: str) -> None:
            while keys[at]:
                key = keys[at].pop()
                await self._spaces[at].out("job", key)
                await self._spaces[at if near else self._rng.choice(names)].take("job", key)

        began, used = loop.time(), self._used_ns()
        await asyncio.gather(*[some(at) for at in names for _ in range(IN_FLIGHT)])
        return (self._used_ns() - used - idle * (loop.time() - began)) / pairs

    def _used_ns(self) -> int:
        """The processor time that all hosts have used."""
        return sum(
            [int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in self._pids]
        )
