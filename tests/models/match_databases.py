"""The databases as engines of `match_cases`.

    python -m tests.models.match_databases --cases 2000 --engines memory,sqlite,postgres,duckdb

One connection a database serves all cases: each makes its tables and drops them again.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from functools import cache

from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.question import Question
from nomospace.store.matching import Database, Tables
from nomospace.store.matching_duckdb import DuckdbDatabase
from nomospace.store.matching_postgres import PostgresDatabase
from nomospace.store.matching_sqlite import SqliteDatabase
from tests.models.match_cases import ENGINES, found, main
from tests.models.matching import Found
from tests.servers import shared_postgres


@cache
def _database(kind: str) -> Database:
    made: Database
    if kind == "sqlite":
        made = SqliteDatabase()
    elif kind == "duckdb":
        made = DuckdbDatabase()
    else:
        made = PostgresDatabase(shared_postgres().url)
    atexit.register(made.close)
    return made


def _engine(kind: str) -> None:
    def ask(
        question: Question, ontology: Ontology, facts: Sequence[Fact]
    ) -> tuple[list[Found], Found | None]:
        tables = Tables(ontology, _database(kind))
        try:
            tables.add(facts)
            answers = tables.answers(question)
            assert not answers.cut
            first = tables.first(question)
        finally:
            tables.drop()
        return [found(one) for one in answers.items], None if first is None else found(first)

    ENGINES[kind] = ask


DATABASES = ("sqlite", "postgres", "duckdb")
for _kind in DATABASES:
    _engine(_kind)

if __name__ == "__main__":
    sys.exit(main())
