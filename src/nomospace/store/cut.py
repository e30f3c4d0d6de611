"""One cut through the stores of a host that several workers serve: all as they were at one moment.

A tuple that goes from one worker to another is in one store before and in the other after. Stores
that were copied one after the other would have it twice, or not at all. So nobody commits to any of
them while all are told to stand still; that takes milliseconds, and then each is copied at leisure,
as it was. Workers survive being killed at any moment, and this is such a moment for all of them.

The first backup has the name that was asked for, the others have their worker's number behind it.
"""

from __future__ import annotations

import secrets
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from nomospace.errors import CallerError
from nomospace.host.changes import SmallKept
from nomospace.store.backup import BackupSummary, BadBackup, read_backup, write_backup
from nomospace.store.interface import Header, Step, Store
from nomospace.store.sqlite import SqliteStore
from nomospace.wire.changes import decode_change

WORKERS: Final = "workers"
"""What the number of a host's workers is kept under, in the store of the first."""


class NoCut(CallerError):
    """The stores of a host's workers cannot be backed up here as they are at one moment."""

    code = "store.no-cut"
    words = (
        "{where} is one of {count} workers' stores in a database; have the database itself back "
        "them up together, as pg_dump does"
    )
    where: str
    count: int


def workers_in(store: Store) -> int:
    """Over how many workers the agents of a host are spread, by the store of the first."""
    store.attach()
    found = [part for part in islice(store.dump(), 2) if isinstance(part, Step)]
    small = [one for part in found for one in part.changes if isinstance(one, SmallKept)]
    return max([1, *[int(one.body.split()[0]) for one in small if one.name == WORKERS]])


def backup_of(path: Path, number: int) -> Path:
    """The file for a worker's store, beside that of the first."""
    return path if number == 1 else path.with_name(f"{path.name}.{number}")


def write_cut(stores: list[Store], path: Path) -> list[BackupSummary]:
    """Back up all stores of a host as they are at one moment; raises `NoCut`."""
    found = [one for one in stores if isinstance(one, SqliteStore)]
    if len(found) < len(stores):
        raise NoCut(where=stores[0].where, count=len(stores))
    held: list[SqliteStore] = []
    try:
        for store in found:
            store.attach()
            store.hold()
            held.append(store)
        for store in found:
            store.pin()
    finally:
        for store in held:
            store.let_go()
    cut = secrets.token_hex(8)
    return [
        write_backup(store, backup_of(path, number), cut) for number, store in enumerate(found, 1)
    ]


def read_cut(path: Path) -> list[Path]:
    """The backups of one moment that a file is the first of; raises `BadBackup`."""
    header, count = _beginning(path)
    if not header.cut:
        return [path]
    found = [backup_of(path, number) for number in range(1, count + 1)]
    for one in found:
        if not one.is_file():
            why = f"it is the first of {count}, and {one} is missing"
            raise BadBackup(path=str(path), why=why)
        if _beginning(one)[0].cut != header.cut:
            raise BadBackup(path=str(path), why=f"{one} is of another moment")
    return found


def _beginning(path: Path) -> tuple[Header, int]:
    """The header of a backup, and how many workers it speaks of."""
    header, count = None, 1
    for letter, body in read_backup(path):
        if letter == "H":
            header = msgspec.json.decode(body, type=Header)
            if not header.cut:
                break
        elif letter == "C":
            change = decode_change(body)
            if isinstance(change, SmallKept) and change.name == WORKERS:
                count = int(change.body.split()[0])
    if header is None:
        raise BadBackup(path=str(path), why="its header is missing")
    return header, count
