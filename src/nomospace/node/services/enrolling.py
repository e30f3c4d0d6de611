"""A host whose agents adopt some laws only if the secretary of the community admits them.

An adoption under such a law waits until its secretary has answered, and is then told to the core,
which begins the membership with what the roll has for it, or answers with the refusal. Other calls
do not wait. The secretary hears when a member has come here from another host, and when one has
quit; while it is away that is said again, `TRIES` times with growing pauses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from nomospace.calls.addresses import address_of
from nomospace.calls.requests import Adopt
from nomospace.client import Closed, Report
from nomospace.errors import NomospaceError, Unavailable
from nomospace.host.calls import Call, Event
from nomospace.host.effects import Came, Effect, Ruled
from nomospace.node.local import Host
from nomospace.node.loops import held
from nomospace.node.services.secretaries import Secretaries

ASKING_MAX: Final = 1_000
"""How many adoptions may wait for secretaries; more are answered with `NotAsked`."""
TRIES: Final = 10
PAUSE_S: Final = 1.0
PAUSE_MAX_S: Final = 60.0


class EnrollingHost(Host):
    """A host that asks secretaries; all else is as `Host` has it."""

    def __init__(self, name: str, *, secretaries: Secretaries, **options: Any) -> None:
        super().__init__(name, **options)
        self._secretaries = secretaries
        self._asking: dict[asyncio.Task[None], None] = {}

    async def start(self) -> None:
        """Begin, in the running event loop."""
        await super().start()
        self._running().enrols = self._secretaries.enrols

    async def close(self) -> None:
        """Leave the group and end; who waits for a secretary is told that the host is closed."""
        await super().close()
        for task in list(self._asking):
            task.cancel()

    def _tell(self, event: Event) -> None:
        if event.__class__ is Call and isinstance(event.request, Adopt):
            home, law = address_of(event.agent, event.request.number), event.request.law.hash
            if self._secretaries.must_ask(home, law) and len(self._asking) < ASKING_MAX:
                self._begin(self._ask(event, home, law), f"{event.agent} adopts")
                return
        super()._tell(event)

    async def _ask(self, call: Call, home: str, law: str) -> None:
        await self._secretaries.ask(home, law)
        with suppress(Closed):
            super()._tell(call)

    def _carry(self, effects: list[Effect], now: int) -> None:
        told = [effect for effect in effects if isinstance(effect, Ruled | Came)]
        super()._carry(effects, now)  # which takes out of the list what only the journal wants
        if (core := self._core) is None:
            return
        for effect in told:
            if isinstance(effect, Ruled):
                home, law = effect.ruling.home, effect.ruling.law
                if law in self._secretaries and core.governing.find(home, law) is None:
                    self._say(self._secretaries.quit, home, law)
            elif isinstance(effect, Came):
                for member in core.governing.memberships(effect.agent):
                    if member.law.hash in self._secretaries:
                        self._say(self._secretaries.moved, member.home, member.law.hash)

    def _say(self, word: Callable[[str, str], Awaitable[None]], agent: str, law: str) -> None:
        async def say() -> None:
            pause = PAUSE_S
            for tried in range(1, TRIES + 1):
                try:
                    await word(agent, law)
                except Unavailable as error:
                    if tried < TRIES:
                        await asyncio.sleep(pause)
                        pause = min(2 * pause, PAUSE_MAX_S)
                        continue
                    self._unheard(agent, law, error)
                except NomospaceError as error:
                    self._unheard(agent, law, error)
                return

        self._begin(say(), f"tell the secretary of {agent}")

    def _unheard(self, agent: str, law: str, error: NomospaceError) -> None:
        facts = {"host": self.name, "agent": agent, "law": law}
        self._report(Report("a secretary was not told", facts, error))

    def _begin(self, work: Any, name: str) -> None:
        held(self._spawn(work, name), self._asking)
