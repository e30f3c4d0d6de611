"""Replay of whole journals: every membership by itself, on Spark or in one process.

Rows are brought together by membership and put in order; then `replay_batches` turns Arrow batches
of recorded rows into Arrow batches of what was found, one row a membership, or one a verdict. Spark
runs it in `mapInArrow`, after `repartition` and `sortWithinPartitions`: of all the ways to hand
groups to Python this one adds least. Without Spark, Arrow sorts in memory, or DuckDB does, which
spills to the disk; the rest is the same function.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from nomospace.errors import CallerError
from nomospace.pipeline.history import Replay
from nomospace.pipeline.laws import LawSource, compiled
from nomospace.pipeline.report import COUNTS, MemberHistory, ReplayVerdict
from nomospace.pipeline.segments import BATCH_ROWS, JournalFiles, Row, column_of, read_batches
from nomospace.pipeline.workers import check_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROCESS_ROWS_MAX: Final = 10_000_000
"""How many rows one process sorts in memory: with bodies of 900 bytes, nine gigabytes."""
PART_ROWS: Final = 50_000
"""How many rows are read at a time to be sorted in memory."""
OUT_ROWS: Final = 2_000
"""How many rows of findings go out together."""

_compute: Final[Any] = pc  # functions that its stubs do not know
_Column: TypeAlias = "pa.Array[Any]"
_STRING: Final[pa.DataType] = pa.string()
_INT: Final[pa.DataType] = pa.int64()
_VERDICT: Final = [
    (name, _INT if name in ("seq", "at") else _STRING) for name in ReplayVerdict.__struct_fields__
]
HISTORIES: Final = pa.schema(
    [
        ("membership", _STRING),
        ("agent", _STRING),
        ("law", _STRING),
        *[(name, _INT) for name in COUNTS],
        ("gaps", pa.list_(pa.struct([("after", _INT), ("found", _INT)]))),
        ("kinds", pa.list_(pa.struct([("kind", _STRING), ("count", _INT)]))),
        (
            "rules",
            pa.list_(
                pa.struct([("rule", _STRING), ("before", _INT), ("now", _INT), ("changed", _INT)])
            ),
        ),
        ("first", pa.struct(_VERDICT)),
    ]
)
"""What is found of each membership: counts, and the first verdict that differs. `at` is
microseconds; rules that ruled on nothing are the rule with no name."""
VERDICTS: Final = pa.schema(
    [
        ("membership", _STRING),
        ("agent_seq", _INT),
        ("at", pa.timestamp("us", tz="UTC")),
        *_VERDICT[2:-1],  # a reason is told of the first one only
    ]
)
"""What became of each event; `agent_seq` is 0 for a ruling that the record does not have."""


Told: TypeAlias = Literal["changed", "all"] | None
"""Whether verdicts are told, of the events that a law changes or of all, or else histories."""


class Trial(msgspec.Struct, frozen=True):
    """What is tried: a law, or with `None` for each history the one that was in force.

    `recorded` are the laws of the histories to take, by hash.
    """

    law: LawSource | None
    recorded: dict[str, LawSource]


class JournalTooLarge(CallerError):
    """A journal is too large for one process's memory."""

    code = "pipeline.too-large"
    words = (
        f"the journal has {{rows:,}} rows, and one process sorts {PROCESS_ROWS_MAX:,} in "
        "memory at most; take --engine duckdb, which uses the disk, or spark"
    )
    rows: int


# -- Arrow to Arrow --------------------------------------------------------------------------------


def replay_batches(
    batches: Iterator[pa.RecordBatch], *, trial: Trial, verdicts: Told
) -> Iterator[pa.RecordBatch]:
    """What is found of rows `membership, agent_seq, is_checkpoint, body`, in this order."""
    with _calm_collector():
        yield from _replay_batches(batches, trial, verdicts)


@contextmanager
def _calm_collector() -> Iterator[None]:
    """Let Python look for cycles seldom: rulings make none, and each look costs."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _replay_batches(
    batches: Iterator[pa.RecordBatch], trial: Trial, verdicts: Told
) -> Iterator[pa.RecordBatch]:
    out: list[Row] = []
    schema = HISTORIES if verdicts is None else VERDICTS
    membership = ""
    replay: Replay | None = None

    def finish() -> None:
        if replay is not None:
            found = replay.end()
            if verdicts is None:
                out.append(history_row(membership, found))

    def hear(verdict: ReplayVerdict) -> None:
        if verdicts == "all" or verdict.kind != "same":
            out.append(_verdict_row(membership, verdict))

    for batch in batches:
        runs = _compute.run_end_encode(batch.column("membership"))
        numbers = column_of(batch, "agent_seq")
        states = batch.column("is_checkpoint").to_pylist()
        bodies = column_of(batch, "body")
        start = 0
        for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            if name != membership or replay is None:
                finish()
                membership = name
                recorded = trial.recorded[name.rpartition("/")[2]]
                replay = Replay(
                    compiled(trial.law or recorded),
                    recorded_law=compiled(recorded),
                    on_verdict=None if verdicts is None else hear,
                )
            ruling, checkpoint = replay.ruling, replay.checkpoint
            rows = zip(numbers[start:end], states[start:end], bodies[start:end], strict=True)
            for number, is_checkpoint, body in rows:
                if is_checkpoint:
                    checkpoint(number, body)
                else:
                    ruling(number, body)
            start = end
            if len(out) >= OUT_ROWS:
                yield pa.RecordBatch.from_pylist(out, schema=schema)
                out = []
    finish()
    if out:
        yield pa.RecordBatch.from_pylist(out, schema=schema)


def history_row(membership: str, found: MemberHistory) -> Row:
    """What was found of a membership, as a row of `HISTORIES`."""
    row: Row = msgspec.to_builtins(found)
    row["membership"] = membership
    row["gaps"] = [{"after": after, "found": later} for after, later in found.gaps]
    row["kinds"] = [{"kind": kind, "count": count} for kind, count in found.kinds.items()]
    row["rules"] = [{"rule": rule, **count} for rule, count in row["rules"].items()]
    return row


def _verdict_row(membership: str, verdict: ReplayVerdict) -> Row:
    row: Row = msgspec.to_builtins(verdict)
    row["membership"], row["agent_seq"] = membership, row.pop("seq")
    del row["reason"]
    return row


# -- Spark -----------------------------------------------------------------------------------------


def replay(
    events: DataFrame, checkpoints: DataFrame, trial: Trial, *, partitions: int | None = None
) -> DataFrame:
    """What a law makes of recorded histories: a DataFrame of `HISTORIES`, one row a membership.

    `events` and `checkpoints` are the journal's tables (`segments.read_spark`), or whatever part of
    them: a filter by agent or by community is a matter of the caller. Each partition holds whole
    histories, and takes little more memory than its longest one's control state.
    """
    return _spread(events, checkpoints, trial, HISTORIES, None, partitions)


def verdicts(
    events: DataFrame,
    checkpoints: DataFrame,
    trial: Trial,
    *,
    every: bool = False,
    partitions: int | None = None,
) -> DataFrame:
    """What becomes of each event that a law changes, or of `every` event: rows of `VERDICTS`."""
    return _spread(events, checkpoints, trial, VERDICTS, "all" if every else "changed", partitions)


def _spread(
    events: DataFrame,
    checkpoints: DataFrame,
    trial: Trial,
    schema: pa.Schema,
    which: Told,
    partitions: int | None,
) -> DataFrame:
    from pyspark.sql.functions import col, lit
    from pyspark.sql.pandas.types import from_arrow_schema

    def rows(frame: DataFrame, is_checkpoint: bool) -> DataFrame:
        return frame.where(col("law").isin(list(trial.recorded))).select(
            "membership", "agent_seq", lit(is_checkpoint).alias("is_checkpoint"), "body"
        )

    spark = events.sparkSession
    check_workers(spark)
    count = partitions or int(spark.conf.get("spark.sql.shuffle.partitions"))
    together = rows(events, False).unionAll(rows(checkpoints, True))
    ordered = together.repartition(count, "membership").sortWithinPartitions(
        "membership", "agent_seq", "is_checkpoint"
    )
    work = partial(replay_batches, trial=trial, verdicts=which)
    return ordered.mapInArrow(work, from_arrow_schema(schema))


# -- one process -----------------------------------------------------------------------------------


def replay_process(
    listing: JournalFiles, trial: Trial, *, which: Told = None
) -> Iterator[pa.RecordBatch]:
    """`replay`, or `verdicts`, in this process: Arrow reads and sorts. Raises `JournalTooLarge`."""
    rows = listing.rows["events"] + listing.rows["checkpoints"]
    if rows > PROCESS_ROWS_MAX:
        raise JournalTooLarge(rows=rows)
    return replay_batches(_sorted(listing, trial.recorded), trial=trial, verdicts=which)


def _sorted(listing: JournalFiles, laws: Mapping[str, LawSource]) -> Iterator[pa.RecordBatch]:
    """All rows of some laws in the order that `replay_batches` wants.

    Bodies are nearly all there is. They stay where they were read, and only those of one batch at a
    time are brought together: to copy all of them into one array would take as much memory again.
    """
    wanted = pa.array(list(laws), pa.string())
    keys: list[pa.RecordBatch] = []
    bodies: list[_Column] = []
    columns = ("law", "membership", "agent_seq", "body")
    for table in ("events", "checkpoints"):
        for batch in read_batches(listing, table, columns, rows=PART_ROWS):
            kept = batch.filter(pc.is_in(batch.column("law"), value_set=wanted))
            count = kept.num_rows
            places = [
                kept.column("membership"),
                kept.column("agent_seq"),
                pa.repeat(pa.scalar(table == "checkpoints"), count),
                pa.repeat(pa.scalar(len(bodies), pa.int32()), count),
                pa.array(range(count), pa.int32()),
            ]
            keys.append(pa.RecordBatch.from_arrays(places, names=[*_NAMES[:3], "part", "row"]))
            bodies.append(kept.column("body"))
    if not keys:
        return
    rows = pa.Table.from_batches(keys).combine_chunks()
    del keys
    # Numbers are sorted several times as fast as names; any order of the names will do.
    codes = _compute.dictionary_encode(rows.column("membership")).combine_chunks()
    by = rows.select(["agent_seq"]).append_column("code", codes.indices)
    by = by.append_column("last", rows.column("is_checkpoint").cast(pa.int8()))
    order = pc.sort_indices(
        by, sort_keys=[("code", "ascending"), ("agent_seq", "ascending"), ("last", "ascending")]
    )
    for start in range(0, len(order), BATCH_ROWS):
        some = rows.take(order.slice(start, BATCH_ROWS)).combine_chunks().to_batches()[0]
        body = _gathered(bodies, some.column("part"), some.column("row"))
        yield pa.RecordBatch.from_arrays([*some.columns[:3], body], names=_NAMES)


_NAMES: Final = ["membership", "agent_seq", "is_checkpoint", "body"]


def _gathered(parts: Sequence[_Column], part: _Column, row: _Column) -> _Column:
    """What stands in rows of parts, one after the other.

    >>> parts = [pa.array(["a", "b"]), pa.array(["c"]), pa.array(["d"])]
    >>> _gathered(parts, pa.array([2, 0, 1, 0]), pa.array([0, 1, 0, 0])).to_pylist()
    ['d', 'b', 'c', 'a']
    """
    by_part = _compute.array_sort_indices(part)  # stable; each part is looked into once
    runs = _compute.run_end_encode(part.take(by_part))
    rows = row.take(by_part)
    found: list[_Column] = []
    start = 0
    for number, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        found.append(parts[number].take(rows.slice(start, end - start)))
        start = end
    return pa.concat_arrays(found).take(_compute.array_sort_indices(by_part))


def replay_duckdb(listing: JournalFiles, trial: Trial) -> Iterator[pa.RecordBatch]:
    """`replay` in this process: DuckDB reads and sorts, with the disk's help."""
    import duckdb

    parts: list[str] = []
    given: list[object] = []
    for table in ("events", "checkpoints"):
        if listing.files[table]:
            flag = "true" if table == "checkpoints" else "false"
            parts.append(
                f"SELECT membership, agent_seq, {flag} AS is_checkpoint, body "
                "FROM read_parquet(?) WHERE list_contains(?, law)"
            )
            given += [list(listing.files[table]), list(trial.recorded)]
    if not parts:
        return
    query = " UNION ALL ".join(parts) + " ORDER BY membership, agent_seq, is_checkpoint"
    with closing(duckdb.connect()) as connection:
        batches = connection.sql(query, params=given).to_arrow_reader(BATCH_ROWS)
        yield from replay_batches(iter(batches), trial=trial, verdicts=None)


def as_table(batches: Sequence[pa.RecordBatch] | Iterator[pa.RecordBatch]) -> pa.Table:
    """Findings of a process as one table of `HISTORIES`."""
    return pa.Table.from_batches(list(batches), schema=HISTORIES)
