"""A few worlds of hosts that forget; `nomospace sim --workload forgetful` runs more."""

from nomospace_lab import apps
from nomospace_lab.sim import find
from nomospace_lab.sim.federation import Sites
from tests.sim.worlds import check_worlds

SEEDS = (0, 1, 2, 251)
"""251: posts that a server passed on were overtaken by those that needed none."""


def test_what_must_hold_holds() -> None:
    check_worlds("forgetful", SEEDS)


def test_bytes_change_nothing() -> None:
    apps.load()
    digests = []
    for encode in (False, True):
        world = find("forgetful").build(3)
        assert isinstance(world, Sites)
        world.encode = encode
        world.run()
        digests.append(world.history.digest())
    assert digests[0] == digests[1]
