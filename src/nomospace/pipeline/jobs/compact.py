"""The job that compacts: segments of journals become a part of an archive (`archive`).

Rows are sorted by time and laid out in parallel: each task of Spark writes files of its own, and
says what it wrote; the job names in the manifest what the tasks said that succeeded. So a task that
is done twice leaves a file that nobody names. Without Spark the same is done in this process.

Then parts that have become small beside those behind them are merged (`archive.to_merge`). Both
steps end with a manifest that is renamed: whoever reads sees what was, or all that is new.

Merged parts have the same rows, in fewer files, sorted by time throughout (`merge_parts`).
Nothing is read but columns, and nothing is known of what they mean, so that a merge is as quick as
sorting. Spark sorts each table over its workers; without it DuckDB does, which spills to the disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.layout import SqlTable
from nomospace.pipeline.archive import (
    COLUMNS,
    PART,
    ArchiveManifest,
    ArchivePart,
    ArchiveReader,
    File,
    MergedPart,
    adding,
    counted,
    marked,
    merged,
    read_manifest,
    settle,
    spark_schema,
    tables_of,
    tidied,
    to_merge,
    write_manifest,
)
from nomospace.pipeline.jobs.replay import Engine
from nomospace.pipeline.jobs.session import LOCAL, Say, check_master, session_for
from nomospace.pipeline.laying import FILE_ROWS, lay_out, write_rows
from nomospace.pipeline.matching import SparkDatabase
from nomospace.pipeline.segments import (
    BATCH_ROWS,
    Folders,
    JournalFiles,
    holding,
    list_journal,
    many,
    read_batches,
    read_spark,
)
from nomospace.store.matching_duckdb import DuckdbConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROWS_A_TASK: Final = 500_000
"""How many rows of the journal one task lays out; a file is some tens of megabytes then."""


HERE_ROWS: Final = 100_000
"""So few rows are laid out, counted and merged in this process: a job of Spark would take longer to
begin."""


class Compacted(msgspec.Struct, frozen=True):
    """What a compaction did, and what the archive has now."""

    archive: str
    segments: int
    tuples: int
    merged: int
    parts: int
    tuples_in_all: int
    took_s: float


@holding
def run_compact(
    folders: Folders,
    ontology: Ontology,
    archive: Path,
    *,
    engine: Engine = Engine.SPARK,
    whole: bool = False,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> Compacted:
    """Add to an archive what journals have and it has not, and merge parts that are small by now.

    With `whole`, all parts are made one. What was merged stays in its folders for `LEFT_S`, for
    those who read it. Raises `NoJournal`, `BadSegments`, `OtherOntology`, `BadArchive`,
    `TooManyClasses`, and what `open_session` does. Damaged segments are never left out: they would
    count as done.
    """
    if engine is Engine.SPARK and spark is None:
        check_master(master)
    listing = list_journal(folders, ("tuples",), deep=True).sound()
    began = monotonic()
    with adding(archive):
        manifest = read_manifest(archive, ontology)
        manifest = tidied(archive, manifest, now=time_ns() // 1_000)
        todo = waiting(listing, manifest)
        wanted = engine is Engine.SPARK and (bool(todo) or whole)
        with session_for(spark, master, wanted=wanted, prepare=prepare, say=say) as used:
            if todo:
                say(f"laying out {many(len(todo), 'segment')}")
                folder = archive / f"{PART}{uuid4().hex}"
                part = _settled(folder, make_part(todo, ontology, folder, used), ontology, used)
                manifest = msgspec.structs.replace(manifest, parts=(*manifest.parts, part))
            if todo or not manifest.parts:
                write_manifest(archive, manifest)
            added = manifest.parts[-1].tuples if todo else 0
            count = to_merge(manifest.parts, whole=whole) if todo or whole else 0
            if count > 1:
                say(f"merging {count:,} parts")
                manifest = _merge(archive, manifest, count, ontology, used)
    everything = sum(part.tuples for part in manifest.parts)
    return Compacted(
        archive=str(archive),
        segments=len(todo),
        tuples=added,
        merged=count if count > 1 else 0,
        parts=len(manifest.parts),
        tuples_in_all=everything,
        took_s=monotonic() - began,
    )


def _merge(
    archive: Path,
    manifest: ArchiveManifest,
    count: int,
    ontology: Ontology,
    spark: SparkSession | None,
) -> ArchiveManifest:
    """Let the last parts of an archive be one; their folders stay for those who read them."""
    kept, old = manifest.parts[:-count], manifest.parts[-count:]
    folder = archive / f"{PART}{uuid4().hex}"
    several = [(archive / part.folder, part) for part in old]
    if sum(part.tuples for part in old) <= HERE_ROWS:
        spark = None
    made = _settled(folder, merge_parts(several, ontology, folder, spark), ontology, spark)
    now = time_ns() // 1_000
    left = (*manifest.left, *[MergedPart(part.folder, now) for part in old])
    manifest = msgspec.structs.replace(manifest, parts=(*kept, made), left=left)
    write_manifest(archive, manifest)
    return manifest


def _settled(
    folder: Path, part: ArchivePart, ontology: Ontology, spark: SparkSession | None
) -> ArchivePart:
    """A part whose files are on disk, with how often its objects recur."""
    with closing(reader_for(None if part.tuples <= HERE_ROWS else spark)) as database:
        part = counted(database, folder, part, ontology)
    settle(folder)
    return part


def reader_for(spark: SparkSession | None) -> ArchiveReader:
    """What reads an archive, on Spark or in this process; whoever asks for it closes it."""
    if spark is not None:
        return SparkDatabase(spark)
    from nomospace.pipeline.matching_duckdb import DuckdbReader

    return DuckdbReader()


def waiting(listing: JournalFiles, manifest: ArchiveManifest) -> dict[str, str]:
    """The segments with tuples that are not in an archive, by their marks."""
    done = manifest.segments
    return {mark: at for mark, at in marked(listing.files["tuples"]).items() if mark not in done}


def make_part(
    segments: Mapping[str, str], ontology: Ontology, folder: Path, spark: SparkSession | None
) -> ArchivePart:
    """Lay segments out into a new folder, by Spark or, without it or where they are few, here."""
    folder.mkdir(parents=True)
    rows = sum(pq.read_metadata(path).num_rows for path in segments.values())
    chosen = JournalFiles({"tuples": tuple(segments.values())}, {"tuples": rows})
    if spark is None or rows <= HERE_ROWS:
        part = lay_out(_rows_here(chosen), ontology, folder, "0")
    else:
        part = _on_spark(spark, chosen, ontology, folder)
    return msgspec.structs.replace(part, folder=folder.name, segments=tuple(segments))


def _rows_here(listing: JournalFiles) -> Iterator[pa.RecordBatch]:
    names = ["at" if name == "since" else name for name in COLUMNS]
    for batch in read_batches(listing, "tuples", names):
        at = names.index("at")
        arrays = [*batch.columns]
        arrays[at] = pc.cast(batch.column("at"), pa.int64())
        yield pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def _on_spark(
    spark: SparkSession, listing: JournalFiles, ontology: Ontology, folder: Path
) -> ArchivePart:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = lay_out(batches, ontology, folder, uuid4().hex)
        yield pa.RecordBatch.from_arrays([pa.array([msgspec.json.encode(part)])], names=["part"])

    rows = read_spark(spark, listing, "tuples").withColumnRenamed("at", "since")
    rows = rows.selectExpr(
        *[f"unix_micros({name}) AS since" if name == "since" else f"`{name}`" for name in COLUMNS]
    )
    tasks = max(1, listing.rows["tuples"] // ROWS_A_TASK)
    rows = rows.repartitionByRange(tasks, "since").sortWithinPartitions("since")
    told = rows.mapInArrow(task, "part binary").collect()
    return merged(msgspec.json.decode(bytes(row.part), type=ArchivePart) for row in told)


MEMORY: Final = "2GB"
"""The most memory that DuckDB takes to sort; past it, it goes to disk."""


def merge_parts(
    parts: Sequence[tuple[Path, ArchivePart]],
    ontology: Ontology,
    folder: Path,
    spark: SparkSession | None,
) -> ArchivePart:
    """Write the rows of parts, each with its folder, into a new folder; gives the part it holds.

    How often objects recur is not told: an object of two parts recurs more often than in either.
    """
    folder.mkdir(parents=True)
    whole = merged(part for _, part in parts)
    known = tables_of([whole], ontology)
    tables: dict[str, tuple[File, ...]] = {}
    for name in whole.tables:
        files = [str(at / one.name) for at, part in parts for one in part.tables.get(name, ())]
        if spark is None:
            tables[name] = write_rows(_sorted_here(files), known[name], folder, "0")
        else:
            rows = sum(file.rows for file in whole.tables[name])
            tables[name] = _sort_on_spark(spark, files, known[name], folder, rows)
    return msgspec.structs.replace(
        whole,
        tables=tables,
        folder=folder.name,
        segments=tuple([mark for _, part in parts for mark in part.segments]),
    )


def _sorted_here(files: Sequence[str]) -> Iterator[pa.RecordBatch]:
    import duckdb

    with tempfile.TemporaryDirectory(prefix="nomospace-merge-") as spill:
        config: DuckdbConfig = {"memory_limit": MEMORY, "temp_directory": spill}
        with closing(duckdb.connect(":memory:", config=config)) as connection:
            query = "SELECT * FROM read_parquet(?) ORDER BY since, tuple"
            rows = connection.sql(query, params=[list(files)])
            yield from rows.to_arrow_reader(BATCH_ROWS)


def _sort_on_spark(
    spark: SparkSession, files: Sequence[str], table: SqlTable, folder: Path, rows: int
) -> tuple[File, ...]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file in write_rows(batches, table, folder, uuid4().hex):
            told = pa.array([msgspec.json.encode(file)])
            yield pa.RecordBatch.from_arrays([told], names=["file"])

    reader = spark.read.schema(spark_schema(table))
    frame = reader.option("parquet.page.verify-checksum.enabled", "true").parquet(*files)
    ordered = frame.repartitionByRange(-(-rows // FILE_ROWS), "since")
    told = ordered.sortWithinPartitions("since", "tuple").mapInArrow(task, "file binary").collect()
    found = [msgspec.json.decode(bytes(row.file), type=File) for row in told]
    return tuple(sorted(found, key=lambda file: (file.first, file.last, file.name)))
