"""`nomospace bench meaning`: what it costs to find tuples by what they mean.

The question is one of three classes: a car below a price, its insurance and its finance, where
each tuple holds a car and one of the others, so that two tuples answer together by the car they
share. One car in five is a sports car, which is a car by the ontology alone.

Oxigraph and rdflib are asked the same in SPARQL over the same facts as triples. The floor is SQL
written by hand for just this question, over tables made for it, in DuckDB; its rows are fetched
into Python.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from nomospace.errors import Bug
from nomospace_lab.bench import BenchRow, BenchRun, bench
from nomospace_lab.bench.measure import Sample
from nomospace_lab.bench.peers.entrants import Entrants, entrants
from nomospace_lab.bench.peers.install import PeerPackage
from nomospace_lab.bench.peers.meanings import OXIGRAPH, RDFLIB
from nomospace_lab.bench.report import Goal, ahead_of_peers, at_most, times_floor
from nomospace_lab.bench.suites.meaning_databases import databases
from nomospace_lab.bench.suites.meaning_live import live

if TYPE_CHECKING:
    from nomospace.meaning.facts import Facts
    from nomospace.meaning.memory import Matcher
    from nomospace.meaning.ontology import Ontology

PER_MS = 1e6
MANY, MANY_QUICK = 300_000, 30_000
FEW = 100
"""For rdflib, whose joins take the square of the facts: a thousand are beyond its minute."""
PRICES, BELOW = 9_000, 6_000
"""Prices go round; two cars in three are below the one that is asked for."""
TEMPLATE = f"(Car where price.amount < {BELOW}, CarInsurance, CarFinance)"
ONE = "(Car = c17, CarInsurance, CarFinance)"
SPARQL = f"""
PREFIX : <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT ?a ?b ?car ?insurance ?finance WHERE {{
  ?class rdfs:subClassOf* :Car .
  ?car a ?class .
  ?car :price ?price .
  ?price :amount ?amount .
  ?a :holds ?car .
  ?a :holds ?insurance .
  ?insurance a :CarInsurance .
  ?b :holds ?car .
  ?b :holds ?finance .
  ?finance a :CarFinance .
  FILTER(?amount < {BELOW})
}}"""


@bench(
    "meaning", "tuples that answer together by an object they share: any, all, and what it costs"
)
def meaning(run: BenchRun) -> Iterator[BenchRow]:
    """Rows over files of facts, then those of a live space."""
    many = MANY_QUICK if run.quick else MANY
    yield from _correlated(run, many, OXIGRAPH)
    yield from _correlated(run, FEW, OXIGRAPH, RDFLIB)
    run.say("tuples of classes that are not asked for")
    yield from _strangers(run, many)
    yield from databases(run, matcher(many), by_hand(many), _timed)
    yield from live(run, many)


def at_least_times_faster(times: float) -> Goal:
    """Every peer that could be measured takes so many times as long.

    >>> at_least_times_faster(3).text
    'at least 3 times faster than every peer'
    """

    def holds(row: BenchRow) -> bool:
        measured = [value for value in row.peers.values() if value is not None]
        return row.ours is not None and all(value >= times * row.ours for value in measured)

    return Goal(f"at least {times:g} times faster than every peer", holds)


# -- the facts -------------------------------------------------------------------------------


def cars(many: int) -> Iterator[tuple[int, str, int]]:
    """So many tuples' worth of cars: a number, a class and a price."""
    for number in range(many // 2):
        yield number, "SportsCar" if number % 5 == 0 else "Car", number * 7_919 % PRICES


def ontology() -> Ontology:
    """What the classes mean."""
    from nomospace.meaning.ontology import Ontology, OntologyClass

    names = ("Price", "CarInsurance", "CarFinance", "Boat", "Mooring")
    return Ontology(
        "cars",
        [
            OntologyClass("Car"),
            OntologyClass("SportsCar", parents=("Car",)),
            *[OntologyClass(name) for name in names],
        ],
    )


def facts(many: int, *, strangers: int = 0) -> Facts:
    """The tuples in memory, with so many besides that no question here is about."""
    from nomospace.meaning.facts import Facts
    from nomospace.terms.objects import Object

    made = Facts(ontology())
    for number, class_name, amount in cars(many):
        price = Object("Price", None, {"amount": amount}).term
        car = Object(class_name, f"c{number}", {"price": price}).term
        insurance = Object("CarInsurance", f"i{number}").term
        made.add(f"t{2 * number:07}", (car, insurance))
        made.add(f"t{2 * number + 1:07}", (car, Object("CarFinance", f"f{number}").term))
    for number in range(strangers):
        boat = Object("Boat", f"b{number // 2}").term
        made.add(f"u{number:07}", (boat, Object("Mooring", f"m{number}").term))
    return made


def write_triples(many: int, path: Path) -> None:
    """The same facts as triples."""
    base, kind = "http://example.org/", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    below = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    whole = "<http://www.w3.org/2001/XMLSchema#integer>"
    with path.open("w", encoding="utf-8") as out:
        out.write(f"<{base}SportsCar> {below} <{base}Car> .\n")
        for n, class_name, amount in cars(many):
            out.write(
                f"<{base}c{n}> {kind} <{base}{class_name}> .\n"
                f"<{base}c{n}> <{base}price> <{base}p{n}> .\n"
                f'<{base}p{n}> <{base}amount> "{amount}"^^{whole} .\n'
                f"<{base}i{n}> {kind} <{base}CarInsurance> .\n"
                f"<{base}f{n}> {kind} <{base}CarFinance> .\n"
                f"<{base}t{2 * n}> <{base}holds> <{base}c{n}> .\n"
                f"<{base}t{2 * n}> <{base}holds> <{base}i{n}> .\n"
                f"<{base}t{2 * n + 1}> <{base}holds> <{base}c{n}> .\n"
                f"<{base}t{2 * n + 1}> <{base}holds> <{base}f{n}> .\n"
            )


def by_hand(many: int) -> Callable[[], list[Any]]:
    """SQL for this one question, over tables made for it."""
    import duckdb

    base = duckdb.connect()
    base.execute("CREATE TABLE insured (t TEXT, car TEXT, class TEXT, amount BIGINT, i TEXT)")
    base.execute("CREATE TABLE financed (t TEXT, car TEXT, f TEXT)")
    rows = list(cars(many))
    for at in range(0, len(rows), 50_000):
        some = rows[at : at + 50_000]
        numbers, classes, amounts = ([row[n] for row in some] for n in range(3))
        base.execute(
            "INSERT INTO insured SELECT format('t{:07d}', 2 * n), 'c' || n, c, a, 'i' || n FROM "
            "(SELECT unnest($1::BIGINT[]) n, unnest($2::TEXT[]) c, unnest($3::BIGINT[]) a)",
            [numbers, classes, amounts],
        )
    base.execute(
        "INSERT INTO financed SELECT format('t{:07d}', 2 * n + 1), 'c' || n, 'f' || n "
        f"FROM range({many // 2}) numbers(n)"
    )
    query = (
        "SELECT a.t, b.t, a.car, a.i, b.f FROM insured a JOIN financed b ON a.car = b.car "
        f"WHERE a.amount < {BELOW} AND a.class IN ('Car', 'SportsCar') ORDER BY a.t, b.t"
    )
    return lambda: base.execute(query).fetchall()


def matcher(many: int, *, strangers: int = 0) -> Matcher:
    """The question, asked of the tuples in memory."""
    from nomospace.meaning.memory import Matcher
    from nomospace.meaning.question import parse_template

    made = facts(many, strangers=strangers)
    return Matcher(parse_template(TEMPLATE, made.ontology, limit=10**9), made)


# -- rows ------------------------------------------------------------------------------------


def _correlated(run: BenchRun, many: int, *peers: PeerPackage) -> Iterator[BenchRow]:
    run.say(f"loading {many:,} tuples")
    ours, floor = matcher(many), by_hand(many)
    answers = len(ours.all().items)
    if answers != len(floor()) or answers != sum(amount < BELOW for _, _, amount in cars(many)):
        raise Bug(story=(f"`bench meaning` found {answers:,} answers, and SQL others",))
    figures: dict[str, dict[str, float]] = {}
    fields: dict[str, Entrants] = {}
    with tempfile.TemporaryDirectory(prefix="nomospace-bench-") as folder:
        triples = Path(folder) / "facts.nt"
        write_triples(many, triples)
        for what, query, rows in (
            ("any", f"{SPARQL} LIMIT 1", 1),
            ("all", SPARQL, answers),
        ):
            run.say(f"{what} of {answers:,} answers")
            case: object = (str(triples), what, query, str(rows), "", [])
            with entrants(_among(run, peers), peers, [(case, True)]) as field:
                call = ours.first if what == "any" else ours.all
                contestants: dict[str, Sample] = {"ours": _timed(call), **field.samples}
                if what == "all":
                    contestants["floor"] = _timed(floor)
                figures[what] = run.interleave(contestants)
                fields[what] = field
    scale = many == MANY or (run.quick and many == MANY_QUICK)
    yield BenchRow(
        what=f"any: one of {answers:,} answers of two tuples, {many:,} tuples",
        unit="ms",
        ours=figures["any"]["ours"] / PER_MS,
        peers=fields["any"].figures(figures["any"], per_ns=PER_MS),
        why_null=fields["any"].why_null,
        goal=at_most(1, "ms") & ahead_of_peers(),
        how="the least by ids, tuples only; peers give any one (LIMIT 1)",
    )
    yield BenchRow(
        what=f"all {answers:,} answers of two tuples, {many:,} tuples",
        unit="ms",
        ours=figures["all"]["ours"] / PER_MS,
        floor=figures["all"]["floor"] / PER_MS,
        peers=fields["all"].figures(figures["all"], per_ns=PER_MS),
        why_null=fields["all"].why_null,
        goal=at_least_times_faster(3) & times_floor(4) if scale else ahead_of_peers(),
        how="sorted; ours gives tuples, fields and reasons are made when an answer is asked for "
        "them; the floor is hand-written SQL with the fetch of its rows",
    )


def _among(run: BenchRun, peers: tuple[PeerPackage, ...]) -> BenchRun:
    """The run as it asks for those of its peers that are in one contest."""
    names = [peer.name for peer in run.wanted((OXIGRAPH, RDFLIB))]
    return replace(run, peers=tuple([peer.name for peer in peers if peer.name in names]))


def _strangers(run: BenchRun, many: int) -> Iterator[BenchRow]:
    few = many // 10
    alone, among = matcher(few), matcher(few, strangers=many)
    for what, calls in (
        ("any", (alone.first, among.first)),
        ("all", (alone.all, among.all)),
    ):
        best = run.interleave({"floor": _timed(calls[0]), "ours": _timed(calls[1])})
        yield BenchRow(
            what=f"{what} among {few:,} tuples and {many:,} of classes that are not asked for",
            unit="ms",
            ours=best["ours"] / PER_MS,
            floor=best["floor"] / PER_MS,
            goal=times_floor(1.5),
            how="the floor is our own without the others",
        )


def _timed(call: Callable[[], object]) -> Sample:
    """The best call of so many seconds, with the collector off, as `timeit` has it."""

    def sample(seconds: float) -> float:
        gc.disable()
        try:
            end = perf_counter_ns() + seconds * 1e9
            best = float("inf")
            while True:
                start = perf_counter_ns()
                kept = call()
                best = min(best, perf_counter_ns() - start)
                del kept
                if perf_counter_ns() >= end:
                    return best
        finally:
            gc.enable()

    return sample
