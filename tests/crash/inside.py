"""What a test does to a host from inside its process: a clock that jumps, and deliberate faults.

A host whose process is this program (`nursery.start(..., program=inside.PROGRAM)`) is any host,
except that its clock is the machine's and what a file says (`ClockFile`), and that it has a fault
if it is given the name of one of `FAULTS`:

    CLOCK_FILE FAULT host run ...

Each fault is one that a checker of histories (`tests.crash.check`) must find out from outside. What
is patched are names that other parts of a host call, so that faults outlive changes inside them. In
the nursery no tests can be imported, so this file needs nothing of them.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

PROGRAM: Final = Path(__file__)
_CLOCK: Final = struct.Struct("qqq")


class Fault(NamedTuple):
    """What puts a fault into this process, and which attack brings it to light."""

    put: Callable[[], None]
    attack: str = ""


FAULTS: Final[dict[str, Fault]] = {}
"""By what such a host does."""
FORGETFUL: Final = "remembers few who have gone"
"""No fault, and given as one: what is remembered of those who have gone is full after a few."""
FULL: Final = 4_096
"""What caches of addresses hold."""
COUNTS_MAX: Final = 100
"""Numbers that such a host counts by name."""


class ClockFile:
    """How far a process's clocks are ahead of the machine's; shared with the process.

    `slept` is for the clock that counts since the machine was started, as after a sleep; `wall` is
    for the one that people set; another `boot` is another start of the machine.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_CLOCK.size))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _CLOCK.size)

    def read(self) -> tuple[int, int, int]:
        """`slept` and `wall` in nanoseconds, and `boot`."""
        slept, wall, boot = _CLOCK.unpack(self._shared[:])
        return slept, wall, boot

    def jump(self, *, slept_s: float = 0.0, wall_s: float = 0.0, boots: int = 0) -> None:
        """Let the clocks jump from where they are."""
        slept, wall, boot = self.read()
        slept, wall = slept + int(slept_s * 1e9), wall + int(wall_s * 1e9)
        self._shared[:] = _CLOCK.pack(slept, wall, boot + boots)

    def put_into_this_process(self) -> None:
        """Let this process read its clocks here."""
        from nomospace.node import clock

        kernel, wall, boot = clock._kernel_ns, time.time_ns, clock._boot
        _put(clock, "_kernel_ns", lambda: kernel() + self.read()[0])
        _put(clock, "_boot", lambda: boot() + self.read()[2])
        _put(time, "time_ns", lambda: wall() + self.read()[1])
        _put(time, "time", lambda: time.time_ns() / 1e9)


def _put(where: Any, name: str, what: object) -> None:
    setattr(where, name, what)


def _every(number: int) -> Callable[[], bool]:
    """True once in so many times."""
    counter = count(1)
    return lambda: next(counter) % number == 0


def _fault(name: str, attack: str = "") -> Callable[[Callable[[], None]], Callable[[], None]]:
    def note(put: Callable[[], None]) -> Callable[[], None]:
        FAULTS[name] = Fault(put, attack)
        return put

    return note


def _slow_disk(before_s: float, after_s: float) -> None:
    """Let commits take longer, so that much is under way at every moment."""
    from nomospace.store.sqlite import SqliteStore

    flush = SqliteStore.flush

    def slowly(store: SqliteStore) -> None:
        time.sleep(before_s)
        flush(store)
        time.sleep(after_s)

    _put(SqliteStore, "flush", slowly)


@_fault("answers before the disk has it", "kill")
def _early() -> None:
    from nomospace.node.keeper import Keeper

    put = Keeper.put

    def answer_first(keeper: Keeper, step: Any) -> int:
        number = put(keeper, step)
        keeper._loop.call_soon(keeper._on_kept, number)
        return number

    _put(Keeper, "put", answer_first)
    _slow_disk(0.4, 0.0)


@_fault("gives a tuple to two who wait")
def _twice() -> None:
    from nomospace.space.outcomes import Woken
    from nomospace.space.steps import SpaceSteps

    offer, now_and_then = SpaceSteps._offer, _every(3)

    def offer_again(steps: Any, record: Any, now: int) -> None:
        offer(steps, record, now)
        if record.order > 0 or not now_and_then():
            return
        for other in steps._waiters.takes.of(record):
            if steps._suits(other, record):
                steps._waiters.dismiss(other)
                steps._outcomes.append(Woken(other.ticket, record))
                return

    _put(SpaceSteps, "_offer", offer_again)


@_fault("forgets one who waits")
def _forgets() -> None:
    from nomospace.space.steps import SpaceSteps

    offer, now_and_then = SpaceSteps._offer, _every(2)

    def pass_by(steps: Any, record: Any, now: int) -> None:
        if not now_and_then():
            offer(steps, record, now)

    _put(SpaceSteps, "_offer", pass_by)


@_fault("reads from a cache that takes do not clear")
def _stale() -> None:
    from nomospace.calls.requests import READ, Seek
    from nomospace.host.effects import Answer
    from nomospace.host.plain import PlainCalls

    serve, known = PlainCalls.serve, dict[str, Any]()

    def remember(calls: Any, events: Any) -> int:
        asked = getattr(events[0], "request", None)
        if type(asked) is not Seek or asked.how != READ or not events[0].op > 0:
            return serve(calls, events)
        key = f"{asked.space} {asked.template!r}"
        if key in known:
            calls._step.orders.append(Answer(events[0].op, known[key]))
            return 1
        done = serve(calls, events[:1])
        if done:
            known[key] = calls._step.orders[-1].value
        return done

    _put(PlainCalls, "serve", remember)


@_fault("writes twice under one key")
def _again() -> None:
    from nomospace.host.writing import TupleWriting

    _put(TupleWriting, "has_written", lambda *_: False)


@_fault("lends a tuple to two")
def _lends() -> None:
    from nomospace.space import Space

    lend, now_and_then = Space.lend, _every(3)

    def keep(space: Any, record: Any, *given: Any, **more: Any) -> None:
        if more.get("new") or not now_and_then():
            lend(space, record, *given, **more)

    _put(Space, "lend", keep)


@_fault("delivers a letter twice")
def _letters() -> None:
    from nomospace.host.moving import Moving

    deliver, now_and_then = Moving.deliver, _every(3)

    def deliver_again(moving: Any, mail: Any) -> None:
        deliver(moving, mail)
        if now_and_then():
            deliver(moving, mail)

    _put(Moving, "deliver", deliver_again)


@_fault("does the calls of a client that is back again", "drop")
def _anew() -> None:
    from nomospace.sessions.host_session import HostSession

    _put(HostSession, "knows", lambda *_: False)
    _slow_disk(0.02, 0.02)


@_fault("takes a tuple and leaves it there")
def _stays() -> None:
    from nomospace.space import Space
    from nomospace.space.store import SpaceRecords

    remove, lend, now_and_then = SpaceRecords.remove, Space.lend, _every(5)
    lending = list[bool]()

    def let_stay(records: Any, record: Any) -> None:
        if lending or record.fields[0] != "job" or not now_and_then():
            remove(records, record)

    def let_go(space: Any, *given: Any, **more: Any) -> None:
        lending.append(True)
        lend(space, *given, **more)
        lending.clear()

    _put(SpaceRecords, "remove", let_stay)
    _put(Space, "lend", let_go)


@_fault("takes a set and leaves a part of it there")
def _part() -> None:
    from nomospace.space.store import SpaceRecords

    remove, now_and_then = SpaceRecords.remove, _every(3)

    def let_stay(store: Any, record: Any) -> None:
        paper = getattr(record.fields[-1], "args", ("",))[0]
        if paper != "Finance" or not now_and_then():
            remove(store, record)

    _put(SpaceRecords, "remove", let_stay)


@_fault("does not tell the disk what was taken", "kill")
def _untold() -> None:
    from nomospace.host.changes import TupleGone
    from nomospace.host.step import HostStep

    end, now_and_then = HostStep.end, _every(10)

    def leave_out(step: Any) -> Any:
        step.changes[:] = [
            one for one in step.changes if type(one) is not TupleGone or not now_and_then()
        ]
        return end(step)

    _put(HostStep, "end", leave_out)


@_fault("takes no notice of an acknowledgement")
def _unheard() -> None:
    from nomospace.host.lending import Lending

    acknowledge, now_and_then = Lending.acknowledge, _every(4)

    def nod(lending: Any, agent: str, request: Any) -> bool:
        return now_and_then() or acknowledge(lending, agent, request)

    _put(Lending, "acknowledge", nod)


@_fault("loses what comes back from a lease")
def _loses() -> None:
    from nomospace.space import Space

    bring, now_and_then = Space._bring_back, _every(5)

    def drop(space: Any, lease: Any, now: int) -> None:
        if now_and_then():
            del space._lent[lease.record.id]
        else:
            bring(space, lease, now)

    _put(Space, "_bring_back", drop)


@_fault("does not keep answers with what they tell", "kill")
def _unkept() -> None:
    from nomospace.sessions.pushing import Pushing

    outputs = Pushing.outputs

    def forget(pushing: Any, effects: Any, persisted: bool) -> Any:
        outputs(pushing, effects, persisted)
        return ()

    _put(Pushing, "outputs", forget)
    _slow_disk(0.0, 0.2)


def _remember_few() -> None:
    from nomospace.calls import addresses
    from nomospace.host import core, system
    from nomospace.protocols import links
    from nomospace.protocols.routing.limits import RoutingLimits
    from nomospace.sessions.host_sessions import HostSessions
    from nomospace.store import journal, sqlite
    from nomospace.wire import calls

    few = partial(RoutingLimits, guesses_max=100, passed_max=100, tombs_max=100)
    _put(core, "RoutingLimits", few)
    _put(system, "DEPARTED_MAX", 100)
    _put(journal, "COUNTS_MAX", COUNTS_MAX)
    _put(sqlite, "CACHE_KB", 512)
    _put(calls, "TEMPLATES_MAX", 100)
    (HostSessions.__init__.__kwdefaults__ or {})["sessions_max"] = 200
    for number in range(FULL):  # caches that cannot be made smaller are full from the beginning
        nobody = f"nobody-{number}@nowhere"
        addresses.owner_of(nobody)
        addresses.key_at("law", nobody)
        addresses.home_of(nobody, "law")
        links._mark("nowhere", number)


def main() -> int:
    """Run the command line with a clock of its own, and with a fault if it has a name."""
    from nomospace.cli import main as run

    clock, fault, *arguments = sys.argv[1:]
    ClockFile(Path(clock)).put_into_this_process()
    if fault == FORGETFUL:
        _remember_few()
    elif fault:
        FAULTS[fault].put()
    sys.argv = ["nomospace", *arguments]
    return run(arguments)


if __name__ == "__main__":
    code = main()
    if code:
        sys.exit(code)
