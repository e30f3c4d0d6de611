"""The row of `nomospace bench meaning` about tables that are kept beside a store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.report import information

if TYPE_CHECKING:
    from nomospace.meaning.facts import Facts

PER_MS: Final = 1e6
PER_S: Final = 1e9
FILL_ROWS: Final = 2_000


def kept(
    run: BenchRun, facts: Facts, template: str, timed: Callable[[Callable[[], object]], Sample]
) -> Iterator[BenchRow]:
    """The next question, asked through a connection of its own after a commit of the host."""
    with tempfile.TemporaryDirectory(prefix="nomospace-bench-") as folder:
        run.say(f"{len(facts):,} tuples into a store, and into tables that are kept")
        ward = _Ward(Path(folder) / "ward.db", facts, template)
        first, answers = _took(ward.ask)
        temporary, others = _took(ward.ask_temporary)
        if answers != others:
            told = f"`bench meaning` found {answers} answers in kept tables, else {others}"
            raise Bug(story=(told,))
        best = run.interleave({"next": timed(ward.ask_after_a_commit), "same": timed(ward.ask)})
        ward.store.close()
    yield BenchRow(
        what=f"the next question of a store's {len(facts):,} tuples by SQLite, tables kept",
        unit="ms",
        ours=best["next"] / PER_MS,
        floor=best["same"] / PER_MS,
        goal=information(),
        how=(
            "asked after a commit of one tuple; the floor is without one. The first question, "
            f"which fills the tables, took {first / PER_S:.1f} s; temporary tables, filled from "
            f"memory, {temporary / PER_S:.1f} s"
        ),
    )


class _Ward:
    """A store with a host that commits, and questions about what it has."""

    def __init__(self, path: Path, facts: Facts, template: str) -> None:
        from nomospace.meaning.question import parse_template
        from nomospace.store.sqlite import SqliteStore

        self.facts = facts
        self.question = parse_template(template, facts.ontology)
        self.store = SqliteStore(path)
        self.store.begin()
        self._last = 0
        rows = iter([row.fields for row in facts.rows.values()])
        while chunk := list(islice(rows, FILL_ROWS)):
            self._commit(chunk)

    def _commit(self, listed: Sequence[tuple[Any, ...]]) -> None:
        from nomospace.host.changes import TuplePut
        from nomospace.protocols.spaces import Row as Tuple
        from nomospace.store.interface import Step

        puts: list[TuplePut] = []
        for fields in listed:
            self._last += 1
            row = Tuple(fields, "ann@ward", self._last, "ann@ward", "ann@ward")
            puts.append(TuplePut("cars", row))
        self.store.commit([Step(tuple(puts))], at=self._last)

    def ask(self) -> int:
        """A question of the kept tables, as another process would ask it."""
        from nomospace.store.kept import kept_place, open_kept

        place = kept_place(self.store)
        assert place is not None
        said: list[str] = []
        opened = open_kept(place, "cars", self.facts.ontology, said.append)
        try:
            assert not said, said
            return len(opened.tables.answers(self.question).items)
        finally:
            opened.close()

    def ask_after_a_commit(self) -> int:
        """The same after the host has written something else."""
        self._commit([("job", self._last)])
        return self.ask()

    def ask_temporary(self) -> int:
        """The same of temporary tables."""
        from nomospace.meaning.facts import Fact
        from nomospace.store.matching import StoredFactTables
        from nomospace.store.matching_sqlite import SqliteDatabase

        base = SqliteDatabase()
        tables = StoredFactTables(self.facts.ontology, base)
        tables.add(Fact(row.id, row.fields) for row in self.facts.rows.values())
        found = len(tables.answers(self.question).items)
        base.close()
        return found


def _took(call: Callable[[], int]) -> tuple[float, int]:
    began = perf_counter_ns()
    found = call()
    return perf_counter_ns() - began, found
