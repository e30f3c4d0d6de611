"""Kills and pauses the primary of a domain's three servers, again and again, and measures.

    python -m tests.crash.servers [--kills 20] [--takeover-s 2]

Three host processes serve one domain, two more have its agents. Each round ends or stops whoever is
primary; then a new agent at one host writes to one at the other and is answered, which the servers
must find it for. The old one comes back, and must follow before the next round. In the end a host
that knows nothing yet writes to every agent that was ever born: all are on record. Exit code 1
when a round takes longer than the limit or anything is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from ast import literal_eval
from pathlib import Path

from nomospace.client.agent import Agent
from tests.real.hosts import RealHost, caller, play, start

SERVERS = ("w1", "w2", "w3")
SEEN_S = 120.0


class ServedDomain:
    """The processes, and who of them is primary."""

    def __init__(self, folder: Path, takeover_s: float) -> None:
        self.folder = folder
        names = ", ".join(f'"{name}"' for name in SERVERS)
        self.config = folder / "served.toml"
        self.config.write_text(
            f'[host]\ndomain = "ward"\ntakeover_s = {takeover_s}\n[servers]\nward = [{names}]\n'
        )
        self.hosts: dict[str, RealHost] = {}

    def begin(self, name: str, port: int = 0) -> RealHost:
        """Start a host, joined to all others."""
        joins = [
            word
            for other in self.hosts.values()
            if other.name != name
            for word in ("--join", other.address)
        ]
        at = ["--config", str(self.config), "--insecure", *joins]
        self.hosts[name] = RealHost(name, self.folder, *at, port=port)
        return self.hosts[name]

    def elected(self) -> tuple[int, str]:
        """The last term that somebody was elected in, and who."""
        found = [(0, "w1")]
        for name in SERVERS:
            for note in self.hosts[name].notes("routing"):
                if note.get("news") == "elected":
                    _, site, term = literal_eval(note["facts"])
                    found.append((int(term), str(site)))
        return max(found)

    async def elected_after(self, term: int) -> tuple[int, str]:
        """Wait for a later term."""
        async with asyncio.timeout(SEEN_S):
            while self.elected()[0] <= term:
                await asyncio.sleep(0.05)
        return self.elected()


async def answered(writer: Agent, born: Agent, word: str) -> None:
    """One writes to another, who answers; who was born last begins, when it is on record."""
    async with asyncio.timeout(SEEN_S):
        await born.send(word, to=writer.id)
        assert (await anext(writer.inbox())).message == word
        await writer.send(word, to=born.id)
        assert (await anext(born.inbox())).message == word


async def rounds(domain: ServedDomain, kills: int, limit_s: float) -> list[float]:
    """Every round; how long each took from the kill to the answer."""
    took: list[float] = []
    agents: list[Agent] = []
    async with caller(domain.hosts["icu"], None) as icu, caller(domain.hosts["lab"], None) as lab:
        ann = await lab.agent("ann")
        agents.append(await icu.agent("born0"))
        await answered(ann, agents[0], "hello0")
        term, primary = domain.elected()
        for number in range(1, kills + 1):
            gone, paused = domain.hosts[primary], number % 3 == 0
            if paused:
                os.kill(gone.pid, signal.SIGSTOP)
            else:
                gone.end(signal.SIGKILL)
            since = time.monotonic()
            born = await icu.agent(f"born{number}")
            await answered(ann, born, f"hello{number}")
            agents.append(born)
            took.append(time.monotonic() - since)
            after, primary = await domain.elected_after(term)
            what = f"{gone.name} {'paused' if paused else 'killed'}"
            print(f"{what}: served again after {took[-1]:.2f} s by {primary}, term {after}")
            assert took[-1] <= limit_s, f"that is more than {limit_s:g} s"
            term = after
            if paused:
                os.kill(gone.pid, signal.SIGCONT)
            else:
                await domain.begin(gone.name, gone.port).ready()
            async with asyncio.timeout(SEEN_S):
                while len((await icu.contact()).members) < len(domain.hosts):
                    await asyncio.sleep(0.05)
        await domain.begin("ops").ready()
        async with caller(domain.hosts["ops"], None) as ops:
            eve = await ops.agent("eve")
            for number, one in enumerate(agents):
                await answered(one, eve, f"still{number}")
    return took


def main(arguments: list[str] | None = None) -> int:
    """Run the rounds, and tell how long they took."""
    parser = argparse.ArgumentParser(description="Kill the primary of three query servers.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--takeover-s", type=float, default=2.0)
    parser.add_argument("--limit-s", type=float, default=0.0, help="by default takeover-s")
    told = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        domain = ServedDomain(Path(folder), told.takeover_s)
        start(*[domain.begin(name) for name in (*SERVERS, "icu", "lab")])
        try:
            limit_s = told.limit_s or told.takeover_s
            took = play(rounds(domain, told.kills, limit_s), seconds_max=60 * told.kills + 120)
        finally:
            for host in domain.hosts.values():
                host.end(signal.SIGKILL)
    took.sort()
    print(
        f"{len(took)} times: {took[0]:.2f} to {took[-1]:.2f} s, "
        f"half within {took[len(took) // 2]:.2f} s; all {told.kills + 1} agents on record"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
