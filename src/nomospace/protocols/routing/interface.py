"""What daemons and servers order, and why they refuse.

Every *site* runs a daemon, and some sites run a server besides. Both are cores: told what happened,
they answer with effects, in the order they must be done. Below them a *courier* carries frames
between sites. It brings each frame exactly once, some day, after crashes too, in no promised order;
what one step asks to persist is on disk together with the frames that the step sends. So a post is
in the custody of exactly one place at any time, and the cores never repeat or acknowledge frames.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from nomospace.protocols.routing.changes import Change
from nomospace.protocols.routing.frames import Frame, Post
from nomospace.protocols.routing.seats import Seat

UNKNOWN: Final = "unknownDestination"
"""Why a post failed: nobody has this name, or there is no such domain."""
ENDED: Final = "ended"
"""Why a post failed or an agent was refused: it is no more."""
BUSY: Final = "busy"
"""Why a post was not taken: too many that could not be delivered yet are kept here."""
NOT_HERE: Final = "notHere"
"""The agent is not at this site, or is just about to come or go."""
OVERTAKEN: Final = "overtaken"
"""Why a post failed: a later one of its sender was delivered before, to a name used again."""
EXISTS: Final = "exists"
"""Why an agent was refused: its name is taken."""
NOT_HOME: Final = "notHome"
"""Why an agent was refused: agents are created in the domain that their id names, and every site
has agents of its own domain only."""
ALREADY_HERE: Final = "alreadyHere"
"""Why a move was refused: it leads nowhere."""
UNSETTLED: Final = "unsettled"
"""Why an agent was refused: its last move is not finished."""
NO_TICKET: Final = "noTicket"
"""Why an agent was refused: its site has no ticket for this move."""
STALE: Final = "stale"
"""Why an agent was refused: it has moved on since."""
FULL: Final = "full"
"""Why an agent was refused: its home has as many agents as it may have."""

# -- effects -----------------------------------------------------------------------------------


class PersistChange(msgspec.Struct, frozen=True, gc=False):
    """Write a change down; what follows in the list may be seen by others only after it."""

    change: Change


class TransmitFrame(msgspec.Struct, frozen=True, gc=False):
    """Give a frame to the courier. The site may be this one: that is no network message."""

    site: str
    frame: Frame


class SayFrame(msgspec.Struct, frozen=True, gc=False):
    """Tell another site something once, past the courier: it may get lost, or come twice."""

    site: str
    frame: Frame


class DeliverPost(msgspec.Struct, frozen=True, gc=False):
    """Hand a post to its agent here."""

    agent: str
    post: Post


class PostFailed(msgspec.Struct, frozen=True, gc=False):
    """Tell a post's sender that it will not be delivered. Number 0 was never sent."""

    post: Post
    why: str


class Created(msgspec.Struct, frozen=True, gc=False):
    """A new agent is registered and may run."""

    agent: str


class Go(msgspec.Struct, frozen=True, gc=False):
    """Stop the agent and hand it over to `site`, whose daemon is told `arrive` with all of this."""

    agent: str
    site: str
    ticket: str
    seat: Seat


class MoveSettled(msgspec.Struct, frozen=True, gc=False):
    """The agent's last move is finished everywhere; it may move again."""

    agent: str


class AgentRefused(msgspec.Struct, frozen=True, gc=False):
    """What was asked for an agent is not done. Refused at its birth or arrival it must not run."""

    agent: str
    why: str


class Noted(msgspec.Struct, frozen=True, gc=False):
    """Something that an operator may want to know; nothing has to be done."""

    what: str
    facts: tuple[object, ...]


Effect: TypeAlias = (
    PersistChange
    | TransmitFrame
    | SayFrame
    | DeliverPost
    | PostFailed
    | Created
    | Go
    | MoveSettled
    | AgentRefused
    | Noted
)
