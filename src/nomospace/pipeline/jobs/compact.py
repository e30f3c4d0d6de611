"""The job that compacts: segments of journals become a part of an archive (`archive`).

Rows are sorted by time and laid out in parallel: each task of Spark writes files of its own, and
says what it wrote; the job names in the manifest what the tasks said that succeeded. So a task that
is done twice leaves a file that nobody names. Without Spark the same is done in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from nomospace.meaning.ontology import Ontology
from nomospace.pipeline.archive import (
    COLUMNS,
    PART,
    Manifest,
    Part,
    adding,
    lay_out,
    marked,
    merged,
    read_manifest,
    remove_unknown,
    settle,
    write_manifest,
)
from nomospace.pipeline.jobs.replay import Engine
from nomospace.pipeline.jobs.session import LOCAL, Say, check_master, open_session
from nomospace.pipeline.segments import Listing, list_journal, read_batches, read_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_A_TASK: Final = 500_000
"""How many rows of the journal one task lays out; a file is some tens of megabytes then."""


class Compacted(msgspec.Struct, frozen=True):
    """What a compaction did, and what the archive has now."""

    archive: str
    segments: int
    tuples: int
    parts: int
    tuples_in_all: int
    took_s: float


def run_compact(
    folders: str | Path | Iterable[str | Path],
    ontology: Ontology,
    archive: Path,
    *,
    engine: Engine = Engine.SPARK,
    master: str = LOCAL,
    spark: SparkSession | None = None,
    prepare: Callable[[], None] = lambda: None,
    say: Say = lambda words: None,
) -> Compacted:
    """Add to an archive what journals have and it has not; what is there already stays as it is.

    Raises `NoJournal`, `BadSegments`, `OtherOntology`, `BadArchive`, `TooManyClasses`, and what
    `open_session` does. Damaged segments are never left out: they would count as done.
    """
    if engine is Engine.SPARK and spark is None:
        check_master(master)
    listing = list_journal(folders, ("tuples",), deep=True).sound()
    began = monotonic()
    with adding(archive):
        manifest = read_manifest(archive, ontology)
        remove_unknown(archive, manifest)
        todo = waiting(listing, manifest)
        made_here = bool(todo) and engine is Engine.SPARK and spark is None
        if made_here:
            prepare()
            spark = open_session(master, say=say)
        try:
            if todo:
                say(f"laying out {len(todo):,} segments")
                folder = archive / f"{PART}{uuid4().hex}"
                used = spark if engine is Engine.SPARK else None
                part = make_part(todo, ontology, folder, used)
                settle(folder)
                manifest = Manifest(ontology.hash, (*manifest.parts, part))
                write_manifest(archive, manifest)
            elif not manifest.parts:
                write_manifest(archive, manifest)
        finally:
            if made_here and spark is not None:
                spark.stop()
    added = manifest.parts[-1].tuples if todo else 0
    everything = sum(part.tuples for part in manifest.parts)
    took = monotonic() - began
    return Compacted(str(archive), len(todo), added, len(manifest.parts), everything, took)


def waiting(listing: Listing, manifest: Manifest) -> dict[str, str]:
    """The segments with tuples that are not in an archive, by their marks."""
    done = manifest.segments
    return {mark: at for mark, at in marked(listing.files["tuples"]).items() if mark not in done}


def make_part(
    segments: Mapping[str, str], ontology: Ontology, folder: Path, spark: SparkSession | None
) -> Part:
    """Lay segments out into a new folder, by Spark or, without it, here."""
    folder.mkdir(parents=True)
    chosen = Listing({"tuples": tuple(segments.values())}, {})
    if spark is None:
        part = lay_out(_rows_here(chosen), ontology, folder, "0")
    else:
        part = _on_spark(spark, chosen, ontology, folder)
    return msgspec.structs.replace(part, folder=folder.name, segments=tuple(segments))


def _rows_here(listing: Listing) -> Iterator[pa.RecordBatch]:
    names = ["at" if name == "since" else name for name in COLUMNS]
    for batch in read_batches(listing, "tuples", names):
        at = names.index("at")
        arrays = [*batch.columns]
        arrays[at] = pc.cast(batch.column("at"), pa.int64())
        yield pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def _on_spark(spark: SparkSession, listing: Listing, ontology: Ontology, folder: Path) -> Part:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = lay_out(batches, ontology, folder, uuid4().hex)
        yield pa.RecordBatch.from_arrays([pa.array([msgspec.json.encode(part)])], names=["part"])

    rows = read_spark(spark, listing, "tuples").withColumnRenamed("at", "since")
    rows = rows.selectExpr(
        *[f"unix_micros({name}) AS since" if name == "since" else f"`{name}`" for name in COLUMNS]
    )
    tasks = max(1, rows.count() // ROWS_A_TASK)
    rows = rows.repartitionByRange(tasks, "since").sortWithinPartitions("since")
    told = rows.mapInArrow(task, "part binary").collect()
    return merged(msgspec.json.decode(bytes(row.part), type=Part) for row in told)
