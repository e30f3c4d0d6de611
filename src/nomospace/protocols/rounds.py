"""Where a host stands between two views, and a proposal as one of its members knows it.

A part of `engagement`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from nomospace.protocols.messages import ASKED, DECIDED, Advert, Commit, Prepare, Ready
from nomospace.protocols.pace import Pace, allowance


class RoundPhase(Enum):
    """Where a host stands between the view it has and the next."""

    STABLE = "STABLE"
    PREPARED = "PREPARED"
    EXCHANGING = "EXCHANGING"


class RoundCause(Enum):
    """What may move a host from one phase to another."""

    PREPARED_FOR = "a greater proposal came"
    COMMITTED = "all members are ready"
    ABORTED = "the leader gave the proposal up"
    LEADERLESS = "the leader left the component"
    WAITED = "the host has been frozen for too long"
    EXCHANGED = "all that the fresh peers had to send has come"


STABLE, PREPARED, EXCHANGING = RoundPhase
TRANSITIONS: Final[dict[tuple[RoundPhase, RoundCause], RoundPhase]] = {
    (STABLE, RoundCause.PREPARED_FOR): PREPARED,  # Floor, Freeze
    (PREPARED, RoundCause.PREPARED_FOR): PREPARED,  # Floor, Freeze: for the greater one
    (EXCHANGING, RoundCause.PREPARED_FOR): PREPARED,  # Floor, Freeze: the committed one is skipped
    (PREPARED, RoundCause.COMMITTED): EXCHANGING,  # Exchange
    (PREPARED, RoundCause.ABORTED): STABLE,  # Thaw
    (PREPARED, RoundCause.LEADERLESS): STABLE,  # Thaw
    (PREPARED, RoundCause.WAITED): STABLE,  # Thaw
    (EXCHANGING, RoundCause.LEADERLESS): STABLE,  # Thaw
    (EXCHANGING, RoundCause.WAITED): STABLE,  # Thaw
    (EXCHANGING, RoundCause.EXCHANGED): STABLE,  # Installed
}
"""Every way from phase to phase, with its orders. What is not here moves nothing."""


class Round:
    """A proposal, as one of its members knows it."""

    def __init__(self, prepare: Prepare, host: str, retry: int, now: int) -> None:
        members, parents = prepare.members, prepare.parents
        place = members.index(host)
        self.prepare = prepare
        self.id = prepare.id
        self.life = prepare.life
        self.members = members
        self.parent = members[parents[place]]
        """The one above; the leader is its own."""
        self.children = tuple(
            [members[at] for at, above in enumerate(parents) if above == place and at != place]
        )
        self.steps = dict.fromkeys(self.children, 0)
        """How far each child is said to be."""
        self.room = allowance(len(members), min(prepare.hops, len(members)))
        self.ready: dict[str, Ready] = {}
        self.said: Ready | None = None
        """What this host has answered, for itself and all below it."""
        self.heard = False
        """Whether the parent has the answer."""
        self.commit: Commit | None = None
        self.home = False
        """Whether all are in the view, as far as its leader can see."""
        self.broken = False
        """Whether one of the members has left its leader's component since."""
        self.started_at = now
        self.committed_at = now
        self.wait = retry
        self.again_at: int | None = now + retry

    def behind(self, adverts: Mapping[str, Advert]) -> list[str]:
        """The children that have yet to say that they have what was sent to them last."""
        step = ASKED if self.commit is None else DECIDED
        return [
            child
            for child, done in self.steps.items()
            if done < step and (child not in adverts or adverts[child].view != self.id)
        ]

    def missing(self, adverts: Mapping[str, Advert]) -> list[str]:
        """The members whose adverts do not show the view yet."""
        leader = self.id[1]
        others = [host for host in self.members if host != leader and host in adverts]
        return [host for host in others if adverts[host].view < self.id]

    def ends_at(self, pace: Pace) -> int:
        """When its leader gives it up at the latest."""
        if self.commit is None:
            return self.started_at + pace.round + self.room
        return self.committed_at + pace.grace + 7 * self.room


def is_sound(prepare: Prepare) -> bool:
    """Whether a proposal gives each member a parent; a peer may send anything."""
    count = len(prepare.members)
    return len(prepare.parents) == count and all(0 <= above < count for above in prepare.parents)


def is_whole(commit: Commit) -> bool:
    """Whether a commit speaks of each of its members; a peer may send anything."""
    return tuple(commit.origins) == commit.members == tuple(commit.entries)
