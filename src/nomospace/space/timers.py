"""What falls due when: expiries and leases, far ones coarse and near ones exact.

A deadline lies in the drawer of its quarter of a second, and taking it back leaves nothing behind.
When the first deadline of a drawer comes, the drawer is emptied into a heap, where what has been
taken back since is skipped. So a million deadlines that mostly never come cost no sorting.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

DRAWER_BITS: Final = 18
"""A drawer covers so many bits of microseconds: about a quarter of a second."""
SLACK: Final = 64
"""A heap is made anew when it is twice, and this much, longer than what counts in it."""

T = TypeVar("T")


class Timers(Generic[T]):
    """Things by deadline, told apart by a number each; `when` reads a thing's deadline.

    >>> timers = Timers(when=len)
    >>> timers.add(1, "four")
    >>> timers.soonest(), timers.pop(3), timers.pop(4), timers.soonest()
    (4, None, 'four', None)
    """

    __slots__ = ("_drawers", "_firsts", "_heap", "_near", "_near_until", "_numbers", "_when")

    def __init__(self, when: Callable[[T], int]) -> None:
        self._when = when
        self._drawers: dict[int, dict[int, T]] = {}
        self._firsts: dict[int, int] = {}  # the earliest deadline ever put into each drawer
        self._numbers: list[int] = []  # a heap of the drawers' numbers; some may be gone
        self._near: dict[int, T] = {}
        self._heap: list[tuple[int, int]] = []  # of deadline and number; some may be gone
        self._near_until = 0  # drawers before this one have been emptied into the heap

    def add(self, number: int, thing: T) -> None:
        """Let a thing fall due; no two at once have the same number."""
        when = self._when(thing)
        at = when >> DRAWER_BITS
        if at < self._near_until:
            self._near[number] = thing
            heappush(self._heap, (when, number))
            if len(self._heap) > 2 * len(self._near) + SLACK:
                self._heap = [(self._when(one), key) for key, one in self._near.items()]
                heapify(self._heap)
            return
        drawer = self._drawers.get(at)
        if drawer is not None:
            drawer[number] = thing
            if when < self._firsts[at]:
                self._firsts[at] = when
            return
        self._drawers[at] = {number: thing}
        self._firsts[at] = when
        heappush(self._numbers, at)
        if len(self._numbers) > 2 * len(self._drawers) + SLACK:
            self._numbers = sorted(self._drawers)

    def remove(self, number: int, thing: T) -> None:
        """Take back a deadline that was added and has not been popped."""
        if self._near.pop(number, None) is None:
            at = self._when(thing) >> DRAWER_BITS
            drawer = self._drawers[at]
            del drawer[number]
            if not drawer:
                del self._drawers[at], self._firsts[at]

    def soonest(self) -> int | None:
        """When to ask again. Not later than the first deadline; earlier if one was taken back."""
        near = self._top()
        if near is not None:
            return near
        far = self._first_drawer()
        return None if far is None else self._firsts[far]

    def due(self, now: int) -> T | None:
        """The earliest thing that is due; it stays until it is removed."""
        while (far := self._first_drawer()) is not None and self._firsts[far] <= now:
            for number, thing in self._drawers.pop(far).items():
                self._near[number] = thing
                heappush(self._heap, (self._when(thing), number))
            del self._firsts[far]
            self._near_until = far + 1
        near = self._top()
        if near is None or near > now:
            return None
        return self._near[self._heap[0][1]]

    def pop(self, now: int) -> T | None:
        """Take out the earliest thing that is due."""
        if self.due(now) is None:
            return None
        return self._near.pop(heappop(self._heap)[1])

    def _top(self) -> int | None:
        """The earliest deadline in the heap that still counts, brought to its top."""
        heap = self._heap
        while heap:
            when, number = heap[0]
            thing = self._near.get(number)
            if thing is not None and self._when(thing) == when:
                return when
            heappop(heap)
        return None

    def _first_drawer(self) -> int | None:
        numbers = self._numbers
        while numbers:
            if numbers[0] in self._drawers:
                return numbers[0]
            heappop(numbers)
        return None
