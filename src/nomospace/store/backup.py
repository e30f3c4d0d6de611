"""Backups: a store in one file, of one moment, for any engine to be filled from.

A backup is taken while the host runs. It holds changes as the host made them, not the tables of an
engine, so a store may move from SQLite to PostgreSQL and back through one.

The file: a line that says what it is and its version, then parts, each a length (4 bytes, the
highest first), a letter and a body with its checksum:

| letter | body |
| --- | --- |
| `H` | the header, first and once: where the host was in its life |
| `C` | a change |
| `K` | something kept for an agent's client |
| `J` | a record of the journal that no segment had |
| `Z` | the end: how many parts there were, and a digest of all bytes before |

A file that was cut off or altered is refused before anything of it is restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

import msgspec

from nomospace.errors import Unavailable
from nomospace.store.guarded import Altered, guard, unguard
from nomospace.store.interface import Header, KeptForClient, Step, Store
from nomospace.store.private import open_file, whole
from nomospace.wire.changes import BadRecord, decode_change, encode_change

BACKUP_VERSION: Final = 2
"""The version of backups that this nomospace writes. Version 1 knew no suspensions."""
PART_BYTES_MAX: Final = 64 * 1024 * 1024
"""The largest part that is read: far above any change that a host can make."""
_MAGIC: Final = b"nomospace backup "
_CHUNK: Final = 5_000


class BackupSummary(msgspec.Struct, frozen=True):
    """What a backup holds, in parts of each kind."""

    life: int
    last_at: int
    changes: int
    kept: int
    records: int


class _End(msgspec.Struct, frozen=True, array_like=True):
    parts: int
    digest: bytes


class BadBackup(Unavailable):
    """A file is no backup, is not whole, or is of a later version."""

    code = "store.bad-backup"
    words = "{path} cannot be restored: {why}; take another backup"
    path: str
    why: str


def write_backup(store: Store, path: Path, cut: str = "") -> BackupSummary:
    """Write all of a store, as it is at one moment, into a file, which appears whole or not at all.

    The host may have the store open; `store` is another object for it, and is not begun. `cut`
    names the moment, if other stores of the host are backed up as they were then (`store.cut`).
    """
    store.attach()
    with whole(path) as new, open_file(new, "wb") as file:
        return _Writer(file).write(store.dump(), cut)


class _Writer:
    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.digest = blake2b(digest_size=32)
        self.counts = {"C": 0, "K": 0, "J": 0}

    def write(self, parts: Iterator[Header | Step], cut: str) -> BackupSummary:
        header = next(parts)
        assert isinstance(header, Header), "a dump begins with its header"
        self._bytes(_MAGIC + b"%d\n" % BACKUP_VERSION)
        self._part("H", msgspec.json.encode(msgspec.structs.replace(header, cut=cut)))
        for step in parts:
            assert isinstance(step, Step)
            for change in step.changes:
                self._part("C", encode_change(change))
            for kept in step.outbox:
                self._part("K", msgspec.msgpack.encode(kept))
            for record in step.records:
                self._part("J", record)
        end = _End(sum(self.counts.values()) + 1, self.digest.digest())
        self._part("Z", msgspec.msgpack.encode(end))
        counts = self.counts
        return BackupSummary(header.life, header.last_at, counts["C"], counts["K"], counts["J"])

    def _part(self, letter: str, body: bytes) -> None:
        guarded = letter.encode() + guard(body)
        self._bytes(len(guarded).to_bytes(4, "big") + guarded)
        if letter in self.counts:
            self.counts[letter] += 1

    def _bytes(self, data: bytes) -> None:
        self.file.write(data)
        self.digest.update(data)


def read_backup(path: Path) -> Iterator[tuple[str, bytes]]:
    """The parts of a backup, letter and body; raises `BadBackup` at the first that is not whole."""

    def bad(why: str) -> BadBackup:
        return BadBackup(path=str(path), why=why)

    digest = blake2b(digest_size=32)
    count = 0
    with path.open("rb") as file:
        first = file.readline(100)
        digest.update(first)
        _check_version(first, bad)
        while True:
            before = digest.digest()
            head = file.read(4)
            size = int.from_bytes(head, "big")
            if len(head) < 4 or not 5 <= size <= PART_BYTES_MAX:
                raise bad(f"part {count + 1} is cut off or altered")
            data = file.read(size)
            digest.update(head + data)
            letter = data[:1].decode("latin-1")
            try:
                if len(data) < size:  # at the end nothing else would notice
                    raise Altered
                body = unguard(data[1:])
            except Altered:
                raise bad(f"part {count + 1} is cut off or altered") from None
            if letter == "Z":
                end = msgspec.msgpack.decode(body, type=_End)
                if (end.parts, end.digest) != (count, before) or file.read(1):
                    raise bad("its end does not fit what stands before it")
                return
            if letter not in "HCKJ":
                raise bad(f"part {count + 1} is of an unknown kind, {letter!r}")
            count += 1
            yield letter, body


def _check_version(first: bytes, bad: Callable[[str], BadBackup]) -> None:
    version = first.removeprefix(_MAGIC).strip()
    if not first.startswith(_MAGIC) or not version.isdigit():
        raise bad("it is no backup of nomospace")
    if int(version) > BACKUP_VERSION:
        raise bad(
            f"it has version {int(version)}, and this nomospace knows {BACKUP_VERSION}; upgrade it"
        )


def restore_backup(path: Path, store: Store) -> BackupSummary:
    """Fill an empty store from a backup; raises `BadBackup` and `StoreNotEmpty`.

    The whole file is looked at before the store is touched. A host that begins with the store goes
    on where the one that was backed up stood.
    """
    letters = [letter for letter, _ in read_backup(path)]
    if letters[:1] != ["H"] or letters.count("H") != 1:
        raise BadBackup(path=str(path), why="its header is missing")
    parts = read_backup(path)
    header = msgspec.json.decode(next(parts)[1], type=Header)
    store.begin(tuples=False)
    try:
        store.found(header)
        steps: list[Step] = []
        for number, (letter, body) in enumerate(parts, 2):
            try:
                steps.append(_step(letter, body))
            except (BadRecord, msgspec.MsgspecError) as error:
                raise BadBackup(path=str(path), why=f"part {number}: {error}") from None
            if len(steps) >= _CHUNK:
                store.commit(steps, at=header.last_at)
                steps = []
        store.commit(steps, at=header.last_at)
    finally:
        store.close()
    counts = [letters.count(letter) for letter in "CKJ"]
    return BackupSummary(header.life, header.last_at, *counts)


def _step(letter: str, body: bytes) -> Step:
    """What one part of a backup restores."""
    if letter == "C":
        return Step((decode_change(body),))
    if letter == "K":
        return Step((), (msgspec.msgpack.decode(body, type=KeptForClient),))
    return Step((), (), (body,))
