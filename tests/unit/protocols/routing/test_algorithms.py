"""One workload on each of the three: the same posts arrive, by ways of different length."""

import pytest

from nomospace.protocols.routing.places import NoServer, Places
from nomospace.protocols.routing.standby import PairedServer
from nomospace_lab.sim.algorithms import ALGORITHMS, CENTRAL, FQSC, QSC, Algorithm
from tests.unit.protocols.routing.worlds import World

LAYOUT: dict[str, tuple[str, ...]] = {"lab": ("q", "s", "t"), "ward": ("r", "u", "v")}


def hops(algorithm: Algorithm) -> list[int]:
    """A stream from ann to bob, who moves within his domain, then away, while it goes on."""
    world = World(algorithm, LAYOUT)
    world.create("ann@lab", "s")
    world.create("bob@ward", "u")
    world.settle()
    number = 0
    for site in ("u", "v", "t"):
        if world.running["bob@ward"] != site:
            world.depart("bob@ward", site)
            world.settle()
        for _ in range(3):
            number += 1
            world.send("ann@lab", "bob@ward", number)
            world.settle()
    got = world.delivered["bob@ward"]
    assert [body for _, body, _ in got] == list(range(1, 10))
    return [count for _, _, count in got]


def test_how_far_each_post_goes() -> None:
    assert hops(CENTRAL) == [2, 2, 2, 2, 2, 2, 2, 2, 2]
    assert hops(QSC) == [2, 1, 1, 3, 1, 1, 3, 1, 1]
    assert hops(FQSC) == [3, 1, 1, 3, 1, 1, 4, 1, 1]


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_all_have_one_face(algorithm: Algorithm) -> None:
    places = algorithm.places({"lab": ("q1", "q2"), "ward": ("r",)})
    daemon = algorithm.daemon("u", "ward", places)
    server = algorithm.server("q1", "lab", places)
    paired = PairedServer(algorithm.server("q2", "lab", places))
    assert (daemon.site, server.site, paired.site) == ("u", "q1", "q2")
    assert daemon.copy().state() == daemon.state()
    assert server.domain == paired.domain == "lab"


def test_a_domain_without_a_server_is_named() -> None:
    with pytest.raises(NoServer, match="'ward' has no server; name at least one site"):
        Places({"lab": ("q",), "ward": ()})
