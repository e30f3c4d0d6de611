"""A client that works from one file to another, and then says what it asked for and was told.

    python client.py URLS ACCESS AGENT PEER,... BEGAN FOLDER

It begins when FOLDER has a file `go`, and ends when it has `stop`. It imports no tests, so each
version can run it. Its operations come as JSON, as `nomospace_lab.testing.outside.Operation` has
them; moments are seconds since `BEGAN` of the machine's own clock. Its letters go to the peers, and
to a walker of its own that moves between hosts; all are members of `post.law`.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import nomospace as ns
from nomospace import obj, t
from nomospace_lab.apps.correlation.papers import CARS, SPACE, WANTED

LAW: Final = Path(__file__).parent / "post.law"
TOPIC_S: Final = 1.0
LEASE_S: Final = 2.0
WAIT_S: Final = 0.5
RECONNECT_S: Final = 120.0
ENDS_S: Final = 60.0


class Worker:
    """One agent at work."""

    def __init__(self, me: str, peers: list[str], began: float, folder: Path) -> None:
        self.history: list[dict[str, Any]] = []
        self.moves = 0
        self._me = me
        self._peers = peers
        self._began = began
        self._folder = folder
        self._made = 0
        self._rng = random.Random(me)

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    @property
    def _on(self) -> bool:
        return not (self._folder / "stop").exists()

    @property
    def _topic(self) -> str:
        return f"v{int(self._now / TOPIC_S)}"

    def _new(self) -> str:
        self._made += 1
        return f"{self._me} {self._made}"

    async def _do(self, call: Awaitable[Any], found: Callable[[Any], Any], **asked: Any) -> Any:
        """Ask for something, and write down what came of it."""
        one = {"client": self._me, "called": self._now, **asked}
        try:
            answer = await call
        except ns.TimedOut:
            return None
        except ns.NomospaceError as error:
            if error.code != "space.lease-lapsed":
                self.history.append({**one, "outcome": "unknown"})
            return None
        self.history.append({**one, "returned": self._now, **found(answer)})
        return answer

    async def work(self, urls: dict[str, str], access: dict[str, str]) -> None:
        """Until the file is there; then until all letters have come."""
        name, _, home = self._me.partition("@")
        told: dict[str, Any] = {"hosts": urls, **access}
        async with ns.connect(urls[home], reconnect_s=RECONNECT_S, **told) as host:
            agent, walker = await host.agent(self._me), await host.agent(f"walker-{name}@{home}")
            jobs = await agent.space("jobs", shared=True)
            papers = await agent.space(SPACE, shared=True, ontology=CARS)
            law = ns.Law.load(LAW)
            member, walking = await agent.adopt(law), await walker.adopt(law)
            print("ready", flush=True)
            async with asyncio.timeout(ENDS_S):
                while not (self._folder / "go").exists():  # letters to who is not there are lost
                    await asyncio.sleep(0.02)
            receiving = [
                asyncio.create_task(self._receive(self._me, member, len(self._peers))),
                asyncio.create_task(self._receive(walker.id, walking, 1)),
            ]
            await asyncio.gather(
                self._write(jobs), self._take(jobs), self._lend(jobs),
                self._write_papers(papers), self._take_papers(papers),
                self._walk(walker, list(urls)),
                *[self._send(member, to) for to in (*self._peers, walker.id)],
            )  # fmt: skip
            await self._all_of(receiving)

    async def _all_of(self, receiving: list[asyncio.Task[None]]) -> None:
        """Until all letters have come: those for a host that was away may be many, and late."""
        while waiting := [one for one in receiving if not one.done()]:
            heard = len(self.history)
            done, _ = await asyncio.wait(
                waiting, timeout=ENDS_S, return_when=asyncio.FIRST_COMPLETED
            )
            assert done or len(self.history) > heard, "letters are missing, and no more come"
        await asyncio.gather(*receiving)

    async def _walk(self, walker: Any, hosts: list[str]) -> None:
        while self._on:
            await asyncio.sleep(self._rng.uniform(0.1, 1))
            try:
                await walker.move(self._rng.choice(hosts))
            except ns.NomospaceError as error:
                if error.code != "host.move-refused":  # the other host is away
                    raise
            else:
                self.moves += 1

    async def _write(self, jobs: Any) -> None:
        while self._on:
            topic, id, key = self._topic, self._new(), ""
            if self._rng.random() < 0.2:
                key = f"k {id}"
            for one in (id, self._new()) if key else (id,):  # the second must not be written
                call = jobs.out("job", topic, one, once=key or None)
                await self._do(call, lambda _: {}, kind="out", ids=[one], topic=topic, key=key)
            await asyncio.sleep(self._rng.uniform(0, 0.01))

    async def _take(self, jobs: Any) -> None:
        while self._on:
            topic, kind = self._topic, "read" if self._rng.random() < 0.2 else "take"
            call = getattr(jobs, kind)("job", topic, str, timeout=WAIT_S)
            await self._do(call, lambda found: {"ids": [found[2]]}, kind=kind, topic=topic)

    async def _lend(self, jobs: Any) -> None:
        while self._on:
            topic, lease = self._topic, f"L {self._new()}"
            call = jobs.take("job", topic, str, lease=LEASE_S, timeout=WAIT_S)
            called, asked = self._now, {"kind": "lend", "topic": topic, "lease": lease}
            job = await self._do(call, lambda found: {"ids": [found[2]]}, **asked)
            if job is None:
                continue
            lapse = {"kind": "lapse", "called": called, "lease": lease, "outcome": "unknown"}
            self.history.append({"client": "(host)", **lapse})
            kind = "acknowledge" if self._rng.random() < 0.7 else "give back"
            end = jobs.acknowledge(job) if kind == "acknowledge" else jobs.give_back(job)
            await self._do(end, lambda _: {}, kind=kind, lease=lease)

    async def _write_papers(self, papers: Any) -> None:
        while self._on:
            car = self._new()
            for paper in ("Insurance", "Finance"):
                call = papers.out(obj("Car", car), obj(paper, car))
                one = {"kind": "out", "ids": [f"{paper} {car}"], "topic": SPACE}
                await self._do(call, lambda _: {}, **one)
            await asyncio.sleep(self._rng.uniform(0, 0.2))

    async def _take_papers(self, papers: Any) -> None:
        while self._on:
            call = papers.take(*WANTED, correlate="auto", max_set=3, timeout=WAIT_S)
            await self._do(call, lambda found: {"ids": ids_of(found)}, kind="take", topic=SPACE)

    async def _send(self, member: Any, to: str) -> None:
        number, topic = 0, f"{self._me}>{to}"
        while self._on:
            number += 1
            ids = [f"{topic} {number}"]
            call = member.send(t.note(number), to=to)
            await self._do(call, lambda _: {}, kind="send", ids=ids, topic=topic)
            await asyncio.sleep(self._rng.uniform(0, 0.02))
        await member.send(t.last(number), to=to)

    async def _receive(self, me: str, member: Any, senders: int) -> None:
        last = 0
        inbox = member.inbox()
        while last < senders:
            called = self._now
            letter = await anext(inbox)
            if letter.message.name == "last":
                last += 1
                continue
            topic = f"{letter.sender}>{me}"
            got = {"kind": "receive", "called": called, "returned": self._now, "topic": topic}
            ids = [f"{topic} {letter.message.args[0]}"]
            self.history.append({"client": me, **got, "ids": ids})


def ids_of(found: Any) -> list[str]:
    """The names of papers that were taken together."""
    return [f"{paper.args[0]} {paper.args[1]}" for _, paper in found.tuples]


def main(urls: str, access: str, me: str, peers: str, began: str, folder: str) -> None:
    worker = Worker(me, peers.split(","), float(began), Path(folder))
    asyncio.run(worker.work(json.loads(urls), json.loads(access)))
    print(json.dumps([worker.moves, worker.history]))


if __name__ == "__main__":
    main(*sys.argv[1:])
