"""A world of very many hosts for `bench scale`: the cores that ship, and next to nothing else.

Every host is a whole `host.Host`, with agents that share one space and tuples in it. Frames take
their time over the links there are, none is lost, and a host hears the time when it wants to. There
are no disks and no history: they would cost more than what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final

from nomospace.calls.requests import Open, OutMany, Request, Share
from nomospace.errors import Bug
from nomospace.host.calls import Arrive, Call, Heard, Tick
from nomospace.host.core import Host
from nomospace.host.effects import Answer, Came, Mail, Transmit

SECOND: Final = 1_000_000
DELAY: Final = (200, 2_000)
"""How long a frame takes over a link, in microseconds: at least, and at most."""
LINKS_EACH: Final = 4
"""How many links a host has, on average."""
PATIENCE: Final = 600 * SECOND
LOAD_ROWS: Final = 2_000
SPACE: Final = "items"
KEYED: Final = "keyed"
"""A space that is partitioned by the second field; the first agent of each host shares it."""
TICK: Final = Tick()


class NeverDone(Bug):
    """A world went on for ten minutes of its time without coming to what was awaited."""

    code = "bench.never-done"


class ScaleWorld:
    """Hosts in one group, each with so many agents and so many tuples of each agent."""

    def __init__(
        self, hosts: int, agents: int, tuples: int, seed: int = 1, *, partition: str = ""
    ) -> None:
        self.now = 0
        self.frames = 0
        self.hosts: dict[str, Host] = {}
        self._rng = Random(seed)
        self._agents, self._tuples, self._partition = agents, tuples, partition
        self._near: dict[str, dict[str, None]] = {}
        self._order = count()
        self._ops = count(1)
        self._due: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._wakes: dict[str, int] = {}
        self._open: dict[int, Callable[[Answer], None]] = {}
        self.at: dict[str, str] = {}
        """Where agents are that have moved."""
        self.mailed = 0
        """How many messages were delivered."""
        names = [f"h{number:04}" for number in range(hosts)]
        for name in names:
            self.add(name)
        for at in range(1, hosts):  # a tree of random branches, and as many links again
            self.link(names[at], names[self._rng.randrange(at)])
        for _ in range(hosts * LINKS_EACH // 2 - hosts + 1):
            self.link(*self._rng.choices(names, k=2))

    # -- who is there ------------------------------------------------------------------------

    def add(self, name: str) -> None:
        """A host comes, with its agents and their tuples, and as yet without a link."""
        self.hosts[name] = Host(name, life=1, now=self.now)
        self._near[name] = {}
        for number in range(self._agents):
            agent = f"a{number}@{name}"
            self._tell(name, Arrive(agent))
            self.call(agent, Open(SPACE, durable=False, partition=self._partition))
            self.call(agent, Share((SPACE,)))
            for start in range(0, self._tuples, LOAD_ROWS):
                some = range(start, min(start + LOAD_ROWS, self._tuples))
                self.call(agent, OutMany(SPACE, tuple([("item", agent, n) for n in some])))
        self.call(f"a0@{name}", Open(KEYED, durable=False, partition="1"))
        self.call(f"a0@{name}", Share((KEYED,)))
        self._wake(name)

    def link(self, a: str, b: str) -> None:
        """Let two hosts hear each other from now on."""
        if a != b:
            self._near[a][b] = self._near[b][a] = None

    def part(self, some: Iterable[str]) -> list[tuple[str, str]]:
        """Cut some hosts off from all others; the links that were cut."""
        inside = set(some)
        cut = [(a, b) for a in sorted(inside) for b in self._near[a] if b not in inside]
        for a, b in cut:
            del self._near[a][b], self._near[b][a]
        return cut

    def connect(self, names: list[str]) -> None:
        """Let hosts that were cut apart among themselves hear each other again, by few links."""
        inside, left = set(names), dict.fromkeys(names)
        while left:
            first = next(iter(left))
            seen, reached = [first], {first}
            for name in seen:
                del left[name]
                more = [n for n in self._near[name] if n in inside and n not in reached]
                reached.update(more)
                seen += more
            self.link(first, names[0])

    def draw(self, count: int) -> list[tuple[str, str]]:
        """Pairs of agents of two hosts each, every agent in one pair at most."""
        names, drawn = list(self.hosts), dict[str, None]()
        while len(drawn) < 2 * count:
            one, other = self._rng.sample(names, 2)
            agents = [f"a{self._rng.randrange(self._agents)}@{name}" for name in (one, other)]
            if not any(agent in drawn or agent in self.at for agent in agents):
                drawn.update(dict.fromkeys(agents))
        flat = list(drawn)
        return list(zip(flat[::2], flat[1::2], strict=True))

    # -- what happens ------------------------------------------------------------------------

    def call(
        self, agent: str, request: Request, then: Callable[[Answer], None] | None = None
    ) -> None:
        """An agent asks the host that it is at for something."""
        op = next(self._ops)
        if then is not None:
            self._open[op] = then
        self._tell(self.at.get(agent) or agent.partition("@")[2], Call(op, agent, request))

    def _tell(self, name: str, event: Any) -> None:
        host = self.hosts[name]
        for effect in host.handle(event, now=self.now):
            if isinstance(effect, Transmit):
                self._transmit(name, effect)
            elif isinstance(effect, Answer):
                then = self._open.pop(effect.op, None)
                if effect.error is not None and then is None:
                    raise Bug(story=(str(effect.error),))
                if then is not None:
                    then(effect)
            elif isinstance(effect, Mail):
                self.mailed += 1
            elif isinstance(effect, Came):
                self.at[effect.agent] = name
        if host.stirred:
            self._wake(name)

    def _wake(self, name: str) -> None:
        due = self.hosts[name].next_deadline()
        if due is not None and due < self._wakes.get(name, due + 1):
            self._wakes[name] = due = max(due, self.now)
            heappush(self._due, (due, next(self._order), self._woken, (name, due)))

    def _woken(self, name: str, due: int) -> None:
        if self._wakes.get(name) == due:
            del self._wakes[name]
            self._tell(name, TICK)
            self._wake(name)

    def _transmit(self, source: str, order: Transmit) -> None:
        near = self._near[source]
        for target in near if order.to is None else (order.to,):
            if target in near:
                self.frames += 1
                at = self.now + self._rng.randrange(*DELAY)
                heappush(
                    self._due, (at, next(self._order), self._frame, (source, target, order.frame))
                )

    def _frame(self, source: str, target: str, frame: Any) -> None:
        if source in self._near[target]:
            self._tell(target, Heard(source, frame))

    # -- time --------------------------------------------------------------------------------

    def run(self, until: int) -> None:
        """Let time pass up to a moment."""
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, act, args = heappop(due)
            act(*args)
        self.now = max(self.now, until)

    def run_until(self, done: Callable[[], bool], step: int = 5_000) -> int:
        """Let time pass until something is so; how long it took, in microseconds of the world."""
        began = self.now
        while not done():
            if self.now - began > PATIENCE:
                raise NeverDone(story=("`bench scale` waited for ten minutes of its world",))
            self.run(self.now + step)
        return self.now - began

    def grouped(self, names: Iterable[str]) -> bool:
        """Whether these hosts are a group by themselves, and none of them stands still."""
        some = [self.hosts[name] for name in names]
        members = len(some[0].view.members)
        ids = {host.view.id for host in some}
        return members == len(some) and len(ids) == 1 and not any(host.frozen for host in some)
