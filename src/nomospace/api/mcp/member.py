"""The agent that a model acts as: its spaces, what waits for it, and the rulings it may ask of.

A model asks when it likes, so what comes meanwhile is kept: firings of its reactions and letters of
its community, each up to a limit. Past `FIRINGS_MAX` the oldest firing is forgotten and counted,
since its tuple still lies in the space; past `LETTERS_MAX` letters are left in the client's inbox,
which has a limit of its own. `news` is told once when something waits, and again only after the
model has looked.

Every call ends: it waits for tuples as long as the model says, up to `WAIT_S_MAX`, and for the host
up to `CALL_S` more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final, Self, TypeVar, Unpack

import msgspec

from nomospace.api.mcp import words
from nomospace.client import (
    Agent,
    DisclosedRuling,
    Letter,
    Membership,
    ReactionHandle,
    Space,
    Standing,
    Tuple,
)
from nomospace.client.laws import Law
from nomospace.client.reactions import AnyHandle
from nomospace.client.tuples import Correlation
from nomospace.errors import CallerError, Unavailable
from nomospace.node.loops import cancelled
from nomospace.terms import Term, show

WAIT_S_MAX: Final = 60.0
"""The longest that a model may wait for a tuple, a firing or a letter in one call."""
CALL_S: Final = 30.0
"""How long a host may take to answer, besides such a wait."""
SPACES_MAX: Final = 100
REACTIONS_MAX: Final = 100
FIRINGS_MAX: Final = 1_000
"""How many firings wait for the model."""
LETTERS_MAX: Final = 1_000
"""How many letters wait for the model here; more wait in the client's inbox."""
RULINGS_MAX: Final = 100
"""Of how many rulings, the last ones, the model may ask why."""
EVENTS: Final = "nomospace://events"
INBOX: Final = "nomospace://inbox"

T = TypeVar("T")
News = Callable[[str], Awaitable[None]]
"""Told the address of a page that has something new."""


class NoAnswer(Unavailable):
    """The host did not answer in time: it is away, or the law holds the operation back."""

    code = "mcp.no-answer"
    words = (
        "{what}: no answer within {after_s:g} s. The host is out of reach, or "
        "the law holds this back. It may have been done or not: look before you try again"
    )
    what: str
    after_s: float


class NoLaw(CallerError):
    """Something that only members of a community can do."""

    code = "mcp.no-law"
    words = (
        "{what} needs a law, and this agent has adopted none; use tuples instead "
        "(write, read, take), or have the server started with --law"
    )
    what: str


class NoSuchRuling(CallerError):
    """A ruling was asked of that is not, or no longer, remembered."""

    code = "mcp.no-such-ruling"
    words = "there is no ruling {number} here; {known}"
    number: int
    known: str


class NoSuchReaction(CallerError):
    """A reaction was to be ended that is not there."""

    code = "mcp.no-such-reaction"
    name: str
    known: str

    def __str__(self) -> str:
        return f"there is no reaction {self.name[:40]!r}; there are: {self.known or 'none'}"


class TooMany(CallerError):
    """More of something than one model may have."""

    code = "mcp.too-many"
    words = "{limit:,} {what} are the most there may be; {next}"
    what: str
    limit: int
    next: str


class ReactionEvent(msgspec.Struct, frozen=True):
    """A reaction fired: for which tuple."""

    reaction: str
    space: str
    tuple: Tuple


def event_line(event: ReactionEvent) -> str:
    """A firing in one line."""
    return f"{event.reaction} saw in {event.space}: {words.line(event.tuple)}"


def letter_line(letter: Letter) -> str:
    """A letter in one line."""
    return f"{letter.sender}: {show(letter.message)}"


class RulingEntry(msgspec.Struct, frozen=True):
    """A ruling that the model may ask of: on what, and what its agent was told of it."""

    number: int
    what: str
    told: DisclosedRuling


class ModelReaction(msgspec.Struct, frozen=True):
    """A reaction that the model has registered."""

    space: str
    template: str
    handle: ReactionHandle[Space]


async def _nobody(_: str) -> None:
    """No one wants news."""


class ModelMember:
    """One agent for one model. Made by `join`; `async with` ends it."""

    def __init__(self, agent: Agent, law: Law | None, membership: Membership | None) -> None:
        self.agent = agent
        self.law = law
        self.news: News = _nobody
        self.events: deque[ReactionEvent] = deque(maxlen=FIRINGS_MAX)
        self.lost = 0
        """Firings that were forgotten since the model last looked."""
        self.letters: deque[Letter] = deque()
        self.reactions: dict[str, ModelReaction] = {}
        self.spaces: dict[str, Space] = {}
        self.rulings: deque[RulingEntry] = deque(maxlen=RULINGS_MAX)
        self._membership = membership
        self._count = 0
        self._named = 0
        self._rung: dict[str, bool] = {}
        self._bells: dict[str, asyncio.Event] = {EVENTS: asyncio.Event(), INBOX: asyncio.Event()}
        self._room = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None

    @classmethod
    async def join(
        cls,
        agent: Agent,
        law: Law | None = None,
        *,
        claims: Sequence[Term] = (),
        certificates: Sequence[Path] = (),
        number: int = 1,
    ) -> Self:
        """Act as an agent, as a member of a law's community if one is given.

        An agent that is a member already stays one as it is: `claims`, the arguments of an
        adoption, count the first time only. Certificates are presented every time. `number` says
        which of its memberships under the law its messages are sent from.
        """
        if law is None:
            return cls(agent, None, None)
        membership = agent.membership(law, number)
        adopted = None
        if membership is None:
            membership = await agent.adopt(law, *claims, another=number)
            adopted = membership.ruling
        made = cls(agent, law, membership)
        if adopted is not None:
            made.note(f"adopt law {law.name}", adopted)
        for path in certificates:
            made.note(f"present {path.name}", await membership.present(path))
        return made

    async def standing(self) -> Standing | None:
        """Where the agent stands under its law; `None` without one."""
        return None if self._membership is None else await self._membership.standing()

    async def __aenter__(self) -> Self:
        if self._membership is not None:
            self._pump = asyncio.create_task(self._collect(self._membership), name="mcp inbox")
        return self

    async def __aexit__(self, *_: object) -> None:
        for reaction in self.reactions.values():
            reaction.handle.remove()
        self.reactions.clear()
        await cancelled(self._pump)

    # -- tuples ------------------------------------------------------------------------------

    async def space(self, name: str) -> Space:
        """A shared space by its name, under the agent's law where it has one."""
        space = self.spaces.get(name)
        if space is None:
            if len(self.spaces) >= SPACES_MAX:
                raise TooMany(what="spaces", limit=SPACES_MAX, next="use one that you have used")
            space = await self.agent.space(name, shared=True, law=self.law)
            self.spaces[name] = space
        return space

    @asynccontextmanager
    async def using(self, what: str, name: str, wait: float = 0.0) -> AsyncIterator[Space]:
        """A shared space, for one call that waits so long at most; `what` is done with it."""
        async with self.timed(f"{what} {name}", wait):
            yield await self.space(name)

    # -- reactions ---------------------------------------------------------------------------

    async def react(
        self,
        name: str,
        template: tuple[Term, ...],
        text: str,
        *,
        mode: str,
        at: str,
        **sets: Unpack[Correlation],
    ) -> str:
        """Register a reaction to a template, which is shown as `text`; its name."""
        self._sweep()
        if len(self.reactions) >= REACTIONS_MAX:
            raise TooMany(what="reactions", limit=REACTIONS_MAX, next="end one with unreact")
        async with self.using("react on", name) as space:
            self._named += 1
            reaction = f"r{self._named}"

            async def fired(tuple_: Tuple, source: str, handle: AnyHandle) -> None:
                await self._keep(ReactionEvent(reaction, name, tuple_))

            handle = space.react(template, fired, mode=mode, at=at or None, **sets)
            try:
                await handle.wait_registered()
            except asyncio.CancelledError:
                handle.remove()
                raise
        self.reactions[reaction] = ModelReaction(name, text, handle)
        return reaction

    def unreact(self, reaction: str) -> None:
        """End a reaction; what it has told already stays."""
        self._sweep()
        known = self.reactions.pop(reaction, None)
        if known is None:
            raise NoSuchReaction(name=reaction, known=", ".join(self.reactions))
        known.handle.remove()

    def _sweep(self) -> None:
        """Forget reactions that have ended by themselves: they fired once, or the host did it."""
        ended = [name for name, one in self.reactions.items() if one.handle.state == "removed"]
        for name in ended:
            del self.reactions[name]

    async def _keep(self, event: ReactionEvent) -> None:
        if len(self.events) == FIRINGS_MAX:
            self.lost += 1
        self.events.append(event)
        await self._ring(EVENTS)

    async def fetch_events(self, limit: int, wait: float) -> tuple[list[ReactionEvent], int]:
        """The oldest firings that wait, and how many were forgotten before them."""
        got = await self._fetch(EVENTS, self.events, event_line, limit, wait)
        lost, self.lost = self.lost, 0
        return got, lost

    # -- the community -----------------------------------------------------------------------

    async def send(self, message: Term, to: str | tuple[str, ...]) -> RulingEntry:
        """Send a message under the law: the ruling on it."""
        if self._membership is None:
            raise NoLaw(what="send")
        async with self.timed("send"):
            told = await self._membership.send(message, to=to)
        return self.note("send", told)

    async def fetch_letters(self, limit: int, wait: float) -> list[Letter]:
        """The oldest letters that wait."""
        if self._membership is None:
            raise NoLaw(what="inbox")
        got = await self._fetch(INBOX, self.letters, letter_line, limit, wait)
        self._room.set()
        return got

    async def _collect(self, membership: Membership) -> None:
        async for letter in membership.inbox():
            self.letters.append(letter)
            await self._ring(INBOX)
            while len(self.letters) >= LETTERS_MAX:
                self._room.clear()
                await self._room.wait()

    # -- rulings -----------------------------------------------------------------------------

    def note(self, what: str, told: DisclosedRuling) -> RulingEntry:
        """Remember a ruling."""
        self._count += 1
        entry = RulingEntry(self._count, what, told)
        self.rulings.append(entry)
        return entry

    def ruling(self, number: int | None) -> RulingEntry:
        """A ruling that is remembered; the last refusal, or else the last, where none is named."""
        kept = self.rulings
        if number is None:
            refused = [entry for entry in kept if entry.told.refused or entry.told.held]
            if kept:
                return (refused or list(kept))[-1]
        for entry in kept:
            if entry.number == number:
                return entry
        known = f"there are {kept[0].number} to {kept[-1].number}" if kept else "none was told yet"
        raise NoSuchRuling(number=number or 0, known=known)

    # -- waiting -----------------------------------------------------------------------------

    @asynccontextmanager
    async def timed(self, what: str, wait: float = 0.0) -> AsyncIterator[None]:
        """Do something that ends, a wait and `CALL_S` later at most; raises `NoAnswer`."""
        limit = asyncio.timeout(wait + CALL_S)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise NoAnswer(what=what, after_s=wait + CALL_S) from None

    async def _ring(self, page: str) -> None:
        self._bells[page].set()
        if not self._rung.get(page):
            self._rung[page] = True
            await self.news(page)

    async def _fetch(
        self, page: str, kept: deque[T], line: Callable[[T], str], limit: int, wait: float
    ) -> list[T]:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not kept:
                    self._bells[page].clear()
                    await self._bells[page].wait()
        lines = [line(one) for one in islice(kept, limit)]
        got = [kept.popleft() for _ in range(words.fitting(lines))]
        self._rung[page] = bool(kept)
        return got
