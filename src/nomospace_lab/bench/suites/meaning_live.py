"""The live rows of `nomospace bench meaning`: reads by meaning, and waiting for tuples together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

from nomospace.errors import Bug
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms import ANY, a, obj
from nomospace.terms.templates import Template
from nomospace_lab.bench import BenchRow, BenchRun
from nomospace_lab.bench.measure import FRESH_BATCH, Sample, each_fresh, stopwatch
from nomospace_lab.bench.report import at_most, times_floor

if TYPE_CHECKING:
    from nomospace.space import Record, Space

PER_US = 1e3
CLASSES = 1_000
BRANCHES = 3
"""Children of each class: the tree is seven levels deep."""
WAITING = 1_000


def live(run: BenchRun, many: int) -> Iterator[BenchRow]:
    """What a space that speaks an ontology costs."""
    run.say("reads by meaning in a live space")
    yield _read(run, many)
    run.say("waiting for tuples together")
    yield from _waking(run)


def _tree() -> Ontology:
    below = [
        OntologyClass(f"C{n}", parents=(f"C{(n - 1) // BRANCHES}",)) for n in range(1, CLASSES)
    ]
    return Ontology("tree", [OntologyClass("C0"), *below])


class _Filled:
    """A space, and records that come to it."""

    def __init__(self, ontology: Ontology) -> None:
        from nomospace.space import Space

        self.space: Space = Space("sales", ontology)
        self.count = 0

    def record(self, *fields: Any) -> Record:
        """The next tuple of one agent."""
        from nomospace.space import Record

        self.count += 1
        return Record(fields, "ann@ward", self.count, "ann@ward", "ann@ward")


def _read(run: BenchRun, many: int) -> BenchRow:
    rng = Random(1)
    plain, meant = _Filled(Ontology("plain")), _Filled(_tree())
    for n in range(many):
        plain.space.put(plain.record("sale", f"C{n % CLASSES}", n), now=0)
        car = obj(f"C{rng.randrange(CLASSES)}", f"o{n}", price=n)
        meant.space.put(meant.record("sale", car, n), now=0)
    exact = Template.of(("sale", "C5", ANY))
    inner = Template.of(("sale", a("C5")))  # a third of a third of all classes are under it
    if plain.space.find(exact) is None or meant.space.find(inner) is None:
        raise Bug(story=("a read of `bench meaning` found nothing",))
    best = run.interleave(
        {
            "floor": stopwatch("find(template)", {"find": plain.space.find, "template": exact}),
            "ours": stopwatch("find(template)", {"find": meant.space.find, "template": inner}),
        }
    )
    return BenchRow(
        what=f"a read by meaning among {many:,} tuples, {CLASSES:,} classes",
        unit="µs",
        ours=best["ours"] / PER_US,
        floor=best["floor"] / PER_US,
        goal=times_floor(1.5),
        how="the class asked for has 121 others under it; the floor is an exact read among as many",
    )


def _waking(run: BenchRun) -> Iterator[BenchRow]:
    from nomospace.space import TAKE, SetQuestion

    cars = Ontology("cars", [OntologyClass(name) for name in ("Car", "Insurance", "Finance")])
    filled = _Filled(cars)
    space = filled.space
    ready: deque[int] = deque()  # cars that somebody waits for, and of which one paper is missing

    def fill() -> None:
        """Have a thousand wait, whatever a batch of writes takes away."""
        while len(ready) < WAITING + FRESH_BATCH:
            car = filled.count + 1
            ready.append(car)
            space.put(filled.record(obj("Car", car), obj("Insurance", car)), now=0)
            template = Template.of((obj("Car", car), a("Insurance"), a("Finance")))
            space.sets.gather(
                SetQuestion(template), now=0
            )  # as a host does, which looks before it waits
            space.wait(car, template, TAKE, ask=SetQuestion(template))

    def last_paper() -> Record:
        if len(ready) <= WAITING:
            fill()
        car = ready.popleft()
        return filled.record(obj("Car", car), obj("Finance", car))

    def nobodys_paper() -> Record:
        return filled.record(obj("Car", -filled.count), obj("Finance", -filled.count))

    def wake(record: Record) -> None:
        if len(space.put(record, now=0)) != 1:
            raise Bug(story=("a write of `bench meaning` did not wake one waiter",))

    samples: dict[str, Sample] = {
        "wakes": each_fresh(last_paper, wake),
        "does not": each_fresh(nobodys_paper, lambda record: space.put(record, now=0)),
    }
    best = run.interleave(samples)
    for which, what in (("wakes", "that completes one"), ("does not", "that completes none")):
        yield BenchRow(
            what=f"a write {what} of {WAITING:,} waiting correlations",
            unit="µs",
            ours=best[which] / PER_US,
            goal=at_most(100, "µs"),
            how="all wait for the same classes, with different keys",
        )
