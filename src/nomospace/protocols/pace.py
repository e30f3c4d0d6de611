"""Pace: how fast a host notices that another came or went, and all times that follow from it.

Two times are chosen: `heartbeat`, between two hellos, and `loss`, the silence after which a host
is gone. A network that is slow or loses much wants longer ones, one machine or one rack can have
shorter ones. A third, `missed`, is for the servers of a domain (`routing.elected`). The others
follow from `loss`:

- What bounds the answer to a lost frame (`settle`, `retry`, `pause_max`) shrinks and grows with
  `loss`; down to a floor, because a busy machine does not get faster.
- What bounds work (`round`, `prepared_max`, `frozen_max`, `grace`) grows with it and never shrinks:
  disks and exchanges of tuples take as long as they take, however soon a loss is noticed.

Hosts of one group may differ. A hello says after which silence its sender is gone (`Hello.loss`),
so each end goes by what the other has promised, within the bounds of this file. The rest of
engagement needs no agreement on times: a leader that waits longer than its members is told `Nack`,
and one that waits less long proposes again. Order among the times of one host keeps it from doing
so needlessly: `round < prepared_max < frozen_max < grace`. To each of them the members of a large
group add an `allowance`, as often as a `round` is in it.

All times are in microseconds. A `Position` policy counts with its own `detect_s`, which must not be
less than the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nomospace.errors import CallerError

HEARTBEAT: Final = 1_000_000
"""Between two hellos, unless something else was said."""
LOSS: Final = 3_500_000
"""A neighbour that was not heard for this long is gone: three hellos in a row were lost."""
HEARTBEAT_MIN: Final = 20_000
"""A host that says hello more often does little else."""
HEARTBEAT_MAX: Final = 60_000_000
"""A host that says hello less often is found by nobody in time."""
LOSS_MAX: Final = 300_000_000
"""No silence is longer, whatever a neighbour says: half as long as adverts of the lost are kept."""
BEATS_MIN: Final = 2
"""So many heartbeats are in a loss: no single hello that gets lost parts a group."""
MISSED: Final = 4_000_000
"""A primary that was not heard for this long is missed by the other servers of its domain."""
MISSED_MIN: Final = 100_000
"""No server misses it sooner: a busy machine is silent for as long."""
FEW: Final = 16
"""In groups of so many hosts no time grows with their number."""
MEMBER_US: Final = 5_000
"""What each member past the first `FEW` adds to the time that a proposal may take: its work."""
HOP_US: Final = 100_000
"""What each link past the first `FEW`, on the longest way from the leader, adds to it."""


class BadPace(CallerError):
    """A heartbeat or a loss is out of bounds."""

    code = "links.bad-pace"
    what: str
    given_us: int
    least_us: int
    most_us: int

    def __str__(self) -> str:
        why = f", {BEATS_MIN} heartbeats," if self.what == "loss" else ""
        return (
            f"a {self.what} of {_ms(self.given_us)} ms is out of bounds; "
            f"give from {_ms(self.least_us)}{why} to {_ms(self.most_us)} ms"
        )


def _ms(us: int) -> str:
    return f"{us // 1000:,}" if us % 1000 == 0 else f"{us / 1000:,.3f}"


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The times of one host.

    >>> Pace(heartbeat=100_000, loss=400_000).settle
    50000
    >>> Pace(heartbeat=100_000, loss=150_000)
    Traceback (most recent call last):
    nomospace.protocols.pace.BadPace: a loss of 150 ms is out of bounds; \
give from 200, 2 heartbeats, to 300,000 ms
    """

    heartbeat: int = HEARTBEAT
    loss: int = LOSS
    missed: int = MISSED

    def __post_init__(self) -> None:
        for what, given, least, most in (
            ("heartbeat", self.heartbeat, HEARTBEAT_MIN, HEARTBEAT_MAX),
            ("loss", self.loss, BEATS_MIN * self.heartbeat, LOSS_MAX),
            ("missed", self.missed, MISSED_MIN, LOSS_MAX),
        ):
            if not least <= given <= most:
                raise BadPace(what=what, given_us=given, least_us=least, most_us=most)

    @property
    def settle(self) -> int:
        """A leader proposes when its component was the same for this long."""
        return max(self.loss * 3 // 35, 50_000)

    @property
    def retry(self) -> int:
        """Between two sendings of a `Prepare` or `Ready` that is not answered yet."""
        return max(self.loss * 4 // 35, 100_000)

    @property
    def pause_max(self) -> int:
        """The longest pause of a leader after a proposal that failed."""
        return max(self.loss * 10 // 7, 1_000_000)

    @property
    def round(self) -> int:
        """How long a leader waits until all are ready."""
        return max(self.loss * 10 // 7, 5_000_000)

    @property
    def prepared_max(self) -> int:
        """How long a member waits for the commit of what it is ready for."""
        return self.round * 8 // 5

    @property
    def frozen_max(self) -> int:
        """How long a host is frozen at most, whatever happens to proposals meanwhile."""
        return self.round * 6

    @property
    def grace(self) -> int:
        """How long members may be behind a committed view: a little more than may be frozen."""
        return self.round * 7


def allowance(members: int, hops: int) -> int:
    """How much longer than a few a group of this size and depth may take for a proposal.

    >>> allowance(8, 3), allowance(1_016, 10), allowance(1_016, 516)
    (0, 5000000, 55000000)
    """
    return MEMBER_US * max(members - FEW, 0) + HOP_US * max(hops - FEW, 0)


USUAL: Final = Pace()
"""The pace of a host that was told nothing."""


def believable(loss: int) -> int:
    """What a neighbour says of its own loss, brought within the bounds of every pace.

    >>> believable(-5), believable(400_000), believable(10**12)
    (40000, 400000, 300000000)
    """
    return min(max(loss, BEATS_MIN * HEARTBEAT_MIN), LOSS_MAX)
