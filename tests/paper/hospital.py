"""A hospital under law AP on real drivers of hosts, for the tests of `001_…` 3 to 5.

The same program runs wherever the hosts are: `Ward` only says which host each agent is at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import nomospace as ns
from nomospace import laws
from nomospace.client import Agent, Letter, Membership
from nomospace.host.calls import Certified
from nomospace.law import CompiledLaw, load
from nomospace.node.services.mediators import SpaceMediator
from nomospace.terms import Term, t, term

LAW: Final = load(laws.text("ap"))
WAIT_S: Final = 60.0
READY: Final = "ready"


class Ward:
    """Members of law AP, each at a host that `place` names."""

    def __init__(
        self, hosts: dict[str, ns.Host], place: Callable[[str], str], law: CompiledLaw = LAW
    ) -> None:
        self.hosts = hosts
        self.law = law
        self._place = place
        self.members: dict[str, Membership] = {}
        self.agents: dict[str, Agent] = {}
        self.mediators: dict[str, SpaceMediator] = {}

    async def enter(self, name: str) -> Agent:
        """An agent is there, at its host."""
        agent = self.agents[name] = await self.hosts[self._place(name)].agent(name)
        return agent

    async def join(self, name: str, *roles: str) -> Membership:
        """A member comes in, and admin's certificates for its roles check out."""
        agent = await self.enter(name)
        member = self.members[name] = await agent.adopt(self.law)
        for role in roles:
            await self.certify(name, t.role(term(role)))
        return member

    async def certify(self, name: str, role: Term) -> None:
        """Admin's certificate for a role checks out."""
        certified = Certified(self.id(name), self.law.hash, "admin", (role,))
        self.hosts[self._place(name)]._tell(certified)

    def id(self, name: str) -> str:
        """The id of a member."""
        return self.agents[name].id

    async def send(self, name: str, message: str, to: str) -> Any:
        """Send, and give the ruling."""
        return await self.members[name].send(message, to=self.id(to))

    async def hear(self, name: str) -> Letter:
        """The next message for a member."""
        async with asyncio.timeout(WAIT_S):
            async for letter in self.members[name].inbox():
                return letter
        raise AssertionError(f"the inbox of {name} ended")

    async def alarm(self, name: str) -> tuple[str, str, str]:
        """Kind, status and text of the next alarm for a member, besides those of `settled`."""
        while True:
            kind, status, text = _read((await self.hear(name)).message)
            if text != READY:
                return kind, status, text

    async def settled(self, name: str, kind: str, mediator: str) -> None:
        """Subscribe, and wait until an alarm comes of it: a mediator has had all that was said."""
        await self.send(name, f"subscribe(alarm([kind({kind})]))", to=mediator)
        probe = f"probe-{len(self.members)}"
        await self.join(probe, f"expert({kind})")
        await self.send(probe, publish(kind, READY), to=mediator)
        await self.probed(name)

    async def probed(self, name: str) -> None:
        """Wait for what a probe has said, of this member or of another."""
        while _read((await self.hear(name)).message)[2] != READY:
            pass


def _read(message: Any) -> tuple[str, str, str]:
    (notified,) = message.args
    kind, _, _, status, text = (part.args[0] for part in notified.args)
    return kind, status, text


def publish(kind: str, text: str) -> str:
    """A publication as an informer sends it."""
    return f"publish(alarm(kind({kind}),text({text})))"
