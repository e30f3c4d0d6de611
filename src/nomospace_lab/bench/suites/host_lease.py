"""The row of `bench host` about the lease of a host: what it and its token cost a commit.

Commits of one row with and without them, in turns, on one PostgreSQL that waits for its disk, and a
thread that renews the lease as for `--takeover-s 2`. What counts is processor time, of the process
and of the sessions at the server: waiting for a disk would hide what is looked for.
"""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

from nomospace.host.changes import AgentCame
from nomospace.protocols.lease import RENEWALS, TAKEOVER_S_MIN, LeaseClaim, hold_us
from nomospace.store import postgres
from nomospace.store.interface import Step
from nomospace.store.postgres import PostgresStore
from nomospace.store.schema import Params
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.peers import servers
from nomospace_lab.bench.report import times_floor
from nomospace_lab.bench.suites.host import Bed

ROUNDS: Final = 60
COMMITS: Final = 50
LIMIT: Final = 1.05
"""The lease and its token may cost the durable path a twentieth."""
HOLD_US: Final = hold_us(TAKEOVER_S_MIN)
FENCED: Final = postgres._SQL["committed"]
PLAIN: Final = FENCED.replace(", life = CASE WHEN life = %s AND batch = %s THEN life END", "")


class UnfencedStore(PostgresStore):
    """A store that does not check who commits."""

    def _fence(self) -> Params:
        return ()


def leased(run: BenchRun, bed: Bed) -> BenchRow:
    """A durable commit with lease and token, beside one without."""
    place = urlencode({"host": conninfo_to_dict(servers.postgres(bed))["host"]})
    plain = UnfencedStore(f"postgresql://postgres@/postgres?{place}&schema=plain")
    fenced = PostgresStore(f"postgresql://postgres@/postgres?{place}&schema=leased")
    fenced.claim = LeaseClaim(fenced.look(), "ward", HOLD_US)
    for store in (plain, fenced):
        store.begin()
        bed.stack.callback(store.close)
    over = threading.Event()
    renewing_s = 0.0

    def renew() -> None:
        nonlocal renewing_s
        while not over.wait(HOLD_US / RENEWALS / 1e6):
            fenced.renew()
            renewing_s = time.thread_time()

    renewer = threading.Thread(target=renew, name="bench-lease")
    renewer.start()
    run.say("commits with a lease and without")
    took: dict[str, list[float]] = {PLAIN: [], FENCED: []}
    rounds = ROUNDS // 6 if run.quick else ROUNDS
    try:
        for number in range(rounds):
            pairs = [(PLAIN, plain), (FENCED, fenced)]
            for statement, store in pairs if number % 2 else reversed(pairs):
                postgres._SQL["committed"] = statement
                began = _used_s(store)
                for at in range(number * COMMITS, (number + 1) * COMMITS):
                    store.commit([Step((AgentCame(f"agent-{at % 50}@ward", at),))], at=at)
                took[statement].append(_used_s(store) - began)
    finally:
        postgres._SQL["committed"] = FENCED
        over.set()
        renewer.join()
    without, with_it = [statistics.median(took[one]) / COMMITS * 1e6 for one in (PLAIN, FENCED)]
    return BenchRow(
        what="a commit in PostgreSQL with the lease of a host and its token",
        unit="µs",
        ours=with_it + renewing_s / (rounds * COMMITS) * 1e6,
        floor=without,
        goal=times_floor(LIMIT),
        how=f"processor time, here and at the server, the median of {rounds} times {COMMITS}; "
        "renewals of the shortest lease are in it; floor: no check of who commits, no lease",
    )


def _used_s(store: PostgresStore) -> float:
    """The processor time of this thread, and of the session that a store writes with."""
    backend = store._write_with().info.backend_pid
    on_cpu_ns = int(Path(f"/proc/{backend}/schedstat").read_text().split()[0])
    return time.thread_time() + on_cpu_ns / 1e9
