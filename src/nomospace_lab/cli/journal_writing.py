"""A journal folder written straight away, without a store: for journals that are made, not lived.

The segments are those that a host would seal of the same rulings: the same rows, the same limits,
the same order of files and manifest. Only the records in between are left out, which costs half.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nomospace.control import Ruling, Snapshot
from nomospace.law import CompiledLaw
from nomospace.store.journal import CheckpointRecord, EventRecord, LawRecord, TupleRecord
from nomospace.store.parquet import JournalRow, checkpoint_row, event_row, law_row, tuple_row
from nomospace.store.segments import Rows, SegmentLimits, add_segment
from nomospace.terms import Term
from nomospace.wire.changes import encode_ruling, encode_snapshot
from nomospace.wire.segments import JOURNAL_VERSION, Manifest
from nomospace.wire.values import pack_term


class JournalWriter:
    """Writes one host's journal into an empty folder; `close` seals what is left.

    >>> from tempfile import TemporaryDirectory
    >>> from nomospace.law import load
    >>> with TemporaryDirectory() as folder:
    ...     writer = JournalWriter(Path(folder), "ward-3")
    ...     writer.law(load("law(open). sent(X, M, Y) :- do(forward)."), at=17)
    ...     writer.close().segments[0].rows
    {'laws': 1}
    """

    def __init__(self, folder: Path, host: str, limits: SegmentLimits | None = None) -> None:
        self._folder = folder
        self._host = host
        self._limits = limits or SegmentLimits()
        self._names: dict[str, str] = {}
        self._rows: Rows = {}
        self._first = self._next = 1
        self._size = 0
        self._manifest = Manifest()

    def law(self, law: CompiledLaw, *, at: int) -> None:
        """Tell of a law, before anything under it."""
        self._names[law.hash] = law.name
        record = LawRecord(self._host, at, law.hash, law.name, law.tree.source.text)
        self._put("laws", law_row(record), len(record.text))

    def ruling(self, ruling: Ruling, *, hops: int = 0, took_ns: int = 0) -> None:
        """Tell of a ruling."""
        body = encode_ruling(ruling)
        record = EventRecord(self._host, self._names[ruling.law], body, hops, took_ns)
        self._put("events", event_row(ruling, record), len(body))

    def checkpoint(self, snapshot: Snapshot, *, at: int) -> None:
        """Tell of a membership's whole state."""
        body = encode_snapshot(snapshot)
        record = CheckpointRecord(self._host, at, body)
        self._put("checkpoints", checkpoint_row(snapshot, record), len(body))

    def tuple(
        self, space: str, writer: str, count: int, op: str, fields: Sequence[Term], *, at: int
    ) -> None:
        """Tell what befell a tuple, which is the `count`-th of its writer."""
        body = pack_term(tuple(fields))
        record = TupleRecord(self._host, at, space, writer, count, op, writer, body)
        self._put("tuples", tuple_row(record), len(body))

    def close(self) -> Manifest:
        """Seal what is left; gives what the folder holds now."""
        if self._next > self._first:
            self._seal()
        return self._manifest

    def _put(self, table: str, row: JournalRow, size: int) -> None:
        row |= {"version": JOURNAL_VERSION, "host": self._host, "seq": self._next}
        self._rows.setdefault(table, []).append(row)
        self._next += 1
        self._size += size
        if self._next - self._first >= self._limits.rows or self._size >= self._limits.bytes:
            self._seal()

    def _seal(self) -> None:
        self._manifest = add_segment(
            self._folder, self._manifest, self._rows, self._first, self._next - 1
        )
        self._rows = {}
        self._first, self._size = self._next, 0
