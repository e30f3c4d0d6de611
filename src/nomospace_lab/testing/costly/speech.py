"""Ontologies that take as long as can be on the loop of a host, for their characters.

An ontology is read by a worker, which has limits of its own, and again in a thread. What stays on
the loop is measured here: to see whether a text was read, to admit it, and the first tuple and the
first template that name its classes. A unit is a character of its text, or a class that a template
names.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Final, NamedTuple

from nomospace.calls.requests import OntologyText
from nomospace.errors import NomospaceError
from nomospace.host.speaking import TOLD_BYTES_MAX, is_told, read_told
from nomospace.meaning.canon import read, written
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.space import Space
from nomospace.space.records import Record
from nomospace.terms import a, obj
from nomospace.terms.templates import WIDTH_MAX, Template
from nomospace_lab.testing.costly import CostlyCase, Spent, case
from nomospace_lab.testing.costly.matching import numbers, sliced

FORMS: Final = ("chain", "star", "grid", "comb", "tree")
HOME: Final = "ann@x"
CLASS_UNITS: Final = 256
"""What it costs to find out what a class accepts that a template names."""
TUPLE_UNITS: Final = 512
"""What the first tuple costs that names a class: what is above that is looked through."""
UNIT_CHARACTERS: Final = 16
"""Characters of a text that cost as much as a step."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """An ontology by its form, and what is said in it."""

    form: str
    classes: int
    trunk: int
    """How many classes stand one above the other before the form begins."""
    synonyms: int
    properties: int
    asked: int
    """How many classes one template names."""
    tuples: int

    def ontology(self) -> Ontology:
        """The ontology."""
        made: list[OntologyClass] = []
        more = {f"p{number}": "number" for number in range(self.properties)}
        for at in range(self.trunk + self.classes):
            synonyms = tuple([f"S{at}_{number}" for number in range(self.synonyms)])
            above: tuple[str, ...] = (f"C{at - 1}",) if at else ()
            if at >= max(1, self.trunk):
                rest = at - self.trunk
                above = {
                    "chain": above,
                    "star": (f"C{max(0, self.trunk - 1)}",),
                    "grid": tuple([f"C{max(0, at - n - 1)}" for n in range(1 + at % 4)]),
                    "comb": (f"C{at - 1 - at % 2}",),
                    "tree": (f"C{self.trunk + (rest - 1) // 2 if rest else max(0, at - 1)}",),
                }[self.form]
                above = tuple(dict.fromkeys(above))
            made.append(OntologyClass(f"C{at}", synonyms, above, more))
        return Ontology("o", made)


class SoundOntology(NamedTuple):
    """An ontology that a worker has found sound."""

    text: OntologyText
    spoken: Spoken


def _ready(spoken: Spoken) -> SoundOntology:
    made = spoken.ontology()
    text = OntologyText(made.hash, "o", written(made))
    if len(text.text) <= TOLD_BYTES_MAX:
        # To close classes is part of what is measured, so the one that is kept must be fresh.
        from nomospace.meaning import canon

        canon._kept.clear()
        with suppress(NomospaceError):
            read_told(text)
            return SoundOntology(text, spoken)
        canon._kept.clear()
    return SoundOntology(text, spoken)


def _speak(told: SoundOntology) -> Spent:
    text, spoken = told
    price = len(text.text) // UNIT_CHARACTERS + CLASS_UNITS * spoken.asked
    longest, began = 0, time.thread_time_ns()
    try:
        if not is_told(text):
            return Spent(price)
        space = Space("s", read(text.text, text.hash, text.name))
    except NomospaceError:
        return Spent(price)
    longest = max(longest, time.thread_time_ns() - began)
    for at in range(spoken.tuples):
        began = time.thread_time_ns()
        last = f"C{max(0, spoken.trunk + spoken.classes - 1 - at)}"
        space.put(Record((obj(last, f"x{at}"),), HOME, at + 1, HOME, HOME), now=1)
        longest = max(longest, time.thread_time_ns() - began)
        price += TUPLE_UNITS
    template = Template.of([a(f"C{at}") for at in range(max(1, spoken.asked))])
    spent = sliced(
        lambda slice: space.find(template, now=1, slice=slice),
        lambda search, slice: space.go_on(search, now=1, slice=slice),
    )
    return Spent(price + spent.price, max(longest, spent.slice_ns))


def _make(rng: Random) -> Spoken:
    return Spoken(
        rng.choice(FORMS),
        rng.choice((1, 30, 1_000)),
        rng.choice((1, 10, 60)),
        rng.choice((0, 0, 2)),
        rng.choice((0, 0, 3)),
        rng.choice((1, 5, WIDTH_MAX)),
        rng.choice((1, 5)),
    )


def _mutate(rng: Random, one: Spoken) -> Spoken:
    if rng.random() < 0.25:
        return replace(one, form=rng.choice(FORMS))
    most = {
        "classes": 30_000,
        "trunk": 600,
        "synonyms": 20,
        "properties": 20,
        "asked": WIDTH_MAX,
        "tuples": 50,
    }
    return numbers(rng, one, most, list(most))


def _show(one: Spoken) -> str:
    return ", ".join([f"{each.name} {getattr(one, each.name)!r}" for each in fields(one)])


case(
    CostlyCase(
        "ontology",
        _make,
        _mutate,
        _speak,
        _show,
        _ready,
        unit=f"{UNIT_CHARACTERS} characters, or a step of a search",
        unit_ns=250,
        cold=True,
    )
)
