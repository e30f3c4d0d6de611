"""Clients that wait for their turns at a machine that takes as long as the test says."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from nomospace.node.turns import TURN_S, Account, Queue, Turns

MS = 0.001


class Machine:
    """A loop in virtual time, on which work takes as long as it says: for its clients in turns."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.worked = 0.0
        self.turns = Turns(lambda: self.loop.time() + self.worked, lambda: self.worked)
        self.done: list[str] = []

    @property
    def now(self) -> float:
        return self.turns.clock()

    def work(self, what: str, seconds: float) -> None:
        self.done.append(what)
        self.worked += seconds


class Client:
    """One that asks for pieces of work that take so long, and has so many under way."""

    def __init__(
        self, machine: Machine, name: str, seconds: float, account: Account | None = None
    ) -> None:
        self.machine = machine
        self.name = name
        self.seconds = seconds
        self.account = account or Account()
        self.queue = Queue(machine.turns, self.do, self.account)
        self.queue.transport = cast("asyncio.Transport", Transport())
        self.asked_at = 0.0
        self.waited: list[float] = []

    def ask(self, pieces: int = 1) -> None:
        """As a connection does what comes: at once, or in its turn."""
        turns, frames = self.machine.turns, [b"piece"] * pieces
        self.asked_at = now = turns.clock()
        if self.queue.idle and turns.admits(self.account, now):
            since = turns.used()
            self.do(frames, now + TURN_S)
            turns.spent(self.account, now, since)
        else:
            self.queue.put(frames)

    def do(self, frames: list[bytes], until: float) -> None:
        for at, _ in enumerate(frames, 1):
            self.waited.append(self.machine.now - self.asked_at)
            self.machine.work(self.name, self.seconds)
            if self.machine.now >= until and at < len(frames):
                self.queue.put_back(frames[at:])
                return


class Transport:
    """Of which only reading counts."""

    def __init__(self) -> None:
        self.reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def still() -> Turns:
    """Turns in which nothing takes any time."""
    return Turns(float, float)


def queue(turns: Turns, done: list[Any]) -> Queue:
    made = Queue(turns, lambda frames, until: done.append(frames), Account())
    made.transport = cast("asyncio.Transport", Transport())
    return made


async def until_idle(*queues: Queue) -> int:
    """How often the loop came round until nothing waits any more."""
    rounds = 0
    while not all(one.idle for one in queues):
        rounds += 1
        await asyncio.sleep(0 if rounds % 8 else 0.1 * MS)  # a pause takes time, if nothing else
    return rounds


class Disk:
    """Where steps are put, and kept when it is told so."""

    def __init__(self) -> None:
        self.last = self.kept = self.heavy = 0
