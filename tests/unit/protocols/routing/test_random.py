"""Random worlds: whatever moves, crashes and overtakes, mail comes once and in order."""

import random

import pytest

from nomospace.protocols.routing.interface import BUSY, ENDED, UNKNOWN
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.residents import LEAVING
from nomospace_lab.sim.algorithms import ALGORITHMS
from tests.unit.protocols.routing.worlds import World

LAYOUT = {
    "a": ("a0", "a1", "a2"),
    "b": ("b0", "b1", "b2"),
    "c": ("c0", "c1"),
    "d": ("d0", "d1"),
}
TIGHT = RoutingLimits(
    guesses_max=3,
    passed_max=20,
    queue_max=2,
    early_max=3,
    held_max=30,
    passes_max=6,
    pause_min=10,
    pause_max=100,
)


def run(
    name: str, seed: int, *, steps: int = 1500, standby: bool = False, crashes: bool = True
) -> World:
    rng = random.Random(seed)
    limits = TIGHT if seed % 2 else RoutingLimits(pause_min=10, pause_max=100)
    world = World(ALGORITHMS[name], LAYOUT, limits, eager=seed % 3 == 0, standby=standby)
    sent: dict[tuple[str, str], list[object]] = {}
    too_soon: dict[object, None] = {}
    ended: dict[str, None] = {}
    agents = [f"x{i}@{domain}" for domain in LAYOUT for i in range(2)]
    agents.append("late@a")
    keys = list(world.disks)
    born = dict.fromkeys(agents[:-1])
    for agent in born:
        world.create(agent, rng.choice(LAYOUT[agent.split("@")[1]]))
    body = 0
    for step in range(steps):
        chance = rng.random()
        here = [agent for agent in agents if agent in world.running]
        if chance < 0.3 and here:
            sender, to = rng.choice(here), rng.choice(agents)
            if sender == to:
                continue
            body += 1
            sent.setdefault((sender, to), []).append(body)
            if to not in world.created:
                too_soon[body] = None
            world.send(sender, to, body)
        elif chance < 0.38 and here:
            agent = rng.choice(here)
            if agent not in world.moving:
                site = rng.choice([s for s in world.daemons if s != world.running[agent]])
                world.depart(agent, site)
        elif chance < 0.385 and here:
            agent = rng.choice(here)
            if world.daemons[world.running[agent]].phase(agent) is LEAVING:
                world.cancel(agent)
        elif chance < 0.42 and crashes:
            world.crash(rng.choice(keys), compact=rng.random() < 0.3)
        elif chance < 0.4205:
            world.clone(rng.choice(keys))
        elif chance < 0.4215 and len(ended) < 2 and len(here) > 5:
            agent = rng.choice(here)
            ended[agent] = None
            world.end(agent)
        elif chance < 0.425 and step > steps // 3 and "late@a" not in born:
            born["late@a"] = None
            world.create("late@a", "a1")
        elif chance < 0.46:
            world.tick()
            world.now += rng.randrange(20)
        elif world.handovers and chance < 0.52:
            world.hand_over(rng.randrange(len(world.handovers)), refuse=rng.random() < 0.2)
        elif standby and chance < 0.525:
            domain = rng.choice(world.algorithm.domains(world.servers))
            if rng.random() < 0.5:
                world.down = dict.fromkeys(world.servers[domain][:1])
            world.take_over(domain)
        elif standby and chance < 0.53:
            world.down = {}
        elif arriving := world.deliverable():
            world.bring(rng.choice(arriving))
    world.down = {}
    world.settle(rng)
    check(world, sent, too_soon, ended, born)
    return world


def check(
    world: World,
    sent: dict[tuple[str, str], list[object]],
    too_soon: dict[object, None],
    ended: dict[str, None],
    born: dict[str, None],
) -> None:
    for agent in born:
        if agent not in ended:
            assert agent in world.running, f"{agent} has vanished"
    failed: dict[tuple[str, str], dict[object, str]] = {}
    for sender, to, body, why in world.failed:
        reasons = failed.setdefault((sender, to), {})
        assert body not in reasons or world.standby, "a post fails once"
        reasons[body] = why
    for (sender, to), bodies in sent.items():
        got = [body for who, body, _ in world.delivered.get(to, ()) if who == sender]
        lost = failed.get((sender, to), {})
        assert not [body for body in got if body in lost], "delivered or failed, not both"
        if sender not in ended:
            missing = [body for body in bodies if body not in got and body not in lost]
            assert not missing, f"{sender} to {to}: {missing} lost"
        assert got == [body for body in bodies if body in dict.fromkeys(got)], "in order, once"
        for body, why in lost.items():
            assert (
                why == BUSY
                or (why == ENDED and to in ended)
                or (why == UNKNOWN and body in too_soon)
            )


@pytest.mark.parametrize("seed", range(12))
def test_random_worlds_in_which_standbys_take_over(seed: int) -> None:
    run("fqsc", seed, standby=True)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("seed", range(12))
def test_random_worlds(name: str, seed: int) -> None:
    run(name, seed)


@pytest.mark.parametrize("name", ["qsc", "fqsc"])
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_without_crashes_and_with_room_every_update_is_believed(name: str, seed: int) -> None:
    world = run(name, seed, crashes=False)
    assert not [note for note in world.notes if note.what == "update refused"]
    assert sum(map(len, world.delivered.values())) > 200
