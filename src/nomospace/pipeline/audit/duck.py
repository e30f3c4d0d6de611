"""An audit in DuckDB: the same questions, asked in one process, with the disk's help.

`JournalDatabase` holds one connection with the journal's tables as views. What `audit.tables` says
of each question holds here.
"""

from __future__ import annotations

from typing import Final, Self

import pyarrow as pa

from nomospace.pipeline.audit import questions
from nomospace.pipeline.audit.changes import CHANGES, read_changes
from nomospace.pipeline.audit.questions import AuditQuestion
from nomospace.pipeline.audit.rules import RULES
from nomospace.pipeline.segments import BATCH_ROWS, JournalFiles
from nomospace.wire.segments import TABLES

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
        self,
        listing: JournalFiles,
        rules: list[dict[str, object]],
        *,
        since: int | None = None,
        until: int | None = None,
        community: str | None = None,
    ) -> None:
        import duckdb

        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self._read(listing)
        whole = {"events": "journal"}
        part = questions.CHOSEN.said("duckdb", whole, since=since, until=until, community=community)
        self._connection.execute(f"CREATE VIEW events AS {part}")
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
