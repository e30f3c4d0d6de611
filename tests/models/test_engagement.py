"""Engagement in random worlds, with hosts killed at every step, and with hosts that walk."""

from __future__ import annotations

from itertools import combinations
from math import dist
from random import Random

import pytest

from nomospace.protocols.events import Effect, Moved
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Position
from tests.models.engaging import SECOND, Crash, Node, World, play
from tests.models.many import meet, meet_whole

WORLDS = 70
MERGE_AT = 8 * SECOND


@pytest.mark.parametrize("part", range(2))
def test_views_agree_grow_and_come_to_rest(part: int) -> None:
    installs = frozen = 0
    sizes: dict[int, int] = {}
    for seed in range(part, WORLDS, 2):
        watch = play(seed).watch
        frozen = max(frozen, watch.frozen_longest)
        for past in watch.installed.values():
            installs += len(past)
            for view in past:
                sizes[len(view.members)] = sizes.get(len(view.members), 0) + 1
    assert installs > 5 * WORLDS
    assert frozen > 5 * SECOND, "no proposal ever had a hard time: the worlds are too easy"
    assert min(sizes[size] for size in range(1, 8)) > 0, "groups of every size were seen"


def test_hosts_of_different_pace_agree_all_the_same() -> None:
    """The slowest is silent for longer than the fastest would be, and is not taken for gone."""
    paces = (
        Pace(heartbeat=100_000, loss=1_500_000),
        Pace(heartbeat=2 * SECOND, loss=5 * SECOND),
        USUAL,
    )
    sizes = [
        len(view.members)
        for seed in range(1_000, 1_020)
        for past in play(seed, paces).watch.installed.values()
        for view in past
    ]
    assert max(sizes) == 7


class Steps:
    """Counts the effects of hosts after the merge, and kills one before the given one."""

    def __init__(self, victims: str, fatal: int) -> None:
        self.victims = victims
        self.fatal = fatal
        self.count = 0
        self.kinds: list[str] = []
        self.killed: Node | None = None

    def __call__(self, node: Node, effect: Effect) -> None:
        if self.killed is None and node.world.now >= MERGE_AT and node.name in self.victims:
            if self.count == self.fatal:
                self.killed = node
                raise Crash
            self.count += 1
            self.kinds.append(type(effect).__name__)


def merge(seed: int, steps: Steps, back_after: int | None, *, loss: float = 0.0) -> World:
    """Two groups, of `a` and `b`, meet; whoever is killed comes back after a while, or never."""
    world = World(list("abcd"), Random(seed), step=steps)
    for node in world.nodes.values():
        node.start()
    world.join("a", "c")
    world.join("b", "d")
    world.run(MERGE_AT - 1)
    assert not world.unsettled()
    world.join("c", "b")
    world.loss = loss
    while steps.killed is None and world.now < MERGE_AT + 4 * SECOND:
        world.run(world.now + 10_000)
    if steps.killed is not None and back_after is not None:
        world.run(world.now + back_after)
        steps.killed.start()
    world.settle()
    return world


def deaths(victim: str, seed: int) -> list[Steps]:
    """One for every step of a host, from the meeting until just after the new view."""
    whole = Steps(victim, -1)
    world = merge(seed, whole, None)
    assert world.nodes[victim].core.view.members == ("a", "b", "c", "d")
    assert {"Floor", "Freeze", "Exchange", "Installed", "Transmit"} <= set(whole.kinds)
    last = len(whole.kinds) - whole.kinds[::-1].index("Installed")
    assert last > 10
    return [Steps(victim, fatal) for fatal in range(last + 2)]


@pytest.mark.parametrize(("back_after", "seed"), [(2_000, 0), (5 * SECOND, 1), (None, 3)])
@pytest.mark.parametrize("victim", "abcd")
def test_a_host_may_die_at_every_step(victim: str, back_after: int | None, seed: int) -> None:
    """`a` leads the group that will be, `b` one that was; `c` and `b` hold it together."""
    for steps in deaths(victim, seed):
        world = merge(seed, steps, back_after)
        assert steps.killed is not None
        if back_after is not None:
            assert world.components() == [("a", "b", "c", "d")]


@pytest.mark.parametrize("victim", "abcd")
def test_a_host_may_die_at_every_step_while_frames_are_lost(victim: str) -> None:
    for steps in deaths(victim, 2):
        merge(2, steps, 2_000, loss=0.2)
        assert steps.killed is not None


def test_hosts_that_walk_part_before_contact_is_lost() -> None:
    """With the safe distance, members of one view are always in range of each other's ways."""
    joint = lost = 0
    for seed in range(6):
        found = walk(seed)
        joint += found[0]
        lost += found[1]
    assert joint > 100, "they should have been in groups now and then"
    assert lost > 20, "and out of range now and then"


def walk(seed: int) -> tuple[int, int]:
    rng = Random(seed)
    policy = Position(range_m=100, speed_max=2)
    world = World(list("abcd"), rng, policy=policy)
    places = {name: (rng.uniform(0, 120), rng.uniform(0, 120)) for name in world.nodes}
    goals = dict(places)
    joint = lost = 0
    for node in world.nodes.values():
        node.start()
    for step in range(600):
        for name, (x, y) in places.items():
            goal = goals[name]
            if dist((x, y), goal) < 1:
                goals[name] = goal = (rng.uniform(0, 260), rng.uniform(0, 120))
            share = min(0.4 / max(dist((x, y), goal), 0.4), 1)  # 2 m/s for 0.2 s
            places[name] = (x + share * (goal[0] - x), y + share * (goal[1] - y))
        for a, b in combinations(places, 2):
            if dist(places[a], places[b]) <= policy.range_m:
                world.join(a, b)
            else:
                world.cut(a, b)
        if step % 5 == 0:
            for name, node in world.nodes.items():
                node.tell(Moved(places[name]))
        world.run(world.now + SECOND // 5)
        ways = world.components()
        for a, b in combinations(places, 2):
            together = any(a in members and b in members for members in ways)
            lost += not together
            if world.nodes[a].core.view == world.nodes[b].core.view:
                assert together, f"{a} and {b} lost contact while in one view (seed {seed})"
                joint += 1
    return joint, lost


@pytest.mark.parametrize("shape", ["mesh", "star", "ring", "halves", "full"])
def test_many_that_meet_at_once_are_one_group_and_work_grows_as_their_links(shape: str) -> None:
    """A share of `python -m tests.models.many`: a link carries as much however many hosts meet."""
    small, large = (meet(shape, count) for count in ((16, 32) if shape == "full" else (40, 80)))
    assert large.frames["Commit"] <= 3 * large.hosts, "a tree has a link for each"
    assert large.total / large.links <= 2 * small.total / small.links
    assert large.views <= 3
    assert large.world_s < 15


def test_many_are_one_group_although_frames_are_lost() -> None:
    assert meet("mesh", 60, loss=0.1).views <= 4


@pytest.mark.parametrize(("shape", "count"), [("full", 32), ("mesh", 40), ("halves", 40)])
def test_whole_hosts_by_the_dozen_are_one_group(shape: str, count: int) -> None:
    """None of them has tuples for another, so nothing but the directory passes among them."""
    cost = meet_whole(shape, count)
    assert "Data" not in cost.frames
    assert cost.world_s < 10
