"""Many hosts that meet at once: what it takes until they are one group, counted.

The worlds of `engaging`, with hosts by the thousand: a mesh of random links, a star, a ring, and
two halves that were groups before and merge. All start within a second. `python -m
tests.models.many --hosts 1000` tells frames, bytes, time in the world and time of the processor.
With `--whole` they are whole hosts, as programs have them, each with an agent that shares a space.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from time import process_time
from typing import Any

import msgspec

from nomospace.node import Host, Network
from nomospace.protocols.events import Transmit
from nomospace.protocols.messages import Relay
from nomospace_lab.testing.loop import run
from tests.models.engaging import SECOND, World

LINKS_EACH = 4
"""How many links a host of a mesh has, on average."""
BRIDGES = 3
"""How many links join two halves."""
PATIENCE = 600 * SECOND

Shape = Callable[[list[str], Random], list[tuple[str, str]]]


def mesh(names: list[str], rng: Random) -> list[tuple[str, str]]:
    """Random links, which connect all: a tree of random branches, and as many again."""
    links = [(names[at], names[rng.randrange(at)]) for at in range(1, len(names))]
    more = len(names) * LINKS_EACH // 2 - len(links)
    return links + [(rng.choice(names), rng.choice(names)) for _ in range(more)]


def star(names: list[str], rng: Random) -> list[tuple[str, str]]:
    """All are linked with one, which is not the one that will lead."""
    hub = names[len(names) // 2]
    return [(hub, name) for name in names if name != hub]


def ring(names: list[str], rng: Random) -> list[tuple[str, str]]:
    """A circle, in an order that has nothing to do with the names."""
    return list(zip(names, [*names[1:], names[0]], strict=True))


def full(names: list[str], rng: Random) -> list[tuple[str, str]]:
    """Every pair is linked."""
    return [(a, b) for a in names for b in names if a < b]


SHAPES: dict[str, Shape] = {"mesh": mesh, "star": star, "ring": ring, "full": full}


@dataclass
class Cost:
    """What a meeting has cost."""

    hosts: int
    links: int = 0
    frames: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    world_s: float = 0.0
    processor_s: float = 0.0
    frozen_s: float = 0.0
    """The longest that a host stood still."""
    views: int = 0
    """How many views were installed by one host, at most."""

    @property
    def total(self) -> int:
        return sum(self.frames.values())


class Many(World):
    """A world that counts what goes over its links."""

    def __init__(self, names: list[str], rng: Random) -> None:
        super().__init__(names, rng)
        self.cost = Cost(len(names))
        self.again = 10 * SECOND  # ways are long, and nothing gets lost
        self.near: dict[str, list[str]] = {name: [] for name in names}
        self._sizes: dict[int, tuple[Any, int]] = {}

    def owed(self) -> tuple[str, ...]:
        return (self.rng.choice(list(self.near)),) if self.rng.random() < 0.1 else ()

    def join(self, a: str, b: str) -> None:
        if a != b and (a, b) not in self.up:
            super().join(a, b)
            self.near[a].append(b)
            self.near[b].append(a)
            self.cost.links += 1

    def transmit(self, src: str, effect: Transmit) -> None:
        frame = effect.frame
        what = frame.body if isinstance(frame, Relay) else frame
        kind = type(what).__name__
        targets = self.near[src] if effect.to is None else (effect.to,)
        self.cost.frames[kind] = self.cost.frames.get(kind, 0) + len(targets)
        self.cost.bytes += self._size(what) * len(targets)
        for dst in targets:
            if self.loss and self.rng.random() < self.loss:
                continue
            delay = self.rng.randrange(1_000, self.delay_max)
            self.at(self.now + delay, lambda dst=dst: self.arrive(src, dst, effect))  # type: ignore[misc]

    def _size(self, what: Any) -> int:
        """The size of a frame as bytes; large ones go to many, and are measured once."""
        kept = self._sizes.get(id(what))
        if kept is not None and kept[0] is what:
            return kept[1]
        size = len(msgspec.msgpack.encode(what))
        if len(self._sizes) > 1_000:
            self._sizes.clear()
        self._sizes[id(what)] = what, size
        return size

    def one_group(self) -> bool:
        views = {node.core.view.id for node in self.nodes.values()}
        members = len(next(iter(self.nodes.values())).core.view.members)
        return len(views) == 1 and members == len(self.nodes)


def names_of(count: int, rng: Random) -> list[str]:
    names = [f"h{number:04}" for number in range(count)]
    rng.shuffle(names)
    return names


def meet(shape: str, count: int, seed: int = 0, *, loss: float = 0.0) -> Cost:
    """Let hosts of a shape start within a second, until they are one group and all is quiet."""
    rng = Random(seed)
    names = names_of(count, rng)
    world = Many(names, rng)
    world.loss = loss
    half = count // 2
    if shape == "halves":
        for part in (names[:half], names[half:]):
            for a, b in mesh(part, rng):
                world.join(a, b)
    else:
        for a, b in SHAPES[shape](names, rng):
            world.join(a, b)
    for name in names:
        world.at(rng.randrange(SECOND), world.nodes[name].start)
    begun = process_time()
    world.run(SECOND)
    if shape == "halves":
        _until(world, lambda: not _apart(world, names))
        world.run(world.now + 5 * SECOND)
        world.cost = Cost(count, world.cost.links)
        begun, start = process_time(), world.now
        for _ in range(BRIDGES):
            world.join(rng.choice(names[:half]), rng.choice(names[half:]))
    else:
        start = 0
    before = {name: len(past) for name, past in world.watch.installed.items()}
    _until(world, world.one_group)
    cost = world.cost
    cost.world_s = (world.now - start) / SECOND
    cost.processor_s = process_time() - begun
    cost.frozen_s = world.watch.frozen_longest / SECOND
    past = world.watch.installed
    cost.views = max(len(past[name]) - before.get(name, 0) for name in names)
    return cost


class Counted(Network):
    """A network that counts what goes over its links."""

    def __init__(self, cost: Cost) -> None:
        super().__init__(delay=0.015)
        self._cost = cost
        self._near: dict[str, int] = {}

    def connect(self, a: object, b: object) -> None:
        super().connect(a, b)
        self._cost.links += 1
        for name in (str(a), str(b)):
            self._near[name] = self._near.get(name, 0) + 1

    def transmit(self, sender: str, to: str | None, frame: Any) -> None:
        what = frame.body if isinstance(frame, Relay) else frame
        kind = type(what).__name__
        sent = 1 if to is not None else self._near.get(sender, 0)
        self._cost.frames[kind] = self._cost.frames.get(kind, 0) + sent
        super().transmit(sender, to, frame)


def meet_whole(shape: str, count: int, seed: int = 0) -> Cost:
    """The same with whole hosts, until all are in one group, for which an agent of each waits."""
    rng = Random(seed)
    names = names_of(count, rng)
    cost = Cost(count, views=1)
    net = Counted(cost)
    half = count // 2
    parts = [names[:half], names[half:]] if shape == "halves" else [names]
    for part in parts:
        drawn = SHAPES.get(shape, mesh)(part, rng)
        for a, b in dict.fromkeys((min(pair), max(pair)) for pair in drawn):
            if a != b:
                net.connect(a, b)

    async def one_group(hosts: list[Host], size: int) -> None:
        while any(len(host.view.members) < size for host in hosts):
            await asyncio.sleep(0.1)

    async def program() -> None:
        loop = asyncio.get_running_loop()
        hosts = [Host(name, network=net) for name in names]
        begun, start = process_time(), loop.time()
        for host in hosts:
            await host.start()
            await (await host.agent("ann")).space("jobs", shared=True)
        if shape == "halves":
            await one_group(hosts, half)
            await asyncio.sleep(5)
            cost.frames.clear()
            begun, start = process_time(), loop.time()
            net.connect(names[0], names[-1])
        await one_group(hosts, count)
        cost.world_s, cost.processor_s = loop.time() - start, process_time() - begun
        met.append(replace(cost, frames=dict(cost.frames)))
        await asyncio.gather(*[host.close() for host in hosts])

    met: list[Cost] = []
    run(program())
    return met[0]


def _apart(world: Many, names: list[str]) -> bool:
    """Whether the halves are not one group each."""
    half = len(names) // 2
    for part in (names[:half], names[half:]):
        views = {world.nodes[name].core.view for name in part}
        if len(views) > 1 or next(iter(views)).members != tuple(sorted(part)):
            return True
    return False


def _until(world: Many, done: Callable[[], bool]) -> None:
    start = world.now
    while not done():
        assert world.now - start < PATIENCE, "they never became one group"
        world.run(world.now + 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("shapes", nargs="*", default=["mesh", "star", "ring", "halves"])
    given = parser.parse_args()
    print(
        f"{'':7} hosts  links    frames  a link      bytes  views  frozen s  world s  processor s"
    )
    for shape in given.shapes:
        cost = (meet_whole if given.whole else meet)(shape, given.hosts, given.seed)
        print(
            f"{shape:7} {cost.hosts:5} {cost.links:6} {cost.total:9,} "
            f"{cost.total / cost.links:7.0f} {cost.bytes / 1e6:7,.0f} MB {cost.views:6} "
            f"{cost.frozen_s:9.1f} {cost.world_s:8.1f} {cost.processor_s:12.1f}"
        )
        print("        " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(cost.frames.items())))
        sys.stdout.flush()
        gc.collect()


if __name__ == "__main__":
    main()
