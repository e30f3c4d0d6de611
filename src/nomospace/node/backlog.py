"""How much lies in the spaces of a host, and for how long: what an operator of a queue looks at.

A tuple does not know when it came, but it has a place in the order of arrival. So the time is put
down every second beside the place that the next tuple will have, and the oldest tuple is as old as
the last such mark before it. So it is never said to be younger than it is, and older by a second at
most, or by the time between two of a thousand marks. What an earlier life of the host left counts
from the start on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

from nomospace.space.records import arrival

if TYPE_CHECKING:
    from nomospace.node.within import Kept
    from nomospace.space import Space

MARKS_MAX: Final = 1_000
"""How many marks are kept for a space; then every other of the older half goes."""
MARKED_MAX: Final = 5_000
"""So many spaces are marked; tuples of further ones count from the first mark on."""
PRIVATE: Final = "(private)"
"""The label of all spaces that agents have for themselves, together."""


class ArrivalMarks:
    """When the tuples of one space came, by their places in the order of arrival.

    >>> arrivals = ArrivalMarks(began=10)
    >>> arrivals.mark(place=5, now=20)
    >>> arrivals.since(3), arrivals.since(5), arrivals.since(9)
    (10, 20, 20)
    """

    __slots__ = ("_places", "_times")

    def __init__(self, *, began: int) -> None:
        self._places = [0]
        self._times = [began]

    def mark(self, place: int, now: int) -> None:
        """The next tuple to come will have this place."""
        if place == self._places[-1]:
            self._times[-1] = now
            return
        self._places.append(place)
        self._times.append(now)
        if len(self._places) > MARKS_MAX:
            half = MARKS_MAX // 2
            self._places[1:half:2] = []
            self._times[1:half:2] = []

    def since(self, place: int) -> int:
        """When the tuple at a place was here at the earliest."""
        return self._times[max(0, bisect_right(self._places, place) - 1)]


class SpaceFigures:
    """The spaces of one host in figures, each time that somebody looks."""

    def __init__(self, *, began: int) -> None:
        self._began = self._marked = began
        self._arrivals: dict[str, ArrivalMarks] = {}

    def mark(self, spaces: Iterable[Space], now: int) -> None:
        """Put down how far the shared spaces have come: what comes now is younger."""
        known, self._arrivals = self._arrivals, {}
        self._began = self._began or now
        for space in islice(spaces, MARKED_MAX):
            arrivals = known.get(space.name) or ArrivalMarks(began=self._marked)
            arrivals.mark(space.next_order, now)
            self._arrivals[space.name] = arrivals
        self._marked = now

    def look(self, spaces: Iterable[Kept], now: int) -> Mapping[str, dict[str, float]]:
        """`tuples`, `lent`, `waiting` and `oldest_seconds`, each by space."""
        found: dict[str, dict[str, float]] = {
            "tuples": {},
            "lent": {},
            "waiting": {},
            "oldest_seconds": {},
        }
        for space, _, shared, _ in spaces:
            label, of = space.name if shared else PRIVATE, space.stats()
            for name, count in (("tuples", "tuples"), ("lent", "lent"), ("waiting", "waiters")):
                found[name][label] = found[name].get(label, 0) + of[count]
            if not shared:
                continue
            eldest, arrivals = space.eldest(), self._arrivals.get(label)
            age = 0.0
            if eldest is not None:
                since = self._marked if len(self._arrivals) < MARKED_MAX else self._began
                if arrivals is not None:
                    since = arrivals.since(arrival(eldest.order))
                age = max(0, now - since) / 1e6
            found["oldest_seconds"][label] = age
        return found
