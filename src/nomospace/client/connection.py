"""What the API needs from a host, near or far: one agent's line to it.

`Space`, `Agent` and `Membership` speak to a `Connection` only, in plain values. A host in the same
process answers most calls before they return, so awaiting them never goes through the event loop;
a host elsewhere sends the same values in frames. Calls of one agent reach the host in the order
they were made, the plain ones (`react`, `adjust`) included.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from nomospace.calls.answers import DisclosedRuling, Found
from nomospace.calls.requests import React, Request, Seek
from nomospace.errors import Unavailable
from nomospace.terms import Term
from nomospace.terms.templates import Template
from nomospace.wire.admin import A, OperatorQuestion

if TYPE_CHECKING:  # a client has no compiler
    from nomospace.law import CompiledLaw


class TimedOut(Unavailable):
    """Nothing matched a waiting operation in the time that it was given."""

    code = "client.timed-out"
    words = (
        "no tuple for {template} in {space!r} within {timeout_s:g} s; "
        "wait longer, or look whether its writer is engaged (agent.system has the hosts)"
    )
    space: str
    template: str
    timeout_s: float


class Closed(Unavailable):
    """An operation was begun, or was still waiting, when its agent or host was closed."""

    code = "client.closed"
    words = "{what} is closed; open it again, then repeat the operation"
    what: str


class NotYetKnown(Unavailable):
    """Whether an agent is connected has not been told yet."""

    code = "client.not-yet-known"
    words = (
        "the host has just been asked whether {who} is connected; ask again in a moment, "
        "or await agent.system.read_nowait('agent', id, ANY, 'connected')"
    )
    who: str


class Report(msgspec.Struct, frozen=True):
    """Something went wrong beside the program's own path: what, its facts, and the error if any."""

    what: str
    facts: Mapping[str, object]
    error: BaseException | None = None

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {value!r}" for name, value in self.facts.items())
        cause = "" if self.error is None else f": {type(self.error).__name__}: {self.error}"
        return f"{self.what} ({facts}){cause}" if facts else f"{self.what}{cause}"


class Firing(Protocol):
    """A strong reaction at work: its tuple, and what may be done in the same atomic step."""

    @property
    def tuple(self) -> Found: ...
    def out(self, fields: object, to: str = "", space: str | None = None) -> None: ...
    def take_nowait(self, template: Template, space: str | None = None) -> Found | None: ...
    def read_nowait(self, template: Template, space: str | None = None) -> Found | None: ...
    def take_all(self, template: Template, space: str | None = None) -> Sequence[Found]: ...
    def read_all(self, template: Template, space: str | None = None) -> Sequence[Found]: ...


class Ear(Protocol):
    """Who is told of a reaction: that it is registered or refused, and each time it fires."""

    def on_registered(self, reaction: str) -> None: ...
    def on_refused(self, error: BaseException) -> None: ...
    def on_fired(self, found: Found) -> None: ...
    def on_strong(self, firing: Firing) -> None: ...


class Mailbox(Protocol):
    """Who is told of a community's messages."""

    def on_mail(self, sender: str, message: Term) -> None: ...


class Law(Protocol):
    """A law, as far as an agent's program has to know it."""

    @property
    def name(self) -> str: ...
    @property
    def hash(self) -> str: ...


class Connection(Protocol):
    """One agent's line to its host. Errors of the host are raised by the calls they answer.

    What gives a coroutine does its work when that is awaited.
    """

    @property
    def agent(self) -> str:
        """The agent's id."""

    def ask(self, request: Request) -> Coroutine[object, None, Any]:
        """Ask for something that has no way of its own here."""

    def out(
        self, space: str, fields: tuple[Term, ...], to: str, ttl_us: int
    ) -> Coroutine[object, None, None]:
        """Write one tuple."""

    def seek(self, seek: Seek, timeout_s: float | None = None) -> Coroutine[object, None, Any]:
        """A `Found`, `None`, or a tuple of `Found`; raises `TimedOut`.

        When its task is cancelled, a tuple that was taken all the same goes back.
        """

    def react(self, request: React, ear: Ear) -> None:
        """Register a reaction before any later call of this agent; the ear hears how it went."""

    def adjust(self, reaction: str, what: str) -> None:
        """`disable`, `enable` or `remove` a reaction before any later call of this agent."""

    def adopt(
        self, law: CompiledLaw, args: tuple[Term, ...], mailbox: Mailbox, number: int = 1
    ) -> Coroutine[object, None, DisclosedRuling]:
        """Adopt a law, as the agent's membership of a number; the ruling on the adoption."""

    def attend(self, key: str, mailbox: Mailbox) -> None:
        """Bring the mail of a membership that the agent has already (`calls.addresses`)."""

    def move(
        self,
        to: str,
        program: str,
        state: bytes,
        code: bytes | None,
        unread: tuple[tuple[str, str, Term], ...],
    ) -> Coroutine[object, None, None]:
        """Go to another host; raises `program.Departed` when the agent has left.

        When its task is cancelled, the move is called off, unless it is too late for that.
        """

    def operate(self, question: OperatorQuestion[A]) -> Coroutine[object, None, A]:
        """Ask the agent's host what only an operator may; raises `NotAnOperator`."""

    def connected(self, agent: str) -> bool:
        """Whether an agent (or, without an `@`, a host) is connected now.

        A host elsewhere has to be asked: the first time this raises `NotYetKnown`.
        """

    def report(self, report: Report) -> None:
        """Tell whoever looks after the host."""

    def close(self) -> Coroutine[object, None, None]:
        """Forget this agent's waiting operations, reactions and mailboxes."""
