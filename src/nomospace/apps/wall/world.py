"""Worlds of the Chinese Wall: analysts who may know one company of each class, and write of one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from nomospace import laws
from nomospace.apps.tuplespace import ANY, TupleSpace, answer, field, operation
from nomospace.law import CompiledLaw, load
from nomospace.sim.checkers import Verdict, no, unknown, yes
from nomospace.sim.checkers.quiet import was_hard
from nomospace.sim.clock import SECOND_US
from nomospace.sim.history import DELIVERED, RULED, SENT, Happening
from nomospace.sim.network import Link
from nomospace.sim.workloads import workload
from nomospace.sim.world import Agent, World
from nomospace.terms import Compound, Term, t

LIBRARY: Final = "files@library"
ANALYSTS: Final = ("ada@desk1", "ben@desk2", "cher@desk1", "dov@desk2", "eve@desk1")
CLASSES: Final = {"bank": ("alpha", "beta"), "oil": ("omega", "sigma"), "air": ("delta",)}
LAST: Final = "eve@desk1"
HEAL_S: Final = 1200


class Analyst(Agent):
    """Reads and writes files of companies."""

    def look(self, how: str, company: Term, cls: Term) -> None:
        """Ask for what is known of a company."""
        self.me.send(Compound(how, ((t.company(company), _class(cls), t.fact(ANY)),)), LIBRARY)

    def write(self, company: str, cls: str, fact: Term) -> None:
        """Add to what is known of a company."""
        self.me.send(t.out((t.company(company), _class(cls), t.fact(fact))), LIBRARY)


def _class(cls: Term) -> Compound:
    return Compound("class", (cls,))


@cache
def law_cw() -> CompiledLaw:
    """Law CW as it is shipped."""
    return load(laws.text("cw"), "cw.law")


def nobody_sees_two_sides(world: World) -> Verdict:
    """No analyst is shown files of two companies of one class."""
    name = "nobody sees two companies of one class"
    side: dict[tuple[str, Term], tuple[Term, Happening]] = {}
    cases = 0
    for h in world.history.of(DELIVERED):
        shown = answer(h.what.message)
        for one in shown[1] if shown is not None else ():
            cases += 1
            company, cls = field(one, "company"), field(one, "class")
            first, before = side.setdefault((h.who, cls), (company, h))
            if first != company:
                return no(name, f"{h.who} saw {first} and {company}", before, h)
    return yes(name, cases)


def _accesses(world: World) -> Iterator[tuple[Happening, str, Term, Term]]:
    """What rulings let through to the library: operation, class, company."""
    for h in world.history.of(RULED):
        event = h.what.event
        if event.kind == "sent" and h.what.forwards:
            access = operation(event.args[1])
            if access is not None:
                yield h, access[0], field(access[1], "class"), field(access[1], "company")


def the_first_access_chooses(world: World) -> Verdict:
    """Of each class only the company that was asked for first is ever asked for again."""
    name = "the first access in a class chooses"
    side: dict[tuple[str, Term], tuple[Term, Happening]] = {}
    cases = 0
    for h, _, cls, company in _accesses(world):
        cases += 1
        if company.__class__ is not str or cls.__class__ is not str:
            return no(name, "company and class must be named", h)
        first, before = side.setdefault((h.who, cls), (company, h))
        if first != company:
            return no(name, f"{h.who} chose {first} and got at {company}", before, h)
    return yes(name, cases)


def writers_know_nothing_else(world: World) -> Verdict:
    """Who writes of a company has had access to no other: nothing seeps through a third party."""
    name = "who writes of a company knows no other"
    known: dict[str, dict[tuple[Term, Term], Happening]] = {}
    cases = 0
    for h, how, cls, company in _accesses(world):
        mine = known.setdefault(h.who, {})
        if how == "out":
            cases += 1
            for (other_class, other), before in mine.items():
                if (other_class, other) != (cls, company):
                    return no(name, f"{h.who} knows {other} and wrote of {company}", before, h)
        mine.setdefault((cls, company), h)
    return yes(name, cases)


def the_last_fact_is_found(world: World) -> Verdict:
    """Once the faults are over, what an analyst writes it can read."""
    name = "after the healing a fact is found"
    if not world.quiet or world.healed_at is None:
        return unknown(name, "the history ends before the last fact has settled")
    for h in world.history.of(DELIVERED):
        if h.who == LAST and h.at > world.healed_at and answer(h.what.message) is not None:
            return yes(name, 1)
    return no(name, f"{LAST} found nothing", *list(world.history.of(SENT))[-1:])


@workload(
    "wall",
    "company files under law CW, the Chinese Wall, and analysts who forget which side they are on",
    checkers=(
        was_hard(messages=50),
        nobody_sees_two_sides,
        the_first_access_chooses,
        writers_know_nothing_else,
        the_last_fact_is_found,
    ),
)
def build(seed: int) -> World:
    """A library, its analysts and faults."""
    world = World(seed, link=Link(loss=0.02, repeats=0.02))
    rng = world.rng("population")
    for name in ("library", "desk1", "desk2"):
        world.host(name, skew_us=rng.randint(-SECOND_US, SECOND_US))
    world.join(LIBRARY, law_cw(), TupleSpace, manager=True)
    for analyst in ANALYSTS:
        world.join(analyst, law_cw(), Analyst)
    # Each company has a clerk who knows nothing else and fills its files.
    for cls, companies in CLASSES.items():
        for company in companies:
            clerk = f"{company}@library"
            world.join(clerk, law_cw(), Analyst)
            for fact in range(3):
                world.act(5 + fact, clerk, Analyst.write, company, cls, fact)
    for _ in range(150):
        analyst = rng.choice(ANALYSTS[:-1])
        cls = rng.choice(tuple(CLASSES))
        company = rng.choice(CLASSES[cls])
        how = rng.choice(("rd", "rdp", "rdg", "inp", "out"))
        when_s = rng.uniform(10, HEAL_S)
        if how == "out":
            world.act(when_s, analyst, Analyst.write, company, cls, analyst)
        else:
            world.act(when_s, analyst, Analyst.look, how, company, cls)
        if rng.random() < 0.2:  # over the wall, with a template that names nobody
            world.act(when_s, analyst, Analyst.look, how, ANY, cls)
            world.act(when_s, analyst, Analyst.look, how, company, ANY)
    world.act(HEAL_S + 10, LAST, Analyst.write, "delta", "air", "the last fact")
    world.act(HEAL_S + 20, LAST, Analyst.look, "rdg", "delta", "air")
    world.trouble(from_s=30, heal_s=HEAL_S)
    return world
