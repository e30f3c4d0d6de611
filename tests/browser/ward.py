"""A small hospital for browser tests: three hosts, a law, and somebody to play the first minute."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from nomospace.api.service import Service
from nomospace.calls.problems import Busy, Refused
from nomospace.client import Membership
from nomospace.console.stage import FloorPerson, Stages, Ward
from nomospace.law import load
from nomospace.node.principals import Principal
from nomospace.node.serve import Server
from nomospace.terms import t
from nomospace_lab.pages import pages
from nomospace_lab.pages.stage import Deed, Followed, Sample

LAW = load(
    """
    law(ward).
    initialCS([]).

    R1. sent(I, alarm(K, X), M) :-
        not(blocked(K)@CS),
        do(forward).
        % Alarms go to the desk, unless their kind is blocked.

    R2. arrived(_, alarm(_, _), _) :- do(imposeObligation(handle, 10, min)), do(deliver).

    R3. sent(_, notify(A), _) :- do(forward).

    R4. arrived(_, notify(A), _) :-
        ( A = alarm(layman, _) -> expert@CS
        ; true ),
        do(deliver).
        % Laymen's alarms go to experts of that kind.

    R5. sent(_, learn, Self) :- do(+expert), do(forward).
    R6. arrived(_, learn, _) :- do(deliver).
    """
)
HOSTS = ("ward-1", "ward-2", "ward-3")
TITLES = ("Surgery", "Intensive care", "Maternity")
NASTY = "<img src=x onerror='window.hacked=1'>"
ANYONE = Principal("anyone", operator=True, anyone=True)
STEP_S = 0.2


class FakeHospital:
    """The first minute, with agents that do little but do it under a law."""

    def __init__(self, servers: dict[str, Server]) -> None:
        self._servers = servers
        self._samples: deque[Sample] = deque(maxlen=120)
        self._tasks: list[asyncio.Task[None]] = []
        self.members: dict[str, Membership] = {}
        self.rogue_on = False
        self.assistant_at = "ward-1"
        self.broken = False
        self._hops = 2

    async def start(self) -> None:
        people = {"ward-1": ["lay", "desk", "doc", "bot"], "ward-2": ["ann", "rogue"]}
        for host, names in people.items():
            for name in names:
                agent = await self._servers[host].host.agent(name)
                self.members[name] = await agent.adopt(LAW)
        await self.members["doc"].send("learn", to="doc@ward-1")
        self._tasks.append(asyncio.create_task(self._live()))

    async def _live(self) -> None:
        count = 0
        while True:
            count += 1
            await self.alarm(count)
            if self.rogue_on:
                for _ in range(10):
                    await self.refused("flood")
            now = self._servers["ward-1"].served.service.views.now if count > 5 else count
            refused = 50.0 if self.rogue_on else 0.0
            self._samples.append(Sample(now, refused, refused, 2.0))
            await asyncio.sleep(STEP_S)

    async def alarm(self, number: int) -> None:
        """Have an alarm raised, and told to the expert."""
        await self.members["ann"].send(f"alarm(expert, text({number}))", to="desk@ward-1")
        await self.members["desk"].send(f"notify(alarm(expert, {number}))", to="doc@ward-1")

    def rest(self) -> None:
        """Have nothing happen any more by itself."""
        for task in self._tasks:
            task.cancel()

    def floor(self) -> Sequence[Ward]:
        roles = {"lay": "informer", "desk": "mediator", "doc": "expert", "bot": "assistant"}
        return [
            Ward(
                host,
                title,
                tuple([FloorPerson(f"{name}@ward-1", name, role) for name, role in roles.items()]),
            )
            for host, title in zip(HOSTS, TITLES, strict=True)
        ]

    def samples(self) -> Sequence[Sample]:
        return list(self._samples)

    async def raise_as_layman(self) -> Deed:
        if self.broken:
            raise Busy(what="steps that wait for the disk", limit=1)
        service = self._servers["ward-1"].served.service
        await self.members["lay"].send("alarm(layman, smoke)", to="desk@ward-1")
        await self.members["desk"].send(
            "notify(alarm(layman, smoke))", to=["doc@ward-1", "lay@ward-1"]
        )
        while True:
            for one in service.views.rulings(limit=100).rulings[::-1]:
                if one.home == "lay@ward-1" and one.kind == "arrived":
                    return Deed("ward-1", one.record, "It reached experts only.")
            await asyncio.sleep(0.02)

    async def rogue(self, on: bool) -> None:
        self.rogue_on = on

    async def send_assistant(self, to: str) -> None:
        self.assistant_at = to
        self._hops = 2

    async def message_assistant(self) -> Followed:
        hops, self._hops = self._hops, 1
        return Followed(("ward-1", "ward-3", self.assistant_at)[-hops - 1 :], hops)

    async def move_bot(self, to: str) -> None:
        """Send the agent `bot` to another host, without its program."""
        server = next(one for one in self._servers.values() if one.host.core.has("bot@ward-1"))
        await Service(server, server.door()).seat(ANYONE, "bot@ward-1").move(to)

    async def refused(self, message: str) -> None:
        """Have the rogue send something that no rule lets through."""
        with suppress(Refused):
            await self.members["rogue"].send(message, to="desk@ward-1")

    async def nasty(self) -> None:
        """Have somebody send what a careless page would take for markup."""
        await self.members["ann"].send(t.alarm("expert", NASTY), to="desk@ward-1")


async def begin(servers: dict[str, Server]) -> Stages:
    """Three hosts with the hospital in them."""
    hospital = _hospitals["here"] = FakeHospital(servers)
    await hospital.start()
    return Stages(plugin=pages(hospital=hospital))


async def at_rest(servers: dict[str, Server]) -> Stages:
    """The same after some alarms, when nothing happens any more by itself."""
    stages = await begin(servers)
    hospital = hospital_of(servers)
    hospital.rest()
    for number in range(5):
        await hospital.alarm(number)
    return stages


_hospitals: dict[str, FakeHospital] = {}
"""The one of this process: what tests have done there finds it."""


def hospital_of(servers: dict[str, Server]) -> FakeHospital:
    """The hospital that these hosts have."""
    del servers
    return _hospitals["here"]
