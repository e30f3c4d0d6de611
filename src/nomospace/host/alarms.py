"""When the obligations of a host's members fall due, and how many of them at a time.

A law that lays what is due at once, for ever, keeps a host busy in a small part of its time and
others not at all: each member has its pace, a burst and then so many a second.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from nomospace.host.ports import Home

ALARMS_SLACK: Final = 64
"""The heap of deadlines is made anew when it is twice, and this much, longer than it must be."""
FIRED_IN_STEP: Final = 24
"""How many obligations fall due in one step, and before one event; others are served in between."""
FIRED_BURST: Final = 500
"""How many obligations of one member may fall due at once."""
FIRED_A_SECOND: Final = 200
"""How many obligations of one member may fall due in a second, after such a burst."""
_FIRING_US: Final = 1_000_000 // FIRED_A_SECOND
PACED_US: Final = 25_000
"""Those past their burst fall due at multiples of this: one step, and one commit, for all."""


class Alarms:
    """When each member is to be told the time next.

    >>> alarms = Alarms()
    >>> alarms.set(("ann@x", "4c1f"), 17)
    >>> alarms.next(), alarms.ring(16), alarms.ring(17), alarms.next()
    (17, [], [('ann@x', '4c1f')], None)
    """

    def __init__(self) -> None:
        self._due: dict[Home, int] = {}
        self._heap: list[tuple[int, int, Home]] = []
        self.timed = self._heap
        """The same, earliest first; what `_due` does not say any more is skipped."""
        self._count = 0
        self.paid: dict[Home, int] = {}
        """Members whose obligations fell due lately: until when they have used up their pace."""

    def set(self, home: Home, due: int) -> None:
        """A member's next obligation is due; it is told then, or when its pace allows."""
        paid = self.paid.get(home)
        if paid is not None:
            paced = paid - (FIRED_BURST - 1) * _FIRING_US
            if due < paced:
                due = -(-paced // PACED_US) * PACED_US
        if self._due.get(home) == due:
            return
        self._due[home] = due
        self._count += 1
        heappush(self._heap, (due, self._count, home))
        if len(self._heap) > 2 * len(self._due) + ALARMS_SLACK:
            self._heap[:] = [alarm for alarm in self._heap if self._rings(alarm)]
            heapify(self._heap)

    def drop(self, home: Home) -> None:
        """A member has nothing to be told, or not now."""
        self._due.pop(home, None)

    def forget(self, home: Home) -> None:
        """A member is here no more."""
        self._due.pop(home, None)
        self.paid.pop(home, None)

    def _rings(self, alarm: tuple[int, int, Home]) -> bool:
        return self._due.get(alarm[2]) == alarm[0]

    def next(self) -> int | None:
        """When the first of all is due."""
        heap = self._heap
        while heap and not self._rings(heap[0]):
            heappop(heap)
        return heap[0][0] if heap else None

    def ring(self, now: int) -> list[Home]:
        """Those who are to be told by now, as many as one step takes; they are dropped here."""
        homes: list[Home] = []
        while len(homes) < FIRED_IN_STEP and (due := self.next()) is not None and due <= now:
            homes.append(heappop(self._heap)[2])
            del self._due[homes[-1]]
        return homes

    # -- the pace ----------------------------------------------------------------------------

    def allowed(self, home: Home, now: int) -> int:
        """How many obligations of a member may fall due now."""
        paid = self.paid.get(home)
        if paid is None:
            return FIRED_IN_STEP
        ahead = paid - now
        if ahead <= 0:
            del self.paid[home]
            return FIRED_IN_STEP
        return max(0, min(FIRED_IN_STEP, FIRED_BURST + -ahead // _FIRING_US))

    def charge(self, home: Home, count: int, now: int) -> None:
        """So many obligations of a member fell due."""
        self.paid[home] = max(self.paid.get(home, 0), now) + count * _FIRING_US
