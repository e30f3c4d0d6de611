"""What is done to hosts while clients work with them: one thing at a time, to one host, and mended.

| attack | what happens |
| --- | --- |
| kill | the process ends at once (SIGKILL) and is started again |
| pause | it stands still (SIGSTOP) and goes on |
| cut off | nothing gets through between it and other hosts; no connection ends |
| slow | what passes between it and other hosts takes longer |
| drop | all connections of its clients end |
| clock ahead | all its clocks jump ahead, as when a machine has slept |
| clock set | the clock that people set jumps, and the machine starts anew |
| disk full | its files cannot grow past what the kernel allows them now (RLIMIT_FSIZE) |
| fail over | the database's primary is killed and its replica promoted, for all hosts at once |
"""

from __future__ import annotations

import asyncio
import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Final, Self

from nomospace.client import own_tokens
from tests.crash.inside import PROGRAM, ClockFile
from tests.crash.replica import ReplicatedPostgres
from tests.parity.processes import HOSTS, Process, Real, Stores
from tests.proxy import Proxy

SLEPT_S_MAX: Final = 20.0
SET_S_MAX: Final = 3_600.0
SLOW_S_MAX: Final = 0.8
"""Less than the time after which hosts give each other up, and more than a heartbeat."""
FULL_BYTES: Final = (0, 1 << 16, 1 << 20)
"""How long files may get on a disk that is full: SQLite meets that at its log, or at its tables."""
PAUSES_S: Final = (0.1, 0.8)
"""How long all is well, between two attacks."""
ANSWERS: Final = 20
"""So many answers clients get between two attacks, if somebody counts them."""
ANSWERS_S: Final = 60.0


_BEHIND: Final = dict[int, tuple[str, int]]()
"""The addresses of hosts that clients dial through a door of the test, by its port."""
_token_of: Final = own_tokens.find


def _token_behind(host: str, port: int) -> str:
    """The token of a host's own: it stands by the address behind the door."""
    return _token_of(*_BEHIND.get(port, (host, port)))


setattr(own_tokens, "find", _token_behind)  # noqa: B010 (to mypy a function is no variable)


@dataclass(frozen=True)
class AttackTold:
    """What was done to a host, and when."""

    attack: str
    host: str
    called: float
    returned: float

    def since(self, began: float) -> Self:
        """The same, counted from a moment."""
        return replace(self, called=self.called - began, returned=self.returned - began)


class Attacked(Real):
    """Hosts that much can be done to; each has a clock of its own, and perhaps a fault."""

    def __init__(
        self,
        stores: Stores | None = None,
        *,
        fault: str = "",
        database: ReplicatedPostgres | None = None,
    ) -> None:
        super().__init__(stores)
        self.database = database
        self.jumps: list[float] = []
        """When clocks jumped ahead, by `time.monotonic`."""
        self.attacks = 0
        """How many attacks have begun or ended."""
        self.story: list[AttackTold] = []
        """What was done to them, by `time.monotonic`."""
        self._fault = fault
        self._doors: dict[str, Proxy] = {}

    def _process(self, name: str, arguments: list[str]) -> Process:
        first = (str(self._clock(name)), self._fault)
        return Process(name, self.folder, arguments, program=PROGRAM, first=first)

    def _clock(self, name: str) -> Path:
        return self.folder / f"{name}.clock"

    async def url(self, name: str) -> str:
        """Where clients find a host: behind a door that can be shut."""
        door = self._doors.get(name)
        if door is None:
            door = self._doors[name] = Proxy("127.0.0.1", self._ports[name])
            await door.__aenter__()
            _BEHIND[int(door.address.rpartition(":")[2])] = door.target
        return f"nomos+plain://{door.address}"

    def pid(self, name: str) -> int:
        """The process of a host."""
        return self._processes[name].child.pid

    async def close(self) -> None:
        """End all."""
        try:
            await super().close()
        finally:
            for door in self._doors.values():
                del _BEHIND[int(door.address.rpartition(":")[2])]
                await door.__aexit__()

    # -- attacks ---------------------------------------------------------------------------------

    async def pause(self, name: str, seconds: float) -> None:
        """Let a process stand still for a while."""
        child = self._processes[name].child
        child.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        child.send_signal(signal.SIGCONT)

    def slow(self, name: str, seconds: float) -> None:
        """Let links between a host and others be slow from now on; 0 for no longer."""
        for ends, proxy in self._proxies.items():
            if name in ends:
                proxy.delay = seconds

    def drop(self, name: str) -> None:
        """End all connections of a host's clients."""
        if name in self._doors:
            self._doors[name].reset()

    def jump(self, name: str, *, slept_s: float = 0.0, wall_s: float = 0.0, boots: int = 0) -> None:
        """Let the clocks of a host jump."""
        self.jumps.append(time.monotonic())
        ClockFile(self._clock(name)).jump(slept_s=slept_s, wall_s=wall_s, boots=boots)

    def limit(self, name: str, size: int = resource.RLIM_INFINITY) -> None:
        """No file of a host may grow past a size from now on."""
        pid = self._processes[name].child.pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class Nemesis:
    """Does harm to one host at a time, and mends it."""

    def __init__(
        self,
        hosts: Attacked,
        rng: random.Random,
        *,
        longest_s: float,
        names: tuple[str, ...] = HOSTS,
        pauses_s: tuple[float, float] = PAUSES_S,
        only: tuple[str, ...] = (),
        answers: Callable[[], float] = lambda: inf,
    ) -> None:
        self.attacks: Counter[str] = Counter()
        self._hosts = hosts
        self._rng = rng
        self._longest_s = longest_s
        self._names = names
        self._pauses_s = pauses_s
        self._kinds = only or tuple(ATTACKS)
        if hosts.database is None:
            self._kinds = tuple([kind for kind in self._kinds if kind != FAIL_OVER])
        self._answers = answers
        self._next = 0

    async def work(self, seconds: float) -> None:
        """Attack until the time is over; then all hosts are there and in reach."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            had = self._answers()
            await asyncio.sleep(self._rng.uniform(*self._pauses_s))
            async with asyncio.timeout(ANSWERS_S):
                while self._answers() < had + ANSWERS:
                    await asyncio.sleep(0.01)
            kind = self._kinds[self._next % len(self._kinds)]
            self._next += 1
            if not kind:
                continue
            self._hosts.attacks += 1
            name, began = self._rng.choice(self._names), time.monotonic()
            await ATTACKS[kind](self, name)
            self._hosts.attacks += 1
            self._hosts.story.append(AttackTold(kind, name, began, time.monotonic()))
            self.attacks[kind] += 1

    @property
    def _seconds(self) -> float:
        return self._rng.uniform(0.1, self._longest_s)

    async def _kill(self, name: str) -> None:
        await self._hosts.kill(name)
        await asyncio.sleep(self._seconds / 4)
        await self._hosts.start(name)

    async def _pause(self, name: str) -> None:
        await self._hosts.pause(name, self._seconds)

    async def _cut_off(self, name: str) -> None:
        await self._hosts.cut_off(name)
        await asyncio.sleep(self._seconds)
        await self._hosts.join(name)

    async def _slow(self, name: str) -> None:
        self._hosts.slow(name, self._rng.uniform(0.01, SLOW_S_MAX))
        await asyncio.sleep(self._seconds)
        self._hosts.slow(name, 0.0)

    async def _drop(self, name: str) -> None:
        for _ in range(self._rng.randint(1, 5)):
            self._hosts.drop(name)
            await asyncio.sleep(self._rng.uniform(0.0, 0.1))

    async def _clock_ahead(self, name: str) -> None:
        slept_s = self._rng.uniform(0.1, SLEPT_S_MAX)
        self._hosts.jump(name, slept_s=slept_s, wall_s=slept_s)

    async def _clock_set(self, name: str) -> None:
        await self._hosts.kill(name)
        self._hosts.jump(name, wall_s=self._rng.uniform(-SET_S_MAX, SET_S_MAX), boots=1)
        await self._hosts.start(name)

    async def _disk_full(self, name: str) -> None:
        self._hosts.limit(name, self._rng.choice(FULL_BYTES))
        await asyncio.sleep(self._seconds)
        self._hosts.limit(name)

    async def _fail_over(self, _: str) -> None:
        pair = self._hosts.database
        assert pair is not None, "which only hosts with such a database have"
        await asyncio.to_thread(pair.kill_primary)
        await asyncio.sleep(self._seconds / 4)
        await asyncio.to_thread(pair.promote)
        await asyncio.to_thread(pair.rejoin)


FAIL_OVER: Final = "fail over"
ATTACKS: Final = {
    "kill": Nemesis._kill,
    "pause": Nemesis._pause,
    "drop": Nemesis._drop,
    "cut off": Nemesis._cut_off,
    "clock ahead": Nemesis._clock_ahead,
    "disk full": Nemesis._disk_full,
    "clock set": Nemesis._clock_set,
    "slow": Nemesis._slow,
    FAIL_OVER: Nemesis._fail_over,
}
