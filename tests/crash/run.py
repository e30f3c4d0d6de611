"""Kill hosts at random moments under load, and count what was promised against what came.

    python -m tests.crash.run --kills 200 --seed 7 [--store postgresql] [--transport tls] [--json]
    python -m tests.crash.run --workers 2 --kills 200 [--transport tls]
    python -m tests.crash.run --takeover --kills 100 [--takeover-s 2] [--tuples 100000]
    python -m tests.crash.run --takeover --kills 20 --failovers 20
    python -m tests.crash.run --standby --kills 100 [--tuples 100000]

Three real hosts, the programs of `load` on all of them, and `kill -9` for one host after the other,
or for two at a time, or for one that is just starting. Then all hosts are started once more, the
load stops writing, and everything that was acknowledged must be with exactly one program. Exit 1,
with the story of the first broken promise, when it is not.

A seed fixes what the run tries and when; what the machine makes of it differs from run to run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from nomospace.store.segments import read_manifest
from tests.crash.hosts import NAMES, TRANSPORTS, Hosts, Nowhere
from tests.crash.journals import read
from tests.crash.ledger import Fault, Ledger
from tests.crash.load import ROLES, Load
from tests.crash.retold import retell
from tests.parity.processes import Schemas, Stores
from tests.servers import shared_postgres

PACE_S: Final = 1.5
"""The most time between two kills, when all hosts are up; a host is away half as long at most."""
QUIET_S: Final = 1.0
"""So long nothing new may come in the end, before it is believed that nothing will."""
DRAIN_S: Final = 120.0
"""What has not come so long after the last host was started again is lost."""
RESTARTS_MAX_S: Final = 60.0
"""How long hosts that are under way to their next life may take in the end."""


@dataclass
class Outcome:
    """What a run has found."""

    seed: int
    store: str
    transport: str = "tcp"
    kills: int = 0
    took_s: float = 0.0
    operations: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    leases: dict[str, int] = field(default_factory=dict)
    moves: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    folder: str = ""
    hosts: int = len(NAMES)

    @property
    def good(self) -> bool:
        """Whether all promises were kept."""
        return not self.faults

    def told(self) -> str:
        """The run in words."""
        how = f"{self.store}, {self.transport}, seed {self.seed}"
        tried = f"{self.kills} kills of {self.hosts} hosts ({how})"
        lines = [f"{tried}, {self.operations:,} operations, {self.took_s:.1f} s"]
        lines += [f"  {count:>8,}  {what}" for what, count in self.checked.items()]
        lines += [f"  {count:>8,}  leases {how}" for how, count in self.leases.items()]
        lines += [f"  {count:>8,}  times a walker {how}" for how, count in self.moves.items()]
        if self.good:
            lines.append("nothing lost, nothing doubled, nothing out of order, nothing too early")
        else:
            lines.append(f"{len(self.faults)} broken promises; the first:")
            lines.append(str(self.faults[0]))
            lines.append(f"stores and logs are in {self.folder}")
        return "\n".join(lines)

    def as_json(self) -> str:
        """The run for other programs."""
        return json.dumps(
            {
                "seed": self.seed,
                "store": self.store,
                "transport": self.transport,
                "kills": self.kills,
                "took_s": round(self.took_s, 1),
                "operations": self.operations,
                "checked": self.checked,
                "leases": self.leases,
                "moves": self.moves,
                "faults": [str(fault) for fault in self.faults],
            }
        )


class Run:
    """One run: `play` carries it out."""

    def __init__(
        self, hosts: Hosts, outcome: Outcome, *, pace_s: float, say: Callable[[str], None]
    ) -> None:
        self.outcome = outcome
        self._pace_s = pace_s
        self._hosts = hosts
        self._rng = random.Random(outcome.seed)
        self._began = time.monotonic()
        self._ledger = Ledger(lambda: time.monotonic() - self._began)
        self._up: dict[str, None] = {}
        self._rising: dict[asyncio.Task[None], None] = {}
        self._say = say

    async def play(self, kills: int, before: Callable[[], Awaitable[None]] | None = None) -> None:
        """Kill so often, heal, drain, and judge; `before` is done when the hosts are there."""
        for name in self._hosts.names:
            self._hosts.begin(name)
        for name in self._hosts.names:
            await self._hosts.ready(name)
            self._up[name] = None
        if before is not None:
            await before()
        urls = {name: self._hosts.url(name) for name in self._hosts.names}
        access = self._hosts.access(
            *[f"{role}@{name}" for name in self._hosts.names for role in ROLES]
        )
        load = Load(urls, self._ledger, random.Random(self._rng.random()), access)
        try:
            await load.start()
            await self._kill(kills, load)
            await self._heal()
            await load.finish_writing()
            await self._drain(load)
            await self._judge(load)
        finally:
            await load.close()
            for task in self._rising:
                task.cancel()
        self.outcome.took_s = time.monotonic() - self._began

    # -- killing -----------------------------------------------------------------------------

    async def _kill(self, kills: int, load: Load) -> None:
        rng, left = self._rng, kills
        while left:
            # Mostly the hosts find each other between two kills, and sometimes they do not.
            if rng.random() < 0.7:
                await self._heal()
            await asyncio.sleep(rng.uniform(0.0, self._pace_s))
            self._hosts.check_alive()
            if load.errors:
                return  # nothing will get better by more kills
            if self._up:
                name = rng.choice(list(self._up))
                self._end(name)
                left -= 1
                again = rng.random() < 0.15 and left > 0
                left -= again
                task = asyncio.create_task(self._rise(name, dies_starting=again))
                self._rising[task] = None
                task.add_done_callback(lambda task: self._rising.pop(task, None))

    def _end(self, name: str) -> None:
        self._up.pop(name, None)
        self._hosts.kill(name)
        self.outcome.kills += 1
        self._ledger.happened(f"{name} is killed")
        if self.outcome.kills % 10 == 0:
            self._say(f"{self.outcome.kills} kills")

    async def _rise(self, name: str, *, dies_starting: bool) -> None:
        """Start a host again after a while; it may be killed before it is ready."""
        rng = self._rng
        await asyncio.sleep(rng.uniform(0.0, self._pace_s / 2))
        self._hosts.begin(name)
        if dies_starting:
            await asyncio.sleep(rng.uniform(0.0, 1.0))
            self._end(name)
            self._hosts.begin(name)
        await self._hosts.ready(name)
        self._ledger.happened(f"{name} is back")
        self._up[name] = None

    async def _heal(self) -> None:
        async with asyncio.timeout(RESTARTS_MAX_S):
            while self._rising:
                await asyncio.gather(*self._rising)

    # -- judging -----------------------------------------------------------------------------

    async def _drain(self, load: Load) -> None:
        """Wait until everything has come, and then for what should not."""
        until = time.monotonic() + DRAIN_S
        while self._ledger.unseen() and time.monotonic() < until and not load.errors:
            await asyncio.sleep(0.1)
        await asyncio.sleep(QUIET_S)
        self._hosts.check_alive()

    async def _judge(self, load: Load) -> None:
        outcome = self.outcome
        for who, error in load.errors:
            story = "".join(traceback.format_exception(error)).rstrip()
            outcome.faults.append(Fault(f"{who} was told {type(error).__name__}", story))
        if not load.errors:
            outcome.faults += self._ledger.faults()
            expected, states = load.expected(), await load.states()
            for member, state in states.items():
                if state != expected[member]:
                    what = f"the control state of {member} is not what its events make it"
                    story = f"  (sent, got, promised, fired) is {state}, not {expected[member]}"
                    outcome.faults.append(Fault(what, story))
            outcome.checked["control states"] = len(states)
        outcome.checked = {**self._ledger.checked(), **outcome.checked}
        outcome.leases = load.settled
        outcome.moves = load.moves
        outcome.operations = load.operations


async def crash(
    *,
    kills: int,
    seed: int,
    store: str = "sqlite",
    transport: str = "tcp",
    seal: bool = False,
    workers: int = 0,
    pace_s: float = PACE_S,
    say: Callable[[str], None] = lambda _: None,
    keep: bool = False,
) -> Outcome:
    """Play one run with hosts of its own. The files of a run that went wrong are kept."""
    async with AsyncExitStack() as parts:
        stores: Stores | None = None
        if store == "postgresql":
            stores = Schemas(shared_postgres().url, f"crash{os.getpid()}_{seed}")
        elif store == "memory":
            stores = Nowhere()
        names = NAMES[:2] if workers else NAMES
        rng = random.Random(seed)
        hosts = parts.enter_context(
            Hosts(stores, transport=transport, seal=seal, names=names, workers=workers, rng=rng)
        )
        hosts.keep = True  # until all is well
        count = len(names) * max(1, workers)
        outcome = Outcome(seed, store, transport, folder=str(hosts.folder), hosts=count)
        await Run(hosts, outcome, pace_s=pace_s, say=say).play(kills)
        for name, code in hosts.end().items():
            if code:
                outcome.faults.append(Fault(f"{name} ended with {code}", hosts.log(name)))
        if store != "memory":
            compare(hosts, outcome)
        hosts.keep = keep or (not outcome.good and store != "memory")
        return outcome


def compare(hosts: Hosts, outcome: Outcome) -> None:
    """Hold the journals of hosts that have ended against what they have kept."""
    for name, store, folder in hosts.kept():
        reading = read(store, folder)
        for what, count in (
            ("segments", 0 if folder is None else len(read_manifest(folder).segments)),
            ("control states replayed", reading.members),
            ("rulings in journals", reading.rulings),
            ("tuples in journals", reading.tuples),
        ):
            outcome.checked[what] = outcome.checked.get(what, 0) + count
        outcome.faults += [
            Fault(f"the store and the journal of {name} differ", f"  {wrong}")
            for wrong in reading.wrong
        ]
    retold = retell([(store, folder) for _, store, folder in hosts.kept()])
    outcome.checked["rulings replayed"] = retold.same
    outcome.faults += [Fault("a ruling is not reproduced", f"  {wrong}") for wrong in retold.wrong]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--kills", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="what is tried, and when (default: 1)")
    stores = ("sqlite", "postgresql", "memory")
    about = "where hosts keep things; memory keeps nothing, and must be found out"
    parser.add_argument("--store", choices=stores, default="sqlite", help=about)
    about = "how hosts reach each other, and clients them (NATS is for hosts only)"
    parser.add_argument("--transport", choices=TRANSPORTS, default="tcp", help=about)
    about = "two hosts of so many workers each; mostly one of these is killed, and comes back"
    parser.add_argument("--workers", type=int, default=0, help=about)
    parser.add_argument("--seal", action="store_true", help="seal segments all the time")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--keep", action="store_true", help="keep stores and logs in any case")
    about = "three processes stand for one host; the active one is killed or paused"
    parser.add_argument("--takeover", action="store_true", help=about)
    about = "two processes with a store each keep one host; an operator has the other take over"
    parser.add_argument("--standby", action="store_true", help=about)
    about = "with --takeover: seconds in which another takes over (default: 4)"
    parser.add_argument("--takeover-s", type=float, default=4.0, help=about)
    parser.add_argument("--tuples", type=int, default=0, help="with --takeover: that lie there")
    about = "with --takeover: kills of the database's primary, which has a synchronous replica"
    parser.add_argument("--failovers", type=int, default=0, help=about)
    given = parser.parse_args(arguments)

    def say(what: str) -> None:
        if not given.json:
            print(what, file=sys.stderr, flush=True)

    if given.takeover or given.standby:
        from tests.crash.takeover import take_over

        found = asyncio.run(
            take_over(
                kills=given.kills,
                seed=given.seed,
                takeover_s=given.takeover_s,
                paired=given.standby,
                tuples=given.tuples,
                failovers=given.failovers,
                strict=given.takeover,
                say=say,
                keep=given.keep,
            )
        )
        print(found.as_json() if given.json else found.told())
        return 0 if found.good else 1
    outcome = asyncio.run(
        crash(
            kills=given.kills,
            seed=given.seed,
            store=given.store,
            transport=given.transport,
            seal=given.seal,
            workers=given.workers,
            say=say,
            keep=given.keep,
        )
    )
    print(outcome.as_json() if given.json else outcome.told())
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
