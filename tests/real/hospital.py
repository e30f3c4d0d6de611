"""The hospital of `001_…` with every host, and every mediator, in a process of its own.

Agents come in over TLS through `connect`, with a token and admin's certificates, and know no more
of where controllers are than the address they were given. `Mediators` are processes too
(`nomospace mediator`), each an agent like the others.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from nomospace import laws
from nomospace.client import Agent
from nomospace.law import CompiledLaw, load
from nomospace.terms import Term, t
from tests import nursery
from tests.paper.hospital import Ward
from tests.parity.worlds import see
from tests.real.hosts import RealHost, caller
from tests.real.trust import Trust

READY_S: Final = 60.0
"""How long a mediator may take to be at work: these machines are shared."""
HUB: Final = "hub"
KEY: Final = "shared by all mediators"


def law_ap(trust: Trust) -> CompiledLaw:
    """Law AP as it stands, with the keys of an authority in the places that it has for them."""
    text = laws.text("ap")
    for name in ("controllers_key", "admin_key"):
        assert text.count(f"{name})") == 1
        text = text.replace(f"{name})", f'"{trust.key}")')
    return load(text)


class RealWard(Ward):
    """Members of law AP, each a client of the host that `place` names."""

    def __init__(
        self, running: dict[str, RealHost], place: Callable[[str], str], trust: Trust
    ) -> None:
        super().__init__({}, place, law_ap(trust))
        self.running = running
        self._trust = trust
        self._clients = AsyncExitStack()

    async def enter(self, name: str) -> Agent:
        """An agent connects to its host."""
        host = self.running[self._place(name)]
        token = self._trust.token(f"{name}@{host.name}")
        client = caller(host, self._trust, token=token)
        await self._clients.enter_async_context(client)
        agent = self.agents[name] = await client.agent()
        return agent

    async def certify(self, name: str, role: Term) -> None:
        """A member shows admin's certificate to its controller."""
        await self.members[name].present(self._trust.role(self.id(name), role))

    def id(self, name: str) -> str:
        """The id of a member, or of a mediator that is a process."""
        return f"{name}@{self._place(name)}"

    async def engaged(self) -> None:
        """Wait until all hosts are one group."""
        watch = await self.enter("watch")
        for name in self.running:
            if name != self._place("watch"):
                await see(watch, name)

    async def close(self) -> None:
        """All clients leave."""
        await self._clients.aclose()


@asynccontextmanager
async def ward_at(
    folder: Path, hosts: Iterable[str], place: Callable[[str], str]
) -> AsyncIterator[RealWard]:
    """Hosts as processes under one authority, all linked with the hub; engaged when it begins."""
    trust = Trust(folder / "trust")
    running: dict[str, RealHost] = {}
    try:
        for name in dict.fromkeys((HUB, *hosts)):
            trust.member(name)
            join = () if name == HUB else ("--join", running[HUB].address)
            running[name] = RealHost(name, folder, "--trust", str(trust.folder),
                                     "--store", str(folder / f"{name}.db"), *join)  # fmt: skip
        await asyncio.gather(*[host.ready() for host in running.values()])
        ward = RealWard(running, place, trust)
        try:
            await ward.engaged()
            yield ward
        finally:
            await ward.close()
    finally:
        codes = {name: host.end() for name, host in running.items()}
    for name, code in codes.items():
        assert code == 0, f"host {name} ended with {code}:\n{running[name].story()}"


class Mediator:
    """A mediator in a process of its own, at the host of its place."""

    def __init__(self, ward: RealWard, folder: Path, name: str, nats: str = "") -> None:
        agent = ward.id(name)
        trust = ward._trust
        host = ward.running[ward._place(name)]
        self.log = folder / f"{name}.mediator.log"
        law, certificate = folder / "ap.law", folder / f"{name}.pem"
        law.write_text(ward.law.tree.source.text)
        certificate.write_bytes(trust.role(agent, t.role("mediator")))
        arguments = ["--host", f"nomos://{host.address}", "--trust", str(trust.folder), "--json"]
        arguments += ["--token", trust.token(agent), "--certificate", str(certificate)]
        arguments += ["--law", str(law), "--space", f"{name}-alarms" if nats else "alarms"]
        if nats:
            arguments += ["--nats", nats, "--key", KEY]
        with self.log.open("ab") as log:
            self.process = nursery.start(["mediator", *arguments], folder=folder, log=log)
        self._agent = agent

    async def ready(self) -> None:
        """Wait until it is at work."""
        try:
            async with asyncio.timeout(READY_S):
                line = await asyncio.to_thread(self.process.stdout.readline)
        except TimeoutError:
            line = b""
        assert self._agent.encode() in line, (
            f"a mediator did not start:\n{self.log.read_text()[-3_000:]}"
        )

    def end(self, how: int = signal.SIGTERM) -> int:
        """End it by its process id; its exit code."""
        self.process.send_signal(how)
        try:
            return self.process.wait(READY_S)
        finally:
            self.process.stdout.close()


@asynccontextmanager
async def mediators(
    ward: RealWard, folder: Path, *names: str, nats: str = ""
) -> AsyncIterator[dict[str, Mediator]]:
    """Mediators at work, all at once."""
    running = {name: Mediator(ward, folder, name, nats) for name in names}
    try:
        await asyncio.gather(*[mediator.ready() for mediator in running.values()])
        yield running
    finally:
        codes = {name: mediator.end() for name, mediator in running.items()}
    for name, code in codes.items():
        assert code == 0, f"{name} ended with {code}:\n{running[name].log.read_text()[-3_000:]}"
