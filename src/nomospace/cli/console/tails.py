"""What hosts have in their journals just now, as a folder that the pipeline reads.

The records that a host has not sealed are in its store, or in its memory, and nobody but the host
reads them there. So it writes them into a file as they are, some at a time between its other work,
and a child process makes segments of that file (`seal`): Arrow stays out of the host. Segments that
it has sealed are linked as they are at that moment, so no record is told twice.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import quote

from nomospace.errors import CallerError
from nomospace.store.interface import JournalEntry
from nomospace.store.journal import LawRecord, decode_record, encode_record
from nomospace.wire.segments import (
    MANIFEST,
    Manifest,
    Segment,
    decode_manifest,
    encode_manifest,
    file_of,
)

if TYPE_CHECKING:
    from nomospace.node.serve import Server
    from nomospace.store.parquet import JournalRow

NEWEST_MAX: Final = 200_000
"""How many of a host's newest records are taken: so many it keeps itself."""
SEALED_MAX: Final = 1_000_000_000
"""How many records of sealed segments are taken: they are linked, which costs little."""
JOURNAL, TAILS = "journal", "tails"
CHUNK: Final = 1_000
CHUNK_BYTES: Final = 1 << 20
"""How many records are read before the host does something else."""
SEGMENT_ROWS: Final = 100_000
_HEAD: Final = struct.Struct(">QI")


class NothingRecorded(CallerError):
    """A host has no records to look at."""

    code = "console.nothing-recorded"
    words = (
        "the journal of {host} has no records; let something happen there, or start the "
        "host with its journal on"
    )
    host: str


def link_newest(folder: Path, into: Path, newest: int) -> int:
    """A folder with the newest segments of another, as links: so many records at least.

    It has what is sealed now, however much is sealed later; gives the last record of it.
    """
    manifest = decode_manifest((folder / MANIFEST).read_bytes(), str(folder))
    chosen: list[Segment] = []
    for segment in reversed(manifest.segments):
        if sum(one.last - one.first + 1 for one in chosen) >= newest:
            break
        chosen.insert(0, segment)
    into.mkdir(parents=True)
    for segment in chosen:
        for table in segment.rows:
            link = into / file_of(table, segment.number)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to((folder / file_of(table, segment.number)).resolve())
    (into / MANIFEST).write_bytes(encode_manifest(Manifest(segments=tuple(chosen))))
    return manifest.last


async def write_tail(
    server: Server, path: Path, *, after: int = 0, newest: int = NEWEST_MAX
) -> AsyncIterator[float]:
    """Write the newest records of a host into a file; gives how far it is, from 0 to 1.

    The laws that have members come first: their own records may be long past. Raises
    `NothingRecorded`.
    """
    keeper = server.host.keeper
    last = 0 if keeper is None else keeper.store.last_record
    begin = max(after, last - min(newest, NEWEST_MAX))
    if keeper is None or begin >= last:
        raise NothingRecorded(host=server.config.host.name)
    with path.open("wb") as file:
        for record in _laws(server):
            _write(file, begin + 1, encode_record(record))
        at = begin
        while at < last and (entries := keeper.store.journal(at, CHUNK, CHUNK_BYTES)):
            for entry in entries:
                _write(file, entry.seq, entry.record)
            at = entries[-1].seq
            yield min(1.0, (at - begin) / (last - begin))
            await asyncio.sleep(0)


def _laws(server: Server) -> Iterator[LawRecord]:
    """The laws that have members, marked by a time that no record has."""
    host = server.config.host.name
    hashes = dict.fromkeys(one.law.hash for one in server.host.core.governing.members())
    for hash in hashes:
        law = server.host.law(hash)
        if law is not None:
            yield LawRecord(host, 0, hash, law.name, law.tree.source.text)


def _write(file: BinaryIO, seq: int, record: bytes) -> None:
    file.write(_HEAD.pack(seq, len(record)) + record)


async def copy_journals(
    servers: Sequence[Server], into: Path, *, newest: int = SEALED_MAX
) -> AsyncIterator[float]:
    """Have what hosts recorded below a folder; gives how far it is, from 0 to 1.

    Segments are linked into `JOURNAL`, and files of what is in none of them are below `TAILS`:
    `seal_tails` makes segments of these too. A host that has recorded nothing is left out; raises
    `NothingRecorded` when none has.
    """
    some = False
    (into / TAILS).mkdir()
    for done, server in enumerate(servers):
        name = quote(server.config.host.name, safe="")
        sealed = server.config.journal.folder
        after = 0
        if sealed and (Path(sealed) / MANIFEST).is_file():
            place = into / JOURNAL / f"{name}-sealed"
            after = await asyncio.to_thread(link_newest, Path(sealed), place, newest)
            some = True
        try:
            async for share in write_tail(
                server, into / TAILS / name, after=after, newest=min(newest, NEWEST_MAX)
            ):
                yield (done + share) / len(servers)
                some = True
        except NothingRecorded:
            continue
    if not some:
        raise NothingRecorded(host=" and ".join(one.config.host.name for one in servers))


def seal_tails(folder: Path) -> None:
    """Make segments of all that `copy_journals` has written; in a child process."""
    for path in sorted((folder / TAILS).iterdir()):
        seal(path, folder / JOURNAL / path.name)
        path.unlink()


def read_tail(path: Path) -> Iterator[JournalEntry]:
    """The records of a file that `write_tail` wrote."""
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            seq, size = _HEAD.unpack(head)
            yield JournalEntry(seq, file.read(size))


def seal(path: Path, folder: Path) -> None:
    """Make segments of a file that `write_tail` wrote; it takes Arrow.

    A law that was put before the records counts from the first of them on, and not at all when its
    own record is there.
    """
    from nomospace.store.segments import add_segment

    manifest = Manifest()
    rows: dict[str, list[JournalRow]] = {}
    first = last = count = 0
    for seq, table, row in _rows(path):
        rows.setdefault(table, []).append(row)
        first, last, count = first or seq, seq, count + 1
        if count == SEGMENT_ROWS:
            manifest = add_segment(folder, manifest, rows, first, last)
            rows, first, count = {}, 0, 0
    if rows:
        add_segment(folder, manifest, rows, first, last)


def _rows(path: Path) -> Iterator[tuple[int, str, JournalRow]]:
    from nomospace.store.parquet import row_of

    own: dict[str, None] = {}
    begin = 0
    for entry in read_tail(path):
        record = decode_record(entry.record)
        if isinstance(record, LawRecord) and record.at:
            own[record.hash] = None
        if not isinstance(record, LawRecord) or record.at:
            begin = begin or row_of(entry)[1]["at"]
    for entry in read_tail(path):
        table, row = row_of(entry)
        if table == "laws" and not row["at"]:
            if row["law"] in own:
                continue
            row["at"] = begin
        yield entry.seq, table, row
