"""What is kept in files besides a host's store, written once through: run under `recorder`.

    python -P acting.py FOLDER

Trust, a stream's state, a service's log, a store with its backup and what was restored from it, a
journal whose segments are let go. A line of JSON on standard output says when each thing was begun,
and when it was acknowledged: a command had ended, a call had returned.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from nomospace.cli import main as nomospace
from nomospace.host.changes import AgentCame, TuplePut
from nomospace.node.services.keeping import ServiceLog
from nomospace.pipeline.stream.state import ROWS, Memory
from nomospace.protocols.spaces import Row
from nomospace.store.interface import Step
from nomospace.store.journal import LawRecord, TupleRecord, encode_record
from nomospace.store.segments import Retention, SegmentLimits, hold, let_go, seal
from nomospace.store.sqlite import SqliteStore

BATCHES = 5
BATCH_ROWS = 20
TOKENS = 3
CHANGES = 6
TUPLES = 5
ROUNDS = 5
ROUND_RECORDS = 4
HELD_AFTER = 2 * ROUND_RECORDS
"""What somebody holds goes no more, from then on."""


class Said(msgspec.Struct):
    """A change of a service."""

    number: int


def rows_of(batch: int) -> pa.Table:
    """What a batch of the stream brings."""
    rows = [
        {"space": "jobs", "since": 1 + n, "host": "ward", "writer": "ann@ward", "count": n}
        | {"op": "written", "fields": b"job %d" % n}
        for n in range(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
    ]
    return pa.Table.from_pylist(rows, schema=ROWS)


@contextmanager
def told(what: str) -> Iterator[dict[str, Any]]:
    """Say when something began and when it was acknowledged, with what was found meanwhile."""
    facts: dict[str, Any] = {}
    begun = time.monotonic_ns()
    yield facts
    line = {"what": what, "begun": begun, "done": time.monotonic_ns(), **facts}
    print(json.dumps(line), file=sys.__stdout__, flush=True)


def run(*arguments: str) -> dict[str, Any]:
    """A command; what it prints with `--json`."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = nomospace([*arguments, "--json"])
    assert code == 0, (arguments, code, out.getvalue())
    said: dict[str, Any] = json.loads(out.getvalue())
    return said


def keep_trust(folder: Path) -> None:
    """An authority, a host, agents and tokens, some of them taken back."""
    trust = str(folder / "trust")
    with told("authority"):
        run("trust", "init", trust, "--host", "ward-1")
    for number in range(TOKENS):
        agent = f"ann{number}@ward-1"
        with told("token") as facts:
            facts["id"] = run("trust", "issue", "token", agent, "--folder", trust)["id"]
        with told("agent") as facts:
            said = run("trust", "issue", "agent", agent, "--folder", trust)
            facts |= {"agent": agent, "serial": said["serial"]}
        if number:
            with told("revoked") as facts:
                facts["serial"] = said["serial"]
                run("trust", "revoke", said["serial"], "--folder", trust)


def keep_stream(folder: Path) -> None:
    """The state of a stream, batch after batch; one is done twice."""
    memory = Memory(folder / "stream" / "state")
    for batch in (*range(BATCHES - 1), BATCHES - 2, BATCHES - 1):
        with told("batch") as facts:
            facts["batch"] = batch
            memory.after(batch, rows_of(batch))


def keep_service(folder: Path) -> None:
    """A service's log, which is made anew in the middle."""
    service: ServiceLog[Said] = ServiceLog(folder / "service" / "log", Said)
    with service as log:
        log.begin()
        for number in range(CHANGES):
            with told("change") as facts:
                facts["number"] = number
                log.write(Said(number))
            if number == CHANGES // 2:
                log.rewrite([Said(one) for one in range(number + 1)])


def keep_store(folder: Path) -> None:
    """A store, its backup, and another store that is made of that."""
    store = SqliteStore(folder / "stores" / "deep" / "ward.db")
    with told("life") as facts:
        facts["life"] = store.begin(birth=17).life
    for number in range(TUPLES):
        with told("tuple") as facts:
            facts["number"] = number
            put = TuplePut("jobs", Row(("job", number), "ann@ward", number + 1, "", "ann@ward"))
            store.commit([Step((AgentCame("ann@ward", number + 1), put))], at=number)
    backup, copy = str(folder / "one.backup"), str(folder / "copies" / "copy.db")
    with told("backup"):
        run("backup", "--store", str(store.path), backup)
    store.close()
    with told("restored"):
        run("restore", backup, "--store", copy)
    with told("restored"):
        run("restore", backup, "--store", copy, "--force")


def keep_journal(folder: Path) -> None:
    """A journal that is sealed; its oldest segments go, but for what somebody holds."""
    journal = folder / "old" / "journal"
    store = SqliteStore(folder / "old" / "ward.db")
    store.begin()
    for number in range(1, ROUNDS + 1):
        law = LawRecord("ward", number, f"{number:064x}", f"law{number}", "law(a).")
        rows = [
            TupleRecord("ward", number, "jobs", "ann@ward", n, "written", "", b"\x90")
            for n in range(ROUND_RECORDS - 1)
        ]
        with told("recorded") as facts:
            facts["last"] = number * ROUND_RECORDS
            records = (encode_record(law), *map(encode_record, rows))
            store.commit([Step(records=records)], at=number)
        with told("sealed") as facts:
            facts["last"] = number * ROUND_RECORDS
            seal(store, journal, SegmentLimits(rows=ROUND_RECORDS, seconds=0), now=number)
        if number == 2:
            with told("held") as facts:
                facts["after"] = HELD_AFTER
                hold(journal, "audit", HELD_AFTER)
        with told("gone") as facts:
            facts["gone"] = let_go(journal, Retention(bytes=1), now=number).gone
    store.close()


if __name__ == "__main__":
    for keep in (keep_trust, keep_stream, keep_service, keep_store, keep_journal):
        keep(Path(sys.argv[1]))
