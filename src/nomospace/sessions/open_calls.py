"""Calls that have no answer yet, and what becomes of one that nobody waits for any more.

A take that is cancelled must not swallow a tuple. Whoever asked may give up at any moment, also in
the one between an answer and its notice of it. So:

| the call                            | what happens        | what follows                       |
| ----------------------------------- | ------------------- | ---------------------------------- |
| waits                               | an answer comes     | whoever asked has it               |
| waits                               | its asker gives up  | the host is told to call it off    |
| waits, and its asker has given up   | an answer comes     | what it took goes back             |
| is answered, not noticed            | its asker gives up  | what it took goes back             |

How a call is called off and how a tuple goes back is for each end to say: a client at a distance
writes it again (`client_session`), a host does so under its own roof (`local_calls`).
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.requests import Seek
from nomospace.errors import NomospaceError

Order = TypeVar("Order")


class Asker(Protocol):
    """Who waits for an answer: a future, or what stands for one in a simulated world."""

    def done(self) -> bool:
        """Whether it has its answer, or was cancelled."""

    def cancelled(self) -> bool:
        """Whether it was cancelled."""

    def set_result(self, result: object) -> object:
        """Give it its answer."""

    def set_exception(self, error: BaseException) -> object:
        """Give it an error instead."""

    def result(self) -> Any:
        """Its answer, once it is done."""

    def exception(self) -> BaseException | None:
        """Its error, once it is done."""


class OpenCall(msgspec.Struct, eq=False):
    """A call that has no answer yet."""

    number: int
    asker: Any
    """An `Asker`, or whom an answer is handed to at once; `None` when nobody waits any more."""
    taking: Seek | None = None
    """What it takes, if it takes anything: that may have to go back."""
    body: bytes = b""
    posted: bool = False
    """Whether the answer is handed over at once, and nobody can give up."""
    sent: bool = False
    again: bool = False
    """Whether it was sent to an earlier life of the host: it may have been done."""
    late: bool = False
    """Whether its time is up, and the host has been told: it need not be called off again."""
    back: tuple[Seek, Found] | None = None
    """The tuple that it puts back."""


class OpenCalls(Generic[Order]):
    """The calls of one end that have no answer yet, by their numbers."""

    __slots__ = ("calls", "number")

    def __init__(self, first: int = 0) -> None:
        self.number = first
        """The number of the last call."""
        self.calls: dict[int, OpenCall] = {}

    def give_up(self, call: OpenCall) -> list[Order]:
        """Whoever asked waits no longer; what the call has brought, or may bring, goes back."""
        asker, call.asker = call.asker, None
        if self.calls.get(call.number) is call:
            return [] if asker is None else self._call_off(call)
        if asker is None or call.taking is None or not asker.done() or asker.cancelled():
            return []
        value = None if asker.exception() is not None else asker.result()
        return self._give_back(call, value) if value else []

    def _bring(self, call: OpenCall, value: Any, error: NomospaceError | None) -> list[Order]:
        """Bring an answer to who asked; what nobody waits for goes back."""
        asker = call.asker
        if asker is not None and not asker.done():
            if error is None:
                asker.set_result(value)
            else:
                asker.set_exception(error)
        elif call.taking is not None and value:
            call.asker = None  # it has gone back: nobody may give it back again
            return self._give_back(call, value)
        return []

    def _call_off(self, call: OpenCall) -> list[Order]:
        """Nobody waits for a call any more; what it may still bring goes back."""
        raise NotImplementedError

    def _give_back(self, call: OpenCall, value: Found | tuple[Found, ...]) -> list[Order]:
        """Give back what a take has brought that nobody waits for."""
        raise NotImplementedError
