"""Three processes stand for one host; the active one is killed or paused again and again.

With a database that has a synchronous replica the primary is killed too, in between; the replica is
promoted, and the other one follows it.

Beside it there is a second host, and the programs of `load` are on both. A process that was paused
wakes when another has taken over, and must find out that it is fenced. In the end everything that
was acknowledged must be with exactly one program, as in `run`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nomospace.client.remote import connect
from nomospace.store.interface import StoreUnavailable
from tests.crash.hosts import Hosts
from tests.crash.ledger import Fault
from tests.crash.load import AGAIN_S, Load
from tests.crash.replica import ReplicatedPostgres, replicated_postgres
from tests.crash.run import Outcome, Run, compare
from tests.parity.processes import Process, Schemas, Stores
from tests.ports import free_port
from tests.servers import shared_postgres

WARD: Final = "ward"
PLACES: Final = ("ward-1", "ward-2", "ward-3")
TAKEN_S: Final = 60.0
"""Whoever has not taken over after so long never will: these machines are shared."""
CHUNK: Final = 2_000


@dataclass
class TakeoverOutcome(Outcome):
    """What a run has found of processes that stand for one host."""

    takeover_s: float = 0.0
    tuples: int = 0
    pauses: int = 0
    fenced: int = 0
    took: list[float] = field(default_factory=list)
    """Seconds from a kill or a pause until another serves."""
    failovers: list[float] = field(default_factory=list)
    """Seconds from a kill of the database's primary until a write is acknowledged again."""

    def told(self) -> str:
        """The run in words."""
        took = sorted(self.took) or [0.0]
        times = f"median {statistics.median(took):.2f} s, longest {took[-1]:.2f} s"
        told = f"told {self.takeover_s:g} s, " if self.takeover_s else "taken over by command, "
        tried = f"{self.kills} kills and {self.pauses} pauses of the active process"
        lines = [
            f"{tried}; {self.fenced} that were paused woke and were fenced",
            f"{told}another served after: {times}; {self.tuples:,} tuples",
        ]
        if over := sorted(self.failovers):
            times = f"median {statistics.median(over):.2f} s, longest {over[-1]:.2f} s"
            lines.append(
                f"{len(over)} kills of the database's primary; a write counted after: {times}"
            )
        return "\n".join([*lines, super().told()])

    def as_json(self) -> str:
        """The run for other programs."""
        more = {"pauses": self.pauses, "fenced": self.fenced, "tuples": self.tuples}
        times = {"takeover_s": self.takeover_s, "took_over_s": [round(s, 3) for s in self.took]}
        times["failed_over_s"] = [round(s, 3) for s in self.failovers]
        return json.dumps(json.loads(super().as_json()) | more | times)


class StandingHosts(Hosts):
    """The host `ward`, which three processes stand for, and `icu` beside it."""

    def __init__(
        self, stores: Stores | None, takeover_s: float = 0.0, places: tuple[str, ...] = PLACES
    ) -> None:
        super().__init__(stores, names=(WARD, "icu"))
        self._places = {place: free_port() for place in places}
        self._takeover_s = takeover_s
        self.standing: dict[str, Process] = {}
        self.active = ""
        """Who served last."""
        self.life = 0
        self.said = asyncio.Condition()
        self.stood: dict[str, int] = dict.fromkeys(places, 0)
        """How often each has begun to stand by."""
        self._serving: set[str] = set()
        """Whose last word was that it serves."""
        self.readers: dict[asyncio.Task[None], None] = {}
        self.settings: dict[str, str] = {}
        """What a process or a host is told besides, as a file of settings."""

    def url(self, name: str) -> str:
        """Where clients find a host: of `ward`, all places."""
        if name != WARD:
            return super().url(name)
        return f"nomos+plain://{','.join(f'127.0.0.1:{port}' for port in self._places.values())}"

    def begin(self, name: str) -> None:
        """Start a host; `ward` by all its processes."""
        if name == WARD:
            for place in self._places:
                self.begin_at(place)
            return
        given = ["--listen", f"127.0.0.1:{self._ports[name]}", "--store", self.store(name)]
        for port in self._places.values():
            given += ["--join", f"127.0.0.1:{port}"]
        given += ["--insecure", *self._told(name)]
        self._processes[name] = Process(name, self.folder, given)

    def _told(self, name: str) -> list[str]:
        if name not in self.settings:
            return []
        file = self.folder / f"{name}.toml"
        file.write_text(self.settings[name])
        return ["--config", str(file)]

    def begin_at(self, place: str) -> None:
        """Start one of the processes that stand for `ward`."""
        given = ["--standby", "--takeover-s", f"{self._takeover_s:g}"]
        self._begin_at(place, self.store(WARD), given)

    def _begin_at(self, place: str, store: str, more: list[str], how: str = "run") -> None:
        folder = self.folder / place
        folder.mkdir(exist_ok=True)
        given = ["--listen", f"127.0.0.1:{self._places[place]}", "--store", store, "--insecure"]
        given += ["--join", f"127.0.0.1:{self._ports['icu']}", *more, *self._told(place)]
        process = self.standing[place] = Process(WARD, folder, given, how=how)
        reader = asyncio.create_task(self._read(place, process))
        self.readers[reader] = None
        reader.add_done_callback(lambda task: self.readers.pop(task, None))

    async def _read(self, place: str, process: Process) -> None:
        """Hear what a process says: that it stands by, and that it serves."""
        while line := await asyncio.to_thread(process.child.stdout.readline):
            said = json.loads(line)
            async with self.said:
                if "life" in said:
                    self._serving.add(place)
                    if said["life"] > self.life:
                        self.active, self.life = place, said["life"]
                elif "standby" in said:
                    self._serving.discard(place)
                    self.stood[place] += 1
                self.said.notify_all()
        process.child.stdout.close()

    async def ready(self, name: str) -> None:
        """Wait until a host serves."""
        if name != WARD:
            await super().ready(name)
            return
        await self.served_after(0)

    async def served_after(self, life: int) -> None:
        """Wait until a later life than that serves."""
        await self._until(lambda: self.life > life, f"nobody served after life {life}")

    async def one_serves(self) -> None:
        """Wait until who served last has not begun to stand by since: busy machines lose leases."""
        await self._until(lambda: self.active in self._serving, "nobody serves")

    async def _until(self, told: Callable[[], bool], otherwise: str) -> None:
        try:
            async with asyncio.timeout(TAKEN_S), self.said:
                await self.said.wait_for(told)
        except TimeoutError:
            states = {
                place: Path(f"/proc/{one.child.pid}/stat").read_text().split()[2]
                for place, one in self.standing.items()
            }
            raise AssertionError(
                f"{otherwise} in {TAKEN_S:g} s; {self.active} served last, with life {self.life}; "
                f"of {sorted(self._serving)} it was the last word; the processes: {states}"
            ) from None

    async def take_over(self, place: str) -> None:
        """What an operator does when the process at a place is gone: nothing, here."""

    async def together(self) -> None:
        """Wait until another process can take over again: at once, here."""

    async def stands_again(self, place: str, times: int) -> None:
        """Wait until a process has begun to stand by more often than so many times."""
        again = f"{place} did not stand by again, which it had done {times} times"
        await self._until(lambda: self.stood[place] > times, again)

    def signal(self, place: str, number: int) -> None:
        """Send a signal to one of the processes, by its id."""
        self.standing[place].child.send_signal(number)

    def check_alive(self) -> None:
        """Raise when a process has ended that nobody has killed."""
        super().check_alive()
        for place, process in self.standing.items():
            code = process.child.poll()
            assert code is None, f"{place} ended by itself with {code}:\n{self.log(place)}"

    def log(self, name: str) -> str:
        """The end of what a host, or one of its processes, has logged."""
        path = self.folder / name / f"{WARD}.log"
        return path.read_text()[-3_000:] if path.exists() else super().log(name)

    def end(self) -> dict[str, int]:
        """End all gracefully; their exit codes."""
        standing, self.standing = self.standing, {}
        for process in standing.values():
            process.child.send_signal(signal.SIGCONT)
            process.child.send_signal(signal.SIGTERM)
        codes = {place: process.child.wait(60) for place, process in standing.items()}
        return codes | super().end()


class TakeoverRun(Run):
    """One run: `play` carries it out."""

    outcome: TakeoverOutcome
    _hosts: StandingHosts
    database: ReplicatedPostgres | None = None
    failovers = 0
    """How often the primary of the database is killed."""

    async def _kill(self, kills: int, load: Load) -> None:
        hosts, outcome, rng = self._hosts, self.outcome, self._rng
        load.refused = self.failovers > 0
        for number in range(kills):
            await asyncio.sleep(rng.uniform(0.0, self._pace_s))
            hosts.check_alive()
            if load.errors:
                return
            await hosts.one_serves()
            place, life, stood = hosts.active, hosts.life, dict(hosts.stood)
            pauses = number % 2 == 1
            began = time.monotonic()
            if pauses:
                outcome.pauses += 1
                hosts.signal(place, signal.SIGSTOP)
            else:
                outcome.kills += 1
                hosts.signal(place, signal.SIGKILL)
                process = hosts.standing.pop(place)
                await asyncio.to_thread(process.child.wait, TAKEN_S)
            self._ledger.happened(f"{place} is {'paused' if pauses else 'killed'}")
            await hosts.take_over(place)
            await hosts.served_after(life)
            outcome.took.append(time.monotonic() - began)
            self._ledger.happened(f"{hosts.active} has taken over")
            await asyncio.sleep(rng.uniform(0.0, self._pace_s / 2))
            if pauses:
                hosts.signal(place, signal.SIGCONT)
                self._ledger.happened(f"{place} wakes")
                await hosts.stands_again(place, stood[place])
                outcome.fenced += 1
            else:
                hosts.begin_at(place)
                await hosts.stands_again(place, stood[place])
            for _ in range(
                self.failovers * number // kills, self.failovers * (number + 1) // kills
            ):
                await self._fail_over()
            await hosts.together()
            if (number + 1) % 10 == 0:
                self._say(f"{number + 1} times; longest {max(outcome.took):.2f} s")

    async def _fail_over(self) -> None:
        """Kill the primary of the database, and promote its replica."""
        pair = self.database
        assert pair is not None
        await asyncio.sleep(self._rng.uniform(0.0, self._pace_s / 2))
        began = time.monotonic()
        await asyncio.to_thread(pair.kill_primary)
        self._ledger.happened("the primary of the database is killed")
        await asyncio.sleep(self._rng.uniform(0.0, self._pace_s / 2))
        await asyncio.to_thread(pair.promote)
        self._ledger.happened("its replica is promoted")
        async with asyncio.timeout(TAKEN_S):
            await self._goes_on()
        self.outcome.failovers.append(time.monotonic() - began)
        await asyncio.to_thread(pair.replica.copy, pair.primary)
        pair.replica.start()
        await asyncio.to_thread(pair.wait_joined)
        self._ledger.happened("the database has a replica again")

    async def _goes_on(self) -> None:
        """Wait until the host acknowledges a write."""
        while True:
            with suppress(StoreUnavailable):
                await self.fill(1)
                return
            await asyncio.sleep(AGAIN_S)

    async def fill(self, count: int) -> None:
        """Let so many tuples lie at `ward`."""
        async with connect(self._hosts.url(WARD), **self._hosts.access()) as ward:
            archive = await (await ward.agent("archivist")).space("archive")
            for first in range(0, count, CHUNK):
                rows = [("paper", n, "x" * 50) for n in range(first, min(first + CHUNK, count))]
                await archive.out_many(rows)


async def take_over(
    *,
    kills: int,
    seed: int,
    takeover_s: float = 2.0,
    paired: bool = False,
    tuples: int = 0,
    failovers: int = 0,
    strict: bool = False,
    pace_s: float = 1.0,
    say: Callable[[str], None] = lambda _: None,
    keep: bool = False,
) -> TakeoverOutcome:
    """Play one run. If it is `strict`, who takes over too late has broken a promise.

    `paired`, there are two processes with a SQLite store each, and an operator.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(16))  # some only listen
    with ExitStack() as parts:
        database = parts.enter_context(replicated_postgres()) if failovers else None
        if paired:
            from tests.crash.paired import PairedHosts

            hosts: StandingHosts = parts.enter_context(PairedHosts())
            store = "two SQLite stores"
        else:
            server = shared_postgres() if database is None else database
            stores = Schemas(server.url, f"standing{os.getpid()}_{seed}")
            hosts, store = parts.enter_context(StandingHosts(stores, takeover_s)), "postgresql"
        hosts.keep = True  # until all is well
        outcome = TakeoverOutcome(seed, store, folder=str(hosts.folder), hosts=2)
        outcome.takeover_s, outcome.tuples = 0.0 if paired else takeover_s, tuples
        run = TakeoverRun(hosts, outcome, pace_s=pace_s, say=say)
        run.database, run.failovers = database, failovers
        await run.play(kills, before=lambda: run.fill(tuples))
        for name, code in (await asyncio.to_thread(hosts.end)).items():
            if code:
                outcome.faults.append(Fault(f"{name} ended with {code}", hosts.log(name)))
        await asyncio.gather(*hosts.readers)
        compare(hosts, outcome)
        late = [s for s in outcome.took if s > takeover_s]
        if strict and late:
            what = f"{len(late)} times another served too late"
            outcome.faults.append(Fault(what, f"  the latest after {max(late):.2f} s"))
        hosts.keep = keep or not outcome.good
        return outcome
