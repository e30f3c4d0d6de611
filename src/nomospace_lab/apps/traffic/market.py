"""A market of cars: tuples to match by meaning, by the million, from a seed.

A dealer writes two tuples for each car, some time apart: the car with its insurance, and the car
with its finance. So who asks for all three finds two tuples that belong together by the car. One
car in five is a sports car, which is a car by the ontology alone; now and then a tuple is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from nomospace.terms import Term
from nomospace.terms.objects import Object
from nomospace.terms.values import ObjectTerm
from nomospace_lab.apps.traffic.making import BEGINNING_US

SPACE: Final = "cars"
ONTOLOGY: Final = """\
name: market
classes:
  Car: {properties: {price: Price, maker: string}}
  SportsCar: {parents: Car}
  Price: {properties: {amount: number}}
  CarInsurance: {properties: {premium: number}}
  CarFinance: {properties: {rate: number}}
"""
"""What the classes of the market mean, as a file has it."""
MAKERS: Final = ("Fiat", "Kia", "Saab", "Seat", "Tata", "Volvo")
PRICES: Final = range(1_000, 10_000)
DEALERS: Final = 50
PAUSE_US: Final = 20_000
"""Cars come about as often."""
BETWEEN: Final = 100
"""How many cars come between the two tuples of one."""
TAKEN: Final = 0.05
"""The share of cars that find a buyer, who takes the tuple with the insurance in the end."""
WAITING: Final = 10
"""How many buyers make up their minds at a time."""


class Traded(NamedTuple):
    """Something that befell a tuple, which is the `number`-th of its writer."""

    at: int
    writer: str
    number: int
    op: str
    fields: tuple[Term, ...]


def make_market(tuples: int, *, seed: int, host: str, site: int = 0) -> Iterator[Traded]:
    """So many tuples of a site, as they are written; and some as they are taken.

    >>> told = list(make_market(900, seed=1, host="ward-1"))
    >>> [sum(one.op == op for one in told) for op in ("written", "taken")]
    [900, 14]
    """
    rng = Random(f"market {seed}/{site}")
    counts = [0] * DEALERS
    insured: deque[tuple[int, int, ObjectTerm]] = deque()
    bought: deque[Traded] = deque()
    now, written, number = BEGINNING_US, 0, 0

    def write(dealer: int, *fields: Term) -> Traded:
        counts[dealer] += 1
        return Traded(now, f"d{site:03}-{dealer}@{host}", counts[dealer], "written", fields)

    while written < tuples:
        now += rng.randrange(1, 2 * PAUSE_US)
        car_id = f"{site:03}-{number:08}"
        price = Object("Price", None, {"amount": rng.choice(PRICES)}).term
        kind = "SportsCar" if rng.random() < 0.2 else "Car"
        car = Object(kind, f"c{car_id}", {"price": price, "maker": rng.choice(MAKERS)}).term
        insurance = Object("CarInsurance", f"i{car_id}", {"premium": rng.randrange(700)}).term
        dealer = rng.randrange(DEALERS)
        first = write(dealer, car, insurance)
        yield first
        insured.append((number, dealer, car))
        if rng.random() < TAKEN:
            bought.append(first)
        if len(bought) > WAITING:
            yield bought.popleft()._replace(at=now, op="taken")
        written, number = written + 1, number + 1
        if written < tuples and len(insured) > BETWEEN:
            earlier, dealer, car = insured.popleft()
            rate = {"rate": rng.randrange(1, 13)}
            yield write(dealer, car, Object("CarFinance", f"f{site:03}-{earlier:08}", rate).term)
            written += 1
