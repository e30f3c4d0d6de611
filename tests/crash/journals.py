"""What is on the disks of hosts that have ended: whole, and the same story twice.

A store has every membership as it is, and its journal tells how it came to be so. Both are written
in the same steps, so they must agree after any number of crashes: no ruling may be missing in the
journal, and none may be told that was not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nomospace.control import Snapshot, redo
from nomospace.host.changes import Durable
from nomospace.store.interface import Store
from nomospace.store.journal import EventRecord, JournalGap, Record, TupleRecord, replay
from nomospace.store.opening import open_store
from nomospace.store.segments import read_journal


@dataclass
class Reading:
    """What one host's store and journal say."""

    members: int = 0
    rulings: int = 0
    tuples: int = 0
    wrong: list[str] = field(default_factory=list)


def read(url: str, folder: Path | None = None) -> Reading:
    """Compare a store with its journal; `folder` has the journal's segments, if there are any."""
    store = open_store(url)
    try:
        return look(store, store.begin().durable, folder)
    finally:
        store.close()


def look(store: Store, durable: Durable, folder: Path | None) -> Reading:
    """Compare what a store that has begun holds with its journal."""
    reading = Reading()
    kept = {home: redo(member.base, member.log) for home, member in durable.members.items()}
    reading.members = len(kept)
    reading.wrong += [f"{store.where}: {finding}" for finding in store.inspect()]
    try:
        told = replay(_counted(read_journal(folder, store), reading))
    except JournalGap as gap:
        reading.wrong.append(f"{store.where}: {gap}")
    else:
        reading.wrong += _differences(kept, told)
    return reading


def _counted(records: Iterator[tuple[int, Record]], reading: Reading) -> Iterator[Record]:
    for _, record in records:
        reading.rulings += isinstance(record, EventRecord)
        reading.tuples += isinstance(record, TupleRecord)
        yield record


def _differences(
    kept: dict[tuple[str, str], Snapshot], told: dict[tuple[str, str], Snapshot]
) -> Iterator[str]:
    for home, snapshot in kept.items():
        replayed = told.get(home)
        if replayed != snapshot:
            yield f"{home[0]} is\n    {snapshot}\n  and its journal makes it\n    {replayed}"
