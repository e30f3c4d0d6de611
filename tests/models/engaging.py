"""A small seeded world for engagement: hosts, links, loss, delay, repeats, crashes.

It drives `Engagement` cores with the plainest host there can be: it stops when told, gives an
entry that names its life and whom it has something for, sends its exchange to those of them that
are fresh until they have it, and remembers which ones came. `Watch` sees every effect and asserts
what must hold at every step; `settled` says whether what must hold in the end does.

Thousands of seeds: `python -m tests.models.engaging FIRST COUNT`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import cycle, pairwise
from random import Random
from typing import Any

from nomospace.protocols.engagement import Engagement
from nomospace.protocols.events import (
    TICK,
    DeliverRelayed,
    Effect,
    Event,
    Exchange,
    Exchanged,
    Floor,
    Freeze,
    Heard,
    Info,
    Installed,
    Thaw,
    Transmit,
)
from nomospace.protocols.messages import View, ViewId
from nomospace.protocols.pace import HEARTBEAT, LOSS, USUAL, Pace
from nomospace.protocols.policy import Policy
from nomospace.protocols.rounds import RoundPhase

SECOND = 1_000_000
AGAIN = SECOND // 2
"""How often a host sends an exchange that was not acknowledged."""
SETTLED_AFTER = 45 * SECOND
"""All must be well this long after the healing."""


class Crash(Exception):
    """A host dies between two effects."""


def owing(exchange: Exchange, host: str, fresh: tuple[str, ...]) -> list[str]:
    """The fresh peers that have something for a host."""
    return [peer for peer in fresh if host in exchange.directories[peer][-1]]


class Watch:
    """What must hold at every step, over all hosts and lives."""

    def __init__(self) -> None:
        self.committed: dict[ViewId, Exchange] = {}
        self.joining: dict[ViewId, dict[str, tuple[str, ...]]] = {}
        self.installed: dict[str, list[View]] = {}
        self.frozen_longest = 0

    def born(self, host: str, view: View) -> None:
        assert view.members == (host,)
        past = self.installed.setdefault(host, [])
        assert not past or past[-1].id <= view.id, f"{host} was born into the past"
        past.append(view)

    def exchange(self, host: str, effect: Exchange) -> None:
        view = effect.view
        same = self.committed.setdefault(view.id, effect)
        assert same.view == view, f"two views under one id: {same.view} and {view}"
        assert same.directories == effect.directories, f"two directories of {view.id}"
        assert tuple(effect.directories) == view.members
        assert view.members == tuple(sorted(view.members))
        assert host in view.members
        assert host not in effect.fresh
        joining = self.joining.setdefault(view.id, {})
        joining[host] = effect.fresh
        for peer, fresh in joining.items():
            assert (peer in effect.fresh) is (host in fresh), f"{host} and {peer} in {view.id}"

    def install(self, host: str, view: View, came: set[str]) -> None:
        past = self.installed[host]
        assert past[-1].id < view.id, f"{host} went back from {past[-1]} to {view}"
        past.append(view)
        joining = self.joining[view.id]
        for peer in owing(self.committed[view.id], host, joining[host]):
            assert peer in joining, f"{host} installed {view.id} before {peer} had its commit"
            assert peer in came, f"{host} installed {view.id} without what {peer} had to send"
        for peer, fresh in joining.items():
            if peer != host and peer not in joining[host]:
                assert host not in fresh
                shared = past[-2]
                assert shared in self.installed[peer], f"{peer} never was in {shared}"


class Node:
    """A host with its disk (`floor`, `life`), its clock, and the little it does itself."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.world = world
        self.floor = 0
        self.life = 0
        self.alive = False
        self.clock = 0
        self.core: Engagement
        self.wake = -1
        self.frozen_at = -1
        self.entry: Any = None
        self.exchange: Exchange | None = None
        self.sending: dict[str, None] = {}
        self.came: dict[ViewId, set[str]] = {}

    def start(self) -> None:
        world = self.world
        self.life += 1
        self.alive = True
        self.clock = world.rng.randrange(-100 * SECOND, 100 * SECOND)
        self.core = Engagement(
            self.name,
            life=self.life,
            policy=world.policy,
            pace=world.paces.get(self.name, USUAL),
            now=self.now,
            floor=self.floor,
        )
        self.wake = -1
        self.frozen_at = -1
        self.exchange = None
        self.sending = {}
        self.came = {}
        world.watch.born(self.name, self.core.view)
        self.tell(TICK)

    @property
    def now(self) -> int:
        return self.world.now + self.clock + 1_000 * SECOND

    def crash(self) -> None:
        self.alive = False

    def tell(self, event: Event) -> None:
        """Hand the core an event and carry its effects out, one by one."""
        self.do(self.core.handle(event, now=self.now))
        due = self.core.due
        assert due is not None
        at = max(due - self.now, 0) + self.world.now
        if self.wake < self.world.now or at < self.wake:
            self.wake = at
            self.later(at - self.world.now, partial(self.tick, at))

    def tick(self, at: int) -> None:
        if at == self.wake:  # else it was to be woken earlier meanwhile
            self.wake = -1
            self.tell(TICK)

    def later(self, delay: int, deed: Callable[[], None]) -> None:
        """Do something in this life, after a delay."""
        life = self.life

        def if_alive() -> None:
            if self.alive and self.life == life:
                try:
                    deed()
                except Crash:
                    self.crash()

        self.world.at(self.world.now + delay, if_alive)

    def do(self, effects: list[Effect]) -> None:
        world = self.world
        for effect in effects:
            world.step(self, effect)
            if isinstance(effect, Transmit):
                world.transmit(self.name, effect)
            elif isinstance(effect, Floor):
                assert effect.number >= self.floor, "promises only grow"
                self.floor = effect.number
            elif isinstance(effect, Freeze):
                assert effect.view_id[0] <= self.floor, "promised, and not written down"
                if self.frozen_at < 0:
                    self.frozen_at = world.now
                entry = ("entry", self.name, self.life, effect.view_id[0], world.owed())
                self.entry = entry
                self.later(world.rng.choice((0, 0, 5_000, 150_000)), partial(self.inform, entry))
            elif isinstance(effect, Exchange):
                assert self.frozen_at >= 0
                assert effect.directories[self.name] == self.entry
                world.watch.exchange(self.name, effect)
                self.exchange = effect
                self.sending = dict.fromkeys([one for one in effect.fresh if one in self.entry[-1]])
                self.send()
                self.later(world.rng.choice((0, 20_000)), self.look)
            elif isinstance(effect, Thaw):
                self.melt()
            elif isinstance(effect, Installed):
                self.melt()
                assert self.exchange is not None
                assert self.exchange.view == effect.view
                assert effect.view == self.core.view
                world.watch.install(self.name, effect.view, self.came.get(effect.view.id, set()))
            elif isinstance(effect, DeliverRelayed):
                self.receive(effect.src, effect.body)

    def melt(self) -> None:
        assert self.frozen_at >= 0, f"{self.name} goes on and was not frozen"
        watch = self.world.watch
        watch.frozen_longest = max(watch.frozen_longest, self.world.now - self.frozen_at)
        self.frozen_at = -1

    def inform(self, entry: Any) -> None:
        if self.frozen_at >= 0 and entry == self.entry:
            self.tell(Info(entry))

    def send(self) -> None:
        """Send the exchange to those who have not acknowledged it, again and again."""
        exchange = self.exchange
        if exchange is None or not self.sending:
            return
        for peer in list(self.sending):
            self.do(self.core.relay(peer, ("exchange", exchange.view.id)))
        self.later(self.world.again, lambda: self.send() if self.exchange is exchange else None)

    def receive(self, src: str, body: Any) -> None:
        kind, view_id = body
        if kind == "exchange":
            self.came.setdefault(view_id, set()).add(src)
            self.do(self.core.relay(src, ("came", view_id)))
            self.later(0, self.look)
        elif self.exchange is not None and view_id == self.exchange.view.id:
            self.sending.pop(src, None)

    def look(self) -> None:
        """Say so when all that this view needs has come."""
        exchange = self.exchange
        if exchange is not None:
            came = self.came.get(exchange.view.id, set())
            if came.issuperset(owing(exchange, self.name, exchange.fresh)):
                self.tell(Exchanged(exchange.view.id))


class World:
    """Hosts and what lies between them, from a seed."""

    def __init__(
        self,
        names: list[str],
        rng: Random,
        *,
        policy: Policy | None = None,
        paces: Mapping[str, Pace] | None = None,
        step: Callable[[Node, Effect], None] | None = None,
    ) -> None:
        self.rng = rng
        self.policy = policy
        self.paces = paces or {}
        self.now = 0
        self.watch = Watch()
        self.step = step or (lambda node, effect: None)
        self.up: dict[tuple[str, str], None] = {}
        self.took = 0
        self.loss = 0.0
        self.repeats = 0.0
        self.delay_max = 30_000
        self.again = AGAIN
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self.nodes = {name: Node(name, self) for name in names}

    def owed(self) -> tuple[str, ...]:
        """Those that a host has something for, when it stops."""
        share = self.rng.choice((0, 1, 1, 0.5))
        return tuple([name for name in self.nodes if self.rng.random() < share])

    def at(self, when: int, deed: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._heap, (when, self._count, deed))

    def run(self, until: int) -> None:
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, deed = heappop(heap)
            deed()
        self.now = until

    def join(self, a: str, b: str) -> None:
        self.up[a, b] = self.up[b, a] = None

    def cut(self, a: str, b: str) -> None:
        self.up.pop((a, b), None)
        self.up.pop((b, a), None)

    def transmit(self, src: str, effect: Transmit) -> None:
        for dst in self.nodes if effect.to is None else (effect.to,):
            copies = 2 if self.rng.random() < self.repeats else 1
            for _ in range(copies):
                if (src, dst) in self.up and self.rng.random() >= self.loss:
                    delay = self.rng.randrange(1_000, self.delay_max)
                    self.at(self.now + delay, partial(self.arrive, src, dst, effect))

    def arrive(self, src: str, dst: str, effect: Transmit) -> None:
        node = self.nodes[dst]
        if node.alive and (src, dst) in self.up:
            try:
                node.tell(Heard(src, effect.frame))
            except Crash:
                node.crash()

    # -- what must hold in the end -----------------------------------------------------------

    def components(self) -> list[tuple[str, ...]]:
        """The components of what is really up, both ways."""
        left = {name: None for name, node in self.nodes.items() if node.alive}
        found = []
        while left:
            level = [next(iter(left))]
            inside = dict.fromkeys(level)
            while level:
                one = level.pop()
                for other in left:
                    both = (one, other) in self.up and (other, one) in self.up
                    if both and other not in inside:
                        inside[other] = None
                        level.append(other)
            found.append(tuple(sorted(inside)))
            for name in inside:
                del left[name]
        return found

    def unsettled(self) -> str:
        """What is not yet as it must be, or nothing."""
        for members in self.components():
            cores = [self.nodes[name].core for name in members]
            view = View(cores[0].view.id, members)
            for core in cores:
                if core.phase is not RoundPhase.STABLE or core.view != view:
                    return f"{core} should be stable in {view}"
                if core.component() != members:
                    return f"{core} sees {core.component()}, not {members}"
        return ""

    def settle(self) -> None:
        """Run until all is well, note how long it took, and see that it stays so."""
        self.took = self._until_settled()
        self.loss = 0.0
        self.run(self.now + LOSS + HEARTBEAT)  # hellos lost before may still part two hosts
        self._until_settled()
        views = {name: node.core.view for name, node in self.nodes.items()}
        self.run(self.now + 6 * SECOND)
        assert not self.unsettled(), f"it did not last: {self.unsettled()}"
        assert views == {name: node.core.view for name, node in self.nodes.items()}, "needless view"
        assert self.watch.frozen_longest <= USUAL.frozen_max + SECOND // 10
        assert all(node.frozen_at < 0 for node in self.nodes.values() if node.alive)

    def _until_settled(self) -> int:
        start = self.now
        while problem := self.unsettled():
            assert self.now - start < SETTLED_AFTER, problem
            self.run(self.now + 100_000)
        return self.now - start


def play(seed: int, paces: Sequence[Pace] = (USUAL,)) -> World:
    """One random world: trouble for a while, then healing; every property is asserted.

    Its hosts have these paces in turn.
    """
    rng = Random(seed)
    names = [f"h{number}" for number in range(rng.randint(2, 7))]
    rng.shuffle(names)
    world = World(names, rng, paces=dict(zip(names, cycle(paces), strict=False)))
    world.loss = rng.choice((0.0, 0.05, 0.2, 0.4))
    world.repeats = rng.choice((0.0, 0.1))
    world.delay_max = rng.choice((20_000, 80_000, 900_000))
    density = rng.random()
    for a in names:
        for b in names:
            if a < b and rng.random() < density:
                world.join(a, b)
        world.at(rng.randrange(2 * SECOND), world.nodes[a].start)
    until = rng.randint(5, 40) * SECOND
    for _ in range(rng.randint(0, 25)):
        world.at(rng.randrange(2 * SECOND, until), lambda: trouble(world))
    world.run(until)
    heal(world)
    world.settle()
    return world


def trouble(world: World) -> None:
    rng = world.rng
    a, b = rng.sample(list(world.nodes), 2)
    node = world.nodes[a]
    roll = rng.random()
    if roll < 0.3:
        world.join(a, b)
    elif roll < 0.55:
        world.cut(a, b)
    elif roll < 0.65:
        world.up.pop((a, b), None)  # one way only
    elif roll < 0.75:
        for other in world.nodes:
            world.cut(a, other)
    elif node.alive:
        node.crash()
        if rng.random() < 0.8:
            back = world.now + rng.choice((2_000, 300_000, 2 * SECOND, 6 * SECOND))
            world.at(back, lambda: None if node.alive else node.start())
    else:
        node.start()


def heal(world: World) -> None:
    """Everyone is up, links work both ways, and little is lost."""
    world.loss = min(world.loss, 0.05)
    world.delay_max = min(world.delay_max, 80_000)
    for node in world.nodes.values():
        if not node.alive:
            node.start()
    for a, b in list(world.up):
        world.join(a, b)
    if world.rng.random() < 0.3:  # at times all are one group in the end
        names = list(world.nodes)
        for a, b in pairwise(names):
            world.join(a, b)


def main(first: int, count: int) -> None:
    worst = longest = installs = 0
    for seed in range(first, first + count):
        try:
            world = play(seed)
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
        worst = max(worst, world.took)
        longest = max(longest, world.watch.frozen_longest)
        installs += sum(len(past) for past in world.watch.installed.values())
    print(
        f"{count} worlds, {installs} installed views; settled within {worst / SECOND:.1f} s, "
        f"frozen for at most {longest / SECOND:.1f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
