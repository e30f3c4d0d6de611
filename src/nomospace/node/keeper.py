"""The keeper of a host's store: steps become durable in groups, and whoever waits is told.

A step of the core may be seen by others only when it is on disk. While one group of steps is being
made durable, the next one gathers; so the busier a host is, the more steps share one write to the
disk. Rows are written on the event loop's own thread (`Store.stage`, quick) and only the wait for
the disk is in another (`Store.flush`): a thread that took the interpreter's lock once a row would
wait for it once a row.

Those whose steps were kept together mostly come back together. If each group began as soon as the
one before it is on disk, a crowd of clients would go on in two halves, each waiting for the other's
write, and every group costs the host as much time as several calls. So a group is given some time
until as many are back as were waited for: half as long as the disk took, or half as long again as
the crowd took to come back lately, if that is soon; and only while some still come (`QUIET_S`). Who
comes alone waits for nobody, and a disk that needs no time is not waited for. A crowd that was
waited for in vain is not waited for again soon. And a crowd that takes long to come back, longer
than the disk takes to write, goes on in halves: while one is on its way to the disk, the other is
served.

| state     | what happens                                                                       |
| --------- | ---------------------------------------------------------------------------------- |
| `IDLE`    | a step that is put begins a group, at the end of this turn of the loop (at once,    |
|           | if the store is `immediate`), or when the crowd is there                            |
| `WAITING` | steps gather, and the crowd is waited for                                           |
| `WRITING` | steps gather; when the group is on disk they are the next                           |
| `TROUBLE` | the disk is full, or the database away: the same group is tried again and again    |
| `WITNESS` | the group is on disk here, and not yet where the host's standby has it (`pairing`)  |

A store that fails for another reason is broken: `broken` is told, and the host must end, because
the core is ahead of what can be kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Protocol

from nomospace.errors import NomospaceError, Unavailable
from nomospace.node.clock import ClockMark
from nomospace.store.interface import Step, Store

IDLE: Final = "idle"
WAITING: Final = "waiting"
WRITING: Final = "writing"
TROUBLE: Final = "trouble"
WITNESS: Final = "witness"

GROUP_MAX: Final = 4_096
"""How many steps become durable together at most."""
GROUP_BYTES_MAX: Final = 1 << 20
"""After so many bytes a group takes no further step in: all wait while its rows are written."""
HEAVY_BYTES: Final = 65_536
"""A call or an answer with so many bytes is a large one."""
WAITING_MAX: Final = 100_000
"""How many steps may wait for the disk; a driver that sees `full` takes no more calls."""
PATIENCE: Final = 0.5
"""The part of the time that the disk took for which a crowd is waited for."""
LATENESS: Final = 1.5
"""And the part of the time that it took to come back."""
PATIENCE_S_MAX: Final = 0.004
"""And the longest."""
QUIET_S: Final = 0.001
QUIET: Final = 0.25
"""A crowd of which nobody came for so long, or for this part of the disk's time, is not waited for
any longer: those who are there would wait longer than the disk takes."""
SMOOTHING: Final = 0.25
"""How much the last time counts among all that were measured before."""
STRAGGLERS: Final = 16
"""One in so many of a crowd is not waited for."""
CALM_MAX: Final = 64
"""After crowds that did not come, so many groups at most are begun without waiting for one."""
AWAY_S: Final = 3.0
"""So long a witness may take, before that counts as trouble."""
RETRY_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Pauses before a group is tried again; the last one is repeated."""


class Witness(Protocol):
    """Another machine that has to have a commit too, before anyone is told of it."""

    def has_all(self) -> bool:
        """Whether it has all that was committed here, or is not waited for."""

    def away(self, after_s: float) -> Unavailable:
        """Why nothing is told to anyone, after so long."""


class Keeper:
    """Puts steps into a store, in order. All methods are called on the event loop's thread.

    `kept` is told the number of the last step that is on disk, `troubled` that the store cannot
    take anything now (an `Unavailable`) or can again (`None`), and `broken` that it never will.
    """

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], ClockMark],
        kept: Callable[[int], None],
        troubled: Callable[[Unavailable | None], None],
        broken: Callable[[BaseException], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.store = store
        self.state = IDLE
        self.trouble: Unavailable | None = None
        self.last = 0
        """The number of the last step that was put."""
        self.kept = 0
        """The number of the last step that is on disk."""
        self.heavy = 0
        """The number of the last step with `HEAVY_BYTES` or more in what clients are told by it."""
        self.full = False
        """Whether no more steps should be made before some are on disk."""
        self.groups = 0
        """How many groups were written."""
        self.witness: Witness | None = None
        self.on_commit: Callable[[float], None] | None = None
        """Told how long the disk took for each of them, in seconds."""
        self._now = now
        self._on_kept = kept
        self._on_trouble = troubled
        self._on_broken = broken
        self._clock = clock  # the loop's own may show whole milliseconds
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Step] = []
        self._back = 0
        """How many of a crowd have steps among those."""
        self._group: list[Step] = []
        self._told = 0
        """How many are told when those are on disk."""
        self._tries = 0
        self._crowd = 0
        """With how many a group needs not wait any longer."""
        self._calm = 0
        """How many groups do not wait for a crowd, as it did not come before."""
        self._vain = 0
        """How often in a row it did not."""
        self._began = 0.0
        self._told_at = 0.0
        """When those of the last group were told; 0 when nobody has come since."""
        self._came = 0.0
        """When the last step came."""
        self._took = 0.0
        """How long the disk takes for a group."""
        self._turn = 0.0
        """How long a crowd takes to come back after it was told."""
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        """Until when a crowd is waited for at most,"""
        self._seen = 0
        """and how many of it had come when that was looked at."""
        self._tidying = False
        """Whether the thread does what the store has put off until everybody was told,"""
        self._tidied: Callable[[], None] | None = None
        """and what waits for that."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._work: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, step: Step) -> int:
        """Take a step over; `kept` is called with its number, or a later one, once it is safe."""
        self.last = number = self.last + 1
        for kept in step.outbox:
            if len(kept.body) >= HEAVY_BYTES:
                self.heavy = number
        if self.state is IDLE and self.store.immediate:  # nothing to share, and nobody to wait
            try:
                self._stage([step])
            except BaseException as error:
                self._idle.clear()
                self._group = [step]
                self._done(error)
                return number
            self.kept += 1
            self.groups += 1
            self._on_kept(self.kept)
            return number
        self._waiting.append(step)
        self.full = len(self._waiting) >= WAITING_MAX
        self._back += len(step.outbox) or bool(step.changes)  # as `_heads`
        if self.state is IDLE:
            self._idle.clear()
            self._gather()
            return number
        self._came = self._clock()
        if self.state is WAITING and self._back >= self._crowd:
            self._vain = 0
            self._came_back(1.0)
            self._go()
        return number

    async def drain(self, timeout_s: float) -> bool:
        """Wait until everything put so far is on disk; whether it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        return self.state is IDLE

    async def close(self, timeout_s: float) -> bool:
        """Let what waits become durable, then end; whether all of it did."""
        done = await self.drain(timeout_s)
        self.stop()
        return done

    def stop(self) -> None:
        """End at once. What is being written is finished, and what waits is not begun."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._work.put(False)
            self._thread.join()
        self.store.close()

    # -- inside ----------------------------------------------------------------------------

    def _stage(self, steps: list[Step]) -> int:
        mark = self._now()
        self.store.clock = (mark.at, mark.kernel, mark.boot)
        return self.store.stage(steps, at=mark.at, bytes_max=GROUP_BYTES_MAX)

    def _gather(self) -> None:
        """Begin the next group when the crowd is there, or has had its time."""
        took, late = self._took, LATENESS * self._turn
        patience = min(max(PATIENCE * took, late), PATIENCE_S_MAX) if took > 0 else 0.0
        soon = late <= PATIENCE_S_MAX or self._turn < took
        if self._calm:
            self._calm -= 1
        elif self._back < self._crowd and patience > 0 and soon:
            self.state = WAITING
            self._until = self._clock() + patience
            self._wait(patience)
            return
        self.state = WRITING
        self._loop.call_soon(self._begin)

    def _wait(self, patience: float) -> None:
        """Wait for the crowd, at first for as long as one of it may take after another."""
        self._seen = self._back
        quiet = min(patience, max(QUIET_S, QUIET * self._took))
        self._timer = self._loop.call_later(quiet, self._look)

    def _look(self) -> None:
        """Wait for the crowd while some of it come, until it has had its time."""
        left = self._until - self._clock()
        if self._back > self._seen and left > 0:
            self._wait(left)
        else:
            self._give_up()

    def _came_back(self, share: float) -> None:
        """A part of those who were told last has come back: so long the crowd takes for that."""
        if 0 < self._told_at < self._came:
            self._turn = _smooth(self._turn, (self._came - self._told_at) / share)

    def _give_up(self) -> None:
        """The crowd has not come: trust it less."""
        self._vain += 1
        self._calm = min(2**self._vain, CALM_MAX)
        self._go()

    def _go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.state = WRITING
        self._timer = None
        self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        """Write the rows of the next group, and have them flushed."""
        if self._closed:
            return
        self._timer = None
        if self._tidying:
            self._tidied = self._begin
            return
        if not self._group:
            self._group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
            back, self._back = self._back, sum(map(_heads, self._waiting))
            self._told = back - self._back
            self.full = len(self._waiting) >= WAITING_MAX
        try:
            taken = self._stage(self._group)
            if taken < len(self._group):  # the rest are the first of the next group
                rest = self._group[taken:]
                self._group, self._waiting = self._group[:taken], rest + self._waiting
                heads = sum(map(_heads, rest))
                self._back, self._told = self._back + heads, self._told - heads
            if self.store.immediate:
                self.store.flush()
        except BaseException as error:
            self._done(error)
            return
        if self.store.immediate:  # it was in trouble, and is not any more
            self._done(None)
            return
        if self._thread is None:
            # A daemon: a process that is told to end does not wait for a database that is away.
            self._thread = threading.Thread(
                target=self._flush, name="nomospace-keeper", daemon=True
            )
            self._thread.start()
        self._began = self._clock()
        self._work.put(True)

    def witnessed(self) -> None:
        """The witness has something more, or is not waited for any longer."""
        if self.state is WITNESS and self.witness is not None and self.witness.has_all():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._done(None)

    def _unwitnessed(self, witness: Witness) -> None:
        self._timer = None
        self.trouble = witness.away(AWAY_S)
        self._on_trouble(self.trouble)

    def _flush(self) -> None:
        """The thread: wait for the disk, again and again."""
        while self._work.get():
            error: BaseException | None = None
            try:
                self.store.flush()
            except BaseException as caught:
                error = caught
            self._tidying = error is None and self.store.untidy
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                self._loop.call_soon_threadsafe(self._done, error)
                if self._tidying:
                    try:
                        self.store.tidy()
                    except BaseException as failed:  # who waits for it would wait for ever
                        self._loop.call_soon_threadsafe(self._break, failed)
                        return
                    self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        """The store is tidy: what has waited for that begins."""
        self._tidying = False
        waiting, self._tidied = self._tidied, None
        if waiting is not None:
            waiting()

    def _done(self, error: BaseException | None) -> None:
        if self._closed:
            return
        if error is None and self.witness is not None and not self.witness.has_all():
            self.state = WITNESS
            self._timer = self._loop.call_later(AWAY_S, self._unwitnessed, self.witness)
        elif error is None:
            self.kept += len(self._group)
            self.groups += 1
            now = self._clock()
            took = now - self._began
            self._took = _smooth(self._took, took)
            if self.on_commit is not None and not self.store.immediate:
                self.on_commit(took)
            crowd = self._told + self._back
            if self._back:
                self._came_back(self._back / crowd)
            self._crowd = crowd - crowd // STRAGGLERS
            self._told_at = now
            self._group = []
            self._tries = 0
            if self.trouble is not None:
                self.trouble = None
                self._on_trouble(None)
            # Who is told now may well have put its next step before this returns.
            self.state = WRITING
            try:
                self._on_kept(self.kept)
            except BaseException as failed:  # whoever waits behind it would wait for ever
                self._break(failed)
                return
            if self._waiting:
                self._gather()
            else:
                self.state = IDLE
                self._told_at = 0.0
                self._idle.set()
        elif isinstance(error, Unavailable):
            self.state = TROUBLE
            pause = RETRY_S[min(self._tries, len(RETRY_S) - 1)]
            self._tries += 1
            self._timer = self._loop.call_later(pause, self._begin)
            if self.trouble is None or type(self.trouble) is not type(error):
                self.trouble = error
                self._on_trouble(error)
        else:
            if not isinstance(error, NomospaceError | OSError):
                error.add_note("the host's store failed in a way it does not know")
            self._break(error)

    def _break(self, error: BaseException) -> None:
        self._closed = True
        self._on_broken(error)


def _heads(step: Step) -> int:
    """How many wait for a step: as many as it answers, or whoever made it; for records nobody."""
    return len(step.outbox) or bool(step.changes)


def _smooth(before: float, seconds: float) -> float:
    """A time, as those before and the last one say; the first one has nothing before it.

    A store has more to do now and then, so one that is far above the others counts as twice as
    long as they.

    >>> _smooth(0.0, 8.0), _smooth(8.0, 4.0), _smooth(8.0, 1000.0)
    (8.0, 7.0, 10.0)
    """
    return before + SMOOTHING * (min(seconds, 2 * before) - before) if before else seconds
