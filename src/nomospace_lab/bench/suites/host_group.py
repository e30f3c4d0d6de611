"""Rows of `bench host`: a tuple is written on one host of a group and taken from another.

All hosts are whole ones in this process, on the loopback, so its processor time is that of all of
them together. What they use when nobody asks for anything is measured in between, and taken off.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from contextlib import AsyncExitStack
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from nomospace.errors import Bug
from nomospace.terms.templates import ANY
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.report import information, times_floor

if TYPE_CHECKING:
    from nomospace import Host, Space

SIZES: Final = (2, 4, 8, 16, 32, 64)
QUICK_SIZES: Final = (2, 16)
PER_US: Final = 1e6
PAIRS: Final = 400
IDLE_S: Final = 1.0
ENGAGED_S: Final = 120.0


def grouped(run: BenchRun, sizes: Sequence[int] = ()) -> list[BenchRow]:
    """What a pair costs in groups of several sizes; and where all hosts hold the kind."""
    sizes = sizes or (QUICK_SIZES if run.quick else SIZES)
    rounds = min(run.rounds, 3)
    one: dict[int, float] = {}
    every: dict[int, float] = {}
    for size in sizes:
        run.say(f"a group of {size} hosts")
        one[size], every[size] = asyncio.run(_costs(size, rounds))
    return [
        BenchRow(
            what=f"an out and a take on another host, of {sizes[-1]} that share the space",
            unit="µs",
            ours=one[sizes[-1]],
            floor=one[sizes[0]],
            goal=times_floor(1.5),
            how="processor time of all hosts, which are in one process, less their idle use; "
            f"floor: {sizes[0]} hosts; by size: {_listed(one)}",
        ),
        BenchRow(
            what="the same where each host has written such a tuple a moment ago",
            unit="µs",
            ours=every[sizes[-1]],
            floor=every[sizes[0]],
            goal=information(),
            how=f"all of them may hold a match, so all are asked; by size: {_listed(every)}",
        ),
    ]


def _listed(costs: dict[int, float]) -> str:
    return ", ".join(f"{size}: {cost:.0f}" for size, cost in costs.items())


async def _costs(size: int, rounds: int) -> tuple[float, float]:
    """Microseconds a pair takes of a processor: of one host that writes, and of all in turn."""
    import nomospace as ns

    async with AsyncExitStack() as stack:
        hosts: list[Host] = []
        for number in range(size):
            join = [hosts[0].address] if hosts else []
            host = ns.Host(f"host-{number}", listen="127.0.0.1:0", join=join)
            hosts.append(await stack.enter_async_context(host))
        until = perf_counter() + ENGAGED_S
        while any(len(host.view.members) < size for host in hosts):
            if perf_counter() > until:
                raise Bug(story=(f"{size} hosts are no group after {ENGAGED_S:g} s",))
            await asyncio.sleep(0.1)
        spaces = []
        for host in hosts:
            agent = await host.agent("worker")
            spaces.append(await agent.space("jobs", shared=True, durable=False))
        await asyncio.sleep(1)  # until all know of all
        taker, writers = spaces[0], spaces[1:]
        await _pairs(taker, writers[:1], PAIRS)
        alone = [await _cost(taker, writers[:1], PAIRS) for _ in range(rounds)]
        await _pairs(taker, writers, len(writers))
        return min(alone), await _cost(taker, writers, max(PAIRS // 4, len(writers)))


async def _cost(taker: Space, writers: Sequence[Space], count: int) -> float:
    gc.collect()
    began, used = perf_counter(), process_time()
    await asyncio.sleep(IDLE_S)
    idle = (process_time() - used) / (perf_counter() - began)
    began, used = perf_counter(), process_time()
    await _pairs(taker, writers, count)
    busy = process_time() - used - idle * (perf_counter() - began)
    return busy / count * PER_US


async def _pairs(taker: Space, writers: Sequence[Space], count: int) -> None:
    for number in range(count):
        await writers[number % len(writers)].out("job", number)
        found = await taker.take("job", ANY)
        if found != ("job", number):
            raise Bug(story=(f"job {number} was written, and {found} was there",))
