"""One session: what a host remembers of a client, and what it asks of others for it.

The rules of sessions stand at the head of `host_sessions`, which has all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from nomospace.calls.requests import Request
from nomospace.host.calls import Call, Event
from nomospace.sessions.taken import Taken
from nomospace.store.interface import KeptForClient
from nomospace.wire.talk import WINDOW

SOME: Final = 16
"""How many calls of a client are told at once, and how many answers go out together: the client
has work while the next are done."""
MANY: Final = 64
"""How many calls are told at once of a client whose answers wait for the disk: it has to wait for
all of them anyway, and each step has a price of its own."""
OUTBOX_BYTES_MAX: Final = 64 << 20
"""While an outbox holds more than this, new calls of its client are not begun."""
CALLS_MAX: Final = 4 * WINDOW
"""A client keeps to its window; what it may do without waiting for room is bounded by this."""


class SessionLink(Protocol):
    """A connection to a client, as a session sees it."""

    def send(self, body: bytes) -> bool:
        """Send a frame; false when the connection is clogged, and nothing was sent."""

    @property
    def ready(self) -> bool:
        """Whether the connection takes what is sent."""

    def send_now(self, bodies: list[bytes]) -> None:
        """Send frames at once, after all that were sent before; only while it is ready."""

    def drop(self) -> None:
        """End the connection: another has taken its place, or its session is over."""


class Gate(Protocol):
    """What sessions ask of the driver of their host."""

    def tell(self, event: Event) -> None:
        """Tell the core one fact; raises when the host is closed, or takes no calls just now."""

    def tell_many(self, calls: Sequence[Call]) -> int:
        """Tell the core some calls, as many as it makes one step of; how many, and as `tell`."""

    def seat(self, agent: str, *, follows: str | None) -> None:
        """See that an agent is here, new or as it was left; raises why it cannot be.

        It is not new for a client that `follows` it from another host, whose name may be empty.
        """

    def vacate(self, agent: str) -> None:
        """No session speaks for an agent any more; others may."""

    def keep(self, kept: Sequence[KeptForClient]) -> None:
        """Write something down with the next commit; nobody waits for it."""

    def bring(self, out: Outgoing, kept: Sequence[KeptForClient]) -> None:
        """Write something down, and release it in its turn, after all that was numbered before."""

    def unreleased(self) -> Iterable[Outgoing]:
        """What waits for the disk, oldest first."""

    def trim(self, key: str, number: int) -> None:
        """What was kept under a key up to a number is not wanted any more."""

    def note(self, what: str, facts: Mapping[str, object]) -> None:
        """Let an operator know."""

    def here(self, agent: str) -> bool:
        """Whether an agent is at this host."""

    def held(self, agent: str, law: str) -> bool:
        """Whether a program of this host reads an agent's mail under a law."""

    def address_of(self, host: str) -> str:
        """Where clients find another host; empty when that is not known."""


class SessionKept(msgspec.Struct, frozen=True, array_like=True):
    """A session, as it is kept. `away`: the laws of its agent know that its program has gone."""

    agent: str
    alongside: bool
    away: bool = False


Push = tuple[int, bytes, int, Taken | None]
"""A push: its number, its bytes, the call that it answers, and what that took."""


class HostSession:
    """One client of one agent."""

    __slots__ = ("absent_since", "agent", "alongside", "answers", "calls", "clogged",
                 "deferred", "ended", "high", "kept", "key", "link", "moved_to", "number",
                 "outbox", "reactions", "sent", "shown", "together", "trimmed",
                 "weight")  # fmt: skip

    def __init__(self, key: str, agent: str, number: int, *, alongside: bool = False) -> None:
        self.key = key
        self.agent = agent
        self.alongside = alongside
        self.link: SessionLink | None = None
        self.absent_since: int | None = None
        """Since when nobody is connected."""
        self.high = 0
        """The highest number of a call so far: what is above it cannot be a repetition."""
        self.calls: dict[int, int] = {}
        """Calls under way: the client's number, and the host's."""
        self.number = number
        """The last number that a push got."""
        self.outbox: deque[Push] = deque()
        self.answers = 0
        """How many pushes in the outbox answer calls."""
        self.weight = 0
        """The bytes in the outbox."""
        self.sent = number
        """The last push that was handed to this connection."""
        self.shown = number
        """The last push that was handed to any connection: the client may know of it."""
        self.clogged = False
        """Whether the connection takes nothing more just now."""
        self.kept = 0
        """The last push that was kept on disk and not yet seen; 0 when there is none."""
        self.together = SOME
        """How many of its calls are told at once: its last answer says whether more of them are."""
        self.trimmed = 0
        """The last push that the disk was told to forget."""
        self.deferred: deque[tuple[int, Request]] = deque()
        """Calls that wait until the outbox is lighter. The window bounds them."""
        self.reactions: dict[str, str] = {}
        """Its reactions: their ids and modes."""
        self.moved_to = ""
        """The host that the agent has gone to, while its client does not know, or follows."""
        self.ended = False

    def knows(self, seq: int) -> bool:
        """Whether a call is under way, or its answer waits to be seen."""
        return (
            seq in self.calls
            or any(push[2] == seq for push in self.outbox)
            or any(one[0] == seq for one in self.deferred)
        )


Pushes = list[tuple[HostSession, Push]]
"""Pushes, and whose they are."""


class Outgoing(msgspec.Struct, eq=False):
    """What one step of the core has for clients. It goes out when the step is on disk."""

    pushes: Pushes = []
    replaced: tuple[str, int] | None = None
    """What the disk may forget once this is out: a key, and a number."""
    kept: bool = False
    """Whether the pushes are on disk too."""
    answers_one: bool = False
    """Whether all of them answer calls of one session."""
    ended: bool = False
    """Whether all that was replaced may go, as of a session that is over: unless there is another
    under that key."""
