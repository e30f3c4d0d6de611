"""The agents that have a seat at a site, as its daemon keeps them.

There may be very many, so a resident has no dictionary before it needs one.
"""

from __future__ import annotations

from copy import copy
from enum import Enum
from typing import Final

from nomospace.protocols.routing.frames import Post
from nomospace.protocols.routing.seats import Seat


class ResidentPhase(Enum):
    """Where an agent stands between coming and going; `daemon` has the table."""

    CREATING = "CREATING"
    HERE = "HERE"
    LEAVING = "LEAVING"
    CANCELLING = "CANCELLING"
    AWAY = "AWAY"
    REGISTERING = "REGISTERING"
    CONFIRMING = "CONFIRMING"
    STAYING = "STAYING"


CREATING, HERE, LEAVING, CANCELLING, AWAY, REGISTERING, CONFIRMING, STAYING = ResidentPhase


FAILED_MAX: Final = 64
"""Posts of an agent that failed which its seat remembers: a server that takes over may say again
what the one before it has said."""


class RoutedAgent:
    """One agent's seat and phase.

    `early` holds posts that wait for one before them; nothing in place of a post marks a number
    that will never come.
    """

    __slots__ = (
        "domain",
        "early",
        "ending",
        "epoch",
        "failed",
        "got",
        "phase",
        "sent",
        "ticket",
        "to",
        "writers",
    )

    def __init__(self, phase: ResidentPhase, seat: Seat) -> None:
        self.phase = phase
        self.epoch = seat.epoch
        self.domain = seat.domain
        self.sent: dict[str, int] | None = dict(seat.sent) or None
        self.got: dict[str, int] | None = dict(seat.got) or None
        self.early: dict[tuple[str, int], Post | None] | None = None
        for post in seat.early:
            self.put_early(post)
        for stray in seat.strays:
            self.early = {**(self.early or {}), stray: None}
        self.writers: tuple[str, ...] = seat.writers
        self.failed: tuple[tuple[str, int], ...] = seat.failed
        self.to = ""
        self.ticket = ""
        self.ending = False

    @property
    def runs(self) -> bool:
        """Whether the agent may send from here."""
        return self.phase is not AWAY and self.phase is not CREATING and not self.ending

    def last_from(self, sender: str) -> int:
        """The last number got from a sender; 0 if none."""
        return 0 if self.got is None else self.got.get(sender, 0)

    def put_sent(self, to: str, n: int) -> None:
        """Note the last number to a receiver."""
        if self.sent is None:
            self.sent = {}
        self.sent[to] = n

    def put_got(self, sender: str, n: int) -> None:
        """Note the last number from a sender; it does not wait any more."""
        if self.got is None:
            self.got = {}
        self.got[sender] = n
        if self.early:
            self.early.pop((sender, n), None)

    def put_early(self, post: Post) -> None:
        """Let a post wait for its turn."""
        if self.early is None:
            self.early = {}
        self.early[post.sender, post.n] = post

    def take_early(self, sender: str | None = None, *, below: int | None = None) -> list[Post]:
        """Take posts that wait out, in the order of their numbers: all, or a sender's old ones."""
        early = self.early or {}
        keys = sorted(
            key
            for key in early
            if (sender is None or key[0] == sender) and (below is None or key[1] < below)
        )
        taken = [early.pop(key) for key in keys]
        return [post for post in taken if post is not None]

    def note_writer(self, site: str, most: int) -> None:
        """A post came from a site; the last few such sites are kept."""
        if site not in self.writers:
            self.writers = (*self.writers[-most + 1 :], site)

    def put_failed(self, to: str, n: int) -> None:
        """Note that the agent was told of a post that failed; the last few are kept."""
        self.failed = (*self.failed[-FAILED_MAX + 1 :], (to, n))

    def seat(self, *, epoch: int | None = None) -> Seat:
        """What travels with the agent."""
        early = self.early or {}
        return Seat(
            self.epoch if epoch is None else epoch,
            self.domain,
            tuple((self.sent or {}).items()),
            tuple((self.got or {}).items()),
            tuple(post for post in early.values() if post is not None),
            tuple(key for key, post in early.items() if post is None),
            self.writers,
            self.failed,
        )

    def state(self) -> tuple[object, ...]:
        """All of it, in a fixed order."""
        early = self.early or {}
        return (
            self.phase.value,
            self.epoch,
            self.domain,
            tuple(sorted((self.sent or {}).items())),
            tuple(sorted((self.got or {}).items())),
            tuple((key, early[key]) for key in sorted(early)),
            self.writers,
            self.failed,
            self.to,
            self.ticket,
            self.ending,
        )

    def copy(self) -> RoutedAgent:
        """The same resident, apart."""
        twin = copy(self)
        twin.sent = None if self.sent is None else dict(self.sent)
        twin.got = None if self.got is None else dict(self.got)
        twin.early = None if self.early is None else dict(self.early)
        return twin
