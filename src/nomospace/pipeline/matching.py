"""Questions by meaning on Spark: a `meaning.sql.tables.Database` whose tables are views.

Spark has no tables that can be added to for a while. So a table is a temporary view, and rows are
put into it by a union with what it was: rows of Python as a small DataFrame, rows of a statement as
that statement itself, which Spark runs when somebody asks. What networks found is asked for more
than once; it is kept in Spark's memory, or on its disks, until its view is dropped.

Views are of a session of their own beside the caller's, with the same executors; so names meet
none of the caller's.

Of the parts of an archive (`archive`) views over their files are the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from threading import Timer
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from nomospace.meaning.sql.dialects import DIALECTS, Statement
from nomospace.meaning.sql.layout import Row, SqlTable
from nomospace.meaning.sql.tables import DatabaseFailed
from nomospace.pipeline.archive import (
    ARROW,
    ENDS,
    SPARK,
    STATEMENT_S,
    RowBounds,
    columns_of,
    spark_schema,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOP_MAX: Final = 10_000
"""The largest limit for which Spark keeps the first rows in memory; for more it sorts them all."""
_KEPT: Final = "found_"
_tags: Final = count()


class SparkDatabase:
    """Views of one session; what fails raises `DatabaseFailed`.

    A session that is `owned` is stopped on closing, with all that it has.
    """

    dialect = DIALECTS["spark"]

    def __init__(self, spark: SparkSession, *, owned: bool = False) -> None:
        self._caller = spark
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.execution.topKSortFallbackThreshold", str(TOP_MAX))
        self._owned = owned
        self._tag = f"nomospace-match-{next(_tags)}"
        self._kept: dict[str, list[DataFrame]] = {}

    def run(self, statement: Statement) -> None:
        """Add the rows that a statement gives to its view."""
        with self._told() as spark:
            frame = spark.sql(statement.sql, args=dict(statement.params))
            if statement.into.startswith(_KEPT):
                frame.persist()
                self._kept.setdefault(statement.into, []).append(frame)
            self._add(statement.into, frame)

    def script(self, statements: Sequence[str]) -> None:
        """Run statements that take no values and give nothing back."""
        with self._told() as spark:
            for statement in statements:
                spark.sql(statement)
            for name in [name for name in self._kept if not spark.catalog.tableExists(name)]:
                self._let_go(name)

    def ask(self, statement: Statement) -> list[Row]:
        """The rows that a statement gives."""
        with self._told() as spark:
            found = spark.sql(statement.sql, args=dict(statement.params)).toArrow()
        columns = [column.to_pylist() for column in found.columns]
        return list(zip(*columns, strict=True))

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a view, in one go.

        What one process had at hand is small beside an archive: whatever is joined with it stays
        where it is, and every worker gets a copy.
        """
        arrays = [
            pa.array([row[at] for row in rows], ARROW[kind]) for at, (_, kind) in enumerate(columns)
        ]
        chunk = pa.table(arrays, names=[name for name, _ in columns])
        with self._told() as spark:
            whole = spark.table(table).union(spark.createDataFrame(chunk))
            whole.hint("broadcast").createOrReplaceTempView(table)
            # The session that last made rows is the active one, which is for the caller to say.
            self._caller.createDataFrame([], "nothing int")

    def close(self) -> None:
        """Let go of what is kept; twice is harmless."""
        if self._owned:
            self._spark.stop()
            self._kept.clear()
        for name in list(self._kept):
            self._let_go(name)

    def _add(self, view: str, frame: DataFrame) -> None:
        self._spark.table(view).union(frame).createOrReplaceTempView(view)

    def _let_go(self, name: str) -> None:
        from py4j.protocol import Py4JError

        for frame in self._kept.pop(name):
            with suppress(Py4JError, ConnectionError):
                frame.unpersist()

    @contextmanager
    def _told(self) -> Iterator[SparkSession]:
        """Spark at work, for so long and no longer; its errors in our words."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        self._spark.addTag(self._tag)
        watch = Timer(STATEMENT_S, self._spark.interruptTag, (self._tag,))
        watch.daemon = True
        watch.start()
        try:
            yield self._spark
        except (PySparkException, Py4JError, ConnectionError) as error:  # or its Java has ended
            raise DatabaseFailed(engine="spark", why=str(error).strip()) from error
        finally:
            watch.cancel()
            with suppress(Py4JError, ConnectionError):
                self._spark.removeTag(self._tag)

    # -- an archive --------------------------------------------------------------------------------

    def have(self, table: SqlTable, files: Sequence[str], bounds: RowBounds) -> None:
        """Have the rows of files that are within bounds as a table."""
        with self._told() as spark:
            frame = self._within(spark, table, files, bounds)
            if bounds.ended:
                ended = self._within(spark, ENDS, bounds.ended, bounds)
                frame = frame.join(ended.select("tuple"), "tuple", "left_anti")
            columns = [frame[name] for name, _ in table.columns]
            frame.select(*columns).createOrReplaceTempView(table.name)

    def _within(
        self, spark: SparkSession, table: SqlTable, files: Sequence[str], bounds: RowBounds
    ) -> DataFrame:
        if not files:
            nothing = ", ".join(
                f"CAST(NULL AS {SPARK[kind]}) AS `{name}`" for name, kind in columns_of(table)
            )
            return spark.sql(f"SELECT {nothing} WHERE FALSE")
        reader = spark.read.schema(spark_schema(table))
        frame = reader.option("parquet.page.verify-checksum.enabled", "true").parquet(*files)
        if bounds.at is not None:
            frame = frame.where(frame["since"] <= bounds.at)
        return frame.where(frame["space"] == bounds.space) if bounds.space else frame
