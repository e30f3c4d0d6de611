"""The tuples that a stream has seen, in files beside its checkpoint.

    STATE/batch-00000007.json       what counts after batch 7: chunks, in the order they came
    STATE/chunk-….parquet           rows of the journal

The state after a batch is made of the state before it and the rows of the batch, and of nothing
else; the last two states are kept. So a batch that is done again after a failure begins where it
began before, and what it had left behind is not named by anything and removed.

Chunks are merged as they grow: a chunk is more than twice as large as the next, so that there are
few, and a row is written again some twenty times at most. Merging leaves out what can answer no
more: tuples that are gone, unless the stream asks for those that were `ever` there, and those that
came longer ago than it `keep`s them.

A batch reads no more than what it merges. Who has a state in memory learns from a `StateStep` what
a batch made of it, and from the names of its chunks whether it is that state: a name is given once,
and what it names never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.errors import CallerError
from nomospace.pipeline.segments import column_of
from nomospace.store.private import make_folder, whole

STATE_ROWS_MAX: Final = 2_000_000
"""The most rows that a state has."""
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "space": pa.string(),
    "since": pa.int64(),
    "host": pa.string(),
    "writer": pa.string(),
    "count": pa.int64(),
    "op": pa.string(),
    "fields": pa.binary(),
}
ROWS: Final = pa.schema(_COLUMNS)
"""What is kept of the journal's tuples; `since` is their `at`, in microseconds."""
_ID: Final = pa.schema([ROWS.field("writer"), ROWS.field("count")])
_ENDS: Final = frozenset({"taken", "expired"})
_MOVED: Final = "moved"

Id = tuple[str, int]
"""A tuple: its writer, and the how manieth it is of that writer's."""


class BadCheckpoint(CallerError):
    """A checkpoint cannot be used for a stream."""

    code = "pipeline.bad-checkpoint"
    words = "the checkpoint {folder} cannot be used: {why}"
    folder: str
    why: str


class StateTooLarge(CallerError):
    """A stream has seen more tuples than it can keep."""

    code = "pipeline.state-too-large"
    words = (
        f"the stream would keep {{rows:,}} rows of tuples, and {STATE_ROWS_MAX:,} is the "
        "most; name one --space, or let tuples be forgotten with --keep, in a new checkpoint"
    )
    rows: int


class Chunk(msgspec.Struct, frozen=True):
    """A file of rows."""

    name: str
    rows: int
    hash: str = ""
    """SHA-256 of the file, in hex; chunks of before there was one have none."""


class State(msgspec.Struct, frozen=True):
    """What a stream knows after a batch; `latest` is the time of the latest row."""

    batch: int = -1
    chunks: tuple[Chunk, ...] = ()
    latest: int = 0
    check: str = ""
    """In the file: the SHA-256 of the others. Files of before there was one have none."""

    @property
    def checksum(self) -> str:
        """What `check` must be."""
        return sha256(msgspec.json.encode(msgspec.structs.replace(self, check=""))).hexdigest()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(chunk.rows for chunk in self.chunks)


class TupleNews(NamedTuple):
    """What a row tells: which tuple it is about, what befell that, and when."""

    one: Id
    op: str
    at: int

    @property
    def ends(self) -> bool:
        """Whether the tuple was there no more."""
        return self.op in _ENDS


class StateStep(NamedTuple):
    """What a batch has made of a state."""

    before: State
    after: State
    rows: pa.Table
    """Those of the batch that count, of `ROWS`."""
    left: Sequence[TupleNews] = ()
    """The rows that merging has left out, be they of the batch or of the state before."""

    @property
    def new(self) -> list[Id]:
        """The tuples that are new."""
        return [row.one for row in told(self.rows) if not row.ends]


class Memory:
    """The states of one stream, in a folder."""

    def __init__(self, folder: Path, *, ever: bool = False, keep_us: int = 0) -> None:
        self.folder = folder
        self._ever = ever
        self._keep_us = keep_us
        self._ids: dict[str, dict[str, set[int]]] = {}  # of chunks, by their names
        make_folder(folder)

    def before(self, batch: int) -> State:
        """The state that a batch begins with; raises `BadCheckpoint` where it cannot be read."""
        earlier = [number for number in self._numbers() if number < batch]
        if not earlier:
            return State()
        place = self._manifest(max(earlier))
        with self._named(place):
            state = msgspec.json.decode(place.read_bytes(), type=State)
            if state.check and state.check != state.checksum:
                raise ValueError("it is not what was written: its checksum differs")
            return msgspec.structs.replace(state, check="")

    def after(self, batch: int, rows: pa.Table) -> StateStep:
        """Let a batch with these rows (of `ROWS`) count.

        Doing a batch again is harmless. Raises `StateTooLarge` and `BadCheckpoint`.
        """
        state = self.before(batch)
        for chunk in state.chunks:  # not all are read; those that are gone are missed all the same
            place = self.folder / chunk.name
            with self._named(place):
                place.stat()
        rows = self._unknown(state, rows)
        latest = max([state.latest, *[row.at for row in told(rows)]])
        chunks, left = state.chunks, list[TupleNews]()
        if rows.num_rows:
            chunks, left = self._grown(chunks, rows, latest)
        grown = State(batch, chunks, latest)
        if grown.rows > STATE_ROWS_MAX:
            raise StateTooLarge(rows=grown.rows)
        self._keep(grown, state)
        return StateStep(state, grown, rows, left)

    def table(self, chunks: Sequence[Chunk], schema: pa.Schema = ROWS) -> pa.Table:
        """The rows of chunks, in the order they came, or some columns; raises `BadCheckpoint`."""
        read: list[pa.Table] = []
        for chunk in chunks:
            place = self.folder / chunk.name
            with self._named(place):
                data = place.read_bytes()
                if chunk.hash and sha256(data).hexdigest() != chunk.hash:
                    raise ValueError("it is not what was written: its checksum differs")
                file = pa.BufferReader(data)
                read.append(pq.read_table(file, schema=schema, page_checksum_verification=True))
        return pa.concat_tables(read) if read else schema.empty_table()

    # -- inside ----------------------------------------------------------------------------------

    @contextmanager
    def _named(self, place: Path) -> Iterator[None]:
        """A file that is gone or damaged by its name: what the stream had seen is not guessed."""
        try:
            yield
        except (OSError, ValueError) as error:  # Arrow's errors and msgspec's are among these
            why = f"{place.name} cannot be read ({str(error).splitlines()[0]})"
            again = "put it back, or begin anew in an empty folder"
            raise BadCheckpoint(folder=str(self.folder), why=f"{why}; {again}") from None

    def _unknown(self, state: State, rows: pa.Table) -> pa.Table:
        """Rows without the tuples that have only moved, and were known before."""
        every = told(rows)
        if not any(row.op == _MOVED for row in every):
            return rows
        known = [self._ids_of(chunk) for chunk in state.chunks]
        known.append({})
        mask = []
        for (writer, count), op, _ in every:
            is_known = any(count in counts.get(writer, ()) for counts in known)
            mask.append(op != _MOVED or not is_known)
            known[-1].setdefault(writer, set()).add(count)
        return rows.filter(pa.array(mask))

    def _ids_of(self, chunk: Chunk) -> dict[str, set[int]]:
        """The tuples that a chunk tells of; read once, as it never changes."""
        found = self._ids.get(chunk.name)
        if found is None:
            found = {}
            for writer, count in ids(self.table([chunk], _ID)):
                found.setdefault(writer, set()).add(count)
            self._ids[chunk.name] = found
        return found

    def _grown(
        self, chunks: tuple[Chunk, ...], rows: pa.Table, latest: int
    ) -> tuple[tuple[Chunk, ...], list[TupleNews]]:
        """Chunks with further rows, and what was left out."""
        kept, size = len(chunks), rows.num_rows
        while kept and chunks[kept - 1].rows <= 2 * size:
            kept -= 1
            size += chunks[kept].rows
        merged = chunks[kept:]
        left: list[TupleNews] = []
        if merged:
            rows, left = self._lean(pa.concat_tables([self.table(merged), rows]), latest, kept == 0)
        if not rows.num_rows:
            return chunks[:kept], left
        name = f"chunk-{uuid4().hex}.parquet"
        with whole(self.folder / name) as new:
            pq.write_table(rows, new, compression="zstd", write_page_checksum=True)
        with (self.folder / name).open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        return (*chunks[:kept], Chunk(name, rows.num_rows, digest)), left

    def _lean(
        self, rows: pa.Table, latest: int, all_of_it: bool
    ) -> tuple[pa.Table, list[TupleNews]]:
        """Rows without those that can answer no more, and these."""
        every = told(rows)
        ended = {row.one for row in every if row.ends}
        begun = {row.one for row in every if not row.ends}
        horizon = latest - self._keep_us if self._keep_us else 0

        def stays(row: TupleNews) -> bool:
            if row.ends:
                # An end goes with its tuple; one whose tuple is elsewhere stays.
                return not self._ever and not (all_of_it or row.one in begun)
            return row.at >= horizon and (self._ever or row.one not in ended)

        mask = [stays(row) for row in every]
        left = [row for row, stayed in zip(every, mask, strict=True) if not stayed]
        return rows.filter(pa.array(mask)), left

    def _keep(self, state: State, base: State) -> None:
        """Let a state count beside the one before it, and forget all else."""
        with whole(self._manifest(state.batch)) as new:
            checked = msgspec.structs.replace(state, check=state.checksum)
            new.write_bytes(msgspec.json.encode(checked))
        named = {chunk.name for one in (state, base) for chunk in one.chunks}
        for number in self._numbers():
            if number not in (state.batch, base.batch):
                self._manifest(number).unlink()
        for path in (*self.folder.glob("chunk-*.parquet"), *self.folder.glob(".chunk-*")):
            if path.name not in named:
                path.unlink()
        for name in [name for name in self._ids if name not in named]:
            del self._ids[name]

    def _numbers(self) -> list[int]:
        return [int(path.stem.removeprefix("batch-")) for path in self.folder.glob("batch-*.json")]

    def _manifest(self, batch: int) -> Path:
        return self.folder / f"batch-{batch:08d}.json"


def ids(rows: pa.Table) -> list[Id]:
    """Which tuples rows are about."""
    return list(zip(column_of(rows, "writer"), column_of(rows, "count"), strict=True))


def told(rows: pa.Table) -> list[TupleNews]:
    """What rows tell, one by one."""
    return list(map(TupleNews, ids(rows), column_of(rows, "op"), column_of(rows, "since")))


def bodies(rows: pa.Table) -> list[bytes]:
    """The fields of the tuples that rows are about, packed."""
    return column_of(rows, "fields")


def present(rows: pa.Table, *, ever: bool) -> dict[Id, bytes]:
    """The tuples that are there after all rows, or with `ever` were, with their fields."""
    every = told(rows)
    gone = {row.one for row in every if row.ends and not ever}
    return {
        row.one: body
        for row, body in zip(every, bodies(rows), strict=True)
        if not row.ends and row.one not in gone
    }
