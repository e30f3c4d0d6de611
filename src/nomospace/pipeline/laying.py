"""Files of an archive: tuples of journals laid out as rows, and rows on their way to Parquet.

`lay_out` turns what journals tell of tuples into rows, class by class; `write_rows` puts rows that
are laid out already into new files. Either may be at work in many processes at once: each writes
files of its own, and gives a `ArchivePart` or `File`s that say what it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nomospace.errors import CallerError
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.coding import escaped
from nomospace.meaning.sql.layout import COMMON, VERSION, Layout, RowBatch, SqlTable
from nomospace.pipeline.archive import (
    ENDS,
    SPACES_MAX,
    ArchivePart,
    File,
    arrow_schema,
    kept_shapes,
)
from nomospace.wire.values import unpack_fields

CHUNK: Final = 20_000
"""So many tuples are in memory, as rows of Python, before they are handed to Arrow."""
GROUP_ROWS: Final = 100_000
"""How many rows of a table are written together, unless there are many classes."""
HELD_ROWS: Final = 500_000
"""How many rows of all tables wait to be written, at most."""
FILE_ROWS: Final = 2_000_000
"""The most rows of a file that others are merged into, so that time still tells files apart."""
CLASSES_MAX: Final = 1_000
"""The most classes that tuples laid out in one go may have; each has two files open."""
_BEGIN: Final = ("written", "moved")
_compute: Final[Any] = pc  # functions that its stubs do not know


class TooManyClasses(CallerError):
    """Tuples are of more classes than can be laid out."""

    code = "pipeline.too-many-classes"
    words = (
        f"the tuples are of more than {CLASSES_MAX:,} classes; an archive keeps them class by "
        "class, so compact fewer segments at a time, or match with another engine"
    )


def lay_out(
    batches: Iterable[pa.RecordBatch], ontology: Ontology, folder: Path, name: str
) -> ArchivePart:
    """Write what rows of the journal say of tuples, with `COLUMNS`, into files of a folder.

    `name` is the end of the files' names, and nobody else's. Rows come in the order of their times,
    or the files are not sorted. Raises `TooManyClasses`.
    """
    layout = Layout(ontology)
    writers = _Writers(folder, name)
    batch, found = RowBatch(), RowBatch()
    stamps: dict[str, tuple[str, int]] = {}
    tuples = 0

    def flush() -> None:
        found.learn(batch.open_paths, batch.shapes)
        if len(found.open_paths) > CLASSES_MAX:
            raise TooManyClasses
        for class_name in batch.open_paths:
            writers.tables.update((one.name, one) for one in layout.table(class_name).tables)
        for table_name, rows in batch.rows.items():
            if table_name != ENDS.name:
                rows = [(*row, *stamps[row[0]]) for row in rows]
            writers.write(table_name, rows)
        stamps.clear()

    try:
        for given in batches:
            for row in given.to_pylist():
                known = f"{row['writer']}/{row['count']}"
                stamp = row["space"], row["since"]
                if row["op"] not in _BEGIN:
                    batch.put(ENDS.name, (escaped(known), *stamp))
                    continue
                if escaped(known) in stamps or len(stamps) >= CHUNK:
                    flush()  # a tuple that came twice began twice
                    batch = RowBatch()
                stamps[escaped(known)] = stamp
                layout.add(known, unpack_fields(row["fields"]), batch)
                tuples += 1
        flush()
    finally:
        writers.close()
    opened = {one: tuple(paths) for one, paths in found.open_paths.items()}
    shapes = kept_shapes(found.shapes)
    return ArchivePart(writers.files, opened, shapes, tuples, layout=VERSION)


def write_rows(
    batches: Iterable[pa.RecordBatch], table: SqlTable, folder: Path, name: str
) -> tuple[File, ...]:
    """Write rows that are laid out already into files of a folder, of `FILE_ROWS` rows at most.

    `name` is the end of the files' names but for their number, and nobody else's.
    """
    schema = arrow_schema(table)
    files: list[File] = []
    sink: _Sink | None = None
    try:
        for batch in batches:
            if not batch.num_rows:
                continue
            if sink is None:
                sink = _Sink(folder / f"{table.name}-{name}-{len(files)}.parquet", schema)
            sink.write(pa.Table.from_batches([batch]).select(schema.names).cast(schema))
            if sink.held >= GROUP_ROWS:
                sink.flush()
            if sink.rows >= FILE_ROWS:
                files.append(sink.close())
                sink = None
    finally:
        if sink is not None:
            files.append(sink.close())
    return tuple(files)


class _Sink:
    """One file being written; pages carry checksums, so that a reader can tell a damaged one."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = self.held = 0
        self._path = path
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)
        self._waiting: list[pa.Table] = []
        self._times: tuple[int, int] | None = None
        self._spaces: dict[Any, None] = {}

    def write(self, rows: pa.Table) -> None:
        """Take rows, which are written with others."""
        if not rows.num_rows:
            return
        self._waiting.append(rows)
        self.rows += rows.num_rows
        self.held += rows.num_rows
        found = _compute.min_max(rows.column("since")).as_py()
        first, last = self._times or (found["min"], found["max"])
        self._times = min(first, found["min"]), max(last, found["max"])
        if len(self._spaces) <= SPACES_MAX:
            self._spaces.update(dict.fromkeys(rows.column("space").unique().to_pylist()))

    def flush(self) -> None:
        """Write what waits, as one group of rows."""
        if self._waiting:
            waiting = pa.concat_tables(self._waiting)
            self._writer.write_table(waiting, row_group_size=waiting.num_rows)
            self._waiting, self.held = [], 0

    def close(self) -> File:
        """The file as it is now, all of it."""
        self.flush()
        self._writer.close()
        spaces = tuple(sorted(self._spaces)) if len(self._spaces) <= SPACES_MAX else ()
        first, last = self._times or (0, 0)
        return File(self._path.name, self.rows, first, last, spaces)


class _Writers:
    """The open files of one laying out, one a table."""

    def __init__(self, folder: Path, name: str) -> None:
        self.tables = {table.name: table for table in (*COMMON, ENDS)}
        self._folder = folder
        self._name = name
        self._open: dict[str, _Sink] = {}
        self.files: dict[str, tuple[File, ...]] = {}
        """Those that are closed."""

    def write(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        schema = arrow_schema(self.tables[table])
        sink = self._open.get(table)
        if sink is None:
            path = self._folder / f"{table}-{self._name}.parquet"
            sink = self._open[table] = _Sink(path, schema)
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        sink.write(pa.Table.from_arrays(arrays, schema=schema))
        if sink.held >= GROUP_ROWS:
            sink.flush()
        elif sum(one.held for one in self._open.values()) >= HELD_ROWS:
            for one in self._open.values():
                one.flush()

    def close(self) -> None:
        self.files = {table: (sink.close(),) for table, sink in self._open.items()}
