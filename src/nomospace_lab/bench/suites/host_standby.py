"""A row of `bench host`: durable work that a standby has too, before it is answered."""

from __future__ import annotations

import socket
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from nomospace.errors import Bug
from nomospace.protocols.pair import SYNC
from nomospace.store.paired import look
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.processes import ChildProcess, ended
from nomospace_lab.bench.report import times_floor
from nomospace_lab.bench.suites.host import IN_FLIGHT, PER_US, Bed, Jobs

JOINED_S: Final = 30.0
"""How long a standby may take to join."""


def followed(run: BenchRun, bed: Bed) -> BenchRow:
    """A host whose standby has everything before it is answered, beside one without."""
    alone = Jobs(bed, bed.host("alone", "--store", str(bed.folder / "c.db")), 10_000, durable=True)
    meeting, store = f"127.0.0.1:{_free_port()}", str(bed.folder / "b.db")
    url = bed.host("ward", "--store", str(bed.folder / "a.db"), "--standby-listen", meeting)
    given = ["ward", "--json", "--insecure", "--store", store, "--of", meeting]
    standby = ChildProcess("the standby", "nomospace.cli", "host", "standby", *given)
    bed.stack.enter_context(ended(standby))
    standby.hear()
    until = monotonic() + JOINED_S
    while look(Path(store)).how != SYNC:
        if monotonic() > until:
            raise Bug(story=(f"the standby has not joined in {JOINED_S:g} s",))
        sleep(0.1)
    jobs = Jobs(bed, url, 10_000, durable=True)
    run.say("durable pairs with a standby")
    best = run.interleave({"ours": bed.in_flight(jobs.pair), "alone": bed.in_flight(alone.pair)})
    return BenchRow(
        what=f"the same with a standby in sync, {IN_FLIGHT} at a time",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["alone"] / PER_US,
        goal=times_floor(1.6),
        how="on the disks of both (one disk here) before it is answered; floor: the host alone",
    )


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
