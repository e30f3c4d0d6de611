"""Worlds of the hospital: 40 minutes of alarms and faults, then healing, then a last alarm."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

from nomospace import laws
from nomospace.law import CompiledLaw, load
from nomospace.terms import t
from nomospace_lab.apps.hospital import properties
from nomospace_lab.apps.hospital.alarms import META
from nomospace_lab.apps.hospital.hospital import Hospital
from nomospace_lab.apps.hospital.people import (
    KINDS,
    TEXTS,
    CarelessMediator,
    Expert,
    FacilityManager,
    HospitalMember,
    IdleInspector,
    Inspector,
    Mediator,
    Mole,
    Rogue,
)
from nomospace_lab.sim.checkers.quiet import was_hard
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.workloads import workload

HEAL_S: Final = 2400
MESSAGES_MIN: Final = 300
LAYMEN: Final = ("lena@ward", "leo@er", "lisa@lab", "liam@ward", "lucy@hall", "lars@er")
HOSTS: Final = ("hall", "er", "lab", "ward", "office")


@cache
def law_ap() -> CompiledLaw:
    """Law AP as it is shipped."""
    return load(laws.text("ap"), "ap.law")


@cache
def law_of_the_mole() -> CompiledLaw:
    """A law that permits everything, under the name of the hospital's."""
    return load("law(ap). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).", "mole")


@workload(
    "hospital",
    "alarms under law AP: mediators, a manager, experts, inspectors, laymen, a rogue",
    checkers=(was_hard(messages=MESSAGES_MIN), *properties.ALL),
)
def build(seed: int) -> Hospital:
    """A hospital with its people, what they will do, and what will go wrong."""
    return populate(Hospital(seed, law_ap(), link=Link(loss=0.02, repeats=0.02)))


def populate(world: Hospital) -> Hospital:
    """People, deeds and faults, all drawn from the world's seed."""
    rng = world.rng("population")
    for name in HOSTS:
        world.host(name, skew_us=rng.randint(-2 * SECOND_US, 2 * SECOND_US))
    mediators = ("med1@hall", "med2@er", "med3@lab")[: rng.randint(1, 3)]
    careless = rng.random() < 0.4
    for number, mediator in enumerate(mediators):
        mediation = CarelessMediator if careless and number == 0 else Mediator
        world.enter(mediator, mediation, roles=("mediator",))
    world.enter("mira@office", FacilityManager, roles=("facilityManager",), listens_to=KINDS)

    def inspector() -> type[Inspector]:
        return IdleInspector if rng.random() < 0.3 else Inspector

    on_duty = (("felix@er", "fire"), ("bela@lab", "blood"), ("paul@ward", "power"))
    for id, kind in on_duty:
        world.enter(id, inspector(), roles=(t.expert(kind),), listens_to=(kind,))
    # Half of the metaAlarm inspectors are experts on nothing else, half never lift a finger.
    meta_roles = (t.expert(META), t.expert("fire")) if rng.random() < 0.5 else (t.expert(META),)
    idle = rng.random() < 0.5
    meta_inspector = IdleInspector if idle else Inspector
    world.enter("max@office", meta_inspector, roles=meta_roles, listens_to=(META, "power"))
    world.enter("fiona@ward", Expert, roles=(t.expert("fire"),), listens_to=("fire", "blood"))
    world.enter("berta@er", Expert, roles=(t.expert("blood"),), listens_to=("blood", META))
    world.enter("mona@lab", Expert, roles=(t.expert(META),), listens_to=(META, "fire"))
    for layman in LAYMEN:
        world.enter(layman, HospitalMember, listens_to=tuple(rng.sample(KINDS, 2)))
    world.enter("rolf@ward", Rogue, listens_to=(*KINDS, META))
    world.enter("quack@lab", Mediator)  # would mediate, but nobody certified it
    world.enter(
        "tom@hall", HospitalMember, listens_to=("fire",)
    )  # never blocked: has the last word
    world.join("mole@er", law_of_the_mole(), Mole)

    _appointments(world, (*on_duty, ("max@office", META)))
    _deeds(world, rng)
    _last_alarms(world)
    world.trouble(from_s=60, heal_s=HEAL_S)
    return world


def _appointments(world: Hospital, on_duty: tuple[tuple[str, str], ...]) -> None:
    """The manager puts inspectors on duty, and again later: an order may be lost."""
    for when_s in (15, 600, HEAL_S + 20):
        for id, kind in on_duty:
            world.act(when_s, "mira@office", FacilityManager.appoint, id, kind)


def _deeds(world: Hospital, rng: Random) -> None:
    mediators = world.mediators
    # Each mediator multiplies what is said, so with several of them less needs to happen.
    for _ in range(8 + 20 // len(mediators)):
        who = rng.choice(LAYMEN)
        kind = rng.choice(KINDS)
        text = rng.choice(TEXTS[kind])
        some = tuple(rng.sample(mediators, rng.randint(1, len(mediators))))
        if rng.random() < 0.05:
            some = (*some, "quack@lab")
        when_s = rng.uniform(30, HEAL_S)
        world.act(when_s, who, HospitalMember.publish, kind, text, some)
        if rng.random() < 0.4:  # impatient: the same again, sometimes within the five minutes
            again_s = when_s + rng.uniform(1, 600)
            world.act(again_s, who, HospitalMember.publish, kind, text, some)
    for who, kind in (("felix@er", "fire"), ("berta@er", "blood"), ("paul@ward", "power")):
        for number in range(5 // len(mediators) + 1):
            word = t.drill(kind, number)
            when_s = rng.uniform(60, HEAL_S)
            world.act(when_s, who, HospitalMember.publish, kind, word)
    people = tuple(rng.sample(LAYMEN, 3))
    for _ in range(2):
        world.act(rng.uniform(30, HEAL_S), "rolf@ward", Rogue.flood, 15)
        world.act(rng.uniform(30, HEAL_S), "rolf@ward", Rogue.cheat, people)
        world.act(rng.uniform(30, HEAL_S), "mole@er", Mole.shout, people)
    blocked = rng.choice((*LAYMEN, "rolf@ward"))
    which = rng.choice((*KINDS, None))
    when_s = rng.uniform(300, HEAL_S)
    world.act(when_s, "mira@office", FacilityManager.block, blocked, which)


def _last_alarms(world: Hospital) -> None:
    """After the healing: all subscribe anew, and an expert and a layman raise an alarm each."""
    for id in world.people:
        world.act(HEAL_S + 30, id, HospitalMember.subscribe)
    world.act(HEAL_S + 60, "fiona@ward", HospitalMember.publish, "fire", properties.ALL_CLEAR)
    world.act(HEAL_S + 60, "tom@hall", HospitalMember.publish, "fire", properties.ALL_CLEAR)
