"""The chart of the live hospital: a rogue that floods, and a quiet informer beside it.

The quiet informer publishes every `EVERY_S` seconds, and more often (`WATCHFUL_S`) while there is
something to see. It is subscribed to what it publishes, so it knows how long the way to the
mediator and back takes (`001_…`, section 5.2). The rogue publishes
about `RATE_S` times a second. The manager has blocked it, so its own controller refuses all of it:
not one message leaves its host. All run in one process, so the rogue takes turns (`BURST`), and
what it could not say in time it does not say later; it ends by itself after `ROGUE_S` seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from nomospace.client import Closed, Membership
from nomospace.errors import NomospaceError
from nomospace_lab.apps.hospital.alarms import Alarm, publish
from nomospace_lab.apps.hospital.cast import MEDIATOR, PULSE
from nomospace_lab.pages.stage import Sample

EVERY_S: Final = 1.0
WATCHFUL_S: Final = 0.25
SAMPLE_S: Final = 0.5
SAMPLES_MAX: Final = 240
"""Two minutes of them."""
LOST_S: Final = 10.0
"""A round trip that took longer is given up."""
RATE_S: Final = 1_500
ROGUE_S: Final = 60.0
BURST: Final = 15
"""So many publications the rogue makes before all others have a turn."""
PAUSE_S: Final = 0.008
"""Then they have so long: shorter pauses would keep the disk busy with more, smaller writes."""
WAITING_MAX: Final = 200
"""How many of its publications may wait for their rulings to be on disk."""
BEHIND_MAX: Final = 45
"""What the rogue is behind by more than this it does not make up for."""
CRY: Final = publish("fire", "fire! fire! fire!")


class Monitor:
    """The quiet informer: publishes, and knows how long it takes until it hears of it."""

    def __init__(self, member: Membership, watchful: Callable[[], bool]) -> None:
        self._member = member
        self._watchful = watchful
        self._sent: dict[int, float] = {}
        """When those were sent that have not come back: at most `LOST_S / WATCHFUL_S` of them."""
        self._trips: list[float] = []
        self._number = 0
        self._last_s = 0.0
        self.lost = 0
        """How many never came back."""

    async def run(self) -> None:
        """Publish without end, at even times."""
        loop = asyncio.get_running_loop()
        turns = 0
        due = loop.time()
        while True:
            if self._watchful() or turns % (EVERY_S // WATCHFUL_S) == 0:
                await self._publish(loop.time())
            turns += 1
            due = max(due + WATCHFUL_S, loop.time())
            await asyncio.sleep(due - loop.time())

    async def _publish(self, now: float) -> None:
        for number in [n for n, sent in self._sent.items() if now - sent > LOST_S]:
            del self._sent[number]
            self.lost += 1
        self._number += 1
        self._sent[self._number] = now
        try:
            await self._member.send(publish(PULSE, self._number), to=MEDIATOR.agent)
        except Closed:
            raise
        except NomospaceError:
            del self._sent[self._number]  # the store is busy, say; the next one tells

    def heard(self, alarm: Alarm) -> None:
        """Something that was published has come back."""
        sent = self._sent.pop(alarm.text, None) if isinstance(alarm.text, int) else None
        if sent is not None:
            self._trips.append(asyncio.get_running_loop().time() - sent)

    def round_trip_ms(self) -> float:
        """The mean of those since the last question; while none comes, how long one is awaited."""
        if self._trips:
            self._last_s = sum(self._trips) / len(self._trips)
            self._trips.clear()
        else:
            now = asyncio.get_running_loop().time()
            waiting = max([now - sent for sent in self._sent.values()], default=0.0)
            self._last_s = max(self._last_s, waiting)
        return self._last_s * 1000


class RogueGauge:
    """Publishes far more than anybody should, for a minute at a time."""

    def __init__(self, member: Membership) -> None:
        self._member = member
        self._task: asyncio.Task[None] | None = None
        self._waiting: dict[asyncio.Task[None], None] = {}
        """What it has tried and not heard of yet: an answer waits for the disk."""
        self.tried = 0
        self.refused = 0
        self.says = ""
        """How its last time ended, in words; empty while it goes on."""

    @property
    def on(self) -> bool:
        """Whether it publishes just now."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin; beginning twice is harmless."""
        if not self.on:
            self.says = ""
            self._task = asyncio.create_task(self._flood(), name="the rogue")

    async def stop(self) -> None:
        """End at once; harmless when it does nothing."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _flood(self) -> None:
        loop = asyncio.get_running_loop()
        tried, refused = self.tried, self.refused
        how = "was switched off"
        began, turns = loop.time(), 0
        try:
            while (passed := loop.time() - began) < ROGUE_S:
                due = int(passed * RATE_S) - turns
                if due > BEHIND_MAX:
                    turns, due = turns + due - BEHIND_MAX, BEHIND_MAX
                for _ in range(min(due, BURST, WAITING_MAX - len(self._waiting))):
                    turns += 1
                    self._waiting[asyncio.create_task(self._cry())] = None
                await asyncio.sleep(PAUSE_S)
            how = f"switched itself off after {ROGUE_S:g} s"
        finally:
            waiting, self._waiting = self._waiting, {}
            for task in waiting:
                task.cancel()
            self.says = (
                f"the rogue {how}; it tried {self.tried - tried:,} times, and its own controller "
                f"refused {self.refused - refused:,} of them"
            )

    async def _cry(self) -> None:
        """Publish once. A rogue does not wait for the answer, and does not mind what it is."""
        with suppress(NomospaceError):
            told = await self._member.send(CRY, to=MEDIATOR.agent)
            self.tried += 1
            self.refused += told.refused
        task = asyncio.current_task()
        assert task is not None, "it runs as a task"
        self._waiting.pop(task, None)


class Gauge:
    """What the chart shows: a ring of samples."""

    def __init__(self, monitor: Monitor, rogue: RogueGauge, clock: Callable[[], int]) -> None:
        self._monitor = monitor
        self._rogue = rogue
        self._clock = clock
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    async def run(self) -> None:
        """Take samples without end."""
        rogue = self._rogue
        while True:
            before, tried, refused = self._clock(), rogue.tried, rogue.refused
            await asyncio.sleep(SAMPLE_S)
            now = self._clock()
            passed_s = max(now - before, 1) / 1e6
            self.samples.append(
                Sample(
                    now,
                    (rogue.tried - tried) / passed_s,
                    (rogue.refused - refused) / passed_s,
                    self._monitor.round_trip_ms(),
                )
            )
