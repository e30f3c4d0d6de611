"""`nomospace bench hostile`: what a well-behaved client notices of tenants who misbehave.

A host with a store runs in a process of its own. Ann writes a tuple and takes it, again and again,
first alone, then beside each kind of attacker, one of them and sixteen. Attackers are let in like
everybody; their own processes run at the lowest priority, so that what ann notices is the host's.
Each kind has a fresh host, and ann is measured alone on it first: as many round trips. The floor is
the p99 of all of these together: the longest few of one host's are the disk's, by chance, now 3 ms
and now 15. Attackers begin with the first round trip that counts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.processes import ChildProcess, cores
from nomospace_lab.bench.report import at_most, times_floor
from nomospace_lab.bench.suites.hostile_parts import ATTACKS, HostileOptions

TRIPS: Final = 1_000
"""How many round trips of ann's are measured, each time; the p99 is the tenth longest."""
TRIPS_MIN: Final = 100
CROWD: Final = 16
PARTS: Final = "nomospace_lab.bench.suites.hostile_parts"
PER_MS: Final = 1e3
MEGA: Final = 1 << 20
TRIPLE: Final = 3.0
P99_MS_MAX: Final = 50.0
MORE_MB_MAX: Final = 200.0


@bench("hostile", "a well-behaved client beside each kind of tenant who misbehaves")
def hostile(run: BenchRun) -> Iterator[BenchRow]:
    """Two rows for each attack and number of attackers: ann's p99, and the host's memory."""
    trips = max(TRIPS_MIN, round(TRIPS * run.scale * (0.5 if run.quick else 1.0)))
    measured: list[AttackFigures] = []
    for attack in ATTACKS:
        for attackers in (1, CROWD):
            run.say(f"{attack}, {attackers} of them: twice {trips:,} round trips")
            measured.append(measure(attack, attackers, trips))
    alone = sorted(chain.from_iterable([one.alone for one in measured]))
    for one in measured:
        yield from rows(one, alone)
    run.notes.append("attackers are processes at the lowest priority, beside ann's on one core")


class AttackFigures(NamedTuple):
    """Ann's round trips on one host, in seconds, and the bytes that the host had in memory."""

    attack: str
    attackers: int
    alone: list[float]
    beside: list[float]
    before: float
    most: float
    tried: dict[str, int]
    """How often attackers were answered what."""


def measure(attack: str, attackers: int, trips: int) -> AttackFigures:
    """Measure ann alone on a fresh host, and then beside attackers of a kind."""
    near, far = (0, 1) if cores() > 1 else (-1, -1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        flags = ["--json", "--insecure", "--listen", "127.0.0.1:0"]
        flags += ["--store", str(folder / "ward.db")]
        host = ChildProcess("host", "nomospace.cli", "host", "run", "ward", *flags)
        stack.callback(host.end)
        url = host.hear()["url"]
        os.sched_setaffinity(host.pid, {near}) if near >= 0 else None

        def start(name: str, **more: object) -> ChildProcess:
            told = HostileOptions(url, far, **more)  # type: ignore[arg-type]
            part = ChildProcess(name, PARTS, name, msgspec.json.encode(told).decode())
            stack.callback(part.end)
            part.hear()  # it is ready
            return part

        ann = start("ann", trips=trips)
        ann.say("go")
        alone = ann.hear()
        before = _memory(host.pid)
        rogue = start("attackers", attack=attack, attackers=attackers)
        ann = start("ann", trips=trips)
        rogue.say("go")
        ann.say("go")
        beside = ann.hear()
        most = _memory(host.pid, peak=True)
        rogue.say("stop")
        return AttackFigures(attack, attackers, alone, beside, before, most, rogue.hear())


def rows(one: AttackFigures, alone: list[float]) -> Iterator[BenchRow]:
    """The two rows of one kind of attack; `alone` are ann's round trips alone on all hosts."""
    words = ", ".join(f"{what} {n:,}" for what, n in sorted(one.tried.items())) or "nothing"
    who = "one attacker" if one.attackers == 1 else f"{one.attackers} attackers"
    beside = sorted(one.beside)
    yield BenchRow(
        what=f"ann's p99 beside {who}: {one.attack}",
        unit="ms",
        ours=_share(beside, 0.99) * PER_MS,
        floor=_share(alone, 0.99) * PER_MS,
        goal=times_floor(TRIPLE) & at_most(P99_MS_MAX, "ms"),
        how=(
            f"the floor: ann alone, on all hosts; medians {_share(beside, 0.5) * PER_MS:.2f} and "
            f"{_share(alone, 0.5) * PER_MS:.2f} ms, longest {beside[-1] * PER_MS:,.0f} ms, "
            f"{len(beside):,} and {len(alone):,} round trips; they were answered: {words}"
        ),
    )
    yield BenchRow(
        what=f"memory of the host beside {who}: {one.attack}",
        unit="MB more",
        ours=max(0.0, one.most - one.before) / MEGA,
        goal=at_most(MORE_MB_MAX, "MB more"),
        how=f"the most it had, over the {one.before / MEGA:.0f} MB beside ann alone",
    )


def _memory(pid: int, *, peak: bool = False) -> float:
    """What a process has in memory, or the most it has had, in bytes."""
    name = "VmHWM:" if peak else "VmRSS:"
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith(name):
            return float(line.split()[1]) * 1024
    return 0.0


def _share(sorted_trips: list[float], share: float) -> float:
    """A quantile of sorted figures."""
    return sorted_trips[min(len(sorted_trips) - 1, int(len(sorted_trips) * share))]
