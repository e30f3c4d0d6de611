"""Segments: the journal as Parquet files, which Spark and others read without asking a host.

    FOLDER/manifest.json
    FOLDER/events/seg-00000001.parquet      and laws/, checkpoints/, tuples/, leases/

A segment has the records of a range of numbers, each table in a file of its own (none where there
are no rows). It is sealed in this order, each step on disk before the next:

1. files that the manifest does not know (of a process that died) are removed;
2. the files are written under another name and renamed;
3. the manifest, with the range, is written under another name and renamed: now it counts;
4. the store forgets the range (with `--keep` its host sees to that: two that write to one SQLite
   file wait for each other).

Whoever dies between two steps loses nothing and doubles nothing: until 3 the records are the
store's, from 3 on they are the segment's, and what the store still has of them is passed over.

Sealing is done in a process of its own, `python -m nomospace.store.segments --store URL --into
FOLDER`, because Arrow is large and slow to start, and a host should be neither. It prints a line of
JSON for each new segment, and at the end the last record that is sealed, and the last that was let
go (`let_go`). A URL with a password is
better given in the variable `NOMOSPACE_STORE`, which other users of the machine do not see. Only
this module and `store.parquet` know Arrow.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from hashlib import file_digest, sha256
from itertools import compress, pairwise
from operator import itemgetter, not_
from pathlib import Path
from sys import maxsize
from typing import IO, Any, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nomospace.errors import NomospaceError, Unavailable
from nomospace.store.holds import HOLD_S, HOLDS, LOCK, holds, lock
from nomospace.store.interface import JournalEntry, Store
from nomospace.store.journal import (
    SMALL,
    EventRecord,
    JournalGap,
    Record,
    decode_record,
    encode_record,
)
from nomospace.store.opening import open_store
from nomospace.store.parquet import SCHEMAS, JournalRow, record_of, row_of
from nomospace.store.private import make_folder, open_file, whole
from nomospace.wire.segments import (
    MANIFEST,
    Manifest,
    RecordsLetGo,
    Segment,
    check_host,
    check_last,
    decode_manifest,
    encode_manifest,
    file_of,
)

ROWS: Final = 100_000
BYTES: Final = 64 * 1024 * 1024
SECONDS: Final = 60.0
"""A segment is sealed when so many records wait, or so many bytes, or when one waited so long."""
_CHUNK: Final = 10_000
_CHUNK_BYTES: Final = 16 << 20
"""So many records are read at a time, and so many bytes of them."""
LET_GO_MAX: Final = 16
"""So many segments are let go at a time."""
DAY_US: Final = 86_400_000_000
SEAL_S: Final = 1.0
"""How long sealing waits: a program that begins to read has the folder for an instant."""
Rows: TypeAlias = dict[str, list[JournalRow]]
"""Rows by table."""


class SegmentLimits(msgspec.Struct, frozen=True):
    """When a segment is full, and when one that is not is sealed all the same."""

    rows: int = ROWS
    bytes: int = BYTES
    seconds: float = SECONDS


class SegmentDamaged(Unavailable):
    """A file of a segment is not what was sealed."""

    code = "store.segment-damaged"
    words = "the segment {path} is damaged: {why}; bring the file back from a copy"
    path: str
    why: str


# -- files ---------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> Manifest:
    """What counts in a folder; nothing, where there is no manifest. Raises `BadManifest`."""
    try:
        data = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        return Manifest()
    return decode_manifest(data, str(folder))


def _sealed(folder: Path, segment: Segment, table: str) -> pa.BufferReader:
    """The bytes of a segment's file, which are those that were sealed; raises `SegmentDamaged`."""
    path = _path(folder, table, segment.number)
    try:
        data = path.read_bytes()
    except OSError as error:
        now = read_manifest(folder)
        if segment.last <= now.gone:
            raise RecordsLetGo(folder=str(folder), asked=segment.first, first=now.first) from None
        raise SegmentDamaged(path=str(path), why=error.strerror or str(error)) from None
    expected = segment.hashes.get(table, "")
    if expected and sha256(data).hexdigest() != expected:
        raise SegmentDamaged(path=str(path), why="its hash is not that of the manifest")
    return pa.BufferReader(data)


def _path(folder: Path, table: str, number: int) -> Path:
    return folder / file_of(table, number)


@contextmanager
def _appears(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears whole, and stays."""
    make_folder(path.parent)
    with whole(path) as new, open_file(new, "wb") as file:
        yield file


@contextmanager
def _alone(folder: Path, wait_s: float) -> Iterator[None]:
    """Have a folder for oneself, after waiting a while for who has it just now."""
    make_folder(folder)
    with open_file(folder / LOCK, "w") as file:
        lock(folder, file, fcntl.LOCK_EX, wait_s)
        yield


# -- sealing -------------------------------------------------------------------------------------


def seal(
    store: Store, folder: Path, limits: SegmentLimits, *, now: int, keep: bool = False
) -> list[Segment]:
    """Seal what waits in a store, as far as the limits say; gives the new segments.

    A folder's first segment begins with the first record that the store has: a host may run for
    long before anyone wants its journal. With `keep`, the store forgets nothing.
    """
    made: list[Segment] = []
    with _alone(folder, SEAL_S):
        manifest = read_manifest(folder)
        check_last(manifest, store.last_record, str(folder))
        _remove_unknown(folder, manifest)
        _check_host(store, folder, manifest)  # before it forgets what the folder seems to have
        if not keep:
            store.prune(manifest.last)
        while True:
            entries = _waiting(store, manifest.last, limits)
            if not entries or not _is_due(entries, limits, now):
                return made
            rows: Rows = {}
            for entry in entries:
                table, row = row_of(entry)
                rows.setdefault(table, []).append(row)
            manifest = add_segment(folder, manifest, rows, entries[0].seq, entries[-1].seq)
            segment = manifest.segments[-1]
            if not keep:
                store.prune(segment.last)
            made.append(segment)


def _check_host(store: Store, folder: Path, manifest: Manifest) -> None:
    """Raise `OtherJournal` when the segments of a folder are of another host than a store."""
    for entry in store.journal(0, 1):
        host = manifest.host or _host_of(folder, manifest)
        check_host(host, decode_record(entry.record).host, str(folder))


def _host_of(folder: Path, manifest: Manifest) -> str:
    """Whose segments are in a folder; empty if there are none."""
    if not manifest.segments:
        return ""
    last = manifest.segments[-1]
    file = _sealed(folder, last, next(iter(last.rows)))
    return str(pq.read_table(file, columns=["host"]).column("host")[0].as_py())


def _remove_unknown(folder: Path, manifest: Manifest) -> None:
    known = {_path(folder, table, s.number) for s in manifest.segments for table in s.rows}
    for table in SCHEMAS:
        for path in (folder / table).glob("*"):
            if path not in known:
                path.unlink()


def _waiting(store: Store, after: int, limits: SegmentLimits) -> list[JournalEntry]:
    """What the next segment would have, if it were sealed now."""
    entries: list[JournalEntry] = []
    size = 0
    while True:
        chunk = store.journal(after, min(_CHUNK, limits.rows - len(entries)), limits.bytes - size)
        for entry in chunk:
            if entry.seq != after + 1 and after:
                raise JournalGap(what="the records of a store", after=after, found=entry.seq)
            after = entry.seq
            size += len(entry.record)
            entries.append(entry)
            if size >= limits.bytes or len(entries) >= limits.rows:
                return entries
        if not chunk:
            return entries


def _is_due(entries: list[JournalEntry], limits: SegmentLimits, now: int) -> bool:
    if len(entries) >= limits.rows or sum(len(e.record) for e in entries) >= limits.bytes:
        return True
    return now - _at(decode_record(entries[0].record)) >= limits.seconds * 1_000_000


def add_segment(folder: Path, manifest: Manifest, rows: Rows, first: int, last: int) -> Manifest:
    """Write the rows of a range of records as the next segment of a folder; gives its manifest.

    Pages carry checksums, by which a reader can tell a damaged file; the manifest has a hash of
    each file, by which it can tell one that was changed.
    """
    segment = _write_segment(folder, manifest.next_number, rows, first, last)
    host = next((str(row["host"]) for listed in rows.values() for row in listed), "")
    return _put_manifest(folder, Manifest(segments=(*manifest.segments, segment), host=host))


def _write_segment(folder: Path, number: int, rows: Rows, first: int, last: int) -> Segment:
    sizes: dict[str, int] = {}
    hashes: dict[str, str] = {}
    for table, listed in rows.items():
        made = pa.Table.from_pylist(listed, schema=SCHEMAS[table])
        path = _path(folder, table, number)
        with _appears(path) as file:
            pq.write_table(made, file, compression="zstd", write_page_checksum=True)
        sizes[table] = path.stat().st_size
        with path.open("rb") as file:
            hashes[table] = file_digest(file, "sha256").hexdigest()
    counts = {table: len(listed) for table, listed in rows.items()}
    return Segment(number, first, last, counts, sizes, hashes)


def _put_manifest(folder: Path, manifest: Manifest) -> Manifest:
    with _appears(folder / MANIFEST) as file:
        file.write(encode_manifest(manifest))
    return manifest


# -- letting go ----------------------------------------------------------------------------------


class Retention(msgspec.Struct, frozen=True):
    """For how long segments are kept, and how many bytes of them; 0 is without end."""

    days: float = 0.0
    bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.days or self.bytes)


def let_go(folder: Path, keep: Retention, *, now: int) -> Manifest:
    """Let some of the oldest segments go, `LET_GO_MAX` at most; what counts then.

    The newest stays, and so does what somebody holds (`holds`). Laws stay too: no ruling that is
    kept can be audited without its law. They are put into a segment that stands for all that went;
    then the manifest changes, and then the files go. Who dies between leaves files that nobody
    knows.
    """
    with _alone(folder, HOLD_S):
        manifest = read_manifest(folder)
        went = _past(folder, manifest, keep, now)
        if not went:
            return manifest
        laws: dict[str, JournalRow] = {}
        for segment in went:
            if "laws" in segment.rows:
                made = pq.read_table(_sealed(folder, segment, "laws"), schema=SCHEMAS["laws"])
                for row in made.to_pylist():
                    laws.setdefault(row["law"], row)
        rows: Rows = {"laws": list(laws.values())} if laws else {}
        first, last = went[0].first, went[-1].last
        stub = _write_segment(folder, manifest.next_number, rows, first, last)
        kept = manifest.segments[len(went) :]
        manifest = _put_manifest(folder, Manifest(segments=(stub, *kept), host=manifest.host))
        _remove_unknown(folder, manifest)
        return manifest


def _past(folder: Path, manifest: Manifest, keep: Retention, now: int) -> list[Segment]:
    """The segments that go: none, or at least one that has more than laws."""
    segments = manifest.segments
    held = min(holds(folder).values(), default=manifest.last)
    size = sum(sum(one.bytes.values()) for one in segments)
    went: list[Segment] = []
    for segment, after in pairwise(segments):
        if segment.last > manifest.gone:
            young = not keep.days or now - _begin_of(folder, after) < keep.days * DAY_US
            small = not keep.bytes or size <= keep.bytes
            if segment.last > held or (young and small) or len(went) > LET_GO_MAX:
                break
        size -= sum(segment.bytes.values())
        went.append(segment)
    return went if went and went[-1].last > manifest.gone else []


def hold(folder: Path, name: str, after: int | None) -> None:
    """Let nothing after a record go, for somebody; `None`: that one needs nothing any more."""
    path = folder / HOLDS / name
    if after is None:
        path.unlink(missing_ok=True)
        return
    with _alone(folder, HOLD_S):
        manifest = read_manifest(folder)
        if after < manifest.gone:
            raise RecordsLetGo(folder=str(folder), asked=after + 1, first=manifest.first)
        with _appears(path) as file:
            file.write(b"%d" % after)


# -- reading -------------------------------------------------------------------------------------


def read_segment(folder: Path, segment: Segment) -> list[tuple[int, Record]]:
    """The records of a segment with their numbers, in order."""
    found: list[tuple[int, Record]] = []
    for table in segment.rows:
        made = pq.read_table(_sealed(folder, segment, table), schema=SCHEMAS[table])
        found += _records(table, made)
    found.sort(key=itemgetter(0))
    return found


def _records(table: str, made: pa.Table) -> list[tuple[int, Record]]:
    for place, name in enumerate(made.schema.names):
        if name in ("at", "until"):
            made = made.set_column(place, name, made.column(name).cast(pa.int64()))
    return [(row["seq"], record_of(table, row)) for row in made.to_pylist()]


def read_record(folder: Path, number: int) -> list[tuple[int, Record]]:
    """A record of the segments of a folder, if it is there."""
    for segment in read_manifest(folder).segments:
        if segment.first <= number <= segment.last:
            return [one for one in read_segment(folder, segment) if one[0] == number]
    return []


def read_around(folder: Path, at: int, upto: int, most: int) -> list[tuple[int, Record]]:
    """Up to so many records before a moment and as many after it, up to a number, in order.

    Numbers grow with time: it is the segment that the moment is in, and those beside it.
    """
    segments = [one for one in read_manifest(folder).segments if one.first <= upto]
    middle = max(0, bisect_right(segments, at, key=partial(_begin_of, folder)) - 1)
    before: list[tuple[int, Record]] = []
    after: list[tuple[int, Record]] = []
    for place in range(middle, -1, -1):
        told = [one for one in read_segment(folder, segments[place]) if one[0] <= upto]
        late = [_at(record) > at for _, record in told]
        before = [*compress(told, map(not_, late)), *before]
        after = [*compress(told, late), *after]
        if len(before) >= most:
            break
    for segment in segments[middle + 1 :]:
        if len(after) >= most:
            break
        after += [one for one in read_segment(folder, segment) if one[0] <= upto]
    return [*before[-most:], *after[:most]]


def _begin_of(folder: Path, segment: Segment) -> int:
    """When the first record of a segment was."""
    begins: list[Any] = []
    for table in segment.rows:
        outline = pq.read_metadata(_sealed(folder, segment, table))
        place = SCHEMAS[table].get_field_index("at")
        groups = [outline.row_group(number) for number in range(outline.num_row_groups)]
        told = [group.column(place).statistics for group in groups]
        begins += [one.min_raw for one in told if one is not None]
    return min(begins, default=0)


def _at(record: Record) -> int:
    return record.ruling.at if isinstance(record, EventRecord) else record.at


def read_tuple(folder: Path, id: str) -> list[tuple[int, Record]]:
    """What the segments of a folder tell of a tuple and its leases, the oldest first."""
    found: list[tuple[int, Record]] = []
    for segment in read_manifest(folder).segments:
        for table in ("tuples", "leases"):
            if table in segment.rows:
                file = _sealed(folder, segment, table)
                asked = pc.field("tuple_id") == id
                found += _records(table, pq.read_table(file, schema=SCHEMAS[table], filters=asked))
    found.sort(key=itemgetter(0))
    return found


def few_large(told: Iterable[tuple[int, Record]], room: int) -> Iterator[tuple[int, bytes]]:
    """Records in bytes: all that are small, and large ones as long as there is room for them."""
    for seq, record in told:
        body = encode_record(record)
        if len(body) > SMALL:
            room -= len(body)
        if len(body) <= SMALL or room >= 0:
            yield seq, body


def read_journal(
    folder: Path | None, store: Store | None, *, after: int = 0
) -> Iterator[tuple[int, Record]]:
    """All records after a number: those of a folder's segments, then those still in the store.

    Segments may be sealed meanwhile; nothing is left out or told twice. A journal may begin late,
    and without a folder those that were sealed are not missed. Raises `JournalGap` where records
    are missing between others, `RecordsLetGo` where it is to go on with some that are gone, and
    `OtherJournal` where the folder is of another host.
    """
    if folder is None:
        for entry in _tail(store, after):
            yield entry.seq, decode_record(entry.record)
        return
    manifest = read_manifest(folder)
    if 0 < after < manifest.gone:
        raise RecordsLetGo(folder=str(folder), asked=after + 1, first=manifest.first)
    if store is not None:
        _check_host(store, folder, manifest)
    while True:
        before = after
        for segment in read_manifest(folder).segments:
            if segment.last > after:
                yield from [pair for pair in read_segment(folder, segment) if pair[0] > after]
                after = segment.last
        missing = None
        for entry in _tail(store, after):
            if entry.seq != after + 1 and after:  # it was sealed while we read, or it is gone
                missing = entry.seq
                break
            after = entry.seq
            yield after, decode_record(entry.record)
        if missing is not None and after == before:
            raise JournalGap(what="the records", after=after, found=missing)
        if missing is None and read_manifest(folder).last <= after:
            return


def _tail(store: Store | None, after: int) -> Iterator[JournalEntry]:
    while store is not None:
        chunk = store.journal(after, _CHUNK, _CHUNK_BYTES)
        yield from chunk
        if not chunk:
            return
        after = chunk[-1].seq


def main(arguments: list[str] | None = None) -> int:
    """Seal what waits in a store."""
    parser = argparse.ArgumentParser(prog="python -m nomospace.store.segments")
    url = os.environ.get("NOMOSPACE_STORE")
    parser.add_argument("--store", default=url, help="the store's URL")
    parser.add_argument("--into", required=True, type=Path, help="the journal's folder")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--bytes", type=int, default=BYTES)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--keep", action="store_true", help="let the store forget nothing")
    parser.add_argument("--keep-days", type=float, default=0.0, help="let older segments go")
    parser.add_argument("--keep-bytes", type=int, default=0, help="let the oldest go above that")
    parser.add_argument("--tuple", default="", help="seal nothing: tell of the tuple with this id")
    parser.add_argument("--record", type=int, default=0, help="seal nothing: tell this record")
    parser.add_argument("--around", type=int, default=0, help="seal nothing: tell what was then,")
    parser.add_argument("--upto", type=int, default=0, help="up to this record,")
    parser.add_argument("--most", type=int, default=_CHUNK, help="so much before and after,")
    parser.add_argument(
        "--large", type=int, default=maxsize, help="and so many bytes of large ones"
    )
    given = parser.parse_args(arguments)
    if given.store is None and not (given.tuple or given.record or given.around):
        parser.error("--store is needed")
    limits = SegmentLimits(max(1, given.rows), given.bytes, given.seconds)
    try:
        if given.tuple or given.record or given.around:
            if given.tuple:
                told = read_tuple(given.into, given.tuple)
            elif given.record:
                told = read_record(given.into, given.record)
            else:
                told = read_around(given.into, given.around, given.upto, given.most)
            for seq, body in few_large(told, given.large):
                print(seq, body.hex())
            return 0
        with closing(open_store(given.store)) as store:
            store.attach()
            now = time.time_ns() // 1_000
            for segment in seal(store, given.into, limits, now=now, keep=given.keep):
                print(msgspec.json.encode(segment).decode())
            manifest, keep = read_manifest(given.into), Retention(given.keep_days, given.keep_bytes)
            if keep:
                manifest = let_go(given.into, keep, now=now)
            told_of = {"last": manifest.last, "gone": manifest.gone}
            print(msgspec.json.encode(told_of).decode())
    except NomospaceError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{given.into}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
