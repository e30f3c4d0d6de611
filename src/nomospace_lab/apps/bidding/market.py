"""A market for real: clients ask, providers bid, under law SB (`000_…`, section 4.1).

Three hosts of one process (`node.together`) share one space. A client puts a request into it, takes
the bids that were made for it, chooses the cheapest and takes its request back. Providers react to
requests and bid, each in its own name; one is a provider by certificate, the others claim to be at
their adoption, as the law lets them. Now and then one tries to bid in a competitor's name, and a
snoop wants to see everything: their own controllers refuse that, and nothing reaches the space.

A client has one request at a time and takes every bid for itself, so the space holds some tuples
for each client and no more, however long it goes on; what an earlier life left is taken first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from random import Random
from typing import Any, Final

from nomospace import laws
from nomospace.client import Closed, Membership, Space, TimedOut, Tuple
from nomospace.errors import NomospaceError
from nomospace.law import CompiledLaw
from nomospace.terms import ANY, Compound, Term, t
from nomospace_lab.apps.working import Tasks
from nomospace_lab.testing.together import Together

HOSTS: Final = {"exchange": "Exchange", "east": "East side", "west": "West side"}
"""The hosts, and what people call them. The first has the console."""
SPACE: Final = "market"
CLIENTS: Final = ("carl@east", "cora@west", "cleo@exchange")
PROVIDERS: Final = ("petra@east", "pablo@west", "pia@exchange")
CERTIFIED: Final = "pia@exchange"
SNOOP: Final = "sam@west"
ROLE: Final = "serviceProvider"
SERVICES: Final = ("painting", "plumbing", "catering", "gardening")
ASK_S: Final = (3.0, 7.0)
"""So long a client rests between two requests."""
BIDS_S: Final = 4.0
"""So long a client waits for bids."""
BID_S: Final = (0.3, 2.0)
"""So long a provider thinks about a request."""
PRY_S: Final = (4.0, 9.0)
FORGERY: Final = 0.1
"""The share of bids that are made in a competitor's name."""
FEE: Final = (20, 200)
BIDDING_MAX: Final = 20
"""How many requests a provider thinks about at a time."""
CLEAR_S: Final = 0.5
CLEAR_MAX: Final = 100

_log = logging.getLogger("nomospace.market")


class Market:
    """A market on the hosts of `HOSTS`, which run; from `start` to `stop`."""

    def __init__(self, hosts: Together, *, seed: int = 1) -> None:
        self._hosts = hosts
        self._rng = Random(seed)
        self._law: CompiledLaw
        self._members: dict[str, Membership] = {}
        self._spaces: dict[str, Space] = {}
        self._tasks = Tasks()
        self._bids = 0
        self._bidding: dict[str, int] = {}
        self.deals = 0
        """How many requests have found a provider."""
        self.refused = 0
        """How many attempts the law has stopped."""

    async def start(self) -> None:
        """Let everybody come in, and go to work."""
        try:
            await self._hosts.wait_engaged()
            self._law = self._hosts.law(laws.text("sb"))
            await asyncio.gather(*[self._enter(one) for one in (*CLIENTS, *PROVIDERS, SNOOP)])
        except BaseException:
            await self.stop()
            raise
        for provider in PROVIDERS:
            self._spaces[provider].react((t.requester(ANY), t.service(ANY)), self._on_request)
        for client in CLIENTS:
            self._tasks.spawn(self._ask(client), f"{client} asks")
        self._tasks.spawn(self._pry(), f"{SNOOP} pries")

    async def stop(self) -> None:
        """Everybody stops; what they are is kept by their hosts."""
        await self._tasks.stop()

    async def _enter(self, agent: str) -> None:
        claimed = (ROLE,) if agent in PROVIDERS and agent != CERTIFIED else ()
        certified = (ROLE,) if agent == CERTIFIED else ()
        hosts, (name, _, host) = self._hosts, agent.partition("@")
        self._members[agent] = await hosts.member(agent, self._law, *certified, args=claimed)
        holder = await hosts.host(host).agent(name)
        self._spaces[agent] = await holder.space(SPACE, shared=True, law=self._law)

    # -- clients ---------------------------------------------------------------------------------

    async def _ask(self, client: str) -> None:
        space, rng = self._spaces[client], self._rng
        await self._take_all(space, (t.requester(client), t.service(ANY)), CLEAR_S)
        while True:
            await asyncio.sleep(rng.uniform(*ASK_S))
            service = rng.choice(SERVICES)
            try:
                await space.out(t.requester(client), t.service(service))
                bids = await self._take_all(space, _bids_for(client), BIDS_S)
                await self._take_all(space, (t.requester(client), t.service(service)), CLEAR_S, 1)
            except Closed:
                raise
            except NomospaceError as error:
                _log.warning("%s could not trade: %s", client, error)
                continue
            self.deals += bool(bids)

    async def _take_all(
        self, space: Space, template: tuple[Term, ...], wait_s: float, most: int = CLEAR_MAX
    ) -> list[Tuple]:
        """Take what matches, wherever it is, for so long or until there is enough of it."""
        taken: list[Tuple] = []
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while len(taken) < most and (left := until - loop.time()) > 0:
            try:
                taken.append(await space.take(*template, timeout=left))
            except TimedOut:
                break
        return taken

    # -- providers -------------------------------------------------------------------------------

    async def _on_request(self, found: Tuple, source: str, handle: Any) -> None:
        """A provider sees a request: it thinks about it, beside others that come meanwhile."""
        provider = handle.space.owner
        if self._bidding.get(provider, 0) < BIDDING_MAX:
            client, service = found[0].args[0], found[1].args[0]
            self._bidding[provider] = self._bidding.get(provider, 0) + 1
            self._tasks.spawn(self._bid(provider, client, service), f"{provider} bids")

    async def _bid(self, provider: str, client: str, service: str) -> None:
        rng = self._rng
        try:
            await asyncio.sleep(rng.uniform(*BID_S))
            forged = rng.random() < FORGERY
            name = next(one for one in PROVIDERS if one != provider) if forged else provider
            self._bids += 1
            await self._try(
                self._spaces[provider].out(
                    t.offerFor(client, service),
                    t.fee(rng.randint(*FEE)),
                    t.provider(name),
                    t.contact(f"{name}, desk {self._bids % 9 + 1}"),
                )
            )
        finally:
            self._bidding[provider] -= 1

    # -- the snoop -------------------------------------------------------------------------------

    async def _pry(self) -> None:
        """Look at what is for others; every way is refused."""
        space, rng = self._spaces[SNOOP], self._rng
        while True:
            await asyncio.sleep(rng.uniform(*PRY_S))
            client = rng.choice(CLIENTS)
            templates = (_bids_for(client), _bids_for(ANY), (t.requester(ANY), t.service(ANY)))
            await self._try(space.read_nowait(*rng.choice(templates)))

    async def _try(self, deed: Coroutine[Any, Any, object]) -> None:
        """Do something that the law may refuse; it is in the journal, with its reasons."""
        try:
            await deed
        except Closed:
            raise
        except NomospaceError as error:
            if getattr(error, "ruling", None) is None:
                _log.warning("the market: %s", error)
            else:
                self.refused += 1


def _bids_for(client: object) -> tuple[Compound, ...]:
    """The template of bids for a client."""
    return (t.offerFor(client, ANY), t.fee(ANY), t.provider(ANY), t.contact(ANY))
