"""The papers of cars: what clerks write, and what dealers ask for.

A car may be sold with its insurance and its finance. Some cars have all of it in one tuple, some in
two, some in three, where a deal stands between the car and its insurance. No two cars share an
object, so there is just one set of tuples that answers for each.
"""

from __future__ import annotations

from random import Random
from typing import Final

from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms import Term, a, obj

SPACE: Final = "papers"
WANTED: Final = (a("Car"), a("Insurance"), a("Finance"))
CARS: Final = Ontology(
    "cars",
    [
        OntologyClass("Car", ("Automobile",)),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Van", parents=("Car",)),
        OntologyClass("Insurance"),
        OntologyClass("Finance"),
        OntologyClass("Deal"),
    ],
)


def papers_of(car: str, rng: Random) -> tuple[tuple[Term, ...], ...]:
    """The tuples of one car, in the order in which they are written.

    >>> len(papers_of("yard-1", Random(1))) in (1, 2, 3)
    True
    """
    this = obj(rng.choice(("Car", "Automobile", "SportsCar", "Van")), car)
    insurance, finance, deal = (obj(name, car) for name in ("Insurance", "Finance", "Deal"))
    roll = rng.random()
    if roll < 0.15:
        return ((finance, "whole", this, insurance),)
    if roll < 0.6:
        tuples = [(this, insurance), (this, finance)]
    else:
        tuples = [(this, deal), (deal, insurance), (finance, this)]
    rng.shuffle(tuples)
    return tuple(tuples)
