"""What a lease and its token cost a commit in PostgreSQL, with synced disks.

    python -m tests.crash.lease_cost

Commits of one row with and without them, in turns on one server, and a thread that renews the lease
as for `--takeover-s 2`. The lower quartiles are compared: other processes only make it longer.
"""

from __future__ import annotations

import statistics
import threading
import time
from typing import Final

from nomospace.host.changes import AgentCame
from nomospace.protocols.lease import RENEWALS, LeaseClaim, hold_us
from nomospace.store import postgres
from nomospace.store.interface import Step
from nomospace.store.postgres import PostgresStore
from nomospace.store.schema import Params
from tests.servers import PostgresServer

ROUNDS: Final = 60
COMMITS: Final = 50
HOLD_US: Final = hold_us(2.0)
FENCED: Final = postgres._SQL["committed"]
PLAIN: Final = FENCED.replace(", life = CASE WHEN life = %s AND batch = %s THEN life END", "")


class SyncedServer(PostgresServer):
    """PostgreSQL that waits for the disk."""

    def command(self) -> list[str]:
        """As for tests, but with its syncs."""
        return [part.replace("=off", "=on") for part in super().command()]


class UnfencedStore(PostgresStore):
    """A store that does not check who commits."""

    def _fence(self) -> Params:
        return ()


def main() -> None:
    """Measure, and print."""
    server = SyncedServer()
    server.start()
    plain, leased = [
        kind(f"{server.url}?schema=cost_{number}")
        for number, kind in enumerate((UnfencedStore, PostgresStore))
    ]
    leased.claim = LeaseClaim(leased.look(), "ward", HOLD_US)
    for store in (plain, leased):
        store.begin()
    over = threading.Event()

    def renew() -> None:
        while not over.wait(HOLD_US / RENEWALS / 1e6):
            leased.renew()

    threading.Thread(target=renew, daemon=True).start()
    took: dict[str, list[float]] = {PLAIN: [], FENCED: []}
    for number in range(ROUNDS):
        pairs = [(PLAIN, plain), (FENCED, leased)]
        for statement, store in pairs if number % 2 else reversed(pairs):
            postgres._SQL["committed"] = statement
            for at in range(number * COMMITS, (number + 1) * COMMITS):
                began = time.perf_counter()
                store.commit([Step((AgentCame(f"agent-{at % 50}@ward", at),))], at=at)
                took[statement].append(time.perf_counter() - began)
    over.set()
    without, fenced = [statistics.quantiles(took[one], n=4)[0] * 1e6 for one in (PLAIN, FENCED)]
    print(f"a commit takes {without:.0f} us, with lease and token {fenced:.0f} us", end="; ")
    print(f"{fenced / without:.3f} times as long")
    for store in (plain, leased):
        store.close()
    server.close()


if __name__ == "__main__":
    main()
