"""Hosts and clients of two versions, and the history of what the clients were told."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import Any, Final

from nomospace import ANY, TimedOut
from nomospace.client.remote import RemoteHost, connect
from nomospace_lab.apps.correlation.papers import CARS, SPACE
from nomospace_lab.testing.outside import Operation
from tests import nursery
from tests.parity.processes import HOSTS, PACE, Process, Real
from tests.real.trust import Trust
from tests.servers import shared_nats
from tests.versions.client import ids_of
from tests.versions.earlier import earlier, python

CLIENT: Final = Path(__file__).parent / "client.py"
ENDS_S: Final = 120.0
LINE_S: Final = 600.0
"""A client waits for all letters, which a busy machine brings slowly."""
LEFT_S: Final = 2.5
"""Longer than a client's lease lasts."""


TRANSPORTS: Final = ("tcp", "tls", "nats", "sealed")
"""How hosts speak: with `tls` and `sealed` (over NATS) they and their clients show who they are."""


class Mixed(Real):
    """Three hosts, each of one of the two versions."""

    def __init__(self, transport: str = "tcp") -> None:
        super().__init__(nats_port=shared_nats().port if transport in TRANSPORTS[2:] else 0)
        self._old: set[str] = set()
        self._trust: Trust | None = None
        if transport in ("tls", "sealed"):
            self._trust = Trust(self.folder / "trust")
            for name in HOSTS:
                self._trust.member(name)

    def url(self, name: str) -> str:
        """Where clients find a host."""
        scheme = "nomos+plain" if self._trust is None else "nomos"
        return f"{scheme}://127.0.0.1:{self._ports[name]}"

    def access(self, *agents: str) -> dict[str, str]:
        """What clients show, besides, to speak for agents."""
        if self._trust is None:
            return {}
        return {"trust": str(self._trust.folder), "token": self._trust.token(*agents)}

    async def _arguments(self, name: str, store: str) -> list[str]:
        given = await super()._arguments(name, store)
        if self._trust is None:
            return given
        return ["--trust", str(self._trust.folder), *given[1:]]

    def turn(self, *names: str, old: bool) -> None:
        """From their next start hosts are of this version."""
        if old:
            self._old.update(names)
        else:
            self._old.difference_update(names)

    def _process(self, name: str, arguments: list[str]) -> Process:
        tree = earlier() if name in self._old else None
        return Process(name, self.folder, arguments, tree=tree)

    async def stop(self, name: str) -> None:
        """End a host as its operator would."""
        assert self._processes.pop(name).end(signal.SIGTERM) == 0

    async def go_back(self, name: str) -> str:
        """Start a host that has stopped with the earlier version; what that said first.

        It does not open the store, so it gets one of its own from a backup.
        """
        store = Path(self._stores.url(name))
        told = [*PACE, *await self._arguments(name, str(store))]
        refused = await self._command("host", "run", name, *told, old=True, fails=2)
        backup = self.folder / f"{name}.backup"
        await self._command("backup", str(backup), "--store", str(store), "--force", old=False)
        for file in self.folder.glob(f"{store.name}*"):
            file.unlink()
        await self._command("restore", str(backup), "--store", str(store), old=True)
        self.turn(name, old=True)
        await self.start(name)
        return refused

    async def _command(self, *words: str, old: bool, fails: int = 0) -> str:
        """What a command of a version says of its failure."""
        order = ("-m", "nomospace.cli", *words)
        done = await asyncio.to_thread(python, *order, folder=self.folder, old=old)
        assert done.returncode == fails, done.stderr
        return done.stderr.strip()


class VersionClients:
    """Client processes, `old@ward` of the earlier version and `new@icu` of this one."""

    def __init__(self, hosts: Mixed, *agents: str) -> None:
        self._hosts = hosts
        self._agents = agents
        self._began = time.monotonic()
        self._running: dict[str, nursery.Child] = {}
        self.history: list[Operation] = []
        self.moves = 0
        """How often walkers have moved."""

    async def start(self) -> None:
        """Let all begin."""
        names = {me.partition("@")[2]: None for me in self._agents}
        with (self._hosts.folder / "clients.log").open("ab") as log:
            for me in self._agents:
                peers = ",".join([one for one in self._agents if one != me])
                urls = json.dumps({name: self._hosts.url(name) for name in names})
                access = json.dumps(self._hosts.access(me, f"walker-{me}"))
                said = [urls, access, me, peers, str(self._began)]
                self._running[me] = nursery.start(
                    [*said, str(self._hosts.folder)],
                    folder=self._hosts.folder, log=log, program=CLIENT,
                    tree=earlier() if me.startswith("old") else None,
                )  # fmt: skip
        for child in self._running.values():
            assert await self._line(child) == b"ready\n", self._log()
        (self._hosts.folder / "go").touch()

    def _log(self) -> str:
        return (self._hosts.folder / "clients.log").read_text()[-4_000:]

    async def _line(self, child: nursery.Child) -> bytes:
        async with asyncio.timeout(LINE_S):
            return await asyncio.to_thread(child.stdout.readline)

    async def finish(self) -> None:
        """Stop all clients, take what is left, and have their history."""
        (self._hosts.folder / "stop").touch()
        for me, child in self._running.items():
            line = await self._line(child)
            assert line, f"{me}: {self._log()}"
            moves, history = json.loads(line)
            self.moves += moves
            self.history += [_operation(one) for one in history]
            assert child.wait(ENDS_S) == 0
            child.stdout.close()
        await self._whole()
        await self._empty()
        for topic in {one.topic for one in self.history if one.kind == "send"}:
            self._add("receive", self._now, (), topic)

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _add(self, kind: Any, called: float, ids: tuple[str, ...], topic: str) -> None:
        self.history.append(Operation("(end)", kind, called, self._now, ids, topic))

    def _connected(self, agent: str, name: str) -> RemoteHost:
        access: dict[str, Any] = self._hosts.access(f"{agent}@{name}")
        return connect(self._hosts.url(name), **access)

    async def _whole(self) -> None:
        """Until each host sees what was written at the others."""
        names = {me.partition("@")[2]: None for me in self._agents}
        for name in names:
            async with self._connected("marker", name) as host:
                marks = await (await host.agent("marker")).space("marks", shared=True)
                await marks.out("mark", name)
        for name in names:
            async with self._connected("marker", name) as host:
                marks = await (await host.agent("marker")).space("marks", shared=True)
                for other in names:
                    await marks.read("mark", other, timeout=ENDS_S)

    async def _empty(self) -> None:
        """Take what is left, until there is nothing for longer than a lease lasts.

        That a take found nothing in its time says nothing on a busy machine: all hosts are asked.
        """
        async with self._connected("undertaker", HOSTS[0]) as host:
            agent = await host.agent("undertaker")
            jobs = await agent.space("jobs", shared=True)
            dead = await agent.space("jobs.dead", shared=True)  # what was lent five times
            left = True
            while left:
                await self._take_all(jobs)
                await self._take_all(dead)
                looks = [
                    one.read_all("job", str, str, at=at) for one in (jobs, dead) for at in HOSTS
                ]
                left = any(await asyncio.gather(*looks))
            papers = await agent.space(SPACE, shared=True, ontology=CARS)
            while True:
                called = self._now
                try:
                    paper = await papers.take(ANY, ANY, timeout=LEFT_S)
                except TimedOut:
                    break
                self._add("take", called, tuple(ids_of(paper)), SPACE)
        for topic in {one.topic for one in self.history if one.kind == "out"}:
            self._add("take", called, (), topic)

    async def _take_all(self, space: Any) -> None:
        while True:
            called = self._now
            try:
                found = await space.take("job", str, str, timeout=LEFT_S)
            except TimedOut:
                return
            self._add("take", called, (found[2],), found[1])

    def close(self) -> None:
        """End whatever runs still."""
        for child in self._running.values():
            child.kill()
            child.wait(ENDS_S)
            child.stdout.close()


def _operation(said: dict[str, Any]) -> Operation:
    return Operation(**{**said, "ids": tuple(said.get("ids", ()))})
