"""An asyncio event loop in virtual time: programs that wait for hours run at once, the same way
every time.

Time stands still while anything can run. When everything waits, it jumps to the next timer. What
falls on one instant happens in the order in which it was arranged, so a program that uses only
this loop has one history. Threads and sockets live in real time and are refused.

When everything waits and no timer is left, nothing can ever happen again: `Stuck` says so at once
and names who waits and where, instead of a test that hangs. Hosts beat for ever, so a program
with hosts always has a timer; for those `run` has a limit in virtual seconds.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, Final, TypeVar, TypeVarTuple

from nomospace.errors import CallerError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SECONDS_MAX: Final = 7 * 24 * 3600.0
"""How long a program may run by default, in virtual seconds."""
WAITING_SHOWN_MAX: Final = 8
"""How many waiting tasks `Stuck` names."""


class Stuck(CallerError):
    """Nothing can happen any more, or nothing came of it in all the time there was."""

    code = "testing.stuck"
    at_s: float
    waiting: tuple[str, ...]
    limit_s: float | None = None

    def __str__(self) -> str:
        fact = (
            f"at {self.at_s:g} s every task waits and no timer is left"
            if self.limit_s is None
            else f"the program still runs after {self.limit_s:g} virtual seconds"
        )
        return "\n  ".join(
            [f"{fact}; give what they wait for, or a timeout. Waiting:", *self.waiting]
        )


class NotVirtual(CallerError):
    """A program in virtual time asked for something that lives in real time."""

    code = "testing.not-virtual"
    words = "{what} live in real time; run this part of the program on asyncio's own loop"
    what: str


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose time jumps when all wait. `limit_s` ends a program that never ends.

    >>> async def nap() -> float:
    ...     await asyncio.sleep(3600)
    ...     return asyncio.get_running_loop().time()
    >>> loop = VirtualLoop()
    >>> loop.run_until_complete(nap())
    3600.0
    >>> loop.close()
    """

    has_threads: Final = False
    """They live in real time; so plain listeners run in this loop, and take no time."""

    def __init__(self, *, limit_s: float | None = None) -> None:
        super().__init__()
        self._own = threading.get_ident()
        self._now = 0.0
        self._limit = limit_s
        self._count = 0
        # The base class asks a selector to wait until the next timer. Ours does not wait.
        self._selector = _Jump(self)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back at a virtual time; calls for one instant come in the order arranged."""
        self._count += 1
        timer = _Timer(max(when, self._now), callback, args, self, context)
        timer.count = self._count
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        heapq.heappush(timers, timer)
        timer._scheduled = True  # the base class counts cancelled timers by it
        return timer

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        raise NotVirtual(what="threads")

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """As `call_soon`, for asyncio's own clean-up; other threads are refused."""
        if threading.get_ident() != self._own:
            raise NotVirtual(what="calls from other threads")
        return self.call_soon(callback, *args, context=context)

    def _process_events(self, events: list[Any]) -> None:
        """There are no sockets, so there is nothing to process."""

    def _write_to_self(self) -> None:
        """Nobody else can wait for this loop: a signal's handler runs when the step is over."""

    def _jump(self, timeout: float | None) -> None:
        if timeout is None:
            raise Stuck(at_s=self._now, waiting=_waiting(self))
        if timeout > 0:
            timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
            # To the timer itself, where the base class waits no longer than it dares: a sum of
            # floats might fall short of it and spin.
            self._now = max(self._now, timers[0].when())
            # What is due before `now` plus this is run; less than one step of a float is nothing.
            self._clock_resolution = math.ulp(self._now)
        if self._limit is not None and self._now > self._limit:
            limit, self._limit = self._limit, None  # let the tasks clean up after themselves
            raise Stuck(at_s=self._now, waiting=_waiting(self), limit_s=limit)


class _Timer(asyncio.TimerHandle):
    """A timer that keeps its turn among those of one instant."""

    count: int
    _scheduled: bool

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _Timer):
            return NotImplemented
        return (self.when(), self.count) < (other.when(), other.count)


class _Jump:
    """Stands where a selector stands in loops that have sockets."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop._jump(timeout)
        return []


def _waiting(loop: asyncio.AbstractEventLoop) -> tuple[str, ...]:
    """The tasks of the loop and the innermost line where each waits, by name."""
    lines = []
    for task in asyncio.all_tasks(loop):
        frames = task.get_stack(limit=1)
        where = f"{frames[-1].f_code.co_qualname}, line {frames[-1].f_lineno}" if frames else "?"
        lines.append(f"{task.get_name()} in {where}")
    lines.sort()
    if len(lines) > WAITING_SHOWN_MAX:
        more = len(lines) - WAITING_SHOWN_MAX
        lines[WAITING_SHOWN_MAX:] = [f"and {more} more"]
    return tuple(lines)


def run(main: Coroutine[Any, Any, T], *, seconds_max: float = SECONDS_MAX) -> T:
    """Run a program to its end in virtual time and give what it returns.

    As `asyncio.run`, but sleeping costs nothing. Raises `Stuck` when nothing can happen any more,
    or when the program has not ended after `seconds_max` virtual seconds.

    >>> async def program() -> str:
    ...     await asyncio.sleep(24 * 3600)
    ...     return "a day later"
    >>> run(program())
    'a day later'
    >>> run(asyncio.Event().wait())
    Traceback (most recent call last):
    nomospace_lab.testing.loop.Stuck: at 0 s every task waits and no timer is left; ...
    """
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(limit_s=seconds_max)) as runner:
        return runner.run(main)
