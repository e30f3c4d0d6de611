"""Worlds of one host that two or three processes stand for, and programs in other processes.

Processes are killed, paused and cut off from their database at any moment, also while a commit is
under way; programs do what those of the workload `sessions` do. Then all is healed, and every tuple
that was written has one owner, or lies there.
"""

from __future__ import annotations

from random import Random

from nomospace_lab.apps.sessions.world import END_S, HEAL_S, populate
from nomospace_lab.sim.checkers.sessions import (
    answers_fit,
    nobody_is_forgotten,
    sessions_come_to_rest,
    taken_once,
)
from nomospace_lab.sim.checkers.takeover import one_is_active, the_lease_goes_over
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.simulation import START_US
from nomospace_lab.sim.standing import TakeoverWorld
from nomospace_lab.sim.workloads import workload


@workload(
    "takeover",
    "processes that stand for one host: killed, paused and cut off from their database",
    checkers=(
        taken_once,
        answers_fit,
        nobody_is_forgotten,
        sessions_come_to_rest,
        one_is_active,
        the_lease_goes_over,
    ),
    everywhere=(),
)
def build(seed: int) -> TakeoverWorld:
    """A world from its seed."""
    chance = Random(f"{seed}/standing")
    world = TakeoverWorld(seed, end_us=END_S * SECOND_US, standing=chance.randrange(2, 4))
    rng = world.rng("script")
    for _ in range(rng.randrange(1, 4)):
        at = START_US + int(rng.uniform(0.5, HEAL_S - 2) * SECOND_US)
        world.clock.at(at, world.pause, rng, int(rng.uniform(0.05, 5) * SECOND_US))
    for _ in range(rng.randrange(0, 3)):
        at = START_US + int(rng.uniform(0.5, HEAL_S - 2) * SECOND_US)
        world.clock.at(at, world.cut_off, rng, int(rng.uniform(0.05, 4) * SECOND_US))
    populate(world, rng)
    return world
