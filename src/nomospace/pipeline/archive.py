"""The archive: tuples of journals laid out by class, as questions by meaning want them.

    ARCHIVE/archive.json                         which parts count, and of which ontology they are
    ARCHIVE/part-NAME/o_Car-0007.parquet         and tuples, plain, ends, each in some files

Tables are those of `meaning.sql.layout`, one a class with a typed column for every property that is
declared, and each row has its `space` and `since` besides: when its tuple was written, or came, in
microseconds. Spark sorts by it; one process takes segments as they come. `ends` says when a tuple
was taken or expired. So a tuple is there at a moment when it began before and did not end before.

| rule | why it holds |
| --- | --- |
| nothing is lost | a part names the segments it was made of; what none names is yet to do |
| twice is harmless | a segment is known by what it holds, wherever it lies; one part has it |
| readers are safe | a part's files never change; a part counts once the manifest is renamed |
| a kill is harmless | what no manifest names, the next who adds removes; one adds at a time |

Columns depend on the ontology, so an archive is of one, by its hash.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.errors import CallerError
from nomospace.meaning.facts import Plain, Shape
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.sql.coding import escaped
from nomospace.meaning.sql.layout import BYTES, COMMON, NUMBER, TEXT, WHOLE, Batch, Layout, Table
from nomospace.wire.values import unpack_term

ARCHIVE_VERSION: Final = 1
MANIFEST: Final = "archive.json"
PART: Final = "part-"
CHUNK: Final = 20_000
"""So many tuples are in memory, as rows, before they are written."""
CLASSES_MAX: Final = 1_000
"""The most classes that tuples laid out in one go may have; each has two files open."""
ENDS: Final = Table("ends", (("tuple", TEXT),))
COLUMNS: Final = ("space", "since", "host", "writer", "count", "op", "fields")
"""What is read of the journal's tuples; `since` is their `at`."""
_BEGIN: Final = ("written", "moved")
_STAMP: Final = (("space", TEXT), ("since", WHOLE))
ARROW: Final[dict[str, pa.DataType]] = {
    TEXT: pa.string(),
    NUMBER: pa.float64(),
    WHOLE: pa.int64(),
    BYTES: pa.binary(),
}


@dataclass(eq=False, kw_only=True)
class OtherOntology(CallerError):
    """An archive was laid out by another ontology than is asked with."""

    code: ClassVar[str] = "pipeline.other-ontology"
    archive: str
    hash: str
    wanted: str

    def __str__(self) -> str:
        return (
            f"the archive {self.archive} is of ontology {self.hash[:12]}, and this one is "
            f"{self.wanted[:12]}; give the ontology it was made with, or compact into a new folder"
        )


@dataclass(eq=False, kw_only=True)
class BadArchive(CallerError):
    """An archive's manifest cannot be used, or somebody else is adding to it."""

    code: ClassVar[str] = "pipeline.bad-archive"
    archive: str
    why: str

    def __str__(self) -> str:
        return f"the archive {self.archive} cannot be used: {self.why}"


@dataclass(eq=False, kw_only=True)
class TooManyClasses(CallerError):
    """Tuples are of more classes than can be laid out."""

    code: ClassVar[str] = "pipeline.too-many-classes"

    def __str__(self) -> str:
        return (
            f"the tuples are of more than {CLASSES_MAX:,} classes; an archive keeps them class by "
            "class, so compact fewer segments at a time, or match with another engine"
        )


class File(msgspec.Struct, frozen=True):
    """A file of a part: its rows, and when the tuples of the first and the last began."""

    name: str
    rows: int
    first: int
    last: int


class Part(msgspec.Struct, frozen=True):
    """Some segments' tuples, laid out.

    `tables` has the files of each table, `classes` the paths that each class's remainder holds, and
    `shapes` how many tuples there are of each: classes by name, kinds of plain values as [kind].
    """

    tables: dict[str, tuple[File, ...]]
    classes: dict[str, tuple[tuple[str, ...], ...]]
    shapes: tuple[tuple[tuple[str | tuple[str], ...], int], ...]
    tuples: int
    folder: str = ""
    segments: tuple[str, ...] = ()

    def known_shapes(self) -> dict[Shape, int]:
        """The shapes as the planner has them."""
        return {
            tuple([one if isinstance(one, str) else Plain(*one) for one in shape]): count
            for shape, count in self.shapes
        }


class Manifest(msgspec.Struct, frozen=True):
    """What counts in an archive."""

    ontology: str
    parts: tuple[Part, ...] = ()
    version: int = ARCHIVE_VERSION

    @property
    def segments(self) -> frozenset[str]:
        """The marks of all segments that are in it."""
        return frozenset(mark for part in self.parts for mark in part.segments)


# -- the manifest ----------------------------------------------------------------------------------


def read_manifest(archive: Path, ontology: Ontology) -> Manifest:
    """What counts in a folder; nothing, where there is none yet.

    Raises `OtherOntology` and `BadArchive`.
    """
    try:
        data = (archive / MANIFEST).read_bytes()
    except FileNotFoundError:
        return Manifest(ontology.hash)
    try:
        version = msgspec.json.decode(data)["version"]
        if version > ARCHIVE_VERSION:
            why = f"it is of version {version}, this nomospace knows {ARCHIVE_VERSION}; upgrade"
            raise BadArchive(archive=str(archive), why=why)
        found = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        why = f"{MANIFEST} cannot be read ({error}); bring it back from a copy, or compact anew"
        raise BadArchive(archive=str(archive), why=why) from None
    if found.ontology != ontology.hash:
        raise OtherOntology(archive=str(archive), hash=found.ontology, wanted=ontology.hash)
    return found


def write_manifest(archive: Path, manifest: Manifest) -> None:
    """Let a manifest count, all of it or none, also through a power cut."""
    beside = archive / f".{MANIFEST}.new"
    with beside.open("wb") as file:
        file.write(msgspec.json.encode(manifest))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(archive / MANIFEST)
    _sync(archive)


@contextmanager
def adding(archive: Path) -> Iterator[None]:
    """Be the only one who adds to an archive; raises `BadArchive` when somebody else does."""
    archive.mkdir(parents=True, exist_ok=True)
    with (archive / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            why = "another compaction is at work on it; wait for it to end"
            raise BadArchive(archive=str(archive), why=why) from None
        yield


def remove_unknown(archive: Path, manifest: Manifest) -> None:
    """Remove the folders that no manifest names: a run was ended before it was done."""
    named = {part.folder for part in manifest.parts}
    for folder in sorted(archive.glob(f"{PART}*")):
        if folder.name not in named:
            shutil.rmtree(folder)


def settle(folder: Path) -> None:
    """See that the files of a folder are on disk before a manifest names them."""
    for path in sorted(folder.iterdir()):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


# -- segments --------------------------------------------------------------------------------------


def marked(paths: Sequence[str]) -> dict[str, str]:
    """The files of tuples by their marks; of two that hold the same, one.

    A mark is what a segment holds (whose, which records, from when, how many), as the file's own
    outline says: a journal may move to another folder and is still known.
    """
    found: dict[str, str] = {}
    for path in paths:
        found.setdefault(_mark(path), path)
    return found


def _mark(path: str) -> str:
    outline = pq.read_metadata(path)
    names = [outline.schema.column(place).path for place in range(outline.num_columns)]
    host, seq, at = (_range(outline, names.index(name)) for name in ("host", "seq", "at"))
    return f"{host[0]}/{seq[0]}-{seq[1]}/{at[0]}/{outline.num_rows}"


def _range(outline: Any, place: int) -> tuple[Any, Any]:
    groups = [outline.row_group(at).column(place) for at in range(outline.num_row_groups)]
    found = [group.statistics for group in groups]
    return min(one.min for one in found), max(one.max for one in found)


# -- laying out ------------------------------------------------------------------------------------


def columns_of(table: Table) -> tuple[tuple[str, str], ...]:
    """The columns that a table has in an archive."""
    return (*table.columns, *_STAMP)


def merged(parts: Iterable[Part]) -> Part:
    """Parts as one."""
    tables: dict[str, tuple[File, ...]] = {}
    classes: dict[str, dict[tuple[str, ...], None]] = {}
    shapes: dict[Any, int] = {}
    tuples = 0
    for part in parts:
        tuples += part.tuples
        for name, files in part.tables.items():
            tables[name] = (*tables.get(name, ()), *files)
        for name, paths in part.classes.items():
            classes.setdefault(name, {}).update(dict.fromkeys(paths))
        for shape, count in part.shapes:
            shapes[shape] = shapes.get(shape, 0) + count
    opened = {name: tuple(paths) for name, paths in classes.items()}
    return Part(tables, opened, tuple(shapes.items()), tuples)


def lay_out(batches: Iterable[pa.RecordBatch], ontology: Ontology, folder: Path, name: str) -> Part:
    """Write what rows of the journal say of tuples, with `COLUMNS`, into files of a folder.

    `name` is the end of the files' names, and nobody else's. Rows come in the order of their times,
    or the files are not sorted.
    """
    layout = Layout(ontology)
    writers = _Writers(folder, name)
    batch, found = Batch(), Batch()
    stamps: dict[str, tuple[str, int]] = {}
    tuples = 0

    def flush() -> None:
        for class_name, paths in batch.open_paths.items():
            found.open_paths.setdefault(class_name, {}).update(paths)
            for table in layout.table(class_name).tables:
                writers.tables.setdefault(table.name, table)
        if len(found.open_paths) > CLASSES_MAX:
            raise TooManyClasses
        for shape, count in batch.shapes.items():
            found.shapes[shape] = found.shapes.get(shape, 0) + count
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
                    batch = Batch()
                stamps[escaped(known)] = stamp
                layout.add(known, unpack_term(row["fields"]), batch)
                tuples += 1
        flush()
    finally:
        writers.close()
    opened = {one: tuple(paths) for one, paths in found.open_paths.items()}
    shapes = tuple((_plain(shape), count) for shape, count in found.shapes.items())
    return Part({one: (file,) for one, file in writers.files().items()}, opened, shapes, tuples)


def _plain(shape: Shape) -> tuple[str | tuple[str], ...]:
    return tuple([(one.kind,) if isinstance(one, Plain) else one for one in shape])


class _Writers:
    """The open files of one laying out, one a table."""

    def __init__(self, folder: Path, name: str) -> None:
        self.tables = {table.name: table for table in (*COMMON, ENDS)}
        self._folder = folder
        self._name = name
        self._open: dict[str, pq.ParquetWriter] = {}
        self._found: dict[str, tuple[int, int, int]] = {}

    def write(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        schema = arrow_schema(self.tables[table])
        if table not in self._open:
            path = self._folder / self._file(table)
            self._open[table] = pq.ParquetWriter(
                path, schema, compression="zstd", write_page_checksum=True
            )
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        self._open[table].write_table(pa.Table.from_arrays(arrays, schema=schema))
        times = [row[-1] for row in rows]
        count, first, last = self._found.get(table, (0, times[0], times[0]))
        self._found[table] = count + len(rows), min(first, *times), max(last, *times)

    def close(self) -> None:
        for writer in self._open.values():
            writer.close()

    def files(self) -> dict[str, File]:
        return {table: File(self._file(table), *told) for table, told in self._found.items()}

    def _file(self, table: str) -> str:
        return f"{table}-{self._name}.parquet"


def arrow_schema(table: Table) -> pa.Schema:
    """A table of an archive as Arrow has it."""
    return pa.schema([(name, ARROW[kind]) for name, kind in columns_of(table)])


def tables_of(parts: Sequence[Part], ontology: Ontology) -> Mapping[str, Table]:
    """All tables that parts may have files of."""
    layout = Layout(ontology)
    found = {table.name: table for table in (*COMMON, ENDS)}
    for class_name in dict.fromkeys(name for part in parts for name in part.classes):
        found.update((table.name, table) for table in layout.table(class_name).tables)
    return found
