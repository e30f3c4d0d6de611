"""What a host's driver asks those of engaged hosts, and answers them; the core brings it there.

A question may get lost, and so may its answer: who asks waits for so long and no longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final

from nomospace.errors import NomospaceError, Unavailable
from nomospace.host.calls import TellPeer
from nomospace.host.effects import PeerTold
from nomospace.node.loops import held
from nomospace.protocols.questions import PeerAnswer, PeerQuestion

ASKED_MAX: Final = 256
"""How many questions wait for an answer at a time."""
ANSWERED_MAX: Final = 8
"""How many questions are being answered at a time; more go without an answer."""
QUESTION_BYTES_MAX: Final = 128 * 1024
ANSWER_BYTES_MAX: Final = 512 * 1024


class PeerSilent(Unavailable):
    """A host of the group gave no answer."""

    code = "node.peer-silent"
    words = "host {peer} gave no answer within {seconds} s; ask again when it is in contact"
    peer: str
    seconds: float


class PeerQuestions:
    """Questions between one host and those that are engaged with it."""

    def __init__(self, tell: Callable[[TellPeer], None]) -> None:
        self.answer: Callable[[str, bytes], Awaitable[bytes]] | None = None
        """Answers what a peer asks; a host that has none is silent."""
        self._tell = tell
        self._numbers = count(1)
        self._asked: dict[int, tuple[str, asyncio.Future[bytes]]] = {}
        self._answering: dict[asyncio.Task[None], None] = {}

    async def ask(self, peer: str, body: bytes, *, seconds: float) -> bytes:
        """What a peer answers; raises `PeerSilent`."""
        if len(self._asked) >= ASKED_MAX or len(body) > QUESTION_BYTES_MAX:
            raise PeerSilent(peer=peer, seconds=0)
        number = next(self._numbers)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[number] = (peer, future)
        try:
            self._tell(TellPeer(peer, PeerQuestion(number, body)))
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise PeerSilent(peer=peer, seconds=seconds) from None
        finally:
            del self._asked[number]

    def told(self, effect: PeerTold) -> None:
        """A peer asks, or answers."""
        talk = effect.talk
        if isinstance(talk, PeerAnswer):
            peer, future = self._asked.get(talk.number, ("", None))
            if future is not None and peer == effect.peer and not future.done():
                future.set_result(talk.body)
        elif (
            self.answer is not None
            and len(self._answering) < ANSWERED_MAX
            and len(talk.body) <= QUESTION_BYTES_MAX
        ):
            work = self._answer(self.answer, effect.peer, talk)
            held(asyncio.create_task(work), self._answering)

    async def _answer(
        self, answer: Callable[[str, bytes], Awaitable[bytes]], peer: str, asked: PeerQuestion
    ) -> None:
        try:
            body = await answer(peer, asked.body)
            if len(body) <= ANSWER_BYTES_MAX:
                self._tell(TellPeer(peer, PeerAnswer(asked.number, body)))
        except NomospaceError:
            return  # it is silent: the host ends, or was asked what it does not understand

    def stop(self) -> None:
        """Answer nothing more."""
        for task in list(self._answering):
            task.cancel()
