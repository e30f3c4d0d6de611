"""Hosts whose agents share a space of cars, for takes of several tuples together."""

from __future__ import annotations

from typing import Any

from nomospace.calls.requests import (
    Adopt,
    OntologyText,
    Open,
    Seek,
    Sets,
    Share,
)
from nomospace.calls.ways import Way
from nomospace.law import CompiledLaw, load
from nomospace.meaning.canon import written
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms import ANY, Term, a, obj
from nomospace.terms.templates import Template
from tests.paper.hosts import Hosts

ANN, BOB, CAT, EVE = "ann@a", "bob@b", "cat@c", "eve@a"
CARS = Ontology(
    "cars",
    [
        OntologyClass("Car"),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Insurance"),
        OntologyClass("Finance"),
    ],
)
ECHO = load("law(echo). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")
WANTED = (a("Car"), a("Insurance"), a("Finance"))


def insured(car: str) -> tuple[Term, ...]:
    return obj("SportsCar", car), obj("Insurance", f"i-{car}")


def financed(car: str) -> tuple[Term, ...]:
    return obj("SportsCar", car), obj("Finance", f"f-{car}")


def speaker(
    net: Hosts, agent: str, *, durable: bool = True, law: CompiledLaw | None = None
) -> None:
    net.agent(agent)
    if law is not None:
        net.do(agent, Adopt(law))
    net.do(agent, Open("jobs", law, durable, OntologyText(CARS.hash, CARS.name, written(CARS))))
    net.do(agent, Share(("jobs",)))


def begin(net: Hosts, agent: str, how: str = "take", at: str = "", **sets: Any) -> int:
    return net.call(agent, Seek("jobs", Way(how), Template.of(WANTED), at, sets=Sets(**sets)))


def left(net: Hosts, *agents: str) -> list[tuple[Term, ...]]:
    """All tuples of two fields that these agents hold, as they see it themselves."""
    return [fields for agent in agents for fields in net.held(agent, ANY, ANY)]


def speakers(law: CompiledLaw | None) -> Hosts:
    net = Hosts("abc", laws=[law] if law else [])
    for agent in (ANN, BOB, CAT):
        speaker(net, agent, law=law)
    net.settle()
    return net
