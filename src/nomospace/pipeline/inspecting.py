"""Whether the sealed files of a journal still are what was sealed.

A manifest has the hash of each file: whoever changed a cell of it is found out, also where the page
sums were made anew. Files that were sealed before there were hashes are compared within: `body` is
a row's record, and what stands in its other columns was taken from it. `deep` does so for all
files: that takes some 0.2 ms a row, and finds those out who have changed the manifest, too.

A journal that is not small is inspected where Spark has room: each task takes some files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.errors import NomospaceError
from nomospace.pipeline.segments import BATCH_ROWS, BadSegments, JournalFault, JournalFiles
from nomospace.store.parquet import remade
from nomospace.wire.segments import AT_AGAIN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
        rows = [
            [fault.kind, fault.where, fault.why]
            for row in batch.to_pylist()
            if (fault := _fault(row["table"], row["path"], row["hash"], deep=deep)) is not None
        ]
        yield pa.RecordBatch.from_pylist(
            [dict(zip(_FAULTS.names, row, strict=True)) for row in rows], schema=_FAULTS
        )


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
