"""What a host is told: calls of its agents, frames of its neighbours, the time, where it is.

A `Call` is one operation of one agent; its `op` is a number that the driver chose and never uses
again on this host. Most calls are answered at once, a waiting `Seek` when there is a tuple for it;
every call is answered exactly once, with a value or an error (see `effects.Answer`), unless its
agent leaves first.

Locations: an agent id has an `@`, a host's name has none; the empty string leaves a place open.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from nomospace.calls.requests import OntologyText, Out, React, Request, Seek
from nomospace.errors import Unavailable
from nomospace.protocols.questions import PeerTalk
from nomospace.protocols.spaces import Row
from nomospace.space.pages import RowsPage
from nomospace.space.tables import RowsQuestion
from nomospace.terms import Term


class PutBack(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="put-back"):
    """Have a tuple lie in its space again that was taken for an agent which never got it.

    Drivers ask this, who know that it was so; no agent may.
    """

    space: str
    fields: tuple[Term, ...]
    priority: int = 0


Asked: TypeAlias = Request | PutBack
"""What the driver of a host may ask of it in an agent's name."""


class Event(msgspec.Struct, frozen=True):
    """A fact that a host is told."""


class Call(Event, frozen=True, gc=False):
    """One operation of one agent of this host."""

    op: int
    agent: str
    request: Asked


class Abandoned(Event, frozen=True):
    """A client of an agent is gone: what it waited for, by the numbers of the calls, and its
    reactions are to end. They do in their turn, as many as fit in each step.
    """

    agent: str
    calls: tuple[int, ...]
    reactions: tuple[str, ...]


class Arrive(Event, frozen=True):
    """An agent comes to this host: new, or with all that it carries."""

    agent: str
    bundle: Bundle | None = None


class Depart(Event, frozen=True):
    """An agent leaves this host with all that it carries; answered with `effects.Packed`."""

    agent: str


class Speak(Event, frozen=True):
    """The operator of a governed space lets it say something: `sent` by its manager here."""

    space: str
    law: str
    message: Term
    to: str
    op: int = 0
    """What the ruling is answered to, if anybody waits for it."""


class PaceLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a monitor keeps: the most requests a second that its space is to bear here, and its
    clients' delay in seconds, at rest and at its longest.
    """

    most: float
    rest: float = 1.0
    longest: float = 60.0


class MonitorSpace(Event, frozen=True):
    """The operator of a governed space has it watch its load, or (without limits) no longer.

    Without an `op` nobody waits for an answer, and the space may not be open yet.
    """

    space: str
    limits: PaceLimits | None
    op: int = 0


class _Presented(Event, frozen=True):
    """What a certificate says that an agent here presents under a law.

    `subject` is whom it is about; when that is empty, the agent itself.
    """

    agent: str
    law: str
    issuer: str
    attributes: tuple[Term, ...]
    subject: str = ""


class Certified(_Presented, frozen=True):
    """A certificate checks out. Who has checked it vouches for that."""


class Uncertified(_Presented, frozen=True):
    """A certificate does not check out; what it says of itself."""


class Revoked(_Presented, frozen=True):
    """A certificate that was presented counts no longer."""


class Loaded(Event, frozen=True):
    """Tuples that an earlier life wrote down, for a host that began without them."""

    rows: tuple[Any, ...]
    last: bool


class TablesAnswered(Event, frozen=True):
    """Rows that a search waits for have come (`effects.AskTables`), or why there are none."""

    question: RowsQuestion
    page: RowsPage | Unavailable


class TellPeer(Event, frozen=True):
    """The driver has a question, or an answer, for that of an engaged host (`effects.PeerTold`)."""

    peer: str
    talk: PeerTalk


class RevocationsLearnt(Event, frozen=True):
    """An authority has published a newer list of the certificates that it revoked."""

    revoked: Any


class Absent(Event, frozen=True):
    """The program behind an agent here has gone away without a word."""

    agent: str


class Present(Event, frozen=True):
    """The program behind an agent here is back."""

    agent: str


class Unattended(Event, frozen=True):
    """No program speaks for some agents here any more: the time of their sessions is over."""

    agents: tuple[str, ...]


class Attended(Event, frozen=True):
    """A program speaks for an agent here again."""

    agent: str


class Primary(Event, frozen=True):
    """A site is the primary server of a domain since a term; told to it, and to those it serves.

    Whoever watches over the servers of a domain decides that: a standby takes over so.
    """

    domain: str
    site: str
    term: int


class Promote(Event, frozen=True):
    """An operator has this host serve a domain without the other of its two servers."""

    domain: str
    op: int


class Suspend(Event, frozen=True):
    """An operator suspends an agent (its id) or a law (its hash) at this host."""

    name: str
    why: str = ""


class Resume(Event, frozen=True):
    """An operator ends the suspension of an agent or a law."""

    name: str


class Drain(Event, frozen=True):
    """An operator has this host keep no share of partitioned spaces any more, or keep one again."""

    drained: bool = True


class Engage(Event, frozen=True):
    """Join whom the policy lets this host join."""


class Disengage(Event, frozen=True):
    """Leave the group by announcement, and stay alone."""


class Moved(Event, frozen=True):
    """The host is at another place now, in metres."""

    position: tuple[float, ...]


class Heard(Event, frozen=True, gc=False):
    """A frame came from a neighbour."""

    neighbour: str
    frame: Any


class Tick(Event, frozen=True, gc=False):
    """Time has passed."""


class CarriedSpace(msgspec.Struct, frozen=True):
    """An agent's interface space on the move: private, with its tuples."""

    name: str
    shared: bool
    law: str
    rows: tuple[Row, ...]
    durable: bool = True
    ontology: str = ""
    engine: str = ""


class Waiting(msgspec.Struct, frozen=True):
    """An operation that an agent waits for, on the move with it.

    On a governed space it has its `message`, and how far it got: it reached the space (`started`),
    the space has answered it (`under_way`).
    """

    op: int
    request: Out | Seek | React
    law: str = ""
    message: Term = None
    started: bool = False
    under_way: bool = False


class Bundle(msgspec.Struct, frozen=True):
    """What a moving agent carries: its spaces, the counter of its tuples, its reactions, its
    memberships with the time left of their obligations, and what it waits for. `origin` is the
    host it comes from.
    """

    agent: str
    origin: str
    count: int = 0
    spaces: tuple[CarriedSpace, ...] = ()
    reactions: tuple[Any, ...] = ()
    memberships: tuple[Any, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    ontologies: tuple[OntologyText, ...] = ()
