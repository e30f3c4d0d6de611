"""Fronts: tuple spaces that exist already, served under a law by an agent with a space's role.

The papers put their laws before IBM's TSpaces and a Prolog's Linda (`000_…` 4, 7). A front does the
same: it is an agent whose control state holds `tupleSpace`, by the roll of its law's secretary (or
another role that its law lets answer, by a certificate). Its clients send it the operations that
laws MP and SB know (`out`, `in`, `rd`, `inp`, `rdp`, `ing`, `rdg`, `cancel`), and their own
controllers rule on them. What was refused never leaves them, so the engine behind the front sees
permitted operations only. The front answers `done(Op)`, `found(Op, T)`, `none(Op)` or
`failed(Op, Code, Words)`.

A tuple that is taken is *reserved* in the engine together with its answer, in one step; then the
answer is sent, which the front's host keeps; then the reservation is settled. A front that crashes
in between sends the answer again when it is back, and the client knows it by its reference. When
the engine goes away in the middle, the client is told `front.engine-away`; whether the reservation
was made is found out when the engine is back, and it is undone. So a tuple is in the engine, or
with its taker, or on its way; it is never lost, and never with two.

Operations that wait are kept in memory: who waits for a front that is started again waits in vain,
and asks again. Others may write to the engine directly, so what waits is looked for every second.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from typing import Final, Protocol, Self

import msgspec

from nomospace.calls.requests import BULK, TAKING, WAITING, Out, Seek
from nomospace.client import Closed, Letter, Membership
from nomospace.errors import CallerError, LimitReached, NomospaceError, Unavailable
from nomospace.host.linda import read
from nomospace.node.loops import cancelled
from nomospace.terms import Compound, Term, freeze, show, term
from nomospace.terms.templates import Template

WAITING_MAX: Final = 10_000
"""How many operations may wait at one front,"""
WAITING_EACH_MAX: Final = 100
"""and how many of one client: nobody keeps the others out."""
LOOKED_MAX: Final = 100
"""How many of them are looked for in one round."""
LOOK_S: Final = 1.0
"""Between two rounds."""
FOUND_MAX: Final = 1_000
"""The most tuples that one answer has."""
SCAN_MAX: Final = 10_000
"""How many tuples an engine looks at for one operation, of those that it cannot leave out."""
ENGINE_S: Final = 5.0
"""How long an engine may take for one step."""

_log = logging.getLogger("nomospace.front")

Row = tuple[Term, ...]


class EngineAway(Unavailable):
    """What a front serves from cannot be reached."""

    code = "front.engine-away"
    words = "{engine} does not answer: {why}; nothing is lost: start it, then ask again"
    engine: str
    why: str


class EngineRefused(CallerError):
    """What a front serves from does not take an operation."""

    code = "front.engine-refused"
    words = "{engine} does not take it: {why}"
    engine: str
    why: str


class NotServed(CallerError):
    """An operation, or an option, that fronts do not have."""

    code = "front.not-served"
    words = "a front serves no {what}; use out, in, rd, inp, rdp, ing or rdg without options"
    what: str


class NotASpace(CallerError):
    """An agent is to be a front whose law does not let it answer as a space does."""

    code = "front.not-a-space"
    words = (
        "{agent} has not the role of a space under law {law}; put it on the roll of the law's "
        'secretary with {{"space": true}} before it adopts the law, or present a certificate that '
        "the law goes by"
    )
    agent: str
    law: str


class TooManyWait(Unavailable):
    """As many operations wait at a front as it keeps."""

    code = "front.too-many-wait"
    words = "{limit:,} operations wait here already; ask again later, or with inp and rdp"
    limit: int


class TooMuchToLookAt(CallerError):
    """None of the tuples that a front looks at for one operation match, and there are more."""

    code = "front.too-much-to-look-at"
    words = (
        "none of the first {limit:,} tuples of {engine} match, and more are not looked at; "
        "name more of the fields, or take what lies in front"
    )
    engine: str
    limit: int


class Reservation(msgspec.Struct, frozen=True):
    """Tuples that are on their way to a client: the operation that took them, as text."""

    key: str
    client: str
    operation: str
    rows: tuple[Row, ...]


class FrontEngine(Protocol):
    """What a front serves from. Its methods raise `EngineAway` and `EngineRefused`."""

    async def begin(self) -> None:
        """Be ready, or raise why not."""

    async def close(self) -> None: ...

    async def put(self, fields: Row) -> None:
        """Write a tuple."""

    async def find(self, template: Template, limit: int) -> list[Row]:
        """The tuples that match, up to a limit."""

    async def reserve(self, template: Template, limit: int, ticket: Reservation) -> list[Row]:
        """Take the tuples that match, up to a limit, and keep them with a ticket, in one step."""

    async def settle(self, key: str) -> None:
        """The answer is on its way: forget the ticket with this key."""

    async def undo(self, key: str) -> None:
        """Let the tuples of a ticket lie where they were, if there is such a ticket."""

    async def reservations(self) -> list[Reservation]:
        """All tickets that are not settled."""


class Front:
    """A front at work, from the head of an `async with` to its end.

    Its agent has adopted the law, and holds `tupleSpace` there.
    """

    def __init__(self, member: Membership, agent: str, engine: FrontEngine) -> None:
        self._member = member
        self._agent = agent
        self._engine = engine
        self._waiting: dict[tuple[str, str], tuple[Compound, Seek]] = {}
        """By client and operation (as text), in the order in which they came."""
        self._doubtful: dict[str, None] = {}
        """Tickets whose reservation may have been made when the engine went away."""
        self._unsettled: dict[str, None] = {}
        """Those whose answers were sent when it did."""
        self._tasks: list[asyncio.Task[None]] = []
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        ruling = await self._member.send(Compound("none", ("ready",)), to=self._agent)
        if ruling.refused:
            raise NotASpace(agent=self._agent, law=self._member.law.name)
        try:
            await self._engine.begin()
            for ticket in await self._engine.reservations():
                await self._give(ticket)
        except BaseException:
            await self._engine.close()
            raise
        for work, name in ((self._hear(), "serves"), (self._look(), "looks")):
            self._tasks.append(asyncio.create_task(work, name=f"{self._agent} {name}"))
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, self._tasks = self._tasks, []
        await cancelled(*tasks)
        await self._engine.close()

    # -- what clients say --------------------------------------------------------------------

    async def _hear(self) -> None:
        async for letter in self._member.inbox():
            if letter.sender == self._agent:
                continue
            try:
                async with self._turn:
                    await self._serve(letter)
            except Closed:
                return
            except NomospaceError as error:  # the answer cannot be sent: its ticket is kept
                _log.warning("%s: an answer to %s: %s", self._agent, letter.sender, error)

    async def _serve(self, letter: Letter) -> None:
        operation = freeze(letter.message)
        if type(operation) is not Compound:
            return
        try:
            answer = await self._answer(letter.sender, operation)
        except (CallerError, Unavailable) as error:
            answer = Compound("failed", (operation, error.code, str(error)))
        if answer is not None:
            await self._send(letter.sender, answer)

    async def _answer(self, client: str, operation: Compound) -> Compound | None:
        """Carry an operation out; its answer, unless it waits or was answered already."""
        name, args = operation.name, operation.args
        if name == "cancel" and args:
            self._waiting.pop((client, show(args[0])), None)
            return None
        request = read(operation, self._agent)
        if isinstance(request, Out) and not (request.to or request.ttl_us or request.once):
            await self._engine.put(request.fields)
            await self._woken(request.fields)
            return Compound("done", (operation,))
        plain = isinstance(request, Seek) and not (request.lease_us or request.at or request.dest)
        if not isinstance(request, Seek) or not plain or request.sets is not None:
            raise NotServed(what=name if request is None else f"{name} with options")
        if await self._satisfy(client, operation, request):
            return None
        if request.how not in WAITING:
            return Compound("none", (operation,))
        if len(self._waiting) >= WAITING_MAX:
            raise TooManyWait(limit=WAITING_MAX)
        if sum(who == client for who, _ in self._waiting) >= WAITING_EACH_MAX:
            raise TooManyWait(limit=WAITING_EACH_MAX)
        self._waiting[client, show(operation)] = (operation, request)
        return None

    # -- tuples ------------------------------------------------------------------------------

    async def _satisfy(self, client: str, operation: Compound, request: Seek) -> bool:
        """Answer an operation with tuples of the engine; false if there are none."""
        for keys, end in (
            (self._doubtful, self._engine.undo),
            (self._unsettled, self._engine.settle),
        ):
            for key in list(keys):
                await end(key)
                del keys[key]
        bulk = request.how in BULK
        limit = FOUND_MAX if bulk else 1
        if request.how not in TAKING:
            rows = await self._engine.find(request.template, limit)
            if rows or bulk:
                await self._send(client, _found(operation, rows, bulk=bulk))
            return bool(rows) or bulk
        ticket = Reservation(secrets.token_hex(16), client, show(operation), ())
        try:
            rows = await self._engine.reserve(request.template, limit, ticket)
        except EngineAway:
            self._doubtful[ticket.key] = None
            raise
        if rows:
            await self._give(msgspec.structs.replace(ticket, rows=tuple(rows)))
        elif bulk:
            await self._send(client, _found(operation, (), bulk=True))
        return bool(rows) or bulk

    async def _give(self, ticket: Reservation) -> None:
        """Send reserved tuples to who took them; kept until the host has the answer."""
        operation = term(ticket.operation)
        assert isinstance(operation, Compound), "only operations reserve"
        bulk = operation.name == "ing"
        await self._send(ticket.client, _found(operation, ticket.rows, bulk=bulk))
        try:
            await self._engine.settle(ticket.key)
        except EngineAway as error:
            self._unsettled[ticket.key] = None
            _log.warning("%s: %s", self._agent, error)

    async def _woken(self, fields: Row) -> None:
        """A tuple was written: serve who waits for it, first come, first served."""
        for key, (operation, request) in list(self._waiting.items()):
            try:
                fits = request.template.matches(fields)
            except LimitReached:
                fits = True  # the trouble of who waits, who is told; the tuple is written
            if fits and key in self._waiting:
                try:
                    await self._again(key, operation, request)
                except EngineAway:
                    return  # the tuple is written all the same, and who waits is looked for later

    async def _look(self) -> None:
        """Look for what others have written; in turn, those that were looked for go behind."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                for key, (operation, request) in list(self._waiting.items())[:LOOKED_MAX]:
                    async with self._turn:
                        if key in self._waiting:
                            self._waiting[key] = self._waiting.pop(key)
                            await self._again(key, operation, request)
            except Closed:
                return
            except NomospaceError as error:
                _log.warning("%s: %s", self._agent, error)

    async def _again(self, key: tuple[str, str], operation: Compound, request: Seek) -> None:
        try:
            over = await self._satisfy(key[0], operation, request)
        except (LimitReached, TooMuchToLookAt) as error:
            over = True
            await self._send(key[0], Compound("failed", (operation, error.code, str(error))))
        if over:
            self._waiting.pop(key, None)

    async def _send(self, client: str, answer: Compound) -> None:
        ruling = await self._member.send(answer, to=client)
        if ruling.refused:
            raise NotASpace(agent=self._agent, law=self._member.law.name)


def _found(operation: Compound, rows: Sequence[Row], *, bulk: bool) -> Compound:
    return Compound("found", (operation, tuple(rows) if bulk else rows[0]))
