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

from nomospace.bench import Row, Run, bench
from nomospace.bench.report import information, times_floor
from nomospace.errors import Bug

if TYPE_CHECKING:
    import pyarrow as pa

    from nomospace.meaning.ontology import Ontology
    from nomospace.meaning.question import Question
    from nomospace.pipeline.stream.state import Memory, Step

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
def stream(run: Run) -> Iterator[Row]:
    """A batch, and the first after a start, over states of several sizes."""
    floor: float | None = None
    for size in STATES_QUICK if run.quick else STATES:
        run.say(f"batches of {BATCH} tuples among {size:,}")
        with tempfile.TemporaryDirectory(prefix="nomospace-bench-") as folder:
            first, batches, whole = _measured(Path(folder), size, quick=run.quick)
        batch = median(batches)
        yield Row(
            what=f"a batch of {BATCH} tuples, {size:,} kept",
            unit="ms",
            ours=batch,
            floor=floor,
            peers={"search of all": median(whole)},
            goal=information() if floor is None or run.quick else times_floor(3),
            how=f"the median; the slowest, which merges files, {max(batches):,.0f} ms; the floor "
            "is a batch of the smallest state: it costs what is new",
        )
        yield Row(
            what=f"the first batch after a start, {size:,} kept",
            unit="ms",
            ours=first,
            goal=information(),
            how="what the checkpoint names is read, once",
        )
        floor = batch if floor is None else floor


def _measured(folder: Path, size: int, *, quick: bool) -> tuple[float, list[float], list[float]]:
    """Milliseconds of the first batch, of those that follow, and of some that search all."""
    from nomospace.meaning.question import parse_template
    from nomospace.pipeline.stream.held import Held
    from nomospace.pipeline.stream.state import Memory

    ontology = _cars()
    question = parse_template(TEMPLATE, ontology, limit=10**9)
    memory = Memory(folder)
    memory.after(0, _rows(0, size))
    held = Held(memory, ontology, question)
    took: list[float] = []
    whole: list[float] = []
    for number in range(1, 2 + (BATCHES_QUICK if quick else BATCHES)):
        rows = _rows(size + (number - 1) * BATCH, BATCH)
        began = perf_counter()
        step = memory.after(number, rows)
        wrote = perf_counter()
        found = held.answers(step)
        took.append(1e3 * (perf_counter() - began))
        if number <= WHOLE:
            again = perf_counter()
            count = _searched(memory, step, ontology, question)
            whole.append(1e3 * (perf_counter() - again + wrote - began))
            if count != len(found.items) or not count:
                raise Bug(story=(f"`bench stream` found {len(found.items)} answers, not {count}",))
    return took[0], took[1:], whole


def _searched(memory: Memory, step: Step, ontology: Ontology, question: Question) -> int:
    """How many answers hold a new tuple, of all that there are."""
    from nomospace.meaning.facts import Fact, Facts
    from nomospace.meaning.memory import Matcher
    from nomospace.pipeline.stream.held import name_of
    from nomospace.pipeline.stream.state import present
    from nomospace.wire.values import unpack_term

    there = present(memory.table(step.after.chunks), ever=False)
    facts = [Fact(name_of(one), unpack_term(body)) for one, body in there.items()]
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
