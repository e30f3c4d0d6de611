"""The databases that `nomospace match` can ask, and stores as places that tuples come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

from nomospace.cli.remote_options import Unusable
from nomospace.cli.stores import opened
from nomospace.host.changes import TuplePut
from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology
from nomospace.store.interface import Step
from nomospace.store.matching import Database, StoredFactTables


@contextmanager
def filled(
    engine: str, ontology: Ontology, facts: Iterable[Fact], url: str
) -> Iterator[StoredFactTables]:
    """A database that has the tuples in tables of its own, for as long as the command runs."""
    with closing(_database(engine, url)) as database:
        tables = StoredFactTables(ontology, database)
        tables.add(facts)
        yield tables


def _database(engine: str, url: str) -> Database:
    """The database of an engine, empty. Only what the chosen one needs is loaded."""
    if engine == "postgres":
        from nomospace.store.matching_postgres import PostgresDatabase

        if not url.startswith(("postgresql://", "postgres://")):
            raise Unusable(
                what=f"--url {url!r}",
                why="the engine postgres needs postgresql://USER@HOST:PORT/DATABASE",
            )
        return PostgresDatabase(url)
    if engine == "spark":
        from nomospace.cli.spark import ensure_spark, progress
        from nomospace.pipeline.jobs.session import LOCAL, check_master, open_session

        check_master(url or LOCAL)
        ensure_spark()
        from nomospace.pipeline.matching import SparkDatabase

        return SparkDatabase(open_session(url or LOCAL, say=progress), owned=True)
    if url:
        raise Unusable(what="--url", why=f"the engine {engine} has no address; leave it out")
    if engine == "sqlite":
        from nomospace.store.matching_sqlite import SqliteDatabase

        return SqliteDatabase()
    from nomospace.store.matching_duckdb import DuckdbDatabase

    return DuckdbDatabase()


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
