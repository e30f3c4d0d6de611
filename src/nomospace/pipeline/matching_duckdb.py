"""Questions by meaning to an archive without Spark: DuckDB reads its files, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from nomospace.meaning.sql.layout import BYTES, NUMBER, TEXT, WHOLE, SqlTable
from nomospace.pipeline.archive import ENDS, STATEMENT_S, RowBounds, columns_of
from nomospace.store.matching_duckdb import DuckdbDatabase

_DUCK: Final = {TEXT: "VARCHAR", NUMBER: "DOUBLE", WHOLE: "BIGINT", BYTES: "BLOB"}


class DuckdbReader(DuckdbDatabase):
    """A `DuckdbDatabase` whose tables may be views over files of an archive.

    DuckDB does not look at the checksums of pages: an archive that may be damaged is for Spark. A
    statement may take as long as there.
    """

    def __init__(self) -> None:
        super().__init__(statement_s=STATEMENT_S)

    def have(self, table: SqlTable, files: Sequence[str], bounds: RowBounds) -> None:
        """Have the rows of files that are within bounds as a table."""
        names = ", ".join(f'"{name}"' for name, _ in table.columns)
        query = f"SELECT {names} FROM ({_within(table, files, bounds)}) AS w"
        if bounds.ended:
            ended = _within(ENDS, bounds.ended, bounds)
            query += f" ANTI JOIN ({ended}) AS e USING (tuple)"
        # `Tables` has made some of its tables already, empty.
        made = f'DROP TABLE IF EXISTS "{table.name}"'
        self.script([made, f'CREATE OR REPLACE TEMPORARY VIEW "{table.name}" AS {query}'])


def _within(table: SqlTable, files: Sequence[str], bounds: RowBounds) -> str:
    if not files:
        nothing = ", ".join(
            f'CAST(NULL AS {_DUCK[kind]}) AS "{name}"' for name, kind in columns_of(table)
        )
        return f"SELECT {nothing} WHERE FALSE"
    listed = ", ".join(_text(file) for file in files)
    conditions = ["TRUE"]
    if bounds.at is not None:
        conditions.append(f"since <= {bounds.at:d}")
    if bounds.space:
        conditions.append(f"space = {_text(bounds.space)}")
    return f"SELECT * FROM read_parquet([{listed}]) WHERE {' AND '.join(conditions)}"


def _text(value: str) -> str:
    """A text as DuckDB's SQL has it; a view takes no parameters.

    >>> _text("it's")
    "'it''s'"
    """
    return exp.Literal.string(value).sql("duckdb")
