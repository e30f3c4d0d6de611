"""The databases that `nomospace match` can ask, and stores as places that tuples come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nomospace.cli.remote_options import Unusable
from nomospace.cli.stores import opened
from nomospace.host.changes import TuplePut
from nomospace.meaning.answers import Answers, MeaningAnswer
from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import Plan
from nomospace.meaning.question import Question
from nomospace.store.interface import Step
from nomospace.store.matching import Database, StoredFactTables


class DatabaseEngine:
    """A database that has the tuples in tables of its own, for as long as the command runs."""

    def __init__(self, ontology: Ontology, facts: Iterable[Fact], database: Database) -> None:
        self._database = database
        self._tables = StoredFactTables(ontology, database)
        self._tables.add(facts)

    def plan(self, question: Question) -> Plan:
        """How it will look for answers."""
        return self._tables.plan(question)

    def answers(self, plan: Plan) -> Answers:
        """All answers."""
        return self._tables.answers(plan.question)

    def first(self, plan: Plan) -> MeaningAnswer | None:
        """The one that `any` gives."""
        return self._tables.first(plan.question)

    def close(self) -> None:
        """Let go of the connection, and of the tables with it."""
        self._database.close()


def open_sqlite(ontology: Ontology, facts: Iterable[Fact], url: str) -> DatabaseEngine:
    """SQLite, in a temporary database."""
    from nomospace.store.matching_sqlite import SqliteDatabase

    _no_url("sqlite", url)
    return DatabaseEngine(ontology, facts, SqliteDatabase())


def open_duckdb(ontology: Ontology, facts: Iterable[Fact], url: str) -> DatabaseEngine:
    """DuckDB, in memory."""
    from nomospace.store.matching_duckdb import DuckdbDatabase

    _no_url("duckdb", url)
    return DatabaseEngine(ontology, facts, DuckdbDatabase())


def open_postgres(ontology: Ontology, facts: Iterable[Fact], url: str) -> DatabaseEngine:
    """PostgreSQL, in temporary tables of one session."""
    from nomospace.store.matching_postgres import PostgresDatabase

    if not url.startswith(("postgresql://", "postgres://")):
        raise Unusable(
            what=f"--url {url!r}",
            why="the engine postgres needs postgresql://USER@HOST:PORT/DATABASE",
        )
    return DatabaseEngine(ontology, facts, PostgresDatabase(url))


def open_spark(ontology: Ontology, facts: Iterable[Fact], url: str) -> DatabaseEngine:
    """Spark, on the master that is named, else on this machine."""
    from nomospace.cli.spark import ensure_spark, progress
    from nomospace.pipeline.jobs.session import LOCAL, check_master, open_session

    check_master(url or LOCAL)
    ensure_spark()
    from nomospace.pipeline.matching import SparkDatabase

    spark = open_session(url or LOCAL, say=progress)
    return DatabaseEngine(ontology, facts, SparkDatabase(spark, owned=True))


def _no_url(engine: str, url: str) -> None:
    if url:
        raise Unusable(what="--url", why=f"the engine {engine} has no address; leave it out")


def stored(url: str, space: str) -> Iterator[Fact]:
    """The tuples of a space that a store has, each with its writer and counter for an id."""
    others: dict[str, None] = {}
    with opened(url) as store:
        for part in store.dump():
            for change in part.changes if isinstance(part, Step) else ():
                if isinstance(change, TuplePut):
                    others[change.space] = None
                    if change.space == space:
                        row = change.row
                        yield Fact(f"{row.writer}/{row.count}", row.fields)
    if space not in others:
        there = ", ".join(sorted(others)[:10]) or "none has any"
        raise Unusable(what=f"--space {space}", why=f"it has no tuples; spaces that have: {there}")
