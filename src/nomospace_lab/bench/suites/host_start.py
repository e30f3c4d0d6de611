"""Rows of `bench host` about starting: with a full store, and how little an empty host takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.report import at_most

FILL_ROWS: Final = 5_000
PER_MB = 1024.0


def filled(run: BenchRun, many: int) -> BenchRow:
    """From the command to the line that says it is ready, with many tuples in the store."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        store = Path(folder) / "ward.db"
        run.say(f"filling a store with {many:,} tuples")
        _fill(str(store), many)
        best = min([_started(store)[0] for _ in range(4)][1:])
    return BenchRow(
        what=f"a bare host starts with {many:,} tuples in its store",
        unit="s",
        ours=best,
        goal=at_most(1, "s"),
        how="until it is ready for peers and clients; what it is asked waits until all is loaded; "
        "the modules are compiled, as they are from the second start on",
    )


def empty(run: BenchRun) -> BenchRow:
    """The memory of a host that has nothing in it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        resident = min(_started(Path(folder) / "ward.db")[1] for _ in range(3))
    return BenchRow(
        what="an empty host's memory",
        unit="MB",
        ours=resident,
        goal=at_most(80, "MB"),
        how="resident, once it is ready",
    )


def _started(store: Path) -> tuple[float, float]:
    flags = ["--insecure", "--listen", "127.0.0.1:0", "--store", str(store), "--json"]
    kept = {"PYTHONPYCACHEPREFIX": str(store.parent / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    began = perf_counter()
    host = subprocess.Popen(
        [sys.executable, "-m", "nomospace.cli", "host", "run", "ward", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **kept},
    )
    try:
        assert host.stdout is not None
        line = host.stdout.readline()
        took = perf_counter() - began
        assert line, "the host has started"
        status = Path(f"/proc/{host.pid}/status")
        words = status.read_text().split("VmRSS:")[1].split() if status.exists() else ["0"]
        return took, int(words[0]) / PER_MB
    finally:
        host.terminate()
        host.communicate()


def _fill(url: str, many: int) -> None:
    from nomospace.host.changes import AgentCame, Opened, TuplePut
    from nomospace.protocols.spaces import Row as Tuple
    from nomospace.store.interface import Step
    from nomospace.store.opening import open_store

    agent = "worker@ward"
    store: Any = open_store(url)
    store.begin()
    store.commit([Step((AgentCame(agent, 0), Opened(agent, "jobs", "", True, True)))], at=1)
    for start in range(0, many, FILL_ROWS):
        rows = [
            TuplePut("jobs", Tuple(("job", number, "x"), agent, number + 1, agent, agent))
            for number in range(start, min(many, start + FILL_ROWS))
        ]
        store.commit([Step(tuple(rows))], at=2)
    store.close()
