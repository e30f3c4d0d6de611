"""The lease of a host that several processes stand for: one of them is active.

Who takes the lease draws a *token*, one above all before, and every commit carries it: the database
takes a commit only under the token that it has itself (`commit_fate`), in the same transaction. So
a process that was paused, cut off or restored can commit nothing once another has taken over.

What needs no commit, such as the answer to a read, ends with the lease by the process's own clock
(`HeldLease`). The holder counts from before it asked for its last renewal. A standby counts from
when it first saw that renewal, which is later (`LeaseWatch`), and a little longer for clocks that
run unevenly. No two machines compare their clocks.

| the standby sees                     | what follows                                             |
| ------------------------------------ | -------------------------------------------------------- |
| nobody has the lease                 | it takes it                                              |
| another token or beat than before    | it waits, from now, as long as the lease holds           |
| the same, for less than that         | it waits                                                 |
| the same, for longer                 | it takes it, unless the beat has changed meanwhile       |
| the name of another host             | `OtherHostsStore`                                        |
| a lease above the store's own token  | `FutureToken`                                            |
| less than it has seen before         | `OlderStore`                                             |
| one commit less, after a failover    | it goes on: a primary that dies may show a commit that   |
| of the database                      | its replica never got, and that nobody was told of       |
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from nomospace.errors import CallerError, NomospaceError

HOLD: Final = 0.4
"""The part of the time to take over for which a lease holds; the rest is for loading the host."""
RENEWALS: Final = 5
"""So often a lease is renewed in the time that it holds."""
LOOKS: Final = 20
"""So often a standby looks in that time."""
DRIFT: Final = 50
"""One clock may run faster than another by one part in so many."""
TAKEOVER_S_MIN: Final = 2.0
TAKEOVER_S: Final = 10.0
TAKEOVER_S_MAX: Final = 600.0


class LeaseStand(msgspec.Struct, frozen=True):
    """What a database says of a store: its token, its last commit, and who has its lease.

    `leased` is the token that the lease was taken with; without a `holder` nobody has it.
    """

    token: int = 0
    number: int = 0
    host: str = ""
    holder: str = ""
    leased: int = 0
    beat: int = 0
    hold_us: int = 0
    last_at: int = 0
    """When the last commit was, by the host's clock."""


class LeaseClaim(msgspec.Struct, frozen=True):
    """What a standby takes the lease with: what it saw last, for whom, and for how long."""

    seen: LeaseStand
    host: str
    hold_us: int


class Fate(Enum):
    """What became of a commit, or may."""

    OPEN = "it was not done, and may be"
    DONE = "it was done"
    TAKEN_OVER = "another process has the lease"
    OLDER = "the database went back behind what it had acknowledged"


def commit_fate(stand: LeaseStand, token: int, number: int) -> Fate:
    """What a database that stands so says of a commit with this token and number.

    >>> stand = LeaseStand(token=3, number=7)
    >>> commit_fate(stand, 3, 8), commit_fate(stand, 3, 7)
    (<Fate.OPEN: 'it was not done, and may be'>, <Fate.DONE: 'it was done'>)
    >>> commit_fate(stand, 2, 8).name, commit_fate(stand, 3, 9).name, commit_fate(stand, 4, 8).name
    ('TAKEN_OVER', 'OLDER', 'OLDER')
    """
    if stand.token > token:
        return Fate.TAKEN_OVER
    if stand.token < token or stand.number < number - 1:
        return Fate.OLDER
    return Fate.DONE if stand.number >= number else Fate.OPEN


def hold_us(takeover_s: float) -> int:
    """How long a lease holds, so that a standby serves within a time."""
    return round(takeover_s * HOLD * 1e6)


class HeldLease:
    """The lease as the active process has it. Times are of its own clock, which never stands.

    >>> lease = HeldLease(3, hold_us=1000, asked_at=5)
    >>> lease.renew_at, lease.until, lease.holds(1004), lease.holds(1005)
    (205, 1005, True, False)
    >>> lease.renewed(asked_at=400)
    >>> lease.renew_at, lease.until
    (600, 1400)
    """

    __slots__ = ("hold_us", "renew_at", "token", "until")

    def __init__(self, token: int, *, hold_us: int, asked_at: int) -> None:
        self.token = token
        self.hold_us = hold_us
        self.until = self.renew_at = 0
        self.renewed(asked_at=asked_at)

    def renewed(self, *, asked_at: int) -> None:
        """The database has renewed it; it was asked then."""
        self.until = asked_at + self.hold_us
        self.renew_at = asked_at + self.hold_us // RENEWALS

    def holds(self, now: int) -> bool:
        """Whether anything may be answered."""
        return now < self.until


class LeaseWatch:
    """A standby: it is told what it sees, and says when it may take the lease.

    >>> watch = LeaseWatch("ward")
    >>> held = LeaseStand(token=3, host="ward", holder="m1 77", leased=3, beat=9, hold_us=1000)
    >>> watch.saw(held, now=50), watch.saw(held, now=1069), watch.saw(held, now=1070)
    (False, False, True)
    >>> watch.saw(LeaseStand(token=3, host="ward", leased=3, beat=9), now=1071)  # it was let go
    True
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.stand = LeaseStand()
        """What it saw last."""
        self._since = 0

    def saw(self, stand: LeaseStand, *, now: int, failed_over: bool = False) -> bool:
        """The database has answered at that time. Whether the lease may be taken.

        `failed_over` says that it has failed over since it answered last. Raises
        `OtherHostsStore`, `FutureToken` and `OlderStore`.
        """
        before = self.stand
        may_lack = 1 if failed_over else 0
        if stand.host not in ("", self.host):
            raise OtherHostsStore(host=self.host, other=stand.host)
        if stand.leased > stand.token:
            raise FutureToken(leased=stand.leased, token=stand.token)
        if (
            stand.token < before.token - may_lack
            or stand.number < before.number - may_lack
            or stand.beat < before.beat - may_lack
        ):
            raise OlderStore(
                there=f"{stand.token}.{stand.number}", known=f"{before.token}.{before.number}"
            )
        self.stand = stand
        if not stand.holder:
            return True
        if (stand.token, stand.beat) != (before.token, before.beat) or not before.holder:
            self._since = now
        return now - self._since >= stand.hold_us + stand.hold_us // DRIFT

    def look_us(self, hold_us: int) -> int:
        """How long to wait before the next look."""
        return (self.stand.hold_us or hold_us) // LOOKS


class OtherHostsStore(CallerError):
    """A standby was given the store of another host."""

    code = "lease.other-host"
    words = "the store is that of host {other!r}, not of {host!r}; give this host its own store"
    host: str
    other: str


class FutureToken(CallerError):
    """A lease names a token that its store has not given yet."""

    code = "lease.future-token"
    words = (
        "the lease has the token {leased}, and the store has only come to {token}: they are not of "
        "one database; restore both from one backup, and start again"
    )
    leased: int
    token: int


class OlderStore(CallerError):
    """A database has less than it had acknowledged: an older copy stands in its place."""

    code = "lease.older-store"
    words = (
        "the database stands at {there}, behind {known} which it had acknowledged: an older copy "
        "is in its place; bring back the newer one"
    )
    there: str
    known: str


class TakenOver(NomospaceError):
    """Another process has taken this host over; nothing of the commit was kept."""

    code = "lease.taken-over"
    words = (
        "another process has taken this host over (token {token}, this one had {mine}); it serves "
        "now, and nothing of this one is kept any more"
    )
    token: int
    mine: int


class HostLeaseEnded(NomospaceError):
    """The lease was not renewed in time; another process may have taken it."""

    code = "lease.ended"
    words = (
        "the lease of host {host} was not renewed for {late_ms} ms past its end; another may serve "
        "now: look whether its database answers"
    )
    host: str
    late_ms: int
