"""Tables that are kept, against tables made anew for each question.

    python -m tests.models.kept_tables --rounds 400 --seeds 20 --engines sqlite,postgres

A store is written to at random: tuples come, go, come again and are replaced, its host begins a new
life, and the whole store is exchanged for another. Two askers, as two processes would be, bring the
same set of tables up to date in turn. After each round the set must have the rows of temporary
tables that are filled with what the store has, its tally must be what these count, and questions
must have the same answers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

import psycopg

from nomospace.host.changes import Change, TupleGone, TuplePut
from nomospace.meaning.facts import Fact
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.meaning.question import parse_template
from nomospace.meaning.sql.dialects import Statement
from nomospace.protocols.spaces import Row
from nomospace.store import kept_changes, sql
from nomospace.store.interface import Step, Store
from nomospace.store.keeping import KeptPlace
from nomospace.store.kept import SpaceKeptTables, kept_place, open_kept
from nomospace.store.matching import StoredFactTables
from nomospace.store.matching_sqlite import SqliteDatabase
from nomospace.store.opening import open_store
from nomospace.terms import obj
from tests.servers import shared_postgres

ENGINES: Final = ("sqlite", "postgres")
ONTOLOGY: Final = Ontology(
    "model",
    [
        OntologyClass("A", ("AA",), properties={"x": "number", "p": "P"}),
        OntologyClass("B", parents=("A",), properties={"y": "string"}),
        OntologyClass("C", properties={"x": "number"}),
        OntologyClass("P", properties={"x": "number"}),
    ],
)
TEMPLATES: Final = (
    "(A, C)",
    "(A)",
    "(B where y = 2)",
    "(AA where p.x > 1, int)",
    '("job")',
)
_CLASSES: Final = ("A", "AA", "B", "C", "Odd", 'It\'s "odd"')
_VALUES: Final[tuple[Any, ...]] = (1, 2, 2.5, "2", 2**70, True, None, (1, "a"), "\0")
_places = count(1)


class World:
    """A store with a host that writes, and two that ask."""

    def __init__(self, kind: str, folder: Path, seed: int) -> None:
        self.rng = Random(seed)
        self.kind = kind
        self.folder = folder
        self.tuples: dict[tuple[str, str, int], Row] = {}
        self.gone: dict[tuple[str, str, int], Row] = {}
        self.count = 0
        self.commits = 0
        self.said: list[str] = []
        self.url = self._new_url()
        self.store: Store = open_store(self.url)
        self.store.begin()
        self.askers: dict[int, SpaceKeptTables] = {}

    def _new_url(self) -> str:
        if self.kind == "sqlite":
            return str(self.folder / f"{next(_places)}.db")
        return f"{shared_postgres().url}?schema=kept_{next(_places)}"

    @property
    def place(self) -> KeptPlace:
        """Where the sets of the store are."""
        place = kept_place(open_store(self.url))
        assert place is not None
        return place

    def close(self) -> None:
        """Let go of everything, and throw the sets away."""
        for asker in self.askers.values():
            asker.close()
        self.store.close()
        self.place.drop()

    # -- what a host does ----------------------------------------------------------------------

    def write(self, most: int) -> None:
        """A commit or two with some changes."""
        for _ in range(self.rng.randint(1, 2)):
            changes = [self._change() for _ in range(self.rng.randint(1, most))]
            self.commits += 1
            self.store.commit([Step(tuple(changes))], at=self.commits)

    def _change(self) -> Change:
        rng = self.rng
        held = list(self.tuples)
        what = rng.random()
        if held and what < (0.4 if len(held) < 40 else 0.6):
            key = rng.choice(held)
            self.gone[key] = self.tuples.pop(key)
            return TupleGone(key[0], key[1:])
        if self.gone and what > 0.95:  # what was taken is put back
            key, row = self.gone.popitem()
            return self._put(key, row)
        if (
            held and what < 0.7 and rng.random() < 0.2
        ):  # as it is, in another's hands; its place is the same
            key = rng.choice(held)
            old = self.tuples[key]
            return self._put(key, Row(old.fields, *key[1:], f"h{rng.random()}", "d"))
        self.count += 1
        space = "other" if what > 0.9 else "model"
        key = (space, rng.choice(["ann@x", "bob@x"]), self.count)
        return self._put(key, Row(self._fields(), *key[1:], "h", "d"))

    def _put(self, key: tuple[str, str, int], row: Row) -> Change:
        self.tuples[key] = row
        return TuplePut(key[0], row)

    def _fields(self) -> tuple[Any, ...]:
        return tuple([self._field() for _ in range(self.rng.randint(1, 3))])

    def _field(self) -> Any:
        rng = self.rng
        if rng.random() < 0.25:
            return rng.choice(("job", *_VALUES))
        given: dict[str, Any] = {}
        for name in rng.sample(["x", "y", "z", "p"], rng.randint(0, 2)):
            given[name] = rng.choice(_VALUES)
            if name in "zp" or rng.random() < 0.1:
                given[name] = obj("P", x=rng.choice(_VALUES))
        known = rng.choice([None, "i", "j", "k", 1, 1.0])
        return obj(rng.choice(_CLASSES), known, **given)

    def live_again(self) -> None:
        """The host ends and begins again: numbers of tuples that are gone are given again."""
        self.store.close()
        self.store = open_store(self.url)
        self.store.begin()

    def exchange(self) -> None:
        """Another store takes the place of this one, whose tuples have the same ids."""
        self.store.close()
        if self.kind == "sqlite":
            for path in self.folder.glob(f"{Path(self.url).name}*"):
                if path.is_file():
                    path.unlink()
        else:
            schema = self.url.partition("schema=")[2]
            with psycopg.connect(shared_postgres().url, autocommit=True) as session:
                session.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        self.store = open_store(self.url)
        self.store.begin()
        for at, (key, old) in enumerate(self.tuples.items()):
            fields = self._fields() if at % 2 else old.fields
            self.tuples[key] = Row(fields, *key[1:], "h", "d")
        puts = [TuplePut(key[0], row) for key, row in self.tuples.items()]
        self.store.commit([Step(tuple(puts))], at=self.commits)

    # -- what is asked -------------------------------------------------------------------------

    def asker(self, number: int) -> SpaceKeptTables:
        """One who asks; it stays for some rounds, and comes again later."""
        asker = self.askers.get(number)
        if asker is None or self.rng.random() < 0.1:
            if asker is not None:
                asker.close()
            asker = open_kept(self.place, "model", ONTOLOGY, self.said.append)
            self.askers[number] = asker
        return asker

    def facts(self) -> list[Fact]:
        """What the store must have."""
        return [
            Fact(f"{key[1]}/{key[2]}", row.fields)
            for key, row in self.tuples.items()
            if key[0] == "model"
        ]

    def check(self, kept: SpaceKeptTables, questions: int) -> None:
        """Whether the kept tables are what temporary ones would be."""
        database = SqliteDatabase()
        fresh = StoredFactTables(ONTOLOGY, database)
        fresh.add(self.facts())
        with kept.asking() as tables:
            assert tables.shapes == fresh.shapes
            assert tables.open_paths == fresh.open_paths
            assert tables.known()._replace(shapes=()) == fresh.known()._replace(shapes=())
            for name in fresh._made:
                wanted = database.ask(Statement(f'SELECT * FROM "{name}"'))
                found = tables.database.ask(Statement(f'SELECT * FROM "{name}"'))
                assert sorted(map(repr, found)) == sorted(map(repr, wanted)), name
            for text in self.rng.sample(TEMPLATES, questions):
                question = parse_template(text, ONTOLOGY, max_set=3)
                assert _told(tables.answers(question)) == _told(fresh.answers(question)), text
        database.close()


def _told(answers: Any) -> Any:
    items = [(one.kind, one.tuples, one.fields, one.why) for one in answers.items]
    return items, answers.cut, answers.problems


@contextmanager
def world(kind: str, folder: Path, seed: int) -> Iterator[World]:
    """A world in which the store's tables catch up often, and chunks are small."""
    with ExitStack() as closing:
        closing.enter_context(mock.patch.object(sql, "ROWS_MAX", 9))
        closing.enter_context(mock.patch.object(kept_changes, "CHUNK", 3))
        made = World(kind, folder, seed)
        closing.callback(made.close)
        yield made


def play(kind: str, folder: Path, seed: int, rounds: int, *, every: int = 2) -> None:
    """Write, and compare after every round; in every so many rounds, ask too."""
    with world(kind, folder, seed) as made:
        for _ in range(3):
            made.write(30)
        for at in range(rounds):
            what = made.rng.random()
            if at == rounds // 2:
                made.exchange()
            elif what < 0.1:
                made.live_again()
            elif what < 0.9:
                made.write(30 if what < 0.2 else 4)
            made.check(made.asker(at % 2), 0 if at % every else 2)
        assert made.said == []


def main() -> int:
    """Play many worlds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES), help="names, with commas")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in chosen.engines.split(","):
            for seed in range(chosen.seed, chosen.seed + chosen.seeds):
                play(kind, Path(folder), seed, chosen.rounds)
                print(f"{kind} seed {seed}: {chosen.rounds} rounds are the same", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
