"""The databases as engines of `match_cases`.

    python -m tests.models.match_databases --cases 2000 --engines sqlite,postgres,duckdb

One connection a database serves all cases: each makes its tables and drops them again. Each network
of a plan is a statement, and a few cases have hundreds; those past `--networks` are left out, and
counted.
"""

from __future__ import annotations

import argparse
import atexit
import itertools
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final

from nomospace.meaning.facts import Fact, Facts
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.planner import Planner
from nomospace.meaning.question import Question
from nomospace.store.matching import Database, StoredFactTables
from nomospace.store.matching_duckdb import DuckdbDatabase
from nomospace.store.matching_postgres import PostgresDatabase
from nomospace.store.matching_sqlite import SqliteDatabase
from tests.models.match_cases import ENGINES, Case, case, differs, found, shrunk
from tests.models.matching import Found
from tests.servers import shared_postgres

STATEMENT_S: Final = 600.0
"""On a busy machine a case takes long; it is not the time that is tried here."""


@cache
def _database(kind: str) -> Database:
    made: Database
    if kind == "sqlite":
        made = SqliteDatabase()
    elif kind == "duckdb":
        made = DuckdbDatabase(threads=1, statement_s=STATEMENT_S)
    else:
        made = PostgresDatabase(shared_postgres().url)
    atexit.register(made.close)
    return made


def _engine(kind: str) -> None:
    def ask(
        question: Question, ontology: Ontology, facts: Sequence[Fact]
    ) -> tuple[list[Found], Found | None]:
        tables = StoredFactTables(ontology, _database(kind))
        try:
            tables.add(facts)
            answers = tables.answers(question)
            first = tables.first(question)
        finally:
            tables.drop()
        return [found(one) for one in answers.items], None if first is None else found(first)

    ENGINES[kind] = ask


DATABASES = ("sqlite", "postgres", "duckdb")
for _kind in DATABASES:
    _engine(_kind)


def small(made: Case, networks: int) -> bool:
    """Whether the plan of a case has some networks, but not more than so many."""
    known = Facts.of(made.facts, made.ontology).known()
    return 0 < len(Planner(made.question, made.ontology, known).plan().networks) <= networks


def main() -> int:
    """Run cases, and say which differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engines", default=",".join(DATABASES), help="names, with commas")
    parser.add_argument("--networks", type=int, default=40, help="the most of one plan")
    chosen = parser.parse_args()
    failed = done = left = 0
    for seed in itertools.count(chosen.seed):
        if done == chosen.cases or failed == 5:
            break
        made = case(seed)
        if not small(made, chosen.networks):
            left += 1
            continue
        done += 1
        for name in chosen.engines.split(","):
            if differs(made, ENGINES[name]):
                failed += 1
                least = shrunk(made, ENGINES[name])
                print(f"{name} differs\n{least}\n{differs(least, ENGINES[name])}\n")
    print(f"{done} cases, {failed} differ; {left} with no network or too many left out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
