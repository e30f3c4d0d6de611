"""Hours of wear in minutes: agents come, work, join, move, quit and end; hosts stay what they were.

    python -m tests.real.soak --rounds 60

Three host processes have clocks that jump (`tests.crash.inside`): after every round an hour is over
for them, so that leases and tuples end. Each round has agents of its own, who open spaces, one of
them with a name of its own, write, take and lend, adopt a law and send letters, move to another
host, and end; connections are cut meanwhile. After `WARM` rounds, and at the end, it is written
down what each process has: memory, threads and open files may not have grown. In the end nothing of
an agent may be in a host's store, but for records of the journal and changes of the routing, which
have bounds of their own. What hosts remember of those who have gone has a low bound here, and
caches of addresses are full when they begin: it was these that grew for hundreds of rounds.
Sessions wait for their clients in the machine's own time, so their end is waited for.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from nomospace import TimedOut, t
from nomospace.client.remote import RemoteHost, connect
from nomospace.errors import NomospaceError
from nomospace.host.changes import RoutingFolded
from nomospace.store.interface import Header
from nomospace.store.opening import open_store
from tests.crash.inside import COUNTS_MAX, FORGETFUL
from tests.crash.load import BOOKS
from tests.crash.nemesis import Attacked
from tests.parity.processes import HOSTS, NOWHERE

WARM: Final = 12
"""After so many rounds caches are as full as they get."""
AGENTS: Final = 6
"""Agents that come to each host in a round."""
ROUND_S: Final = 120.0
TELL_EVERY: Final = 10
SESSION_S: Final = 10
"""How long a session waits for its client: that of a host whose agent left while it was cut off."""
GROWTH_KB: Final = 4_096
"""So much more memory is no leak: allocators keep some."""
STAYS: Final = Counter(
    FloorRaised=1,
    LawLearnt=1,
    BirthLearnt=2,
    ParcelPlaced=2,
    TransferPlaced=2,
    SmallKept=COUNTS_MAX + 1,
)
"""What a store has of a host that nobody is at: laws, peers, counts."""


class Wear(NamedTuple):
    """What a host has."""

    memory_kb: int
    threads: int
    files: int

    def more_than(self, before: Wear) -> list[str]:
        """What has grown, in words."""
        found = []
        if self.memory_kb > before.memory_kb + GROWTH_KB:
            found.append(f"memory {before.memory_kb:,} -> {self.memory_kb:,} kB")
        for what in ("threads", "files"):
            now, then = getattr(self, what), getattr(before, what)
            if now > then:
                found.append(f"{what} {then} -> {now}")
        return found


class Worn(Attacked):
    """Hosts that say where they are: agents who move are followed there."""

    def __init__(self, session_s: int) -> None:
        super().__init__(fault=FORGETFUL)
        self._config = self.folder / "worn.toml"
        self._config.write_text(f"[limits]\nsession_s = {session_s}\n")

    async def _arguments(self, name: str, store: str) -> list[str]:
        given = await super()._arguments(name, store)
        given = [f"127.0.0.1:{self._ports[name]}" if one == NOWHERE else one for one in given]
        return [*given, "--config", str(self._config)]


class Soak:
    """The hosts and their wear."""

    def __init__(self, seed: int, session_s: int) -> None:
        self.hosts = Worn(session_s)
        self._rng = random.Random(seed)
        self._settle_s = session_s + 2.0
        self.done = 0

    async def round(self, number: int) -> None:
        """Agents come and end; then an hour is over."""
        links = [connect(await self.hosts.url(name), on_report=_quiet) for name in HOSTS]
        try:
            async with asyncio.timeout(ROUND_S):
                names = [f"a{number}x{one}" for one in range(AGENTS)]
                pairs = list(zip(HOSTS, links, strict=True))
                work = [self._live(*pair, name) for pair in pairs for name in names]
                await asyncio.gather(*work)
        finally:
            for link in links:
                await link.close()
        for name in HOSTS:
            self.hosts.jump(name, slept_s=3_600.0, wall_s=3_600.0)

    async def _live(self, host: str, link: RemoteHost, name: str) -> None:
        rng = self._rng
        agent = await link.agent(name)
        jobs = await agent.space("jobs", shared=True)
        own = await agent.space(f"of-{name}", shared=True)
        await own.out("mine", agent.id)
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
        ending = asyncio.ensure_future(agent.end())
        if rng.random() < 0.3:  # it may have ended by then, and nobody have heard of it
            await asyncio.sleep(rng.uniform(0.0, 0.01))
            self.hosts.drop(host)
        await ending
        self.done += 1

    async def settle(self) -> None:
        """Wait until sessions that nobody comes back to are over."""
        await asyncio.sleep(self._settle_s)

    def wear(self) -> dict[str, Wear]:
        """What each host has now."""
        return {name: self._of(name) for name in HOSTS}

    def _of(self, name: str) -> Wear:
        proc = Path("/proc", str(self.hosts.pid(name)))
        status = dict(
            line.split(":", 1) for line in proc.joinpath("status").read_text().splitlines()
        )
        files = len(list(proc.joinpath("fd").iterdir()))
        return Wear(int(status["VmRSS"].split()[0]), int(status["Threads"]), files)

    def left(self, name: str) -> Counter[str]:
        """What is in a host's store that should not be, by kind."""
        kept = Counter[str]()
        with closing(open_store(str(self.hosts.folder / f"{name}.db"))) as store:
            store.attach()
            for part in store.dump():
                if not isinstance(part, Header):
                    kinds = [type(one) for one in part.changes]
                    kept.update([kind.__name__ for kind in kinds if kind is not RoutingFolded])
                    kept["sessions and pushes"] += len(part.outbox)
        return kept - STAYS


def _quiet(_: object) -> None:
    """Reports of clients are of no interest here."""


async def soak(
    rounds: int, seed: int, *, warm: int = WARM, session_s: int = SESSION_S
) -> list[str]:
    """Wear hosts for some rounds; what has grown, or is left, in words."""
    one = Soak(seed, session_s)
    try:
        await one.hosts.start(*HOSTS)
        before: dict[str, Wear] = {}
        for number in range(warm + rounds):
            await one.round(number)
            if number == warm:
                before = one.wear()
            if number % TELL_EVERY == 0:
                memory = [f"{name} {wear.memory_kb:,}" for name, wear in one.wear().items()]
                print(f"after {number + 1} hours, kB of memory: {', '.join(memory)}", flush=True)
        await one.settle()
        after = one.wear()
        left = {name: one.left(name) for name in HOSTS}
    finally:
        await one.hosts.close()
    for name, wear in after.items():
        print(f"{name}: {before[name]} -> {wear}")
    print(f"{one.done:,} agents came and ended; {warm + rounds} hours")
    grown = [f"{name}: {words}" for name in HOSTS for words in after[name].more_than(before[name])]
    return grown + [f"{name}: {dict(kinds)} in its store" for name, kinds in left.items() if kinds]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when something has grown."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=60, help="after the first few (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    grown = asyncio.run(soak(given.rounds, given.seed))
    print("\n".join(grown) or "nothing has grown, and nothing is left")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
