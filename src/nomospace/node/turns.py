"""Whose turn it is: who asks for little at a time waits for little.

Each agent has an `Account` of how long its turns have really taken. What one read brings is done at
once, unless somebody waits who is due before it; all else goes into the client's `Queue`. One who
waits is due after some times as long as its own turn, and the more wait, the longer: all are slowed
down alike, who asks for a tenth of a millisecond by a few of them, who asks for a hundred of those
by a hundred times as much. So nobody starves, and a crowd that asks for much cannot crowd out one
who asks for little. Between two turns the loop comes round, and what has come meanwhile is done
first if it is due before. A turn ends when its time is up, also in the middle of what a read has
brought.

Turns are short or long (`SHORT_S`), and that of a large call is long: to receive it takes time that
no turn shows. While somebody is about who asks for little, a long turn is put off in three cases:
after a piece of work that could not be cut, for as long as that took; while what one who asks for
little has asked for is on its way to the disk, since a turn that begins meanwhile would delay its
answer; and for a moment after its answer, as it may well ask again. All this for `HOLD_S` at most,
pauses aside: so who asks for much has a share of the host, whatever the others ask for. What a
large call brings, or is answered, is on disk before the next long turn, for `LARGE_HOLD_S` at most:
the rows of a crowd of them would fill the next write, and whoever asks for little waits for all of
it. After it the disk is others' for as long as it took. Nobody waits for itself: who is alone is
served at once, whatever it asked for before.

Frames of one client are done in the order in which they came. A queue that has enough is not read
into any more: the client's own machine keeps the rest. What the host has to do on its own, such as
long searches that go on, has its turns among the clients', as long ones.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from threading import get_ident
from typing import Final, Protocol

from nomospace.node.keeper import HEAVY_BYTES

TURN_S: Final = 0.001
"""How long a turn may take before the rest waits; a single piece of work may take longer."""
SHORT_S: Final = TURN_S / 2
"""A turn that takes longer than this is a long one: all else that can be done is done first."""
LITTLE_S: Final = TURN_S / 4
"""Whose turns take less than this asks for little."""
LONG_S: Final = 1.5 * TURN_S
"""A piece of work that takes longer than this is followed by a pause."""
PATIENCE: Final = 4.0
"""How many times longer than if all were served side by side one waits, before it is due."""
MEMORY_S: Final = 0.004
"""So much used time counts in an account as much as all before it."""
REST_S_MAX: Final = 0.02
"""The longest pause after such a piece of work."""
ABOUT_S: Final = 0.05
"""Who was served within so long is about, and long turns are put off for it."""
HOLD_S: Final = 0.002
"""How long a long turn is put off at most, pauses aside."""
LARGE_HOLD_S: Final = 0.25
"""How long a long turn waits at most for a large call to be on disk, which may hang; and after."""
AGAIN_S: Final = 0.001
"""How long after an answer the next long turn is put off: its client may ask again."""
NAP_S: Final = 0.001
"""How often it is looked whether a long turn is put off no longer."""
WATCHED: Final = 64
"""So many short turns of an agent are measured in processor time, which is dear to ask for, before
its next ones are measured by the clock; one that takes long by the clock begins it anew."""
THREADS_MAX: Final = 1_000
"""Of how many threads it is known what the collector has taken."""
QUANTUM_BYTES: Final = 65_536
"""How many bytes of frames are done in one turn; a single frame may have more."""
QUANTUM_FRAMES: Final = 64
"""How many frames are done in one turn."""
QUEUE_BYTES_MAX: Final = 1 << 20
"""From this many bytes in its queue on, nothing more is read from a client."""
LOT_FRAMES: Final = 256
"""How many frames are told apart at a time: one read may bring fifty thousand, and a crowd may be
read before the next turn."""


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


class Used:
    """The processor time of the thread that asks, without what the collector of garbage took of it.

    What one leaves behind may be collected in the turn of any other, which must not count as one
    who asks for much.
    """

    __slots__ = ("_began", "_collecting")

    def __init__(self) -> None:
        self._collecting: dict[int, float] = {}
        self._began = 0.0
        gc.callbacks.append(self._collects)

    def __call__(self) -> float:
        return time.thread_time() - self._collecting.get(get_ident(), 0.0)

    def _collects(self, phase: str, _: object) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            me = get_ident()
            if me in self._collecting or len(self._collecting) < THREADS_MAX:
                took = time.thread_time() - self._began
                self._collecting[me] = self._collecting.get(me, 0.0) + took


USED: Final = Used()
"""The one of this process."""


class Account:
    """What one agent asks for at a time; the same for all its connections."""

    __slots__ = ("least", "size", "waiting", "watched")

    def __init__(self, least: float = 0.0) -> None:
        self.watched = WATCHED
        """How many of its next turns are measured in processor time."""
        self.least = least
        """What `size` is never below."""
        self.size = max(LITTLE_S / 2, least)
        """How much processor time a turn of it takes, each counted by its length; little, as long
        as nothing is known."""
        self.waiting = 0
        """How many of its queues wait for a turn."""

    def note(self, took: float, *, cut: bool) -> None:
        """A turn took so long, and was `cut` with more left to do: so much has been asked for.

        One long turn is enough to be known; it takes many short ones to be forgotten.
        """
        size = self.size
        size += (took - size) * took / (took + MEMORY_S)
        self.size = max(size, self.least, took if cut else took / 2)


class Disk(Protocol):
    """Where what is asked for has to be before it is answered."""

    last: int
    """The number of the last step that was put."""
    kept: int
    """The number of the last step that is on disk."""
    heavy: int
    """The number of the last step whose answers are large."""


class TurnWaiter(Protocol):
    """What can wait for a turn."""

    account: Account

    @property
    def weight(self) -> int:
        """How many bytes its next call has, as far as that counts."""

    def turn(self, until: float) -> bool:
        """Do some of it, until the clock shows a time; whether there is more to do."""


class Turns:
    """Who waits for a turn. `clock` is in seconds, and so is the processor time that was `used`."""

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        used: Callable[[], float] = USED,
    ) -> None:
        self.clock = clock
        self.used = used
        self.disk: Disk | None = None
        """What answers wait for; `None` if for nothing."""
        self._short: list[tuple[float, int, TurnWaiter]] = []
        self._long: list[tuple[float, int, TurnWaiter]] = []
        """Who waits for a turn that will be short, or long, those who are due first first."""
        self._number = 0
        """Those who are due at the same time are served in the order in which they came."""
        self._set = False
        self._nap: asyncio.TimerHandle | None = None
        self._unsent: list[Callable[[], None]] = []
        self.gathering = False
        """Whether what is to be sent waits for `kept`: steps that were kept together are answered
        together."""
        self._used = 0.0
        """What was done at once since the loop came round."""
        self._rest = float("-inf")
        """Until when there is a pause, if there is anybody to make it for."""
        self._about = self._about_before = float("-inf")
        """When somebody was last served who asks for little at a time, and when another was."""
        self._about_who: Account | None = None
        """Who it was,"""
        self._awaited = 0
        """which step its answer waits for,"""
        self._answered = float("-inf")
        """and when it was answered."""
        self._put_off = 0.0
        """Until when the next long turn is put off at most, pauses aside; 0 if it is not."""
        self._large = 0
        """The last step that a large call has made, or its answer,"""
        self._large_at = float("-inf")
        """and when that was, while it is on its way to the disk."""
        self.taken = 0
        """How many turns there were."""

    def admits(self, account: Account, now: float) -> bool:
        """Whether what came now can be done at once: nobody waits who is due before it."""
        if self._used >= TURN_S:
            return False
        if not self._short and not self._long and account.size <= SHORT_S:
            return True
        due = self._due(account, now)
        if self._short and self._short[0][0] < due:
            return False
        if account.size > SHORT_S:
            return not self._long and not self._others_about(account, now)
        return not self._long or due <= self._long[0][0] or now < self._put_off

    def _others_about(self, account: Account, now: float) -> bool:
        """Whether somebody else who asks for little was served lately, or waits for the disk."""
        if account is self._about_who:
            return now - self._about_before <= ABOUT_S
        waits = self.disk is not None and self.disk.kept < self._awaited
        return waits or now - self._about <= ABOUT_S

    def spent(self, account: Account, began: float, since: float, *, cut: bool = False) -> None:
        """Something was done at once, from a time on, and perhaps `cut`.

        `since` is what was `used` then, which counts only if the account is watched. For others the
        clock does: it shows at least as much, and more when the machine was at something else.
        """
        now = self.clock()
        counted = took = now - began
        if account.watched:
            counted = took = self.used() - since
            account.watched = account.watched - 1 if took < SHORT_S else WATCHED
        elif took >= SHORT_S:
            account.watched = WATCHED
            counted, cut = LITTLE_S, False
        self._used = used = self._used + took
        self._note(account, counted, now, cut=cut)
        if used >= TURN_S and not self._set:
            self._soon()

    def send_soon(self, send: Callable[[], None]) -> None:
        """Send something with all else of this turn of the loop, and before the next long turn."""
        self._unsent.append(send)
        if not self.gathering and (self._nap is not None or not self._set):
            self._soon()

    def add(self, waiting: TurnWaiter, *, after: bool = False) -> None:
        """One has something to do: when it is due, or `after` all who wait already."""
        account = waiting.account
        self._number += 1
        due = self._due(account, self.clock())
        long = account.size > SHORT_S or waiting.weight >= HEAVY_BYTES
        heap = self._long if long else self._short
        if after:
            due = max([due, *[max(heap)[0] for heap in (self._short, self._long) if heap]])
        account.waiting += 1
        heappush(heap, (due, self._number, waiting))
        if self._nap is not None or not self._set:
            self._soon()

    def kept(self, number: int) -> None:
        """Steps up to a number are on disk, and what waited for them is answered."""
        if self.gathering:
            self.gathering = False
            unsent, self._unsent = self._unsent, []
            for send in unsent:
                send()
        if self._answered < self._about and self._awaited <= number:
            self._answered = self.clock()
        if self._large <= number and self._large_at > float("-inf"):
            now = self.clock()
            self._rest = max(self._rest, now + min(now - self._large_at, LARGE_HOLD_S))
            self._large_at = float("-inf")

    def _due(self, account: Account, now: float) -> float:
        """When one who comes now is due: after some times as long as it will take with all others.

        Were all served side by side, each would take as many times longer as there are.
        """
        crowd = len(self._short) + len(self._long) + 1
        return now + PATIENCE * account.size * crowd * (account.waiting + 1)

    def _note(self, account: Account, took: float, now: float, *, cut: bool) -> None:
        """Something was done for an account, and took so long."""
        account.note(took, cut=cut)
        if account.size < LITTLE_S:
            if account is not self._about_who:
                self._about_who, self._about_before = account, self._about
            self._about = now
            disk = self.disk
            self._awaited = 0 if disk is None else disk.last
            if disk is None or disk.kept >= disk.last:
                self._answered = now
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
            if before < TURN_S and (self._short or self._long):
                self._serve()
        finally:
            if not self._set and (self._short or self._long):
                self._soon()

    def _serve(self) -> None:
        """Serve those who are due first, as many as one turn has time for."""
        now = self.clock()
        until, left = now + TURN_S, TURN_S
        if self._long and (not self._short or self._long[0] < self._short[0]):
            if not self._puts_off(now):
                self._put_off = 0.0
                self._serve_one(self._long, until)
                return
            if not self._short:
                self._set = True
                self._nap = asyncio.get_running_loop().call_later(NAP_S, self._turn)
        short = self._short
        while short and (left == TURN_S or short[0][2].account.size < left):
            waiting = short[0][2]
            if waiting.account.size > SHORT_S:  # as it has turned out since it came
                heappop(short)
                waiting.account.waiting -= 1
                self.add(waiting)
            else:
                left -= self._serve_one(short, until)

    def _serve_one(self, heap: list[tuple[float, int, TurnWaiter]], until: float) -> float:
        """Serve one who waits; how long that took."""
        waiting = heappop(heap)[2]
        account = waiting.account
        account.waiting -= 1
        self.taken += 1
        large, disk = waiting.weight >= HEAVY_BYTES, self.disk
        since, more = self.used(), False
        try:
            more = waiting.turn(until)
        finally:
            took, now = self.used() - since, self.clock()
            if disk is not None and disk.kept < disk.last and (large or disk.heavy > self._large):
                self._large, self._large_at = disk.last, now
            self._note(account, took, now, cut=more)
        if more:
            self.add(waiting)
        return took

    def _puts_off(self, now: float) -> bool:
        """Whether the next long turn has to wait, for the sake of those who ask for little."""
        waiting = self._long[0][2]
        if not self._others_about(waiting.account, now):
            return False
        if now < self._rest:
            return True
        if now < self._large_at + LARGE_HOLD_S:
            return True
        if self._put_off and now >= self._put_off:
            return False
        if (
            self._short
            or now < self._answered + AGAIN_S
            or (self.disk is not None and self.disk.kept < self._awaited)
        ):
            self._put_off = self._put_off or now + HOLD_S
            return True
        return False


def _pass_over(frames: list[bytes], until: float) -> None:
    """What a client asked for that has gone."""


class Queue:
    """The frames of one client that have not had their turn.

    `do` does some of them, until the clock shows a time, and gives back the rest. `more` tells the
    next `LOT_FRAMES` of what has come apart, or as many as there are.
    """

    __slots__ = (
        "_bytes",
        "_do",
        "_frames",
        "_held",
        "_job",
        "_job_weight",
        "_more",
        "_paused",
        "_ringing",
        "_turns",
        "_uncut",
        "account",
        "idle",
        "transport",
    )

    transport: asyncio.Transport

    def __init__(
        self,
        turns: Turns,
        do: Callable[[list[bytes], float], None],
        account: Account,
        more: Callable[[], list[bytes]] = list,
    ) -> None:
        self.account = account
        self._turns = turns
        self._do = do
        self._more = more
        self._uncut = False  # there may be more that is not told apart; then some frames wait
        self._frames: deque[bytes] = deque()
        self._job: Iterator[None] | None = None
        self._job_weight = 0
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
        self._uncut = len(frames) >= LOT_FRAMES
        if (self._uncut or self._bytes > QUEUE_BYTES_MAX) and not self._paused:
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

    def go_through(self, job: Iterator[None], weight: int = 0) -> None:
        """Do something in pieces, before any other frame; `weight` is of the frame that it does."""
        self._job, self._job_weight = job, weight
        self._ring()

    def close(self) -> bytes:
        """The client is gone, and what it asked for with it: it asks again when it is back.

        Gives the last frame that waits, which may say that it will not be back; empty for none.
        """
        last = self._frames[-1] if self._frames else b""
        self._frames.clear()
        self._do, self._more = _pass_over, list  # nothing of the client stays in memory with it
        self._job = None
        self._uncut = False
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
        if self._paused and not self._uncut and self._bytes <= QUEUE_BYTES_MAX // 2:
            self._paused = False
            self.transport.resume_reading()
        self._settle()
        self._ringing = more = self.has_work
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
        if self._uncut and not frames:
            self.put(self._more())
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
    def weight(self) -> int:
        """The bytes of its next frame, or as many as a job has that comes before."""
        if self._job is not None:
            return self._job_weight
        return len(self._frames[0]) if self._frames else 0

    @property
    def has_work(self) -> bool:
        """Whether something waits here that can be done."""
        return not self._held and (bool(self._frames) or self._job is not None)

    def _settle(self) -> None:
        self.idle = not self._frames and not self._held and self._job is None

    def _ring(self) -> None:
        self._settle()
        if not self._ringing and self.has_work:
            self._ringing = True
            self._turns.add(self)


_OVER: Final = object()


class GoingOn:
    """What a core has to do at once waits here for its turn: what came in is served before it."""

    __slots__ = ("_do", "_waits", "account")

    def __init__(self, do: Callable[[], None]) -> None:
        self.account = Account(2 * SHORT_S)  # its turns are long ones: nobody waits for an answer
        self._do = do
        self._waits = False

    def soon(self, turns: Turns) -> None:
        """Let it have a turn, if it does not wait for one already."""
        if not self._waits:
            self._waits = True
            turns.add(self, after=True)

    @property
    def weight(self) -> int:
        """It has no frames."""
        return 0

    def turn(self, until: float) -> bool:
        """Have the core go on once; it says itself when it wants to again."""
        self._waits = False
        self._do()
        return False
