"""The segments of journals: which there are, what is wrong with them, how each engine reads them.

A journal is a folder with a manifest, as a host seals it (`wire.segments`), or a folder of such
folders: the journals of many hosts. `list_journal` looks at every file that the manifests name and
gives a `JournalFiles`; from there on nothing depends on the folder. What is wrong is never passed
over in silence: `JournalFiles.sound` raises with the names of all bad files, unless the caller
asked to skip them, and then they stand in the listing.

| fault | what was found |
| --- | --- |
| `missing` | a file that the manifest names is gone, or records between two segments are |
| `corrupt` | a file is not what the manifest says, or cannot be read |
| `altered` | a file was changed after it was sealed, or a row is not what its body says |
| `newer` | a file, or a manifest, of a later version than this nomospace knows |

A look at a file is a look at its end, where Parquet keeps its outline; `deep` reads all pages and
checks their sums. Whether files are still what was sealed, `inspected` says. A journal
may begin late: what was dropped before its first segment is no fault.
The outline also tells of which time and communities a file's rows are, so that who wants a part of
a journal opens no others (`JournalFiles.within`).

Whether the sealed files of a journal still are what was sealed.

A manifest has the hash of each file: whoever changed a cell of it is found out, also where the page
sums were made anew. Files that were sealed before there were hashes are compared within: `body` is
a row's record, and what stands in its other columns was taken from it. `deep` does so for all
files: that takes some 0.2 ms a row, and finds those out who have changed the manifest, too.

A journal that is not small is inspected where Spark has room: each task takes some files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.errors import CallerError, NomospaceError
from nomospace.store.holds import reading
from nomospace.store.parquet import remade
from nomospace.wire.segments import (
    AT_AGAIN,
    JOURNAL_VERSION,
    LATER,
    MANIFEST,
    TABLES,
    BadManifest,
    Manifest,
    NewerManifest,
    Segment,
    decode_manifest,
    file_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


P = ParamSpec("P")
R = TypeVar("R")
Folders: TypeAlias = str | Path | Iterable[str | Path]

FAULTS_SHOWN: Final = 10
"""How many bad files an error names; the rest is counted."""
BATCH_ROWS: Final = 10_000
"""How many rows are in memory at a time where a table is read batch by batch."""
_SPARK_TYPES: Final = {
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "string": "string",
    "strings": "array<string>",
    "binary": "binary",
    "time": "timestamp",
}


Row: TypeAlias = dict[str, Any]
"""A row of any table, by column."""


class JournalFault(msgspec.Struct, frozen=True):
    """Something wrong with a journal: a kind of the table above, where, and what was found."""

    kind: str
    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}: {self.why}"


class EventFilter(msgspec.Struct, frozen=True):
    """Which events count: of a time, in microseconds, `until` not included, and of a community.

    An obligation that was imposed before `since` has no delay; one that ends after `until` is owed.
    """

    since: int | None = None
    until: int | None = None
    community: str | None = None


class RowSpan(msgspec.Struct, frozen=True):
    """What a file's outline tells of its rows: how many, from when to when, in microseconds.

    `communities` are the first and the last by name, where rows have one.
    """

    rows: int
    first: int | None = None
    last: int | None = None
    communities: tuple[str, str] | None = None

    def meets(self, part: EventFilter) -> bool:
        """Whether some row may be of a time, `until` not included, and of a community.

        >>> span = RowSpan(3, first=10, last=20, communities=("ap", "cc"))
        >>> bounds = EventFilter(since=20), EventFilter(until=10), EventFilter(0, 99, "sb")
        >>> [span.meets(part) for part in bounds]
        [True, False, False]
        """
        since, until, community = part.since, part.until, part.community
        if since is not None and self.last is not None and self.last < since:
            return False
        if until is not None and self.first is not None and self.first >= until:
            return False
        if community is None or self.communities is None:
            return True
        return self.communities[0] <= community <= self.communities[1]


class JournalFiles(msgspec.Struct, frozen=True):
    """The files of a journal by table, with their rows, and what is wrong.

    `spans` has what is known of each file, by its path, and `hashes` what it was sealed with: files
    of before there were hashes are not among them.
    """

    files: dict[str, tuple[str, ...]]
    rows: dict[str, int]
    faults: tuple[JournalFault, ...] = ()
    spans: dict[str, RowSpan] = {}
    hashes: dict[str, str] = {}

    def sound(self, *, skip_bad: bool = False) -> JournalFiles:
        """This listing, if nothing is wrong with it or that was asked to be skipped.

        Raises `BadSegments` otherwise.
        """
        if self.faults and not skip_bad:
            raise BadSegments(faults=self.faults)
        return self

    def without(self, faults: Sequence[JournalFault]) -> JournalFiles:
        """This listing with further faults, and without the files that they are in."""
        bad = {fault.where for fault in faults}
        files, rows = dict(self.files), dict(self.rows)
        for table, paths in self.files.items():
            files[table] = tuple([path for path in paths if path not in bad])
            rows[table] -= sum(self.spans[path].rows for path in paths if path in bad)
        told = (*self.faults, *faults)
        return msgspec.structs.replace(self, files=files, rows=rows, faults=told)

    def within(self, table: str, part: EventFilter) -> JournalFiles:
        """This listing without those files of a table that have no row of a time or a community."""
        kept = tuple([path for path in self.files[table] if self.spans[path].meets(part)])
        rows = sum(self.spans[path].rows for path in kept)
        files, counts = {**self.files, table: kept}, {**self.rows, table: rows}
        return msgspec.structs.replace(self, files=files, rows=counts)


class NoJournal(CallerError):
    """A folder is no journal."""

    code = "pipeline.no-journal"
    words = (
        f"{{folder}} is no journal: neither it nor a folder in it has a {MANIFEST}; name "
        "the folder of a host's segments (`nomospace journal make` writes one to try)"
    )
    folder: str


class BadSegments(CallerError):
    """Segments of a journal are missing, damaged or too new."""

    code = "pipeline.bad-segments"
    faults: tuple[JournalFault, ...]

    def __str__(self) -> str:
        shown = [f"  {fault}" for fault in self.faults[:FAULTS_SHOWN]]
        if len(self.faults) > FAULTS_SHOWN:
            shown.append(f"  and {len(self.faults) - FAULTS_SHOWN} more")
        first = (
            f"{many(len(self.faults), 'fault')} in the journal; bring the segments back from a "
            "copy, or leave them out with --skip-bad:"
        )
        return "\n".join([first, *shown])


# -- listing ---------------------------------------------------------------------------------------


def many(count: int, one: str, several: str = "") -> str:
    """A count with its noun.

    >>> many(1, "host"), many(2_000, "community", "communities")
    ('1 host', '2,000 communities')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def count_rows(folders: Folders, table: str) -> int:
    """How many rows of a table the manifests of journals tell of. Raises `NoJournal`."""
    given = [folders] if isinstance(folders, str | Path) else list(folders)
    return sum(
        segment.rows.get(table, 0)
        for one in given
        for folder in _journals(Path(one))
        for segment in _manifest(folder, []).segments
    )


def holding(job: Callable[Concatenate[Folders, P], R]) -> Callable[Concatenate[Folders, P], R]:
    """Let a job hold the segments of its journals while it reads them: none is let go meanwhile."""

    @wraps(job)
    def run(folders: Folders, /, *more: P.args, **named: P.kwargs) -> R:
        given = [folders] if isinstance(folders, str | Path) else list(folders)
        with ExitStack() as held:
            for each in given:
                with suppress(NoJournal):  # the job says what is wrong, in its turn
                    for folder in _journals(Path(each)):
                        held.enter_context(reading(folder))
            return job(given, *more, **named)

    return run


def list_journal(
    folders: Folders,
    tables: Sequence[str] = tuple(TABLES),
    *,
    deep: bool = False,
) -> JournalFiles:
    """All segments of journals, each looked at. Raises `NoJournal`.

    >>> list_journal("/nowhere")
    Traceback (most recent call last):
    nomospace.pipeline.segments.NoJournal: /nowhere is no journal: neither it nor a folder in it ...
    """
    given = [folders] if isinstance(folders, str | Path) else list(folders)
    files: dict[str, list[str]] = {table: [] for table in tables}
    rows = dict.fromkeys(tables, 0)
    faults: list[JournalFault] = []
    spans: dict[str, RowSpan] = {}
    hashes: dict[str, str] = {}
    for folder in [found for one in given for found in _journals(Path(one))]:
        manifest = _manifest(folder, faults)
        faults += _gaps(folder, manifest.segments)
        for segment in manifest.segments:
            for table in tables:
                if table not in segment.rows:
                    continue
                path = folder / file_of(table, segment.number)
                found = _look(path, table, segment, deep)
                if isinstance(found, JournalFault):
                    faults.append(found)
                    continue
                files[table].append(str(path))
                rows[table] += segment.rows[table]
                spans[str(path)] = found
                if table in segment.hashes:
                    hashes[str(path)] = segment.hashes[table]
    listed = {table: tuple(paths) for table, paths in files.items()}
    return JournalFiles(listed, rows, tuple(faults), spans, hashes)


@contextmanager
def named_faults(folders: Folders, tables: Sequence[str], *, skip_bad: bool) -> Iterator[None]:
    """An engine that stumbles over a damaged page says so in its own words; say it in ours."""
    try:
        yield
    except BadSegments:
        raise
    except Exception:
        faults = list_journal(folders, tables, deep=True).faults
        if faults and not skip_bad:
            raise BadSegments(faults=faults) from None
        raise


def _journals(folder: Path) -> list[Path]:
    """The journal folders that a folder is or holds."""
    if (folder / MANIFEST).is_file():
        return [folder]
    inside = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not inside:
        raise NoJournal(folder=str(folder))
    return inside


def _manifest(folder: Path, faults: list[JournalFault]) -> Manifest:
    """What counts in a folder; a manifest that cannot be used is a fault, and counts nothing."""
    path = folder / MANIFEST
    try:
        return decode_manifest(path.read_bytes(), str(folder))
    except NewerManifest as error:
        faults.append(JournalFault("newer", str(path), error.why))
    except (BadManifest, OSError) as error:
        why = error.why if isinstance(error, BadManifest) else str(error)
        faults.append(JournalFault("corrupt", str(path), why))
    return Manifest()


def _gaps(folder: Path, segments: Sequence[Segment]) -> Iterator[JournalFault]:
    for before, after in pairwise(segments):
        if after.first != before.last + 1:
            why = f"records {before.last + 1} to {after.first - 1} are in no segment"
            yield JournalFault("missing", str(folder / MANIFEST), why)


def _look(path: Path, table: str, segment: Segment, deep: bool) -> JournalFault | RowSpan:
    """What is wrong with a file, or what its outline tells."""
    bytes_told, rows_told = segment.bytes[table], segment.rows[table]

    def fault(kind: str, why: str) -> JournalFault:
        return JournalFault(kind, str(path), why)

    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return fault("missing", f"its {rows_told:,} rows are in the manifest, and it is gone")
    except OSError as error:
        return fault("corrupt", error.strerror or str(error))
    try:
        with pq.ParquetFile(str(path), page_checksum_verification=deep) as file:
            newest = (_range(file, "version") or (0, 0))[1]
            if newest > JOURNAL_VERSION:
                most = f"this nomospace knows {JOURNAL_VERSION} at most"
                return fault("newer", f"it is of version {newest}, and {most}; upgrade")
            rows = file.metadata.num_rows
            if (size, rows) != (bytes_told, rows_told):
                told = f"{bytes_told:,} and {rows_told:,}"
                why = f"it has {size:,} bytes and {rows:,} rows, and the manifest says {told}"
                return fault("corrupt", why)
            known = set(file.schema_arrow.names)
            lacking = [name for name in TABLES[table] if name not in known | LATER]
            if lacking:
                return fault("corrupt", f"it has no column {', '.join(lacking)}")
            if deep:
                for _ in file.iter_batches(BATCH_ROWS):
                    pass
            first, last = _range(file, "at") or (None, None)
            return RowSpan(rows, first, last, _range(file, "community"))
    except (OSError, ValueError) as error:  # Arrow's own errors are among these
        return fault("corrupt", str(error).splitlines()[0])


def _range(file: pq.ParquetFile, column: str) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column, times in microseconds, if the outline says."""
    place = file.schema_arrow.get_field_index(column)
    if place < 0:
        return None
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    found: list[Any] = [group.column(place).statistics for group in groups]
    if not found or not all(one is not None and one.has_min_max for one in found):
        return None
    if column == "at":
        return min(one.min_raw for one in found), max(one.max_raw for one in found)
    return min(one.min for one in found), max(one.max for one in found)


# -- reading ---------------------------------------------------------------------------------------


def column_of(rows: pa.Table | pa.RecordBatch, name: str) -> list[Any]:
    """What stands in a column, row by row."""
    return rows.column(name).to_pylist()


def read_spark(spark: SparkSession, listing: JournalFiles, table: str) -> DataFrame:
    """A table of a journal as a DataFrame, with the columns of `wire.segments.TABLES`.

    Pages are checked by their sums as they are read; one that is damaged fails the job.
    """
    schema = ddl(TABLES[table])
    paths = listing.files.get(table, ())
    if not paths:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", "true")
    return reader.parquet(*paths)


def ddl(columns: Mapping[str, str]) -> str:
    """Columns as Spark's schemas have them.

    >>> ddl({"host": "string", "at": "time"})
    '`host` string, `at` timestamp'
    """
    return ", ".join(f"`{name}` {_SPARK_TYPES[kind]}" for name, kind in columns.items())


def _before(name: str, batch: pa.RecordBatch) -> Any:
    """A column that segments of before have not: the moment under its only name, or nulls."""
    if name == AT_AGAIN:
        return batch.column("at")
    if name == "path":
        return pa.nulls(batch.num_rows, pa.list_(pa.string()))
    return pa.nulls(batch.num_rows, pa.int64() if name == "cause" else pa.string())


def read_batches(
    listing: JournalFiles, table: str, columns: Sequence[str], *, rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """A table of a journal in Arrow batches, segment by segment, without any engine.

    Raises `BadSegments` with the name of a file whose pages are damaged.
    """
    for path in listing.files.get(table, ()):
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                names = file.schema_arrow.names
                lacks = [name for name in columns if name in LATER and name not in names]
                for batch in file.iter_batches(rows, columns=list(columns)):
                    for name in lacks:
                        batch = batch.append_column(name, _before(name, batch))
                    yield batch
        except (OSError, ValueError) as error:
            why = str(error).splitlines()[0]
            raise BadSegments(faults=(JournalFault("corrupt", path, why),)) from None


HERE_ROWS: Final = 200_000
"""Files with fewer rows in all are inspected in this process."""
TASKS_MAX: Final = 1_000
_FILES: Final = "table string, path string, hash string"
_FAULTS: Final = pa.schema([(name, pa.string()) for name in JournalFault.__struct_fields__])


def unhashed(listing: JournalFiles) -> int:
    """How many files of a listing were sealed without a hash."""
    return sum(path not in listing.hashes for paths in listing.files.values() for path in paths)


def unsealed(count: int) -> str:
    """What is to be said of files without a hash.

    >>> unsealed(1)
    '1 file was sealed without a hash: its columns were compared with the bodies instead'
    """
    some = "1 file was" if count == 1 else f"{count:,} files were"
    whose = "its" if count == 1 else "their"
    return f"{some} sealed without a hash: {whose} columns were compared with the bodies instead"


def inspected(
    listing: JournalFiles,
    *,
    deep: bool = False,
    skip_bad: bool = False,
    spark: SparkSession | None = None,
) -> JournalFiles:
    """A listing whose files are what was sealed; those that are not are left out with `skip_bad`.

    Raises `BadSegments` otherwise.
    """
    files = [
        (table, path, listing.hashes.get(path, ""))
        for table, paths in listing.files.items()
        for path in paths
    ]
    if spark is None:
        faults = [fault for one in files if (fault := _fault(*one, deep=deep)) is not None]
    elif files:
        frame = spark.createDataFrame(files, _FILES).repartition(min(len(files), TASKS_MAX))
        work = partial(_inspect_batches, deep=deep)
        found = frame.mapInArrow(work, "kind string, where string, why string").collect()
        faults = [JournalFault(*row) for row in sorted(found, key=lambda row: str(row["where"]))]
    else:
        faults = []
    if faults and not skip_bad:
        raise BadSegments(faults=tuple(faults))
    return listing.without(faults) if faults else listing


def is_large(listing: JournalFiles) -> bool:
    """Whether a journal is too large to be inspected in this process, where there is Spark."""
    return sum(listing.rows.values()) >= HERE_ROWS


def _inspect_batches(batches: Iterator[pa.RecordBatch], *, deep: bool) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        faults = [
            msgspec.structs.asdict(fault)
            for row in batch.to_pylist()
            if (fault := _fault(row["table"], row["path"], row["hash"], deep=deep)) is not None
        ]
        yield pa.RecordBatch.from_pylist(faults, schema=_FAULTS)


def _fault(table: str, path: str, expected: str, *, deep: bool) -> JournalFault | None:
    """What is wrong with a file, if anything is."""
    changed = False
    try:
        if expected:
            with Path(path).open("rb") as file:
                changed = hashlib.file_digest(file, "sha256").hexdigest() != expected
        if changed or deep or not expected:
            why = _odd_row(table, path)  # a file that cannot be read is not said to be changed
            if why or changed:
                why = why or "its hash is not the one that the manifest has"
                return JournalFault("altered", path, f"it was changed after it was sealed: {why}")
    except (OSError, ValueError) as error:  # Arrow's own errors are among these
        return JournalFault("corrupt", path, str(error).splitlines()[0])
    return None


def _odd_row(table: str, path: str) -> str:
    """The first row of a file whose columns are not what its body says."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            for name in ("at", "due_at", "until", AT_AGAIN):
                place = batch.schema.get_field_index(name)
                if place >= 0:
                    batch = batch.set_column(place, name, batch.column(name).cast(pa.int64()))
            for row in batch.to_pylist():
                try:
                    made = remade(table, row)
                except NomospaceError as error:
                    return f"record {row['seq']:,} cannot be read ({error})"
                for name in made.keys() & row.keys():
                    if row[name] != made[name]:
                        return f"column {name} of record {row['seq']:,} is not what its body says"
    return ""
