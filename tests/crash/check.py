"""Three hosts under load and under attack, checked from outside.

    python -m tests.crash.check --minutes 30

Clients of three host processes write, read, take, take sets, lend, write under keys and send
letters under a law, and write down what they asked for and what they were told. A nemesis kills
hosts and starts them again, stops them for a while (SIGSTOP), and cuts them off from the others. In
the end all is healed and the space emptied. Then `nomospace_lab.testing.outside` looks for one
history of a shared space that explains everything. With `--store memory` hosts forget what they had
acknowledged when they are killed, and that must be found.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

from nomospace import ANY, TimedOut, t
from nomospace.client import Membership, Space
from nomospace.client.remote import RemoteHost, connect
from nomospace.client.tuples import Tuple
from nomospace.errors import NomospaceError
from nomospace.terms import obj
from nomospace_lab.apps.correlation.papers import CARS, SPACE, WANTED
from nomospace_lab.testing.outside import HistoryVerdict, Operation, explain, unanswered
from tests.crash.hosts import Nowhere
from tests.crash.load import BOOKS
from tests.parity.processes import HOSTS, Real

TOPIC_S: Final = 2.0
"""What clients look for changes so often: short topics make small searches."""
LEASE_S: Final = 1.0
WAIT_S: Final = 0.5
RECONNECT_S: Final = 120.0
ENDS_S: Final = 60.0
PAUSE_S: Final = 0.005
WORKERS: Final = 2
"""Writers, takers and lenders of each host."""
LAPSED: Final = "space.lease-lapsed"


class Attacked(Real):
    """Hosts that can be stopped for a while, too."""

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a host, by its process id."""
        self._processes[name].child.send_signal(number)

    def url(self, name: str) -> str:
        """Where clients find a host."""
        return f"nomos+plain://127.0.0.1:{self._ports[name]}"


@dataclass
class CheckOutcome:
    """What clients were told, what was done to hosts, and whether the first can be explained."""

    explanation: HistoryVerdict
    kinds: Counter[str]
    attacks: Counter[str]
    took_s: float = 0.0
    errors: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether all is explained."""
        return self.explanation.answer == "yes" and not self.errors

    def told(self) -> str:
        """In words."""
        counts = ", ".join([f"{count} {kind}" for kind, count in sorted(self.kinds.items())])
        done = ", ".join([f"{count} {kind}" for kind, count in sorted(self.attacks.items())])
        lines = [f"{self.took_s:.0f} s; {counts}", f"attacks: {done}", str(self.explanation)]
        return "\n".join([*lines, *self.errors])


class Clients:
    """Programs on three hosts, and their history."""

    def __init__(self, hosts: Attacked, rng: random.Random) -> None:
        self.history: list[Operation] = []
        self.errors: list[str] = []
        self._hosts = hosts
        self._rng = rng
        self._began = time.monotonic()
        self._on = True
        self._links: dict[str, RemoteHost] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._receivers: list[asyncio.Task[None]] = []
        self._spaces: list[Space] = []
        self._papers: list[Space] = []
        self._made = 0

    @property
    def now(self) -> float:
        """Seconds since all began."""
        return time.monotonic() - self._began

    @property
    def topic(self) -> str:
        """What is worked on now."""
        return f"t{int(self.now / TOPIC_S)}"

    def new(self, kind: str) -> str:
        """A name that nothing else has."""
        self._made += 1
        return f"{kind}{self._made}"

    async def do(self, one: Operation, call: Awaitable[Any], found: Callable[[Any], Any]) -> Any:
        """Ask for something, and write down what came of it; gives what `found` makes of that."""
        one = replace(one, called=self.now)
        try:
            answer = await call
        except TimedOut:  # nothing was taken; and parts of the space may have been out of reach
            return None
        except NomospaceError as error:
            if error.code != LAPSED:
                self.history.append(unanswered(one))
            return None
        self.history.append(replace(one, returned=self.now, **found(answer)))
        return answer

    # -- their work ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Let all begin."""
        members: dict[str, Membership] = {}
        for name in HOSTS:
            link = self._links[name] = connect(self._hosts.url(name), reconnect_s=RECONNECT_S)
            for number in range(WORKERS):
                for program in (self._write, self._take, self._lend):
                    agent = await link.agent(f"{program.__name__.strip('_')}-{number}")
                    space = await agent.space("jobs", shared=True)
                    self._spaces.append(space)
                    self._begin(self._tasks, agent.id, program(agent.id, space))
            for role, work in (("clerk", self._write_papers), ("dealer", self._take_papers)):
                agent = await link.agent(role)
                papers = await agent.space(SPACE, shared=True, ontology=CARS)
                self._papers.append(papers)
                self._begin(self._tasks, agent.id, work(agent.id, papers))
            agent = await link.agent("member")
            members[agent.id] = await agent.adopt(BOOKS)
        for me, member in members.items():
            for to in members:
                if to != me:
                    self._begin(self._tasks, me, self._send(me, member, to))
            self._begin(self._receivers, me, self._receive(me, member))

    def _begin(self, among: list[asyncio.Task[None]], who: str, program: Any) -> None:
        async def run() -> None:
            try:
                await program
            except Exception as error:
                self.errors.append(f"{who}: {type(error).__name__}: {error}")

        among.append(asyncio.create_task(run()))

    async def _write(self, me: str, jobs: Space) -> None:
        rng = self._rng
        while self._on:
            topic, id = self.topic, self.new("a")
            key = self.new("k") if rng.random() < 0.2 else ""
            for one in (id, self.new("a")) if key else (id,):  # the second must not be written
                asked = Operation(me, "out", 0, ids=(one,), topic=topic, key=key)
                await self.do(asked, jobs.out("job", topic, one, once=key or None), lambda _: {})
            await asyncio.sleep(rng.uniform(0, 2 * PAUSE_S))

    async def _take(self, me: str, jobs: Space) -> None:
        rng = self._rng
        while self._on:
            topic = self.topic
            if rng.random() < 0.2:
                asked = Operation(me, "read", 0, topic=topic)
                call = jobs.read("job", topic, str, timeout=WAIT_S)
            else:
                asked = Operation(me, "take", 0, topic=topic)
                call = jobs.take("job", topic, str, timeout=rng.uniform(0.05, WAIT_S))
            await self.do(asked, call, lambda found: {"ids": (found[2],)})
            await asyncio.sleep(rng.uniform(0, PAUSE_S))

    async def _lend(self, me: str, jobs: Space) -> None:
        rng = self._rng
        while self._on:
            topic, lease = self.topic, self.new("L")
            asked = Operation(me, "lend", 0, topic=topic, lease=lease)
            call = jobs.take("job", topic, str, lease=LEASE_S, timeout=WAIT_S)
            called = self.now
            job = await self.do(asked, call, lambda found: {"ids": (found[2],)})
            if job is None:
                continue
            lapse = Operation("(host)", "lapse", called, inf, lease=lease, outcome="unknown")
            self.history.append(lapse)
            await asyncio.sleep(rng.uniform(0, PAUSE_S))
            if rng.random() < 0.7:
                asked = Operation(me, "acknowledge", 0, lease=lease)
                await self.do(asked, jobs.acknowledge(job), lambda _: {})
            else:
                asked = Operation(me, "give back", 0, lease=lease)
                await self.do(asked, jobs.give_back(job), lambda _: {})

    async def _write_papers(self, me: str, papers: Space) -> None:
        while self._on:
            car = self.new("c")
            for paper in ("Insurance", "Finance"):
                asked = Operation(me, "out", 0, ids=(f"{paper} {car}",), topic=SPACE)
                call = papers.out(obj("Car", car), obj(paper, car))
                await self.do(asked, call, lambda _: {})
            await asyncio.sleep(self._rng.uniform(0, 20 * PAUSE_S))

    async def _take_papers(self, me: str, papers: Space) -> None:
        while self._on:
            asked = Operation(me, "take", 0, topic=SPACE)
            call = papers.take(*WANTED, correlate="auto", max_set=3, timeout=WAIT_S)
            await self.do(asked, call, _papers_of)

    async def _send(self, me: str, member: Membership, to: str) -> None:
        number = 0
        while self._on:
            number += 1
            asked = Operation(me, "send", 0, ids=(f"{me}>{to} {number}",), topic=f"{me}>{to}")
            await self.do(asked, member.send(t.note(number), to=to), lambda _: {})
            await asyncio.sleep(self._rng.uniform(0, 8 * PAUSE_S))

    async def _receive(self, me: str, member: Membership) -> None:
        inbox = member.inbox()
        while True:
            called = self.now
            letter = await anext(inbox)
            topic = f"{letter.sender}>{me}"
            ids = (f"{topic} {letter.message.args[0]}",)
            self.history.append(Operation(me, "receive", called, self.now, ids, topic))

    # -- the end ---------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Write nothing more, wait for all answers, and take all that is left."""
        self._on = False
        async with asyncio.timeout(ENDS_S):
            await asyncio.gather(*self._tasks)
            await self._whole()
            await self._empty()
            await self._read_up()
        for task in self._receivers:
            task.cancel()
        await asyncio.gather(*self._receivers, return_exceptions=True)

    async def _whole(self) -> None:
        """Until each host's clients see what was written at the others."""
        first = {space.owner.rpartition("@")[2]: space for space in self._spaces}
        for name, space in first.items():
            await space.out("mark", name)
        for space in first.values():
            for name in first:
                await space.read("mark", name, timeout=ENDS_S)

    async def _empty(self) -> None:
        """Take what is left, until there is nothing for longer than a lease lasts."""
        space = self._spaces[0]
        me, dead = (
            space.owner,
            await (await self._links[HOSTS[0]].agent("undertaker")).space("jobs.dead", shared=True),
        )
        while True:
            called = self.now
            try:
                found = await space.take("job", str, str, timeout=LEASE_S + WAIT_S)
            except TimedOut:
                try:  # what was lent five times lies there, at any host
                    found = await dead.take("job", str, str, timeout=WAIT_S)
                except TimedOut:
                    break
            taken = Operation(me, "take", called, self.now, (found[2],), found[1])
            self.history.append(taken)
        while (paper := await self._paper()) is not None:
            ids = _papers_of(paper)["ids"]
            self.history.append(Operation(me, "take", called, self.now, ids, SPACE))
            called = self.now
        for topic in {one.topic for one in self.history if one.kind == "out"}:
            self.history.append(Operation(me, "take", called, self.now, (), topic))

    async def _paper(self) -> Tuple | None:
        """A paper that is left over."""
        try:
            return await self._papers[0].take(ANY, ANY, timeout=WAIT_S)
        except TimedOut:
            return None

    async def _read_up(self) -> None:
        """Until all letters have come, or for long enough; then none is left."""
        sent = {one.ids for one in self.history if one.kind == "send" and one.outcome == "done"}
        until = self.now + ENDS_S / 4
        while self.now < until:
            if sent <= {one.ids for one in self.history if one.kind == "receive"}:
                break
            await asyncio.sleep(0.05)
        for topic in {one.topic for one in self.history if one.kind == "send"}:
            self.history.append(Operation("(all)", "receive", self.now, self.now, (), topic))

    async def close(self) -> None:
        """End all programs."""
        for task in (*self._tasks, *self._receivers):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._receivers, return_exceptions=True)
        for link in self._links.values():
            await link.close()


def _papers_of(found: Any) -> dict[str, Any]:
    """The names of papers that were taken together."""
    papers = [paper.args for _, paper in found.tuples]
    return {"ids": tuple([f"{name} {car}" for name, car, _ in papers])}


class Nemesis:
    """Does harm to one host at a time, and mends it."""

    def __init__(self, hosts: Attacked, rng: random.Random, longest_s: float) -> None:
        self.attacks: Counter[str] = Counter()
        self._hosts = hosts
        self._rng = rng
        self._longest_s = longest_s

    async def work(self, seconds: float) -> None:
        """Attack until the time is over; then all hosts are there and in reach."""
        until = time.monotonic() + seconds
        attacks = (self._kill, self._pause, self._cut_off)
        while time.monotonic() < until:
            await asyncio.sleep(self._rng.uniform(0.1, 0.8))
            attack = attacks[self.attacks.total() % len(attacks)]
            name = self._rng.choice(HOSTS)
            await attack(name, self._rng.uniform(0.1, self._longest_s))
            self.attacks[attack.__name__.strip("_").replace("_", " ")] += 1

    async def _kill(self, name: str, seconds: float) -> None:
        await self._hosts.kill(name)
        await asyncio.sleep(seconds / 4)
        await self._hosts.start(name)

    async def _pause(self, name: str, seconds: float) -> None:
        self._hosts.signal(name, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self._hosts.signal(name, signal.SIGCONT)

    async def _cut_off(self, name: str, seconds: float) -> None:
        await self._hosts.cut_off(name)
        await asyncio.sleep(seconds)
        await self._hosts.join(name)


async def check(
    *, seconds: float, seed: int, store: str = "sqlite", longest_s: float = 3.0
) -> CheckOutcome:
    """One run with hosts of its own."""
    began = time.monotonic()
    hosts = Attacked(Nowhere() if store == "memory" else None)
    try:
        await hosts.start(*HOSTS)
        rng = random.Random(seed)
        clients, nemesis = Clients(hosts, rng), Nemesis(hosts, rng, longest_s)
        try:
            await clients.start()
            await nemesis.work(seconds)
            try:
                await clients.finish()
            except (TimeoutError, NomospaceError) as error:
                clients.errors.append(f"no end: {type(error).__name__}: {error}")
        finally:
            await clients.close()
    finally:
        await hosts.close()
    explanation = explain(clients.history)
    kinds = Counter(
        f"{one.kind}{' of a set' * (len(one.ids) > 1)} ({one.outcome})" for one in clients.history
    )
    return CheckOutcome(
        explanation, kinds, nemesis.attacks, time.monotonic() - began, clients.errors
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when something is not explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.check", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument("--seed", type=int, default=1)
    about = "where hosts keep things; memory keeps nothing, and must be found out"
    parser.add_argument("--store", choices=("sqlite", "memory"), default="sqlite", help=about)
    given = parser.parse_args(arguments)
    outcome = asyncio.run(check(seconds=60 * given.minutes, seed=given.seed, store=given.store))
    print(outcome.told())
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
