"""How long tuples lie in a space before they are taken: what an operator of a queue looks at.

A tuple does not know when it came, but it has a place in the order of arrival. So now and then the
time is put down beside the place of the tuple that comes. The marks are finer the younger they are,
so a tuple is never said to be younger than it is, and older by a millisecond or a tenth of its age.
What an earlier life of the host left counts from its start on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from sys import maxsize
from typing import Final

from nomospace.space.records import BAND, FIRST_ORDER

FINEST_US: Final = 1_000
"""No two marks are closer to each other."""
COARSER: Final = 4
"""The marks of a scale are so many times as far from each other as those of the one before."""
MARKS_MAX: Final = 64
"""How many marks a scale has; then the older half goes, which the next scale has too."""
SCALES_MAX: Final = 16
"""The last one reaches back for years."""
LOT: Final = 64
"""How many that were taken are counted at once."""
LOOK_AT: Final = 4
"""Of more than so many that one step takes, one in so many is looked at and counts for the others:
to look at each took a twentieth of what a take costs a busy host."""
BOUNDS_S: Final = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1e2, 3e2, 1e3, 3e3, 1e4)
_BOUNDS_US: Final = tuple([round(bound * 1e6) for bound in BOUNDS_S])
_NEXT_BAND: Final = FIRST_ORDER + BAND
"""Below it, and from the first order on, an order is its own place of arrival."""


class WaitTimes:
    """How many tuples were taken after how long, in the steps of `BOUNDS_S`; for good."""

    __slots__ = ("_counts", "_total_us", "taken", "waiting")

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_US) + 1)
        self._total_us = 0
        self.taken: list[tuple[SpaceWaits, Sequence[int], int]] = []
        """What is not counted yet, where it lay and when it was taken: some at once cost less."""
        self.waiting = 0
        """How many that are."""

    def counted(self) -> tuple[list[int], int]:
        """How many for each step, and the sum of all times in microseconds."""
        counts, total_us = self._counts, self._total_us
        for waits, orders, now in self.taken:
            places, times = waits.scales[0]
            first = places[0] if places else maxsize
            step = LOOK_AT if len(orders) > LOOK_AT else 1
            left = len(orders)
            for order in orders[::step]:
                if first <= order < _NEXT_BAND:  # as `since` has it, for most
                    waited = now - times[bisect_right(places, order) - 1]
                else:
                    waited = now - waits.since(order)
                many = min(step, left)
                left -= many
                if waited > 0:
                    total_us += waited * many
                counts[bisect_left(_BOUNDS_US, waited)] += many
        self.taken.clear()
        self.waiting, self._total_us = 0, total_us
        return counts, total_us


class SpaceWaits:
    """When the tuples of one space came, and how long those that were taken had waited.

    >>> waits = SpaceWaits(WaitTimes(), began=10)
    >>> waits.mark(FIRST_ORDER + 5, now=20_000)
    >>> waits.since(FIRST_ORDER + 3), waits.since(FIRST_ORDER + 5), waits.since(FIRST_ORDER + 9)
    (10, 20000, 20000)
    >>> waits.took(FIRST_ORDER + 5, now=24_000)
    >>> counts, total_us = waits.times.counted()
    >>> counts[:4], total_us
    ([0, 0, 1, 0], 4000)
    """

    __slots__ = ("_began", "next", "scales", "times")

    def __init__(self, times: WaitTimes, *, began: int) -> None:
        self.times = times
        self._began = began
        self.scales = [(array("q"), array("q"))]
        """Places, and when the tuples of these came; the finest first."""
        self.next = began
        """A tuple that comes before then needs no mark."""

    def mark(self, place: int, now: int) -> None:
        """The tuple that comes has this place."""
        if self.times.taken:  # while the marks beside it are fine
            self.times.counted()
        self.next = now + FINEST_US
        gap = 0
        for number, (places, times) in enumerate(self.scales, 1):
            if times and now - times[-1] < gap:
                return
            if len(places) == MARKS_MAX:
                if number == len(self.scales) < SCALES_MAX:
                    self.scales.append((places[:], times[:]))
                del places[: MARKS_MAX // 2], times[: MARKS_MAX // 2]
            places.append(place)
            times.append(now)
            gap = gap * COARSER or FINEST_US * COARSER

    def since(self, order: int) -> int:
        """When the tuple of an order came, at the earliest."""
        place = FIRST_ORDER + order % BAND  # as `arrival` says
        for places, times in self.scales:
            if places and places[0] <= place:
                return times[bisect_right(places, place) - 1]
        return self._began

    def took(self, order: int, now: int) -> None:
        """The tuple of an order is taken."""
        self.took_many((order,), now)

    def took_many(self, orders: Sequence[int], now: int) -> None:
        """The tuples of some orders are taken."""
        times = self.times
        times.taken.append((self, orders, now))
        times.waiting += len(orders)
        if times.waiting >= LOT:
            times.counted()
