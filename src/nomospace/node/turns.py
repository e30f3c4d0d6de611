"""Whose turn it is: no client keeps the loop for longer than a turn while others wait.

What one read brings is done at once if it is little, which it is for all who wait for answers. What
is more goes into the client's `Queue`, and queues are served in turns, one each time the loop comes
round, so that whatever else is ready is done in between. Frames of one client are done in the order
in which they came. A queue that has enough is not read into any more: the client's own machine
keeps the rest.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

QUANTUM_BYTES: Final = 65_536
"""How many bytes of frames are done in one turn; a single frame may have more."""
QUANTUM_FRAMES: Final = 64
"""How many frames are done in one turn."""
QUEUE_BYTES_MAX: Final = 1 << 20
"""From this many bytes in its queue on, nothing more is read from a client."""


class Rate:
    """So many calls a second, and at once as many as in one second; whoever makes more, waits.

    >>> rate = Rate(10)
    >>> rate.spend(10, now=1.0), rate.spend(5, now=1.0), rate.spend(1, now=1.6)
    (0.0, 0.5, 0.0)
    """

    __slots__ = ("at", "left", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = self.left = float(rate)
        self.at = 0.0

    def spend(self, count: int, now: float) -> float:
        """Some calls were made; in how many seconds the next may be."""
        left = min(self.rate, self.left + (now - self.at) * self.rate) - count
        self.left, self.at = left, now
        return 0.0 if left >= 0 else -left / self.rate


class Turns:
    """The queues that have something to do, in a ring."""

    __slots__ = ("_ring", "_set", "taken")

    def __init__(self) -> None:
        self._ring: deque[Queue] = deque()
        self._set = False
        self.taken = 0
        """How many turns there were: each gave the loop back."""

    def add(self, queue: Queue) -> None:
        """A queue has something to do."""
        self._ring.append(queue)
        if not self._set:
            self._set = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._set = False
        if not self._ring:
            return
        queue = self._ring.popleft()
        self.taken += 1
        try:
            more = queue.turn()
        finally:
            if self._ring:
                self._set = True
                asyncio.get_running_loop().call_soon(self._turn)
        if more:
            self.add(queue)


class Queue:
    """The frames of one client that have not had their turn. `do` does some of them."""

    __slots__ = ("_bytes", "_do", "_frames", "_held", "_paused", "_ringing", "_turns", "transport")

    transport: asyncio.Transport

    def __init__(self, turns: Turns, do: Callable[[list[bytes]], None]) -> None:
        self._turns = turns
        self._do = do
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._held = False
        self._paused = False
        self._ringing = False  # it is in the ring

    @property
    def held(self) -> bool:
        """Whether something is waited for."""
        return self._held

    @property
    def idle(self) -> bool:
        """Whether what comes can be done at once: nothing waits here, and nothing is waited for."""
        return not self._frames and not self._held

    def put(self, frames: list[bytes]) -> None:
        """Frames came."""
        self._frames.extend(frames)
        self._bytes += sum(map(len, frames))
        if self._bytes > QUEUE_BYTES_MAX and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._ring()

    def hold(self, frames: list[bytes]) -> None:
        """Frames came too early: they, and all after them, wait for `go_on`."""
        self._frames.extendleft(reversed(frames))
        self._bytes += sum(map(len, frames))
        self._held = True

    def go_on(self) -> None:
        """What was waited for is there."""
        self._held = False
        self._ring()

    def close(self) -> None:
        """The client is gone, and what it asked for with it: it asks again when it is back."""
        self._frames.clear()
        self._bytes = 0

    def turn(self) -> bool:
        """Do as much as one turn is worth; whether there is more to do."""
        self._ringing = False
        frames, some, size = self._frames, list[bytes](), 0
        while frames and not self._held and len(some) < QUANTUM_FRAMES and size < QUANTUM_BYTES:
            some.append(frames.popleft())
            size += len(some[-1])
        self._bytes -= size
        if some:
            self._do(some)
        if self._paused and self._bytes <= QUEUE_BYTES_MAX // 2:
            self._paused = False
            self.transport.resume_reading()
        more = bool(frames) and not self._held
        self._ringing = more
        return more

    def _ring(self) -> None:
        if self._frames and not self._held and not self._ringing:
            self._ringing = True
            self._turns.add(self)
