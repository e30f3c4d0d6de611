"""Three hosts go from the earlier version to this one under load, and back, one after the other.

    python -m tests.versions.rolling --rounds 3 [--transport tls]

Six client processes, three of each version, use the hosts all the time. Each round stops every host
in turn, gracefully or by `kill -9`, and starts it with this version, on the store that is there;
then it stops each again and goes back: the earlier version says that it cannot open the store, and
has what this version's backup has. Then one history must explain what all clients were told.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nomospace_lab.testing.outside import HistoryVerdict, explain
from tests.parity.processes import HOSTS
from tests.versions.mixed import TRANSPORTS, Mixed, VersionClients

AGENTS: Final = tuple([f"{version}@{name}" for name in HOSTS for version in ("old", "new")])


@dataclass
class RollingOutcome:
    """What clients were told while hosts changed their version, and whether it is explained."""

    verdict: HistoryVerdict
    kinds: Counter[str]
    steps: Counter[str]
    moves: int
    refused: str
    took_s: float

    def told(self) -> str:
        """In words."""
        counts = ", ".join([f"{count} {kind}" for kind, count in sorted(self.kinds.items())])
        steps = ", ".join([f"{count} {step}" for step, count in sorted(self.steps.items())])
        done = f"{self.took_s:.0f} s; {counts}; {self.moves} moves"
        return "\n".join([done, steps, f"the earlier version: {self.refused}", str(self.verdict)])


async def roll(*, rounds: int, pause_s: float, seed: int, transport: str = "tcp") -> RollingOutcome:
    """One run with hosts of its own."""
    began = time.monotonic()
    rng = random.Random(seed)
    hosts = Mixed(transport)
    hosts.turn(*HOSTS, old=True)
    clients = VersionClients(hosts, *AGENTS)
    steps: Counter[str] = Counter()
    refused = ""
    try:
        await hosts.start(*HOSTS)
        await clients.start()
        for _ in range(rounds):
            for back in (False, True):
                for name in rng.sample(HOSTS, len(HOSTS)):
                    await asyncio.sleep(pause_s)
                    how = rng.choice(("stop", "kill"))
                    await (hosts.stop(name) if how == "stop" else hosts.kill(name))
                    if back:
                        refused = await hosts.go_back(name)
                    else:
                        hosts.turn(name, old=False)
                        await hosts.start(name)
                    steps[f"{how}, then {'back' if back else 'up'}"] += 1
        await asyncio.sleep(pause_s)
        await clients.finish()
    finally:
        clients.close()
        await hosts.close()
    history = clients.history
    kinds = Counter(f"{one.kind} ({one.outcome})" for one in history)
    verdict = explain(history)
    return RollingOutcome(verdict, kinds, steps, clients.moves, refused, time.monotonic() - began)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 when something is not explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions.rolling", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=3, help="up and back so often (default: 3)")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two hosts")
    parser.add_argument("--seed", type=int, default=1)
    about = "how hosts speak; with tls and sealed (over NATS) all show who they are"
    parser.add_argument("--transport", choices=TRANSPORTS, default="tcp", help=about)
    given = parser.parse_args(arguments)
    ways = {"rounds": given.rounds, "pause_s": given.pause, "transport": given.transport}
    outcome = asyncio.run(roll(seed=given.seed, **ways))
    print(outcome.told())
    return 0 if outcome.verdict.answer == "yes" else 1


if __name__ == "__main__":
    sys.exit(main())
