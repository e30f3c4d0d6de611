"""An audit on Spark: functions from DataFrame to DataFrame, for jobs and for notebooks.

`events` and `laws` are the journal's tables (`segments.read_spark`) or whatever part of them the
caller wants to know about. No function makes a session, and none starts a job except `rules`, which
fetches the texts of the laws, and `changes`, which sees once a session that its workers know
nomospace (`OtherPython`). `audit.duck` is the same without Spark.

An audit in DuckDB: the same questions, asked in one process, with the disk's help.

`JournalDatabase` holds one connection with the journal's tables as views. What `audit.tables` says
of each question holds here.

What became of obligations, and refusals that say so: read from the changes that rulings made.

SQL sees that a ruling mentions obligations, not which of them it imposed or repealed; the changes
of state in a row do (`delta`). `read_changes` reads them, Arrow to Arrow, for either engine.

| kind | what happened |
| --- | --- |
| `imposed` | a ruling imposed an obligation, due at `due_us` |
| `met` | a ruling on what the agent itself sent repealed it: what was owed was done |
| `repealed` | a ruling on anything else repealed it |
| `missed` | it fell due. A law may use that as a clock: then nobody missed anything |
| `refused` | sent, not forwarded, nothing changed; though some other operation, say a notice, was |
| `unreadable` | the row's bytes are no changes, or no operations |

`place` tells the obligations of one membership apart, for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import msgspec
import pyarrow as pa

from nomospace.control.events import goes_out
from nomospace.pipeline.audit import questions
from nomospace.pipeline.audit.questions import AuditQuestion
from nomospace.pipeline.audit.rules import RULES, rules_of
from nomospace.pipeline.segments import BATCH_ROWS, EventFilter, JournalFiles
from nomospace.pipeline.workers import check_workers
from nomospace.wire.packing import unpack
from nomospace.wire.segments import TABLES
from nomospace.wire.values import thaw_operation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_STRING: Final[pa.DataType] = pa.string()
_INT: Final[pa.DataType] = pa.int64()
_TOLD: Final = ("community", "membership", "agent", "us", "rule", "about", "message_text")
CHANGES: Final = pa.schema(
    [
        *[(name, _INT if name == "us" else _STRING) for name in _TOLD],
        ("kind", _STRING),
        ("place", _INT),
        ("what", _STRING),
        ("due_us", _INT),
    ]
)

Change: TypeAlias = tuple[str, int | None, str | None, int | None]
"""A kind, and of an obligation its place, its name and when it is due."""


def read_changes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `CHANGES` from the rows that `questions.STIRRING` finds."""
    for batch in batches:
        rows: list[int] = []
        found: list[Change] = []
        columns = [batch.column(name).to_pylist() for name in ("event", "delta", "ruling")]
        for row, (event, delta, ruling) in enumerate(zip(*columns, strict=True)):
            for change in changes_of(event, delta, ruling):
                rows.append(row)
                found.append(change)
        told = batch.select(_TOLD).take(pa.array(rows, pa.int64()))
        made = zip(*found, strict=True) if found else ((), (), (), ())
        arrays = [*told.columns, *map(pa.array, map(list, made), CHANGES.types[len(_TOLD) :])]
        yield pa.RecordBatch.from_arrays(
            [array.cast(of) for array, of in zip(arrays, CHANGES.types, strict=True)],
            schema=CHANGES,
        )


def changes_of(event: str, delta: bytes, ruling: bytes | None) -> Iterator[Change]:
    """What one row has to tell.

    >>> from nomospace.wire.packing import pack
    >>> list(changes_of("sent", pack([("due", 4, {"f": "pay", "a": [5]}, 17)]), None))
    [('imposed', 4, 'pay', 17)]
    """
    try:
        if ruling is not None:  # sent, and nothing changed
            operations = tuple([thaw_operation(part) for part in unpack(ruling)])
            if operations and not goes_out(operations):
                yield "refused", None, None, None
            return
        for index, (kind, place, term, due) in enumerate(unpack(delta)):
            if kind == "due":
                told = "imposed"
            elif kind != "undue":
                continue
            elif event == "obligationDue" and index == 0:  # it is gone before its event is ruled on
                told = "missed"
            else:
                told = "met" if event == "sent" else "repealed"
            yield told, place, _named(term), due
    except (ValueError, TypeError, KeyError, RecursionError):
        yield "unreadable", None, None, None


def _named(term: object) -> str:
    """An obligation by its first word; a text of any length is none."""
    if isinstance(term, dict):
        return str(term.get("f", "?"))
    return term if isinstance(term, str) and len(term) <= 40 else "?"


def chosen(
    events: DataFrame,
    *,
    since: int | None = None,
    until: int | None = None,
    community: str | None = None,
) -> DataFrame:
    """The events of a time and a community; `since` and `until` (not included) in microseconds."""
    return _ask(
        questions.CHOSEN, {"since": since, "until": until, "community": community}, events=events
    )


def changes(events: DataFrame) -> DataFrame:
    """What became of obligations, change by change: rows of `CHANGES`.

    Python reads them, and Spark would have it do so again for every use: `.localCheckpoint()` them
    where there are several.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    check_workers(events.sparkSession)
    stirring = _ask(questions.STIRRING, events=events)
    return stirring.mapInArrow(read_changes, from_arrow_schema(CHANGES))


def rules(laws: DataFrame) -> DataFrame:
    """The rules of the laws that a journal tells of: rows of `RULES`."""
    told = laws.select("law", "community", "text").distinct().collect()
    rows, _ = rules_of(sorted((row.law, row.community, row.text) for row in told))
    return make_frame(laws.sparkSession, rows, RULES)


def make_frame(
    spark: SparkSession, rows: Sequence[Mapping[str, object]], schema: pa.Schema
) -> DataFrame:
    """Rows of ours as a DataFrame."""
    from pyspark.sql.pandas.types import from_arrow_schema

    values = [tuple(row.get(name) for name in schema.names) for row in rows]
    return spark.createDataFrame(values, from_arrow_schema(schema))


def overview(events: DataFrame) -> DataFrame:
    """One row: how many events, members, communities, hosts and laws, from when until when."""
    return _ask(questions.OVERVIEW, events=events)


def coverage(events: DataFrame, rules: DataFrame) -> DataFrame:
    """Every rule with how often it ruled, for how many agents; rules that never did have 0 hits."""
    return _ask(questions.COVERAGE, events=events, rules=rules)


def refusals(events: DataFrame, changes: DataFrame) -> DataFrame:
    """Who was refused what, by which rule, how often. No rule let it through where `rule` is ''.

    Refused is as `control` has it: sent, not forwarded, and nothing changed.
    """
    return _ask(questions.REFUSALS, events=events, changes=changes)


def reasons(refusals: DataFrame) -> DataFrame:
    """Refusals added up over agents."""
    return _ask(questions.REASONS, refusals=refusals)


def duties(changes: DataFrame) -> DataFrame:
    """One row an obligation: imposed when, due when, and what became of it after how long.

    `outcome` is `met`, `repealed`, `missed` (it fell due) or `owed` (still, at the end); `delay_us`
    counts from imposition, `late_us` from the time it was due to the time it was ruled on.
    """
    return _ask(questions.DUTIES, changes=changes)


def obligations(duties: DataFrame) -> DataFrame:
    """Obligations by name and outcome, with percentiles of their delays."""
    return _ask(questions.OBLIGATIONS, duties=duties)


def lateness(duties: DataFrame) -> DataFrame:
    """How long after their time obligations that fell due were ruled on."""
    return _ask(questions.LATENESS, duties=duties)


def unreadable(changes: DataFrame) -> DataFrame:
    """One row: how many rows of the journal have changes that cannot be read."""
    return _ask(questions.UNREADABLE, changes=changes)


def spaces(
    events: DataFrame, tuples: DataFrame, *, since: int | None = None, until: int | None = None
) -> DataFrame:
    """How many tuples were written and taken in each space; `governed` is 0 where no law ruled.

    `events` is the whole table of the journal, and not a part of it. Reading is in no journal.
    """
    values: dict[str, int | str | None] = {"since": since, "until": until}
    return _ask(questions.SPACES, values, events=events, tuples=tuples)


def load(events: DataFrame, *, width_us: int = 60_000_000, agents: int = 8) -> DataFrame:
    """What the busiest agents handled, by time; certified mediators come first among them."""
    return _ask(questions.LOAD, {"width": width_us, "agents": agents}, events=events)


def hops(events: DataFrame) -> DataFrame:
    """How many arrivals took how many hops."""
    return _ask(questions.HOPS, events=events)


def latency(events: DataFrame) -> DataFrame:
    """Percentiles of the time that rulings took, in nanoseconds, by the kind of event."""
    return _ask(questions.LATENCY, events=events)


def rhythm(events: DataFrame, *, width_us: int = 60_000_000) -> DataFrame:
    """Events of each community, a row for each minute (or `width_us`) in which there were any."""
    return _ask(questions.RHYTHM, {"width": width_us}, events=events)


def _ask(
    question: AuditQuestion,
    values: dict[str, int | str | None] | None = None,
    /,
    **frames: DataFrame,
) -> DataFrame:
    assert tuple(frames) == question.tables, (question.name, tuple(frames))
    # Spark puts the frames where the braces are, and leaves no view behind.
    names = {name: f"{{{name}}}" for name in frames}
    spark = next(iter(frames.values())).sparkSession
    return spark.sql(question.said("spark", names, **(values or {})), **frames)


_DUCK_TYPES: Final = {
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "string": "VARCHAR",
    "strings": "VARCHAR[]",
    "binary": "BLOB",
    "time": "TIMESTAMPTZ",
}


class JournalDatabase:
    """Where questions about one journal are asked; a context manager, which closes it."""

    def __init__(
        self, listing: JournalFiles, rules: list[dict[str, object]], part: EventFilter
    ) -> None:
        import duckdb

        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self._read(listing)
        whole = {"events": "journal"}
        chosen = questions.CHOSEN.said("duckdb", whole, **msgspec.structs.asdict(part))
        self._connection.execute(f"CREATE VIEW events AS {chosen}")
        self.keep("rules", pa.Table.from_pylist(rules, schema=RULES))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(
        self, question: AuditQuestion, whole: bool = False, **values: int | str | None
    ) -> pa.Table:
        """The answer to a question whose tables are there; of the `whole` journal, or the part."""
        said = question.said("duckdb", {"events": "journal"} if whole else {}, **values)
        answer: pa.Table = self._connection.sql(said).to_arrow_table()
        return answer

    def keep(self, name: str, table: pa.Table) -> None:
        """Have a table at hand for later questions."""
        self._connection.register(f"{name}_kept", table)
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_kept")
        self._connection.unregister(f"{name}_kept")

    def keep_answer(self, question: AuditQuestion, **values: int | str | None) -> None:
        """Have an answer at hand for later questions, under the question's name."""
        said = question.said("duckdb", {}, **values)
        self._connection.execute(f"CREATE TABLE {question.name} AS {said}")

    def read_changes(self) -> None:
        """Have `changes` at hand."""
        said = questions.STIRRING.said("duckdb", {})
        found = self._connection.sql(said).to_arrow_reader(BATCH_ROWS)
        told = pa.RecordBatchReader.from_batches(CHANGES, read_changes(iter(found)))
        self.keep("changes", told.read_all())

    def _read(self, listing: JournalFiles) -> None:
        for table, name in (("events", "journal"), ("tuples", "tuples")):
            files = list(listing.files[table])
            if files:
                self._connection.read_parquet(files, union_by_name=True).create_view(name)
                continue
            columns = ", ".join(f'"{name}" {_DUCK_TYPES[of]}' for name, of in TABLES[table].items())
            self._connection.execute(f"CREATE TABLE {name} ({columns})")
