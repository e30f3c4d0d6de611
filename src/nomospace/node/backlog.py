"""How much lies in the spaces of a host, and for how long: what an operator of a queue looks at.

A tuple does not know when it came, but it has a place in the order of arrival. So whenever somebody
looks, the time is put down beside the place that the next tuple will have, and the oldest tuple is
as old as the last such mark before it. So it is never said to be younger than it is, and older by
the time between two looks at most. What was here before the first look counts from then on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from nomospace.space.records import arrival

if TYPE_CHECKING:
    from nomospace.node.within import Kept

MARKS_MAX: Final = 1_000
"""How many marks are kept for a space; then every other of the older half goes."""
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
        self._began = began
        self._arrivals: dict[str, ArrivalMarks] = {}

    def look(self, spaces: Iterable[Kept], now: int) -> Mapping[str, dict[str, float]]:
        """`tuples`, `lent`, `waiting` and `oldest_seconds`, each by space."""
        found: dict[str, dict[str, float]] = {
            "tuples": {},
            "lent": {},
            "waiting": {},
            "oldest_seconds": {},
        }
        seen: dict[str, ArrivalMarks] = {}
        for space, _, shared, _ in spaces:
            label, of = space.name if shared else PRIVATE, space.stats()
            for name, count in (("tuples", "tuples"), ("lent", "lent"), ("waiting", "waiters")):
                found[name][label] = found[name].get(label, 0) + of[count]
            if not shared:
                continue
            eldest = space.eldest()
            arrivals = self._arrivals.get(label) or ArrivalMarks(began=self._began)
            seen[label] = arrivals
            age = 0.0
            if eldest is not None:
                age = max(0, now - arrivals.since(arrival(eldest.order))) / 1e6
            found["oldest_seconds"][label] = age
            arrivals.mark(space.next_order, now)
        self._arrivals = seen
        return found
