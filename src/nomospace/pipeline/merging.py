"""Parts of an archive made into one: the same rows, in fewer files, sorted by time throughout.

Nothing is read but columns, and nothing is known of what they mean, so that a merge is as quick as
sorting. Spark sorts each table over its workers; without it DuckDB does, which spills to the disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec
import pyarrow as pa

from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.layout import SqlTable
from nomospace.pipeline.archive import ArchivePart, File, merged, spark_schema, tables_of
from nomospace.pipeline.laying import FILE_ROWS, write_rows
from nomospace.pipeline.segments import BATCH_ROWS
from nomospace.store.matching_duckdb import DuckdbConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
