"""Questions by meaning on Spark: a `meaning.sql.tables.Database` whose tables are views.

Spark has no tables that can be added to for a while. So a table is a temporary view, and rows are
put into it by a union with what it was: rows of Python as a small DataFrame, rows of a statement as
that statement itself, which Spark runs when somebody asks. What networks found is asked for more
than once; it is kept in Spark's memory, or on its disks, until its view is dropped.

Views are of a session of their own beside the caller's, with the same executors; so names meet
none of the caller's.

`match` asks the parts of an archive (`archive`): views over their files are the tables. Files that
began after the moment that is asked about are not opened; of others Parquet's own statistics spare
what they can. A class that no statement names is not read, but to count how often objects recur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from nomospace.meaning.answers import Answers
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.meaning.sql.dialects import DIALECTS, Statement
from nomospace.meaning.sql.layout import BYTES, NUMBER, TEXT, WHOLE, Row, Table
from nomospace.meaning.sql.tables import DatabaseFailed, Tables
from nomospace.pipeline.archive import ARROW, ENDS, Part, columns_of, merged, tables_of
from nomospace.wire.values import unpack_term

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATEMENT_S: Final = 3_600.0
"""How long Spark may work on one statement."""
_SPARK: Final = {TEXT: "string", NUMBER: "double", WHOLE: "bigint", BYTES: "binary"}
_KEPT: Final = "found_"
_tags: Final = count()


class SparkDatabase:
    """Views of one session; what fails raises `DatabaseFailed`.

    `statement_s` is how long one statement may take. A session that is `owned` is stopped on
    closing, with all that it has.
    """

    dialect = DIALECTS["spark"]

    def __init__(
        self, spark: SparkSession, *, owned: bool = False, statement_s: float = STATEMENT_S
    ) -> None:
        self._spark = spark.newSession()
        self._owned = owned
        self._statement_s = statement_s
        self._tag = f"nomospace-match-{next(_tags)}"
        self._kept: dict[str, list[DataFrame]] = {}

    def view(self, name: str, frame: DataFrame) -> None:
        """Have a DataFrame of this session (`session`) as a table."""
        with self._told():
            frame.createOrReplaceTempView(name)

    @property
    def session(self) -> SparkSession:
        """The session that has the views."""
        return self._spark

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
            found = spark.sql(statement.sql, args=dict(statement.params)).collect()
        return [tuple(row) for row in found]

    def put(self, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
        """Add rows to a view, in one go."""
        arrays = [
            pa.array([row[at] for row in rows], ARROW[kind]) for at, (_, kind) in enumerate(columns)
        ]
        chunk = pa.table(arrays, names=[name for name, _ in columns])
        with self._told() as spark:
            self._add(table, spark.createDataFrame(chunk))

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
        for frame in self._kept.pop(name):
            frame.unpersist()

    @contextmanager
    def _told(self) -> Iterator[SparkSession]:
        """Spark at work, for so long and no longer; its errors in our words."""
        from pyspark.errors import PySparkException

        self._spark.addTag(self._tag)
        watch = Timer(self._statement_s, self._spark.interruptTag, (self._tag,))
        watch.daemon = True
        watch.start()
        try:
            yield self._spark
        except PySparkException as error:
            raise DatabaseFailed(engine="spark", why=str(error).strip()) from error
        finally:
            watch.cancel()
            self._spark.removeTag(self._tag)


# -- the archive -----------------------------------------------------------------------------------


def match(
    spark: SparkSession,
    parts: Sequence[tuple[Path, Part]],
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
    database = SparkDatabase(spark)
    try:
        tables = Tables(ontology, database, unpack_term)
        known = tables_of([whole], ontology)
        views = {
            name: _frame(database.session, table, parts, at, space) for name, table in known.items()
        }
        ended = views.pop(ENDS.name)
        gone = ended.select(ended["tuple"]) if ENDS.name in whole.tables else None
        for name, frame in views.items():
            if gone is not None and not ever:
                frame = frame.join(gone, "tuple", "left_anti")
            database.view(name, frame.select(*[column for column, _ in known[name].columns]))
        opened = {name: dict.fromkeys(paths) for name, paths in whole.classes.items()}
        tables.tell(opened, whole.known_shapes())
        return tables.answers(question)
    finally:
        database.close()


def _frame(
    spark: SparkSession,
    table: Table,
    parts: Sequence[tuple[Path, Part]],
    at: int | None,
    space: str,
) -> DataFrame:
    """The rows of a table that had begun at a moment, of one space or of all."""
    schema = ", ".join(f"`{name}` {_SPARK[kind]}" for name, kind in columns_of(table))
    files = [
        str(folder / file.name)
        for folder, part in parts
        for file in part.tables.get(table.name, ())
        if at is None or file.first <= at
    ]
    if not files:
        nothing = ", ".join(
            f"CAST(NULL AS {_SPARK[kind]}) AS `{n}`" for n, kind in columns_of(table)
        )
        return spark.sql(f"SELECT {nothing} WHERE FALSE")
    reader = spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", "true")
    frame = reader.parquet(*files)
    if at is not None:
        frame = frame.where(frame["since"] <= at)
    return frame.where(frame["space"] == space) if space else frame
