"""The databases that `nomospace match` can ask, and stores as places that tuples come from.

`nomospace match` over tables that are kept beside a store, for the next question too.

What cannot be kept is said on stderr, once, and the question is answered from temporary tables as
if nothing had been asked of the kept ones.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from nomospace.cli.remote_options import Unusable
from nomospace.cli.stores import opened, present
from nomospace.host.changes import TuplePut
from nomospace.meaning.answers import Answers, MeaningAnswer
from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology
from nomospace.meaning.plan import Plan
from nomospace.meaning.question import Question
from nomospace.meaning.sql.kept import KeptTables
from nomospace.store.interface import Step
from nomospace.store.keeping import KeptDamaged, KeptPlace, KeptUnusable
from nomospace.store.kept import kept_place, open_kept
from nomospace.store.matching import Database, StoredFactTables
from nomospace.store.sql import SqlStore
from nomospace.store.sqlite import SqliteStore

if TYPE_CHECKING:
    pass


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


T = TypeVar("T")
_TEMPORARY: Final = "this question is answered from temporary tables"


class KeptEngine:
    """Tables of a store that stay when the command ends; they show the moment it began."""

    def __init__(self, place: KeptPlace, space: str, ontology: Ontology) -> None:
        self._place = place
        self._space = space
        self._ontology = ontology
        self._kept = open_kept(place, space, ontology, say)
        self.owned = ExitStack()
        """What is let go of with the tables."""

    @property
    def tuples(self) -> int:
        """How many tuples there are."""
        return self._kept.tables.tally.tuples

    def plan(self, question: Question) -> Plan:
        """How it will look for answers."""
        return self._asked(lambda tables: tables.plan(question))

    def answers(self, plan: Plan) -> Answers:
        """All answers."""
        return self._asked(lambda tables: tables.answers(plan.question))

    def first(self, plan: Plan) -> MeaningAnswer | None:
        """The one that `any` gives."""
        return self._asked(lambda tables: tables.first(plan.question))

    def _asked(self, ask: Callable[[KeptTables], T]) -> T:
        """What is damaged deep inside is found only now; it is made anew, once."""
        try:
            return ask(self._kept.tables)
        except KeptDamaged as error:
            say(f"the kept tables {error.where} are damaged ({error.why}); they are made anew")
            self._kept.close()
            self._place.discard(self._space, self._ontology)
            self._kept = open_kept(self._place, self._space, self._ontology, say)
            return ask(self._kept.tables)

    def close(self) -> None:
        """Let go of the tables, then of the store."""
        self._kept.close()
        self.owned.close()


def open_kept_engine(engine: str, ontology: Ontology, url: str, space: str) -> KeptEngine | None:
    """The kept tables of a store; `None` where the question has to be answered without."""
    with ExitStack() as closing:
        store = closing.enter_context(opened(url))
        place = kept_place(store)
        if place is None or (engine == "sqlite") != isinstance(store, SqliteStore):
            return None
        assert isinstance(store, SqlStore)
        if not store.holds(space):
            return None  # no table is made for a space that is not there
        try:
            made = KeptEngine(place, space, ontology)
        except KeptUnusable as error:
            say(f"the kept tables {error.where} cannot be used ({error.why}); {_TEMPORARY}")
            return None
        if made.tuples:
            made.owned = closing.pop_all()
            return made
        made.close()  # its last tuple was taken just now
        return None


def show_kept(url: str) -> None:
    """Print the sets of tables that are kept of a store, a line of JSON each."""
    with _place(url) as place:
        for one in place.sets():
            asked = datetime.fromtimestamp(one.asked, UTC).isoformat(timespec="seconds")
            told: dict[str, object] = {"where": one.where, "bytes": one.bytes, "asked": asked}
            if one.trouble:
                told["trouble"] = one.trouble
            else:
                known = {"space": one.space, "ontology": one.ontology, "tuples": one.tuples}
                told = {**known, **told}
            print(json.dumps(told, ensure_ascii=False))


def drop_kept(url: str) -> None:
    """Throw all sets of a store away, and print how many there were."""
    with _place(url) as place:
        print(json.dumps({"dropped": place.drop()}))


@contextmanager
def _place(url: str) -> Iterator[KeptPlace]:
    with present(url) as store:
        place = kept_place(store)
        assert place is not None, "a store in memory is not present"
        yield place


def say(what: str) -> None:
    """Tell whoever asked, beside the answers."""
    print(f"nomospace match: {what}", file=sys.stderr)
