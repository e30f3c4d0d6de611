"""Whose turn it is: who asks for little at a time waits for little.

Each agent has an `Account` of how long its turns have really taken. What one read brings is done at
once, unless somebody waits who is due before it; all else goes into the client's `Queue`. One who
waits is due after some times as long as its own turn, and the more wait, the longer: all are slowed
down alike, who asks for a tenth of a millisecond by a few of them, who asks for a hundred of those
by a hundred times as much. So nobody starves, and a crowd that asks for much cannot crowd out one
who asks for little. Between two turns the loop comes round, and what has come meanwhile is done
first if it is due before. A turn ends when its time is up, also in the middle of what a read has
brought. One piece of work that takes longer is followed by a pause as long, if there are others who
ask for little: so these have half of the host to themselves, whatever the rest ask for. Nobody
waits for itself: who is alone is served at once, whatever it asked for before.

Frames of one client are done in the order in which they came. A queue that has enough is not read
into any more: the client's own machine keeps the rest. What the host has to do on its own, such as
long searches that go on, has its turns among the clients'.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Final, Protocol

TURN_S: Final = 0.001
"""How long a turn may take before the rest waits; a single piece of work may take longer."""
SHORT_S: Final = TURN_S / 2
"""For a turn that takes longer than this, all else that can be done is done first."""
LONG_S: Final = 1.5 * TURN_S
"""A piece of work that takes longer than this is followed by a pause."""
PATIENCE: Final = 4.0
"""How many times longer than if all were served side by side one waits, before it is due."""
MEMORY_S: Final = 0.004
"""So much used time counts in an account as much as all before it."""
REST_S_MAX: Final = 0.02
"""The longest pause after such a piece of work."""
ABOUT_S: Final = 0.05
"""Who was served within so long is about, and such pauses are made for it."""
NAP_S: Final = 0.001
"""How often it is looked whether a pause is over."""
WATCHED: Final = 64
"""So many short turns of an agent are measured in processor time, which is dear to ask for, before
its next ones are measured by the clock; one that takes long by the clock begins it anew."""
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


class Account:
    """What one agent asks for at a time; the same for all its connections."""

    __slots__ = ("size", "waiting", "watched")

    def __init__(self) -> None:
        self.watched = WATCHED
        """How many of its next turns are measured in processor time."""
        self.size = 0.0
        """How much processor time a turn of it takes, each counted by its length."""
        self.waiting = 0
        """How many of its queues wait for a turn."""


class TurnWaiter(Protocol):
    """What can wait for a turn."""

    account: Account

    def turn(self, until: float) -> bool:
        """Do some of it, until the clock shows a time; whether there is more to do."""


class Turns:
    """Who waits for a turn. `clock` is in seconds, and so is the processor time that was `used`."""

    __slots__ = (
        "_about",
        "_about_before",
        "_about_who",
        "_heap",
        "_nap",
        "_number",
        "_put_off",
        "_quiet",
        "_rest",
        "_set",
        "_unsent",
        "_used",
        "clock",
        "taken",
        "used",
    )

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        used: Callable[[], float] = time.thread_time,
    ) -> None:
        self.clock = clock
        self.used = used
        self._heap: list[tuple[float, int, TurnWaiter]] = []
        self._number = 0
        """Those who are due at the same time are served in the order in which they came."""
        self._set = False
        self._nap: asyncio.TimerHandle | None = None
        self._unsent: list[Callable[[], None]] = []
        self._quiet = False
        """Whether the loop came round without anything that was done at once."""
        self._put_off = 0.0
        """Until when the next turn is put off while it did not; 0 if it is not."""
        self._used = 0.0
        """What was done at once since the loop came round."""
        self._rest = 0.0
        """Until when there is a pause, if there is anybody to make it for."""
        self._about = self._about_before = float("-inf")
        """When somebody was last served who asks for little at a time, and when another was."""
        self._about_who: Account | None = None
        """Who it was."""
        self.taken = 0
        """How many turns there were."""

    def admits(self, account: Account, now: float) -> bool:
        """Whether what came now can be done at once: nobody waits who is due before it."""
        if self._used >= TURN_S or (account.size > SHORT_S and self._others_about(account, now)):
            return False
        heap = self._heap
        return not heap or self._due(account, now) <= heap[0][0]

    def _others_about(self, account: Account, now: float) -> bool:
        """Whether somebody else was served lately who asks for little at a time."""
        about = self._about_before if account is self._about_who else self._about
        return now - about <= ABOUT_S

    def spent(self, account: Account, began: float, since: float) -> None:
        """Something was done at once, from a time on.

        `since` is what was `used` then, which counts only if the account is watched. For others the
        clock does: it shows at least as much, and more when the machine was at something else.
        """
        self._quiet = False
        now = self.clock()
        took = now - began
        if account.watched:
            took = self.used() - since
            account.watched = account.watched - 1 if took < SHORT_S else WATCHED
            counted = took
        elif took < SHORT_S:
            counted = took
        else:
            account.watched = WATCHED
            counted = SHORT_S
        self._used += took
        self._note(account, counted, now)
        if self._used >= TURN_S and not self._set:
            self._soon()

    def send_soon(self, send: Callable[[], None]) -> None:
        """Send something with all else of this turn of the loop, and before the next long turn."""
        self._unsent.append(send)
        if self._nap is not None or not self._set:
            self._soon()

    def add(self, waiting: TurnWaiter, *, after: bool = False) -> None:
        """One has something to do: when it is due, or `after` all who wait already."""
        account = waiting.account
        self._number += 1
        due = self._due(account, self.clock())
        if after and self._heap:
            due = max(due, max(self._heap)[0])
        account.waiting += 1
        heappush(self._heap, (due, self._number, waiting))
        if self._nap is not None or not self._set:
            self._soon()

    def _due(self, account: Account, now: float) -> float:
        """When one who comes now is due: after some times as long as it will take with all others.

        Were all served side by side, each would take as many times longer as there are.
        """
        return now + PATIENCE * account.size * (len(self._heap) + 1) * (account.waiting + 1)

    def _note(self, account: Account, took: float, now: float) -> None:
        """Something was done for an account, and took so long."""
        size = account.size
        account.size = size = size + (took - size) * took / (took + MEMORY_S)
        if size < SHORT_S:
            if account is not self._about_who:
                self._about_who, self._about_before = account, self._about
            self._about = now
        elif took >= LONG_S:
            self._rest = now + min(took, REST_S_MAX)

    def _soon(self) -> None:
        self._set = True
        if self._nap is not None:
            self._nap.cancel()
            self._nap = None
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """The loop has come round."""
        self._set, self._nap = False, None
        before, self._used = self._used, 0.0
        unsent, self._unsent = self._unsent, []
        for send in unsent:
            send()
        try:
            if self._heap and before < TURN_S and not self._puts_off():
                self._serve()
        finally:
            if self._heap and not self._set:
                self._soon()

    def _puts_off(self) -> bool:
        """Whether the next one has to wait, although it is its turn: others are quicker.

        What they have begun goes on before it (to the disk, say), for as long as it takes itself.
        """
        account = self._heap[0][2].account
        size, now = account.size, self.clock()
        if size < SHORT_S or not self._others_about(account, now):
            return False
        if not self._quiet and (not self._put_off or now < self._put_off):
            self._quiet = True
            self._put_off = self._put_off or now + size
            return True
        if size < LONG_S or now >= self._rest:
            return False
        self._set = True
        self._nap = asyncio.get_running_loop().call_later(NAP_S, self._turn)
        return True

    def _serve(self) -> None:
        """Serve those who are due first, as many as one turn has time for."""
        self._quiet, self._put_off = False, 0.0
        heap, left = self._heap, TURN_S
        until = self.clock() + TURN_S
        while heap and (left == TURN_S or heap[0][2].account.size < left):
            waiting = heappop(heap)[2]
            waiting.account.waiting -= 1
            self.taken += 1
            since = self.used()
            try:
                more = waiting.turn(until)
            finally:
                took = self.used() - since
                left -= took
                self._note(waiting.account, took, self.clock())
            if more:
                self.add(waiting)


class Queue:
    """The frames of one client that have not had their turn.

    `do` does some of them, until the clock shows a time, and gives back the rest.
    """

    __slots__ = (
        "_bytes",
        "_do",
        "_frames",
        "_held",
        "_job",
        "_paused",
        "_ringing",
        "_turns",
        "account",
        "idle",
        "transport",
    )

    transport: asyncio.Transport

    def __init__(
        self, turns: Turns, do: Callable[[list[bytes], float], None], account: Account
    ) -> None:
        self.account = account
        self._turns = turns
        self._do = do
        self._frames: deque[bytes] = deque()
        self._job: Iterator[None] | None = None
        self._bytes = 0
        self._held = False
        self._paused = False
        self._ringing = False  # it waits for its turn
        self.idle = True
        """Whether what comes can be done at once: nothing waits here, and nothing is waited for."""

    @property
    def held(self) -> bool:
        """Whether something is waited for, or to be done before any other frame."""
        return self._held or self._job is not None

    def put(self, frames: list[bytes]) -> None:
        """Frames came."""
        self._frames.extend(frames)
        self._bytes += sum(map(len, frames))
        if self._bytes > QUEUE_BYTES_MAX and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._ring()

    def put_back(self, frames: list[bytes]) -> None:
        """Frames were not done: they are the next."""
        self._frames.extendleft(reversed(frames))
        self._bytes += sum(map(len, frames))
        self._ring()

    def hold(self, frames: list[bytes]) -> None:
        """Frames came too early: they, and all after them, wait for `go_on`."""
        self._held = True
        self.put_back(frames)

    def go_on(self) -> None:
        """What was waited for is there."""
        self._held = False
        self._ring()

    def go_through(self, job: Iterator[None]) -> None:
        """Do something in pieces, before any other frame."""
        self._job = job
        self._ring()

    def close(self) -> bytes:
        """The client is gone, and what it asked for with it: it asks again when it is back.

        Gives the last frame that waits, which may say that it will not be back; empty for none.
        """
        last = self._frames[-1] if self._frames else b""
        self._frames.clear()
        self._job = None
        self._bytes = 0
        self.idle = not self._held
        return last

    def turn(self, until: float) -> bool:
        """Do as much as there is time for; whether there is more to do."""
        self._ringing = True  # what is put back meanwhile is no reason to ring
        try:
            self._do_some(until)
        except BaseException:
            self._ringing = False
            self._settle()
            raise
        if self._paused and self._bytes <= QUEUE_BYTES_MAX // 2:
            self._paused = False
            self.transport.resume_reading()
        self._settle()
        self._ringing = more = self._has_work
        return more

    def _do_some(self, until: float) -> None:
        if self._job is not None and not self._held:
            self._go_through(until)
        frames, some, size = self._frames, list[bytes](), 0
        if not self.held:
            while frames and len(some) < QUANTUM_FRAMES and size < QUANTUM_BYTES:
                some.append(frames.popleft())
                size += len(some[-1])
        self._bytes -= size
        if some:
            self._do(some, until)

    def _go_through(self, until: float) -> None:
        clock = self._turns.clock
        while self._job is not None:
            if next(self._job, _OVER) is _OVER:
                self._job = None
            elif clock() >= until:
                break

    @property
    def _has_work(self) -> bool:
        return not self._held and (bool(self._frames) or self._job is not None)

    def _settle(self) -> None:
        self.idle = not self._frames and not self._held and self._job is None

    def _ring(self) -> None:
        self._settle()
        if not self._ringing and self._has_work:
            self._ringing = True
            self._turns.add(self)


_OVER: Final = object()
