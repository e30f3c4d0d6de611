"""Hours of wear in minutes: agents come, work, join, move, quit and end; hosts stay what they were.

    python -m tests.real.soak --rounds 60

Three host processes have clocks that jump (`tests.crash.inside`): after every round an hour is over
for them, so that sessions lapse and leases end. Each round has agents of its own, who open spaces,
write, take and lend, adopt a law and send letters, move to another host, and end; some lose their
connection first. After `WARM` rounds, and at the end, it is written down what each process has:
memory, threads, open files, the rows of each table. Nothing may have grown that has no bound of its
own, but for agents whose client came again before it heard that they had ended.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from nomospace import TimedOut, t
from nomospace.client.remote import RemoteHost, connect
from nomospace.errors import NomospaceError
from nomospace.sessions.client_session import SessionLost
from tests.crash.load import BOOKS
from tests.crash.nemesis import Attacked
from tests.parity.processes import HOSTS, NOWHERE

WARM: Final = 6
"""After so many rounds caches are as full as they get."""
AGENTS: Final = 6
"""Agents that come to each host in a round."""
ROUND_S: Final = 120.0
TELL_EVERY: Final = 10
SETTLE_S: Final = 2.0
"""How long hosts have after the last round to tidy up."""
GROWTH_KB: Final = 4_096
"""So much more memory is no leak: allocators keep some."""
GROWING: Final = ("journal", "backlog", "routing")
"""Tables that grow up to a bound: so many records, rows or changes, and then fewer."""


class Wear(NamedTuple):
    """What a host has."""

    memory_kb: int
    threads: int
    files: int
    rows: dict[str, int]

    def more_than(self, before: Wear, rounds: int, again: int) -> list[str]:
        """What has grown, in words; `again` agents may have come again."""
        found = []
        if self.memory_kb > before.memory_kb + GROWTH_KB:
            each = (self.memory_kb - before.memory_kb) / rounds
            found.append(
                f"memory {before.memory_kb:,} -> {self.memory_kb:,} kB: {each:.0f} kB a round"
            )
        for what in ("threads", "files"):
            now, then = getattr(self, what), getattr(before, what)
            if now > then:
                found.append(f"{what} {then} -> {now}")
        for table, count in self.rows.items():
            more = count - before.rows.get(table, 0)
            if more > (again if table == "agents" else 0) and table not in GROWING:
                found.append(f"rows of {table} {before.rows.get(table, 0)} -> {count}")
        return found


class Worn(Attacked):
    """Hosts that say where they are: agents who move are followed there."""

    async def _arguments(self, name: str, store: str) -> list[str]:
        given = await super()._arguments(name, store)
        return [f"127.0.0.1:{self._ports[name]}" if one == NOWHERE else one for one in given]


class Soak:
    """The hosts and their wear."""

    def __init__(self, seed: int) -> None:
        self.hosts = Worn()
        self._rng = random.Random(seed)
        self.done = 0
        self.again = 0
        """Agents that have begun anew, and have nothing."""

    async def round(self, number: int) -> None:
        """Agents come and end; then an hour is over."""
        links = [connect(await self.hosts.url(name), on_report=_quiet) for name in HOSTS]
        try:
            async with asyncio.timeout(ROUND_S):
                names = [f"a{number}x{one}" for one in range(AGENTS)]
                work = [self._live(link, name) for link in links for name in names]
                await asyncio.gather(*work)
        finally:
            for link in links:
                await link.close()
        for name in HOSTS:
            self.hosts.jump(name, slept_s=3_600.0, wall_s=3_600.0)

    async def _live(self, link: RemoteHost, name: str) -> None:
        rng = self._rng
        agent = await link.agent(name)
        jobs = await agent.space("jobs", shared=True)
        await jobs.out("job", agent.id, 1, once=f"k-{agent.id}")
        await jobs.out("job", agent.id, 2, ttl=5.0)
        await jobs.take("job", agent.id, 1, timeout=30)
        with suppress(TimedOut, NomospaceError):  # it may be over by then, or the lease
            job = await jobs.take("job", agent.id, 2, lease=1.0, timeout=0.5)
            await jobs.acknowledge(job)
        member = await agent.adopt(BOOKS)
        await member.send(t.note(1), to=agent.id)
        await anext(member.inbox())
        if rng.random() < 0.2:
            self.hosts.drop(rng.choice(HOSTS))
        if rng.random() < 0.5:
            with suppress(NomospaceError):  # then it stays where it is
                await agent.move(rng.choice(HOSTS))
        await member.quit()
        try:
            await agent.end()
        except SessionLost:  # it had ended, and its client came again before it heard of that
            self.again += 1
        self.done += 1

    def wear(self) -> dict[str, Wear]:
        """What each host has now."""
        return {name: self._of(name) for name in HOSTS}

    def _of(self, name: str) -> Wear:
        proc = Path("/proc", str(self.hosts.pid(name)))
        status = dict(
            line.split(":", 1) for line in proc.joinpath("status").read_text().splitlines()
        )
        files = len(list(proc.joinpath("fd").iterdir()))
        rows: dict[str, int] = {}
        uri = f"file:{self.hosts.folder / name}.db?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=10)) as store:
            tables = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                (rows[table],) = store.execute(f"SELECT count(*) FROM {table}").fetchone()
        return Wear(int(status["VmRSS"].split()[0]), int(status["Threads"]), files, rows)


def _quiet(_: object) -> None:
    """Reports of clients are of no interest here."""


async def soak(rounds: int, seed: int) -> list[str]:
    """Wear hosts for some rounds; what has grown."""
    one = Soak(seed)
    try:
        await one.hosts.start(*HOSTS)
        before: dict[str, Wear] = {}
        for number in range(WARM + rounds):
            if number == WARM:
                await asyncio.sleep(SETTLE_S)
                before = one.wear()
            await one.round(number)
            if number % TELL_EVERY == 0:
                memory = [f"{name} {wear.memory_kb:,}" for name, wear in one.wear().items()]
                print(f"after {number + 1} hours, kB of memory: {', '.join(memory)}", flush=True)
        await asyncio.sleep(SETTLE_S)
        after = one.wear()
    finally:
        await one.hosts.close()
    for name, wear in after.items():
        print(f"{name}: {before[name]}\n   -> {wear}")
    print(f"{one.done:,} agents came and ended, {one.again} came again; {WARM + rounds} hours")
    return [
        f"{name}: {words}"
        for name, wear in after.items()
        for words in wear.more_than(before[name], rounds, one.again)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when something has grown."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=60, help="after the first few (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    grown = asyncio.run(soak(given.rounds, given.seed))
    print("\n".join(grown) or "nothing has grown")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
