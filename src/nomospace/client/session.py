"""What an agent asks of a host in another process: `Connection`, over a numbered line.

A call costs one future and one frame. The calls of an agent wait for room when `window` of them are
under way, first come, first served. A take that is cancelled, or whose time is up, is called off at
the host; while there is no host to ask, its time is up all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

from nomospace.client.connection import Closed, Ear, Mailbox, TimedOut
from nomospace.client.line import LAPSED, Line, OutOfTime, Pending
from nomospace.errors import NomospaceError
from nomospace.terms import Term
from nomospace.terms.templates import Template
from nomospace.wire.calls import LawUnknown
from nomospace.wire.talk import (
    BYE_FRAME,
    TAKING,
    Adopt,
    Cancel,
    InDoubt,
    Move,
    OntologyText,
    Open,
    OutMany,
    React,
    Request,
    Save,
    Seek,
    Sets,
    Settle,
    Share,
    Show,
    Stand,
    Tell,
    pack_ask,
    pack_out,
    pack_seek,
    pack_seen,
)

_CANCELLED: Final = "host.cancelled"


class Session(Line):
    """One agent's connection to its host. Made by `connect`."""

    # -- calls -----------------------------------------------------------------------------------

    async def seek(
        self,
        space: str,
        how: str,
        template: Template,
        at: str,
        dest: str,
        lease_us: int,
        timeout_s: float | None,
        sets: Sets | None = None,
    ) -> Any:
        if len(self._calls) >= self._window or self._error is not None:
            await self._room()
        taking = (space, how, template, at, dest, lease_us, sets) if how in TAKING else None
        if self._unreturned and taking is not None:
            kept = self._kept_for(taking)
            if kept:
                return kept
        seq = self._seq + 1
        if sets is None:
            body = pack_seek(seq, self._seen, space, how, template, at, dest, lease_us)
        else:
            seek = Seek(space, how, template, at, dest, lease_us, sets)
            body = pack_ask(seq, self._seen, seek)
        future = self._loop.create_future()
        call = Pending(body, future, taking)
        self._send(seq, call)
        timer = None
        if timeout_s is not None:
            timer = self._loop.call_later(timeout_s, self._time_up, seq)
        try:
            return await future
        except (asyncio.CancelledError, GeneratorExit):
            self._disown(seq, call, future)
            raise
        except OutOfTime:
            self._disown(seq, call, future)
            shown = repr(template)
        except NomospaceError as error:
            if timeout_s is None or error.code != _CANCELLED:
                raise
            shown = repr(template)
        finally:
            if timer is not None:
                timer.cancel()
        raise TimedOut(space=space, template=shown, timeout_s=timeout_s or 0.0)

    async def out(self, space: str, fields: tuple[Term, ...], to: str, ttl_us: int) -> None:
        if len(self._calls) >= self._window or self._error is not None:
            await self._room()
        seq = self._seq + 1
        body = pack_out(seq, self._seen, space, fields, to, ttl_us)
        future = self._loop.create_future()
        self._send(seq, Pending(body, future))
        await future

    def out_many(
        self, space: str, rows: tuple[tuple[Term, ...], ...], to: str, ttl_us: int, once: str
    ) -> Coroutine[Any, Any, None]:
        return self._ask(OutMany(space, rows, to, ttl_us, once))

    def open(
        self, space: str, law: Any, durable: bool, ontology: OntologyText | None = None
    ) -> Coroutine[Any, Any, None]:
        return self._ask_law(Open(space, law, durable, ontology))

    def share(self, spaces: tuple[str, ...], shared: bool) -> Coroutine[Any, Any, None]:
        return self._ask(Share(spaces, shared))

    async def settle(self, space: str, lease: str, done: bool) -> None:
        call, future = await self._asked(Settle(space, lease, done))
        try:
            await future
        except NomospaceError as error:
            lender = lease.partition("/")[0]
            if error.code == LAPSED and call.again and lender != self.host:
                # The word went out before: it may have counted, and its answer died with a host.
                raise InDoubt(peer=lender) from None
            raise

    def tell(self, law: str, message: Term, to: str | tuple[str, ...]) -> Coroutine[Any, Any, Any]:
        return self._ask(Tell(law, message, to))

    def show(self, law: str, certificate: bytes) -> Coroutine[Any, Any, Any]:
        return self._ask(Show(law, certificate))

    def stand(self, law: str) -> Coroutine[Any, Any, Any]:
        return self._ask(Stand(law))

    def save(self, state: bytes) -> Coroutine[Any, Any, None]:
        return self._ask(Save(state))

    async def adopt(self, law: Any, args: tuple[Term, ...], mailbox: Mailbox) -> Any:
        # Mail may come before the answer does, so the mailbox is there before.
        boxes = self._mailboxes.setdefault(law.hash, [])
        boxes.append(mailbox)
        try:
            return await self._ask_law(Adopt(law, args))
        except BaseException:
            boxes.remove(mailbox)
            raise

    def attend(self, law: str, mailbox: Mailbox) -> None:
        self._check_open()
        self._mailboxes.setdefault(law, []).append(mailbox)
        self._claim(law, mailbox)

    async def _ask_law(self, request: Open | Adopt) -> Any:
        """A request with a law: its text goes along only when the host does not know it."""
        try:
            return await self._ask(request)
        except LawUnknown:
            return await self._ask(request, texts=True)

    async def _ask(self, request: Request, *, texts: bool = False) -> Any:
        _, future = await self._asked(request, texts=texts)
        return await future

    async def _asked(
        self, request: Request, *, texts: bool = False
    ) -> tuple[Pending, asyncio.Future[Any]]:
        """Make a call; its answer is still to come."""
        if len(self._calls) >= self._window or self._error is not None:
            await self._room()
        seq = self._seq + 1
        body = pack_ask(seq, self._seen, request, texts=texts)
        future = self._loop.create_future()
        call = Pending(body, future)
        self._send(seq, call)
        return call, future

    async def _room(self) -> None:
        """Wait until another call may be made: first come, first served."""
        self._check_open()
        while len(self._calls) >= self._window:
            future = self._loop.create_future()
            self._queue.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self._let_on()  # its turn is for the next one
                raise
            self._check_open()

    # -- giving up -------------------------------------------------------------------------------

    def _time_up(self, seq: int) -> None:
        call = self._calls.get(seq)
        if call is None or call.future is None or call.future.done():
            return
        if self._talk is None or self._bound_for is not None:
            call.future.set_exception(OutOfTime())
            return
        call.late = True
        self._post(Cancel(seq), _nobody)

    def _disown(self, seq: int, call: Pending, future: asyncio.Future[Any]) -> None:
        """Nobody waits for this call any more; what it has brought, or may bring, goes back."""
        if seq in self._calls and call.future is not None:
            self._call_off(seq, call)
        if call.taking is not None and future.done() and not future.cancelled():
            value = None if future.exception() is not None else future.result()
            if value:
                self._undo(call.taking, value)

    # -- reactions -------------------------------------------------------------------------------

    def react(
        self, space: str, template: Template, mode: str, strength: str, at: str, dest: str, ear: Ear
    ) -> None:
        self._check_open()
        self._watching.add(React(space, template, mode, strength, at, dest), ear)

    def adjust(self, reaction: str, what: str) -> None:
        if self._error is None:
            self._watching.adjust(reaction, what)

    # -- moving ----------------------------------------------------------------------------------

    async def move(
        self,
        to: str,
        program: str = "",
        state: bytes = b"",
        code: bytes | None = None,
        unread: tuple[tuple[str, str, Term], ...] = (),
    ) -> None:
        """Have the agent go to another host, and follow it; raises `MoveRefused` when it stays."""
        if self._error is not None:
            self._check_open()
        seq = self._seq + 1
        future = self._loop.create_future()
        self._moving = seq
        self._send(seq, Pending(pack_ask(seq, self._seen, Move(to)), future))
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            if seq in self._calls:
                self._post(Cancel(seq), _nobody)
            raise

    # -- the rest --------------------------------------------------------------------------------

    def connected(self, agent: str) -> bool:
        if agent in (self._agent, self.host):
            return self._talk is not None
        self._check_open()
        return self._presence.connected(agent)

    async def close(self) -> None:
        """End the session; what waits raises `Closed`."""
        talk = self._talk
        if talk is not None:
            talk.send(pack_seen(self._seen))  # so that what it has read is not for the next one
            talk.send(BYE_FRAME)
        dialling = self._dialling
        self._end(Closed(what=f"agent {self._agent}"), quiet=True)
        if dialling is not None:
            dialling.cancel()
            with suppress(asyncio.CancelledError):
                await dialling
        if talk is not None:
            await talk.wait_gone()


def _nobody(value: Any, error: NomospaceError | None) -> None:
    """An answer that tells nothing new."""
