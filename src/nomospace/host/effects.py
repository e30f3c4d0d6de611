"""What a host orders: write down, transmit, answer, fire, take note.

Effects come in the order they must be done. `Persist` stands first: nothing after it may be seen
by anyone before it is on disk.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from nomospace.calls.answers import Found
from nomospace.calls.requests import Unread
from nomospace.control import Ruling
from nomospace.errors import NomospaceError
from nomospace.host.calls import Bundle
from nomospace.protocols.questions import PeerTalk
from nomospace.space.tables import RowsQuestion
from nomospace.terms import Term

WRITTEN: Final = "written"
TAKEN: Final = "taken"
EXPIRED: Final = "expired"
MOVED: Final = "moved"

LENT: Final = "lent"
RENEWED: Final = "renewed"
RETURNED: Final = "returned"
ACKNOWLEDGED: Final = "acknowledged"
LAPSED: Final = "lapsed"


class Effect(msgspec.Struct, frozen=True):
    """What a host orders."""


class Persist(Effect, frozen=True, gc=False):
    """Write these changes down, all or none (see `changes`)."""

    changes: tuple[Any, ...]


class Transmit(Effect, frozen=True, gc=False):
    """Bring a frame to a neighbour, or (`None`) to everyone who can hear. It may get lost."""

    to: str | None
    frame: Any


class Answer(Effect, frozen=True, gc=False):
    """A call is answered: with a value, or with an error.

    The value of a `Seek` is a `Found` or `None`, for the bulk forms a tuple of `Found`.
    """

    op: int
    value: Any = None
    error: NomospaceError | None = None


class Fire(Effect, frozen=True, gc=False, array_like=True, tag="fire"):
    """A weak reaction fires: run its listener some time from now."""

    agent: str
    reaction: str
    tuple: Found


class Mail(Effect, frozen=True, gc=False, array_like=True, tag="mail"):
    """A message of a community is delivered to an agent of this host."""

    agent: str
    law: str
    sender: str
    message: Term


class Left(Effect, frozen=True, gc=False, array_like=True, tag="left"):
    """An agent is on its way to another host: its program here must stop now.

    `epoch` tells its moves apart.
    """

    agent: str
    to: str
    epoch: int = 0


class Halted(Effect, frozen=True):
    """An agent is suspended, or has `ended`: its clients are cut off."""

    agent: str
    error: NomospaceError
    ended: bool = False


class Came(Effect, frozen=True):
    """An agent has come, with its program and its state; with `error`, it is back where it was.

    `mail` was delivered to it where it was, and not read there; `epoch` is that of its `Left`.
    """

    agent: str
    origin: str
    program: str
    state: Any
    code: Any = None
    error: NomospaceError | None = None
    mail: tuple[Unread, ...] = ()
    epoch: int = 0


class Packed(Effect, frozen=True):
    """A departing agent's bundle. The host holds nothing of it any more."""

    bundle: Bundle


class Traced(Effect, frozen=True, gc=False):
    """A tuple was `written`, `taken`, `expired` or `moved` here: for the journal.

    `agent` is who did it; for a tuple that expired or moved, who holds it. `cause` is the number of
    the ruling of the space's manager that had it written. Only a host that is told to trace says
    this.
    """

    op: str
    space: str
    fields: tuple[Term, ...]
    writer: str
    count: int
    agent: str
    cause: int = 0


class LeaseTraced(Effect, frozen=True, gc=False):
    """A tuple of this host was `lent`, `renewed`, `returned`, `acknowledged` or `lapsed`.

    `agent` is the taker. `until` is when the lease is to end; of a tuple that was returned, when
    it is to be found again. Only a host that is told to trace says this.
    """

    op: str
    space: str
    writer: str
    count: int
    agent: str
    lease: str
    until: int
    why: str


class Journey(msgspec.Struct, frozen=True, gc=False):
    """How a message came: in so many network messages, by way of these hosts, its sender's first.

    `cause` is the number of the ruling that sent it, at the controller of `by`; empty, that of whom
    the message names as its sender. All of it is what a frame says, so it is as true as the hosts
    that passed it on.
    """

    hops: int = 0
    path: tuple[str, ...] = ()
    cause: int = 0
    by: str = ""


HERE: Final = Journey()
"""That of what no ruling has sent."""


class Ruled(Effect, frozen=True, gc=False):
    """A controller of this host ruled: for whoever watches, and for the journal.

    `came` is how what was ruled on came here, and `took_ns` how long the ruling took
    (`HostStep.stopwatch`); of rulings made at once the first has all of it.
    """

    ruling: Ruling
    took_ns: int = 0
    came: Journey = HERE


class AskTables(Effect, frozen=True, gc=False):
    """Look for rows of a space that lies in the store, beside the loop (`calls.TablesAnswered`)."""

    question: RowsQuestion


class PeerTold(Effect, frozen=True, gc=False):
    """The driver of an engaged host asks or answers that of this one (`calls.TellPeer`)."""

    peer: str
    talk: PeerTalk


class Note(Effect, frozen=True, gc=False):
    """Something happened that an operator may want to know: a word, and its facts."""

    what: str
    facts: dict[str, Any]


JOURNALED: Final = frozenset({Persist, Ruled, Traced, LeaseTraced})
"""Effects that are done when a step is kept: what must survive, and what the journal is told."""
