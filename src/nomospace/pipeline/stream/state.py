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
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nomospace.errors import CallerError

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
_ENDS: Final = frozenset({"taken", "expired"})
_MOVED: Final = "moved"

Id = tuple[str, int]
"""A tuple: its writer, and the how manieth it is of that writer's."""


@dataclass(eq=False, kw_only=True)
class BadCheckpoint(CallerError):
    """A checkpoint cannot be used for a stream."""

    code: ClassVar[str] = "pipeline.bad-checkpoint"
    folder: str
    why: str

    def __str__(self) -> str:
        return f"the checkpoint {self.folder} cannot be used: {self.why}"


@dataclass(eq=False, kw_only=True)
class StateTooLarge(CallerError):
    """A stream has seen more tuples than it can keep."""

    code: ClassVar[str] = "pipeline.state-too-large"
    rows: int

    def __str__(self) -> str:
        return (
            f"the stream would keep {self.rows:,} rows of tuples, and {STATE_ROWS_MAX:,} is the "
            "most; name one --space, or let tuples be forgotten with --keep, in a new checkpoint"
        )


class Chunk(msgspec.Struct, frozen=True):
    """A file of rows."""

    name: str
    rows: int


class State(msgspec.Struct, frozen=True):
    """What a stream knows after a batch; `latest` is the time of the latest row."""

    batch: int = -1
    chunks: tuple[Chunk, ...] = ()
    latest: int = 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(chunk.rows for chunk in self.chunks)


class Memory:
    """The states of one stream, in a folder."""

    def __init__(self, folder: Path, *, ever: bool = False, keep_us: int = 0) -> None:
        self.folder = folder
        self._ever = ever
        self._keep_us = keep_us
        folder.mkdir(parents=True, exist_ok=True)

    def before(self, batch: int) -> State:
        """The state that a batch begins with; raises `BadCheckpoint` where it cannot be read."""
        earlier = [number for number in self._numbers() if number < batch]
        if not earlier:
            return State()
        place = self._manifest(max(earlier))
        with self._named(place):
            return msgspec.json.decode(place.read_bytes(), type=State)

    def after(self, batch: int, rows: pa.Table) -> tuple[State, list[Id]]:
        """The state after a batch with these rows (of `ROWS`), and the tuples that are new in it.

        Doing a batch again is harmless. Raises `StateTooLarge` and `BadCheckpoint`.
        """
        state = self.before(batch)
        rows = self._unknown(state, rows)
        new = [one for one, op, _ in _told(rows) if op not in _ENDS]
        latest = max([state.latest, *[at for _, _, at in _told(rows)]])
        chunks = state.chunks
        if rows.num_rows:
            chunks = self._grown(chunks, rows, latest)
        grown = State(batch, chunks, latest)
        if grown.rows > STATE_ROWS_MAX:
            raise StateTooLarge(rows=grown.rows)
        self._keep(grown, state)
        return grown, new

    def table(self, chunks: Sequence[Chunk]) -> pa.Table:
        """The rows of chunks, in the order they came; raises `BadCheckpoint`."""
        read: list[pa.Table] = []
        for chunk in chunks:
            place = self.folder / chunk.name
            with self._named(place):
                read.append(pq.read_table(place, schema=ROWS, page_checksum_verification=True))
        return pa.concat_tables(read) if read else ROWS.empty_table()

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
        told = _told(rows)
        if not any(op == _MOVED for _, op, _ in told):
            return rows
        known = dict.fromkeys(ids(self.table(state.chunks)))
        mask = []
        for one, op, _ in told:
            mask.append(op != _MOVED or one not in known)
            known[one] = None
        return rows.filter(pa.array(mask))

    def _grown(self, chunks: tuple[Chunk, ...], rows: pa.Table, latest: int) -> tuple[Chunk, ...]:
        kept, size = len(chunks), rows.num_rows
        while kept and chunks[kept - 1].rows <= 2 * size:
            kept -= 1
            size += chunks[kept].rows
        merged = chunks[kept:]
        if merged:
            rows = self._lean(pa.concat_tables([self.table(merged), rows]), latest, kept == 0)
        if not rows.num_rows:
            return chunks[:kept]
        name = f"chunk-{uuid4().hex}.parquet"
        with lasting(self.folder / name) as file:
            pq.write_table(rows, file, compression="zstd", write_page_checksum=True)
        return (*chunks[:kept], Chunk(name, rows.num_rows))

    def _lean(self, rows: pa.Table, latest: int, all_of_it: bool) -> pa.Table:
        """Rows without those that can answer no more."""
        told = _told(rows)
        ended = {one for one, op, _ in told if op in _ENDS}
        begun = {one for one, op, _ in told if op not in _ENDS}
        horizon = latest - self._keep_us if self._keep_us else 0

        def stays(one: Id, op: str, at: int) -> bool:
            if op in _ENDS:
                # An end goes with its tuple; one whose tuple is elsewhere stays.
                return not self._ever and not (all_of_it or one in begun)
            return at >= horizon and (self._ever or one not in ended)

        return rows.filter(pa.array([stays(*row) for row in told]))

    def _keep(self, state: State, base: State) -> None:
        """Let a state count beside the one before it, and forget all else."""
        place = self._manifest(state.batch)
        beside = place.with_suffix(".part")
        with lasting(beside) as file:
            file.write(msgspec.json.encode(state))
        beside.replace(place)
        folder = os.open(self.folder, os.O_RDONLY)  # a name lasts when its folder is on disk
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        named = {chunk.name for one in (state, base) for chunk in one.chunks}
        for number in self._numbers():
            if number not in (state.batch, base.batch):
                self._manifest(number).unlink()
        for path in self.folder.glob("chunk-*.parquet"):
            if path.name not in named:
                path.unlink()

    def _numbers(self) -> list[int]:
        return [int(path.stem.removeprefix("batch-")) for path in self.folder.glob("batch-*.json")]

    def _manifest(self, batch: int) -> Path:
        return self.folder / f"batch-{batch:08d}.json"


@contextmanager
def lasting(path: Path) -> Iterator[IO[bytes]]:
    """A new file that is on disk, all of it, when the block ends."""
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def ids(rows: pa.Table) -> list[Id]:
    """Which tuples rows are about."""
    writers: list[Any] = rows.column("writer").to_pylist()
    counts: list[Any] = rows.column("count").to_pylist()
    return list(zip(writers, counts, strict=True))


def _told(rows: pa.Table) -> list[tuple[Id, str, int]]:
    """Which tuples rows are about, what befell them, and when."""
    ops: list[Any] = rows.column("op").to_pylist()
    since: list[Any] = rows.column("since").to_pylist()
    return list(zip(ids(rows), ops, since, strict=True))


def present(rows: pa.Table, *, ever: bool) -> dict[Id, bytes]:
    """The tuples that are there after all rows, or with `ever` were, with their fields."""
    found: dict[Id, bytes] = {}
    gone: dict[Id, None] = {}
    ops: list[Any] = rows.column("op").to_pylist()
    fields: list[Any] = rows.column("fields").to_pylist()
    for one, op, body in zip(ids(rows), ops, fields, strict=True):
        if op in _ENDS:
            gone[one] = None
        else:
            found[one] = body
    return found if ever else {one: body for one, body in found.items() if one not in gone}
