"""The archive: tuples of journals laid out by class, as questions by meaning want them.

    ARCHIVE/archive.json                         which parts count, and of which ontology they are
    ARCHIVE/part-NAME/o_Car-0007.parquet         and tuples, plain, ends, each in some files

Tables are those of `meaning.sql.layout`, one a class with a typed column for every property that is
declared, and each row has its `space` and `since` besides: when its tuple was written, or came, in
microseconds. Rows are sorted by it, in a part that one process laid out as segments came. `ends`
says when a tuple was taken or expired. So a tuple is there at a moment when it began before and did
not end before.

| rule | why it holds |
| --- | --- |
| nothing is lost | a part names the segments it was made of; what none names is yet to do |
| twice is harmless | a segment is known by what it holds, wherever it lies; one part has it |
| readers are safe | a part's files never change; what counts no more stays for a day (`LEFT_S`) |
| a kill is harmless | what no manifest names, the next who adds removes; one adds at a time |
| it stays fast | a part is merged with later ones that together are as large (`to_merge`) |

The manifest tells of each file the time and the spaces of its rows, and of each class how often its
objects recur: so a question opens no file that cannot have an answer, and counts nothing first.
Columns depend on the ontology, so an archive is of one, by its hash.

Questions by meaning to the parts of an archive, whatever database reads their files.

| what is not read | how it is known |
| --- | --- |
| files that began after the moment that is asked about | the manifest has the times of each file |
| files of other spaces | the manifest has the spaces of each file, where they are few |
| classes that no statement names | each class has files of its own |
| anything, to count how often objects recur | the manifest has it, of a class that one part has |

Of files that are read, Parquet's own statistics spare what they can.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.errors import CallerError
from nomospace.meaning.answers import Answers
from nomospace.meaning.facts import Plain, Shape
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import ClassField, Question
from nomospace.meaning.sql.layout import (
    BYTES,
    COMMON,
    NUMBER,
    TEXT,
    VERSION,
    WHOLE,
    Layout,
    RowBatch,
    SqlTable,
)
from nomospace.meaning.sql.predicates import has_elements
from nomospace.meaning.sql.tables import Database, FactTables, recurrence
from nomospace.store.private import make_folder, sync, whole
from nomospace.wire.values import unpack_fields

ARCHIVE_VERSION: Final = 1
MANIFEST: Final = "archive.json"
PART: Final = "part-"
LEFT_S: Final = 86_400
"""How long what was merged stays, for those who read it: no question may take longer."""
SPACES_MAX: Final = 16
"""How many spaces the manifest names of a file; one with more is of any."""
ENDS: Final = SqlTable("ends", (("tuple", TEXT),))
COLUMNS: Final = ("space", "since", "host", "writer", "count", "op", "fields")
"""What is read of the journal's tuples; `since` is their `at`."""
_STAMP: Final = (("space", TEXT), ("since", WHOLE))
ARROW: Final[dict[str, pa.DataType]] = {
    TEXT: pa.string(),
    NUMBER: pa.float64(),
    WHOLE: pa.int64(),
    BYTES: pa.binary(),
}
SPARK: Final = {TEXT: "string", NUMBER: "double", WHOLE: "bigint", BYTES: "binary"}


KeptShapes: TypeAlias = tuple[tuple[tuple[str | tuple[str], ...], int], ...]
"""How many tuples there are of each shape."""


class OtherArchiveOntology(CallerError):
    """An archive was laid out by another ontology than is asked with."""

    code = "pipeline.other-ontology"
    words = (
        "the archive {archive} is of ontology {hash:.12}, and this one is {wanted:.12}; give the "
        "ontology it was made with, or compact into a new folder"
    )
    archive: str
    hash: str
    wanted: str


class BadArchive(CallerError):
    """An archive's manifest cannot be used, or somebody else is adding to it."""

    code = "pipeline.bad-archive"
    words = "the archive {archive} cannot be used: {why}"
    archive: str
    why: str


class File(msgspec.Struct, frozen=True):
    """A file of a part: its rows, when the first and the last of them began, and their spaces.

    No spaces are named where there are many.
    """

    name: str
    rows: int
    first: int
    last: int
    spaces: tuple[str, ...] = ()

    def may_have(self, at: int | None, space: str) -> bool:
        """Whether some row may have begun by a moment (`None`: ever), in a space (empty: any).

        >>> file = File("o_Car-1.parquet", rows=2, first=10, last=20, spaces=("cars",))
        >>> file.may_have(9, ""), file.may_have(10, "cars"), file.may_have(None, "jobs")
        (False, True, False)
        """
        begun = at is None or self.first <= at
        return begun and (not space or not self.spaces or space in self.spaces)


class ArchivePart(msgspec.Struct, frozen=True):
    """Some segments' tuples, laid out.

    `tables` has the files of each table, `classes` the paths that each class's remainder holds, and
    `shapes` how many tuples there are of each: classes by name, kinds of plain values as [kind].
    `recurring` has of each class in how many tuples one object stands at most, and in how many
    forms; a class that is not there was not counted.
    """

    tables: dict[str, tuple[File, ...]]
    classes: dict[str, tuple[tuple[str, ...], ...]]
    shapes: KeptShapes
    tuples: int
    folder: str = ""
    segments: tuple[str, ...] = ()
    recurring: dict[str, tuple[int, int]] = {}
    layout: int = 1
    """How rows are laid out (`meaning.sql.layout.VERSION`); before 2 arrays had no rows."""

    def known_shapes(self) -> dict[Shape, int]:
        """The shapes as the planner has them."""
        return {
            tuple([one if isinstance(one, str) else Plain(*one) for one in shape]): count
            for shape, count in self.shapes
        }


class MergedPart(msgspec.Struct, frozen=True):
    """A part that was merged: its folder, and since when it counts no more, in microseconds."""

    folder: str
    since: int


class ArchiveManifest(msgspec.Struct, frozen=True):
    """What counts in an archive, and what is still there for those who read it."""

    ontology: str
    parts: tuple[ArchivePart, ...] = ()
    left: tuple[MergedPart, ...] = ()
    version: int = ARCHIVE_VERSION

    @property
    def segments(self) -> frozenset[str]:
        """The marks of all segments that are in it."""
        return frozenset(mark for part in self.parts for mark in part.segments)


# -- the manifest ----------------------------------------------------------------------------------


def read_manifest(archive: Path, ontology: Ontology) -> ArchiveManifest:
    """What counts in a folder; nothing, where there is none yet.

    Raises `OtherArchiveOntology` and `BadArchive`.
    """
    try:
        data = (archive / MANIFEST).read_bytes()
    except FileNotFoundError:
        return ArchiveManifest(ontology.hash)
    try:
        version = msgspec.json.decode(data)["version"]
        if version > ARCHIVE_VERSION:
            why = f"it is of version {version}, this nomospace knows {ARCHIVE_VERSION}; upgrade"
            raise BadArchive(archive=str(archive), why=why)
        found = msgspec.json.decode(data, type=ArchiveManifest)
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        why = f"{MANIFEST} cannot be read ({error}); bring it back from a copy, or compact anew"
        raise BadArchive(archive=str(archive), why=why) from None
    if found.ontology != ontology.hash:
        raise OtherArchiveOntology(archive=str(archive), hash=found.ontology, wanted=ontology.hash)
    return found


def write_manifest(archive: Path, manifest: ArchiveManifest) -> None:
    """Let a manifest count, all of it or none, also through a power cut."""
    with whole(archive / MANIFEST) as new:
        new.write_bytes(msgspec.json.encode(manifest))


@contextmanager
def adding(archive: Path) -> Iterator[None]:
    """Be the only one who adds to an archive; raises `BadArchive` when somebody else does."""
    make_folder(archive)
    with (archive / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            why = "another compaction is at work on it; wait for it to end"
            raise BadArchive(archive=str(archive), why=why) from None
        yield


def tidied(archive: Path, manifest: ArchiveManifest, *, now: int) -> ArchiveManifest:
    """The manifest without what was left long enough; folders that it does not name are removed.

    A run that was ended in the middle left those, or they were merged and their time is over. The
    manifest forgets them first: whoever reads it finds all that it names.
    """
    kept = tuple([one for one in manifest.left if now - one.since < LEFT_S * 1_000_000])
    if kept != manifest.left:
        manifest = msgspec.structs.replace(manifest, left=kept)
        write_manifest(archive, manifest)
    named = {part.folder for part in manifest.parts} | {one.folder for one in kept}
    for folder in sorted(archive.glob(f"{PART}*")):
        if folder.name not in named:
            shutil.rmtree(folder)
    return manifest


def to_merge(parts: Sequence[ArchivePart], *, whole: bool = False) -> int:
    """How many of the last parts to make one of; fewer than two: none. `whole`: all of them.

    A part is taken in as soon as those behind it are together as large. So there are never more
    parts than the tuples' number has binary digits, and each tuple is rewritten as often at most.

    >>> def of(*sizes): return [ArchivePart({}, {}, (), size) for size in sizes]
    >>> to_merge(of(800, 100, 60, 50)), to_merge(of(800, 100)), to_merge(of(800, 100), whole=True)
    (3, 0, 2)
    """
    if whole:
        return len(parts)
    count = behind = 0
    for place, part in enumerate(reversed(parts), start=1):
        if part.tuples <= behind:
            count = place
        behind += part.tuples
    return count


def settle(folder: Path) -> None:
    """See that the files of a folder are on disk before a manifest names them."""
    for path in sorted(folder.iterdir()):
        sync(path)
    sync(folder)


def kept_shapes(shapes: Mapping[Shape, int]) -> KeptShapes:
    """Shapes as a part has them."""
    return tuple(
        (tuple([(one.kind,) if isinstance(one, Plain) else one for one in shape]), count)
        for shape, count in shapes.items()
    )


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


def _range(outline: pq.FileMetaData, place: int) -> tuple[Any, Any]:
    groups = [outline.row_group(at).column(place) for at in range(outline.num_row_groups)]
    found: list[Any] = [group.statistics for group in groups]
    return min(one.min for one in found), max(one.max for one in found)


# -- tables ----------------------------------------------------------------------------------------


def columns_of(table: SqlTable) -> tuple[tuple[str, str], ...]:
    """The columns that a table has in an archive."""
    return (*table.columns, *_STAMP)


def arrow_schema(table: SqlTable) -> pa.Schema:
    """A table of an archive as Arrow has it."""
    return pa.schema([(name, ARROW[kind]) for name, kind in columns_of(table)])


def spark_schema(table: SqlTable) -> str:
    """A table of an archive as Spark's schemas have it."""
    return ", ".join(f"`{name}` {SPARK[kind]}" for name, kind in columns_of(table))


def tables_of(parts: Sequence[ArchivePart], ontology: Ontology) -> Mapping[str, SqlTable]:
    """All tables that parts may have files of."""
    layout = Layout(ontology)
    found = {table.name: table for table in (*COMMON, ENDS)}
    for class_name in dict.fromkeys(name for part in parts for name in part.classes):
        found.update((table.name, table) for table in layout.table(class_name).tables)
    return found


def merged(parts: Iterable[ArchivePart]) -> ArchivePart:
    """Parts as one."""
    tables: dict[str, tuple[File, ...]] = {}
    found = RowBatch()
    tuples, layout = 0, VERSION
    for part in parts:
        tuples += part.tuples
        layout = min(layout, part.layout)
        for name, files in part.tables.items():
            tables[name] = (*tables.get(name, ()), *files)
        found.learn(part.classes, part.known_shapes())
    opened = {name: tuple(paths) for name, paths in found.open_paths.items()}
    return ArchivePart(tables, opened, kept_shapes(found.shapes), tuples, layout=layout)


STATEMENT_S: Final = 3_600.0
"""How long a database may work on one statement."""


class RowBounds(NamedTuple):
    """Which rows count: begun by a moment (`None`: ever), of a space (empty: any), not ended.

    `ended` are files of `ends`; a tuple that they name, within the same bounds, is gone.
    """

    at: int | None = None
    space: str = ""
    ended: tuple[str, ...] = ()


class ArchiveReader(Database, Protocol):
    """A database that can have files of an archive as its tables."""

    def have(self, table: SqlTable, files: Sequence[str], bounds: RowBounds) -> None:
        """Have the rows of files that are within bounds as a table."""


def ask_parts(
    database: ArchiveReader,
    parts: Sequence[tuple[Path, ArchivePart]],
    ontology: Ontology,
    question: Question,
    *,
    at: int | None = None,
    ever: bool = False,
    space: str = "",
) -> Answers:
    """The answers among the tuples of parts, each with its folder.

    Those count that were there at a moment (`at`, in microseconds; without it, at the end), or with
    `ever` all that had begun by then; of one space, or without a name of all.
    """
    whole = merged(part for _, part in parts)
    if whole.layout < 2 and any(
        has_elements(asks.predicate) for asks in question.fields if isinstance(asks, ClassField)
    ):
        folder = next(folder for folder, part in parts if part.layout < 2)
        why = "it was made before questions looked into arrays; compact into a new folder"
        raise BadArchive(archive=str(folder.parent), why=why)
    tables = FactTables(ontology, database, unpack_fields)
    ended = () if ever else files_of(parts, ENDS.name, at, space)
    for name, table in tables_of([whole], ontology).items():
        if name != ENDS.name:
            database.have(table, files_of(parts, name, at, space), RowBounds(at, space, ended))
    counted = recurring(database, [part for _, part in parts], ontology)
    tables.tell(whole.classes, whole.known_shapes(), counted)
    return tables.answers(question)


def files_of(
    parts: Sequence[tuple[Path, ArchivePart]], table: str, at: int | None = None, space: str = ""
) -> tuple[str, ...]:
    """The files of a table that may have rows of a time and a space."""
    return tuple(
        [
            str(folder / file.name)
            for folder, part in parts
            for file in part.tables.get(table, ())
            if file.may_have(at, space)
        ]
    )


def recurring(
    database: Database, parts: Sequence[ArchivePart], ontology: Ontology
) -> Mapping[str, tuple[int, int]]:
    """Of each class: in how many tuples one object stands at most, and in how many forms.

    A part knows that of its own tuples. Where several have a class, one object may stand in all of
    them: then the database counts, which has their tables.
    """
    layout = Layout(ontology)
    found: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys(name for part in parts for name in part.classes):
        told = [part.recurring.get(name) for part in parts if name in part.classes]
        known = told[0] if len(told) == 1 else None
        if known is None:
            known = recurrence(database, layout.table(name))
        found[name] = known
    return found


def counted(
    database: ArchiveReader, folder: Path, part: ArchivePart, ontology: Ontology
) -> ArchivePart:
    """A part that tells how often its objects recur: a database that has no tables counts."""
    known = tables_of([part], ontology)
    for name in part.tables:
        database.have(known[name], files_of([(folder, part)], name), RowBounds())
    found = dict(recurring(database, [part], ontology))
    return msgspec.structs.replace(part, recurring=found)
