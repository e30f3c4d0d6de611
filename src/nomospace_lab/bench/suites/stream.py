"""`nomospace bench stream`: what a batch of a stream costs, however many tuples it keeps.

The files of the state are written as in a job, and answers are looked for in memory; Spark, which
cuts the journal into batches, and the host that answers are written to are left out. A car has two
papers, the second of which comes four hundred tuples after the first: so a batch of a hundred has
fifty cars that are whole now, and those of them that are cheap enough answer. Beside it stands a
search among all tuples that are kept, of which those answers count that hold a new one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

from nomospace.errors import Bug
from nomospace.wire.values import unpack_fields
from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.report import information, times_floor

if TYPE_CHECKING:
    import pyarrow as pa

    from nomospace.meaning.ontology import Ontology
    from nomospace.meaning.question import Question
    from nomospace.pipeline.stream.state import Memory, StateStep

STATES: Final = (1_000, 10_000, 100_000)
STATES_QUICK: Final = (1_000, 5_000)
BATCH: Final = 100
BATCHES, BATCHES_QUICK = 100, 10
WHOLE: Final = 5
"""How often all tuples are searched."""
LATER: Final = 200
"""So many cars after it comes a car's second paper."""
PRICES: Final = 20
TEMPLATE: Final = "(Car where price < 9, Tax, Loan)"


@bench("stream", "a batch of a stream by how many tuples it keeps, beside a search among them all")
def stream(run: BenchRun) -> Iterator[BenchRow]:
    """A batch, and the first after a start, over states of several sizes, in turns."""
    sizes = STATES_QUICK if run.quick else STATES
    with tempfile.TemporaryDirectory(prefix="nomospace-bench-") as folder:
        run.say(f"streams that keep {', '.join(f'{size:,}' for size in sizes)} tuples")
        streams = [_Stream(Path(folder) / str(size), size) for size in sizes]
        for number in range(1, 2 + (BATCHES_QUICK if run.quick else BATCHES)):
            for one in streams:
                one.do(number)
    floor = streams[0].batch
    for one in streams:
        smallest = one is streams[0]
        yield BenchRow(
            what=f"a batch of {BATCH} tuples, {one.size:,} kept",
            unit="ms",
            ours=one.batch,
            floor=None if smallest else floor,
            peers={"search of all": median(one.whole)},
            goal=information() if smallest or run.quick else times_floor(3),
            how=f"the median; the slowest took {max(one.took[1:]):,.0f} ms; the floor is a batch "
            "of the smallest state: it costs what is new",
        )
        yield BenchRow(
            what=f"the first batch after a start, {one.size:,} kept",
            unit="ms",
            ours=one.took[0],
            goal=information(),
            how="what the checkpoint names is read, once",
        )


class _Stream:
    """A stream that has seen so many tuples, and what its batches take, in milliseconds."""

    def __init__(self, folder: Path, size: int) -> None:
        from nomospace.meaning.question import parse_template
        from nomospace.pipeline.stream.answering import FollowedQuestion
        from nomospace.pipeline.stream.state import Memory

        self.size = size
        self.took: list[float] = []
        self.whole: list[float] = []
        self._ontology = _cars()
        self._question = parse_template(TEMPLATE, self._ontology, limit=10**9)
        self._memory = Memory(folder)
        self._memory.after(0, _rows(0, size))
        self._held = FollowedQuestion(self._memory, self._ontology, self._question)

    @property
    def batch(self) -> float:
        """What a batch takes after the first."""
        return median(self.took[1:])

    def do(self, number: int) -> None:
        """Do a batch; the first few are searched for among all tuples, too."""
        rows = _rows(self.size + (number - 1) * BATCH, BATCH)
        began = perf_counter()
        step = self._memory.after(number, rows)
        wrote = perf_counter() - began
        found = len(self._held.answers(step).items)
        self.took.append(1e3 * (perf_counter() - began))
        if number > WHOLE:
            return
        began = perf_counter()
        count = _searched(self._memory, step, self._ontology, self._question)
        self.whole.append(1e3 * (perf_counter() - began + wrote))
        if count != found or not count:
            raise Bug(story=(f"`bench stream` found {found} answers, not {count}",))


def _searched(memory: Memory, step: StateStep, ontology: Ontology, question: Question) -> int:
    """How many answers hold a new tuple, of all that there are."""
    from nomospace.meaning.facts import Fact, Facts
    from nomospace.meaning.memory import Matcher
    from nomospace.pipeline.stream.answering import name_of
    from nomospace.pipeline.stream.state import present

    there = present(memory.table(step.after.chunks), ever=False)
    facts = [Fact(name_of(one), unpack_fields(body)) for one, body in there.items()]
    found = Matcher(question, Facts.of(facts, ontology)).all()
    new = dict.fromkeys(map(name_of, step.new))
    return sum(any(known in new for known in one.tuples) for one in found.items)


def _cars() -> Ontology:
    from nomospace.meaning.ontology import Ontology, OntologyClass

    car = OntologyClass("Car", properties={"price": "number"})
    return Ontology("cars", [car, OntologyClass("Tax"), OntologyClass("Loan")])


def _rows(first: int, count: int) -> pa.Table:
    """What the journal tells of so many tuples from one on."""
    import pyarrow as pa

    from nomospace.pipeline.stream.state import ROWS
    from nomospace.terms import obj
    from nomospace.wire.values import pack_term

    told = []
    for number in range(first, first + count):
        car, late = divmod(number, 2)
        car, kind = (car - LATER, "Loan") if late else (car, "Tax")
        fields = (obj("Car", car, price=car % PRICES), obj(kind, number))
        told.append(
            {
                "space": "cars",
                "since": number,
                "host": "bench",
                "writer": "ann@bench",
                "count": number,
                "op": "written",
                "fields": pack_term(fields),
            }
        )
    return pa.Table.from_pylist(told, schema=ROWS)
