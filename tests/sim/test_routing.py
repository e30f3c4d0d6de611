"""Some worlds of mail and moves in every test run; `nomospace sim --workload routing` runs more."""

from nomospace_lab import apps
from nomospace_lab.apps.routing.world import SHORT
from nomospace_lab.sim import find
from tests.sim.worlds import check_worlds


def test_what_must_hold_holds() -> None:
    check_worlds("routing", range(9, 17))


def test_the_worlds_are_not_all_alike() -> None:
    apps.load()
    worlds = [find("routing").build(seed) for seed in range(60)]
    assert {len(world.sites) for world in worlds} == set(range(3, 7))  # type: ignore[attr-defined]
    assert {len(world.servers) for world in worlds} == {2, 3}  # type: ignore[attr-defined]
    assert {world.limits is SHORT for world in worlds} == {False, True}  # type: ignore[attr-defined]
