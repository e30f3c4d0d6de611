"""Three hosts under load and under attack, checked from outside.

    python -m tests.crash.check --minutes 30
    python -m tests.crash.check --faults

Clients of three host processes write, read, take, take sets, lend, wait, write under keys and send
letters under a law, and write down what they asked for and what they were told, while a nemesis
does its work (`tests.crash.nemesis`). After every `ROUND_S` all is healed and the space emptied.
Then `nomospace_lab.testing.outside` looks for one history of a shared space that explains
everything, and the same hosts go on with the next round. Where nothing does, the folder that is
named has the hosts' stores and logs, and `history.jsonl`: what clients were told, and the attacks.

With `--faults` one host has one deliberate fault after the other (`tests.crash.inside`), and each
must be found out. With `--store memory` hosts forget what they had acknowledged when they are
killed, and that must be found. With `--store replicated` they are on a PostgreSQL whose primary is
killed, and its replica promoted, in between.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Final

from nomospace import ANY, TimedOut, t
from nomospace.client import Agent, Membership, Space
from nomospace.client.remote import RemoteHost, connect
from nomospace.client.tuples import Tuple
from nomospace.errors import NomospaceError
from nomospace.terms import obj
from nomospace_lab.apps.correlation.papers import CARS, SPACE, WANTED
from nomospace_lab.testing.outside import HistoryVerdict, Operation, explain, unanswered
from tests.crash.hosts import Nowhere
from tests.crash.inside import FAULTS
from tests.crash.load import BOOKS
from tests.crash.nemesis import ATTACKS, Attacked, Nemesis
from tests.crash.replica import replicated_postgres
from tests.parity.processes import HOSTS, Schemas, Stores

ROUND_S: Final = 150.0
"""What clients were told is looked at so often: it is held in memory until then."""
TRIES: Final = 3
"""A fault that only shows when an attack comes in the right moment is looked for so many times."""
FAULT_S: Final = 0.8
"""How long a host with a fault is watched."""
FAULT_ATTACKED_S: Final = 3.0
"""How long, if it takes an attack at the right moment to bring the fault to light."""
FAULT_PAUSES_S: Final = (0.9, 1.1)
"""The first attack comes when the slowest disk has what clients began with."""
TOPIC_S: Final = 2.0
"""What clients look for changes so often: short topics make small searches."""
LEASE_S: Final = 1.0
WAIT_S: Final = 0.5
RECONNECT_S: Final = 120.0
ENDS_S: Final = 60.0
PAUSE_S: Final = 0.005
WAITS_S: Final = 1.5
"""How long one waits who must be served."""
SERVED_S: Final = 0.75
"""How long what was written may lie there before who waits for it is served: machines are busy."""
WORKERS: Final = 2
"""Writers, takers and lenders of each host."""
LAPSED: Final = "space.lease-lapsed"
LOST: Final = "client.host-lost"
REFUSED: Final = ("store.full", "store.unavailable")
"""What a host says that can keep nothing now, and has done nothing."""
REFUSED_PAUSE_S: Final = 0.05
REPLICATED: Final = "replicated"


@dataclass
class CheckOutcome:
    """What clients were told, what was done to hosts, and whether the first can be explained."""

    explanation: HistoryVerdict
    kinds: Counter[str]
    attacks: Counter[str]
    took_s: float = 0.0
    errors: list[str] = field(default_factory=list)
    kept: Path | None = None
    """Where stores, logs and the history are, if they stay."""

    @property
    def good(self) -> bool:
        """Whether all is explained."""
        return self.explanation.answer == "yes" and not self.errors

    def told(self) -> str:
        """In words."""
        counts = ", ".join([f"{count} {kind}" for kind, count in sorted(self.kinds.items())])
        done = ", ".join([f"{count} {kind}" for kind, count in sorted(self.attacks.items())])
        lines = [f"{self.took_s:.0f} s; {counts}", f"attacks: {done}", str(self.explanation)]
        lines += [f"kept in {self.kept}"] if self.kept else []
        return "\n".join([*lines, *self.errors])


class Clients:
    """Programs on three hosts, and their history."""

    def __init__(
        self,
        hosts: Attacked,
        rng: random.Random,
        names: tuple[str, ...] = HOSTS,
        *,
        round: int = 0,
    ) -> None:
        self.history: list[Operation] = []
        self.errors: list[str] = []
        self._hosts = hosts
        self._rng = rng
        self._names = names
        self._round = round
        self._began = time.monotonic()
        self._on = True
        self._links: dict[str, RemoteHost] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._receivers: list[asyncio.Task[None]] = []
        self._spaces: list[Space] = []
        self._papers: list[Space] = []
        self._agents: list[Agent] = []
        self._made = 0
        self._phase = ""

    @property
    def now(self) -> float:
        """Seconds since all began."""
        return time.monotonic() - self._began

    def keep(self) -> Path:
        """Keep stores and logs of the hosts, and write what was told and done beside them."""
        self._hosts.keep = True
        began = self._began
        attacks = [asdict(one.since(began)) for one in self._hosts.story]
        told = sorted([*attacks, *map(asdict, self.history)], key=lambda one: one["called"])
        lines = [json.dumps(one) + "\n" for one in told]
        (self._hosts.folder / "history.jsonl").write_text("".join(lines))
        return self._hosts.folder

    @property
    def topic(self) -> str:
        """What is worked on now."""
        return f"{self._round}t{int(self.now / TOPIC_S)}"

    def new(self, kind: str) -> str:
        """A name that nothing else has."""
        self._made += 1
        return f"{self._round}{kind}{self._made}"

    async def do(self, one: Operation, call: Awaitable[Any], found: Callable[[Any], Any]) -> Any:
        """Ask for something, and write down what came of it; gives what `found` makes of that."""
        one = replace(one, called=self.now)
        try:
            answer = await call
        except TimedOut:  # nothing was taken; and parts of the space may have been out of reach
            return None
        except NomospaceError as error:
            if error.code in REFUSED:
                self.history.append(replace(one, returned=self.now, outcome="refused"))
                await asyncio.sleep(REFUSED_PAUSE_S)
            elif error.code != LAPSED:
                self.history.append(unanswered(one))
            if error.code == LOST:  # whatever is asked from now on fails at once
                raise
            return None
        self.history.append(replace(one, returned=self.now, **found(answer)))
        return answer

    # -- their work ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Let all begin."""
        members: dict[str, Membership] = {}
        crowd = [self._write, self._take, self._lend] * WORKERS + [self._wait]
        for name in self._names:
            url = await self._hosts.url(name)
            self._links[name] = connect(url, reconnect_s=RECONNECT_S, on_report=_say_nothing)
            for number, program in enumerate(crowd):
                agent = await self._agent(name, f"{program.__name__.strip('_')}-{number}")
                space = await agent.space("jobs", shared=True)
                self._spaces.append(space)
                self._begin(self._tasks, agent.id, program(agent.id, space))
            for role, work in (("clerk", self._write_papers), ("dealer", self._take_papers)):
                agent = await self._agent(name, role)
                papers = await agent.space(SPACE, shared=True, ontology=CARS)
                self._papers.append(papers)
                self._begin(self._tasks, agent.id, work(agent.id, papers))
            for role in ("member", "neighbour")[: 2 if len(self._names) == 1 else 1]:
                agent = await self._agent(name, role)
                members[agent.id] = await agent.adopt(BOOKS)
        for me, member in members.items():
            for to in members:
                if to != me:
                    self._begin(self._tasks, me, self._send(me, member, to))
            self._begin(self._receivers, me, self._receive(me, member))

    async def _agent(self, host: str, role: str) -> Agent:
        """An agent of this round, which ends with it."""
        agent = await self._links[host].agent(f"{role}-{self._round}")
        self._agents.append(agent)
        return agent

    def _begin(self, among: list[asyncio.Task[None]], who: str, program: Any) -> None:
        async def run() -> None:
            try:
                await program
            except Exception as error:
                self.errors.append(f"{who}: {type(error).__name__}: {error}")

        among.append(asyncio.create_task(run(), name=f"{who} {program.__name__}"))

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
            ends = called + LEASE_S
            lapse = Operation("(host)", "lapse", ends, inf, lease=lease, outcome="unknown")
            self.history.append(lapse)
            await asyncio.sleep(rng.uniform(0, PAUSE_S))
            if rng.random() < 0.7:
                asked = Operation(me, "acknowledge", 0, lease=lease)
                await self.do(asked, jobs.acknowledge(job), lambda _: {})
            else:
                asked = Operation(me, "give back", 0, lease=lease)
                await self.do(asked, jobs.give_back(job), lambda _: {})

    async def _wait(self, me: str, jobs: Space) -> None:
        """Wait for what the same agent writes then: who is passed by finds nothing, wrongly.

        One that a host under attack may not have served is left out.
        """
        while self._on:
            topic, id = self.new("w"), self.new("a")
            asked = Operation(me, "take", self.now, topic=topic)
            attacks = self._hosts.attacks
            taking = asyncio.create_task(self._served(jobs, topic))
            await asyncio.sleep(self._rng.uniform(0, 4 * PAUSE_S))
            written = Operation(me, "out", 0, ids=(id,), topic=topic)
            await self.do(written, jobs.out("job", topic, id), lambda _: {})
            found = await taking
            if found is not None:
                self.history.append(replace(asked, returned=self.now, ids=(found,)))
            elif attacks == self._hosts.attacks and not attacks % 2:
                late = max(asked.called, self.now - SERVED_S)
                self.history.append(replace(asked, called=late, returned=self.now))

    async def _served(self, jobs: Space, topic: str) -> str | None:
        try:
            found = await jobs.take("job", topic, str, timeout=WAITS_S)
        except (TimedOut, NomospaceError):
            return None
        return str(found[2])

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
        try:
            async with asyncio.timeout(ENDS_S):
                self._phase = "answers"
                await asyncio.wait(self._tasks)
                self._phase = "a whole group"
                await self._whole()
                self._phase = "an empty space"
                await self._empty()
                self._phase = "letters"
                await self._read_up()
        except TimeoutError:
            left = [task.get_name() for task in self._tasks if not task.done()]
            raise TimeoutError(f"{self._phase}; {left}") from None
        for task in self._receivers:
            task.cancel()
        await asyncio.gather(*self._receivers, return_exceptions=True)
        jumps = [jump - self._began for jump in self._hosts.jumps]
        self.history = [
            replace(one, called=_earliest(one.called, jumps)) if one.kind == "lapse" else one
            for one in self.history
        ]
        for agent in self._agents:
            await agent.end()

    async def _whole(self) -> None:
        """Until each host's clients see what was written at the others."""
        first = {space.owner.rpartition("@")[2]: space for space in self._spaces}
        for name, space in first.items():
            await space.out("mark", self._round, name)
        for space in first.values():
            for name in first:
                await space.read("mark", self._round, name, timeout=ENDS_S)

    async def _empty(self) -> None:
        """Take what is left, until there is nothing for longer than a lease lasts.

        That a take found nothing in its time says nothing on a busy machine: all hosts are asked.
        """
        space = self._spaces[0]
        undertaker = await self._agent(self._names[0], "undertaker")
        dead = await undertaker.space("jobs.dead", shared=True)  # what was lent five times
        left = True
        while left:
            await self._take_all(space, LEASE_S + WAIT_S)
            await self._take_all(dead, WAIT_S)
            looks = [
                one.read_all("job", str, str, at=at) for one in (space, dead) for at in self._names
            ]
            left = any(await asyncio.gather(*looks))
        me, called = space.owner, self.now
        while (paper := await self._paper()) is not None:
            ids = _papers_of(paper)["ids"]
            self.history.append(Operation(me, "take", called, self.now, ids, SPACE))
            called = self.now
        for topic in {one.topic for one in self.history if one.kind == "out"}:
            self.history.append(Operation(me, "take", called, self.now, (), topic))

    async def _take_all(self, space: Space, timeout: float) -> None:
        """Take what is left of a space, at any host."""
        while True:
            called = self.now
            try:
                found = await space.take("job", str, str, timeout=timeout)
            except TimedOut:
                return
            taken = Operation(space.owner, "take", called, self.now, (found[2],), found[1])
            self.history.append(taken)

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


def _say_nothing(_: object) -> None:
    """Reports of clients are of no interest here."""


def _earliest(ends: float, jumps: list[float]) -> float:
    """When a lease may end: in its time, or when a clock jumped ahead while it ran."""
    return min([ends, *[jump for jump in jumps if ends - LEASE_S <= jump < ends]])


def _papers_of(found: Any) -> dict[str, Any]:
    """The names of papers that were taken together."""
    papers = [paper.args for _, paper in found.tuples]
    return {"ids": tuple([f"{name} {car}" for name, car, _ in papers])}


async def check(
    *,
    seconds: float,
    seed: int,
    store: str = "sqlite",
    longest_s: float = 3.0,
    only: tuple[str, ...] = (),
    on_round: Callable[[CheckOutcome], None] = lambda _: None,
) -> CheckOutcome:
    """One run with three hosts of its own, in rounds; the last one's outcome, or a bad one's."""
    rng = random.Random(seed)
    rounds = max(1, round(seconds / ROUND_S))
    parts = ExitStack()
    stores: Stores | None = Nowhere() if store == "memory" else None
    database = parts.enter_context(replicated_postgres()) if store == REPLICATED else None
    if database is not None:
        stores = Schemas(database.url, f"checked{os.getpid()}")
    hosts = Attacked(stores, database=database)
    try:
        await hosts.start(*HOSTS)
        for number in range(rounds):
            clients = Clients(hosts, rng, round=number)
            nemesis = Nemesis(hosts, rng, longest_s=longest_s, only=only)
            try:
                outcome = await _play(clients, nemesis, seconds / rounds)
            except Exception as error:
                error.add_note(f"kept in {clients.keep()}")
                raise
            if not outcome.good and store != "memory":
                outcome.kept = clients.keep()
            on_round(outcome)
            if not outcome.good or number == rounds - 1:
                return outcome
    finally:
        await hosts.close()
        parts.close()
    raise AssertionError("there is a round")


async def find(fault: str, *, seed: int) -> CheckOutcome:
    """A run with one host that has a fault."""
    names, rng, hosts = HOSTS[:1], random.Random(seed), Attacked(fault=fault)
    only = (FAULTS[fault].attack,)
    try:
        await hosts.start(*names)
        clients = Clients(hosts, rng, names)
        nemesis = Nemesis(
            hosts,
            rng,
            longest_s=0.2,
            names=names,
            pauses_s=FAULT_PAUSES_S,
            only=only,
            answers=lambda: sum([one.outcome == "done" for one in clients.history]),
        )
        return await _play(clients, nemesis, FAULT_ATTACKED_S if only[0] else FAULT_S)
    finally:
        with suppress(AssertionError):  # it may have found itself out, and ended
            await hosts.close()


async def _play(clients: Clients, nemesis: Nemesis, seconds: float) -> CheckOutcome:
    """Let clients work under attack for a while; whether what they were told is explained."""
    began = time.monotonic()
    try:
        await clients.start()
        await nemesis.work(seconds)
        try:
            await clients.finish()
        except (TimeoutError, NomospaceError) as error:
            clients.errors.append(f"no end: {type(error).__name__}: {error}")
    finally:
        await clients.close()
    explanation = await asyncio.to_thread(explain, clients.history)
    kinds = Counter(
        f"{one.kind}{' of a set' * (len(one.ids) > 1)} ({one.outcome})" for one in clients.history
    )
    return CheckOutcome(
        explanation, kinds, nemesis.attacks, time.monotonic() - began, clients.errors
    )


async def find_all(
    seed: int, faults: Sequence[str] = tuple(FAULTS), *, at_a_time: int = 4
) -> dict[str, CheckOutcome]:
    """Put each fault into a host of its own; what was found."""
    turn = asyncio.Semaphore(at_a_time)

    async def look(fault: str) -> CheckOutcome:
        async with turn:
            try:
                outcome = await find(fault, seed=seed)
                for again in range(1, TRIES):
                    if outcome.explanation.answer == "no":
                        break
                    outcome = await find(fault, seed=seed + again)
            except NomospaceError as error:
                if error.code != LOST:
                    raise
                why = ["it ended by its own check, before anyone outside could tell"]
                return CheckOutcome(HistoryVerdict("no", 0), Counter(), Counter(), errors=why)
            return outcome

    return dict(zip(faults, await asyncio.gather(*map(look, faults)), strict=True))


def _tell_faults(outcomes: dict[str, CheckOutcome]) -> int:
    """What was found of each fault; 1 when one was not."""
    missed = 0
    for fault, outcome in outcomes.items():
        found = outcome.explanation.answer == "no"
        missed += not found
        print(f"{'found' if found else 'MISSED'}: a host that {fault}")
        print(outcome.explanation if found and not outcome.errors else outcome.told())
    print(f"{len(outcomes) - missed} of {len(outcomes)} faults were found")
    return 1 if missed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when something is not explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.check", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument("--seed", type=int, default=1)
    about = "where hosts keep things; memory keeps nothing, and must be found out; replicated is "
    about += "PostgreSQL with a synchronous replica, which fails over"
    stores = ("sqlite", "memory", REPLICATED)
    parser.add_argument("--store", choices=stores, default="sqlite", help=about)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=(), help="only such attacks")
    about = "put one fault after the other into a host; each must be found"
    parser.add_argument("--faults", action="store_true", help=about)
    given = parser.parse_args(arguments)
    if given.faults:
        return _tell_faults(asyncio.run(find_all(given.seed)))
    seconds, attacks, operations = 60 * given.minutes, Counter[str](), 0

    def tell(outcome: CheckOutcome) -> None:
        nonlocal operations
        attacks.update(outcome.attacks)
        operations += outcome.explanation.operations
        print(outcome.told(), flush=True)

    ways = {"store": given.store, "only": tuple(given.only)}
    outcome = asyncio.run(check(seconds=seconds, seed=given.seed, on_round=tell, **ways))
    done = ", ".join([f"{count} {kind}" for kind, count in sorted(attacks.items())])
    said = "explained" if outcome.good else "NOT explained"
    print(f"in all: {operations:,} operations, {said}; attacks: {done}")
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
