"""What daemons and servers write down, change by change.

A core that starts again is given all changes that were persisted, in order, or a shorter list that
its `changes()` gave. Guesses, which sites wrote lately and which posts were passed on are not
written down: without them posts only take longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from nomospace.protocols.routing.frames import AnyFrame, Heard, Post, Replicate
from nomospace.protocols.routing.seats import Seat

# -- of a daemon -------------------------------------------------------------------------------


class SeatPut(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="seat-put"):
    """An agent has a seat here, in a phase of its coming and going."""

    agent: str
    phase: str
    seat: Seat
    to: str = ""
    ticket: str = ""


class PhasePut(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="phase-put"):
    """An agent's seat is in another phase."""

    agent: str
    phase: str
    epoch: int
    domain: str
    to: str
    ticket: str
    ending: bool


class SeatGone(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="seat-gone"):
    """An agent has no seat here any more."""

    agent: str


class Sent(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="sent"):
    """An agent's last number to another."""

    sender: str
    to: str
    n: int


class LastGot(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="got"):
    """The last number that an agent has got from another; nothing up to it waits."""

    agent: str
    sender: str
    n: int


class PostKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="kept"):
    """A post waits at its agent's seat for one before it."""

    post: Post


class PostHeld(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="held"):
    """A post waits at its origin to be tried again."""

    post: Post


class PostsReleased(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="released"):
    """The posts that waited at their origin for an agent are on their way."""

    target: str


# -- of a server -------------------------------------------------------------------------------


class RecordPut(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="record-put"):
    """What a server knows of an agent; only while it is moving there is a queue."""

    agent: str
    kind: str
    where: str
    epoch: int
    ticket: str = ""
    got: tuple[tuple[str, int], ...] = ()


class Forgotten(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="forgotten"):
    """A server knows nothing of an agent that ended any more; whoever is next is of `life`."""

    agent: str
    life: int


class Queued(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="queued"):
    """A post waits at a server for its agent's move to end."""

    post: Post


class StrayNoted(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="stray-noted"):
    """A post failed since nobody had the name of its receiver."""

    agent: str
    sender: str
    n: int


class StraysForgotten(
    msgspec.Struct, frozen=True, gc=False, array_like=True, tag="strays-forgotten"
):
    """The failed posts to a name are not known any more; whoever is born next is of `life`."""

    agent: str
    life: int


# -- of both -----------------------------------------------------------------------------------


class PrimaryLearnt(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="primary-learnt"):
    """A site is the primary of a domain since a term."""

    domain: str
    site: str
    term: int


# -- of a server that is one of several --------------------------------------------------------


class StepTaken(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="step-taken"):
    """The frames of a step wait; a primary also keeps what it heard in it, and in which term."""

    step: int
    src: str
    frame: Heard
    frames: tuple[tuple[str, AnyFrame], ...]
    term: int = 0


class StepAhead(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="step-ahead"):
    """A step came to the standby before one that is earlier."""

    frame: Replicate


class StepsDone(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="steps-done"):
    """No frames up to a step wait any more."""

    step: int


class RolePut(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="role-put"):
    """The role of a server in a term, and whether it waits for its standby.

    One of three or more has a `leader` in the term, if it knows it, and has given its vote to
    `voted`; `lineage` says with which step each term of its steps began. A `member` has steps.
    """

    role: str
    term: int
    step: int
    done: int
    paired: bool
    leader: str = ""
    voted: str = ""
    lineage: tuple[tuple[int, int], ...] = ()
    member: bool = False


class FrameKept(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="frame-kept"):
    """A frame waits for a primary that is sure; perhaps it was heard in a step, in vain."""

    src: str
    frame: AnyFrame
    term: int = 0
    step: int = 0


class KeptGone(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="kept-gone"):
    """No frame waits for a primary any more."""


class Emptied(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="emptied"):
    """A standby forgot everything; a snapshot follows."""


def servers_min(changes: Iterable[Change]) -> int:
    """How many servers a domain had, at the least, when one of them wrote down changes.

    >>> servers_min([RecordPut("ann@lab", "HERE", "s", 0), StepsDone(1)])
    2
    """
    least = 1
    for change in changes:
        if isinstance(change, FrameKept | KeptGone) or (
            isinstance(change, RolePut) and change.lineage
        ):
            return 3
        if isinstance(change, StepTaken | StepAhead | StepsDone | RolePut | Emptied):
            least = 2
    return least


Change: TypeAlias = (
    SeatPut
    | PhasePut
    | SeatGone
    | Sent
    | LastGot
    | PostKept
    | PostHeld
    | PostsReleased
    | RecordPut
    | Forgotten
    | Queued
    | StrayNoted
    | StraysForgotten
    | PrimaryLearnt
    | StepTaken
    | StepAhead
    | StepsDone
    | RolePut
    | Emptied
    | FrameKept
    | KeptGone
)
