"""Spreads a host's agents over another number of workers, while they are served.

Each worker sends those of its agents that fall to a sibling now, one after the other, by the same
move that takes an agent to another host: with its tuples, memberships and waits, and its clients
follow it. What a crash interrupts is gone on with, as the first worker's store says how far this
is: over how many workers agents may be, and over how many they are spread.

An agent that cannot move stays where it is and is found there: one that runs a program, is too
large for one parcel, or is refused `TRIES_MAX` times. Workers past the new number serve until
nothing is left with them, clients' answers included; then they end.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from nomospace.calls.requests import CLIENT_PROGRAM
from nomospace.client.program import Departed
from nomospace.errors import NomospaceError
from nomospace.node.notes import OnNote
from nomospace.node.workers import LEFT, MARK, WorkerHost, keep_spread

if TYPE_CHECKING:
    from nomospace.node.serve import Server

LOOK_S: Final = 0.5
"""Between two looks at what is left."""
TRIES_MAX: Final = 10
"""An agent that was refused so often stays, unless its worker is to end."""
LOOKED_AT_ONCE: Final = 500
"""After so many agents others have their turn."""
ANSWER_S: Final = 2.0
ENGAGED_S: Final = 10.0
"""How long a worker waits for the first, which puts agents on record, before it is ready."""


class Spreading:
    """One worker's part in it."""

    def __init__(self, host: WorkerHost, note: OnNote) -> None:
        self._host = host
        self._note = note
        self._part = host.part
        self._leaving = host.part.number > host.part.spread
        self._tries: dict[str, int] = {}

    async def run(self) -> None:
        """Until nothing is left to be done: for the first worker, with any of them.

        One that is to end goes on until it is told to.
        """
        host, part = self._host, self._part
        with suppress(NomospaceError):  # the host ends
            if part.number > 1:  # and is no home of partitioned spaces before it does
                host.drain(self._leaving)
            while True:
                await self._move_all()
                host.left = await self._left()
                if part.number == 1 and not host.left and await self._all_done():
                    keep_spread(host, part.spread, part.spread)
                    self._note("agents-spread", workers=part.spread)
                    part.tell(spread=part.spread)
                    return
                if part.number > 1 and not self._leaving and not host.left:
                    return  # who is moved here from now on is meant to be here
                await asyncio.sleep(LOOK_S)

    async def _move_all(self) -> None:
        for at, agent in enumerate(list(self._host.core.agents)):
            if at % LOOKED_AT_ONCE == 0:
                await asyncio.sleep(0)
            to = self._goes_to(agent)
            if to in self._host.view.members:
                await self._move(agent, to)

    def _goes_to(self, agent: str) -> str:
        """The sibling that an agent is to be at; empty when it stays."""
        host, part = self._host, self._part
        runs = host.core.moving.programs.get(agent)
        if not host.core.has(agent) or (runs is not None and runs.program != CLIENT_PROGRAM):
            return ""
        if not self._leaving and self._tries.get(agent, 0) >= TRIES_MAX:
            return ""
        if not agent.endswith(f"@{part.domain}"):
            return part.names[0] if self._leaving else ""
        home = part.home_of(agent)
        return "" if home == host.name else home

    async def _move(self, agent: str, to: str) -> None:
        try:
            line = self._host.line(agent)
            try:
                await line.move(to, CLIENT_PROGRAM, b"", None, ())
            finally:
                line.shut(f"agent {agent}", gone=False)
        except Departed:
            self._tries.pop(agent, None)
        except NomospaceError:
            self._tries[agent] = self._tries.get(agent, 0) + 1

    async def _left(self) -> int:
        """How much is here that should not be."""
        host = self._host
        core = host.core
        if not self._leaving:
            left = 0
            for at, agent in enumerate(list(core.agents)):
                if at % LOOKED_AT_ONCE == 0:
                    await asyncio.sleep(0)
                left += bool(self._goes_to(agent))
            return left
        under_way = (*core.group.transfers.peers(), *core.posting.courier.book.peers())
        tuples = sum(len(level.space) for level in core.spaces.levels.values())
        owed = len(core.placing.owes())
        return len(core.agents) + len(host.served.all) + len(under_way) + tuples + owed

    async def _all_done(self) -> bool:
        """Whether all siblings say that nothing is left with them."""
        ask = self._host.peer_questions.ask
        for name in self._part.names[1:]:
            try:
                if await ask(name, MARK + LEFT, seconds=ANSWER_S) != b"0":
                    return False
            except NomospaceError:
                return False
        return True


def begun(server: Server, facts: dict[str, object]) -> None:
    """A worker has begun: say so when it may have new agents, and take part in spreading them."""
    host = server.host
    assert isinstance(host, WorkerHost), "it has siblings"
    host._spawn(_begun(host, facts, server.note), "begin as a worker")


async def _begun(host: WorkerHost, facts: dict[str, object], note: OnNote) -> None:
    part = host.part
    with suppress(NomospaceError):  # the first worker may be away, or the host end
        if part.number > 1:
            await host.wait_engaged(part.names[0], timeout=ENGAGED_S)
    part.tell(ready=facts)
    if part.respread:
        await Spreading(host, note).run()
