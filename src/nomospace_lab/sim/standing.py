"""Worlds of one host that several processes stand for, over a database that all of them reach.

Each process has a clock of its own, wrong and uneven, and is killed, paused and cut off from the
database. What it has asked of the database is done there also when it is paused or dead by then,
and what the database answers may not come back. A process that is paused finds all that happened
meanwhile when it wakes, in any order but that of each connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from nomospace.host.effects import Effect
from nomospace.protocols.lease import (
    Fate,
    HeldLease,
    LeaseStand,
    LeaseWatch,
    commit_fate,
    hold_us as held_us,
)
from nomospace.sessions.host_session import HostSession, Outgoing
from nomospace.store.interface import Step
from nomospace.store.memory import MemoryStore
from nomospace_lab.sim.clients import ClientWorld
from nomospace_lab.sim.clock import SECOND_US, VirtualClock
from nomospace_lab.sim.faults import Crash
from nomospace_lab.sim.history import CRASHED, Happening, tell_as
from nomospace_lab.sim.serving import Server, Wire

_Act: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]
PAUSED: Final = "is paused"
WOKE: Final = "wakes"
CUT_OFF: Final = "is cut off from the database"
TOOK: Final = "takes the lease"
FENCED: Final = "is fenced"
LAPSED: Final = "stops with its lease"
UNKNOWN: Final = "does not know what became of a commit"

TAKEOVER_S: Final = 2.0
HOLD_US: Final = held_us(TAKEOVER_S)
DATABASE_US: Final = (100, 20_000)
"""How long a word to the database takes, or back."""
ANSWER_US: Final = 300_000
"""After so long without an answer the connection counts as broken."""
HELD_UP: Final = 0.02
LATE_US: Final = 4 * SECOND_US
"""The share of words to the database that come late, and how late: when nobody waits any more."""
SKEW_US: Final = SECOND_US
"""How far a process's clock is off, at most."""
DRIFT: Final = 0.005
"""And by how much it runs too fast or too slow."""
T = TypeVar("T")


class LeasedDatabase:
    """What all processes reach: a store, its token, and the row of the lease."""

    def __init__(self, clock: VirtualClock) -> None:
        self.store = MemoryStore()
        self.stand = LeaseStand()
        self.renewed_at = 0
        """When somebody last took or renewed the lease."""
        self._clock = clock

    def claim(self, seen: LeaseStand, host: str, holder: str) -> LeaseStand | None:
        """Give the lease to who has seen this, if it is still so."""
        stand = self.stand
        if (stand.token, stand.beat, stand.holder) != (seen.token, seen.beat, seen.holder):
            return None
        token = stand.token + 1
        self.stand = LeaseStand(token, stand.number, host, holder, token, stand.beat + 1, HOLD_US)
        self.renewed_at = self._clock.now
        return self.stand

    def renew(self, token: int) -> bool:
        """Renew the lease under a token; false under another one."""
        if self.stand.leased != token:
            return False
        self.stand = msgspec.structs.replace(self.stand, beat=self.stand.beat + 1)
        self.renewed_at = self._clock.now
        return True

    def commit(self, token: int, number: int, commit: StandingCommit) -> Fate:
        """Keep a commit, once, and under its token alone."""
        fate = commit_fate(self.stand, token, number)
        if fate is not Fate.OPEN:
            return fate
        self.store.commit(commit.steps, at=commit.at)
        for key, upto in commit.trims:
            self.store.trim(key, upto)
        self.stand = msgspec.structs.replace(self.stand, number=number)
        return Fate.DONE


def nobody(_: object) -> None:
    """What is answered to nobody."""


class StandingCommit(msgspec.Struct, frozen=True):
    """What is committed at once."""

    steps: list[Step]
    trims: list[tuple[str, int]]
    at: int


class StandingProcess(Server):
    """One of the processes that stand for a host."""

    def __init__(self, world: TakeoverWorld, place: str) -> None:
        super().__init__("ward", world.clock, world.rng(place))
        self.place = place
        self.world = world
        self.database = world.database
        self.store = world.database.store
        self.restored = world.restored
        self.lease: HeldLease | None = None
        self.paused = self.cut_off = self._down = False
        self.ready_since: int | None = None
        """Since when it could have taken over; `None` while it could not."""
        self._runs = 0
        """Counts its starts: what an earlier one asked for is answered to nobody."""
        self._woken: list[_Act] = []
        self._watch = LeaseWatch("ward")
        self._token = self._number = 0
        self._offset = self.rng.randint(-SKEW_US, SKEW_US)
        self._rate = 1 + self.rng.uniform(-DRIFT, DRIFT)
        self.on_crash = lambda: world.note(CRASHED, place)

    # -- time ------------------------------------------------------------------------------------

    def now(self) -> int:
        """What its clock shows."""
        return self.clock.now + self._offset

    def _steady(self) -> int:
        """A clock that never stands, and shows no time of day."""
        return round(self.clock.now * self._rate)

    def _later(self, delay_us: int, act: Callable[..., None], *args: Any) -> None:
        self.clock.after(delay_us, self._do_now, act, *args)

    def _do_now(self, act: Callable[..., None], *args: Any) -> None:
        """Do something, unless it is paused, or its lease is over."""
        if self.paused:
            self._woken.append((act, args))
            return
        lease = self.lease
        if self.core is not None and lease is not None and not lease.holds(self._steady()):
            self.world.note(LAPSED, self.place)
            self.stop()
        act(*args)

    def pause(self, for_us: int) -> None:
        """LeaseStand still for a while."""
        self.paused, self.ready_since = True, None
        self.world.note(PAUSED, self.place)
        self.clock.after(for_us, self.wake)

    def wake(self) -> None:
        """Go on, with all that came meanwhile."""
        if self.paused:
            self.paused = False
            self.world.note(WOKE, self.place)
            woken, self._woken = self._woken, []
            come: dict[Wire, deque[_Act]] = {}  # what a connection brings keeps its order
            for one in woken:
                if one[1] and isinstance(one[1][0], Wire):
                    come.setdefault(one[1][0], deque()).append(one)
            self.rng.shuffle(woken)
            for one in woken:
                wire = one[1][0] if one[1] else None
                act, args = come[wire].popleft() if isinstance(wire, Wire) else one
                self._do_now(act, *args)

    # -- the database ----------------------------------------------------------------------------

    def _ask(self, work: Callable[[], T], then: Callable[[T | None], None]) -> None:
        """Have the database do something; what comes back is `None` when nobody knows."""
        run, rng = self._runs, self.rng
        late, lost = rng.random() < HELD_UP, self.cut_off and rng.random() < 0.7
        if late or lost:
            self._later(ANSWER_US, self._answered, then, None, run)
        if not lost:
            delay = rng.randrange(ANSWER_US, LATE_US) if late else rng.randrange(*DATABASE_US)
            self.clock.after(delay, self._asked, work, nobody if late else then, run)

    def _asked(self, work: Callable[[], T], then: Callable[[T | None], None], run: int) -> None:
        answer = work()
        if self.cut_off and then is not nobody:
            self._later(ANSWER_US, self._answered, then, None, run)
        else:
            self._later(self.rng.randrange(*DATABASE_US), self._answered, then, answer, run)

    def _answered(self, then: Callable[[T | None], None], answer: T | None, run: int) -> None:
        if run == self._runs:
            then(answer)

    # -- its lives -------------------------------------------------------------------------------

    def start(self) -> None:
        """LeaseStand by."""
        self._down = False
        self._runs += 1
        self.lease = None
        self._watch = LeaseWatch("ward")
        self._look(self._runs)

    def _look(self, run: int) -> None:
        if run != self._runs or self.lease is not None:
            return
        if self.ready_since is None and not self.cut_off:
            self.ready_since = self.clock.now
        self._ask(lambda: self.database.stand, self._saw)

    def _saw(self, stand: LeaseStand | None) -> None:
        if stand is None:
            self.ready_since = None
        if stand is None or not self._watch.saw(stand, now=self._steady()):
            self._later(self._watch.look_us(HOLD_US), self._look, self._runs)
            return
        asked_at = self._steady()
        self._ask(
            lambda: self.world.claim(self, stand),
            lambda given: self._claimed(given, asked_at),
        )

    def _claimed(self, given: LeaseStand | None, asked_at: int) -> None:
        lease = None
        if given is not None:
            lease = HeldLease(given.token, hold_us=given.hold_us, asked_at=asked_at)
        if given is None or lease is None or not lease.holds(self._steady()):
            self.ready_since = None
            self._look(self._runs)
            return
        self.ready_since = None
        self.lease, self._token, self._number = lease, given.token, given.number
        last = self.store.last_at
        self._offset = max(self.now(), last) - self.clock.now
        self.world.note(TOOK, self.place, given.token)
        if self.now() < last:
            self.world.faults.append(f"the clock of {self.place} went behind the last commit")
        super().start()
        self._later(lease.hold_us // 5, self._renew, self._runs)

    def _renew(self, run: int) -> None:
        lease = self.lease
        if lease is None or run != self._runs:
            return
        asked_at = self._steady()

        def renewed(done: bool | None) -> None:
            if done:
                lease.renewed(asked_at=asked_at)
            elif done is False:
                self._fenced()

        self._ask(lambda: self.database.renew(lease.token), renewed)
        self._later(lease.hold_us // 5, self._renew, run)

    def _fenced(self) -> None:
        self.world.note(FENCED, self.place)
        self.stop()

    def stop(self) -> None:
        """End this life, as a crash would, and stand by."""
        if self.core is not None:
            on_crash, self.on_crash = self.on_crash, lambda: None
            self.crash(0)
            self.on_crash = on_crash

    def crash(self, down_us: int) -> None:
        """Lose all that is in memory; what was asked of the database is done all the same."""
        if self._down:
            return
        self._down = True
        self._runs += 1
        self.paused = False
        self.ready_since = None
        self._woken.clear()
        if self.core is None:
            self.on_crash()
            self._later(down_us, self.start)
        else:
            super().crash(down_us)

    # -- clients ---------------------------------------------------------------------------------

    def let_in(self, wire: Wire, agent: str, key: str, seen: int) -> bool:
        """A client is there; false when nobody answers."""
        lease = self.lease
        if self.paused or lease is None or not lease.holds(self._steady()):
            return False
        return super().let_in(wire, agent, key, seen)

    def hear(self, wire: Wire, session: HostSession, frames: list[bytes]) -> None:
        """Frames came from a client."""
        self._do_now(super().hear, wire, session, frames)

    def lost(self, wire: Wire) -> None:
        """It notices that a connection is gone."""
        self._do_now(super().lost, wire)

    # -- its disk --------------------------------------------------------------------------------

    def _flush(self, life: int) -> None:
        if life != self._life or self.core is None:
            return
        steps, self._steps = self._steps, []
        trims, self._trims = self._trims, []
        self._commit(StandingCommit(steps, trims, self.now()))

    def _commit(self, commit: StandingCommit) -> None:
        token, number = self._token, self._number + 1

        def work() -> Fate:
            return self.database.commit(token, number, commit)

        if self.trap and self.rng.random() < 0.5:  # it is under way when another takes over
            self.clock.after(HOLD_US + self.rng.randrange(SECOND_US // 2), work)
            self.crash(self.rng.randrange(SECOND_US // 5, 3 * SECOND_US))
            return
        self._ask(work, lambda fate: self._committed(commit, fate))

    def _committed(self, commit: StandingCommit, fate: Fate | None) -> None:
        if fate is None:  # it is looked up by its number before anything else
            self.world.note(UNKNOWN, self.place, self._number + 1)
            token, number = self._token, self._number + 1
            self._ask(
                lambda: commit_fate(self.database.stand, token, number),
                lambda fate: self._committed(commit, fate),
            )
        elif fate is Fate.OPEN:
            self._commit(commit)
        elif fate is Fate.DONE:
            self._number += 1
            self._kept += len(commit.steps)
            self._writing = False
            if self.trap:
                self.crash(self.rng.randrange(SECOND_US // 5, 3 * SECOND_US))
                return
            if self._steps or self._trims:
                self._write_soon()
            while self._behind and self._behind[0][0] <= self._kept:
                self._do(self._behind.popleft()[1])
        else:
            self._fenced()

    def _do(self, effects: Sequence[Effect | Outgoing]) -> None:
        self.world.answered += 1
        if self._token != self.database.stand.token:
            self.world.faults.append(f"{self.place} answered when another had taken over")
        super()._do(effects)


class TakeoverWorld(ClientWorld):
    """Processes that stand for one host, its clients, and what happens to all of them."""

    def __init__(self, seed: int, *, end_us: int, standing: int) -> None:
        self._standing = standing
        self.restored: dict[str, list[bytes]] = {}
        self.faults: list[str] = []
        """What must not be, and was."""
        self.answered = self.taken = 0
        """How often something was let out, and how often the lease went over."""
        super().__init__(seed, end_us=end_us)

    def _make_servers(self) -> Sequence[StandingProcess]:
        self.database = LeasedDatabase(self.clock)
        self.processes = [StandingProcess(self, f"ward-{n + 1}") for n in range(self._standing)]
        return self.processes

    def claim(self, process: StandingProcess, seen: LeaseStand) -> LeaseStand | None:
        """The database is asked for the lease."""
        renewed_at = self.database.renewed_at
        given = self.database.claim(seen, "ward", process.place)
        if given is None:
            return None
        self.taken += 1
        for other in self.processes:
            held = other.lease if other.core is not None and other is not process else None
            if held is not None and held.holds(other._steady()):
                self.faults.append(f"{process.place} took the lease that {other.place} still holds")
            waited = other.ready_since
            late_us = self.clock.now - max(renewed_at, waited or 0) - round(TAKEOVER_S * SECOND_US)
            if waited is not None and late_us > 0:
                self.faults.append(f"{other.place} stood by and nobody took over, {late_us} us ago")
        return given

    # -- faults ----------------------------------------------------------------------------------

    def _victim(self, rng: Random) -> StandingProcess:
        """Mostly the one that serves."""
        active = [one for one in self.processes if one.core is not None]
        return rng.choice(active if active and rng.random() < 0.8 else self.processes)

    def crash(self, fault: Crash) -> None:
        """A process is killed, at once or when its next steps are on disk."""
        victim = self._victim(self.rng(f"crash/{fault.at}"))
        if fault.steps and victim.core is not None:
            victim.trap = True
        else:
            victim.crash(fault.down_us)

    def pause(self, rng: Random, for_us: int) -> None:
        """A process stands still for a while."""
        victim = self._victim(rng)
        if self.healed_at is None and not victim.paused:
            victim.pause(for_us)

    def cut_off(self, rng: Random, for_us: int) -> None:
        """A process does not reach the database for a while."""
        victim = self._victim(rng)
        if self.healed_at is None and not victim.cut_off:
            victim.cut_off, victim.ready_since = True, None
            self.note(CUT_OFF, victim.place)
            self.clock.after(for_us, self._join_again, victim)

    def _join_again(self, victim: StandingProcess) -> None:
        victim.cut_off = False

    def bring_back(self) -> None:
        """Nobody is paused or cut off any more."""
        for one in self.processes:
            one.trap = one.cut_off = False
            one.wake()


def _tell(happening: Happening) -> str:
    return f"{happening.who} {happening.kind} {happening.what or ''}"


for _kind in (PAUSED, WOKE, CUT_OFF, TOOK, FENCED, LAPSED, UNKNOWN):
    tell_as(_kind, _tell)
