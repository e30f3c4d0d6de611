"""The clock of a simulated world that goes with an event loop.

A world of `sim` has a clock that its own `run` drives. Programs with `async` have a loop; here the
clock's acts are timers of that loop, so both share one time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nomospace_lab.sim.clock import VirtualClock


class LoopClock(VirtualClock):
    """A world's clock that goes with an event loop: its acts are timers of the loop.

    >>> from nomospace_lab.testing.loop import run
    >>> async def program():
    ...     clock = LoopClock(asyncio.get_running_loop(), start_us=0)
    ...     clock.at(2_000_000, print, "two seconds")
    ...     await asyncio.sleep(3)
    ...     return clock.now
    >>> run(program())
    two seconds
    3000000
    """

    __slots__ = ("_due", "_loop", "_origin", "_reached", "_stepping", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, *, start_us: int) -> None:
        self._loop = loop
        self._origin = start_us - round(loop.time() * 1e6)
        self._reached = start_us
        self._due = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stepping = False
        super().__init__(start_us=start_us)

    @property
    def now(self) -> int:
        """The loop's time, in microseconds of the world."""
        return max(self._reached, self._origin + round(self._loop.time() * 1e6))

    @now.setter
    def now(self, at_us: int) -> None:
        self._reached = max(self._reached, at_us)

    def at(self, when: int, act: Callable[..., object], *args: Any) -> None:
        """Arrange an act; one for the past happens now, after what is already due now."""
        super().at(when, act, *args)
        if not self._stepping:
            self._arm()

    def _arm(self) -> None:
        due = self.next_at()
        if due is None or (self._timer is not None and self._due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at((due - self._origin) / 1e6, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._stepping = True
        try:
            while (due := self.next_at()) is not None and due <= self.now:
                self.step()
        finally:
            self._stepping = False
        self._arm()
