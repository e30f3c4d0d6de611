"""What an agent asks of a host in another process: `Connection`, over a session's numbers.

What the client remembers of its session, and what has to be asked again, is a core of its own
(`sessions.client_session`), which `session_driver` drives. A call costs one future and one frame.
The calls of an agent wait for room when `window` of them are under way, first come, first served. A
take that is cancelled, or whose time is up, is called off at the host; while there is no host to
ask, its time is up all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from nomospace.calls.addresses import key_of
from nomospace.calls.answers import DisclosedRuling
from nomospace.calls.problems import InDoubt
from nomospace.calls.requests import (
    TAKING,
    Adopt,
    Cancel,
    Move,
    Open,
    React,
    Request,
    Seek,
    Settle,
)
from nomospace.client.connection import Closed, Ear, Mailbox, TimedOut
from nomospace.client.dialling import OperatorConnection
from nomospace.client.session_driver import SessionDriver
from nomospace.errors import NomospaceError
from nomospace.sessions.client_session import LAPSED, OutOfTime, nobody
from nomospace.sessions.open_calls import OpenCall
from nomospace.terms import Term
from nomospace.wire.admin import A, OperatorQuestion
from nomospace.wire.calls import LawUnknown
from nomospace.wire.talk import BYE_FRAME, pack_ask, pack_out, pack_seek, pack_seen

if TYPE_CHECKING:  # a client has no compiler
    from nomospace.law import CompiledLaw

_CANCELLED: Final = "host.cancelled"


class RemoteConnection(SessionDriver):
    """One agent's connection to a host in another process. Made by `connect`."""

    # -- calls -----------------------------------------------------------------------------------

    async def seek(self, seek: Seek, timeout_s: float | None = None) -> Any:
        session = self._session
        if len(session.calls) >= self._window or self.error is not None:
            await self._room()
        taking = seek if seek.how in TAKING else None
        if taking is not None and session.unreturned:
            kept = session.kept_for(seek)
            if kept:
                return kept
        number = session.number + 1
        body = pack_seek(number, session.seen, seek)
        future = self._loop.create_future()
        call = OpenCall(number, future, taking, body)
        alone = not (session.calls or self._crowd)
        if session.begin(call):
            assert self._talk is not None, "the session is connected"
            if alone:
                self._talk.send_now(body)
            else:
                self._talk.send(body)
        timer = None
        if timeout_s is not None:
            timer = self._loop.call_later(timeout_s, self._time_up, number)
        try:
            return await future
        except (asyncio.CancelledError, GeneratorExit):
            self._give_up(call)
            raise
        except OutOfTime:
            pass
        except NomospaceError as error:
            if timeout_s is None or error.code != _CANCELLED:
                raise
        finally:
            if timer is not None:
                timer.cancel()
        raise TimedOut(space=seek.space, template=repr(seek.template), timeout_s=timeout_s or 0.0)

    async def out(self, space: str, fields: tuple[Term, ...], to: str, ttl_us: int) -> None:
        session = self._session
        if len(session.calls) >= self._window or self.error is not None:
            await self._room()
        number = session.number + 1
        body = pack_out(number, session.seen, space, fields, to, ttl_us)
        future = self._loop.create_future()
        alone = not (session.calls or self._crowd)
        if session.begin(OpenCall(number, future, None, body)):
            assert self._talk is not None, "the session is connected"
            if alone:
                self._talk.send_now(body)
            else:
                self._talk.send(body)
        await future

    async def adopt(
        self, law: CompiledLaw, args: tuple[Term, ...], mailbox: Mailbox, number: int = 1
    ) -> DisclosedRuling:
        # Mail may come before the answer does, so the mailbox is there before.
        boxes = self._mailboxes.setdefault(key_of(law.hash, number), [])
        boxes.append(mailbox)
        try:
            told: DisclosedRuling = await self._ask_law(Adopt(law, args, number))
        except BaseException:
            boxes.remove(mailbox)
            raise
        return told

    def attend(self, key: str, mailbox: Mailbox) -> None:
        self._check_open()
        self._mailboxes.setdefault(key, []).append(mailbox)
        letters = [one for one in self._unclaimed if one.law == key]
        if letters:
            kept = [one for one in self._unclaimed if one.law != key]
            self._unclaimed.clear()
            self._unclaimed.extend(kept)
        for letter in letters:
            mailbox.on_mail(letter.sender, letter.message)

    def ask(self, request: Request) -> Coroutine[object, None, Any]:
        if isinstance(request, Open):
            return self._ask_law(request)
        if isinstance(request, Settle):
            return self._settle(request)
        return self._ask(request)

    async def operate(self, question: OperatorQuestion[A]) -> A:
        self._check_open()
        asking = await OperatorConnection.begin(self._dialler, self._urls[0])
        try:
            return await asking.ask(question)
        finally:
            await asking.close()

    async def _settle(self, request: Settle) -> None:
        if len(self._session.calls) >= self._window or self.error is not None:
            await self._room()
        call = self._call(request)
        try:
            await call.asker
        except NomospaceError as error:
            lender = request.lease.partition("/")[0]
            if error.code == LAPSED and call.again and lender != self.host:
                # The word went out before: it may have counted, and its answer died with a host.
                raise InDoubt(peer=lender) from None
            raise

    async def _ask_law(self, request: Open | Adopt) -> Any:
        """A request with a law: its text goes along only when the host does not know it."""
        try:
            return await self._ask(request)
        except LawUnknown:
            return await self._ask(request, texts=True)

    async def _ask(self, request: Request, *, texts: bool = False) -> Any:
        if len(self._session.calls) >= self._window or self.error is not None:
            await self._room()
        return await self._call(request, texts=texts).asker

    def _call(self, request: Request, *, texts: bool = False) -> OpenCall:
        """Make a call; its answer is still to come."""
        session = self._session
        number = session.number + 1
        body = pack_ask(number, session.seen, request, texts=texts)
        call = OpenCall(number, self._loop.create_future(), None, body)
        self._send(call)
        return call

    async def _room(self) -> None:
        """Wait until another call may be made: first come, first served."""
        self._check_open()
        while len(self._session.calls) >= self._window:
            future = self._loop.create_future()
            self._queue.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self._let_in -= 1  # its turn is for the next one
                    self._let_on()
                raise
            self._let_in -= 1
            self._check_open()

    # -- giving up -------------------------------------------------------------------------------

    def _time_up(self, number: int) -> None:
        self._do(self._session.time_up(number))
        self._let_on()

    def _give_up(self, call: OpenCall) -> None:
        """Nobody waits for this call any more; what it has brought, or may bring, goes back."""
        if self.error is None:
            self._do(self._session.give_up(call))
            self._let_on()

    # -- reactions -------------------------------------------------------------------------------

    def react(self, request: React, ear: Ear) -> None:
        self._check_open()
        self._watching.add(request, ear)

    def adjust(self, reaction: str, what: str) -> None:
        if self.error is None:
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
        if self.error is not None:
            self._check_open()
        session = self._session
        number = session.number + 1
        future = self._loop.create_future()
        session.moving = number
        self._send(OpenCall(number, future, None, pack_ask(number, session.seen, Move(to))))
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(lambda gone: gone.cancelled() or gone.exception())
            if number in session.calls:
                self._post(Cancel(number), nobody)
            raise

    # -- the rest --------------------------------------------------------------------------------

    def connected(self, agent: str) -> bool:
        if agent in (self.agent, self.host):
            return self._talk is not None
        self._check_open()
        return self._presence.connected(agent)

    async def close(self) -> None:
        """End the session; what waits raises `Closed`."""
        talk = self._talk
        if talk is not None:
            talk.send(
                pack_seen(self._session.seen)
            )  # so that what it has read is not for the next one
            talk.send(BYE_FRAME)
        dialling = self._dialling
        self._end(Closed(what=f"agent {self.agent}"), quiet=True)
        if dialling is not None:
            dialling.cancel()
            with suppress(asyncio.CancelledError):
                await dialling
        if talk is not None:
            await talk.wait_gone()
