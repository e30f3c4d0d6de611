"""Virtual time: it stands still while something happens and jumps to what is due next.

Whatever falls on one instant happens in the order in which it was arranged, so that a world has
one history. Nothing is ever taken back: whoever arranged an act looks, when it comes, whether it
still makes sense.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US


class VirtualClock:
    """A clock in microseconds with the acts that are to come.

    >>> clock = VirtualClock(start_us=0)
    >>> clock.at(30, print, "later")
    >>> clock.at(10, print, "sooner")
    >>> while clock.step():
    ...     pass
    sooner
    later
    >>> clock.now
    30
    """

    __slots__ = ("_arranged", "_count", "now")

    def __init__(self, *, start_us: int) -> None:
        self.now = start_us
        self._arranged: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._arranged)

    def at(self, when: int, act: Callable[..., object], *args: Any) -> None:
        """Arrange an act; one for the past happens now, after what is already due now."""
        self._count += 1
        heappush(self._arranged, (max(when, self.now), self._count, act, args))

    def after(self, delay_us: int, act: Callable[..., object], *args: Any) -> None:
        """Arrange an act for a while from now."""
        self.at(self.now + delay_us, act, *args)

    def next_at(self) -> int | None:
        """When the next act is due; `None` when all is quiet."""
        return self._arranged[0][0] if self._arranged else None

    def step(self) -> bool:
        """Jump to the next act and do it; false when there is none."""
        if not self._arranged:
            return False
        self.now, _, act, args = heappop(self._arranged)
        act(*args)
        return True


def clock_text(at_us: int) -> str:
    """A moment of the virtual day.

    >>> clock_text(8 * HOUR_US + 61_250_000)
    '08:01:01.250'
    """
    seconds, micros = divmod(at_us, SECOND_US)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}.{micros // 1000:03}"
