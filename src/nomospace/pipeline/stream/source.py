"""Spark's data source `nomospace`: the live tail of a host's journal, and tuples written back.

    register(spark)
    spark.readStream.format("nomospace").options(url="nomos://ward-3:7420", table="tuples").load()
    frame.writeStream.format("nomospace").options(url=…, space="answers", agent="clerk")…

Reading is by record numbers: an offset is the host's name and the last record that is done with. A
batch takes at most `records` of them and is split into parts that are read side by side, wherever
Spark has room, from the host or from its segments (`tail`).

Writing gathers the rows of a batch at the driver, which writes them as one agent when Spark says
that the batch is whole (`writing`). Rows are keyed by the query that Spark knows by its checkpoint,
by the batch, and by what they hold. So a batch that is done again writes what is missing and
nothing twice, in whatever order and parts its rows come.

| option | reading | writing |
| --- | --- | --- |
| `url`, `token`, `identity`, `trust` | the host, and what shows who asks | the same |
| `table` | `events`, `tuples`, `laws` or `checkpoints`; `tuples` if none is named | |
| `journal` | the folder of the host's segments, for what it has no more | |
| `from` | `start`, `now`, or the number of a record; of a stream, without checkpoint | |
| `records` | the most records of a batch, unless a trigger wants all that there is | |
| `space`, `agent`, `law` | | where to write, as whom, and the file of the space's law |

A DataFrame's columns are the fields of its tuples, in order: text, numbers, truth values, bytes,
and arrays of these. One column named `fields` of bytes has whole tuples, packed as the journal's.

This module needs PySpark, from version 4.2 on. Spark starts a process of its own to make a source,
to plan a read, to ask for offsets, to read, to write and to commit; so what only some of these need
is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypedDict

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from nomospace.errors import CallerError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from nomospace.pipeline.stream.tail import HostPlace, JournalTail
    from nomospace.pipeline.stream.writing import Target
    from nomospace.terms import Term

NAME: Final = "nomospace"
RECORDS: Final = 10_000
"""How many records a batch has at most, unless it is said otherwise."""
RECORDS_MAX: Final = 1_000_000
"""The most that it has in any case, also where a trigger wants all that there is."""
PART_RECORDS: Final = 10_000
"""How many records one task reads."""
PACKED: Final = "fields"
"""The column that has whole tuples."""
_QUERY: Final = "sql.streaming.queryId"
_PLAIN: Final = (
    StringType,
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    BinaryType,
)


class BadOption(CallerError):
    """The data source was given an option, or rows, that it cannot use."""

    code = "pipeline.bad-option"
    words = "data source nomospace, {what}: {why}"
    what: str
    why: str


def register(spark: SparkSession) -> None:
    """Make the data source known to a session; twice is harmless. Raises `OtherPython`."""
    from nomospace.pipeline.workers import check_workers

    check_workers(spark)
    spark.dataSource.register(NomospaceSource)


class NomospaceSource(DataSource):
    """The data source; its options are those of the table above."""

    @classmethod
    def name(cls) -> str:
        """What it is called in `format`."""
        return NAME

    def schema(self) -> str:
        """The columns of the table that is read."""
        from nomospace.pipeline.segments import ddl
        from nomospace.wire.segments import TABLES

        return ddl(TABLES[_table(self.options)])

    def reader(self, schema: StructType) -> JournalReader:
        """All that is there now."""
        return JournalReader(dict(self.options))

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 (Spark's name)
        """What is there, and what comes."""
        return StreamReader(dict(self.options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        """Tuples in a space."""
        _named(self.options, "url")
        _named(self.options, "space")
        return StreamWriter(dict(self.options), packer(schema))


# -- options ---------------------------------------------------------------------------------------


def _named(options: Mapping[str, str], name: str) -> str:
    if not options.get(name):
        raise BadOption(what=f"option {name}", why=f'it is missing; say .option("{name}", "…")')
    return options[name]


def _table(options: Mapping[str, str]) -> str:
    from nomospace.wire.segments import TABLES

    table = options.get("table", "tuples")
    if table not in TABLES:
        raise BadOption(what=f"option table {table!r}", why=f"it is one of {', '.join(TABLES)}")
    return table


def _number(options: Mapping[str, str], name: str, usual: int, most: int) -> int:
    given = options.get(name, str(usual))
    if not given.isdecimal() or not 0 < int(given) <= most:
        raise BadOption(what=f"option {name} {given!r}", why=f"it is a number from 1 to {most:,}")
    return int(given)


def _since(options: Mapping[str, str]) -> str:
    since = options.get("from", "start")
    if since not in ("start", "now") and not since.isdecimal():
        raise BadOption(
            what=f"option from {since!r}", why="it is start, now, or the number of a record"
        )
    return since


def _place(options: Mapping[str, str]) -> HostPlace:
    from nomospace.pipeline.stream.tail import HostPlace

    return HostPlace(
        url=_named(options, "url"),
        token=options.get("token", ""),
        identity=options.get("identity", ""),
        trust=options.get("trust", ""),
    )


def _tail(options: Mapping[str, str]) -> JournalTail:
    from nomospace.pipeline.stream.tail import JournalTail

    return JournalTail(_place(options), options.get("journal", ""))


def _target(options: Mapping[str, str]) -> Target:
    from nomospace.pipeline.stream.writing import Target

    return Target(
        place=_place(options),
        space=_named(options, "space"),
        agent=options.get("agent", ""),
        law=options.get("law", ""),
    )


# -- reading ---------------------------------------------------------------------------------------


class Offset(TypedDict):
    """How far a stream has come: the host, and the number of its last record."""

    host: str
    seq: int


@dataclass
class Range(InputPartition):
    """Records after a number, up to another."""

    after: int
    upto: int


def _split(after: int, upto: int) -> list[Range]:
    starts = range(after, upto, PART_RECORDS)
    return [Range(start, min(start + PART_RECORDS, upto)) for start in starts]


class JournalReader(DataSourceReader):
    """Reads what a journal has when it is asked."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._since = _since(options)
        _named(options, "url")

    def partitions(self) -> Sequence[Range]:
        """The records there are, in parts; raises `RecordsGone` where it cannot be all."""
        bounds, after = _tail(self._options).begin(self._since)
        return _split(after, bounds.last) or [Range(0, 0)]

    def read(self, partition: Range) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        if partition.upto > partition.after:
            yield from _read(self._options, partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a journal as it grows."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._records = _number(options, "records", RECORDS, RECORDS_MAX)
        self._since = _since(options)
        self._target: int | None = None
        _named(options, "url")

    def initialOffset(self) -> Offset:  # noqa: N802
        """Where a stream without checkpoint begins; raises `RecordsGone`."""
        bounds, after = _tail(self._options).begin(self._since)
        return {"host": bounds.host, "seq": after}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """How far the next batch goes."""
        tail = _tail(self._options)
        bounds = tail.bounds()
        tail.check(bounds, start["host"], start["seq"])
        last = bounds.last if self._target is None else min(self._target, bounds.last)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else RECORDS_MAX
        return {"host": bounds.host, "seq": max(start["seq"], min(last, start["seq"] + most))}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """How many records a batch has at most."""
        return ReadMaxRows(self._records)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Go as far as the journal goes now, and then end."""
        self._target = _tail(self._options).bounds().last

    def partitions(self, start: Offset, end: Offset) -> Sequence[Range]:
        """A batch in parts."""
        return _split(start["seq"], end["seq"])

    def read(self, partition: Range) -> Iterator[pa.RecordBatch]:
        """The rows of a part; the same ones each time."""
        return _read(self._options, partition)


def _read(options: Mapping[str, str], part: Range) -> Iterator[pa.RecordBatch]:
    return _tail(options).read(_table(options), part.after, part.upto)


# -- writing ---------------------------------------------------------------------------------------

Packer = Callable[[Any], bytes]


def packer(schema: StructType) -> Packer:
    """What makes packed tuples of rows; raises `BadOption` for columns that can be no fields."""
    fields = schema.fields
    if len(fields) == 1 and fields[0].name == PACKED and isinstance(fields[0].dataType, BinaryType):
        return lambda row: bytes(row[0])
    bad = [
        f"{field.name} ({field.dataType.simpleString()})"
        for field in fields
        if not _fits(field.dataType)
    ]
    if bad or not fields:
        why = "fields are text, numbers, truth values, bytes and arrays of these; cast the others"
        raise BadOption(what=f"columns {', '.join(bad) or 'none'}", why=why)
    return _packed


def _packed(row: Sequence[object]) -> bytes:
    from nomospace.wire.values import pack_term

    return pack_term(tuple([_term(value) for value in row]))


def _fits(kind: DataType) -> bool:
    return isinstance(kind, _PLAIN) or (isinstance(kind, ArrayType) and _fits(kind.elementType))


def _term(value: Any) -> Term:
    if isinstance(value, list):
        return tuple([_term(one) for one in value])
    plain: Term = bytes(value) if isinstance(value, bytearray) else value
    return plain


@dataclass
class Rows(WriterCommitMessage):
    """The rows of one task, packed, and the query that they are of."""

    query: str
    rows: list[bytes]


class StreamWriter(DataSourceStreamWriter):
    """Writes the rows of batches into a space."""

    def __init__(self, options: dict[str, str], pack: Packer) -> None:
        self._options = options
        self._pack = pack

    def write(self, iterator: Iterator[object]) -> Rows:
        """Gather the rows of a task; raises `TooManyToWrite`."""
        from nomospace.pipeline.stream.writing import ROWS_MAX, TooManyToWrite

        context = TaskContext.get()
        assert context is not None, "Spark runs this in a task"
        rows: list[bytes] = []
        for row in iterator:
            if len(rows) >= ROWS_MAX:
                raise TooManyToWrite(limit=ROWS_MAX)
            rows.append(self._pack(row))
        return Rows(context.getLocalProperty(_QUERY) or "", rows)

    def commit(self, messages: list[Rows | None], batchId: int) -> None:  # noqa: N803
        """Write the rows of a whole batch, those that are not written yet."""
        from nomospace.pipeline.stream.writing import keyed

        told = [message for message in messages if message is not None]
        query = next((message.query for message in told), "")
        if not query:
            raise BadOption(what="writing", why="Spark does not say which query this is")
        rows = [row for message in told for row in message.rows]
        _target(self._options).write(query, batchId, keyed(query, batchId, rows))

    def abort(self, messages: list[Rows | None], batchId: int) -> None:  # noqa: N803
        """Nothing was written."""
