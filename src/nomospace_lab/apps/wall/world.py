"""Worlds of the Chinese Wall: analysts who may know one company of each class, and write of one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Final

from nomospace import laws
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, Term, t
from nomospace.terms.templates import ANY, Template
from nomospace_lab.apps.governed import (
    CALM_S,
    CHANGES_MIN,
    CRASHES_MIN,
    GOVERNED,
    GovernedWorld,
    field,
)
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.ruled import AT, sights
from nomospace_lab.sim.checkers.views import was_hard
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import RULED, Happening
from nomospace_lab.sim.requests import (
    ONCE_PER_TUPLE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    TAKE_NOWAIT,
    WEAK,
    Out,
    React,
    Seek,
    Way,
)
from nomospace_lab.sim.workloads import workload

FILES: Final = "files"
HOSTS: Final = ("library", "desk1", "desk2")
ANALYSTS: Final = ("ada@desk1", "ben@desk2", "cher@desk1", "dov@desk2", "eve@desk1")
ROAMER: Final = "dov@desk2"
CLASSES: Final = {"bank": ("alpha", "beta"), "oil": ("omega", "sigma"), "air": ("delta",)}
LAST: Final = "eve@desk1"
LAST_FACT: Final = "the last fact"
HEAL_S: Final = 40
END_S: Final = HEAL_S + CALM_S + 8
OUT: Final = "out"
REACT: Final = "react"


@cache
def law_cw() -> CompiledLaw:
    """Law CW as it is shipped."""
    return load(laws.text("cw"), "cw.law")


class Analysts:
    """Those who read and write files of companies."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self._facts = 0

    def look(self, analyst: str, how: Way, company: object, cls: Term) -> None:
        """Ask for what is known of a company, once or from now on."""
        template = Template.of((t.company(company), Compound("class", (cls,)), t.fact(ANY)))
        if how == REACT:
            self.world.call(analyst, React(FILES, template, ONCE_PER_TUPLE, WEAK))
            return
        at = "" if how == READ else self.rng.choice(("", *HOSTS))
        self.world.call(analyst, Seek(FILES, how, template, at))

    def write(self, analyst: str, company: str, cls: str, fact: str = "") -> None:
        """Add to what is known of a company; no two facts are alike."""
        self._facts += 1
        known = t.fact(fact or f"{analyst}, {self._facts}")
        self.world.call(analyst, Out(FILES, (t.company(company), Compound("class", (cls,)), known)))


def nobody_sees_two_sides(world: Sites) -> Verdict:
    """No analyst is shown files of two companies of one class."""
    name = "nobody sees two companies of one class"
    side: dict[tuple[str, Term], tuple[Term, Happening]] = {}
    cases = 0
    for sight in sights(world):
        cases += 1
        company, cls = field(sight.fields, "company"), field(sight.fields, "class")
        first, before = side.setdefault((sight.agent, cls), (company, sight.h))
        if first != company:
            return no(name, f"{sight.agent} saw {first!s} and {company!s}", before, sight.h)
    return yes(name, cases)


def _accesses(world: Sites) -> Iterator[tuple[Happening, str, Term, Term]]:
    """What rulings let through to the files: operation, class, company."""
    for h in world.history.of(RULED):
        event = h.what.event
        if event.kind == "sent" and AT not in h.who and h.what.forwards:
            operation = event.args[1]
            yield (
                h,
                operation.name,
                field(operation.args[0], "class"),
                field(operation.args[0], "company"),
            )


def the_first_access_chooses(world: Sites) -> Verdict:
    """Of each class only the company that was asked for first is ever asked for again."""
    name = "the first access in a class chooses"
    side: dict[tuple[str, Term], tuple[Term, Happening]] = {}
    cases = 0
    for h, _, cls, company in _accesses(world):
        cases += 1
        if type(company) is not str or type(cls) is not str:
            return no(name, "company and class must be named", h)
        first, before = side.setdefault((h.who, cls), (company, h))
        if first != company:
            return no(name, f"{h.who} chose {first!s} and got at {company}", before, h)
    return yes(name, cases)


def writers_know_nothing_else(world: Sites) -> Verdict:
    """Who writes of a company has had access to no other: nothing seeps through a third party."""
    name = "who writes of a company knows no other"
    known: dict[str, dict[tuple[Term, Term], Happening]] = {}
    cases = 0
    for h, how, cls, company in _accesses(world):
        mine = known.setdefault(h.who, {})
        if how == OUT:
            cases += 1
            for (other_class, other), before in mine.items():
                if (other_class, other) != (cls, company):
                    return no(name, f"{h.who} knows {other!s} and wrote of {company!s}", before, h)
        mine.setdefault((cls, company), h)
    return yes(name, cases)


def the_last_fact_is_found(world: Sites) -> Verdict:
    """Once the faults are over, what an analyst writes it can read."""
    name = "after the healing a fact is found"
    if not world.quiet or world.healed_at is None:
        return unknown(name, "the history ends before the last fact has settled")
    if any(s.agent == LAST and field(s.fields, "fact") == LAST_FACT for s in sights(world)):
        return yes(name, 1)
    return no(name, f"{LAST} found nothing", *list(world.history)[-2:])


@workload(
    "wall",
    "company files under law CW, the Chinese Wall, and analysts who forget which side they are on",
    checkers=(
        was_hard(calls=100, changes=CHANGES_MIN, crashes=CRASHES_MIN),
        nobody_sees_two_sides,
        the_first_access_chooses,
        writers_know_nothing_else,
        the_last_fact_is_found,
    ),
    everywhere=GOVERNED,
)
def build(seed: int) -> Sites:
    """Files on three hosts, analysts, a clerk for each company, and faults."""
    community = GovernedWorld(seed, law_cw(), FILES)
    world, rng = community.world, community.rng
    community.hosts(*HOSTS)
    community.join(*ANALYSTS)
    analysts = Analysts(world, world.rng("analysts"))
    # Each company has a clerk who knows nothing else and fills its files.
    for cls, companies in CLASSES.items():
        for company in companies:
            clerk = f"{company}@library"
            community.join(clerk)
            for number in range(3):
                community.act(1 + number, analysts.write, clerk, company, cls)
    for _ in range(130):
        analyst = rng.choice(ANALYSTS[:-1])
        cls = rng.choice(tuple(CLASSES))
        company = rng.choice(CLASSES[cls])
        how = rng.choice((READ, READ_NOWAIT, READ_ALL, TAKE_NOWAIT, REACT, OUT))
        when_s = rng.uniform(2, HEAL_S)
        if how == OUT:
            community.act(when_s, analysts.write, analyst, company, cls)
            continue
        community.act(when_s, analysts.look, analyst, how, company, cls)
        if rng.random() < 0.2:  # over the wall, with a template that names nobody
            community.act(when_s, analysts.look, analyst, how, ANY, cls)
            community.act(when_s, analysts.look, analyst, how, company, ANY)
    community.roam(ROAMER, until_s=HEAL_S, times=2)
    community.act(HEAL_S + CALM_S, analysts.write, LAST, "delta", "air", LAST_FACT)
    community.act(HEAL_S + CALM_S + 2, analysts.look, LAST, REACT, "delta", "air")
    community.trouble(heal_s=HEAL_S, end_s=END_S)
    return world
