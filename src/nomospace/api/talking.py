"""A WebSocket for one agent: many operations at a time, and what comes by itself.

`/v1/ws?agent=ann@ward` speaks for the agent. The client sends objects with an `id` of its own
choosing and what to `do`; the rest is the body that the HTTP route of that name takes:

| do | besides | answer |
| --- | --- | --- |
| `out`, `read`, `take`, `settle` | `space` | as over HTTP; `read` and `take` may wait |
| `send` | `law` | the ruling |
| `react` | `space`, `template`, `mode`, `correlate` | `{}`, and then a `fired` for each tuple |
| `listen` | `law`, `after` | `{}`, and then a `letter` for each message |
| `cancel` | `of`: an earlier `id` | `{}`; a take, a reaction or a listening ends |

An answer is `{"id": …, "answer": …}` or `{"id": …, "problem": …}`. What comes by itself is
`{"of": …, "fired": tuple}` or `{"of": …, "letter": …}`.

When the socket ends, all that it waits for is called off, as with a client that is cancelled. One
that does not read what it is sent is closed (code 1013) when `WAITING_MAX` messages wait for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from math import ceil
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from nomospace.api import acting, models as m
from nomospace.api.forms import template_of
from nomospace.api.guard import Buckets, TooFast, answer, reason_of
from nomospace.api.service import WAIT_S_MAX, AgentSeat, Service
from nomospace.client import Tuple
from nomospace.client.reactions import AnyHandle
from nomospace.errors import CallerError, NomospaceError
from nomospace.node.services.web import VALUES_MAX, counting

UNDER_WAY_MAX: Final = 100
"""How many operations, reactions and listenings one socket has at a time."""
WAITING_MAX: Final = 1_000
"""How many messages may wait for a client that reads slowly."""
WAITING_CHARS_MAX: Final = 16_000_000
"""How many characters they may have, before the last of them."""
TOO_SLOW: Final = 1013
SUSPENDED: Final = 4403
"""The code with which a socket is closed whose agent was suspended."""
HALT_S: Final = 0.5
"""How long such a socket has to take the last answers."""
NOT_LET_IN: Final = 1008

router = APIRouter()


class BadMessage(CallerError):
    """A message of a WebSocket that cannot be read."""

    code = "api.bad-message"
    words = '{why}; send {{"id": 1, "do": "out", "space": "jobs", "fields": ["job", 17]}}'
    why: str


class TooMuchUnderWay(CallerError):
    """A socket has as much under way as it may."""

    code = "api.too-much-under-way"
    words = "{limit} operations and reactions are under way; wait for some, or cancel one"
    limit: int


Name = Annotated[str, Field(min_length=1, max_length=200)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}(~[1-9][0-9]{0,2})?$")]


class _Out(m.OutAsked):
    space: Name


class _Read(m.FindAsked):
    space: Name


class _Take(m.TakeAsked):
    space: Name


class _Settle(m.SettleAsked):
    space: Name


class _Send(m.SendAsked):
    law: Hash


class _React(m.LookAsked):
    space: Name
    mode: Literal["once", "once-per-tuple"] = "once-per-tuple"


class _Listen(m.Asked):
    law: Hash
    after: Annotated[int, Field(ge=0, le=2**53)] = 0


class _Cancel(m.Asked):
    of: int | str


@router.websocket("/v1/ws")
async def talk(socket: WebSocket, agent: Annotated[str, Query(max_length=401)] = "") -> None:
    """Speak for an agent until one side ends."""
    service = cast(Service, socket.app.state.service)
    try:
        seat = service.seat(socket.state.principal, agent)
    except NomospaceError:
        await socket.close(NOT_LET_IN)
        return
    await socket.accept()
    seat.busy += 1
    try:
        await AgentSocket(socket, seat).run()
    finally:
        seat.busy -= 1


M = TypeVar("M", bound=BaseModel)
_Method: TypeAlias = Callable[[Any], Coroutine[object, None, Any]]


class AgentSocket:
    """One socket of one agent."""

    def __init__(self, socket: WebSocket, seat: AgentSeat) -> None:
        self._socket = socket
        self._seat = seat
        self._outgoing: asyncio.Queue[str] = asyncio.Queue(WAITING_MAX)
        self._waiting = 0
        """Characters that wait to be sent."""
        self._tasks: dict[int | str, asyncio.Task[None]] = {}
        self._handles: dict[int | str, AnyHandle] = {}
        self._buckets = Buckets()
        self._clogged = False
        self._doing: dict[str, tuple[type[BaseModel], _Method]] = {
            "out": (_Out, lambda asked: acting.out(seat, asked.space, asked)),
            "read": (_Read, lambda asked: acting.find(seat, asked.space, asked)),
            "take": (_Take, lambda asked: acting.find(seat, asked.space, asked)),
            "settle": (_Settle, lambda asked: acting.settle(seat, asked.space, asked)),
            "send": (_Send, lambda asked: acting.send(seat, asked.law, asked)),
            "cancel": (_Cancel, self._cancel),
        }

    async def run(self) -> None:
        """Talk until one side ends; then call off what is under way."""
        writing = asyncio.create_task(self._write())
        hearing = asyncio.create_task(self._hear())
        halted = asyncio.create_task(self._halted())
        try:
            await asyncio.wait([writing, hearing, halted], return_when=asyncio.FIRST_COMPLETED)
            if self._seat.why is not None:
                await self._halt(self._seat.why)
        finally:
            for handle in self._handles.values():
                handle.remove()
            ending = [writing, hearing, halted, *self._tasks.values()]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            if self._clogged:
                with suppress(RuntimeError):  # it may be gone by now
                    await self._socket.close(TOO_SLOW)

    async def _halted(self) -> None:
        await self._seat.halted.wait()

    async def _halt(self, error: NomospaceError) -> None:
        """Its agent is suspended: say what came of all that was under way, and end."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=HALT_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(HALT_S):
                while not self._outgoing.empty():
                    await asyncio.sleep(0)
        with suppress(RuntimeError):  # it may be gone by now
            await self._socket.close(SUSPENDED, reason_of(str(error)))

    async def _hear(self) -> None:
        while True:
            try:
                text = await self._socket.receive_text()
            except (WebSocketDisconnect, KeyError):  # bytes are no message of ours
                return
            key: int | str | None = None
            try:
                if len(text) > VALUES_MAX:
                    for _ in counting(text.encode(errors="replace")):
                        await asyncio.sleep(0)
                said = _object(text)
                key = _key(said)
                self._begin(key, said)
            except NomospaceError as error:
                self._tell(_failure(key, error))

    def _begin(self, key: int | str, said: dict[str, object]) -> None:
        now, state = asyncio.get_running_loop().time(), self._socket.state
        for buckets, who in ((self._buckets, ""), (state.said, state.principal.name)):
            wait_s = buckets.take(who, now)
            if wait_s:
                raise TooFast(rate_s=buckets.rate_s, after_s=max(1, ceil(wait_s)))
        do = said.pop("do", "")
        if key in self._tasks or key in self._handles:
            raise BadMessage(why=f"{key!r} is under way already")
        if do != "cancel" and len(self._tasks) + len(self._handles) >= UNDER_WAY_MAX:
            raise TooMuchUnderWay(limit=UNDER_WAY_MAX)
        if do == "react":
            work = self._react(key, _read(_React, said))
        elif do == "listen":
            work = self._listen(key, _read(_Listen, said))
        elif isinstance(do, str) and do in self._doing:
            kind, method = self._doing[do]
            work = self._answer(key, method(_read(kind, said)))
        else:
            raise BadMessage(why=f"there is nothing to do called {str(do)[:60]!r}")
        task = self._tasks[key] = asyncio.create_task(self._guarded(key, work))
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def _guarded(self, key: int | str, work: Coroutine[object, None, None]) -> None:
        try:
            await work
        except NomospaceError as error:
            self._tell(_failure(key, error))

    async def _answer(self, key: int | str, work: Coroutine[object, None, object]) -> None:
        found = await work
        told = found.model_dump(exclude_unset=True) if isinstance(found, BaseModel) else found
        self._tell({"id": key, "answer": told})

    # -- what can be done ------------------------------------------------------------------------

    async def _cancel(self, asked: _Cancel) -> dict[str, object]:
        handle = self._handles.pop(asked.of, None)
        if handle is not None:
            handle.remove()
        task = self._tasks.get(asked.of)
        if task is not None:
            task.cancel()
        return {}

    async def _react(self, key: int | str, asked: _React) -> None:
        async def fired(found: Tuple, source: str, handle: AnyHandle) -> None:
            self._tell({"of": key, "fired": m.TupleFound.of(found).model_dump(exclude_unset=True)})

        space = await self._seat.space(asked.space)
        template = template_of(asked.template)
        handle = space.react(template, fired, mode=asked.mode, **asked.correlation())
        await handle.wait_registered()
        self._handles[key] = handle
        self._tell({"id": key, "answer": {}})

    async def _listen(self, key: int | str, asked: _Listen) -> None:
        inbox, last = self._seat.inbox(asked.law), asked.after
        self._tell({"id": key, "answer": {}})
        while True:
            for letter in await inbox.after(last, 100, WAIT_S_MAX):
                last = letter.number
                self._tell({"of": key, "letter": m.LetterTold.of(letter).model_dump()})

    # -- telling -----------------------------------------------------------------------------------

    def _tell(self, message: dict[str, object]) -> None:
        text = json.dumps(message)
        if self._outgoing.full() or self._waiting > WAITING_CHARS_MAX:
            self._clogged = True
        else:
            self._waiting += len(text)
            self._outgoing.put_nowait(text)

    async def _write(self) -> None:
        while not self._clogged:
            text = await self._outgoing.get()
            self._waiting -= len(text)
            try:
                await self._socket.send_text(text)
            except (WebSocketDisconnect, RuntimeError):
                return


def _object(text: str) -> dict[str, object]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise BadMessage(why="a message is no JSON") from None
    if not isinstance(said, dict):
        raise BadMessage(why="a message is no JSON object")
    return said


def _key(said: dict[str, object]) -> int | str:
    key = said.pop("id", None)
    if isinstance(key, bool) or not isinstance(key, int | str) or len(str(key)) > 100:
        raise BadMessage(why="a message has no id that is a number or a short string")
    return key


def _read(kind: type[M], said: dict[str, object]) -> M:
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadMessage(why=f"{where[:200]}: {first['msg'][:300]}") from None


def _failure(key: int | str | None, error: NomospaceError) -> dict[str, object]:
    return {"id": key, "problem": json.loads(bytes(answer(error).body))}
